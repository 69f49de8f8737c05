//! Targets of this machine: drives, directories, files, and the null targets. Only this file and
//! the rooms of commands that concern real drives alone (`recover`, `partition`, `machine`) reach
//! `drive`, `journal` and the engine's real half. Other systems than Linux have `elsewhere/real.rs`
//! instead.

use std::fs::FileType;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use drive::pci::PREFIX;
use drive::{DriveError, DriveKey, OpenRequest};
pub(crate) use drive::{FileIdentity, NamedScratch, PlannedTarget, kept_free};
pub(crate) use engine::Machine;
use engine::{FileSet, Permissions, RigOptions};
use journal::{JournalDir, JournalError};
use record::{Environment, Safety};
use rig::{Event, Files, Observer, Rig, TargetInfo};
use script::ScratchUse;

use crate::error::{LabError, Result};
use crate::request::{Instrument, NULL, NULL_NVME, Request, TargetRequest};

/// Default size of the null targets, bytes.
const NULL_BYTES: u64 = 1 << 30;

/// Directories that are usually on a file system in memory.
const RAM_DISCS: [&str; 4] = ["/dev/shm", "/run/shm", "/tmp", "/run"];

/// Sizes of the scratch file on a RAM disc, bytes, in order of preference.
const RAM_DISC_BYTES: [u64; 2] = [64 << 20, 16 << 20];

/// Whether a target is an NVMe drive without the kernel's driver.
pub(crate) fn is_detached(spec: &str) -> bool {
    spec.starts_with(PREFIX)
}

/// Whether such a drive could not be returned to the kernel.
pub(crate) fn stayed_away(spec: &str) -> bool {
    is_detached(spec) && drive::pci::stayed_away(spec)
}

/// The environment of this machine.
pub(crate) fn environment() -> Environment {
    drive::host::environment()
}

/// Bytes for new files in a directory.
pub(crate) fn room(directory: &Path) -> Result<u64> {
    Ok(drive::room(directory)?)
}

/// Whether a file is a block device.
pub(crate) fn is_block_device(kind: FileType) -> bool {
    kind.is_block_device()
}

impl TargetRequest {
    fn null(&self) -> TargetInfo {
        let mut null = TargetInfo::null(self.size.unwrap_or(NULL_BYTES));
        null.target.spec.clone_from(&self.spec);
        if self.spec == NULL_NVME {
            null.bytes -= null.bytes % u64::from(null.logical_block_bytes);
            null.target.bytes = Some(null.bytes);
        }
        null
    }

    /// The directory for journals of borrowed blocks.
    fn place(&self) -> Result<JournalDir> {
        Ok(JournalDir::of_user(self.journal.as_deref())?)
    }

    fn open_request(&self, scratch: ScratchUse) -> OpenRequest {
        // A directory allows scratch files at most; a device is written only if the user allows
        // it explicitly.
        let wants = match (&self.destroy, self.borrow) {
            (Some(_), _) => Safety::Destroys,
            (None, true) => Safety::Borrows,
            (None, false) => Safety::Scratch,
        };
        let destroy = self.destroy.clone();
        OpenRequest {
            size: self.size,
            destroy,
            no_iommu: self.no_iommu,
            fills: scratch.fills,
            passes: scratch.passes,
            keep: self.keep.clone(),
            ..OpenRequest::to(wants)
        }
    }
}

/// Makes every check that opening makes, without touching the target.
pub(crate) fn plan(target: &TargetRequest, scratch: ScratchUse) -> Result<PlannedTarget> {
    if target.is_null() {
        return Ok(PlannedTarget { info: target.null(), destroys: None, file: None });
    }
    let plan = drive::plan_open(&target.spec, &target.open_request(scratch))?;
    match plan.info.allowed {
        Safety::Borrows => target.place()?.check(Path::new(&target.spec))?,
        Safety::Destroys => admit_overwrite(&target.spec, target.journal.as_deref())?,
        _ => {}
    }
    Ok(plan)
}

/// The directory for journals of borrowed blocks, if there is one.
pub(crate) fn journals(target: &TargetRequest) -> Option<PathBuf> {
    Some(target.place().ok()?.dir().to_path_buf())
}

