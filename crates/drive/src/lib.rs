//! The real drive: list, identify, watch, guard and open.
//!
//! Everything here comes from the kernel's own files (`/sys`, `/proc`) and from commands that ask the
//! drive; it needs no library, and names what it could not find out and what that takes. The way in
//! is [`open`]: it takes what the user typed, checks all that could go wrong (`docs/devices.md`), and
//! returns a file with what is known of the drive behind it. I/O itself is the engine's.

#![deny(unsafe_code)]

mod allow;
mod answer;
mod ask;
mod contents;
mod erase;
mod error;
mod guard;
pub mod host;
mod identity;
mod key;
mod link;
mod list;
mod locate;
mod machine;
mod mounts;
mod node;
mod open;
pub mod partitions;
mod sensor;
mod stack;
mod sys;
mod usage;
mod watch;

pub use allow::Allowance;
pub use ask::health;
pub use contents::Content;
pub use erase::{secure_discard, write_zeroes};
pub use error::{DriveError, ErrorKind};
pub use guard::Guard;
pub use key::{Apart, DriveKey, apart, find};
pub use list::{BlockDevice, Inside, Partition, list};
pub use locate::{Location, locate};
pub use machine::Machine;
pub use open::{NamedScratch, OpenRequest, Opened, Planned, open, plan_open, room};
pub use watch::{Sample, Watch};
