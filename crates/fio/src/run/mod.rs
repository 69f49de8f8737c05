//! Runs a plan on a rig: files first, then the jobs, stage by stage.
//!
//! A stonewall starts a new stage; the jobs of a stage run at the same time, each clone with its
//! own operations. Results are kept per clone; findings concern a whole stage. The rig opens the
//! files, on a real machine or as regions of a virtual drive.

mod blockmap;
mod clones;
mod content;
mod control;
mod error;
mod files;
mod idle;
mod launch;
mod least;
mod names;
mod numa;
mod oplog;
mod overwrites;
mod pieces;
mod positions;
mod proof;
mod rates;
mod refuse;
mod replay;
mod result;
mod rounds;
mod search;
mod sizes;
mod stage;
mod state;
mod steady;
mod stream;
mod turn;
mod walk;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use rig::{DiskUse, FilePlan, Files, Measurement, Rig, StopReason, TargetInfo};
use workload::Content;

use crate::job::is_virtual;
use crate::{Distribution, Engine, ExitWhat, Job, Plan, SyncMode};
use clones::JobClone;
pub use control::Judgement;
pub use error::RunError;
use files::{FilePart, PlanFiles, share_fits};
use idle::Processors;
pub use oplog::OpLog;
use positions::{Places, uses};
pub(crate) use result::FAULT;
pub use result::JobRun;
use sizes::FileState;
pub(crate) use state::{VerifyState, path as state_path};
pub use steady::{SteadySeen, Window};
use walk::Span;

/// A plan that passed every check; nothing has been touched.
#[derive(Debug)]
pub struct CheckedPlan<'p> {
    plan: &'p Plan,
    files: PlanFiles,
    layouts: Vec<ClonesLayout<'p>>,
    clones: Vec<JobClone<'p>>,
    /// Data that will be lost, for display.
    destroys: Option<String>,
    /// Whether it runs on this machine's files rather than on a virtual drive.
    real: bool,
}

/// The results of a plan.
#[derive(Debug)]
pub struct Ran<'p> {
    pub plan: &'p Plan,
    /// Every clone, in the order of the plan.
    pub jobs: Vec<JobRun<'p>>,
    /// Each stage as a whole.
    pub stages: Vec<Measurement>,
    /// Disk activity during the run.
    pub disks: Vec<DiskUse>,
    /// Percentage of the time in which each processor was idle, if requested.
    pub processors_idle: Option<Vec<f64>>,
    /// Remaining files, and their sizes in bytes.
    pub left: Vec<(PathBuf, u64)>,
    /// Files that `unlink=1` failed to remove.
    pub unremoved: Vec<PathBuf>,
    /// End, milliseconds since 1970.
    pub ended_unix_ms: u64,
    /// Whether the user ended it.
    pub interrupted: bool,
    /// Whether it ran on local files and devices rather than on a virtual drive.
    pub real: bool,
}

/// Checks a plan against the files of a rig. Nothing is touched.
pub fn prepare<'p>(plan: &'p Plan, door: &mut dyn Files) -> Result<CheckedPlan<'p>, RunError> {
    let drive = plan.drive()?;
    let real = !drive.as_deref().is_some_and(is_virtual);
    for job in &plan.jobs {
        refuse::unsupported(job)?;
        if real {
            numa::processors(job).map(drop)?
        } else {
            refuse::on_virtual_drive(job)?
        }
        if drive.is_some() {
            refuse::mapped(job)?;
        }
    }
    let (mut files, mut clones, mut stage) = (PlanFiles::new(&plan.jobs), Vec::new(), 0);
    let mut layouts = Vec::new();
    let directory = plan.aux_directory();
    for (i, job) in plan.jobs.iter().enumerate() {
        stage += usize::from(job.schedule.stonewall && i > 0);
        for number in clone_numbers(job.numjobs) {
            let parts = match job.engine {
                Engine::Null | Engine::Names(_) => imagined(job, number),
                _ => files.add(job, number, door)?,
            };
            layouts.extend(ClonesLayout::from_parts(job, &parts));
            sequence_fits(job, &parts)?;
            share_fits(job, &parts)?;
            sprandom_fits(job, &parts)?;
            let serial = clones.len() as u64;
            let loads = job.verify.state_load && job.verifies();
            let state = loads.then(|| VerifyState::load(job, serial, directory)).transpose()?;
            let (uses, spans) = parts.into_iter().map(|part| (part.used(job), part.span)).unzip();
            clones.push(JobClone {
                job,
                number,
                serial,
                stage,
                waits_for: job.schedule.wait_for.and_then(|index| plan.jobs.get(index)),
                files: uses,
                spans,
                content: Content::default(),
                state,
                as_is: real && plan.globals.as_is,
            });
        }
    }
    content::assign(&mut clones);
    let destroys = door.admit(&files.plans())?;
    Ok(CheckedPlan { plan, files, layouts, clones, destroys, real })
}

