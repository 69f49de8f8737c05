//! The files of a job: which, how large, whether they may be written, laid out as fio does it.
//!
//! A file that is not there is made; one that is as large as needed is kept as it is; files stay
//! afterwards unless `unlink` says otherwise. What is made here is marked, so that the next run may
//! write it again. Everything else that holds data is written only when the user gave it away: a
//! file by its size, a device by its serial number.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use drive::{Guard, OpenRequest, Opened};
use record::Safety;
use rustix::fs::{
    Advice, FallocateFlags, OFlags, XattrFlags, fadvise, fallocate, fgetxattr, fsetxattr,
};
use workload::{Content, Filler, units};

use super::RunError;
use super::sizes::{Place, extent, fills};
use crate::{Engine, FadviseHint, Fallocate, Job, SyncMode, VerifyKind};

/// The mark of a file that ssdyno made; it holds the time of the last change that was ours.
const MARK: &str = "user.ssdyno";

/// Files are laid out in writes of this size, bytes.
const LAYOUT_BLOCK: u64 = 1 << 20;

/// One file of one clone.
#[derive(Clone, Debug)]
pub(super) struct Use {
    pub path: PathBuf,
    /// First byte used, and number of bytes.
    pub start: u64,
    pub bytes: u64,
}

/// A file or device of the run.
#[derive(Debug)]
struct Known {
    device: bool,
    /// Bytes there now; `None`: it is not there.
    bytes: Option<u64>,
    ours: bool,
    /// The end of what any job uses.
    end: u64,
    /// It must hold data before the jobs begin.
    content: bool,
    /// Some job changes it.
    changed: bool,
    fallocate: Fallocate,
    create_fsync: bool,
    /// A job makes it when it opens it.
    on_open: bool,
}

/// Every file of a run.
#[derive(Debug, Default)]
pub(super) struct Files {
    known: BTreeMap<PathBuf, Known>,
    /// Devices and files that were given away, or only read, with what guards them.
    opened: HashMap<PathBuf, Opened>,
    /// Those that fill their file system.
    filling: BTreeSet<PathBuf>,
    /// Laying out has begun.
    touched: bool,
}

/// What laying out did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LaidOut {
    /// Files made or written in full, and their bytes.
    pub files: Vec<(PathBuf, u64)>,
}

impl Files {
    /// Looks at the files of a clone and says what of them it uses. Nothing is changed.
    pub(super) fn look(&mut self, job: &Job, clone: u32) -> Result<Vec<Use>, RunError> {
        let paths = job.paths(clone);
        let count = paths.len() as u64;
        let mut uses = Vec::with_capacity(paths.len());
        for (index, path) in (0..).zip(paths.into_iter().map(PathBuf::from)) {
            let room = if fills(job) { self.part_of_room(&path)? } else { 0 };
            let known = self.find(&path, job)?;
            let (there, planned, device) = (known.bytes, known.end, known.device);
            let place = Place { index, count, there, planned, room, device };
            let Some((first, bytes)) = extent(job, clone, place) else {
                return Err(RunError::usage(
                    format!(
                        "{}: {} is not there, and no size says how large to make it",
                        job.origin,
                        path.display()
                    ),
                    "size=1g",
                ));
            };
            if bytes < job.access.min_bs() {
                return Err(RunError::usage(
                    format!(
                        "{}: {bytes} bytes of {} are used, less than a block",
                        job.origin,
                        path.display()
                    ),
                    "a larger size, or a smaller bs",
                ));
            }
            known.end = known.end.max(first + bytes);
            uses.push(Use { path, start: first, bytes });
        }
        Ok(uses)
    }

    /// Says which files of the plan fill their file system. They share its room.
    pub(super) fn share_room(&mut self, jobs: &[Job]) {
        let filling = jobs.iter().filter(|job| fills(job));
        let paths = filling.flat_map(|job| (0..job.numjobs).flat_map(|clone| job.paths(clone)));
        self.filling = paths.map(PathBuf::from).collect();
    }

    /// What one of the files that fill their file system may grow by: a part of the room that the
    /// other files leave.
    fn part_of_room(&self, path: &Path) -> Result<u64, RunError> {
        let directory = directory(path);
        let beside = |(other, known): &(&PathBuf, &Known)| {
            !known.device && !self.filling.contains(*other) && self::directory(other) == directory
        };
        let grows =
            |(_, known): (&PathBuf, &Known)| known.end.saturating_sub(known.bytes.unwrap_or(0));
        let taken: u64 = self.known.iter().filter(beside).map(grows).sum();
        let sharing = self.filling.iter().filter(|other| self::directory(other) == directory);
        let room = drive::room(&directory)?.saturating_sub(taken);
        Ok(room / sharing.count().max(1) as u64)
    }

