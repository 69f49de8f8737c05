//! The files that jobs name, on a real machine: checked before anything is written, laid out as fio
//! does it, opened, and marked as they were left.
//!
//! A missing file is created; a file that is long enough is kept as it is; files stay afterwards
//! unless they are removed. A file created here carries a mark, so that the next run may overwrite
//! it. Any other data are overwritten only if the user gave them away: a file by its size, a device
//! by its serial number. A file is the one that was looked at, whatever its name means later.

mod disks;
mod layout;
mod mark;
mod open;
mod pci;
mod same;

use std::collections::{BTreeMap, HashMap};
use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use drive::{DriveError, ErrorKind, FileIdentity, OpenRequest, Opened, Watch};
use record::{Safety, TargetKind};
use rig::{DiskUse, Fault, FilePlan, FileSeen, Files, Result, RigError, TargetInfo};
use workload::units;

use crate::device::{AnyDevice, FdDevice};
use crate::failure::device_error;
use same::SameFiles;

/// A file or device of the run.
#[derive(Debug)]
struct Known {
    seen: FileSeen,
    /// Created by an earlier run and unchanged since, or empty.
    ours: bool,
    /// The file itself; `None` for a device, and for a file that was not there.
    identity: Option<FileIdentity>,
    /// What jobs will do with it, once that is known.
    plan: Option<FilePlan>,
}

impl Known {
    /// Bytes that its file system must still provide.
    fn grows(&self) -> u64 {
        let end = self.plan.as_ref().map_or(0, |plan| plan.end);
        if self.seen.device { 0 } else { end.saturating_sub(self.seen.bytes.unwrap_or(0)) }
    }

    /// Whether data that are in it now would be lost.
    fn overwrites(&self) -> bool {
        let Some(plan) = &self.plan else { return false };
        plan.changed || (self.grows() > 0 && plan.content)
    }
}

/// The user's permissions for the files of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Permissions {
    /// Words that give targets away (`--destroy`).
    pub destroy: Vec<String>,
    /// Every regular file is given away (`--overwrite-files`). Devices stay guarded.
    pub overwrite_files: bool,
    /// A drive without an IOMMU may be taken from the kernel (`--no-iommu`).
    pub no_iommu: bool,
}

/// Every file of a run.
pub struct FileSet {
    permissions: Permissions,
    known: BTreeMap<PathBuf, Known>,
    /// Devices, files that were given away and files that are only read, with their guards.
    opened: HashMap<PathBuf, Opened>,
    /// The files themselves.
    same: SameFiles,
    info: TargetInfo,
    watch: Option<Watch>,
    before: Option<disks::Before>,
    /// Laying out has begun.
    touched: bool,
    /// The only file is this NVMe drive without the kernel's driver, and this request opens it.
    pci: Option<(String, OpenRequest)>,
}

impl FileSet {
    /// No files yet.
    pub fn new(permissions: Permissions) -> FileSet {
        FileSet {
            permissions,
            known: BTreeMap::new(),
            opened: HashMap::new(),
            same: SameFiles::default(),
            info: TargetInfo::null(0),
            watch: None,
            before: None,
            touched: false,
            pci: None,
        }
    }

    /// The words that give a file away.
    fn given(&self, seen: &FileSeen) -> Vec<String> {
        let bytes = seen.bytes.filter(|_| self.permissions.overwrite_files && !seen.device);
        self.permissions
            .destroy
            .iter()
            .cloned()
            .chain(bytes.map(|bytes| bytes.to_string()))
            .collect()
    }

    /// The drive under the first file, once files were admitted.
    pub fn info(&self) -> &TargetInfo {
        &self.info
    }

    /// That drive, without any of the files; a drive without the kernel's driver is opened.
    pub(crate) fn drive(&mut self, patience: Duration) -> Result<AnyDevice> {
        if let Some((spec, request)) = &self.pci {
            let opened = drive::open_pci(spec, request).map_err(refused)?;
            let device = AnyDevice::pci(opened, patience);
            return device.map_err(|e| device_error(&self.info, "bringing the controller up", e));
        }
        let watch = self.watch.take();
        Ok(watch.map_or_else(AnyDevice::null, |watch| AnyDevice::files(FdDevice::watching(watch))))
    }

    /// Whether every job works on the drive itself, and none opens a file.
    pub(crate) fn is_drive(&self) -> bool {
        self.pci.is_some()
    }

    /// Plans the only file, a drive without the kernel's driver.
    fn admit_drive(&mut self, spec: String, plans: &[FilePlan]) -> Result<Option<String>> {
        let changed = plans.iter().any(|plan| plan.changed);
        let planned = pci::plan(&spec, changed, &self.permissions)?;
        self.info = planned.planned.info;
        self.pci = Some((spec, planned.request));
        Ok(planned.planned.destroys)
    }

