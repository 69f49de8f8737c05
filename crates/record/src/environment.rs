//! The machine around the drive, as far as it can affect a number.

use serde::{Deserialize, Serialize};

/// The processor.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cpu {
    /// Model name from the kernel.
    pub model: Option<String>,
    /// Logical processors available to this process.
    pub threads: Option<u32>,
    /// Frequency governor, if the kernel reports it.
    pub governor: Option<String>,
}

/// The environment of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    /// Version of ssdyno.
    pub ssdyno: String,
    /// Name of the machine.
    pub host: Option<String>,
    /// Random id of the machine, generated once and stored next to its store.
    #[serde(default)]
    pub machine_id: Option<String>,
    /// Board or system model, if the firmware reports it (`Raspberry Pi 5 Model B`).
    pub board: Option<String>,
    /// Distribution.
    pub os: Option<String>,
    /// Kernel release.
    pub kernel: Option<String>,
    /// Processor.
    pub cpu: Cpu,
    /// Memory in bytes.
    pub memory_bytes: Option<u64>,
    /// Hypervisor, if any.
    pub hypervisor: Option<String>,
    /// One-minute load average at the start.
    pub load: Option<f64>,
    /// Backend that issued the I/O (`uring`, `aio`, `psync`, `mmap`, `nvme`, `null`, `sim`).
    pub backend: Option<String>,
    /// Clock used (`tsc`, `cntvct`, `monotonic`, `virtual`).
    pub clock: Option<String>,
    /// Cost of the instrument itself: nanoseconds per operation on the null backend.
    pub instrument_ns_per_io: Option<f64>,
}
