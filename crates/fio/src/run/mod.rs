//! Runs a plan: files first, then the jobs, stage by stage.
//!
//! A stonewall begins a new stage; the jobs of a stage run at the same time, each clone on a thread
//! of its own with a backend, files and operations of its own. What each did is kept apart, and all
//! of a stage is looked at together for what to distrust.

mod carried;
mod disks;
mod error;
mod files;
mod least;
mod member;
mod numa;
mod places;
mod proof;
mod referee;
mod refuse;
mod rounds;
mod search;
mod sizes;
mod stage;
mod steady;
mod stream;
mod target;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use drive::Watch;
use engine::Clock;
use rig::{JobResult, Measurement, Observer, StopReason, TargetInfo};
use rustix::io::Errno;
use workload::Content;

use super::{Distribution, Engine, ExitWhat, Job, Plan};
use crate::SyncMode;
use crate::value::errno_of;
pub use disks::DiskUse;
pub use error::RunError;
pub use files::LaidOut;
use files::{Files, Use};
pub(super) use member::job_priority;
pub use referee::Told;
pub use steady::{SteadySeen, Window};

/// A plan whose every check passed, and that has touched nothing yet.
pub struct Prepared<'p> {
    plan: &'p Plan,
    files: Files,
    clones: Vec<Actor<'p>>,
    info: TargetInfo,
    watch: Watch,
}

/// One clone of a job.
struct Actor<'p> {
    job: &'p Job,
    /// Its number among the clones of its job, from 0.
    number: u32,
    /// Its number among all clones of the plan, from 0.
    serial: u64,
    stage: usize,
    /// The job whose clones must all have ended before.
    waits_for: Option<&'p Job>,
    uses: Vec<Use>,
    /// What its writes carry.
    carries: Content,
}

/// What one clone did.
#[derive(Debug)]
pub struct JobRun<'p> {
    /// The job.
    pub job: &'p Job,
    /// Number of the clone, from 0.
    pub clone: u32,
    /// When its stage began, nanoseconds since 1970.
    pub began_unix_ns: u64,
    /// Length of the intervals it was sampled in, nanoseconds.
    pub interval_ns: u64,
    /// Bits of its addresses for the place in a file.
    pub shift: u32,
    /// What it did.
    pub did: JobResult,
    /// What its rules found: a depth, a limit that was passed, errors it went on after.
    pub told: Told,
    /// Whether it was steady, where that was asked for.
    pub steady: Option<SteadySeen>,
}

impl JobRun<'_> {
    /// The file at one of its addresses, and the byte in it.
    pub fn place(&self, address: u64) -> (String, u64) {
        let (file, at) = (address >> self.shift, address & ((1 << self.shift) - 1));
        let path = self.job.paths(self.clone).into_iter().nth(file as usize);
        (path.unwrap_or_default(), at)
    }

    /// The error number that ended it; 0 for none.
    pub fn error(&self) -> i32 {
        if let Some((code, _)) = self.told.failed {
            return code;
        }
        let errors = &self.did.measurement.errors;
        match errors.iter().find(|error| error.op != "verify") {
            Some(error) => errno_of(&error.kind),
            None if errors.is_empty() => 0,
            // As fio has it for what verify found.
            None => Errno::ILSEQ.raw_os_error(),
        }
    }
}

/// What a plan did.
#[derive(Debug)]
pub struct Ran<'p> {
    /// The plan.
    pub plan: &'p Plan,
    /// Every clone, in the order of the plan.
    pub jobs: Vec<JobRun<'p>>,
    /// Each stage as a whole.
    pub stages: Vec<Measurement>,
    /// What the disks did meanwhile.
    pub disks: Vec<DiskUse>,
    /// Files that stay, and their bytes.
    pub left: Vec<(PathBuf, u64)>,
    /// When it ended, milliseconds since 1970.
    pub ended_unix_ms: u64,
    /// The user ended it.
    pub interrupted: bool,
}

