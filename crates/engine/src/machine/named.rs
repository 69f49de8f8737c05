//! A machine that operates on the files named by jobs rather than on a single target.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rig::{DiskUse, FilePlan, FileSeen, Files, NameCall, Observer, Result};

use crate::fileset::FileSet;
use crate::machine::{Machine, RigOptions};
use crate::permissions::Permissions;

impl Machine {
    /// Creates a machine for jobs on named files. Its target is the drive under the first file.
    /// Setting `interrupt` ends a run cleanly.
    pub fn over(
        mut files: FileSet,
        options: RigOptions,
        interrupt: Arc<AtomicBool>,
        observer: Box<dyn Observer>,
    ) -> Result<Machine> {
        let drive = files.drive(options.patience)?;
        let machine = Machine::on(drive, files.info().clone(), options, interrupt, observer);
        Ok(Machine { files: Some(files), ..machine })
    }

    fn named(&mut self) -> &mut FileSet {
        self.files.get_or_insert_with(|| FileSet::new(Permissions::default()))
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
        let destroyed = self.named().admit(plans)?;
        let patience = self.options.patience;
        self.device = Arc::new(self.named().drive(patience)?);
        self.tracer = OnceCell::new();
        self.info = self.named().info().clone();
        Ok(destroyed)
    }

    fn lay_out(&mut self, seed: u64, progress: &mut dyn FnMut(&Path, u64) -> bool) -> Result<()> {
        self.goes_on()?;
        self.named().lay_out(seed, progress)
    }

    fn remove(&mut self, path: &Path) -> Result<()> {
        self.named().remove(path)
    }

    fn left(&self) -> Vec<(PathBuf, u64)> {
        self.files.as_ref().map(Files::left).unwrap_or_default()
    }

    fn call(&mut self, call: NameCall, path: &Path) -> std::result::Result<u64, i32> {
        self.named().call(call, path)
    }

    fn disks(&mut self) -> Vec<DiskUse> {
        self.named().disks()
    }
}