/// The numbers of a job's clones in the order of fio: the first, then the others from the last.
fn clone_numbers(numjobs: u32) -> impl Iterator<Item = u32> {
    (0..numjobs.min(1)).chain((1..numjobs).rev())
}

/// Refuses a sequence with blocks outside the file.
fn sequence_fits(job: &Job, parts: &[FilePart]) -> Result<(), RunError> {
    let Distribution::Sequence(list) = &job.access.distribution else { return Ok(()) };
    let last_block = u64::from(list.iter().copied().max().unwrap_or(0));
    let Some(part) = parts.iter().find(|part| {
        let places = Places::new(&job.access, part.span.bytes).by_kind;
        (0..3).any(|kind| uses(job.access.rw, kind) && places[kind] <= last_block)
    }) else {
        return Ok(());
    };
    let text = format!(
        "{}: block {last_block} of the sequence is beyond the end of {}",
        job.origin,
        part.path.display()
    );
    Err(RunError::usage(text, "a larger size, or a smaller bs"))
}

/// Refuses `sprandom` with a region of the flash that is smaller than the cache or a block.
fn sprandom_fits(job: &Job, parts: &[FilePart]) -> Result<(), RunError> {
    let Some(model) = &job.access.sprandom else { return Ok(()) };
    let (block, bytes) = (job.access.min_bs(), parts.iter().map(|part| part.span.bytes).sum());
    let region_bytes = overwrites::flash_bytes(model, bytes, block) / u64::from(model.regions);
    let least = model.cache_bytes.max(block);
    if region_bytes >= least {
        return Ok(());
    }
    let text = format!(
        "{}: spr_num_regions={}: {region_bytes} bytes are less than a block or spr_cs={}",
        job.origin, model.regions, model.cache_bytes
    );
    Err(RunError::usage(text, "fewer regions, or a smaller spr_cs"))
}

/// Size of the null engine's file if the job specifies none, bytes.
const IMAGINED_BYTES: u64 = 1 << 30;

/// The files of an engine that opens none: as large as if they had to be laid out.
fn imagined(job: &Job, clone: u32) -> Vec<FilePart> {
    let paths = job.paths(clone);
    let count = paths.len() as u64;
    let parts = (0..).zip(paths).map(|(index, path)| {
        let place = FileState { index, count, there: None, planned: 0, room: 0, device: false };
        let (start, bytes) = sizes::extent(job, clone, place).unwrap_or((0, IMAGINED_BYTES));
        FilePart {
            path: path.into(),
            span: Span { start, again: start, bytes, file_end: start.saturating_add(bytes) },
            is_laid_out: false,
        }
    });
    parts.collect()
}

/// The caller's part in a run.
pub struct Setting<'a> {
    /// Set when the user ends the run.
    pub interrupt: &'a AtomicBool,
    /// Announces its progress.
    pub announcer: &'a mut dyn Announcer,
}

