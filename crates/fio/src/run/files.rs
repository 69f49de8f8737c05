//! The files of a plan: their names, the part of each used by a clone, and the plans for the rig.
//! Nothing is opened or changed here.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use emit::directory_of;
use rig::{Allocation, FilePlan, FileSeen, FileUse, Files, Filling};
use workload::Region;

use super::sizes::{FileState, extent, fills, first_byte};
use super::walk::Span;
use super::{RunError, content};
use crate::iolog::FileNeeds;
use crate::job::is_drive;
use crate::{Amount, Engine, Fallocate, IoLog, Job};

/// The part of a file that a clone uses.
#[derive(Debug)]
pub(super) struct FilePart {
    pub path: PathBuf,
    pub span: Span,
    /// Whether the file is laid out for it: no earlier clone needs as much of it.
    pub is_laid_out: bool,
}

impl FilePart {
    /// The region that operations can reach.
    pub(super) fn used(&self, job: &Job) -> FileUse {
        FileUse { path: self.path.clone(), region: self.span.reach(&job.access) }
    }
}

/// Refuses `io_size=` as a share of the files that is smaller than a block, as fio does.
pub(super) fn share_fits(job: &Job, parts: &[FilePart]) -> Result<(), RunError> {
    let Some(Amount::Percent(percent)) = job.space.pass_share else { return Ok(()) };
    let bytes = Amount::Percent(percent).bytes_of(parts.iter().map(|part| part.span.bytes).sum());
    let least = job.access.min_bs();
    if bytes >= least {
        return Ok(());
    }
    let text = format!(
        "{}: io_size={percent}% is {bytes} bytes here, and the smallest block {least}",
        job.origin
    );
    Err(RunError::usage(text, "a larger size, or a smaller bs"))
}

/// The files of all jobs, in order of mention.
#[derive(Debug, Default)]
pub(super) struct PlanFiles {
    list: Vec<(FilePlan, FileSeen)>,
    numbers: HashMap<PathBuf, usize>,
    /// Files that fill their file system, and share its free space.
    filling: BTreeSet<PathBuf>,
}

impl PlanFiles {
    /// Creates an empty list for these jobs.
    pub(super) fn new(jobs: &[Job]) -> PlanFiles {
        let filling = jobs.iter().filter(|job| fills(job));
        let paths = filling.flat_map(|job| (0..job.numjobs).flat_map(|clone| job.paths(clone)));
        PlanFiles { filling: paths.map(PathBuf::from).collect(), ..PlanFiles::default() }
    }

    /// Adds the files of a clone and returns the used part of each.
    pub(super) fn add(
        &mut self,
        job: &Job,
        clone: u32,
        files: &mut dyn Files,
    ) -> Result<Vec<FilePart>, RunError> {
        if let Some(replay) = &job.replay {
            return self.add_log(job, replay.log(clone), files);
        }
        let paths = job.paths(clone);
        let count = paths.len() as u64;
        let mut parts = Vec::with_capacity(paths.len());
        for (index, path) in (0..).zip(paths.into_iter().map(PathBuf::from)) {
            let room = if fills(job) { self.part_of_room(&path, files)? } else { 0 };
            let extends = self.extends(&path);
            let (plan, file) = self.find(&path, job, files)?;
            let (planned, device) = (plan.end, file.device);
            let size = if extends { file.bytes.max(Some(planned)) } else { file.bytes };
            let place = FileState { index, count, there: size, planned, room, device };
            let Some((start, bytes)) = extent(job, clone, place) else {
                let text = format!(
                    "{}: {} does not exist, and no size is given",
                    job.origin,
                    path.display()
                );
                return Err(RunError::usage(text, "size=1g"));
            };
            if bytes < job.access.min_bs() {
                let text = format!(
                    "{}: {bytes} bytes of {} are used, less than a block",
                    job.origin,
                    path.display()
                );
                return Err(RunError::usage(text, "a larger size, or a smaller bs"));
            }
            let region = Region { start, bytes };
            let file_end = if device {
                size.unwrap_or(0)
            } else {
                size.unwrap_or(0).max(planned).max(region.end())
            };
            let laid_out_end = file.bytes.unwrap_or(0).max(plan.end);
            let is_laid_out = !device && !plan.on_open && region.end() > laid_out_end;
            plan.end = plan.end.max(region.end());
            plan.used_bytes = plan.used_bytes.saturating_add(bytes);
            let loop_start = first_byte(job, clone, file_end, device);
            let span = Span { start, again: loop_start, bytes, file_end };
            parts.push(FilePart { path, span, is_laid_out });
        }
        Ok(parts)
    }