    fn find(&mut self, path: &Path, job: &Job) -> Result<&mut Known, RunError> {
        if !self.known.contains_key(path) {
            self.known.insert(path.to_path_buf(), look_at(path)?);
        }
        let Some(known) = self.known.get_mut(path) else { unreachable!("just inserted") };
        let rw = job.access.rw;
        // What has its size from a job before was written by that one.
        let sized = job.space.size.is_some() || job.space.filesize.is_some();
        let follows = known.bytes.is_none() && known.changed && !sized;
        known.content |= (rw.reads() || job.files.overwrite || job.verify.only) && !follows;
        known.changed |= (rw.writes() || rw.trims()) && !job.verify.only;
        known.on_open |= job.files.create_on_open;
        known.fallocate = job.files.fallocate;
        known.create_fsync |= job.files.create_fsync;
        if !known.device && rw.trims() {
            let text = format!(
                "{}: {} is a file, and only devices are trimmed",
                job.origin,
                path.display()
            );
            return Err(RunError::usage(text, "filename=/dev/..."));
        }
        if known.bytes.is_none() && !job.files.allow_file_create {
            let text =
                format!("{}: {} is not there, and allow_file_create=0", job.origin, path.display());
            return Err(RunError::usage(text, "make it first"));
        }
        Ok(known)
    }

    /// Whether everything may be done that the jobs would do: what holds data and is not ours was
    /// given away, and what is made leaves room.
    pub(super) fn admit(&mut self, given: &[String]) -> Result<(), RunError> {
        let mut wanted: BTreeMap<PathBuf, u64> = BTreeMap::new();
        for (path, known) in &self.known {
            let there = known.bytes.unwrap_or(0);
            let grows = !known.device && there < known.end;
            let overwrites = known.changed || (grows && known.content);
            if there > 0 && !known.ours && overwrites {
                let opened = given_away(path, known, given)?;
                self.opened.insert(path.clone(), opened);
            } else if known.device || (there > 0 && !overwrites) {
                let request = OpenRequest { size: None, wants: Safety::Reads, destroy: None };
                let spec = path.to_string_lossy();
                self.opened.insert(path.clone(), drive::open(&spec, &request)?);
            }
            if grows {
                *wanted.entry(directory(path)).or_default() += known.end - there;
            }
        }
        for (directory, bytes) in wanted {
            let room = drive::room(&directory)?;
            if bytes > room {
                let text = format!(
                    "the files need {} more in {}, and no more than {} may be taken: a tenth of \
                     the file system stays free",
                    units::binary(bytes),
                    directory.display(),
                    units::binary(room),
                );
                return Err(RunError::usage(text, "a smaller size, or another directory"));
            }
        }
        Ok(())
    }

    /// Bytes that laying out writes.
    pub(super) fn layout_bytes(&self) -> u64 {
        self.known.values().filter(|k| k.needs_content()).map(|k| k.end).sum()
    }

    /// Makes what is not there, and fills what is read before it is written.
    pub(super) fn lay_out(
        &mut self,
        seed: u64,
        mut progress: impl FnMut(&Path, u64) -> bool,
    ) -> Result<LaidOut, RunError> {
        self.touched = true;
        let mut done = LaidOut::default();
        for (path, known) in &self.known {
            if known.device || known.bytes.is_some_and(|bytes| bytes >= known.end) {
                continue;
            }
            let failed = |e| RunError::io(format!("lay out {}", path.display()), e);
            if !progress(path, known.end) {
                return Err(RunError::Interrupted);
            }
            if known.on_open && !known.content {
                continue;
            }
            known.lay_out(path, seed).map_err(failed)?;
            done.files.push((path.clone(), known.end));
        }
        Ok(done)
    }

    /// Opens a file for a clone.
    pub(super) fn open(&self, job: &Job, path: &Path) -> Result<File, RunError> {
        let writes = writes(job);
        let mut options = OpenOptions::new();
        let mapped = job.engine == Engine::Mmap;
        let reads_back = job.verify.kind != VerifyKind::None;
        let reads = mapped || job.access.rw.reads() || reads_back || job.files.pre_read;
        options.read(!writes || reads);
        options.write(writes).custom_flags(open_flags(job));
        let device = self
            .opened
            .get(path)
            .filter(|opened| opened.info.target.kind == record::TargetKind::Device);
        let opened = match device {
            // By way of the descriptor that was checked: the name may by now mean another device.
            Some(opened) => options.open(format!("/proc/self/fd/{}", opened.file.as_raw_fd())),
            None => options.create(writes).truncate(false).mode(0o644).open(path),
        };
        let file = opened.map_err(|e| open_failed(job, path, e))?;
        if job.files.pre_read {
            read_through(&file).map_err(|e| RunError::io(format!("read {}", path.display()), e))?;
        }
        advise(job, &file).map_err(|e| RunError::io(format!("open {}", path.display()), e))?;
        Ok(file)
    }

