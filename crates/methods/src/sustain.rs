//! `sustain`: how long does the rated speed last (the experiment of bare-metal NVMe recording)?
//!
//! Unique data are written sequentially over all addresses, once after everything was discarded and
//! once over the full drive. The first pass shows the cache and its end, the second the sustained
//! rate. A ladder of rests, each followed by a burst, then shows how fast the cache is regained.
//! The size of the cache comes from the measured time series alone.
//! the cache is found in the measured course alone.

use record::{Metric, Unit};
use workload::OpKind::Write;
use workload::Workload;

use crate::session::Session;
use crate::verdict::Sustained;
use crate::whole::course::Course;
use crate::whole::{Whole, time_tight};
use crate::{Method, MethodError, MethodInfo, Options};

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
    summary: "how long does the speed last: cache, its end, full drive, rest",
    about: "Discards the whole drive, then writes unique data in order over all addresses (1 MiB \
            blocks, 8 in flight), and once more over the full drive. From the course of the first \
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
    answer: crate::answer::sustain,
    ..MethodInfo::EMPTY
};

impl Method for Sustain {
    fn info(&self) -> &'static MethodInfo {
        &INFO
    }

    fn run(&self, session: &mut Session<'_>, options: &Options) -> Result<(), MethodError> {
        session.declare(&INFO);
        let whole = Whole::new(&INFO, session.target(), options)?;
        measure(session, &whole)
    }
}

fn measure(session: &mut Session<'_>, whole: &Whole) -> Result<(), MethodError> {
    let [fresh, full] = passes(whole);
    session.discard(whole, "discard", whole.everything)?;
    let course = session.course(&fresh, 0)?;
    let mut found = Sustained::of(&course);
    put_cache(session, &found);
    put_course(session, &fresh.name, &course);
    session.checks.sustained = Some(found.clone());
    session.checkpoint();

    let course = session.course(&full, 0)?;
    put_course(session, &full.name, &course);
    found.overwriting = course.average();
    found.add_heat(&course);
    put_undershoot(session, &found);
    session.checks.sustained = Some(found.clone());
    session.checkpoint();
    ladder(session, whole, &found)
}

/// One pass over the discarded drive, one over the full one.
fn passes(whole: &Whole) -> [Workload; 2] {
    [("sustain-fresh", 0), ("sustain-full", 1)].map(|(name, index)| whole.pass(name, Write, index))
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
            session.course(&drain, 0)?;
        } else {
            session.skip(&drain.name);
        }
    } else {
        session.skip("discard-again");
        session.skip(&drain.name);
    }
    for (usual, burst) in LADDER.into_iter().zip(bursts) {
        session.rest(&rest_name(whole, usual), whole.seconds(usual))?;
        let course = session.course(&burst, 0)?;
        let rate = course.average().unwrap_or(0.0);
        session.out.put_metric(Metric::single(&burst.name, Unit::BytesPerSecond, rate));
        if let Some(back) = found.recovered(&course) {
            let name = format!("{}.cache", burst.name);
            session.out.put_metric(Metric::single(name, Unit::Bytes, back));
        }
        session.checkpoint();
    }
    Ok(())
}

/// The burst that uses up the cache and those of the ladder, each at a different place on the
/// drive.
fn bursts(whole: &Whole, bytes: f64) -> [Workload; LADDER.len() + 1] {
    let large = u64::from(whole.ground.large);
    let most = BURST_SHARE_MOST * whole.bytes() as f64;
    let bytes = (bytes.min(most) as u64 / large).max(1) * large;
    std::array::from_fn(|i| {
        let rest = i.checked_sub(1).map(|i| time_tight(whole.seconds(LADDER[i])));
        let name = rest.map_or("sustain-drain".into(), |rest| format!("sustain-idle-{rest}"));
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

fn put_course(session: &mut Session<'_>, name: &str, course: &Course) {
    let mut put = |end: &str, unit, value: Option<f64>| {
        let metric = value.map(|v| Metric::single(format!("{name}.{end}"), unit, v));
        metric.into_iter().for_each(|m| session.out.put_metric(m));
    };
    put("average", Unit::BytesPerSecond, course.average());
    put("worst-1%", Unit::BytesPerSecond, course.slowest(WORST));
    put("hottest", Unit::Celsius, course.hottest());
}

/// Publishes the cache size, with the interval of its end.
fn put_cache(session: &mut Session<'_>, found: &Sustained) {
    let Some(cache) = found.cache else { return };
    let size = Metric::single("sustain-fresh.cache", Unit::Bytes, cache.bytes);
    let (low, high) = (Some(cache.low), Some(cache.high));
    session.out.put_metric(Metric { low, high, ..size });
    let [inside, after] = [("inside", cache.before), ("after", cache.after)].map(|(end, rate)| {
        Metric::single(format!("sustain-fresh.{end}"), Unit::BytesPerSecond, rate)
    });
    session.out.put_metric(inside);
    session.out.put_metric(after);
}

/// Publishes how far the rate after the cache is below the overwrite rate.
fn put_undershoot(session: &mut Session<'_>, found: &Sustained) {
    if let Some(ratio) = found.undershoot() {
        let name = "sustain-fresh.undershoot";
        session.out.put_metric(Metric::single(name, Unit::Number, ratio));
    }
}
