//! Targets of this machine, on systems other than Linux: none. Whatever would open one is refused in
//! one line; what is only opened then cannot exist, so that its functions have no body.

use std::convert::Infallible;
use std::fs::FileType;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use engine::Permissions;
use record::{Cpu, Environment, State};
use rig::{Files, Observer, Rig, TargetInfo};
use script::ScratchUse;
use workload::Workload;

use crate::error::{LabError, Result};
use crate::request::{Request, TargetRequest};

/// A target that passed every check: a virtual drive.
#[derive(Clone, Debug)]
pub(crate) struct PlannedTarget {
    /// Properties for methods and records.
    pub info: TargetInfo,
    /// The data that would be lost: none.
    pub destroys: Option<String>,
    /// Identity of the file, if the target is a file.
    pub file: Option<FileIdentity>,
}

#[derive(Clone, Debug)]
pub(crate) struct FileIdentity(Infallible);

/// An opened target of this machine.
pub(crate) struct Machine(Infallible);

impl Machine {
    pub(crate) fn backend(&self) -> &'static str {
        match self.0 {}
    }

    pub(crate) fn clock(&self) -> &'static str {
        match self.0 {}
    }

    pub(crate) fn instrument_ns(&self, _probe: &Workload, _ops: u64) -> Result<f64> {
        match self.0 {}
    }

    pub(crate) fn assume(&mut self, _state: State) {
        match self.0 {}
    }

    pub(crate) fn check_again(&self) -> Result<()> {
        match self.0 {}
    }
}

/// Whether a target is an NVMe drive without the kernel's driver. It is refused like any other.
pub(crate) fn is_detached(spec: &str) -> bool {
    spec.starts_with("pci:")
}

/// Whether such a drive could not be returned to the kernel.
pub(crate) fn stayed_away(_spec: &str) -> bool {
    false
}

/// The environment of this machine, as far as the standard library knows it.
pub(crate) fn environment() -> Environment {
    let threads = std::thread::available_parallelism().ok().map(|n| n.get() as u32);
    Environment {
        os: Some(std::env::consts::OS.into()),
        cpu: Cpu { threads, ..Cpu::default() },
        ..Environment::default()
    }
}

/// Bytes that new files leave free on a file system of this size. No run creates files there.
pub(crate) fn kept_free(_total_bytes: u64) -> u64 {
    0
}

/// Bytes for new files in a directory: not known, so that only a full file system ends a file.
pub(crate) fn room(_directory: &Path) -> Result<u64> {
    Ok(u64::MAX)
}

/// Whether a file is a block device, which is not read there.
pub(crate) fn is_block_device(_kind: FileType) -> bool {
    false
}

/// Checks a target: refused.
pub(crate) fn plan(_target: &TargetRequest, _scratch: ScratchUse) -> Result<PlannedTarget> {
    Err(LabError::needs_linux())
}

/// The directory for journals of borrowed blocks: none.
pub(crate) fn journals(_target: &TargetRequest) -> Option<PathBuf> {
    None
}

/// Opens a target: refused.
pub(crate) fn open(
    _request: &Request,
    _interrupt: &Arc<AtomicBool>,
    _observer: Box<dyn Observer>,
    _planned: Option<FileIdentity>,
    _scratch: ScratchUse,
) -> Result<Machine> {
    Err(LabError::needs_linux())
}

/// The rig of an opened target.
pub(crate) fn rig(machine: &mut Machine) -> &mut dyn Rig {
    match machine.0 {}
}

/// Adds a RAM disc of this machine for comparison.
pub(crate) fn with_reference(machine: Machine, _interrupt: &Arc<AtomicBool>) -> Machine {
    machine
}

/// A scratch file with a name.
pub(crate) struct NamedScratch(Infallible);

impl NamedScratch {
    /// Creates one: refused.
    pub(crate) fn create(_directory: &Path) -> Result<NamedScratch> {
        Err(LabError::needs_linux())
    }

    pub(crate) fn path(&self) -> &Path {
        match self.0 {}
    }
}

/// Files and devices that the jobs of fio name.
pub(crate) struct JobFiles(Infallible);

impl JobFiles {
    /// The files for jobs: refused.
    pub(crate) fn new(_permissions: Permissions) -> Result<JobFiles> {
        Err(LabError::needs_linux())
    }

    pub(crate) fn files(&mut self) -> &mut dyn Files {
        match self.0 {}
    }

    pub(crate) fn admit_overwrites(&self) -> Result<()> {
        match self.0 {}
    }

    pub(crate) fn info(&self) -> &TargetInfo {
        match self.0 {}
    }

    pub(crate) fn open(
        self,
        _traces: bool,
        _interrupt: Arc<AtomicBool>,
        _observer: Box<dyn Observer>,
    ) -> Result<Box<dyn Rig>> {
        match self.0 {}
    }
}
