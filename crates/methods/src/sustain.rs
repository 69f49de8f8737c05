//! `sustain`: how long does the rated speed last (the experiment of bare-metal NVMe recording)?
//!
//! Unique data are written sequentially over all addresses, once after everything was discarded and
//! once over the full drive. The first pass shows the cache and its end, the second the sustained
//! rate. A ladder of rests, each followed by a burst, then shows how fast the cache is regained.
//! The size of the cache comes from the measured time series alone.

use record::{Covers, Metric, MetricKey, Statistic, Unit};
use workload::OpKind::Write;
use workload::Workload;

use crate::names::{SUSTAIN_FRESH as FRESH, SUSTAIN_FULL as FULL};
use crate::session::Session;
use crate::verdict::Sustained;
use crate::whole::time_series::TimeSeries;
use crate::whole::{Whole, time_tight};
use crate::{Method, MethodError, MethodInfo, MetricInfo, Options};

/// Default duration in seconds, for two passes over a terabyte at 1 GB/s; the ladder alone takes
/// 1290.
const SECONDS: f64 = 3300.0;

/// Rests before a burst, seconds.
const LADDER: [f64; 4] = [30.0, 60.0, 300.0, 900.0];

/// A burst is larger than the cache, so that its end shows how much of it was free, but small
/// enough that four of them do not wear the drive. Shares of the drive without a cache, and at
/// most.
const BURST_OVER_CACHE: f64 = 1.25;
const BURST_SHARE: f64 = 0.02;
const BURST_SHARE_MOST: f64 = 0.25;

/// Window of the slowest stretch, as a share of the drive.
const WORST: f64 = 0.01;

/// The method.
pub(crate) struct Sustain;

static INFO: MethodInfo = MethodInfo {
    name: "sustain",
    summary: "how long does the speed last",
    about: "Discards the whole drive, then writes unique data in order over all addresses (1 MiB \
            blocks, 8 in flight), and once more over the full drive. From the time series of the first \
            pass come the size of the cache with an interval, the speed inside and after it, how \
            far it dips below overwriting, the slowest hundredth and the average; from the second \
            what the drive holds for good. Where there was a cache it is then used up again on \
            the discarded drive. Then the drive rests for 30, 60, 300 and 900 seconds, with a \
            burst behind each that shows how much of the cache came back. Takes as long as the \
            drive needs to be written twice, and 22 minutes of rest: --time shortens the rests, \
            --size the writes.",
    safety: record::Safety::Destroys,
    seconds: SECONDS,
    writes: "the whole drive twice, then five bursts of at most a quarter of it",
    primary: &[
        "sustain-fresh.cache",
        "sustain-fresh.{inside,after}",
        "sustain-{fresh,full}.{average,worst-1%}",
    ],
    metrics: &[&METRICS],
    answer: crate::answer::sustain,
    ..MethodInfo::EMPTY
};

const METRICS: [MetricInfo; 8] = [
    MetricInfo::new(
        "sustain-fresh.cache",
        Unit::Bytes,
        "written before the rate fell for the first time, with the interval of that place; absent \
         if it never fell",
    ),
    MetricInfo::new(
        "sustain-fresh.{inside,after}",
        Unit::BytesPerSecond,
        "before the fall, and from the fall to the next change",
    ),
    MetricInfo::new(
        "sustain-fresh.undershoot",
        Unit::Number,
        "`.after` over the average of overwriting; below 1 the drive dips",
    ),
    MetricInfo::new(
        "sustain-{fresh,full}.average",
        Unit::BytesPerSecond,
        "the whole pass over the discarded drive, over the full drive",
    ),
    MetricInfo::new(
        "sustain-{fresh,full}.worst-1%",
        Unit::BytesPerSecond,
        "the slowest window of a hundredth of the pass",
    ),
    MetricInfo::new(
        "sustain-{fresh,full}.hottest",
        Unit::Celsius,
        "highest temperature in the pass",
    ),
    MetricInfo::new(
        "sustain-idle-{time}",
        Unit::BytesPerSecond,
        "a burst after a rest of that length, on the discarded drive if it has a cache",
    ),
    MetricInfo::new(
        "sustain-idle-{time}.cache",
        Unit::Bytes,
        "part of the burst written at the speed of the cache",
    ),
];

impl Method for Sustain {
    fn info(&self) -> &'static MethodInfo {
        &INFO
    }

    fn run(&self, session: &mut Session<'_>, options: &Options) -> Result<(), MethodError> {
        let whole = Whole::new(&INFO, session.target(), options)?;
        measure(session, &whole)
    }
}

