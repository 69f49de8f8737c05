//! The planner: a rig that runs a method's script without touching anything and yields its plan.
//!
//! It records every step, keeps its own clock, and returns the worst case: operations as fast as
//! link and pacing allow, and no steady state. Each step has a **maximum** of bytes written
//! ([`rig::bound`]), which the run never exceeds, and an **expected** duration and number of bytes
//! (`expect.rs`), which are estimates. The data that would be lost is derived from the recorded operations (`loss.rs`).

mod blocks;
mod expect;
mod flash;
mod loss;
#[cfg(test)]
mod tests;

use std::time::Duration;

use record::{Plan, PlanStep, Safety, State, TargetKind};
use rig::{
    BlockDone, Blocks, CommandRun, Erase, Event, Exit, Job, KindStats, Measurement, Performance,
    Preparation, Prepared, Released, Result, Rig, RigError, Stage, StopReason, TargetInfo, bound,
};
use workload::{Content, OpKind, Region, Workload};

use expect::Expectation;
use flash::FlashState;
use loss::Touched;

/// Bytes of canaries written by the rig before an erase.
const CANARY_BYTES: u64 = 64 << 20;

/// Expected duration of a discard, a trim or a format, seconds.
const COMMAND_SECONDS: f64 = 1.0;

/// Free bytes that a file system trims in a second: ext4 on a virtual disk took 6.5 s for 74 GB.
const TRIMMED_PER_SECOND: f64 = 11.4e9;

/// Minimum clock advance per operation, nanoseconds.
const TICK_NS: u64 = 1;

/// A rig that records a plan and performs no I/O.
pub struct Planner {
    info: TargetInfo,
    now_ns: u64,
    steps: Vec<PlanStep>,
    /// Index of the current step.
    current: usize,
    touched: Touched,
    /// What is on the flash, if its properties are known.
    flash: Option<FlashState>,
    /// Bytes of borrowed blocks that were overwritten through the block interface.
    lent_bytes: u64,
    /// Requests of the block interface not yet polled.
    completed: Vec<BlockDone>,
    /// Number of operations recorded, on which the time of planning depends.
    pub operations: u64,
    /// What is expected in place of the next workload, whose bound counts.
    likely: Option<Workload>,
    /// The plan for a RAM disc, which takes time but writes nothing to the drive.
    reference: Option<Box<Planner>>,
}

impl Planner {
    /// A planner for this target.
    pub fn new(info: &TargetInfo) -> Planner {
        // A virtual drive has no host that could provide a RAM disc.
        let has_host = info.target.kind != TargetKind::Virtual;
        Planner {
            reference: has_host.then(|| Box::new(Planner::alone(info))),
            ..Planner::alone(info)
        }
    }

    fn alone(info: &TargetInfo) -> Planner {
        let is_full = matches!(info.state, State::Filled | State::Used);
        Planner {
            info: info.clone(),
            now_ns: 0,
            steps: Vec::new(),
            current: 0,
            touched: Touched::default(),
            flash: info.limits.flash.map(|flash| FlashState::new(flash, info.bytes, is_full)),
            lent_bytes: 0,
            completed: Vec::new(),
            operations: 0,
            likely: None,
            reference: None,
        }
    }

    /// The plan.
    pub fn finish(mut self) -> Plan {
        self.add_reference();
        let safety = self.touched.safety(&self.info);
        Plan {
            safety,
            seconds: self.steps.iter().map(|s| s.seconds).sum(),
            write_bytes_expected: self.steps.iter().map(|s| s.write_bytes_expected).sum(),
            range: None,
            write_bytes_max: self.written(),
            region_bytes: self.touched.bytes(),
            destroys: self.touched.destroys(&self.info),
            steps: self.steps,
            workloads: Vec::new(),
            command: Vec::new(),
        }
    }

    /// Maximum bytes written so far.
    fn written(&self) -> u64 {
        self.steps.iter().fold(0, |sum, s| sum.saturating_add(s.write_bytes_max))
    }

