//! An NVMe driver without an operating system: no standard library, no allocation, no dependency.
//!
//! The machine provides registers ([`Mmio`]), memory shared with the controller ([`DmaMap`]) and
//! time ([`Clock`]). A [`Controller`] starts the drive and carries out admin commands. A [`Queue`]
//! carries out I/O; each thread has one. The key idea of a queue: a command's identifier names its
//! tracker, and each tracker owns a PRP list. Completions may therefore arrive in any order, late
//! or twice, and the list of a reused buffer is built only once.
//!
//! The driver never accesses data. The caller names an offset in the queue's memory, and must not
//! touch the data there while its request is in flight.
//!
//! Source: NVM Express Base Specification 1.4. [`identify`] and [`health`] parse structures
//! returned by a drive, whichever driver fetched them.

#![warn(missing_docs)]
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
pub use layout::{QueueLayout, QueueParameters};
pub use queue::Queue;
pub use request::{
    Completed, FormattedNamespace, IoRequest, Overdue, PushError, QueueCounters, RequestKind,
};
pub use status::{Cause, Status};
pub use tracker::Tracker;
