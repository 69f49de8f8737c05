//! Repeats the work of a record on a virtual drive, without a record of its own.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use engine::Simulator;
use model::DriveSpec;
use record::{Health, Metric, Order, Run, Series, State, Statistic, TargetKind, Unit};
use rig::Event;
use script::{Common, Options, Session};
use workload::{OpKind, units};

use crate::beside;
use crate::error::{LabError, Result};
use crate::work::{self, Work};

/// The work of a record.
pub(crate) struct Repeat {
    method: String,
    options: Options,
    state: State,
    interrupt: Arc<AtomicBool>,
    /// What the record does not say, and what is assumed instead.
    pub assumptions: Vec<String>,
}

/// What a virtual drive showed.
pub(crate) struct Repeated {
    pub metrics: Vec<Metric>,
    pub conditions: Conditions,
}

/// Conditions that a drive reports.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Conditions {
    /// The highest temperature during the run or after it, degrees Celsius.
    pub hottest_c: Option<f64>,
    /// Share of the rated life used after the run, percent.
    pub wear_percent: Option<f64>,
    /// Payload ceiling of the link, bytes per second.
    pub link_bytes_per_s: Option<f64>,
}

impl Conditions {
    /// The conditions in a record.
    pub fn from_run(run: &Run) -> Conditions {
        let drive = run.target.drive.as_ref();
        let health = run.health_after.as_ref().or(drive.map(|drive| &drive.health));
        let link = drive.and_then(|drive| drive.link.as_ref()?.ceiling_bytes_per_s);
        Conditions::new(health, &run.series, link)
    }

    fn new(
        health: Option<&Health>,
        series: &[Series],
        link_bytes_per_s: Option<f64>,
    ) -> Conditions {
        let columns = series.iter().flat_map(|series| &series.columns);
        let temperatures = columns.filter(|column| column.unit == Unit::Celsius);
        let temperatures = temperatures.flat_map(|column| column.values.iter().copied().flatten());
        let after = health.and_then(|health| health.temperature_c);
        Conditions {
            hottest_c: temperatures.chain(after).reduce(f64::max),
            wear_percent: health.and_then(|health| health.wear_percent),
            link_bytes_per_s,
        }
    }
}

impl Repeat {
    /// # Errors
    /// The run is of no method, or was measured together with others.
    pub fn new(run: &Run, interrupt: &Arc<AtomicBool>) -> Result<Repeat> {
        let name = run_name(run);
        if beside::drives(run).is_some() {
            let text = format!("{name} was measured together with other drives");
            return Err(LabError::usage(text).advise("a run of the drive alone"));
        }
        let method = work::method(&run.method).map_err(|_| {
            let text = format!("{name} is one of `{}`, which is no method", run.method);
            LabError::usage(text).advise("a run of a method: ssdyno run TARGET -m quick")
        })?;
        let mut options = options(run)?;
        if options.size.is_none()
            && !method.ignores.contains(&Common::Size)
            && matches!(run.target.kind, TargetKind::Directory | TargetKind::File)
        {
            options.size = run.plan.as_ref().map(|plan| plan.region_bytes);
        }
        let mut assumptions = Vec::new();
        if run.options.is_none() {
            assumptions.push("the record does not say its options: none".to_string());
        }
        if run.state_before == State::Unknown {
            assumptions.push(
                "the state of the drive before the run is unknown: the twin began fresh"
                    .to_string(),
            );
        }
        Ok(Repeat {
            method: run.method.clone(),
            options,
            state: run.state_before,
            interrupt: Arc::clone(interrupt),
            assumptions,
        })
    }

    /// The same work on another amount of data, bytes.
    pub fn on_size(&self, bytes: u64) -> Repeat {
        Repeat {
            method: self.method.clone(),
            options: Options { size: Some(bytes), ..self.options.clone() },
            state: self.state,
            interrupt: Arc::clone(&self.interrupt),
            assumptions: Vec::new(),
        }
    }