    /// Asks every guard again.
    pub(super) fn check_again(&self) -> Result<(), RunError> {
        let check = |opened: &Opened| Guard::check_again(&opened.guard);
        Ok(self.opened.values().try_for_each(check)?)
    }

    /// What was opened with the drive behind it known, if anything was.
    pub(super) fn opened(&self, path: &Path) -> Option<&Opened> {
        self.opened.get(path)
    }

    /// What is lost of what was given away.
    pub(super) fn destroys(&self) -> Option<String> {
        let lost: Vec<String> = self.opened.values().filter_map(|o| o.destroys.clone()).collect();
        (!lost.is_empty()).then(|| lost.join("; "))
    }

    /// Every regular file and its length now, for the last word on what stays.
    pub(super) fn left(&self) -> Vec<(PathBuf, u64)> {
        let there = |(path, known): (&PathBuf, &Known)| {
            let bytes = path.metadata().ok().filter(|_| !known.device)?.len();
            Some((path.clone(), bytes))
        };
        self.known.iter().filter_map(there).collect()
    }
}

/// However a run ended, what it made or wrote is marked as it was left.
impl Drop for Files {
    fn drop(&mut self) {
        let ours = |known: &Known| !known.device && (known.ours || known.bytes.is_none());
        if self.touched {
            for (path, _) in self.known.iter().filter(|(_, known)| ours(known)) {
                // It may be gone by now (unlink), or the file system has no marks.
                let _ = mark(path);
            }
        }
    }
}

impl Known {
    fn needs_content(&self) -> bool {
        !self.device && self.content && self.bytes.is_none_or(|bytes| bytes < self.end)
    }

    fn lay_out(&self, path: &Path, seed: u64) -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(0o644);
        let file = options.open(path)?;
        allocate(&file, self.fallocate, self.end)?;
        if !self.content {
            return Ok(());
        }
        let mut filler = Filler::new(Content::Random, seed);
        let mut buffer = vec![0; LAYOUT_BLOCK.min(self.end) as usize];
        filler.fill(&mut buffer, 0);
        let mut at = 0;
        while at < self.end {
            let bytes = LAYOUT_BLOCK.min(self.end - at) as usize;
            filler.touch(&mut buffer[..bytes], at + 1);
            file.write_all_at(&buffer[..bytes], at)?;
            at += bytes as u64;
        }
        if self.create_fsync { file.sync_all() } else { Ok(()) }
    }
}

/// Gives a new file its length and its space, in the way asked for.
fn allocate(file: &File, how: Fallocate, end: u64) -> io::Result<()> {
    let flags = match how {
        Fallocate::None => return Ok(()),
        Fallocate::Truncate => return file.set_len(end),
        Fallocate::Keep => FallocateFlags::KEEP_SIZE,
        Fallocate::Native | Fallocate::Posix => FallocateFlags::empty(),
    };
    match fallocate(file, flags, 0, end) {
        Ok(()) => Ok(()),
        Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => file.set_len(end),
        Err(e) => Err(e.into()),
    }
}

fn look_at(path: &Path) -> Result<Known, RunError> {
    let failed = |e| RunError::io(format!("look at {}", path.display()), e);
    let mut known = Known {
        device: false,
        bytes: None,
        ours: false,
        end: 0,
        content: false,
        changed: false,
        fallocate: Fallocate::Native,
        create_fsync: false,
        on_open: false,
    };
    let meta = match path.metadata() {
        Ok(meta) => meta,
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            let directory = directory(path);
            if !directory.is_dir() {
                let text = format!("the directory {} is not there", directory.display());
                return Err(RunError::usage(text, "make it, or name another"));
            }
            return Ok(known);
        }
        Err(e) => return Err(failed(e)),
    };
    known.device = meta.file_type().is_block_device();
    if known.device {
        let request = OpenRequest { size: None, wants: Safety::Reads, destroy: None };
        let planned = drive::plan_open(&path.to_string_lossy(), &request)?;
        known.bytes = Some(planned.info.bytes);
    } else if meta.is_file() {
        known.bytes = Some(meta.len());
        known.ours = meta.len() == 0 || is_marked(path, &meta);
        // Two names of one file would be laid out twice.
        known.ours &= meta.nlink() == 1;
    } else {
        let text = format!("{} is neither a file nor a block device", path.display());
        return Err(RunError::usage(text, "name a file, or a directory with directory="));
    }
    Ok(known)
}

