//! One run of a user's program: its time, its resources and its device traffic.

use crate::DeviceTraffic;

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Exited with this code; 0 is success.
    Code(i32),
    /// Killed by this signal number.
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

/// Traffic of a program and of the children that it waited for, with any drive, as the kernel accounts
/// it to processes: reads when they are sent to a drive, writes through memory when a page becomes
/// dirty. Not included: processes that outlive it, metadata that a file system writes by itself, and
/// files in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ProgramTraffic {
    /// Bytes that it caused to be read.
    pub read_bytes: u64,
    /// Bytes that it caused to be written, without those truncated before they were.
    pub written_bytes: u64,
}

/// One run of a program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CommandRun {
    /// Time from its start to its end, nanoseconds.
    pub elapsed_ns: u64,
    /// Time from its end until its writes were on the device, nanoseconds.
    pub sync_ns: u64,
    /// User-mode processor time of the program and its children, nanoseconds.
    pub user_ns: u64,
    /// Their processor time in the kernel, nanoseconds.
    pub system_ns: u64,
    /// Peak memory of the program or its largest child, bytes.
    pub memory_bytes_max: u64,
    /// How it ended.
    pub exit: Exit,
    /// Traffic of the program itself; `None` if the kernel does not count it.
    pub own: Option<ProgramTraffic>,
    /// Device traffic until its end, including that of other users; `None` if the device cannot be
    /// observed.
    pub device: Option<DeviceTraffic>,
    /// Device traffic until its writes were on the device.
    pub device_synced: Option<DeviceTraffic>,
}