    /// Does the work on a drive with this description.
    pub fn on(&self, spec: &DriveSpec) -> Result<Repeated> {
        let observer = Box::new(|_: &Event| {});
        let mut simulator =
            Simulator::new(spec.clone(), "sim:twin", Arc::clone(&self.interrupt), observer);
        simulator.age(self.state)?;
        let mut session = Session::new(&mut simulator);
        let work = Work::of_method(&self.method, Cow::Borrowed(&self.options))?;
        let ended = work.run(&mut session);
        let outcome = session.finish();
        ended?;
        let health = simulator.health();
        let conditions = Conditions::new(Some(&health), &outcome.series, spec.link_ceiling());
        Ok(Repeated { metrics: outcome.metrics, conditions })
    }
}

/// The figures of a run that tell about the drive: what the method declares as primary, rates of
/// cells, and the slowest random reads at depth 1, where retries show first.
pub(crate) fn telling(run: &Run) -> impl Iterator<Item = &Metric> {
    run.metrics.iter().filter(|metric| is_telling(run, metric))
}

fn is_telling(run: &Run, metric: &Metric) -> bool {
    let key = metric.key();
    let is_rate = matches!(metric.unit, Unit::BytesPerSecond | Unit::Iops);
    let cell = key.as_cell();
    // The two sides of a mix are one measurement.
    if cell.is_some_and(|cell| cell.order == Order::Mixed && cell.op == Some(OpKind::Write)) {
        return false;
    }
    let is_slow_read = key.statistic == Some(Statistic::P99)
        && cell.is_some_and(|cell| {
            cell.order == Order::Random && cell.op == Some(OpKind::Read) && cell.depth == 1
        });
    let is_primary = work::method(&run.method).is_ok_and(|method| method.is_primary(&key));
    is_slow_read || is_primary || (is_rate && key.is_main() && cell.is_some())
}

/// `run 12`, or `the run` outside a store.
pub(crate) fn run_name(run: &Run) -> String {
    run.number.map_or("the run".into(), |number| format!("run {number}"))
}

/// The options of a record as they were given.
fn options(run: &Run) -> Result<Options> {
    let mut common = Options { seed: run.seed.unwrap_or(1), ..Options::default() };
    let mut typed = Vec::new();
    let unreadable = |why: String| LabError::usage(format!("the options of the record: {why}"));
    for (name, words) in run.options.iter().flatten() {
        match name.as_str() {
            "size" => common.size = Some(units::parse_bytes(words).map_err(unreadable)?),
            "time" => common.time = Some(parse_span(words).map_err(unreadable)?),
            "replicates" => {
                let count = words.parse().map_err(|_| unreadable(format!("replicates {words}")))?;
                common.replicates = Some(count);
            }
            _ => {
                let words = words.split_whitespace().map(str::to_string).collect();
                typed.push((name.clone(), words));
            }
        }
    }
    work::options(std::slice::from_ref(&run.method), &typed, common)
}

/// The inverse of [`units::span`]: `5.0 s`, `1:30`, `2:00:00`.
fn parse_span(text: &str) -> std::result::Result<std::time::Duration, String> {
    if !text.contains(':') {
        return units::parse_duration(text);
    }
    let seconds = text.split(':').try_fold(0u64, |sum, part| {
        let part: u64 = part.parse().map_err(|_| format!("'{text}' is not a time"))?;
        Ok(sum.saturating_mul(60).saturating_add(part))
    });
    seconds.map(std::time::Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_read_as_it_was_written() {
        for seconds in [1.0, 5.5, 59.0, 60.0, 90.0, 3600.0, 7265.0] {
            let text = units::span(seconds);
            assert_eq!(parse_span(&text).map(|time| time.as_secs_f64()), Ok(seconds), "{text}");
        }
        assert!(parse_span("1:x").is_err());
    }
}