fn measure(session: &mut Session<'_>, whole: &Whole) -> Result<(), MethodError> {
    let [fresh, full] = passes(whole);
    session.discard(whole, "discard", whole.everything)?;
    let series = session.measure_over_time(&fresh, 0)?;
    let mut found = Sustained::of(&series);
    put_cache(session, &found);
    put_series(session, &fresh.name, &series);
    session.checks.sustained = Some(found.clone());
    session.checkpoint();

    let series = session.measure_over_time(&full, 0)?;
    put_series(session, &full.name, &series);
    found.overwriting = series.average();
    found.add_heat(&series);
    put_undershoot(session, &found);
    session.checks.sustained = Some(found.clone());
    session.checkpoint();
    ladder(session, whole, &found)
}

/// One pass over the discarded drive, one over the full one.
fn passes(whole: &Whole) -> [Workload; 2] {
    [(FRESH, 0), (FULL, 1)].map(|(name, index)| whole.pass(name, Write, index))
}

/// Rests, each followed by a burst. A full drive has little space for a cache, so if there was one,
/// the drive is discarded again and a first burst uses up the cache.
fn ladder(session: &mut Session<'_>, whole: &Whole, found: &Sustained) -> Result<(), MethodError> {
    let share = BURST_SHARE * whole.bytes() as f64;
    let bytes = found.cache.map_or(share, |c| c.bytes * BURST_OVER_CACHE);
    let bytes = session.assume(bytes, BURST_SHARE_MOST * whole.bytes() as f64);
    let [drain, bursts @ ..] = bursts(whole, bytes);
    if session.assume(found.cache.is_some(), true) {
        if session.discard(whole, "discard-again", whole.everything)? {
            session.measure_over_time(&drain, 0)?;
        } else {
            session.skip(&drain.name);
        }
    } else {
        session.skip("discard-again");
        session.skip(&drain.name);
    }
    for (usual, burst) in LADDER.into_iter().zip(bursts) {
        session.rest(&rest_name(whole, usual), whole.seconds(usual))?;
        let series = session.measure_over_time(&burst, 0)?;
        let rate = series.average().unwrap_or(0.0);
        session.put(MetricKey::of(&burst), Unit::BytesPerSecond, Some(rate));
        let cache = MetricKey::of(&burst).with(Statistic::Cache);
        session.put(cache, Unit::Bytes, found.recovered(&series));
        session.checkpoint();
    }
    Ok(())
}

/// The burst that uses up the cache and those of the ladder, each at a different place on the
/// drive.
fn bursts(whole: &Whole, bytes: f64) -> [Workload; LADDER.len() + 1] {
    let large = u64::from(whole.test_region.large);
    let most = BURST_SHARE_MOST * whole.bytes() as f64;
    let bytes = (bytes.min(most) as u64 / large).max(1) * large;
    std::array::from_fn(|i| {
        let rest = i.checked_sub(1).map(|i| time_tight(whole.seconds(LADDER[i])));
        let idle = |rest: String| MetricKey::of_words(&[&"sustain-idle", &rest]).to_string();
        let name = rest.map_or("sustain-drain".into(), idle);
        let mut w = whole.pass(&name, Write, 2 + i as u32);
        w.region.start = i as u64 * (whole.bytes() - bytes) / LADDER.len() as u64 / large * large;
        w.region.bytes = bytes;
        w.stop.bytes = Some(bytes);
        w
    })
}

fn rest_name(whole: &Whole, usual: f64) -> String {
    format!("rest-{}", time_tight(whole.seconds(usual)))
}

fn put_series(session: &mut Session<'_>, name: &str, series: &TimeSeries) {
    let of = |statistic| MetricKey::parse(name).with(statistic);
    session.put(of(Statistic::Average), Unit::BytesPerSecond, series.average());
    session.put(of(Statistic::WorstPercent), Unit::BytesPerSecond, series.slowest(WORST));
    session.put(of(Statistic::Hottest), Unit::Celsius, series.hottest());
}

/// Publishes the cache size, with the interval of its end.
fn put_cache(session: &mut Session<'_>, found: &Sustained) {
    let Some(cache) = found.cache else { return };
    let size = Metric::single(of_fresh(Statistic::Cache), Unit::Bytes, cache.bytes);
    let (low, high) = (Some(cache.low), Some(cache.high));
    session.out.put_metric(Metric { low, high, covers: Some(Covers::Mean), ..size });
    session.put(of_fresh(Statistic::Inside), Unit::BytesPerSecond, Some(cache.before));
    session.put(of_fresh(Statistic::After), Unit::BytesPerSecond, Some(cache.after));
}

/// Publishes how far the rate after the cache is below the overwrite rate.
fn put_undershoot(session: &mut Session<'_>, found: &Sustained) {
    session.put(of_fresh(Statistic::Undershoot), Unit::Number, found.undershoot());
}

fn of_fresh(statistic: Statistic) -> MetricKey {
    MetricKey::parse(FRESH).with(statistic)
}