/// Checks a plan against this machine. `given` are the words of `--destroy`. Nothing is touched.
pub fn prepare<'p>(plan: &'p Plan, given: &[String]) -> Result<Prepared<'p>, RunError> {
    plan.jobs.iter().try_for_each(refuse::refuse)?;
    plan.jobs.iter().try_for_each(|job| numa::processors(job).map(drop))?;
    let (mut files, mut clones, mut stage) = (Files::default(), Vec::new(), 0);
    files.share_room(&plan.jobs);
    for (i, job) in plan.jobs.iter().enumerate() {
        stage += usize::from(job.schedule.stonewall && i > 0);
        for number in 0..job.numjobs {
            let uses = match job.engine {
                Engine::Null => imagined(job, number),
                _ => files.look(job, number)?,
            };
            sequence_fits(job, &uses)?;
            let waits_for = job.schedule.wait_for.and_then(|index| plan.jobs.get(index));
            let serial = clones.len() as u64;
            let carries = Content::default();
            clones.push(Actor { job, number, serial, stage, waits_for, uses, carries });
        }
    }
    carried::assign(&mut clones);
    files.admit(given)?;
    let (info, watch) = target::target(&clones, &files)?;
    Ok(Prepared { plan, files, clones, info, watch })
}

/// Whether every block of a sequence is there.
fn sequence_fits(job: &Job, uses: &[Use]) -> Result<(), RunError> {
    let Distribution::Sequence(list) = &job.access.distribution else { return Ok(()) };
    let last = u64::from(list.iter().copied().max().unwrap_or(0));
    let short = |place: &&Use| stream::places(&job.access, place.bytes).1 <= last;
    let Some(place) = uses.iter().find(short) else { return Ok(()) };
    let text = format!(
        "{}: block {last} of the sequence lies behind the end of {}",
        job.origin,
        place.path.display()
    );
    Err(RunError::usage(text, "a larger size, or a smaller bs"))
}

/// The files of the null engine, which has none.
fn imagined(job: &Job, clone: u32) -> Vec<Use> {
    let paths = job.paths(clone);
    let each = match job.space.size {
        Some(super::Amount::Bytes(bytes)) => bytes / paths.len().max(1) as u64,
        _ => 1 << 30,
    };
    let one = |path: String| Use { path: path.into(), start: 0, bytes: each };
    paths.into_iter().map(one).collect()
}

/// What a run needs from whoever starts it.
pub struct Setting<'a> {
    /// The user's wish to end.
    pub interrupt: &'a AtomicBool,
    /// Told what happens.
    pub observer: &'a mut dyn Observer,
    /// Told before a file is laid out: which, and its bytes.
    pub laying_out: &'a mut dyn FnMut(&Path, u64),
}

impl<'p> Prepared<'p> {
    /// The target of the first job, for the record.
    pub fn info(&self) -> &TargetInfo {
        &self.info
    }

    /// Bytes that laying out writes.
    pub fn layout_bytes(&self) -> u64 {
        self.files.layout_bytes()
    }

    /// Seconds that the stages take, as far as their times say.
    pub fn seconds(&self) -> f64 {
        let last = self.clones.iter().map(|clone| clone.stage).max().unwrap_or(0);
        let stage = |stage| {
            let mine = self.clones.iter().filter(move |clone| clone.stage == stage);
            let times = mine.map(|clone| {
                let schedule = &clone.job.schedule;
                let runtime = schedule.runtime.unwrap_or_default();
                (schedule.startdelay.high + schedule.ramp_time + runtime).as_secs_f64()
            });
            times.fold(0.0, f64::max)
        };
        (0..=last).map(stage).sum()
    }

