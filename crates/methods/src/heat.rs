//! `heat`: how warm does the drive get under lasting work, and what does it do then?
//!
//! It is filled, so that no cache is in play, and rests; then it is overwritten in order until its
//! temperature has settled (its slope is under 0.2 C a minute), an hour has passed, or it was written
//! four times over. The rate is read against time and temperature, and again after it has cooled: a
//! rate that falls while the drive is hot and comes back when it is not was heat.

use record::{Finding, FindingKind, Level, Metric, Plan, Unit};
use rig::{Rig, TargetInfo};
use workload::OpKind::Write;
use workload::Workload;

use crate::Outcome;
use crate::method::{Method, MethodError, MethodInfo, Options};
use crate::session::Session;
use crate::verdict::Warmth;
use crate::whole::Whole;

/// Work at most, seconds.
const LOAD_SECONDS: f64 = 3600.0;

/// It is done in laps, behind each of which is asked whether the temperature has settled.
const LAPS: u32 = 60;

/// Rest before, and after.
const REST_SECONDS: f64 = 300.0;

/// Seconds by default.
const SECONDS: f64 = 4500.0;

/// Settled: under so many degrees a minute, over so many laps.
const SETTLED_C_PER_MINUTE: f64 = 0.2;
const SETTLED_LAPS: usize = 5;

/// How often the drive is written over at most.
const PASSES_MOST: f64 = 4.0;

/// The method.
pub(crate) struct HeatMethod;

static INFO: MethodInfo = MethodInfo {
    name: "heat",
    summary: "how warm does it get under lasting work, and does it slow down",
    about: "Fills the drive, so that no cache is in play, lets it cool for five minutes, then \
            overwrites it in order (1 MiB blocks, 8 in flight) until its temperature rises by less \
            than 0.2 C a minute, for an hour at most, or until it was written four times over. \
            Then it cools for five minutes and works for one more. What comes out is the course \
            of rate and temperature, the temperature it settles at, the time until it slowed down \
            for heat, and how fast it is again when it is cool. Compare two runs, with and without \
            a fan.",
    safety: record::Safety::Destroys,
    seconds: SECONDS,
    writes: "the whole drive once, then for at most an hour or four times over",
};

impl Method for HeatMethod {
    fn info(&self) -> &'static MethodInfo {
        &INFO
    }

    fn plan(&self, target: &TargetInfo, options: &Options) -> Result<Plan, MethodError> {
        let whole = Whole::new(&INFO, target, options)?;
        let (lap, last) = (lap(&whole), cooled(&whole));
        let most = (PASSES_MOST * whole.bytes() as f64) as u64;
        let mut load = whole.step(&lap, LAPS);
        // A lap that was begun is ended.
        load.write_bytes_max = load.write_bytes_max.min(most + lap.stop.bytes.unwrap_or(0));
        let rest = || Whole::idle_step("cool", whole.seconds(REST_SECONDS));
        let steps = vec![
            whole.fill_step("fill", whole.bytes()),
            rest(),
            load,
            rest(),
            whole.step(&last, 1),
        ];
        Ok(whole.plan(steps, [&lap, &last]))
    }

    fn run(
        &self,
        rig: &mut dyn Rig,
        options: &Options,
        out: &mut Outcome<'_>,
    ) -> Result<(), MethodError> {
        let whole = Whole::new(&INFO, rig.target(), options)?;
        Session::hold(rig, out, |session| measure(session, &whole))
    }
}

fn measure(session: &mut Session<'_, '_>, whole: &Whole) -> Result<(), MethodError> {
    session.checks.warmth = Some(Warmth::default());
    session.fill_region(whole, "fill", whole.ground.region())?;
    session.rest("cool", whole.seconds(REST_SECONDS))?;
    let mut warmth = Warmth::default();
    let (mut written, lap) = (0.0, lap(whole));
    for round in 0..LAPS {
        let w = resumed(whole, &lap, written as u64);
        let course = session.course(&w, round)?;
        written += course.bytes();
        warmth.add(&course);
        put(session, &warmth);
        session.checks.warmth = Some(warmth.clone());
        session.checkpoint();
        let minutes = lap_seconds(whole) / 60.0;
        let settled =
            warmth.slope(SETTLED_LAPS).is_some_and(|c| c.abs() / minutes < SETTLED_C_PER_MINUTE);
        warmth.settled = settled;
        if settled || written >= PASSES_MOST * whole.bytes() as f64 {
            break;
        }
    }
    if !warmth.settled {
        session.out.note(unsettled(&warmth));
    }
    session.rest("cool", whole.seconds(REST_SECONDS))?;
    let course = session.course(&cooled(whole), 0)?;
    warmth.cooled = course.average();
    put(session, &warmth);
    session.checks.warmth = Some(warmth);
    Ok(())
}

fn lap_seconds(whole: &Whole) -> f64 {
    whole.seconds(LOAD_SECONDS) / f64::from(LAPS)
}

fn lap(whole: &Whole) -> Workload {
    load(whole, "heat-load")
}

fn cooled(whole: &Whole) -> Workload {
    load(whole, "heat-cooled")
}

fn load(whole: &Whole, name: &str) -> Workload {
    let w = whole.timed(whole.pass(name, Write, 6), lap_seconds(whole));
    let most = w.stop.bytes.map(|bytes| bytes.min(whole.bytes()));
    Workload { stop: workload::Stop { bytes: most, ..w.stop }, ..w }
}

/// The lap from where the one before ended, so that no address is written much more than another.
fn resumed(whole: &Whole, lap: &Workload, written: u64) -> Workload {
    let large = u64::from(whole.ground.large);
    let start = written % whole.bytes() / large * large;
    let mut w = lap.clone();
    // Near the end it begins anew; a lap in a short rest would wrap again and again.
    let rest = whole.bytes() - start;
    w.region.start = if rest >= whole.bytes() / 4 { start } else { 0 };
    w.region.bytes = whole.bytes() - w.region.start;
    w
}

fn put(session: &mut Session<'_, '_>, warmth: &Warmth) {
    let mut put = |name: &str, unit, value: Option<f64>| {
        let metric = value.map(|v| Metric::single(name, unit, v));
        metric.into_iter().for_each(|m| session.out.put_metric(m));
    };
    put("heat-load", Unit::BytesPerSecond, warmth.average());
    put("heat-load.cold", Unit::BytesPerSecond, warmth.cold());
    put("heat-load.hot", Unit::BytesPerSecond, warmth.hot());
    put("heat-load.start", Unit::Celsius, warmth.start_c());
    put("heat-load.hottest", Unit::Celsius, warmth.hottest());
    put("heat-load.end", Unit::Celsius, warmth.end_c());
    put("heat-load.time-to-throttle", Unit::Nanoseconds, warmth.throttled_after().map(|s| s * 1e9));
    put("heat-cooled", Unit::BytesPerSecond, warmth.cooled);
}

fn unsettled(warmth: &Warmth) -> Finding {
    let text = match warmth.end_c() {
        Some(c) => format!("the temperature had not settled when the work ended, at {c:.1} C"),
        None => "the drive has no temperature sensor: only its rate was watched".to_string(),
    };
    Finding::new(FindingKind::NotSettled, Level::Note, text)
}
