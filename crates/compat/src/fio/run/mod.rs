//! Runs a plan: files first, then the jobs, stage by stage.
//!
//! A stonewall begins a new stage; the jobs of a stage run at the same time, each clone on a thread
//! of its own with a backend, files and operations of its own. What each did is kept apart, and all
//! of a stage is looked at together for what to distrust.

mod disks;
mod files;
mod member;
mod places;
mod refuse;
mod sizes;
mod stream;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use drive::{DriveError, ErrorKind, OpenRequest, Watch};
use engine::{BackendKind, Clock, Performed, Stage};
use record::{Safety, Target, TargetKind};
use rig::{Measurement, Observer, StopReason, TargetInfo};

use super::{Engine, ExitWhat, Job, Plan};
use crate::fio::SyncMode;
pub use disks::DiskUse;
pub use files::LaidOut;
use files::{Files, Use};

/// Bounds of the intervals in which a run is sampled, nanoseconds: shorter ones cost too much, longer
/// ones show too little.
const SHORTEST_INTERVAL_NS: u64 = 1_000_000;
const LONGEST_INTERVAL_NS: u64 = 100_000_000;

/// Why a plan could not be run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// It asks for what cannot be done.
    #[error("{text}")]
    Usage {
        /// What, and where it was asked for.
        text: String,
        /// What to try.
        advice: String,
    },
    /// It would destroy what was not given away.
    #[error("{text}")]
    Refused {
        /// What would be lost.
        text: String,
        /// How to give it away.
        advice: String,
    },
    /// A target cannot be used.
    #[error(transparent)]
    Drive(#[from] DriveError),
    /// The system failed.
    #[error("{context}: {source}")]
    Io {
        /// What was tried.
        context: String,
        /// The system's word.
        source: std::io::Error,
    },
    /// The user ended it before the jobs began.
    #[error("interrupted")]
    Interrupted,
}

impl RunError {
    fn usage(text: String, advice: &str) -> RunError {
        RunError::Usage { text, advice: advice.to_string() }
    }

    fn io(context: String, source: std::io::Error) -> RunError {
        RunError::Io { context, source }
    }

    /// Who has to do something about it; `None` where the user ended the run.
    pub fn kind(&self) -> Option<ErrorKind> {
        match self {
            RunError::Usage { .. } => Some(ErrorKind::Usage),
            RunError::Refused { .. } => Some(ErrorKind::Refused),
            RunError::Drive(error) => Some(error.kind()),
            RunError::Io { .. } => Some(ErrorKind::Io),
            RunError::Interrupted => None,
        }
    }

    /// What to try.
    pub fn advice(&self) -> Option<String> {
        match self {
            RunError::Usage { advice, .. } | RunError::Refused { advice, .. } => {
                Some(advice.clone())
            }
            RunError::Drive(error) => error.advice(),
            RunError::Io { .. } | RunError::Interrupted => None,
        }
    }
}

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
    stage: usize,
    /// The job whose clones must all have ended before.
    waits_for: Option<&'p Job>,
    uses: Vec<Use>,
}

/// What one clone did.
#[derive(Debug)]
pub struct JobRun<'p> {
    /// The job.
    pub job: &'p Job,
    /// Number of the clone, from 0.
    pub clone: u32,
    /// How many files it had.
    pub files: usize,
    /// When it ended, nanoseconds since 1970.
    pub ended_unix_ns: u64,
    /// When its stage began, nanoseconds since 1970.
    pub began_unix_ns: u64,
    /// Length of the intervals it was sampled in, nanoseconds.
    pub interval_ns: u64,
    /// Bits of its addresses for the place in a file.
    pub shift: u32,
    /// What it did.
    pub did: Performed,
}

