//! The files that jobs name, on a real machine. They are checked before anything is written, laid
//! out as in fio, opened, and marked after the run.
//!
//! A missing file is created, and a file that is long enough is left as it is. Files remain after
//! the run unless they are removed. A file created here is marked, so that the next run may
//! overwrite it. Any other data are overwritten only if the user allows it with `--destroy`: for a
//! file with its size, for a device with its serial number. A run uses the file that it inspected,
//! whatever its name refers to later.

mod disks;
mod layout;
mod mark;
mod names;
mod open;
mod pci;
mod same;

use std::collections::{BTreeMap, HashMap};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use drive::{DriveError, FileIdentity, OpenRequest, Opened, Watch};
use emit::directory_of;
use record::{Safety, TargetKind};
use rig::{DiskUse, FilePlan, FileSeen, Files, NameCall, Result, RigError, TargetInfo};
use workload::units;

use crate::device::{AnyDevice, FdDevice, device_error};
use crate::permissions::Permissions;
use crate::vigil::Watched;
use same::SameFiles;

/// A file or device of the run.
#[derive(Debug)]
struct Known {
    seen: FileSeen,
    /// Whether it was created by an earlier run and is unchanged since, or is empty.
    ours: bool,
    /// The identity of the file; `None` for a device and for a missing file.
    identity: Option<FileIdentity>,
    /// How jobs will use it, once known.
    plan: Option<FilePlan>,
}

impl Known {
    /// The bytes that its file system must still provide.
    fn grows(&self) -> u64 {
        let end = self.plan.as_ref().map_or(0, |plan| plan.end);
        if self.seen.device { 0 } else { end.saturating_sub(self.seen.bytes.unwrap_or(0)) }
    }

    /// Whether it is a file that ssdyno made.
    fn is_made_here(&self) -> bool {
        !self.seen.device && (self.ours || self.seen.bytes.is_none())
    }

    /// Whether its current data would be lost.
    fn overwrites(&self) -> bool {
        let Some(plan) = &self.plan else { return false };
        plan.changed || (self.grows() > 0 && plan.content)
    }
}

/// Every file of a run.
pub struct FileSet {
    permissions: Permissions,
    known: BTreeMap<PathBuf, Known>,
    /// Devices, the user's files that may be destroyed, and files that are only read, with their
    /// guards.
    opened: HashMap<PathBuf, Opened>,
    /// The identities of the files.
    same: SameFiles,
    info: TargetInfo,
    watch: Option<Watch>,
    before: Option<disks::Before>,
    /// Whether laying out has begun.
    touched: bool,
    /// If the only file is an NVMe drive without a kernel driver: its name, and the request that
    /// opens it.
    pci: Option<(String, OpenRequest)>,
    /// Names that calls of this run created.
    names: names::MadeNames,
}

