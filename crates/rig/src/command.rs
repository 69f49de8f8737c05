//! The cost of one run of a user's program, and its traffic on the device.

use crate::DeviceTraffic;

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// By itself, with this code; 0 is success.
    Code(i32),
    /// Killed by the signal of this number.
    Signal(i32),
}

impl std::fmt::Display for Exit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Exit::Code(code) => write!(f, "exit code {code}"),
            Exit::Signal(signal) => write!(f, "killed by signal {signal}"),
        }
    }
}

/// One run of a program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CommandRun {
    /// From its start to its end, nanoseconds.
    pub elapsed_ns: u64,
    /// From its end until its writes were on the device, nanoseconds.
    pub sync_ns: u64,
    /// Processor time in the program and its children, nanoseconds.
    pub user_ns: u64,
    /// Processor time in the kernel for them, nanoseconds.
    pub system_ns: u64,
    /// Maximum memory of it or one of its children, bytes.
    pub memory_bytes_max: u64,
    /// How it ended.
    pub exit: Exit,
    /// Device traffic until its end, that of other users included; `None` where the device cannot be
    /// watched.
    pub device: Option<DeviceTraffic>,
    /// Device traffic until its writes were on the device.
    pub device_synced: Option<DeviceTraffic>,
}
