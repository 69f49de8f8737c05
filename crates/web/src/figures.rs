//! The figures that stand for runs, over many of them: by method and metric, in words, as CSV.

use record::{Mark, Metric, Run, Unit};
use report::{Distribution, History, HistoryLine, HistoryPoint};
use store::RunSummary;

/// The runs of one method with a metric.
#[derive(Debug)]
pub struct FigureGroup<'r> {
    pub method: &'r str,
    pub metric: &'r str,
    pub unit: Unit,
    /// Runs and their metric, oldest first.
    pub members: Vec<(&'r RunSummary, &'r Metric)>,
}

impl FigureGroup<'_> {
    /// The metric in words.
    pub fn name(&self) -> String {
        record::MetricKey::parse(self.metric).in_words()
    }

    /// The distribution over the runs.
    pub fn distribution(&self) -> Distribution {
        let values = self.members.iter().filter_map(|(_, metric)| metric.value);
        Distribution::new(format!("{}: {}", self.method, self.name()), self.unit, values.collect())
    }
}

/// The figures of runs, which come latest first. Runs that were cut short have none.
pub fn groups(runs: &[RunSummary]) -> Vec<FigureGroup<'_>> {
    let mut groups: Vec<FigureGroup<'_>> = Vec::new();
    for run in runs.iter().rev().filter(|run| run.complete) {
        for metric in &run.headline {
            let group = groups.iter_mut().find(|group| {
                group.metric == metric.name
                    && group.method == run.method
                    && group.unit == metric.unit
            });
            match group {
                Some(group) => group.members.push((run, metric)),
                None => groups.push(FigureGroup {
                    method: &run.method,
                    metric: &metric.name,
                    unit: metric.unit,
                    members: vec![(run, metric)],
                }),
            }
        }
    }
    groups
}

/// The figures of a drive over time: a chart for every method and unit.
pub fn histories(runs: &[RunSummary]) -> Vec<History> {
    let marks = firmware_marks(runs);
    let mut histories: Vec<(&str, History)> = Vec::new();
    let groups = groups(runs);
    for group in &groups {
        let points = group.members.iter().filter_map(|(run, metric)| point(run, metric));
        let line = HistoryLine { name: group.name(), points: points.collect() };
        let history = histories
            .iter_mut()
            .find(|(method, history)| *method == group.method && history.unit == group.unit);
        match history {
            Some((_, history)) => history.lines.push(line),
            None => histories.push((
                group.method,
                History {
                    title: group.method.to_string(),
                    unit: group.unit,
                    lines: vec![line],
                    marks: marks.clone(),
                },
            )),
        }
    }
    histories.into_iter().map(|(_, history)| titled(history)).collect()
}

/// A history of one figure is named by it, because it has no legend.
fn titled(history: History) -> History {
    match history.lines.as_slice() {
        [line] => History { title: format!("{}: {}", history.title, line.name), ..history },
        _ => history,
    }
}

fn point(run: &RunSummary, metric: &Metric) -> Option<HistoryPoint> {
    let seconds = seconds(run)?;
    Some(HistoryPoint {
        seconds,
        value: metric.value?,
        interval: metric.low.zip(metric.high).map(|(low, high)| [low, high]),
    })
}

/// The start of a run, seconds since 1970; `None` if it is unknown.
fn seconds(run: &RunSummary) -> Option<f64> {
    let started = Run { started: run.started.clone(), ..Run::default() };
    lab::started_ms(&started).filter(|_| run.start_known).map(|ms| ms as f64 / 1000.0)
}

/// The first run with each firmware after another one.
fn firmware_marks(runs: &[RunSummary]) -> Vec<Mark> {
    let mut marks = Vec::new();
    let mut firmware_before: Option<&str> = None;
    for run in runs.iter().rev() {
        let Some(firmware) = run.firmware.as_deref() else { continue };
        if let (true, Some(start)) =
            (firmware_before.is_some_and(|before| before != firmware), seconds(run))
        {
            marks.push(Mark {
                label: format!("firmware {firmware}"),
                at: start,
                low: None,
                high: None,
            });
        }
        firmware_before = Some(firmware);
    }
    marks
}

/// A metric in words with its value: `sequential read 3.40 GB/s`.
pub fn in_words(metric: &Metric) -> Option<String> {
    Some(format!("{} {}", metric.key().in_words(), report::quantity(metric.unit, metric.value?)))
}

/// The figures as CSV.
pub fn csv(runs: &[RunSummary]) -> String {
    let columns = ["run", "started", "method", "drive", "serial", "firmware", "host"];
    let rows = runs.iter().map(|run| {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let started = if run.start_known { run.started.clone() } else { String::new() };
        let fields = vec![
            run.id.clone(),
            started,
            run.method.clone(),
            text(&run.drive),
            text(&run.serial),
            text(&run.firmware),
            text(&run.host),
        ];
        (fields, run.headline.as_slice())
    });
    report::csv_figures(&columns, rows)
}
