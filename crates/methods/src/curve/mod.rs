//! `curve`: response time against offered load.
//!
//! A closed loop hides the time in the queue, because a slow drive gets fewer requests; here the
//! operations of an open schedule fall due whether or not the drive is ready. The bisection for the
//! knee, and for the load of `--p99`, is in `search.rs`.

mod answer;
mod search;
mod verdict;

use std::time::Duration;

use analysis::LatencyReplicates;
use record::{LatencyProfile, MetricKey, Statistic};
use rig::{Measurement, TargetInfo};
use workload::units::parse_duration;
use workload::{Mix, Pacing, Pattern, Stop, Workload};

use script::{
    Budget, Conclusion, MethodError, MethodInfo, MetricInfo, Opt, Options, Result, Round, Session,
    TestRegion, random_writes_max, schedule,
};

use search::Search;

/// Default duration in seconds.
const SECONDS: f64 = 150.0;

/// Share of the time for the fill.
const FILL_SHARE: f64 = 0.15;

/// Rest after the fill, seconds, and its maximum share of the time. Newly written data may read
/// faster than data at rest.
const REST_SECONDS: f64 = 10.0;
const REST_SHARE: f64 = 0.08;

/// Offered loads, percent of the closed-loop rate.
const LOADS: [u32; 9] = [10, 25, 50, 70, 80, 90, 95, 100, 110];

/// Rounds of the loads: forwards and backwards.
const ROUNDS: u32 = 2;

/// Halvings in the search for the knee: from a gap of 10% of the load to about 1%.
const KNEE_STEPS: u32 = 3;

/// Halvings in the search for the highest load within a response time: from 15% to about 1%.
const KEPT_STEPS: u32 = 4;

/// Maximum operations in flight: more than any known drive processes at once, so that the drive is
/// the limit, not the queue.
const DEPTH: u32 = 128;

/// A load with writes ends after at most 1/n of the region, to limit the wear on a fast drive.
const WRITE_SHARE: u64 = 4;

/// Upper bound of a drive's operations per second, for the plan.
const FASTEST: f64 = 1e8;

/// The method.
pub(crate) static INFO: MethodInfo = MethodInfo {
    name: "curve",
    summary: "how much load until response times soar",
    about: "Runs random 4 KiB operations (all reads, or --reads PERCENT of them) in a closed loop \
            at depth 128. Then operations arrive at random times at 10, 25, 50, 70, 80, 90, 95, \
            100 and 110% of that rate, whether or not the drive is ready, first in ascending and \
            then in descending order. Response times count from the moment an operation was due. \
            Reports the rate and the response time of each load, and the knee: the highest load \
            that the drive keeps up with, to about 1%. With --p99 TIME it also reports the highest \
            load at which 99 of 100 operations finish within that time.",
    safety: record::Safety::Scratch,
    seconds: SECONDS,
    writes: "a scratch file of up to 1 GiB; with --reads below 100, up to a quarter of it more per \
             measurement",
    options: &[&P99, &READS],
    primary: &[KNEE.name, KEPT.name, "curve-{10,50,90}.{p50,p99}"],
    metrics: &[&[CLOSED, LOAD, RESPONSE, KNEE, KEPT, LIMIT]],
    run,
    answer: answer::answer,
    conclusion: Conclusion::Script,
    provokes: &[record::FindingKind::Overloaded],
    ..MethodInfo::EMPTY
};

const CLOSED: MetricInfo = MetricInfo::iops(
    "curve-closed",
    "closed-loop rate at depth 128, of which the loads are shares",
);
const LOAD: MetricInfo = MetricInfo::iops(
    "curve-{percent}",
    "operations per second completed at an offered load of this share of `curve-closed`",
);
const RESPONSE: MetricInfo = MetricInfo::ns(
    "curve-{percent}.{p50,p99,p99.9,max}",
    "response times at this load, from the moment an operation was due",
);
const KNEE: MetricInfo = MetricInfo::iops(
    "curve-knee",
    "highest load that the drive kept up with; the interval is the resolution of the search",
);
const KEPT: MetricInfo = MetricInfo::iops(
    "curve-kept",
    "highest load whose p99 meets --p99; the interval is the resolution of the search",
);
const LIMIT: MetricInfo = MetricInfo::ns("curve-kept.p99", "the limit of --p99");

/// A response time at a load, percent.
fn response(load: u32, statistic: Statistic) -> MetricKey {
    RESPONSE.member(&[&load, &statistic.name()])
}

static P99: Opt<Option<Duration>> = Opt::value(
    "p99",
    "TIME",
    "maximum response time of 99 in 100 operations, such as 1ms",
    |words| {
        let text = words.first().map_or("", String::as_str);
        let time = parse_duration(text).ok().filter(|time| !time.is_zero());
        time.map(Some).ok_or_else(|| "a time such as 1ms or 500us".into())
    },
    || None,
);