/// Announces the progress of a run.
pub trait Announcer {
    /// Called for each clone with files to lay out, before the first of them.
    fn laying_out(&mut self, _layout: &ClonesLayout<'_>) {}

    /// Called with the results so far, at the intervals of `--status-interval`.
    fn status(&mut self, _ran: &Ran<'_>) {}
}

/// Announces nothing.
pub struct Quiet;

impl Announcer for Quiet {}

/// The files that are laid out for a clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClonesLayout<'p> {
    /// The name of its job.
    pub job: &'p str,
    /// Number of files.
    pub files: u64,
    /// Sum of their sizes.
    pub bytes: u64,
}

impl<'p> ClonesLayout<'p> {
    /// The files among these parts that are laid out, if any.
    fn from_parts(job: &'p Job, parts: &[FilePart]) -> Option<ClonesLayout<'p>> {
        let parts = parts.iter().filter(|part| part.is_laid_out);
        let files = parts.clone().count() as u64;
        let bytes = parts.map(|part| part.span.start + part.span.bytes).sum();
        (files > 0).then_some(ClonesLayout { job: &job.name, files, bytes })
    }
}

impl<'p> CheckedPlan<'p> {
    /// The files that the rig must prepare, in order of mention.
    pub fn file_plans(&self) -> Vec<FilePlan> {
        self.files.plans()
    }

    /// Sum of the file bytes that each clone uses; shared files count once per clone.
    pub fn bytes(&self) -> u64 {
        self.clones.iter().map(JobClone::bytes).fold(0, u64::saturating_add)
    }

    /// Total duration of the stages, seconds, as far as it is specified.
    pub fn seconds(&self) -> f64 {
        let last_stage = self.clones.iter().map(|clone| clone.stage).max().unwrap_or(0);
        let stages = (0..=last_stage).map(|stage| {
            let clones = self.clones.iter().filter(move |clone| clone.stage == stage);
            let times = clones.map(|clone| {
                let schedule = &clone.job.schedule;
                let replay = clone.job.replay.as_ref();
                let log_time = replay.map(|replay| replay.duration(clone.number));
                let runtime =
                    schedule.runtime.into_iter().chain(log_time).min().unwrap_or_default();
                (schedule.startdelay.high + schedule.ramp_time + runtime).as_secs_f64()
            });
            times.fold(0.0, f64::max)
        });
        stages.sum()
    }

    /// Maximum bytes written to the target, including laying out.
    pub fn write_bytes_max(&self, target: &TargetInfo) -> u64 {
        self.written_max(target, |_| true).saturating_add(self.files.layout_bytes())
    }

    /// Maximum bytes that the clones of a job of the plan write.
    pub fn job_write_bytes_max(&self, job: &Job, target: &TargetInfo) -> u64 {
        self.written_max(target, |of| std::ptr::eq(of, job))
    }

    fn written_max(&self, target: &TargetInfo, counts: impl Fn(&Job) -> bool) -> u64 {
        let clones = self.clones.iter().filter(|clone| counts(clone.job));
        let bytes = clones.map(|clone| launch::write_bytes_max(clone, target));
        bytes.fold(0, u64::saturating_add)
    }

    /// The data that will be lost, for display.
    pub fn destroys(&self) -> Option<&str> {
        self.destroys.as_deref()
    }

