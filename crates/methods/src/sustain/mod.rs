//! `sustain`: how long does the rated speed last (the experiment of bare-metal NVMe recording)?
//!
//! The first pass shows the cache and its end, the second the sustained rate, a ladder of rests how
//! fast the cache recovers. The size of the cache is derived only from the measured time series.

mod answer;

use record::{Covers, MetricKey, Statistic, Unit};
use workload::OpKind::Write;
use workload::Workload;

use crate::names::{SUSTAIN_FRESH as FRESH, SUSTAIN_FULL as FULL};
use rules::Sustained;
use rules::time_series::TimeSeries;
use script::whole::{FILE_BYTES, Whole, time_tight};
use script::{Common, MethodInfo, MetricInfo, Options, Result, ScratchUse, Session};

/// Default duration in seconds, for two passes over a terabyte at 1 GB/s; the ladder alone takes
/// 1290.
const SECONDS: f64 = 3300.0;

/// Rests before a burst, seconds.
const LADDER: [f64; 4] = [30.0, 60.0, 300.0, 900.0];

/// A burst is larger than the cache, to show how much of it was free, but small enough that eight
/// of them do not wear the drive. Multiple of the cache; share of the drive if there is no cache;
/// maximum share of the drive.
const BURST_OVER_CACHE: f64 = 1.25;
const BURST_SHARE: f64 = 0.02;
const BURST_SHARE_MAX: f64 = 0.25;

/// Window of the slowest stretch, as a share of the drive.
const WORST: f64 = 0.01;

/// What a file hides.
const HIDDEN: &str = "the drive was not discarded first, so part of its cache may have been in use, \
                      and a cache that uses free space is smaller on a fuller drive";

/// The method.
pub(crate) static INFO: MethodInfo = MethodInfo {
    name: "sustain",
    summary: "how long does the speed last",
    about: "Discards the whole drive, then writes unique data sequentially over all addresses (1 \
            MiB blocks at depth 8), and once more over the full drive. The time series of the \
            first pass gives the size of the cache with an interval, the speed inside and after \
            it, how far it dips below overwriting, the slowest hundredth and the average; the \
            second pass gives the sustained rate. Then the drive rests for 30, 60, 300 and 900 \
            seconds; a burst after each rest shows how much of the cache came back. If there was a \
            cache, the drive is discarded and the cache used up before each rest. Takes as long as \
            the drive needs to be written twice, plus 22 minutes of rest: --time shortens the \
            rests, --size the writes. In a directory, it writes a scratch file once, of --size or as \
            large as its budget of writes allows: the smallest of the free space, 100 GB and a \
            thousandth of the drive's life, or 4 GB if its life is unknown.",
    safety: record::Safety::Destroys,
    seconds: SECONDS,
    protocol: 2,
    writes: "the whole drive twice, then eight bursts of at most a quarter of it; in a directory one \
             file, at most 100 GB",
    scratch: ScratchUse::passes(1.0),
    ignores: &[Common::Replicates],
    primary: &[CACHE.name, LEVELS.name, "sustain-{fresh,full}.{average,worst-1%}"],
    metrics: &[&[
        CACHE,
        LEVELS,
        LAST_TENTH,
        UNDERSHOOT,
        AVERAGE,
        WORST_PERCENT,
        HOTTEST,
        BURST,
        RECOVERED,
        FILE_BYTES,
    ]],
    run,
    answer: answer::answer,
    ..MethodInfo::EMPTY
};

const CACHE: MetricInfo = MetricInfo::bytes(
    "sustain-fresh.cache",
    "written before the rate first fell, with an interval; absent if it never fell",
);
const LEVELS: MetricInfo = MetricInfo::rate(
    "sustain-fresh.{inside,after}",
    "before the fall, and from the fall to the next change",
);
const LAST_TENTH: MetricInfo =
    MetricInfo::rate("sustain-fresh.last-tenth", "the last tenth of the pass");
const UNDERSHOOT: MetricInfo = MetricInfo::number(
    "sustain-fresh.undershoot",
    "`.after` over the average of overwriting; below 1 the drive dips",
);
const AVERAGE: MetricInfo = MetricInfo::rate(
    "sustain-{fresh,full}.average",
    "the whole pass over the discarded drive, over the full drive",
);
const WORST_PERCENT: MetricInfo =
    MetricInfo::rate("sustain-{fresh,full}.worst-1%", "the slowest hundredth of the pass");
const HOTTEST: MetricInfo = MetricInfo::new(
    "sustain-{fresh,full}.hottest",
    Unit::Celsius,
    "highest temperature in the pass",
);
const BURST: MetricInfo = MetricInfo::rate(
    "sustain-idle-{time}",
    "a burst after a rest of this length, on the discarded drive if it has a cache",
);
const RECOVERED: MetricInfo = MetricInfo::bytes(
    "sustain-idle-{time}.cache",
    "part of the burst written at the speed of the cache",
);
const INSIDE: MetricInfo = LEVELS.named("sustain-fresh.inside");
const AFTER: MetricInfo = LEVELS.named("sustain-fresh.after");