    /// The most bytes that are written, laying out included. What only time ends has no bound.
    pub fn write_bytes_max(&self) -> u64 {
        let writes = |clone: &&Actor<'_>| clone.job.access.rw.writes() && !clone.job.verify.only;
        let written = self.clones.iter().filter(writes).map(|clone| {
            let outline = member::outline(clone.job, clone.number, &clone.uses);
            match outline.passes {
                Some(passes) => outline.pass_bytes.saturating_mul(u64::from(passes)),
                None => u64::MAX,
            }
        });
        written.fold(self.layout_bytes(), u64::saturating_add)
    }

    /// What is lost of what was given away, in words.
    pub fn destroys(&self) -> Option<String> {
        self.files.destroys()
    }

    /// Lays the files out, runs the jobs and removes what they said shall not stay.
    pub fn run(mut self, setting: &mut Setting<'_>) -> Result<Ran<'p>, RunError> {
        let clock = Clock::new();
        self.files.check_again()?;
        self.files.lay_out(clock.now() | 1, |path, bytes| {
            (setting.laying_out)(path, bytes);
            !setting.interrupt.load(Ordering::Relaxed)
        })?;
        let paths: Vec<_> =
            self.clones.iter().flat_map(|c| &c.uses).map(|u| u.path.clone()).collect();
        let mut ran = Ran {
            plan: self.plan,
            jobs: Vec::new(),
            stages: Vec::new(),
            disks: Vec::new(),
            left: Vec::new(),
            ended_unix_ms: 0,
            interrupted: false,
        };
        let before = disks::look(&paths);
        let created: Vec<_> =
            self.clones.iter().filter(|c| c.job.files.create_only).map(|c| c.stage).collect();
        let last = self.clones.iter().map(|c| c.stage).max().unwrap_or(0);
        for stage in (0..=last).filter(|stage| !created.contains(stage)) {
            if setting.interrupt.load(Ordering::Relaxed) {
                ran.interrupted = true;
                break;
            }
            self.files.check_again()?;
            let clones: Vec<_> = self.clones.iter().filter(|clone| clone.stage == stage).collect();
            let on = (&self.info, &mut self.watch, clock);
            let (jobs, whole) = stage::perform(&clones, &self.files, on, setting)?;
            ran.jobs.extend(jobs);
            ran.stages.push(whole);
            if clones.iter().any(|clone| ends_everything(clone.job)) {
                break;
            }
        }
        ran.disks = disks::since(&before);
        ran.interrupted |= ran.stages.iter().any(|m| m.stop == StopReason::Interrupted)
            && setting.interrupt.load(Ordering::Relaxed);
        for clone in self.clones.iter().filter(|c| c.job.files.unlink) {
            clone.uses.iter().for_each(|u| drop(std::fs::remove_file(&u.path)));
        }
        ran.left = self.files.left();
        ran.ended_unix_ms = stage::unix_ns() / 1_000_000;
        Ok(ran)
    }
}

/// Whether the end of a job keeps those from beginning that have not begun.
fn ends_everything(job: &Job) -> bool {
    job.schedule.exitall && job.schedule.exit_what == ExitWhat::All
}

/// How a job's engine was understood, where that is not what its name says.
pub fn mapped(job: &Job) -> Option<&'static str> {
    match job.engine {
        Engine::Sync | Engine::Vsync | Engine::Pvsync | Engine::Pvsync2 => {
            Some("pread and pwrite, one operation at a time (psync)")
        }
        Engine::Posixaio => Some("io_uring, rather than threads around pread and pwrite"),
        _ => None,
    }
}

/// Whether a job checks what it reads.
pub fn is_verified(job: &Job) -> bool {
    files::verifies(job)
}

/// Whether a job's depth is a fiction: its path is synchronous whatever the depth.
pub fn depth_is_fiction(job: &Job) -> bool {
    let buffered = !job.syncing.direct && job.syncing.sync == SyncMode::None;
    job.queue.depth > 1
        && (!job.engine.asynchronous() || (job.engine == Engine::Libaio && buffered))
}