    /// A mark in the recorded steps, for [`Planner::limit`].
    pub fn mark(&self) -> Vec<PlanStep> {
        self.steps.clone()
    }

    /// Applies a limit of the script to the time and bytes recorded since the mark. All of these
    /// steps are scaled down alike.
    pub fn limit(&mut self, mark: &[PlanStep], seconds: f64, bytes: u64) {
        let share = share_of(bytes as f64, bytes_max(&self.steps) - bytes_max(mark));
        for (i, step) in self.steps.iter_mut().enumerate() {
            let before = mark.get(i).map_or(0, |step| step.write_bytes_max);
            let added_bytes = (step.write_bytes_max - before) as f64 * share;
            step.write_bytes_max = before + added_bytes as u64;
        }
        let time = share_of(seconds, self.seconds_since(mark));
        self.scale_expected(mark, time);
    }

    /// Expected seconds of the steps since the mark.
    fn seconds_since(&self, mark: &[PlanStep]) -> f64 {
        expected_seconds(&self.steps) - expected_seconds(mark)
    }

    /// Scales what is expected of the steps since the mark.
    fn scale_expected(&mut self, mark: &[PlanStep], share: f64) {
        for (i, step) in self.steps.iter_mut().enumerate() {
            let (seconds, bytes) = mark
                .get(i)
                .map_or((0.0, 0), |step| (step.seconds, step.write_bytes_expected.unwrap_or(0)));
            step.seconds = seconds + (step.seconds - seconds) * share;
            step.write_bytes_expected = step
                .write_bytes_expected
                .map(|all| bytes + (all.saturating_sub(bytes) as f64 * share) as u64);
        }
    }

    /// Applies the patience of a script to the `most` rounds recorded since the mark: a slow drive
    /// gets those that fit into a time, and at least so many.
    pub fn patient(&mut self, mark: &[PlanStep], most: u32, least: u32, seconds: f64) {
        for (i, step) in self.steps.iter_mut().enumerate() {
            let before = mark.get(i).map_or(0, |step| step.repeats);
            let repeats = (step.repeats - before) / most.max(1);
            if repeats > 0 && least < most {
                step.repeats_least = Some(before + repeats * least);
            }
        }
        let round_seconds = self.seconds_since(mark) / f64::from(most.max(1));
        let fit = (seconds / round_seconds).floor();
        let rounds = fit.clamp(f64::from(least.min(most)), f64::from(most));
        self.scale_expected(mark, rounds / f64::from(most.max(1)));
    }

    /// Sets what is expected in place of the next workload.
    pub fn expect_instead(&mut self, w: Option<Workload>) {
        self.likely = w;
    }

    /// Expected seconds for filling as much.
    pub fn fill_seconds(&self, bytes: u64) -> f64 {
        let mut flash = self.flash.clone();
        expect_fill(Region::first(bytes), bytes, &self.info, &mut flash).seconds
    }

    /// Bytes that a workload is expected to move within a time.
    pub fn bytes_within(&self, w: &Workload, seconds: f64) -> u64 {
        expect::within(w, seconds, &self.info)
    }

    /// What a workload is expected to cost on flash in this state.
    fn expect(&mut self, w: &Workload) -> Expectation {
        let expected = expect::workload(w, &self.info);
        let Some(flash) = &mut self.flash else { return expected };
        let flash_seconds = flash.write(w.region, expected.written_bytes, w.pattern.is_random());
        let time_max = w.stop.time_ns.map_or(f64::INFINITY, |ns| ns as f64 / 1e9);
        expected.at_least(flash_seconds, time_max)
    }

    fn discard(&mut self, region: Region) {
        if let Some(flash) = &mut self.flash {
            flash.discard(region);
        }
    }