fn directory(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
        _ => PathBuf::from("."),
    }
}

/// Opens what holds data and is not ours, if one of the words given is the one that gives it away.
fn given_away(path: &Path, known: &Known, given: &[String]) -> Result<Opened, RunError> {
    let spec = path.to_string_lossy();
    let request = |word: &String| OpenRequest {
        size: None,
        wants: Safety::Destroys,
        destroy: Some(word.clone()),
    };
    let right = given.iter().find(|word| drive::plan_open(&spec, &request(word)).is_ok());
    if let Some(word) = right {
        return Ok(drive::open(&spec, &request(word))?);
    }
    if let Some(word) = given.first() {
        // Says what is wrong with it.
        return Ok(drive::open(&spec, &request(word))?);
    }
    let (what, word) = match known.device {
        true => ("a device", "SERIAL, its serial number or else its size in bytes".to_string()),
        false => {
            let bytes = known.bytes.unwrap_or(0);
            ("not a file that ssdyno made", format!("{bytes}, its size in bytes"))
        }
    };
    let text = format!("{spec} holds data and is {what}: the job would overwrite it");
    Err(RunError::Refused {
        text,
        advice: format!("--destroy={word}, gives it away; or name another"),
    })
}

/// Marks a file as ours as it is now. Where the file system has no such marks, the next run asks for
/// --destroy.
fn mark(path: &Path) -> io::Result<()> {
    let file = File::open(path)?;
    let stamp = stamp(&file.metadata()?);
    Ok(fsetxattr(&file, MARK, stamp.as_bytes(), XattrFlags::empty())?)
}

/// Whether a file is as a run of ours left it: what somebody wrote into it since is theirs.
fn is_marked(path: &Path, meta: &Metadata) -> bool {
    let mut found = [0u8; 64];
    let Ok(file) = File::open(path) else { return false };
    let length = fgetxattr(&file, MARK, &mut found);
    length.is_ok_and(|length| found.get(..length) == Some(stamp(meta).as_bytes()))
}

/// The time of a file's last change.
fn stamp(meta: &Metadata) -> String {
    format!("{}.{:09}", meta.mtime(), meta.mtime_nsec())
}

/// Whether a job changes its files.
pub(super) fn writes(job: &Job) -> bool {
    (job.access.rw.writes() || job.access.rw.trims()) && !job.verify.only
}

/// Whether a job checks what it reads.
pub(super) fn verifies(job: &Job) -> bool {
    !matches!(job.verify.kind, VerifyKind::None | VerifyKind::Null)
}

fn open_flags(job: &Job) -> i32 {
    let sync = match job.syncing.sync {
        SyncMode::None => OFlags::empty(),
        SyncMode::Sync => OFlags::SYNC,
        SyncMode::Dsync => OFlags::DSYNC,
    };
    let direct = if job.syncing.direct { OFlags::DIRECT } else { OFlags::empty() };
    (sync | direct).bits() as i32
}

fn open_failed(job: &Job, path: &Path, error: io::Error) -> RunError {
    let refuses = error.raw_os_error() == Some(rustix::io::Errno::INVAL.raw_os_error());
    if refuses && job.syncing.direct {
        let text =
            format!("{}: the file system of {} refuses direct=1", job.origin, path.display());
        return RunError::usage(text, "direct=0, and results of the page cache");
    }
    RunError::io(format!("open {}", path.display()), error)
}

/// Reads a file once, so that the page cache holds what fits.
fn read_through(file: &File) -> io::Result<()> {
    let mut buffer = vec![0; LAYOUT_BLOCK as usize];
    let mut at = 0;
    loop {
        match file.read_at(&mut buffer, at)? {
            0 => return Ok(()),
            bytes => at += bytes as u64,
        }
    }
}

/// Tells the kernel what fio tells it: forget what is cached, and what comes.
fn advise(job: &Job, file: &File) -> io::Result<()> {
    if job.files.invalidate && !job.syncing.direct && job.engine != Engine::Null {
        fadvise(file, 0, None, Advice::DontNeed)?;
    }
    let random = job.access.rw.random();
    let advice = match job.files.fadvise {
        FadviseHint::None => return Ok(()),
        FadviseHint::ByWorkload if random => Advice::Random,
        FadviseHint::ByWorkload | FadviseHint::Sequential => Advice::Sequential,
        FadviseHint::Random => Advice::Random,
        FadviseHint::NoReuse => Advice::NoReuse,
    };
    if file.metadata()?.is_file() { Ok(fadvise(file, 0, None, advice)?) } else { Ok(()) }
}
