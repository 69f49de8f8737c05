//! From a target's name to a rig: a real target, a virtual drive, or the null target.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use drive::{DriveKey, FileIdentity, OpenRequest, Planned};
use engine::{Machine, Options, Simulator};
use journal::JournalDir;
use record::{Health, Safety, State};
use rig::{BackendKind, Event, Observer, Rig, TargetInfo};

use crate::error::{LabError, Result};
use crate::request::{Instrument, Request, Target};
use crate::virtual_drive;

/// The target that completes everything at once; a run on it measures the instrument.
pub const NULL: &str = "null:";

/// The same through the NVMe driver, with a simulated controller.
pub const NULL_NVME: &str = "null:nvme";

/// Default size of the null targets, bytes.
const NULL_BYTES: u64 = 1 << 30;

/// Directories that are usually on a file system in memory.
const RAM_DISCS: [&str; 4] = ["/dev/shm", "/run/shm", "/tmp", "/run"];

/// Sizes of the scratch file on a RAM disc, bytes, in order of preference.
const RAM_DISC_BYTES: [u64; 2] = [64 << 20, 16 << 20];

impl Target {
    /// Whether it is a virtual drive or the null target, rather than a drive of this machine.
    pub fn is_simulated(&self) -> bool {
        self.is_null() || self.spec.starts_with(virtual_drive::PREFIX)
    }

    fn is_null(&self) -> bool {
        self.spec == NULL || self.spec == NULL_NVME
    }

    /// Refuses a backend on targets that support only the NVMe driver.
    pub(crate) fn admit_backend(&self, backend: Option<BackendKind>) -> Result<()> {
        let own = self.spec == NULL_NVME || self.spec.starts_with(drive::pci::PREFIX);
        let Some(backend) = backend.filter(|_| own) else { return Ok(()) };
        let text = format!("{} does not support the backend {}", self.spec, backend.name());
        Err(LabError::usage(text).advise("the same without --backend"))
    }

    /// Makes every check that opening makes, without touching the target.
    pub(crate) fn plan(&self, fills: bool) -> Result<Planned> {
        if self.is_null() {
            return Ok(Planned { info: self.null(), destroys: None, file: None });
        }
        if let Some(spec) = virtual_drive::described(&self.spec, 0) {
            let mut info = Simulator::info(&spec?, &self.spec);
            info.state = virtual_drive::initial_state(&self.spec);
            return Ok(Planned { info, destroys: None, file: None });
        }
        let planned = drive::plan_open(&self.spec, &self.open_request(fills))?;
        match planned.info.allowed {
            Safety::Borrows => self.place()?.check(Path::new(&self.spec))?,
            Safety::Destroys => admit_overwrite(&self.spec, self.journal.as_deref())?,
            _ => {}
        }
        Ok(planned)
    }

    /// The directory for journals of borrowed blocks.
    pub(crate) fn place(&self) -> Result<JournalDir> {
        Ok(JournalDir::of_user(self.journal.as_deref())?)
    }

    fn null(&self) -> TargetInfo {
        let mut null = TargetInfo::null(self.size.unwrap_or(NULL_BYTES));
        null.target.spec.clone_from(&self.spec);
        if self.spec == NULL_NVME {
            null.bytes -= null.bytes % u64::from(null.logical_block_bytes);
            null.target.bytes = Some(null.bytes);
        }
        null
    }

    fn open_request(&self, fills: bool) -> OpenRequest {
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
            fills,
            keep: self.keep.clone(),
            ..OpenRequest::to(wants)
        }
    }
}

/// Refuses to overwrite a device whose blocks are in a journal. Every command that overwrites one
/// calls this first; `journal` is its directory for journals.
pub(crate) fn admit_overwrite(device: &str, journal: Option<&Path>) -> Result<()> {
    let keys = match device.starts_with(drive::pci::PREFIX) {
        true => drive::pci::keys(device),
        false => DriveKey::at(Path::new(device)).into_iter().collect(),
    };
    // Only devices lend blocks. If no directory is known, their journals cannot be found: an error.
    keys.iter().try_for_each(|key| Ok(JournalDir::of_user(journal)?.check_overwrite(key, device)?))
}