    /// Adds an operation to the current step: maximum bytes written, what is expected, and minimum
    /// duration.
    fn add(&mut self, written: u64, expected: Expectation, least_ns: u64) {
        self.operations += 1;
        if self.steps.is_empty() {
            self.begin_step("prepare");
        }
        let step = &mut self.steps[self.current];
        step.write_bytes_max = step.write_bytes_max.saturating_add(written);
        step.seconds += expected.seconds;
        let expected_bytes = (expected.written_bytes as u64).min(written);
        *step.write_bytes_expected.get_or_insert(0) += expected_bytes;
        self.now_ns = self.now_ns.saturating_add(least_ns.max(TICK_NS));
    }

    fn begin_step(&mut self, name: &str) {
        self.add_reference();
        self.current = self.steps.iter().position(|s| s.name == name).unwrap_or_else(|| {
            let name = name.to_string();
            self.steps.push(PlanStep {
                name,
                seconds: 0.0,
                repeats: 0,
                repeats_least: None,
                write_bytes_expected: Some(0),
                write_bytes_max: 0,
            });
            self.steps.len() - 1
        });
        self.steps[self.current].repeats += 1;
    }

    /// Adds the time spent on the RAM disc to the current step.
    fn add_reference(&mut self) {
        let Some(reference) = &mut self.reference else { return };
        let seconds: f64 = reference.steps.drain(..).map(|s| s.seconds).sum();
        if let Some(step) = self.steps.get_mut(self.current) {
            step.seconds += seconds;
        }
    }

    fn least_ns(&self, bytes: u64) -> u64 {
        (bytes as f64 / bound::ceiling(&self.info) * 1e9) as u64
    }

    fn fill(&mut self, region: Region) -> Prepared {
        self.touched.write(region);
        let least_ns = self.least_ns(region.bytes);
        let expected = expect_fill(region, region.bytes, &self.info, &mut self.flash);
        self.add(region.bytes, expected, least_ns);
        Prepared { elapsed_ns: least_ns.max(TICK_NS), bytes: region.bytes, ..Prepared::default() }
    }

    /// Plans a discard or a release of a region.
    fn give_back(&mut self, region: Region) -> Result<Prepared> {
        let is_file = matches!(self.info.target.kind, TargetKind::Directory | TargetKind::File);
        if !self.info.discard && !is_file {
            return Err(RigError::Unsupported("discard".into()));
        }
        self.touched.give_back(region);
        self.discard(region);
        let trims = self.info.target.kind == TargetKind::Directory;
        let trim_seconds = if trims { self.trim_seconds() } else { 0.0 };
        self.add(0, Expectation::lasting(COMMAND_SECONDS + trim_seconds), TICK_NS);
        let released = Released { looked_bytes: region.bytes.max(1), ..Released::default() };
        Ok(Prepared { elapsed_ns: TICK_NS, released: Some(released), ..Prepared::default() })
    }

    /// Seconds in which the file system trims all its free space, if it has not done so already.
    fn trim_seconds(&self) -> f64 {
        let system = self.info.target.filesystem.as_ref();
        system.and_then(|fs| fs.free_bytes).unwrap_or(0) as f64 / TRIMMED_PER_SECOND
    }

    fn erase(&mut self, region: Region, how: Erase) -> Prepared {
        let canaries = region.bytes.min(CANARY_BYTES);
        let zeroes = if how == Erase::Zero { region.bytes } else { 0 };
        self.touched.erase(region);
        let mut expected = expect_fill(Region::first(zeroes), zeroes, &self.info, &mut self.flash);
        self.discard(region);
        expected.seconds += COMMAND_SECONDS;
        expected.written_bytes += canaries as f64;
        self.add(canaries + zeroes, expected, self.least_ns(zeroes));
        Prepared { elapsed_ns: TICK_NS, ..Prepared::default() }
    }

    fn read_back(&mut self, bytes: u64) -> Prepared {
        let expected = Expectation::lasting(expect::read(bytes, &self.info));
        self.add(0, expected, self.least_ns(bytes));
        Prepared { elapsed_ns: TICK_NS, ..Prepared::default() }
    }