impl FileSet {
    /// A set without files.
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
            names: names::MadeNames::default(),
        }
    }

    /// The words that allow a file to be destroyed.
    fn given(&self, path: &Path, seen: &FileSeen) -> Vec<String> {
        let is_permitted = !seen.device && self.permissions.overwrites(path);
        let bytes = seen.bytes.filter(|_| is_permitted);
        self.permissions
            .destroy
            .iter()
            .cloned()
            .chain(bytes.map(|bytes| bytes.to_string()))
            .collect()
    }

    /// The drive under the first file, once files have been admitted.
    pub fn info(&self) -> &TargetInfo {
        &self.info
    }

    /// The devices that were opened to be overwritten.
    pub fn destroyed(&self) -> impl Iterator<Item = &Path> {
        let devices = self.opened.iter().filter(|(_, opened)| {
            opened.info.target.kind == TargetKind::Device && opened.info.allowed == Safety::Destroys
        });
        devices.map(|(path, _)| path.as_path())
    }

    /// Returns that drive as a device without files. Opens a drive that has no kernel driver.
    pub(crate) fn drive(&mut self, patience: Duration) -> Result<AnyDevice> {
        if let Some((spec, request)) = &self.pci {
            let opened = drive::open_pci(spec, request).map_err(refused)?;
            let device = AnyDevice::pci(opened, patience);
            return device.map_err(|e| device_error(&self.info, "starting the controller", e));
        }
        let watch = self.watch.take();
        Ok(watch.map_or_else(AnyDevice::null, |watch| AnyDevice::files(FdDevice::watching(watch))))
    }

    /// Whether every job works on the drive itself, and none opens a file.
    pub(crate) fn is_drive(&self) -> bool {
        self.pci.is_some()
    }

    /// Plans the only file, a drive without a kernel driver.
    fn admit_drive(&mut self, spec: String, plans: &[FilePlan]) -> Result<Option<String>> {
        let changed = plans.iter().any(|plan| plan.changed);
        let planned = pci::plan(&spec, changed, &self.permissions)?;
        self.info = planned.planned.info;
        self.pci = Some((spec, planned.request));
        Ok(planned.planned.destroys)
    }

    /// Checks every device again, and the files that jobs write for other users. Their sizes are not
    /// checked, because they grow as jobs write to them.
    pub(crate) fn check_again(&self) -> Result<()> {
        let mut devices = self.opened.values().filter(|o| o.info.target.kind == TargetKind::Device);
        devices.try_for_each(|opened| opened.guard.check_again()).map_err(refused)?;
        drive::check_unused(&self.written_files()).map_err(refused)
    }

    /// What to check while jobs run.
    pub(crate) fn watched(&self) -> Vec<Watched> {
        let targets = self.opened.values().filter(|o| o.info.allowed > Safety::Reads);
        let users = targets.map(|opened| Watched::Users(opened.guard.sentry()));
        let files = Some(self.written_files()).filter(|files| !files.is_empty());
        users.chain(files.map(Watched::Files)).collect()
    }

    /// The files that jobs write, except devices.
    fn written_files(&self) -> Vec<PathBuf> {
        let files = self.known.iter().filter(|(_, known)| {
            let plan = known.plan.as_ref();
            !known.seen.device && plan.is_some_and(|plan| plan.changed || known.grows() > 0)
        });
        files.map(|(path, _)| path.clone()).collect()
    }

    /// Checks that one file may be used as planned, and opens it if it needs a guard.
    fn admit_one(&mut self, path: &Path) -> Result<()> {
        let Some(file) = self.known.get(path) else { return Ok(()) };
        let bytes = file.seen.bytes.unwrap_or(0);
        let opened = if bytes > 0 && !file.ours && file.overwrites() {
            open_confirmed(path, &file.seen, &self.given(path, &file.seen))?
        } else if file.seen.device || (bytes > 0 && !file.overwrites()) {
            let request = OpenRequest::to(Safety::Reads);
            drive::open(&path.to_string_lossy(), &request).map_err(refused)?
        } else {
            return Ok(());
        };
        if let Some(identity) = file.identity {
            same::check(&identity, opened.file()).map_err(|e| failed("open", path, e))?;
        }
        self.opened.insert(path.to_path_buf(), opened);
        Ok(())
    }

    /// Checks that the file systems have room for every file that grows.
    fn admit_room(&self) -> Result<()> {
        let mut needed_bytes: BTreeMap<&Path, u64> = BTreeMap::new();
        for (path, known) in self.known.iter().filter(|(_, known)| known.grows() > 0) {
            *needed_bytes.entry(directory_of(path)).or_default() += known.grows();
        }
        for (directory, bytes) in needed_bytes {
            let room = drive::room(directory).map_err(refused)?;
            if bytes > room {
                let text = format!(
                    "the files need {} more in {}, but only {} may be used: 10% of the file \
                     system stays free, at least 64 MiB and at most 8 GiB",
                    units::binary(bytes),
                    directory.display(),
                    units::binary(room),
                );
                return Err(RigError::usage(text, "a smaller size, or another directory"));
            }
        }
        Ok(())
    }

    /// The drive under a file, for records and the doctor.
    fn target(&self, path: &Path, bytes: u64) -> Result<(TargetInfo, Watch)> {
        if let Some(opened) = self.opened.get(path) {
            let watch = drive::locate(path).map_err(refused)?.watch();
            return Ok((opened.info.clone(), watch));
        }
        let directory = directory_of(path);
        // A plan for the smallest scratch file identifies the drive under the directory.
        let request = OpenRequest { size: Some(1), ..OpenRequest::to(Safety::Scratch) };
        // If there is no room even for that, the file may still exist.
        let reading = OpenRequest::to(Safety::Reads);
        let planned = drive::plan_open(&directory.to_string_lossy(), &request)
            .or_else(|full| drive::plan_open(&path.to_string_lossy(), &reading).map_err(|_| full));
        let mut info = planned.map_err(refused)?.info;
        (info.bytes, info.target.bytes) = (bytes, Some(bytes));
        info.target.spec = path.display().to_string();
        Ok((info, drive::locate(directory).map_err(refused)?.watch()))
    }

    /// A description of the data that will be lost.
    fn destroys(&self) -> Option<String> {
        let contents: Vec<String> =
            self.opened.values().filter_map(|o| o.destroys.clone()).collect();
        (!contents.is_empty()).then(|| contents.join("; "))
    }
}