    /// Adds the files of an I/O log. As in fio, none is laid out, except on a virtual drive.
    fn add_log(
        &mut self,
        job: &Job,
        log: &IoLog,
        files: &mut dyn Files,
    ) -> Result<Vec<FilePart>, RunError> {
        let mut parts = Vec::with_capacity(log.files.len());
        for (name, needs) in log.files.iter().zip(log.needs()) {
            let path = PathBuf::from(name);
            let number = self.number(&path, files)?;
            let (plan, file) = &mut self.list[number];
            let size = file.bytes.unwrap_or(0).max(plan.end);
            let lays_out = is_drive(name);
            let size_before = if lays_out { u64::MAX } else { size };
            if let Some((text, advice)) = log_refusal(needs, size_before, file) {
                return Err(RunError::usage(format!("{}: {name} {text}", job.origin), advice));
            }
            plan.content |= lays_out && needs.size > 0;
            plan.changed |= needs.changed;
            if plan.used_bytes == 0 {
                plan.allocation = Allocation::None;
            }
            plan.end = plan.end.max(needs.end);
            plan.used_bytes = plan.used_bytes.saturating_add(needs.end);
            let file_end = size.max(needs.end);
            let span = Span { start: 0, again: 0, bytes: needs.end, file_end };
            parts.push(FilePart { path, span, is_laid_out: false });
        }
        Ok(parts)
    }

    /// Whether the jobs so far set the size of a file before any of them runs, as in fio.
    fn extends(&self, path: &Path) -> bool {
        self.numbers.get(path).is_some_and(|number| {
            let (plan, file) = &self.list[*number];
            let allocates = matches!(plan.allocation, Allocation::Full | Allocation::Truncate);
            !file.device && !plan.on_open && (plan.content || allocates)
        })
    }

    /// Bytes by which a file that fills its file system may grow: a share of the space left by the
    /// other files.
    fn part_of_room(&self, path: &Path, files: &mut dyn Files) -> Result<u64, RunError> {
        let directory = directory_of(path);
        let neighbours = self.list.iter().filter(|(plan, seen)| {
            !seen.device
                && !self.filling.contains(&plan.path)
                && directory_of(&plan.path) == directory
        });
        let growth: u64 =
            neighbours.map(|(plan, seen)| plan.end.saturating_sub(seen.bytes.unwrap_or(0))).sum();
        let fillers = self.filling.iter().filter(|path| directory_of(path) == directory).count();
        let room = files.room(directory)?.saturating_sub(growth);
        // Other programs may write to the file system before all files are admitted.
        let reliable_room = room - room / 1024;
        Ok(reliable_room / fillers.max(1) as u64)
    }

    /// The place of a file in the list, with an empty plan if it is new.
    fn number(&mut self, path: &Path, files: &mut dyn Files) -> Result<usize, RunError> {
        if let Some(number) = self.numbers.get(path) {
            return Ok(*number);
        }
        let file_seen = files.look(path)?;
        self.list.push((new(path), file_seen));
        self.numbers.insert(path.to_path_buf(), self.list.len() - 1);
        Ok(self.list.len() - 1)
    }

