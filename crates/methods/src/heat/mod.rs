//! `heat`: how warm does the drive get under sustained load, and how does it react?
//!
//! The drive is filled first, so that no cache interferes. A rate that falls while the drive is hot
//! and recovers after cooling was throttled by heat; one that does not recover fell for another
//! reason.

mod answer;

use record::{Finding, FindingKind, Level, Unit};
use workload::OpKind::Write;
use workload::{Stop, Workload};

use rules::HeatLoad;
use rules::time_series::TimeSeries;
use script::whole::{FILE_BYTES, Whole};
use script::{Budget, Common, MethodInfo, MetricInfo, Options, Result, Round, ScratchUse, Session};

/// Maximum duration of the load, seconds.
const LOAD_SECONDS: f64 = 3600.0;

/// Number of laps; after each, the temperature is checked for settling.
const LAPS: u32 = 60;

/// Rest before and after, seconds.
const REST_SECONDS: f64 = 300.0;

/// Default duration in seconds.
const SECONDS: f64 = 4500.0;

/// The temperature has settled at a slope below this many degrees per minute, over this many laps.
const SETTLED_C_PER_MINUTE: f64 = 0.2;
const SETTLED_LAPS: usize = 5;

/// Maximum passes over the drive.
const PASSES_MAX: f64 = 4.0;

/// What a file hides.
const HIDDEN: &str = "its budget of writes may end the load before the drive is warm, and a cache \
                      may end during it";

/// Budget of the load over the time of its laps, to allow for their flushes.
const LOAD_SLACK: f64 = 1.1;

/// The method.
pub(crate) static INFO: MethodInfo = MethodInfo {
    name: "heat",
    summary: "how warm does it get, does it slow down",
    about: "Fills the drive, so that no cache interferes, lets it cool for five minutes, then \
            overwrites it sequentially (1 MiB blocks at depth 8) until its temperature changes by \
            less than 0.2 C per minute, but for at most one hour or four drive writes. The drive \
            then cools for five minutes and is written for one more. Reports the time series of \
            rate and temperature, the temperature at which it settles, the time until heat slows \
            it down, and its rate after cooling. Compare two runs, with and without a fan. In a \
            directory, a scratch file takes the place of the drive, and its size ends the load.",
    safety: record::Safety::Destroys,
    seconds: SECONDS,
    writes: "the whole drive once, then for at most an hour or four times over; in a directory at \
             most 100 GB",
    // The fill, the load, and one lap once cooled.
    scratch: ScratchUse::passes(1.0 + PASSES_MAX + 1.0),
    ignores: &[Common::Replicates],
    primary: &[LOAD.name, HALVES.name, COOLED.name],
    metrics: &[&[LOAD, HALVES, TEMPERATURES, TIME_TO_THROTTLE, COOLED, FILE_BYTES]],
    run,
    answer: answer::answer,
    ..MethodInfo::EMPTY
};

const LOAD: MetricInfo = MetricInfo::rate("heat-load", "the whole load");
const HALVES: MetricInfo =
    MetricInfo::rate("heat-load.{cold,hot}", "first minutes of the load, last minutes");
const TEMPERATURES: MetricInfo = MetricInfo::new(
    "heat-load.{start,hottest,end}",
    Unit::Celsius,
    "temperature at the start of the load, highest, at the end",
);
const TIME_TO_THROTTLE: MetricInfo = MetricInfo::ns(
    "heat-load.time-to-throttle",
    "load until the rate fell for good; absent if it did not",
);
const COOLED: MetricInfo =
    MetricInfo::rate("heat-cooled", "load after the drive has cooled, before its first change");
const COLD: MetricInfo = HALVES.named("heat-load.cold");
const HOT: MetricInfo = HALVES.named("heat-load.hot");
const START: MetricInfo = TEMPERATURES.named("heat-load.start");
const HOTTEST: MetricInfo = TEMPERATURES.named("heat-load.hottest");
const END: MetricInfo = TEMPERATURES.named("heat-load.end");