static READS: Opt<u32> = Opt::value(
    "reads",
    "PERCENT",
    "share of reads in the load (default 100)",
    |words| {
        let percent = words.first().and_then(|text| text.trim_end_matches('%').parse().ok());
        percent.filter(|percent| *percent <= 100).ok_or_else(|| "0 to 100".into())
    },
    || 100,
);

fn run(session: &mut Session<'_>, options: &Options) -> Result<()> {
    let mut test_region = TestRegion::new(session.target(), options, SECONDS)?;
    test_region.bytes = session.begin(&test_region, FILL_SHARE * test_region.seconds)?;
    session.rest("rest", REST_SECONDS.min(REST_SHARE * test_region.seconds))?;
    let reads = if test_region.writes { options.get(&READS) } else { 100 };
    let mut loads = Loads::new(test_region, reads, options.get(&P99));
    loads.measure(session)
}

/// The loads and their results.
struct Loads {
    test_region: TestRegion,
    mix: Mix,
    /// Requested maximum p99, nanoseconds.
    limit_ns: Option<u64>,
    rounds: u32,
    /// Seconds of each measurement.
    each: f64,
    /// Operations per second in a closed loop.
    closed: f64,
    points: Vec<Point>,
    /// Measurements so far; each has its own seed.
    count: u32,
}

/// An offered load and its replicates.
struct Point {
    percent: u32,
    /// Operations and seconds of each replicate.
    amounts: Vec<analysis::Amount>,
    latencies: LatencyReplicates,
}

impl Point {
    fn key(&self) -> MetricKey {
        LOAD.member(&[&self.percent])
    }
}

impl Loads {
    fn new(test_region: TestRegion, reads: u32, p99: Option<Duration>) -> Loads {
        let rounds = if test_region.rounds_given { test_region.rounds } else { ROUNDS };
        let points = LOADS.map(|percent| Point {
            percent,
            amounts: Vec::new(),
            latencies: LatencyReplicates::default(),
        });
        let measurements = rounds * (LOADS.len() as u32 + 1) + KNEE_STEPS + KEPT_STEPS;
        let share = 1.0 - FILL_SHARE - REST_SHARE;
        Loads {
            each: share * test_region.seconds / f64::from(measurements),
            mix: Mix::read_percent(reads),
            limit_ns: p99.map(|time| time.as_nanos() as u64),
            test_region,
            rounds,
            closed: 0.0,
            points: points.into(),
            count: 0,
        }
    }

    fn measure(&mut self, session: &mut Session<'_>) -> Result<()> {
        self.closed_loop(session)?;
        session.rounds(self.rounds, None, |session, round| {
            for index in schedule::order(self.points.len(), round) {
                let rate = self.offered(f64::from(self.points[index].percent));
                let name = self.points[index].key().to_string();
                let m = self.open_loop(session, &name, rate, round)?;
                self.points[index].add(&m);
            }
            self.publish(session);
            Ok(Round::Again)
        })?;
        self.search_knee(session)?;
        if self.limit_ns.is_some() {
            self.search_kept(session)?;
        }
        Ok(())
    }

    fn closed_loop(&mut self, session: &mut Session<'_>) -> Result<()> {
        let mut amounts = Vec::new();
        session.rounds(self.rounds, None, |session, round| {
            let w = self.workload(session.target(), CLOSED.name, Pacing::Closed);
            let m = session.probe(&w, round)?;
            amounts.push((operations(&m), m.seconds()));
            session.put_metric(analysis::pooled(CLOSED, CLOSED.unit, &amounts));
            Ok(Round::Again)
        })?;
        let (ops, seconds) = amounts.iter().fold((0.0, 0.0), |(a, b), (c, d)| (a + c, b + d));
        self.closed = session.assume(ops / seconds.max(1e-9), FASTEST);
        match self.closed {
            rate if rate > 0.0 => Ok(()),
            _ => Err(MethodError::Unfinished { part: CLOSED.into() }),
        }
    }

    /// Operations per second at this percentage of the closed-loop rate.
    fn offered(&self, percent: f64) -> f64 {
        (self.closed * percent / 100.0).max(0.001)
    }

    fn workload(&mut self, target: &TargetInfo, name: &str, pacing: Pacing) -> Workload {
        let region = self.test_region.region();
        let small = self.test_region.small;
        let mut w = Workload::new(name, Pattern::Uniform, self.mix, small, region);
        (w.depth, w.pacing) = (DEPTH, pacing);
        w.stop = Stop::after_seconds(self.each);
        if w.mix.changes_data() {
            w.stop.bytes = Some(random_writes_max(target, region.bytes, WRITE_SHARE));
            w.flush_at_end = true;
        }
        w.seed = self.test_region.seed_of(self.count);
        self.count += 1;
        w
    }

    fn open_loop(
        &mut self,
        session: &mut Session<'_>,
        name: &str,
        rate: f64,
        replicate: u32,
    ) -> Result<Measurement> {
        let w = self.workload(session.target(), name, Pacing::Poisson { rate });
        session.probe(&w, replicate)
    }

