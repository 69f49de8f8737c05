//! The user's request as plain data: the target, the instrument and the store.

use std::path::PathBuf;
use std::time::Duration;

use engine::BackendKind;
use record::{Labels, PartOf};

/// The target that completes everything at once; a run on it measures the instrument.
pub(crate) const NULL: &str = "null:";

/// The same through the NVMe driver, with a simulated controller.
pub(crate) const NULL_NVME: &str = "null:nvme";

/// Where and how to measure, and where to store the record.
#[derive(Clone, Debug, Default)]
pub struct Request {
    pub target: TargetRequest,
    pub instrument: Instrument,
    /// The store of records; `None`: the user's own.
    pub store: Option<PathBuf>,
    /// The command line, for the record.
    pub command: Vec<String>,
    /// The protocol to which the run belongs, for the record.
    pub part_of: Option<PartOf>,
    /// The user's title, note and tags, for the record.
    pub labels: Labels,
    /// Number of drives that are measured at the same time, this one among them.
    pub together: Option<usize>,
}

/// A target, and the user's permissions for it.
#[derive(Clone, Debug, Default)]
pub struct TargetRequest {
    /// A directory, file or block device, `pci:0000:00:05.0`, `sim:NAME`, or `null:`.
    pub spec: String,
    /// Bytes to work on.
    pub size: Option<u64>,
    /// The confirmation that allows overwriting it: its serial number, or its size in bytes.
    pub destroy: Option<String>,
    /// Blocks may be overwritten with their own content.
    pub borrow: bool,
    /// An NVMe drive may be detached from the kernel without an IOMMU.
    pub no_iommu: bool,
    /// Directory for the journals of borrowed blocks; `None`: the user's state directory.
    pub journal: Option<PathBuf>,
    /// The name of a scratch file that stays, in the directory.
    pub keep: Option<PathBuf>,
}

/// How I/O is issued and timed.
#[derive(Clone, Debug, Default)]
pub struct Instrument {
    /// The backend; `None`: the best that works.
    pub backend: Option<BackendKind>,
    /// Bind every job to a CPU.
    pub pin: bool,
    /// Follow requests in the kernel, which shows where the time goes. It costs processor time.
    pub traces: bool,
    /// Time without any answer from the drive after which the run is ended.
    pub patience: Option<Duration>,
    /// Session seed, for everything random in the run and for the session of a virtual drive.
    pub seed: u64,
}

impl Request {
    /// Creates a request for a target, with defaults for everything else.
    pub fn on(spec: impl Into<String>) -> Request {
        let target = TargetRequest { spec: spec.into(), ..TargetRequest::default() };
        Request { target, ..Request::default() }
    }
}