/// Opens the target of a request; a file must be the planned one. The work's use of a scratch
/// file decides its size.
pub(crate) fn open(
    request: &Request,
    interrupt: &Arc<AtomicBool>,
    observer: Box<dyn Observer>,
    planned: Option<FileIdentity>,
    scratch: ScratchUse,
) -> Result<Machine> {
    let (target, interrupt, options) = (&request.target, Arc::clone(interrupt), options(request)?);
    let open_request = target.open_request(scratch);
    Ok(if target.spec == NULL {
        Machine::null(target.null(), options, interrupt, observer)
    } else if target.is_null() {
        Machine::null_nvme(target.null(), options, interrupt, observer)?
    } else if is_detached(&target.spec) {
        let drive = drive::open_pci(&target.spec, &open_request)?;
        Machine::pci(drive, options, interrupt, observer)?
    } else {
        let drive = drive::open_planned(&target.spec, &open_request, planned)?;
        Machine::new(drive, options, interrupt, observer)?
    })
}

/// The rig of an opened target.
pub(crate) fn rig(machine: &mut Machine) -> &mut dyn Rig {
    machine
}

/// Adds a RAM disc of this machine for comparison, if there is one.
pub(crate) fn with_reference(machine: Machine, interrupt: &Arc<AtomicBool>) -> Machine {
    machine.with_reference(ram_disc(interrupt).map(Box::new))
}

/// Refuses to overwrite a device whose blocks are in a journal. Every command that overwrites one
/// calls this first; `journal` is its directory for journals.
pub(crate) fn admit_overwrite(device: &str, journal: Option<&Path>) -> Result<()> {
    let keys = if device.starts_with(drive::pci::PREFIX) {
        drive::pci::keys(device)
    } else {
        DriveKey::from_path(Path::new(device)).into_iter().collect()
    };
    // Only devices lend blocks. If no directory is known, their journals cannot be found: an error.
    keys.iter().try_for_each(|key| Ok(JournalDir::of_user(journal)?.check_overwrite(key, device)?))
}

fn options(request: &Request) -> Result<RigOptions> {
    let Instrument { backend, pin, traces, patience, .. } = request.instrument;
    let journal = request.target.borrow.then(|| request.target.place()).transpose()?;
    let usual = RigOptions::default();
    let patience = patience.unwrap_or(usual.patience);
    Ok(RigOptions { backend, pin, journal, traces, patience, ..usual })
}

/// Creates a scratch file on a file system in memory, in the first directory with room.
fn ram_disc(interrupt: &Arc<AtomicBool>) -> Option<Machine> {
    let places = RAM_DISCS.iter().flat_map(|place| RAM_DISC_BYTES.map(|size| (place, size)));
    let scratch = places.into_iter().find_map(|(place, size)| {
        let request = OpenRequest { size: Some(size), ..OpenRequest::to(Safety::Scratch) };
        let plan = drive::plan_open(place, &request).ok()?;
        plan.info.ram.then(|| drive::open(place, &request).ok()).flatten()
    });
    let quiet = Box::new(|_: &Event| {});
    Machine::new(scratch?, RigOptions::default(), Arc::clone(interrupt), quiet).ok()
}

/// Files and devices that the jobs of fio name.
pub(crate) struct JobFiles(Box<FileSet>);

impl JobFiles {
    /// The files for jobs with these permissions.
    pub(crate) fn new(permissions: Permissions) -> Result<JobFiles> {
        Ok(JobFiles(Box::new(FileSet::new(permissions))))
    }

    /// The files, for inspection and admission.
    pub(crate) fn files(&mut self) -> &mut dyn Files {
        self.0.as_mut()
    }

    /// Refuses to overwrite devices whose blocks are in a journal, once the files are admitted.
    pub(crate) fn admit_overwrites(&self) -> Result<()> {
        let mut destroyed = self.0.destroyed();
        destroyed.try_for_each(|device| admit_overwrite(&device.to_string_lossy(), None))
    }

    /// The drive under the first file.
    pub(crate) fn info(&self) -> &TargetInfo {
        self.0.info()
    }

    /// The rig of the files; `traces`: their requests are followed in the kernel. Setting
    /// `interrupt` ends a run cleanly.
    pub(crate) fn open(
        self,
        traces: bool,
        interrupt: Arc<AtomicBool>,
        observer: Box<dyn Observer>,
    ) -> Result<Box<dyn Rig>> {
        let options = RigOptions { traces, ..RigOptions::default() };
        Ok(Box::new(Machine::over(*self.0, options, interrupt, observer)?))
    }
}

impl From<DriveError> for LabError {
    fn from(error: DriveError) -> LabError {
        LabError::new(error.fault().into(), &error).advise_if(error.advice())
    }
}

impl From<JournalError> for LabError {
    fn from(error: JournalError) -> LabError {
        LabError::new(error.fault().into(), &error).advise_if(error.advice())
    }
}
