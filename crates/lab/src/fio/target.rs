//! The target of fio jobs: named files and devices of this machine, or one virtual drive.
//!
//! It is opened in two steps. A planned target reports file sizes and admits or refuses all actions
//! of the jobs, without touching anything. An opened target is a rig.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use engine::{Permissions, Simulator};
use fio::Plan;
use fio::run::{CheckedPlan, RunError};
use model::DriveSpec;
use record::TargetKind;
use rig::{Event, Files, Observer, Rig, TargetInfo};

use crate::error::{LabError, Result};
use crate::real::{JobFiles, is_detached};
use crate::virtual_drive;

/// The target of a plan.
pub(super) struct FioTarget(Kind);

enum Kind {
    /// Files and devices of this machine, or one NVMe drive detached from the kernel's driver.
    Real(JobFiles),
    /// A virtual drive, with files as regions. This copy of it is only for planning.
    Virtual(Box<Simulator>, Box<DriveSpec>),
}

/// Session seed of a virtual drive. Jobs have their own seeds, and the same jobs give the same run.
const SESSION: u64 = 1;

impl FioTarget {
    /// The target named by the plan's files.
    pub(super) fn from_plan(plan: &Plan, permissions: Permissions) -> Result<FioTarget> {
        let drive = plan.drive().map_err(RunError::from)?;
        let Some(name) = drive.filter(|name| !is_detached(name)) else {
            return Ok(FioTarget(Kind::Real(JobFiles::new(permissions)?)));
        };
        let spec = virtual_drive::described(&name, SESSION).ok_or_else(|| {
            let text = format!("{name}: no driver for this kind of drive");
            LabError::usage(text)
                .advise("sim:NAME, a virtual drive; pci:0000:01:00.0; or a file or device")
        })??;
        let (interrupt, quiet) = (Arc::new(AtomicBool::new(false)), Box::new(|_: &Event| {}));
        let simulator = Simulator::new(spec.clone(), &name, interrupt, quiet);
        Ok(FioTarget(Kind::Virtual(Box::new(simulator), Box::new(spec))))
    }

    /// The files, for inspection and admission.
    pub(super) fn files(&mut self) -> &mut dyn Files {
        match &mut self.0 {
            Kind::Real(files) => files.files(),
            Kind::Virtual(simulator, _) => simulator.as_mut(),
        }
    }

    /// Refuses to overwrite devices whose blocks are in a journal, once the files are admitted.
    pub(super) fn admit_overwrites(&self) -> Result<()> {
        match &self.0 {
            Kind::Real(files) => files.admit_overwrites(),
            Kind::Virtual(..) => Ok(()),
        }
    }

    /// The drive under the first file, or the null target for jobs without files.
    pub(super) fn info(&self, prepared: &CheckedPlan<'_>) -> TargetInfo {
        let info = match &self.0 {
            Kind::Real(files) => files.info(),
            Kind::Virtual(simulator, _) => simulator.target(),
        };
        match info.target.kind {
            TargetKind::Null => TargetInfo::null(prepared.bytes()),
            _ => info.clone(),
        }
    }

    /// Opens the target for a plan that it has admitted; `traces`: its requests are followed in the
    /// kernel. Setting `interrupt` ends a run cleanly.
    pub(super) fn open(
        self,
        prepared: &CheckedPlan<'_>,
        traces: bool,
        interrupt: Arc<AtomicBool>,
        observer: Box<dyn Observer>,
    ) -> Result<Box<dyn Rig>> {
        match self.0 {
            Kind::Real(files) => files.open(traces, interrupt, observer),
            Kind::Virtual(planned, spec) => {
                let name = &planned.target().target.spec;
                let mut simulator = Simulator::new(*spec, name, interrupt, observer);
                simulator.age(virtual_drive::initial_state(name))?;
                simulator.admit(&prepared.file_plans())?;
                Ok(Box::new(simulator))
            }
        }
    }
}
