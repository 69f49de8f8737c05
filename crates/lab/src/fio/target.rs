//! The target of fio's jobs: files and devices of this machine by name, or one virtual drive.
//!
//! It is opened in two steps. Planned, it reports sizes of files and admits or refuses everything that
//! the jobs will do; nothing is touched. Opened, it is a rig.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use engine::{FileSet, Machine, Options, Permissions, Simulator};
use fio::Plan;
use fio::run::{Prepared, RunError};
use model::DriveSpec;
use record::TargetKind;
use rig::{Event, Files, Observer, Rig, TargetInfo};

use crate::error::{LabError, Result};
use crate::virtual_drive;

/// The target of a plan.
pub(super) struct FioTarget(Kind);

enum Kind {
    /// Files and devices of this machine, or one NVMe drive without the kernel's driver.
    Real(Box<FileSet>),
    /// A virtual drive, whose files are regions. This copy of it is only for planning.
    Virtual(Box<Simulator>, Box<DriveSpec>),
}

/// Seed of the session of a virtual drive: jobs have seeds of their own, and the same jobs give the same
/// run.
const SESSION: u64 = 1;

impl FioTarget {
    /// The target that the plan's files name.
    pub(super) fn of(plan: &Plan, permissions: Permissions) -> Result<FioTarget> {
        let drive = plan.drive().map_err(RunError::from)?;
        let Some(name) = drive.filter(|name| !name.starts_with(drive::pci::PREFIX)) else {
            return Ok(FioTarget(Kind::Real(Box::new(FileSet::new(permissions)))));
        };
        let unknown = || {
            let text = format!("{name}: there is no driver for such a drive");
            LabError::usage(text)
                .advise("sim:NAME, a virtual drive; pci:0000:01:00.0; or a file or device")
        };
        let spec = virtual_drive::described(&name, SESSION).ok_or_else(unknown)??;
        let (never, quiet) = (Arc::new(AtomicBool::new(false)), Box::new(|_: &Event| {}));
        let simulator = Simulator::new(spec.clone(), &name, never, quiet);
        Ok(FioTarget(Kind::Virtual(Box::new(simulator), Box::new(spec))))
    }

    /// The files, to be looked at and admitted.
    pub(super) fn files(&mut self) -> &mut dyn Files {
        match &mut self.0 {
            Kind::Real(files) => files.as_mut(),
            Kind::Virtual(simulator, _) => simulator.as_mut(),
        }
    }

    /// The drive under the first file; for jobs without files, the null target.
    pub(super) fn info(&self, prepared: &Prepared<'_>) -> TargetInfo {
        let info = match &self.0 {
            Kind::Real(files) => files.info(),
            Kind::Virtual(simulator, _) => simulator.target(),
        };
        match info.target.kind {
            TargetKind::Null => TargetInfo::null(prepared.bytes()),
            _ => info.clone(),
        }
    }

    /// Opens it for a plan that it has admitted. Setting `interrupt` ends a run cleanly.
    pub(super) fn open(
        self,
        prepared: &Prepared<'_>,
        interrupt: Arc<AtomicBool>,
        observer: Box<dyn Observer>,
    ) -> Result<Box<dyn Rig>> {
        match self.0 {
            Kind::Real(files) => {
                let machine = Machine::over(*files, Options::default(), interrupt, observer);
                Ok(Box::new(machine?))
            }
            Kind::Virtual(planned, spec) => {
                let name = &planned.target().target.spec;
                let mut simulator = Simulator::new(*spec, name, interrupt, observer);
                simulator.admit(&prepared.file_plans())?;
                Ok(Box::new(simulator))
            }
        }
    }
}
