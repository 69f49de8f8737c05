//! Loops and limits that keep a script's plan and its run consistent.
//!
//! The planner runs the script with worst-case results. While planning, a loop runs all of its
//! rounds ([`Session::rounds`]), and a worst case replaces each measured size
//! ([`Session::assume`]). An adaptive part is one step with an enforced [`Budget`].

use record::{MetricKey, PlanStep};
use rig::{BlockRequest, BlockWay, Measurement, bound};
use workload::{OpKind, Region, Workload};

use super::{Door, Session};
use crate::{MethodError, Result, schedule};
use rules::Checks;

/// Limits of a part of a script. The default is unlimited.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    /// Time on the target's clock, seconds.
    pub seconds: f64,
    /// Bytes written.
    pub bytes: u64,
    /// Operations, reads and writes.
    pub ops: u64,
}

impl Default for Budget {
    fn default() -> Self {
        Budget { seconds: f64::INFINITY, bytes: u64::MAX, ops: u64::MAX }
    }
}

/// The cost of a part of a step, known before it starts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cost {
    /// Time of a pause, nanoseconds; an operation's time is unknown.
    pub ns: u64,
    /// Bytes written.
    pub bytes: u64,
    /// Operations, reads and writes.
    pub ops: u64,
}

impl Cost {
    /// The cost of a block request.
    pub(super) fn from_request(request: &BlockRequest) -> Cost {
        let bytes = request.bytes.len() as u64;
        match request.way {
            BlockWay::Read => Cost { ops: 1, ..Cost::default() },
            BlockWay::Write => Cost { bytes, ops: 1, ..Cost::default() },
            BlockWay::Flush => Cost::default(),
        }
    }
}

/// Upper bound of the block transfers of a part of a step: total bytes in one direction within a
/// region, which is read or written repeatedly if `bytes` exceeds its size.
#[derive(Clone, Copy, Debug)]
pub struct Bulk {
    /// Direction.
    pub way: BlockWay,
    /// The region.
    pub region: Region,
    /// Total bytes.
    pub bytes: u64,
    /// Rate at which the requests arrive at most, bytes per second.
    pub rate: Option<f64>,
    /// Small durable writes to few places among them.
    pub commits: u64,
}

impl Bulk {
    /// Transfers as fast as possible.
    pub fn new(way: BlockWay, region: Region, bytes: u64) -> Bulk {
        Bulk { way, region, bytes, rate: None, commits: 0 }
    }

    /// One pass over the region.
    pub fn once(way: BlockWay, region: Region) -> Bulk {
        Bulk::new(way, region, region.bytes)
    }

    /// The same at this rate, if any.
    #[must_use]
    pub fn paced(self, rate: Option<f64>) -> Bulk {
        Bulk { rate, ..self }
    }

    /// The same with so many small durable writes.
    #[must_use]
    pub fn with_commits(self, commits: u64) -> Bulk {
        Bulk { commits, ..self }
    }

    /// Least duration at its rate, seconds.
    fn seconds_min(&self) -> f64 {
        self.rate.map_or(0.0, |rate| self.bytes as f64 / rate)
    }
}

/// An active limit.
#[derive(Clone, Debug)]
pub struct RunningBudget {
    /// The step it belongs to.
    step: String,
    budget: Budget,
    begun_ns: u64,
    bytes: u64,
    ops: u64,
}

impl RunningBudget {
    /// Share used, 0 to 1.
    fn used(&self, now_ns: u64) -> f64 {
        let time = now_ns.saturating_sub(self.begun_ns) as f64 / 1e9 / self.budget.seconds;
        let bytes = self.bytes as f64 / self.budget.bytes as f64;
        time.max(bytes).max(self.ops as f64 / self.budget.ops as f64).min(1.0)
    }

    fn left(&self, now_ns: u64) -> (u64, u64, u64) {
        let time = self.budget.seconds * 1e9 - now_ns.saturating_sub(self.begun_ns) as f64;
        let time = if time.is_finite() { time.max(0.0) as u64 } else { u64::MAX };
        let bytes = self.budget.bytes.saturating_sub(self.bytes);
        (time, bytes, self.budget.ops.saturating_sub(self.ops))
    }

    /// Whether a part of this cost may start. Once the time is used up, none may.
    fn allows(&self, cost: Cost, now_ns: u64) -> bool {
        let (time, bytes, ops) = self.left(now_ns);
        time > 0 && cost.ns <= time && cost.bytes <= bytes && cost.ops <= ops
    }
}

/// Whether a loop continues after a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Round {
    /// Run another round, if any are left.
    Again,
    /// Stop: more rounds would show nothing new.
    Settled,
}

