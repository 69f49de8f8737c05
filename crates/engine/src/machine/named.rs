//! A machine that works on the files that jobs name, rather than on one target.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rig::{BackendKind, DiskUse, FilePlan, FileSeen, Files, Job, Observer, Result};
use workload::Caching;

use crate::clock::Clock;
use crate::device::{AnyDevice, FdDevice};
use crate::fileset::FileSet;
use crate::machine::{Machine, Options};

impl Machine {
    /// A machine for jobs on named files, which `files` has admitted. The target is the drive under
    /// the first file. Setting `interrupt` ends a run cleanly.
    pub fn over(
        mut files: FileSet,
        options: Options,
        interrupt: Arc<AtomicBool>,
        observer: Box<dyn Observer>,
    ) -> Machine {
        let (info, watch) = (files.info().clone(), files.take_watch());
        let backend = options.backend.unwrap_or(BackendKind::Null);
        let mut machine = Machine::bare(info, options, backend, Clock::new(), interrupt, observer);
        (machine.watch, machine.files) = (watch, Some(files));
        machine
    }

    /// The files of a job, opened as it asks for them; `None` on a machine of one target.
    pub(super) fn open_named(&self, job: &Job) -> Result<Option<AnyDevice>> {
        let Some(files) = &self.files else { return Ok(None) };
        if job.files.is_empty() {
            return Ok(Some(AnyDevice::Null));
        }
        let direct = job.workload.caching == Caching::Bypass;
        let device = FdDevice::of_files(files.open(job)?, direct, rig::place_bits(&job.files));
        Ok(Some(AnyDevice::Fd(device)))
    }

    fn named(&mut self) -> &mut FileSet {
        self.files.get_or_insert_with(|| FileSet::new(&[]))
    }
}

impl Files for Machine {
    fn look(&mut self, path: &Path) -> Result<FileSeen> {
        self.named().look(path)
    }

    fn room(&mut self, directory: &Path) -> Result<u64> {
        self.named().room(directory)
    }

    fn admit(&mut self, plans: &[FilePlan]) -> Result<Option<String>> {
        let lost = self.named().admit(plans)?;
        self.watch = self.named().take_watch();
        self.info = self.named().info().clone();
        Ok(lost)
    }

    fn lay_out(&mut self, seed: u64, progress: &mut dyn FnMut(&Path, u64) -> bool) -> Result<()> {
        self.alive()?;
        self.named().lay_out(seed, progress)
    }

    fn remove(&mut self, path: &Path) -> Result<()> {
        self.named().remove(path)
    }

    fn left(&self) -> Vec<(PathBuf, u64)> {
        self.files.as_ref().map(Files::left).unwrap_or_default()
    }

    fn disks(&mut self) -> Vec<DiskUse> {
        self.named().disks()
    }
}
