//! The real drive: list, identify, watch, guard and open.
//!
//! All information comes from kernel files (`/sys`, `/proc`) and from commands to the drive. No
//! library is needed; unknown values are listed with the privilege that would reveal them. The
//! entry point is [`open`]: it takes the target as typed by the user, makes every check of
//! `docs/devices.md`, and returns a file with the identity of the underlying drive. I/O is the
//! engine's job.

#![deny(unsafe_code)]

mod allow;
mod bus;
mod contents;
mod erase;
mod error;
#[doc(hidden)]
pub mod fuzzing;
mod graph;
mod guard;
mod hold;
pub mod host;
mod identity;
mod image;
mod key;
mod link;
mod list;
mod locate;
mod machine;
mod mounts;
mod node;
mod open;
mod open_file;
pub mod partitions;
mod path_faults;
pub mod pci;
mod query;
mod response;
mod room;
mod sensor;
mod stack;
mod sys;
mod target;
mod watch;

pub use allow::Allowance;
pub use contents::DeviceContent;
pub use erase::{secure_discard, write_zeroes};
pub use error::DriveError;
pub use graph::Below;
pub use guard::{Guard, Sentry};
pub use host::CpuQuota;
pub use key::{DriveKey, Separation, find, separation};
pub use list::{BlockDevice, Inside, Partition, list};
pub use locate::{Location, locate};
pub use machine::{Account, Machine, STATE_IN_HOME, user_name};
pub use open::{
    NamedScratch, OpenRequest, Opened, PlannedTarget, check_unused, open, open_planned,
};
pub use open_file::FileIdentity;
pub use pci::{ControllerClaim, PciOpened, Reach, open_pci};
pub use query::health;
pub use response::nvme::{formatted as nvme_formatted, reported as nvme_health};
pub use room::{kept_free, room};
pub use target::plan_open;
pub use watch::{Requests, Sample, Watch};