impl Round {
    /// `Settled` if `settled` is true, otherwise `Again`.
    pub fn settled_if(settled: bool) -> Round {
        if settled { Round::Settled } else { Round::Again }
    }
}

/// How long a loop tolerates a slow drive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Patience {
    /// Number of rounds that always run.
    pub rounds_min: u32,
    /// Time limit of the later rounds, in seconds since the first: no round starts that would end
    /// later.
    pub seconds: f64,
}

impl<'a> Session<'a> {
    /// Runs `body` up to `most` times, until it settles or the patience is exhausted, and returns
    /// the number of rounds. A plan runs all rounds.
    pub fn rounds(
        &mut self,
        most: u32,
        patience: Option<Patience>,
        mut body: impl FnMut(&mut Session<'a>, u32) -> Result<Round>,
    ) -> Result<u32> {
        let mark = self.mark();
        let begun_ns = self.rig().elapsed_ns();
        for round in 0..most {
            let spent = self.rig().elapsed_ns().saturating_sub(begun_ns) as f64 / 1e9;
            let end = spent + spent / f64::from(round.max(1));
            if !self.plans() && patience.is_some_and(|p| round >= p.rounds_min && end > p.seconds) {
                return Ok(round);
            }
            if body(self, round)? == Round::Settled && !self.plans() {
                return Ok(round + 1);
            }
        }
        if let (Door::Plan(planner), Some(patience)) = (&mut self.door, patience) {
            planner.patient(&mark, most, patience.rounds_min, patience.seconds);
        }
        Ok(most)
    }

    /// Measures the rates of workloads in rounds of alternating order and publishes them, one
    /// metric per workload. After every measurement, `keep` receives all rates so far.
    pub fn alternate<const N: usize>(
        &mut self,
        workloads: &[Workload; N],
        rounds: u32,
        mut keep: impl FnMut(&mut Checks, &[Vec<f64>; N]),
    ) -> Result<[Vec<f64>; N]> {
        let mut rates = std::array::from_fn(|_| Vec::new());
        self.rounds(rounds, None, |session, round| {
            for index in schedule::order(N, round) {
                let w = &workloads[index];
                rates[index].push(session.rate(w, round)?);
                session.put_rates(MetricKey::from_workload(w), &rates[index]);
                keep(&mut session.checks, &rates);
            }
            Ok(Round::Again)
        })?;
        Ok(rates)
    }

    /// Returns the measured value, or the worst case while planning.
    pub fn assume<T>(&self, found: T, worst: T) -> T {
        if self.plans() { worst } else { found }
    }

    /// Runs an adaptive part within a budget, as one step of the plan. A workload that would exceed
    /// the budget is cut short; once nothing is left, the next workload ends `body`. Budgets nest.
    pub fn budget(
        &mut self,
        name: &str,
        budget: Budget,
        body: impl FnOnce(&mut Session<'a>) -> Result<()>,
    ) -> Result<()> {
        self.step(name, 0);
        let step = name.to_string();
        let mark = self.mark();
        let begun_ns = self.rig().elapsed_ns();
        self.limits.push(RunningBudget { step, budget, begun_ns, bytes: 0, ops: 0 });
        let result = body(self);
        self.limits.pop();
        if let Door::Plan(planner) = &mut self.door {
            planner.limit(&mark, budget.seconds, budget.bytes);
        }
        match result {
            Err(MethodError::Spent { depth }) if depth == self.limits.len() => Ok(()),
            result => result,
        }
    }

    /// Runs a part that transfers blocks one by one, up to these amounts. While planning, counts
    /// the amounts and returns `None` without running `body`, so that planning takes no longer for
    /// a larger drive. On a drive, writing more is an error.
    pub fn transfer<T>(
        &mut self,
        step: &str,
        bulk: &[Bulk],
        body: impl FnOnce(&mut Session<'a>) -> Result<T>,
    ) -> Result<Option<T>> {
        if let Door::Plan(planner) = &mut self.door {
            for b in bulk {
                planner.transfer(b.way, b.region, b.bytes, b.commits, b.seconds_min());
            }
            return Ok(None);
        }
        let writes = bulk.iter().filter(|b| b.way == BlockWay::Write);
        let budget = Budget { bytes: writes.map(|b| b.bytes).sum(), ..Budget::default() };
        let (step, begun_ns) = (step.to_string(), self.elapsed_ns());
        self.limits.push(RunningBudget { step: step.clone(), budget, begun_ns, bytes: 0, ops: 0 });
        let result = body(self);
        self.limits.pop();
        match result {
            Err(MethodError::Spent { depth }) if depth == self.limits.len() => {
                Err(MethodError::Overrun { step, bytes: budget.bytes })
            }
            result => result.map(Some),
        }
    }

    /// Charges a part of a step to all limits before it starts. Fails if it exceeds one of them. A
    /// plan charges nothing: it has the budget itself as its bound.
    pub(super) fn charge(&mut self, cost: Cost) -> Result<()> {
        if self.limits.is_empty() || self.plans() {
            return Ok(());
        }
        let now_ns = self.elapsed_ns();
        if let Some(depth) = self.limits.iter().position(|limit| !limit.allows(cost, now_ns)) {
            return Err(MethodError::Spent { depth });
        }
        for limit in &mut self.limits {
            limit.bytes = limit.bytes.saturating_add(cost.bytes);
            limit.ops = limit.ops.saturating_add(cost.ops);
        }
        Ok(())
    }

    /// While planning: expects in place of the next workload, whose bound counts, the one that a
    /// drive gets whose rate for `w` is as expected, bytes per second.
    pub fn expect_at_rate(&mut self, w: &Workload, likely: impl FnOnce(f64) -> Workload) {
        if let Door::Plan(planner) = &mut self.door {
            let rate = planner.bytes_within(w, 1.0) as f64;
            planner.expect_instead(Some(likely(rate)));
        }
    }

    /// Runs `body` with a limit on its expected duration.
    pub fn expected_within<T>(
        &mut self,
        seconds: f64,
        body: impl FnOnce(&mut Session<'a>) -> Result<T>,
    ) -> Result<T> {
        let mark = self.mark();
        let result = body(self);
        if let Door::Plan(planner) = &mut self.door {
            planner.limit(&mark, seconds, u64::MAX);
        }
        result
    }

    /// The steps planned so far; none on a drive.
    fn mark(&self) -> Vec<PlanStep> {
        match &self.door {
            Door::Plan(planner) => planner.mark(),
            Door::Drive(_) => Vec::new(),
        }
    }

    /// The step that has a budget now, and the share used.
    pub fn under_way(&mut self) -> Option<(String, f64)> {
        let now_ns = self.rig().elapsed_ns();
        let limit = self.limits.first()?;
        Some((limit.step.clone(), limit.used(now_ns)))
    }

    /// Cuts a workload to the remainder of all limits and to the bytes in its plan.
    pub fn limited(&mut self, w: &Workload) -> Result<Workload> {
        let now_ns = self.rig().elapsed_ns();
        let mut stop = w.stop;
        let lower = |bound: &mut Option<u64>, to: u64| {
            *bound = Some(bound.unwrap_or(u64::MAX).min(to));
        };
        if let Some(ns) = w.stop.time_ns.filter(|_| w.mix.write > 0) {
            lower(&mut stop.bytes, bound::timed(w, self.target(), ns));
        }
        for (depth, limit) in self.limits.iter().enumerate() {
            let (time_ns, bytes, ops) = limit.left(now_ns);
            if time_ns < u64::MAX {
                lower(&mut stop.time_ns, time_ns);
            }
            if ops < u64::MAX {
                lower(&mut stop.ops, ops);
            }
            if bound::written_max(w, self.target()) > bytes {
                // The same number of whole blocks for every job, so that no job rounds up.
                let unit = u64::from(w.blocks.max().max(1)) * u64::from(w.jobs);
                lower(&mut stop.bytes, bound::issued_for(w, bytes) / unit * unit);
            }
            let spent = [stop.bytes, stop.time_ns, stop.ops].contains(&Some(0));
            if spent && !self.plans() {
                return Err(MethodError::Spent { depth });
            }
        }
        Ok(Workload { stop, ..w.clone() })
    }

    /// Charges a workload to all limits: its measured bytes, or its maximum while planning.
    pub fn spend(&mut self, w: &Workload, m: &Measurement) {
        let total = |of: fn(&rig::KindStats) -> u64, kinds: &[OpKind]| {
            kinds.iter().filter_map(|kind| m.kind(*kind)).map(of).sum::<u64>()
        };
        let written_bytes = if self.plans() {
            bound::written_max(w, self.target())
        } else {
            total(|k| k.bytes, &[OpKind::Write])
        };
        let ops = total(|k| k.ops, &[OpKind::Read, OpKind::Write]);
        for limit in &mut self.limits {
            limit.bytes = limit.bytes.saturating_add(written_bytes);
            limit.ops = limit.ops.saturating_add(ops);
        }
    }
}
