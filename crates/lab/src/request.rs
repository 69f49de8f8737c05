//! The user's request as plain data: the target, the instrument and the store.

use std::path::PathBuf;
use std::time::Duration;

use engine::BackendKind;
use record::PartOf;

/// Where and how to measure, and where to keep the record.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The target.
    pub target: Target,
    /// The instrument.
    pub instrument: Instrument,
    /// The store of records; `None`: the user's own.
    pub store: Option<PathBuf>,
    /// The words of the command line, for the record.
    pub command: Vec<String>,
    /// The protocol that the run is a step of, for the record.
    pub part_of: Option<PartOf>,
}

/// A target, and the user's permissions for it.
#[derive(Clone, Debug, Default)]
pub struct Target {
    /// A directory, file or block device, `pci:0000:00:05.0`, `sim:NAME`, or `null:`.
    pub spec: String,
    /// Bytes to work on.
    pub size: Option<u64>,
    /// The word by which the user lets it be overwritten: its serial number, or its size in bytes.
    pub destroy: Option<String>,
    /// Its blocks may be overwritten with their own content.
    pub borrow: bool,
    /// An NVMe drive without an IOMMU may be taken from the kernel.
    pub no_iommu: bool,
    /// Directory for the journals of borrowed blocks; `None`: the user's state directory.
    pub journal: Option<PathBuf>,
}

/// How I/O is issued and timed.
#[derive(Clone, Debug, Default)]
pub struct Instrument {
    /// The backend; `None`: the best that works.
    pub backend: Option<BackendKind>,
    /// Bind every job to a processor.
    pub pin: bool,
    /// How long the drive may leave everything unanswered before the run is ended.
    pub patience: Option<Duration>,
    /// Seed of the session: of everything random in the run, and of the session of a virtual drive.
    pub seed: u64,
}

impl Request {
    /// A request for a target with defaults for everything else.
    pub fn on(spec: impl Into<String>) -> Request {
        let target = Target { spec: spec.into(), ..Target::default() };
        Request { target, ..Request::default() }
    }
}