    fn format(&mut self, block_bytes: u32) -> Result<Prepared> {
        if !self.info.formats.contains(&block_bytes) {
            let text = format!("formatting to blocks of {block_bytes} bytes");
            return Err(RigError::Unsupported(text));
        }
        self.info.logical_block_bytes = block_bytes;
        let whole = Region::first(self.info.bytes);
        self.touched.erase(whole);
        self.discard(whole);
        self.add(0, Expectation::lasting(COMMAND_SECONDS), TICK_NS);
        Ok(Prepared { elapsed_ns: TICK_NS, ..Prepared::default() })
    }
}

/// What writing so many bytes to a region in order is expected to cost.
fn expect_fill(
    region: Region,
    bytes: u64,
    info: &TargetInfo,
    flash: &mut Option<FlashState>,
) -> Expectation {
    let expected = expect::fill(bytes, info);
    match flash {
        Some(flash) => expected.at_least(flash.write(region, bytes as f64, false), f64::INFINITY),
        None => expected,
    }
}

impl Rig for Planner {
    fn target(&self) -> &TargetInfo {
        &self.info
    }

    /// A workload with a time limit moves one block; a workload limited only by an amount moves
    /// that amount.
    fn measure(&mut self, workload: &Workload) -> Result<Measurement> {
        workload.check()?;
        self.touched.workload(workload);
        let block = u64::from(workload.blocks.max());
        let issued = bound::issued_max(workload, &self.info);
        let least_ns = bound::least_ns(workload, &self.info);
        let written_bytes = bound::written_max(workload, &self.info);
        let likely = self.likely.take();
        let expected = self.expect(likely.as_ref().unwrap_or(workload));
        self.add(written_bytes, expected, least_ns);
        let bytes = if workload.stop.time_ns.is_some() { block } else { issued.max(block) };
        Ok(answer(workload, bytes, least_ns))
    }

    /// Plans concurrent jobs one after another, which takes longest and writes the same bytes.
    fn perform(&mut self, jobs: Vec<Job>, _stage: Stage<'_>) -> Result<Performance> {
        let mut whole = Measurement::default();
        for (number, job) in jobs.iter().enumerate() {
            let planned = self.measure(&job.workload)?;
            if number == 0 {
                whole = planned;
                continue;
            }
            whole.elapsed_ns += planned.elapsed_ns;
            for (mine, more) in whole.kinds.iter_mut().zip(planned.kinds) {
                if let Some(stats) = more {
                    mine.get_or_insert_with(KindStats::default).merge(&stats);
                }
            }
        }
        Ok(Performance { jobs: Vec::new(), whole })
    }

    fn prepare(&mut self, preparation: Preparation) -> Result<Prepared> {
        Ok(match preparation {
            Preparation::Fill { region, .. } => self.fill(region),
            Preparation::Borrow { region } => {
                self.touched.borrow(region);
                // The user's blocks are read twice.
                let times = if self.info.allowed == Safety::Borrows { 2 } else { 1 };
                self.read_back(times * region.bytes)
            }
            Preparation::Restore => {
                let lent_bytes = std::mem::take(&mut self.lent_bytes);
                let region = Region::first(lent_bytes);
                let expected = expect_fill(region, lent_bytes, &self.info, &mut self.flash);
                self.add(lent_bytes, expected, self.least_ns(lent_bytes));
                self.read_back(self.touched.borrowed_bytes())
            }
            Preparation::Discard { region } | Preparation::Release { region } => {
                self.give_back(region)?
            }
            Preparation::Erase { region, how } => self.erase(region, how),
            Preparation::Format { block_bytes } => self.format(block_bytes)?,
            Preparation::TrimFree => {
                let system = self.info.target.filesystem.as_ref();
                self.touched.trim_free(system.and_then(|fs| fs.free_bytes).unwrap_or(0));
                let seconds = COMMAND_SECONDS + self.trim_seconds();
                self.add(0, Expectation::lasting(seconds), TICK_NS);
                Prepared { elapsed_ns: TICK_NS, ..Prepared::default() }
            }
            Preparation::Flush | Preparation::DropCaches | Preparation::Empty => {
                Prepared { elapsed_ns: TICK_NS, ..Prepared::default() }
            }
        })
    }