impl JobRun<'_> {
    /// The error number that ended it; 0 for none.
    pub fn error(&self) -> i32 {
        const IO_ERROR: i32 = 5;
        const ILLEGAL_SEQUENCE: i32 = 84;
        let errors = &self.did.measurement.errors;
        match errors.iter().any(|error| error.op != "verify") {
            true => IO_ERROR,
            false if errors.is_empty() => 0,
            // As fio has it for what verify found.
            false => ILLEGAL_SEQUENCE,
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
    let (mut files, mut clones, mut stage) = (Files::default(), Vec::new(), 0);
    for (i, job) in plan.jobs.iter().enumerate() {
        stage += usize::from(job.schedule.stonewall && i > 0);
        for number in 0..job.numjobs {
            let uses = match job.engine {
                Engine::Null => imagined(job, number),
                _ => files.look(job, number)?,
            };
            let waits_for = job.schedule.wait_for.and_then(|index| plan.jobs.get(index));
            clones.push(Actor { job, number, stage, waits_for, uses });
        }
    }
    files.admit(given)?;
    let (info, watch) = target(&clones, &files)?;
    Ok(Prepared { plan, files, clones, info, watch })
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

/// What the first file lies on, for the record and the doctor.
fn target(clones: &[Actor<'_>], files: &Files) -> Result<(TargetInfo, Watch), RunError> {
    let real = clones.iter().find(|clone| clone.job.engine != Engine::Null);
    let bytes: u64 = clones.iter().flat_map(|c| &c.uses).map(|u| u.bytes).sum();
    let Some(path) = real.and_then(|clone| Some(clone.uses.first()?.path.clone())) else {
        return Ok((nothing(bytes), Watch::nothing()));
    };
    if let Some(opened) = files.opened(&path) {
        let watch = drive::locate(&path)?.watch();
        return Ok((opened.info.clone(), watch));
    }
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
        _ => PathBuf::from("."),
    };
    // The smallest scratch file: only what the directory lies on is asked for.
    let request = OpenRequest { size: Some(1), wants: Safety::Scratch, destroy: None };
    let mut info = drive::plan_open(&directory.to_string_lossy(), &request)?.info;
    (info.bytes, info.target.bytes) = (bytes, Some(bytes));
    info.target.spec = path.display().to_string();
    Ok((info, drive::locate(&directory)?.watch()))
}

fn nothing(bytes: u64) -> TargetInfo {
    let target = Target {
        spec: "null".to_string(),
        kind: TargetKind::Null,
        path: None,
        bytes: Some(bytes),
        drive: None,
        layers: Vec::new(),
        filesystem: None,
        direct: None,
    };
    TargetInfo {
        target,
        bytes,
        logical_block_bytes: 512,
        allowed: Safety::Destroys,
        ram: false,
        formats: Vec::new(),
        discard: true,
        state: record::State::Unknown,
    }
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
            self.stage(stage, clock, setting, &mut ran)?;
            if self.clones.iter().any(|clone| clone.stage == stage && ends_everything(clone.job)) {
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
        ran.ended_unix_ms = unix_ns() / 1_000_000;
        Ok(ran)
    }

    fn stage(
        &mut self,
        stage: usize,
        clock: Clock,
        setting: &mut Setting<'_>,
        ran: &mut Ran<'p>,
    ) -> Result<(), RunError> {
        let clones: Vec<_> = self.clones.iter().filter(|c| c.stage == stage).collect();
        let mut open = Vec::new();
        for clone in &clones {
            let files = match clone.job.engine {
                Engine::Null => Vec::new(),
                _ => clone
                    .uses
                    .iter()
                    .map(|u| self.files.open(clone.job, &u.path))
                    .collect::<Result<Vec<_>, _>>()?,
            };
            open.push(files);
        }
        let mut shifts = Vec::new();
        let members = clones.iter().zip(&open).map(|(clone, files)| {
            let mut outline = member::outline(clone.job, clone.number, &clone.uses);
            outline.access.mix_read_percent = member::mix_read_percent(clone.job);
            let shift = outline.shift;
            shifts.push(shift);
            let mut member = member::member(clone.job, clone.number, outline);
            member.after = waited_for(&clones, clone.waits_for);
            member.files =
                (member.backend != BackendKind::Null).then(|| handed(clone.job, files, shift));
            member
        });
        let members: Vec<_> = members.collect();
        let interval_ns = interval_ns(&clones);
        let began_unix_ns = unix_ns();
        let name = clones.first().map_or("", |clone| &clone.job.name);
        let mut on = Stage {
            name,
            clock,
            start_ns: clock.now(),
            interval_ns,
            info: &self.info,
            watch: Some(&mut self.watch),
            interrupt: setting.interrupt,
            observer: setting.observer,
        };
        let done = on.perform(members).map_err(|e| RunError::io(name.to_string(), e))?;
        for ((clone, did), shift) in clones.iter().zip(done.jobs).zip(shifts) {
            ran.jobs.push(JobRun {
                job: clone.job,
                clone: clone.number,
                files: clone.uses.len(),
                ended_unix_ns: began_unix_ns + did.end_ns,
                began_unix_ns,
                interval_ns,
                shift,
                did,
            });
        }
        ran.stages.push(done.whole);
        Ok(())
    }
}

fn handed<'f>(job: &Job, files: &'f [std::fs::File], shift: u32) -> engine::Files<'f> {
    let files = engine::Files::several(files, shift);
    if job.syncing.fdatasync > 0 && job.syncing.fsync == 0 { files } else { files.flushed_whole() }
}

/// The clones of that job among those of a stage; none where they ran in an earlier one.
fn waited_for(clones: &[&Actor<'_>], job: Option<&Job>) -> std::ops::Range<usize> {
    let is = |clone: &&&Actor<'_>| job.is_some_and(|job| std::ptr::eq(clone.job, job));
    let first = clones.iter().position(|clone| is(&clone)).unwrap_or(0);
    first..first + clones.iter().filter(is).count()
}

/// A length of which every average that was asked for is a multiple, and short.
fn interval_ns(clones: &[&Actor<'_>]) -> u64 {
    let asked = clones.iter().flat_map(|clone| {
        let (logs, shown) = (&clone.job.logs, &clone.job.reporting);
        [logs.average, shown.bw_avg_time, shown.iops_avg_time]
    });
    let common = asked.fold(0, |common, time| member::gcd(common, time.as_nanos() as u64));
    let common = if common == 0 { LONGEST_INTERVAL_NS } else { common };
    let parts = common.div_ceil(LONGEST_INTERVAL_NS);
    let even = (parts..=common).find(|parts| common.is_multiple_of(*parts));
    (common / even.unwrap_or(parts)).max(SHORTEST_INTERVAL_NS)
}

/// Whether the end of a job keeps those from beginning that have not begun.
fn ends_everything(job: &Job) -> bool {
    job.schedule.exitall && job.schedule.exit_what == ExitWhat::All
}

fn unix_ns() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |t| t.as_nanos() as u64)
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