    /// Asks the guard of every device again. Files grow as jobs write to them.
    pub(crate) fn check_again(&self) -> Result<()> {
        let mut devices = self.opened.values().filter(|o| o.info.target.kind == TargetKind::Device);
        devices.try_for_each(|opened| opened.guard.check_again()).map_err(refused)
    }

    /// Whether one file may be treated as planned; opens it where it is guarded.
    fn admit_one(&mut self, path: &Path) -> Result<()> {
        let Some(known) = self.known.get(path) else { return Ok(()) };
        let there = known.seen.bytes.unwrap_or(0);
        let opened = if there > 0 && !known.ours && known.overwrites() {
            given_away(path, &known.seen, &self.given(&known.seen))?
        } else if known.seen.device || (there > 0 && !known.overwrites()) {
            let request = OpenRequest::to(Safety::Reads);
            drive::open(&path.to_string_lossy(), &request).map_err(refused)?
        } else {
            return Ok(());
        };
        if let Some(identity) = known.identity {
            same::check(&identity, opened.file()).map_err(|e| failed("open", path, e))?;
        }
        self.opened.insert(path.to_path_buf(), opened);
        Ok(())
    }

    /// Whether the file systems have room for everything that grows.
    fn admit_room(&self) -> Result<()> {
        let mut wanted: BTreeMap<PathBuf, u64> = BTreeMap::new();
        for (path, known) in self.known.iter().filter(|(_, known)| known.grows() > 0) {
            *wanted.entry(directory(path)).or_default() += known.grows();
        }
        for (directory, bytes) in wanted {
            let room = drive::room(&directory).map_err(refused)?;
            if bytes > room {
                let text = format!(
                    "the files need {} more in {}, and no more than {} may be taken: a tenth of \
                     the file system stays free",
                    units::binary(bytes),
                    directory.display(),
                    units::binary(room),
                );
                return Err(RigError::usage(text, "a smaller size, or another directory"));
            }
        }
        Ok(())
    }

    /// The drive under a file, for the record and the doctor.
    fn target(&self, path: &Path, bytes: u64) -> Result<(TargetInfo, Watch)> {
        if let Some(opened) = self.opened.get(path) {
            let watch = drive::locate(path).map_err(refused)?.watch();
            return Ok((opened.info.clone(), watch));
        }
        let directory = directory(path);
        // The smallest scratch file: this asks only for the drive under the directory.
        let request = OpenRequest { size: Some(1), ..OpenRequest::to(Safety::Scratch) };
        // Where there is no room for even that, the file may still be there.
        let there = OpenRequest::to(Safety::Reads);
        let planned = drive::plan_open(&directory.to_string_lossy(), &request)
            .or_else(|full| drive::plan_open(&path.to_string_lossy(), &there).map_err(|_| full));
        let mut info = planned.map_err(refused)?.info;
        (info.bytes, info.target.bytes) = (bytes, Some(bytes));
        info.target.spec = path.display().to_string();
        Ok((info, drive::locate(&directory).map_err(refused)?.watch()))
    }

    /// What is lost of the data that were given away, in words.
    fn destroys(&self) -> Option<String> {
        let lost: Vec<String> = self.opened.values().filter_map(|o| o.destroys.clone()).collect();
        (!lost.is_empty()).then(|| lost.join("; "))
    }
}

impl Files for FileSet {
    fn look(&mut self, path: &Path) -> Result<FileSeen> {
        if let Some(known) = self.known.get(path) {
            return Ok(known.seen.clone());
        }
        let known = match pci::spec(path) {
            Some(spec) => pci::look(&spec, &self.permissions)?,
            None => look_at(path)?,
        };
        let seen = known.seen.clone();
        if let Some(identity) = known.identity {
            self.same.insert(path, identity);
        }
        self.known.insert(path.to_path_buf(), known);
        Ok(seen)
    }

    fn room(&mut self, directory: &Path) -> Result<u64> {
        drive::room(directory).map_err(refused)
    }

    fn admit(&mut self, plans: &[FilePlan]) -> Result<Option<String>> {
        if let Some(spec) = plans.iter().find_map(|plan| pci::spec(&plan.path)) {
            return self.admit_drive(spec, plans);
        }
        for plan in plans {
            self.look(&plan.path)?;
            if let Some(known) = self.known.get_mut(&plan.path) {
                known.plan = Some(plan.clone());
            }
        }
        let paths: Vec<PathBuf> = self.known.keys().cloned().collect();
        paths.iter().try_for_each(|path| self.admit_one(path))?;
        self.admit_room()?;
        if let Some(first) = plans.first() {
            let bytes = plans.iter().map(|plan| plan.used_bytes).sum();
            let (info, watch) = self.target(&first.path, bytes)?;
            (self.info, self.watch) = (info, Some(watch));
        }
        Ok(self.destroys())
    }