fn run(session: &mut Session<'_>, options: &Options) -> Result<()> {
    let whole = Whole::new(&INFO, session.target(), options)?;
    session.note_file(&whole, HIDDEN);
    let mut heat_load = HeatLoad::default();
    heat_load.in_file = whole.in_file;
    session.checks_mut().put(heat_load.clone());
    session.fill_region(&whole, "fill", whole.test_region.region())?;
    session.rest("cool", whole.seconds(REST_SECONDS))?;
    let bytes = (PASSES_MAX * whole.bytes() as f64) as u64;
    let seconds = whole.seconds(LOAD_SECONDS) * LOAD_SLACK;
    let budget = Budget { seconds, bytes, ..Budget::default() };
    session
        .budget(LOAD.name, budget, |session| load_until_settled(session, &whole, &mut heat_load))?;
    if !heat_load.settled {
        session.note(unsettled(&heat_load));
    }
    session.rest("cool", whole.seconds(REST_SECONDS))?;
    let series = session.measure_over_time(&load(&whole, COOLED.name), 0)?;
    heat_load.cooled = first_rate(&series);
    put(session, &heat_load);
    session.checks_mut().put(heat_load);
    Ok(())
}

/// The rate of a load before its first change: a drive that has cooled may throttle again within
/// the minute.
fn first_rate(series: &TimeSeries) -> Option<f64> {
    let rates = series.rates_over_time(series.seconds().ceil() as usize);
    let first = analysis::steps(&rates).pieces.first().copied()?;
    Some(analysis::mean(&rates[first.start..first.end])).filter(|rate| *rate > 0.0)
}

/// Runs laps until the temperature has settled or the budget is used up.
fn load_until_settled(
    session: &mut Session<'_>,
    whole: &Whole,
    heat_load: &mut HeatLoad,
) -> Result<()> {
    let lap = load(whole, LOAD.name);
    let minutes = lap_seconds(whole) / 60.0;
    let mut written_bytes = 0.0;
    session.rounds(LAPS, None, |session, round| {
        let series =
            session.measure_over_time(&resumed(whole, &lap, written_bytes as u64), round)?;
        written_bytes += series.bytes();
        heat_load.add(&series);
        put(session, heat_load);
        session.checks_mut().put(heat_load.clone());
        session.checkpoint();
        let slope = heat_load.slope(SETTLED_LAPS);
        heat_load.settled = slope.is_some_and(|c| c.abs() / minutes < SETTLED_C_PER_MINUTE);
        Ok(Round::settled_if(heat_load.settled))
    })?;
    Ok(())
}

fn lap_seconds(whole: &Whole) -> f64 {
    whole.seconds(LOAD_SECONDS) / f64::from(LAPS)
}

fn load(whole: &Whole, name: &str) -> Workload {
    let w = whole.timed(whole.pass(name, Write, 6), lap_seconds(whole));
    Workload { stop: Stop { bytes: Some(whole.bytes()), ..w.stop }, ..w }
}

/// A lap that continues where the previous one ended, so that all addresses are written about
/// equally often.
fn resumed(whole: &Whole, lap: &Workload, written: u64) -> Workload {
    let large = u64::from(whole.test_region.large);
    let start = written % whole.bytes() / large * large;
    let mut w = lap.clone();
    // Near the end it restarts at the beginning; a lap in a short remainder would wrap many times.
    let rest = whole.bytes() - start;
    w.region.start = if rest >= whole.bytes() / 4 { start } else { 0 };
    w.region.bytes = whole.bytes() - w.region.start;
    w
}

fn put(session: &mut Session<'_>, heat_load: &HeatLoad) {
    session.put(LOAD, heat_load.average());
    session.put(COLD, heat_load.cold());
    session.put(HOT, heat_load.hot());
    session.put(START, heat_load.start_c());
    session.put(HOTTEST, heat_load.hottest());
    session.put(END, heat_load.end_c());
    session.put(TIME_TO_THROTTLE, heat_load.throttled_after().map(|seconds| seconds * 1e9));
    session.put(COOLED, heat_load.cooled);
}

fn unsettled(heat_load: &HeatLoad) -> Finding {
    let text = match heat_load.end_c() {
        Some(c) => format!("the temperature had not settled when the load ended, at {c:.1} C"),
        None => "the drive has no temperature sensor: only its rate was recorded".to_string(),
    };
    Finding::new(FindingKind::NotSettled, Level::Note, text)
}