impl Files for FileSet {
    fn look(&mut self, path: &Path) -> Result<FileSeen> {
        if let Some(file) = self.known.get(path) {
            return Ok(file.seen.clone());
        }
        let file = match pci::spec(path) {
            Some(spec) => pci::look(&spec, &self.permissions)?,
            None => look_at(path)?,
        };
        let file_seen = file.seen.clone();
        if let Some(identity) = file.identity {
            self.same.insert(path, identity);
        }
        self.known.insert(path.to_path_buf(), file);
        Ok(file_seen)
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
            if let Some(file) = self.known.get_mut(&plan.path) {
                file.plan = Some(plan.clone());
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
            // A file without content that appears on opening is not laid out.
            let plan = known.plan.as_ref().filter(|_| known.grows() > 0);
            let plan = plan.filter(|plan| plan.content || !plan.on_open);
            let Some(plan) = plan else { continue };
            if !progress(path, plan.end) {
                return Err(RigError::Interrupted);
            }
            let file = self.same.open(path, OpenOptions::new().write(true), true);
            let result = file.and_then(|file| layout::lay_out(&file, plan, seed));
            result.map_err(|e| failed("lay out", path, e))?;
        }
        self.before = Some(disks::look(self.known.keys()));
        Ok(())
    }

    fn remove(&mut self, path: &Path) -> Result<()> {
        let result = self.same.check(path).and_then(|()| std::fs::remove_file(path));
        self.same.forget(path);
        self.opened.remove(path);
        result.map_err(|e| failed("remove", path, e))
    }

    fn left(&self) -> Vec<(PathBuf, u64)> {
        let files = self.known.iter().filter_map(|(path, known)| {
            let bytes = path.metadata().ok().filter(|_| !known.seen.device)?.len();
            Some((path.clone(), bytes))
        });
        files.chain(self.names.left()).collect()
    }

    fn call(&mut self, call: NameCall, path: &Path) -> std::result::Result<u64, i32> {
        self.names.call(call, path)
    }

    fn disks(&mut self) -> Vec<DiskUse> {
        self.before.as_ref().map(disks::since).unwrap_or_default()
    }
}

/// Marks the files that the run created or wrote, however it ended.
impl Drop for FileSet {
    fn drop(&mut self) {
        if self.touched {
            for (path, _) in self.known.iter().filter(|(_, known)| known.is_made_here()) {
                // It may have been removed (unlink), or the file system may not support extended
                // attributes.
                let _ =
                    self.same.open(path, OpenOptions::new().read(true), false).and_then(mark::mark);
            }
        }
    }
}

fn look_at(path: &Path) -> Result<Known> {
    let mut file = Known { seen: FileSeen::default(), ours: false, identity: None, plan: None };
    // Root does not follow another user's link.
    let pinned = emit::resolve(path).map(File::from);
    let meta = match pinned.and_then(|pinned| pinned.metadata()) {
        Ok(meta) => meta,
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            let directory = directory_of(path);
            if !directory.is_dir() {
                let text = format!("the directory {} does not exist", directory.display());
                return Err(RigError::usage(text, "create it, or name another"));
            }
            return Ok(file);
        }
        Err(e) => return Err(failed("inspect", path, e)),
    };
    file.seen.device = meta.file_type().is_block_device();
    if file.seen.device {
        let request = OpenRequest::to(Safety::Reads);
        let planned = drive::plan_open(&path.to_string_lossy(), &request).map_err(refused)?;
        file.seen.bytes = Some(planned.info.bytes);
    } else if meta.is_file() {
        file.seen.bytes = Some(meta.len());
        file.identity = Some(FileIdentity::from_metadata(&meta));
        file.ours = meta.len() == 0 || mark::is_marked(path, &meta);
        // A file with two names would be laid out twice.
        file.ours &= meta.nlink() == 1;
    } else {
        let text = format!("{} is neither a file nor a block device", path.display());
        return Err(RigError::usage(text, "name a file, or a directory with directory="));
    }
    Ok(file)
}

/// Opens a file that contains data and is not ours, if one of the given words allows its
/// destruction.
fn open_confirmed(path: &Path, seen: &FileSeen, given: &[String]) -> Result<Opened> {
    let spec = path.to_string_lossy();
    let request = |word: &String| OpenRequest {
        destroy: Some(word.clone()),
        ..OpenRequest::to(Safety::Destroys)
    };
    let right = given.iter().find(|word| drive::plan_open(&spec, &request(word)).is_ok());
    // If none matches, the first is refused, and the error gives the reason.
    if let Some(word) = right.or(given.first()) {
        return drive::open(&spec, &request(word)).map_err(refused);
    }
    let (kind, word) = if seen.device {
        let word = "SERIAL (its serial number, or else its size in bytes) allows it";
        ("a device", word.to_string())
    } else {
        let word = "its size in bytes, allows it; --overwrite-files allows it for all files";
        ("not a file that ssdyno made", format!("{}, {word}", seen.bytes.unwrap_or(0)))
    };
    let text = format!("{spec} contains data and is {kind}: the job would overwrite it");
    Err(RigError::refused(text, format!("--destroy={word}; or name another")))
}

/// Converts an error of the drive into one of the rig.
fn refused(error: DriveError) -> RigError {
    RigError::Target { fault: error.fault(), text: error.to_string(), advice: error.advice() }
}

fn failed(what: &str, path: &Path, source: io::Error) -> RigError {
    RigError::Io { context: format!("{what} {}", path.display()), source }
}