    fn publish(&self, session: &mut Session<'_>) {
        for point in &self.points {
            let key = point.key();
            let rate = analysis::pooled(&key, LOAD.unit, &point.amounts);
            let metrics = std::iter::once(rate).chain(point.latencies.metrics(&key)).collect();
            session.put_metrics(&key.to_string(), metrics);
            let times = point.latencies.merged().clone();
            session.put_latency(LatencyProfile::new(key, "response", times));
        }
        session.checkpoint();
    }

    /// Finds the knee: between the last load kept up with and the first overload.
    fn search_knee(&mut self, session: &mut Session<'_>) -> Result<()> {
        let loads = self.points.iter().map(|point| {
            let rate = self.offered(f64::from(point.percent));
            let (ops, seconds) =
                point.amounts.iter().fold((0.0, 0.0), |s, a| (s.0 + a.0, s.1 + a.1));
            (point.percent, Some(search::kept_up(rate, ops, seconds)))
        });
        let loads: Vec<_> = loads.collect();
        let search = Search::between(&loads);
        // An overloaded drive completes as much as it can: that rate is the knee itself, and the
        // gap only surrounds it.
        let mut full: Vec<analysis::Amount> = Vec::new();
        for (point, (_, kept)) in self.points.iter().zip(&loads) {
            full.extend(point.amounts.iter().filter(|_| *kept == Some(false)));
        }
        let gap = self.narrow(session, KNEE.name, KNEE_STEPS, search, |_, offered, m| {
            let keeps_up = search::kept_up(offered, operations(m), m.seconds());
            if !keeps_up {
                full.push((operations(m), m.seconds()));
            }
            Some(keeps_up)
        })?;
        let (ops, seconds) = full.iter().fold((0.0, 0.0), |sum, a| (sum.0 + a.0, sum.1 + a.1));
        self.put_found(session, KNEE, gap, (seconds > 0.0).then_some(ops / seconds));
        session.conclude(verdict::verdicts(session.outcome()));
        session.checkpoint();
        Ok(())
    }

    /// Finds the highest load whose 99th percentile stays within the limit.
    fn search_kept(&mut self, session: &mut Session<'_>) -> Result<()> {
        let Some(limit_ns) = self.limit_ns else { return Ok(()) };
        let loads = self.points.iter().map(|point| {
            let latency_ns = point.latencies.merged().percentile(0.99);
            (point.percent, latency_ns.map(|ns| ns <= limit_ns))
        });
        let loads: Vec<_> = loads.collect();
        let search = Search::between(&loads);
        let gap = self.narrow(session, KEPT.name, KEPT_STEPS, search, |_, _, m| {
            responses(m).percentile(0.99).map(|ns| ns <= limit_ns)
        })?;
        session.put(LIMIT, Some(limit_ns as f64));
        self.put_found(session, KEPT, gap, None);
        session.checkpoint();
        Ok(())
    }

    /// Bisects the gap of a search, as one step of the plan.
    fn narrow(
        &mut self,
        session: &mut Session<'_>,
        name: &str,
        steps: u32,
        mut search: Search,
        mut judge: impl FnMut(&Loads, f64, &Measurement) -> Option<bool>,
    ) -> Result<Search> {
        let budget = Budget { seconds: 2.0 * f64::from(steps) * self.each, ..Budget::default() };
        session.budget(name, budget, |session| {
            for step in 0..steps {
                let Some(percent) = session.assume(search.middle(), Some(100.0)) else { break };
                let rate = self.offered(percent);
                let m = self.open_loop(session, name, rate, step)?;
                match judge(self, rate, &m) {
                    Some(kept) => search.narrow(percent, kept),
                    None => break,
                }
            }
            Ok(())
        })?;
        Ok(search)
    }

    /// Publishes the load found, or the middle of the remaining gap. The interval is the gap,
    /// widened to include the load found.
    fn put_found(
        &self,
        session: &mut Session<'_>,
        metric: MetricInfo,
        gap: Search,
        value: Option<f64>,
    ) {
        let Some((low, high)) = gap.gap() else { return };
        let (low, high) = (self.offered(low), self.offered(high));
        let (low, high) = (value.map_or(low, |v| low.min(v)), value.map_or(high, |v| high.max(v)));
        let metric = metric.single(value.unwrap_or((low + high) / 2.0));
        session.put_metric(metric.between(low, high, record::Covers::Resolution));
    }
}

impl Point {
    fn add(&mut self, m: &Measurement) {
        self.amounts.push((operations(m), m.seconds()));
        self.latencies.add(&responses(m));
    }
}

/// Reads and writes completed.
fn operations(m: &Measurement) -> f64 {
    m.transfers().map(|(_, stats)| stats.ops).sum::<u64>() as f64
}

/// Response times of reads and writes together.
fn responses(m: &Measurement) -> record::Histogram {
    let mut merged = record::Histogram::default();
    for (_, stats) in m.transfers() {
        merged.merge(stats.response.as_ref().unwrap_or(&stats.service));
    }
    merged
}