    fn idle(&mut self, time: Duration) -> Result<()> {
        let ns = time.as_nanos() as u64;
        // A pause of one nanosecond only checks whether the run continues; it is not a rest.
        if ns > TICK_NS {
            if let Some(flash) = &mut self.flash {
                flash.rest(time.as_secs_f64());
            }
            self.add(0, Expectation::lasting(time.as_secs_f64()), ns);
        }
        Ok(())
    }

    /// The duration of a program is unknown and planned as zero.
    fn command(&mut self, words: &[String]) -> Result<CommandRun> {
        if self.info.target.kind == TargetKind::Virtual {
            let program = words.first().map_or("", String::as_str);
            let text = format!("running '{program}': a virtual drive has no host to run it");
            return Err(RigError::Unsupported(text));
        }
        self.touched.command();
        self.add(0, Expectation::default(), TICK_NS);
        Ok(CommandRun {
            elapsed_ns: TICK_NS,
            sync_ns: 0,
            user_ns: 0,
            system_ns: 0,
            memory_bytes_max: 0,
            exit: Exit::Code(0),
            own: None,
            device: None,
            device_synced: None,
        })
    }

    fn blocks(&mut self) -> Result<&mut dyn Blocks> {
        Ok(self)
    }

    fn reference(&mut self) -> Option<&mut dyn Rig> {
        self.reference.as_deref_mut().map(|planner| planner as &mut dyn Rig)
    }

    fn note(&mut self, event: Event) {
        if let Event::Step { name, .. } = event {
            self.begin_step(&name);
        }
    }

    fn elapsed_ns(&mut self) -> u64 {
        self.now_ns
    }
}

/// A minimal measurement: one operation of every kind in the workload.
fn answer(w: &Workload, moved: u64, elapsed_ns: u64) -> Measurement {
    let elapsed_ns = elapsed_ns.max(TICK_NS);
    let mut measurement = Measurement {
        name: w.name.clone(),
        elapsed_ns,
        direct: true,
        stop: if w.stop.time_ns.is_some() { StopReason::Time } else { StopReason::Amount },
        ..Measurement::default()
    };
    let flushes = w.flush_at_end || w.flush_every.is_some();
    for kind in OpKind::ALL {
        let is_in_mix = w.mix.weight(kind) > 0 || (kind == OpKind::Flush && flushes);
        if !is_in_mix {
            continue;
        }
        let mut stats = KindStats { ops: 1, ..KindStats::default() };
        stats.bytes = match kind {
            OpKind::Read | OpKind::Write => moved,
            OpKind::Flush | OpKind::Discard => 0,
        };
        stats.service.record(elapsed_ns);
        measurement.kinds[kind as usize] = Some(stats);
    }
    measurement
}

/// Maximum bytes written in all steps.
fn bytes_max(steps: &[PlanStep]) -> f64 {
    steps.iter().map(|step| step.write_bytes_max as f64).sum()
}

/// Expected seconds of all steps.
fn expected_seconds(steps: &[PlanStep]) -> f64 {
    steps.iter().map(|step| step.seconds).sum()
}

/// The share of an amount that a limit leaves, at most 1.
fn share_of(limit: f64, amount: f64) -> f64 {
    if limit < amount { limit / amount } else { 1.0 }
}

/// Whether the workload writes back the original content.
fn gives_back(w: &Workload) -> bool {
    w.content == Content::Original && w.mix.discard == 0
}
