//! Errors of controller start-up and admin commands.

use core::fmt;

use crate::status::Status;

/// Why the controller cannot be used, or an admin command failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// Its registers read as all ones: removed, without power, or asleep.
    Gone,
    /// It did not start or stop within this time (ns).
    NotReady(u64),
    /// It reports a fatal error.
    Fatal,
    /// It is no longer enabled: it lost power, or something else reset it.
    Stopped,
    /// It lacks a feature that the driver needs.
    Unsupported(&'static str),
    /// The memory is too small.
    Memory {
        /// Bytes needed.
        needed: usize,
        /// Bytes available.
        there: usize,
    },
    /// A ring is not contiguous on the bus.
    Scattered,
    /// More trackers are needed than were passed, or than a queue can have.
    Trackers {
        /// Trackers needed.
        needed: usize,
        /// Trackers passed, or the maximum of a queue.
        there: usize,
    },
    /// An admin command was not answered; contains its opcode.
    NoAnswer(u8),
    /// An admin command failed.
    Refused {
        /// Opcode of the command.
        opcode: u8,
        /// Reported status.
        status: Status,
    },
    /// A structure it returned is invalid.
    Nonsense(&'static str),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Error::Gone => f.write_str("the controller is gone"),
            Error::NotReady(ns) => {
                write!(f, "the controller did not start or stop within {} ms", ns / 1_000_000)
            }
            Error::Fatal => f.write_str("the controller reports a fatal error"),
            Error::Stopped => f.write_str("the controller has stopped by itself"),
            Error::Unsupported(feature) => write!(f, "the controller lacks {feature}"),
            Error::Memory { needed, there } => {
                write!(f, "{needed} bytes of memory needed, {there} available")
            }
            Error::Scattered => f.write_str("the memory of a queue is not contiguous on the bus"),
            Error::Trackers { needed, there } => {
                write!(f, "{needed} trackers needed, {there} available")
            }
            Error::NoAnswer(opcode) => write!(f, "no answer to admin command {opcode:#04x}"),
            Error::Refused { opcode, status } => {
                write!(f, "admin command {opcode:#04x}: {status}")
            }
            Error::Nonsense(structure) => write!(f, "invalid data in {structure}"),
        }
    }
}

impl core::error::Error for Error {}
