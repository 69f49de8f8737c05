//! An NVMe driver without an operating system: no standard library, no allocation, no dependency.
//!
//! The machine lends it three things: registers ([`Mmio`]), memory that the controller reaches too
//! ([`DmaMap`]) and time ([`Clock`]). A [`Controller`] brings the drive up and carries out admin
//! commands; a [`Queue`] carries I/O, one queue for each thread. The one idea of a queue: a command's
//! number is the number of its tracker, and each tracker owns its PRP list. Completions may therefore
//! arrive in any order, late or twice, and the list of a steady buffer is built once.
//!
//! The driver never sees data. The caller names a place in the memory of the queue, and keeps that
//! place untouched while its request is in flight.
//!
//! Source: NVM Express Base Specification 1.4. [`identify`] and [`health`] are parsers of what a
//! drive returns, whichever driver fetched it.

#![no_std]

mod command;
mod controller;
mod error;
pub mod health;
mod host;
pub mod identify;
mod layout;
mod prp;
mod queue;
pub mod regs;
mod request;
mod status;
mod sys;
mod tracker;

pub use command::{Command, Range, opcode};
pub use controller::{ADMIN_BYTES, Controller};
pub use error::Error;
pub use host::{Clock, DmaMap, Mmio, PAGE_BYTES, Platform};
pub use layout::{Layout, Shape};
pub use queue::Queue;
pub use request::{Completed, Counters, Kind, Overdue, Place, PushError, Request};
pub use status::{Cause, Status};
pub use tracker::Tracker;