    fn lay_out(&mut self, seed: u64, progress: &mut dyn FnMut(&Path, u64) -> bool) -> Result<()> {
        self.check_again()?;
        self.touched = true;
        for (path, known) in &self.known {
            let Some(plan) = known.plan.as_ref().filter(|_| known.grows() > 0) else { continue };
            if !progress(path, plan.end) {
                return Err(RigError::Interrupted);
            }
            if plan.content || !plan.on_open {
                let file = self.same.open(path, OpenOptions::new().write(true), true);
                let laid = file.and_then(|file| layout::lay_out(&file, plan, seed));
                laid.map_err(|e| failed("lay out", path, e))?;
            }
        }
        self.before = Some(disks::look(self.known.keys()));
        Ok(())
    }

    fn remove(&mut self, path: &Path) -> Result<()> {
        let removed = self.same.check(path).and_then(|()| std::fs::remove_file(path));
        self.same.forget(path);
        self.opened.remove(path);
        removed.map_err(|e| failed("remove", path, e))
    }

    fn left(&self) -> Vec<(PathBuf, u64)> {
        let there = |(path, known): (&PathBuf, &Known)| {
            let bytes = path.metadata().ok().filter(|_| !known.seen.device)?.len();
            Some((path.clone(), bytes))
        };
        self.known.iter().filter_map(there).collect()
    }

    fn disks(&mut self) -> Vec<DiskUse> {
        self.before.as_ref().map(disks::since).unwrap_or_default()
    }
}

/// However a run ended, the files it created or wrote are marked as they were left.
impl Drop for FileSet {
    fn drop(&mut self) {
        let ours = |known: &Known| !known.seen.device && (known.ours || known.seen.bytes.is_none());
        if self.touched {
            for (path, _) in self.known.iter().filter(|(_, known)| ours(known)) {
                // It may be gone by now (unlink), or the file system has no marks.
                let _ =
                    self.same.open(path, OpenOptions::new().read(true), false).and_then(mark::mark);
            }
        }
    }
}

fn look_at(path: &Path) -> Result<Known> {
    let mut known = Known { seen: FileSeen::default(), ours: false, identity: None, plan: None };
    let meta = match path.metadata() {
        Ok(meta) => meta,
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            let directory = directory(path);
            if !directory.is_dir() {
                let text = format!("the directory {} is not there", directory.display());
                return Err(RigError::usage(text, "make it, or name another"));
            }
            return Ok(known);
        }
        Err(e) => return Err(failed("look at", path, e)),
    };
    known.seen.device = meta.file_type().is_block_device();
    if known.seen.device {
        let request = OpenRequest::to(Safety::Reads);
        let planned = drive::plan_open(&path.to_string_lossy(), &request).map_err(refused)?;
        known.seen.bytes = Some(planned.info.bytes);
    } else if meta.is_file() {
        known.seen.bytes = Some(meta.len());
        known.identity = Some(FileIdentity::of(&meta));
        known.ours = meta.len() == 0 || mark::is_marked(path, &meta);
        // Two names of one file would be laid out twice.
        known.ours &= meta.nlink() == 1;
    } else {
        let text = format!("{} is neither a file nor a block device", path.display());
        return Err(RigError::usage(text, "name a file, or a directory with directory="));
    }
    Ok(known)
}

fn directory(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
        _ => PathBuf::from("."),
    }
}

/// Opens a file that holds data and is not ours, if one of the words given gives it away.
fn given_away(path: &Path, seen: &FileSeen, given: &[String]) -> Result<Opened> {
    let spec = path.to_string_lossy();
    let request = |word: &String| OpenRequest {
        destroy: Some(word.clone()),
        ..OpenRequest::to(Safety::Destroys)
    };
    let right = given.iter().find(|word| drive::plan_open(&spec, &request(word)).is_ok());
    // Without a right one the first is refused, and the error says why.
    if let Some(word) = right.or(given.first()) {
        return drive::open(&spec, &request(word)).map_err(refused);
    }
    let (kind, word) = match seen.device {
        true => {
            let word = "SERIAL, its serial number or else its size in bytes, gives it away";
            ("a device", word.to_string())
        }
        false => {
            let word = "its size in bytes, gives it away, and --overwrite-files every such file";
            ("not a file that ssdyno made", format!("{}, {word}", seen.bytes.unwrap_or(0)))
        }
    };
    Err(RigError::Target {
        fault: Fault::Refused,
        text: format!("{spec} holds data and is {kind}: the job would overwrite it"),
        advice: Some(format!("--destroy={word}; or name another")),
    })
}

/// An error of the drive as one of the rig.
fn refused(error: DriveError) -> RigError {
    let fault = match error.kind() {
        ErrorKind::Usage => Fault::Usage,
        ErrorKind::Refused => Fault::Refused,
        ErrorKind::Io => Fault::Io,
    };
    RigError::Target { fault, text: error.to_string(), advice: error.advice() }
}

fn failed(what: &str, path: &Path, source: io::Error) -> RigError {
    RigError::Io { context: format!("{what} {}", path.display()), source }
}