/// An opened target.
pub(crate) enum Stand {
    /// A target of this machine, or the null target.
    Real(Box<Machine>),
    /// A virtual drive.
    Virtual(Box<Simulator>),
}

impl Stand {
    /// Opens the target of a request; a file must be the planned one. Work that `fills` may take
    /// all free space.
    pub(crate) fn open(
        request: &Request,
        interrupt: &Arc<AtomicBool>,
        observer: Box<dyn Observer>,
        planned: Option<FileIdentity>,
        fills: bool,
    ) -> Result<Stand> {
        let (target, interrupt) = (&request.target, Arc::clone(interrupt));
        let seed = request.instrument.seed;
        if let Some(spec) = virtual_drive::described(&target.spec, seed) {
            let mut simulator = Simulator::new(spec?, &target.spec, interrupt, observer);
            simulator.age(virtual_drive::initial_state(&target.spec))?;
            return Ok(Stand::Virtual(Box::new(simulator)));
        }
        let options = options(request)?;
        let machine = match target.spec == NULL {
            true => Machine::null(target.null(), options, interrupt, observer),
            false if target.spec == NULL_NVME => {
                Machine::null_nvme(target.null(), options, interrupt, observer)?
            }
            false if target.spec.starts_with(drive::pci::PREFIX) => {
                let opened = drive::open_pci(&target.spec, &target.open_request(fills))?;
                Machine::pci(opened, options, interrupt, observer)?
            }
            false => {
                let opened =
                    drive::open_planned(&target.spec, &target.open_request(fills), planned)?;
                Machine::new(opened, options, interrupt, observer)?
            }
        };
        Ok(Stand::Real(Box::new(machine)))
    }

    /// The rig of the target.
    pub(crate) fn rig(&mut self) -> &mut dyn Rig {
        match self {
            Stand::Real(machine) => machine.as_mut(),
            Stand::Virtual(simulator) => simulator.as_mut(),
        }
    }

    /// Sets the state known from earlier runs. A virtual drive knows its own state.
    pub(crate) fn assume(&mut self, state: State) {
        if let Stand::Real(machine) = self {
            machine.assume(state);
        }
    }

    /// Checks that the target is still the opened one. A virtual drive cannot change.
    pub(crate) fn check_again(&self) -> Result<()> {
        match self {
            Stand::Real(machine) => Ok(machine.check_again()?),
            Stand::Virtual(_) => Ok(()),
        }
    }

    /// Wear, errors and temperature as currently reported by the drive.
    pub(crate) fn health(&mut self) -> Option<Health> {
        self.rig().health()
    }

    /// Adds a RAM disc of this machine for comparison, if there is one. A virtual drive has no host
    /// to compare with.
    pub(crate) fn with_reference(self, interrupt: &Arc<AtomicBool>) -> Stand {
        match self {
            Stand::Real(machine) => {
                let reference = ram_disc(interrupt).map(Box::new);
                Stand::Real(Box::new(machine.with_reference(reference)))
            }
            Stand::Virtual(simulator) => Stand::Virtual(simulator),
        }
    }
}

fn options(request: &Request) -> Result<Options> {
    let Instrument { backend, pin, patience, .. } = request.instrument;
    let journal = request.target.borrow.then(|| request.target.place()).transpose()?;
    let usual = Options::default();
    let patience = patience.unwrap_or(usual.patience);
    Ok(Options { backend, pin, journal, patience, ..usual })
}

/// Creates a scratch file on a file system in memory, in the first directory with room.
fn ram_disc(interrupt: &Arc<AtomicBool>) -> Option<Machine> {
    let places = RAM_DISCS.iter().flat_map(|place| RAM_DISC_BYTES.map(|size| (place, size)));
    let opened = places.into_iter().find_map(|(place, size)| {
        let request = OpenRequest { size: Some(size), ..OpenRequest::to(Safety::Scratch) };
        let planned = drive::plan_open(place, &request).ok()?;
        planned.info.ram.then(|| drive::open(place, &request).ok()).flatten()
    });
    let quiet = Box::new(|_: &Event| {});
    Machine::new(opened?, Options::default(), Arc::clone(interrupt), quiet).ok()
}