fn run(session: &mut Session<'_>, options: &Options) -> Result<()> {
    let whole = Whole::new(&INFO, session.target(), options)?;
    let [fresh, full] = passes(&whole);
    session.note_file(&whole, HIDDEN);
    if !whole.in_file {
        session.discard(&whole, "discard", whole.everything)?;
    }
    let series = session.measure_over_time(&fresh, 0)?;
    let mut sustained = Sustained { in_file: whole.in_file, ..Sustained::from_series(&series) };
    put_cache(session, &sustained);
    put_series(session, &fresh.name, &series);
    session.put(LAST_TENTH, series.rate_between(0.9 * series.bytes(), series.bytes()));
    session.checks_mut().put(sustained.clone());
    session.checkpoint();
    // To overwrite a file is not to overwrite a full drive, and the bursts would exceed the budget.
    if whole.in_file {
        return Ok(());
    }

    let series = session.measure_over_time(&full, 0)?;
    put_series(session, &full.name, &series);
    sustained.overwriting = series.average();
    sustained.add_heat(&series);
    session.put(UNDERSHOOT, sustained.undershoot());
    session.checks_mut().put(sustained.clone());
    session.checkpoint();
    ladder(session, &whole, &sustained)
}

/// One pass over the discarded drive, one over the full one.
fn passes(whole: &Whole) -> [Workload; 2] {
    [(FRESH, 0), (FULL, 1)].map(|(name, index)| whole.pass(name, Write, index))
}

/// Rests, each followed by a burst. A full drive has little space for a cache, and one that grows
/// with the free space shrinks with every burst. So if there was a cache, each rest begins in the
/// same state: the drive is discarded again and a burst uses up the cache.
fn ladder(session: &mut Session<'_>, whole: &Whole, found: &Sustained) -> Result<()> {
    let share = BURST_SHARE * whole.bytes() as f64;
    let bytes = found.cache.map_or(share, |c| c.bytes * BURST_OVER_CACHE);
    let bytes = session.assume(bytes, BURST_SHARE_MAX * whole.bytes() as f64);
    for (i, usual) in LADDER.into_iter().enumerate() {
        let rung = Rung::new(whole, i, usual, bytes);
        if !session.assume(found.cache.is_some(), true) {
            session.skip(&rung.discard);
            session.skip(&rung.drain.name);
        } else if session.discard(whole, &rung.discard, whole.everything)? {
            session.measure_over_time(&rung.drain, 0)?;
        } else {
            session.skip(&rung.drain.name);
        }
        session.rest(&rung.rest, whole.seconds(usual))?;
        let series = session.measure_over_time(&rung.burst, 0)?;
        let rate = series.average().unwrap_or(0.0);
        let key = MetricKey::from_workload(&rung.burst);
        session.put_value(key.clone(), BURST.unit, Some(rate));
        session.put_value(key.with(Statistic::Cache), RECOVERED.unit, found.recovered(&series));
        session.checkpoint();
    }
    Ok(())
}

/// One rest of the ladder: the burst that uses up the cache, the rest, and the burst that shows how
/// much of the cache came back.
struct Rung {
    discard: String,
    drain: Workload,
    rest: String,
    burst: Workload,
}

impl Rung {
    /// The two bursts are in different halves of the drive, at a different place for each rung.
    fn new(whole: &Whole, i: usize, usual: f64, bytes: f64) -> Rung {
        let large = u64::from(whole.test_region.large);
        let most = BURST_SHARE_MAX * whole.bytes() as f64;
        let bytes = (bytes.min(most) as u64 / large).max(1) * large;
        let half = whole.bytes() / 2;
        let place = i as u64 * half.saturating_sub(bytes) / LADDER.len() as u64;
        let rest = time_tight(whole.seconds(usual));
        let burst = |name: String, start: u64, index: usize| {
            let mut w = whole.pass(&name, Write, index as u32);
            w.region.start = start / large * large;
            w.region.bytes = bytes;
            w.stop.bytes = Some(bytes);
            w
        };
        Rung {
            discard: format!("discard-{rest}"),
            drain: burst(format!("sustain-drain-{rest}"), place, 2 + 2 * i),
            burst: burst(BURST.member(&[&rest]).into(), half + place, 3 + 2 * i),
            rest: format!("rest-{rest}"),
        }
    }
}

fn put_series(session: &mut Session<'_>, name: &str, series: &TimeSeries) {
    session.put_value(key(name, Statistic::Average), AVERAGE.unit, series.average());
    session.put_value(
        key(name, Statistic::WorstPercent),
        WORST_PERCENT.unit,
        series.slowest(WORST),
    );
    session.put_value(key(name, Statistic::Hottest), HOTTEST.unit, series.hottest());
}

/// Publishes the cache size, with the interval of its end.
fn put_cache(session: &mut Session<'_>, found: &Sustained) {
    let Some(cache) = found.cache else { return };
    let size = CACHE.single(cache.bytes);
    session.put_metric(size.between(cache.low, cache.high, Covers::Mean));
    session.put(INSIDE, Some(cache.before));
    session.put(AFTER, Some(cache.after));
}

/// A figure of a pass.
fn key(pass: &str, statistic: Statistic) -> MetricKey {
    MetricKey::parse(pass).with(statistic)
}
