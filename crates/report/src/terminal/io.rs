//! The results of `ssdyno io` on both screens: workload, rates, service and response times.

use record::{Metric, MetricKey, Run, Statistic};

use super::page::Page;
use super::tables;
use crate::describe;
use crate::quantity;
use crate::split::{self, SplitTime};
use crate::style::{Ink, Style};
use crate::table::{Align, Table, TableCell};
use crate::times::Times;
use workload::{OpKind, units::latency};

/// Metrics with special wording: statistic, label, the words after the value.
const WORDS: [(Statistic, &str, &str); 4] = [
    (Statistic::EffectiveDepth, "depth", "in flight"),
    (Statistic::LateOps, "late", "issued later than due"),
    (Statistic::CpuPerIo, "cpu", "of processor time per I/O"),
    (Statistic::BatchMean, "batch", "I/Os per system call"),
];

/// The workload, its rates, latencies, and other metrics.
pub(super) fn body(page: &mut Page, run: &Run) {
    for workload in run.known_workloads() {
        page.items("workload", &describe::workload(&workload));
    }
    page.blank();
    let metrics = run.metrics.iter().filter(|metric| !split::is_of_split(metric));
    let (times, mut remaining) = Times::split(metrics);
    rates(page, &mut remaining);
    words(page, &mut remaining, run);
    times_of(page, &SplitTime::from_run(run), run);
    if !times.rows.is_empty() {
        page.blank();
        page.block(&latencies(&times, page.style).render(page.style));
    }
    if !remaining.is_empty() {
        page.blank();
        page.block(&tables::others(&remaining, page.style).render(page.style));
    }
}

/// Where the time of some workloads goes, a line each, and what would show more of it.
pub(super) fn times_of<'a>(
    page: &mut Page,
    splits: impl IntoIterator<Item = &'a SplitTime>,
    run: &Run,
) {
    let lines: Vec<String> = splits.into_iter().map(SplitTime::in_words).collect();
    for line in &lines {
        page.labelled("time", Ink::Plain, line);
    }
    if let Some(missing) = SplitTime::missing(run).filter(|_| !lines.is_empty()) {
        page.labelled("time", Ink::Dim, missing);
    }
}

/// Throughput and operations per second, in total and per kind. Removes them from `metrics`.
fn rates(page: &mut Page, metrics: &mut Vec<&Metric>) {
    let sides = [("rate", None), ("read", Some(OpKind::Read)), ("write", Some(OpKind::Write))];
    for (label, op) in sides {
        let mut items = Vec::new();
        for statistic in [Statistic::Throughput, Statistic::Iops] {
            let key = MetricKey::of_run(statistic);
            let key = op.map_or(key.clone(), |op| key.of_op(op));
            let Some(metric) = take(metrics, &key) else { continue };
            items.push(quantity::show_known(metric.unit, metric.value));
            items.extend(metric.low.map(|_| format!("({})", quantity::interval_words(metric))));
        }
        page.items(label, &items);
    }
}

fn words(page: &mut Page, metrics: &mut Vec<&Metric>, run: &Run) {
    // Several workloads have no common depth.
    let mut issued = run.known_workloads().map(|w| w.depth * w.jobs);
    let nominal = issued.next().filter(|_| issued.next().is_none());
    for (statistic, label, words) in WORDS {
        let Some(metric) = take(metrics, &MetricKey::of_run(statistic)) else { continue };
        let value = quantity::show_known(metric.unit, metric.value);
        let nominal_words =
            nominal.filter(|_| statistic == Statistic::EffectiveDepth).map(|d| format!(" of {d}"));
        let is_single = statistic == Statistic::BatchMean && value == "1";
        let words = if is_single { "I/O per system call" } else { words };
        let text = format!("{value} {words}{}", nominal_words.unwrap_or_default());
        page.labelled(label, Ink::Plain, &text);
    }
}

fn take<'a>(metrics: &mut Vec<&'a Metric>, key: &MetricKey) -> Option<&'a Metric> {
    let index = metrics.iter().position(|m| m.key() == *key)?;
    Some(metrics.remove(index))
}

/// Statistics across, service and response times down.
fn latencies(times: &Times, style: &Style) -> Table {
    let columns = [vec![Align::Left], vec![Align::Right; times.statistics.len()]].concat();
    let mut table = Table::new(&columns);
    table.heading(std::iter::once("latency").chain(times.statistics.iter().copied()));
    for (label, values) in &times.rows {
        let cells = values.iter().map(|v| {
            v.map_or_else(|| TableCell::dim(style.either("–", "-")), |ns| latency(ns).into())
        });
        table.row(std::iter::once(TableCell::from(label.as_str())).chain(cells));
    }
    table
}
