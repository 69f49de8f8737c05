//! From a target's name to a rig: a real target, a virtual drive, or the null target.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use engine::Simulator;
use record::{Health, State, TargetKind};
use rig::{BackendKind, Observer, Rig};
use script::ScratchUse;

use crate::error::{LabError, Result};
use crate::real::{self, FileIdentity, Machine, PlannedTarget};
use crate::request::{NULL, NULL_NVME, Request, TargetRequest};
use crate::virtual_drive;

impl TargetRequest {
    /// Whether it is a virtual drive or the null target, rather than a drive of this machine.
    pub fn is_simulated(&self) -> bool {
        self.is_null() || self.spec.starts_with(virtual_drive::PREFIX)
    }

    pub(crate) fn is_null(&self) -> bool {
        self.spec == NULL || self.spec == NULL_NVME
    }

    /// Refuses a backend on targets that support only the NVMe driver.
    pub(crate) fn admit_backend(&self, backend: Option<BackendKind>) -> Result<()> {
        let needs_nvme_driver = self.spec == NULL_NVME || real::is_detached(&self.spec);
        let Some(backend) = backend.filter(|_| needs_nvme_driver) else { return Ok(()) };
        let text = format!("{} does not support the backend {}", self.spec, backend.name());
        Err(LabError::usage(text).advise("the same without --backend"))
    }

    /// Makes every check that opening makes, without touching the target.
    pub(crate) fn plan(&self, scratch: ScratchUse) -> Result<PlannedTarget> {
        if let Some(spec) = virtual_drive::described(&self.spec, 0) {
            self.admit_permission("a virtual drive", "nothing real is written")?;
            let mut info = Simulator::info(&spec?, &self.spec);
            info.state = virtual_drive::initial_state(&self.spec);
            return Ok(PlannedTarget { info, destroys: None, file: None });
        }
        let planned = real::plan(self, scratch).map_err(|error| match error.advice() {
            None => error.advise_if(virtual_drive::meant(&self.spec)),
            Some(_) => error,
        })?;
        if planned.info.target.kind == TargetKind::Directory {
            self.admit_permission("a directory", "only a scratch file is written there")?;
        }
        Ok(planned)
    }

    /// Refuses a permission that this target does not need.
    fn admit_permission(&self, what: &str, why: &str) -> Result<()> {
        let permission = match (&self.destroy, self.borrow) {
            (Some(_), _) => "--destroy",
            (None, true) => "--borrow",
            (None, false) => return Ok(()),
        };
        let text = format!("{permission} is for devices and files: {} is {what}", self.spec);
        Err(LabError::usage(text).advise(format!("the same without {permission}: {why}")))
    }
}

/// An opened target.
pub(crate) enum Stand {
    /// A target of this machine, or the null target.
    Real(Box<Machine>),
    /// A virtual drive.
    Virtual(Box<Simulator>),
}

impl Stand {
    /// Opens the target of a request; a file must be the planned one. The work's use of a
    /// scratch file decides its size.
    pub(crate) fn open(
        request: &Request,
        interrupt: &Arc<AtomicBool>,
        observer: Box<dyn Observer>,
        planned: Option<FileIdentity>,
        scratch: ScratchUse,
    ) -> Result<Stand> {
        let (target, seed) = (&request.target, request.instrument.seed);
        if let Some(spec) = virtual_drive::described(&target.spec, seed) {
            let mut simulator =
                Simulator::new(spec?, &target.spec, Arc::clone(interrupt), observer);
            simulator.age(virtual_drive::initial_state(&target.spec))?;
            return Ok(Stand::Virtual(Box::new(simulator)));
        }
        let machine = real::open(request, interrupt, observer, planned, scratch)?;
        Ok(Stand::Real(Box::new(machine)))
    }

    /// Skips steady stretches, if the target is a virtual drive.
    pub(crate) fn leaping(self) -> Stand {
        match self {
            Stand::Virtual(simulator) => Stand::Virtual(Box::new(simulator.leaping(true))),
            stand => stand,
        }
    }

    /// The rig of the target.
    pub(crate) fn rig(&mut self) -> &mut dyn Rig {
        match self {
            Stand::Real(machine) => real::rig(machine),
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
                Stand::Real(Box::new(real::with_reference(*machine, interrupt)))
            }
            Stand::Virtual(simulator) => Stand::Virtual(simulator),
        }
    }
}