    /// Lays out the files, runs the jobs and removes temporary files, even after an error.
    pub fn run(self, rig: &mut dyn Rig, setting: &mut Setting<'_>) -> Result<Ran<'p>, RunError> {
        let mut ran = self.perform(rig, setting);
        let files = rig.files()?;
        if let Ok(ran) = &mut ran {
            ran.disks = files.disks();
        }
        let empty_files: &Vec<_> =
            &files.left().into_iter().filter(|(_, bytes)| *bytes == 0).collect();
        let unlinked = self.clones.iter().flat_map(|clone| {
            // Before a loop, files are emptied rather than removed; the last may write nothing.
            let ends = clone.job.files.unlink;
            let paths = clone.files.iter().map(|used| used.path.as_path());
            // But one that appends or flushes opens the file again at its end.
            let is_reopened = clone.job.space.file_append || clone.job.syncing.flushes_at_end();
            let empties = clone.job.files.unlink_each_loop && !is_reopened;
            paths.filter(move |path| {
                ends || empties && empty_files.iter().any(|(file, _)| file == path)
            })
        });
        for path in unlinked.clone() {
            // The file may already have been removed, because clones share files.
            drop(files.remove(path));
        }
        let mut ran = ran?;
        // A virtual drive and its files end with the run.
        if self.real {
            ran.left = files.left();
        }
        let unremoved = ran.left.iter().map(|(path, _)| path);
        ran.unremoved =
            unremoved.filter(|path| unlinked.clone().any(|gone| gone == *path)).cloned().collect();
        ran.ended_unix_ms = stage::unix_ns() / 1_000_000;
        Ok(ran)
    }

    /// Lays out the files and runs the jobs.
    fn perform(&self, rig: &mut dyn Rig, setting: &mut Setting<'_>) -> Result<Ran<'p>, RunError> {
        let Setting { interrupt, announcer } = setting;
        let interrupted = || interrupt.load(Ordering::Relaxed);
        self.layouts.iter().for_each(|layout| announcer.laying_out(layout));
        rig.files()?.lay_out(stage::unix_ns() | 1, &mut |_, _| !interrupted())?;
        let processors = Processors::read(self.plan).filter(|_| self.real);
        let mut ran = Ran {
            plan: self.plan,
            jobs: Vec::new(),
            stages: Vec::new(),
            disks: Vec::new(),
            processors_idle: None,
            left: Vec::new(),
            unremoved: Vec::new(),
            ended_unix_ms: 0,
            interrupted: false,
            real: self.real,
        };
        let last_stage = self.clones.iter().map(|c| c.stage).max().unwrap_or(0);
        for stage in 0..=last_stage {
            if interrupted() {
                ran.interrupted = true;
                break;
            }
            let members = self.clones.iter().filter(|clone| clone.stage == stage);
            let (idle, clones): (Vec<_>, Vec<_>) =
                members.partition(|clone| clone.job.only_creates_files());
            ran.jobs.extend(idle.into_iter().map(stage::idle));
            let (name_clones, clones): (Vec<_>, Vec<_>) =
                clones.into_iter().partition(|clone| matches!(clone.job.engine, Engine::Names(_)));
            for clone in name_clones {
                ran.jobs.push(names::perform(clone, self.plan, rig.files()?)?);
            }
            if clones.is_empty() {
                continue;
            }
            let (jobs, stage_result) = stage::perform(&clones, &ran, &mut **announcer, rig)?;
            ran.jobs.extend(jobs);
            ran.jobs.sort_by_key(|run| run.serial);
            ran.stages.push(stage_result);
            if clones.iter().any(|clone| ends_everything(clone.job)) {
                break;
            }
        }
        let processors_after = Processors::read(self.plan);
        ran.processors_idle =
            processors.zip(processors_after).map(|(before, after)| after.idle_since(&before));
        ran.interrupted |=
            ran.stages.iter().any(|m| m.stop == StopReason::Interrupted) && interrupted();
        Ok(ran)
    }
}

/// Whether the end of a job prevents later stages.
fn ends_everything(job: &Job) -> bool {
    job.schedule.exitall && job.schedule.exit_what == ExitWhat::All
}

/// The calls that serve a job's engine, if they differ from its name.
pub fn mapped(job: &Job) -> Option<&'static str> {
    match job.engine {
        Engine::Sync | Engine::Vsync | Engine::Pvsync | Engine::Pvsync2 => {
            Some("pread and pwrite, one operation at a time (psync)")
        }
        _ => None,
    }
}

/// Whether a job's queue depth is a fiction, because its I/O is synchronous whatever the depth.
pub fn depth_is_fiction(job: &Job) -> bool {
    let buffered = !job.syncing.direct && job.syncing.sync == SyncMode::None;
    job.queue.depth > 1
        && (!job.engine.asynchronous() || (job.engine == Engine::Libaio && buffered))
}