    /// The plan of a file, with the needs of this job added.
    fn find(
        &mut self,
        path: &Path,
        job: &Job,
        files: &mut dyn Files,
    ) -> Result<(&mut FilePlan, &FileSeen), RunError> {
        let number = self.number(path, files)?;
        let (plan, file) = &mut self.list[number];
        let refusal = |why: &str, advice: &str| {
            let text = format!("{}: {} is {why}", job.origin, path.display());
            Err(RunError::usage(text, advice))
        };
        let rw = job.access.rw;
        if !file.device && rw.trims() {
            return refusal("a file, but only devices can be trimmed", "filename=/dev/...");
        }
        if file.bytes.is_none() && !job.files.allow_file_create {
            return refusal("missing, and allow_file_create=0", "make it first");
        }
        // A file whose size comes from an earlier job was written by that job.
        let sized = job.space.size.is_some() || job.space.filesize.is_some();
        let follows = file.bytes.is_none() && plan.changed && !sized;
        // As in fio, what is appended has no data before.
        let is_new = job.files.create_on_open || job.space.file_append;
        let overwrites = job.files.overwrite && !is_new;
        // Nor does fio extend a file by mapping it.
        let maps = job.engine == Engine::Mmap && rw.writes();
        // What is only created, on opening, is never opened.
        let is_unmade = job.files.create_on_open && job.files.create_only;
        let needs_content = (rw.reads() || overwrites || maps) && !follows && !is_unmade;
        if needs_content && !plan.content {
            let block_bytes = job.access.blocks.write.max();
            plan.filling = Filling { content: content::laid_out(job), block_bytes };
        }
        plan.content |= needs_content;
        plan.changed |= job.changes();
        // A job that only verifies opens its files to read them: they are made before, and empty.
        plan.on_open |= job.files.create_on_open && !job.verify.only;
        plan.allocation = if job.files.create_on_open {
            Allocation::None
        } else {
            allocation(job.files.fallocate)
        };
        plan.fsync |= job.files.create_fsync;
        Ok((plan, file))
    }

    /// The plans for the rig, in order of mention.
    pub(super) fn plans(&self) -> Vec<FilePlan> {
        self.list.iter().map(|(plan, _)| plan.clone()).collect()
    }

    /// Bytes written by laying out.
    pub(super) fn layout_bytes(&self) -> u64 {
        let files = self.list.iter().filter(|(plan, seen)| {
            let grows = !seen.device && seen.bytes.is_none_or(|bytes| bytes < plan.end);
            plan.content && (seen.blank || grows)
        });
        files.map(|(plan, _)| plan.end).sum()
    }
}

/// Why a log cannot be repeated on a file that has `size` bytes before, with advice.
fn log_refusal(needs: FileNeeds, size: u64, file: &FileSeen) -> Option<(String, &'static str)> {
    if needs.trimmed && !file.device {
        return Some(("is a file, but only devices can be trimmed".into(), "replay_skip=trim"));
    }
    if needs.size > size {
        let text = format!("has {size} bytes, but the log reads up to byte {}", needs.size);
        return Some((text, "first a job that lays the file out, or replay_redirect="));
    }
    if file.device && needs.end > file.bytes.unwrap_or(0) {
        let text = format!("is smaller than the end of the log, {} bytes", needs.end);
        return Some((text, "a larger device, or replay_scale="));
    }
    None
}

fn new(path: &Path) -> FilePlan {
    FilePlan {
        path: path.to_path_buf(),
        end: 0,
        used_bytes: 0,
        content: false,
        filling: Filling::default(),
        changed: false,
        allocation: Allocation::Full,
        fsync: false,
        on_open: false,
    }
}

fn allocation(fallocate: Fallocate) -> Allocation {
    match fallocate {
        Fallocate::None => Allocation::None,
        Fallocate::Truncate => Allocation::Truncate,
        Fallocate::Keep => Allocation::Keep,
        Fallocate::Native | Fallocate::Posix => Allocation::Full,
    }
}
