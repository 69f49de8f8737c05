//! The short screen of `ssdyno io`: one workload, its rate, and response beside service time.

use record::{Metric, Run, Unit};

use super::page::Page;
use super::tables;
use crate::describe;
use crate::grid;
use crate::quantity;
use crate::style::{Ink, Style};
use crate::table::{Align, Cell, Table};
use workload::units::latency;

/// The workload, its rates, its latencies, and what else was measured.
pub(super) fn body(page: &mut Page, run: &Run) {
    for workload in grid::workloads(run) {
        page.items("workload", &describe::workload(&workload));
    }
    page.blank();
    let (times, others): (Vec<_>, Vec<_>) = run.metrics.iter().partition(|m| Time::of(m).is_some());
    let (lead, others): (Vec<_>, Vec<_>) =
        others.into_iter().partition(|m| LEAD.contains(&m.name.as_str()));
    rates(page, &lead, run);
    if !times.is_empty() {
        page.blank();
        page.block(&latencies(&times, page.style).render(page.style));
    }
    if !others.is_empty() {
        page.blank();
        page.block(&tables::others(&others, page.style).render(page.style));
    }
}

/// Metrics that get a word of their own, in this order.
const LEAD: [&str; 5] = ["throughput", "iops", "effective_depth", "cpu_ns_per_io", "batch_mean"];

fn rates(page: &mut Page, lead: &[&Metric], run: &Run) {
    let depth = grid::workloads(run).next().map(|w| w.depth * w.jobs);
    for name in LEAD {
        let Some(metric) = lead.iter().find(|m| m.name == name) else { continue };
        let value = quantity::show_known(metric.unit, metric.value);
        let text = match (name, depth) {
            ("effective_depth", Some(depth)) => format!("{value} in flight of {depth}"),
            ("effective_depth", None) => format!("{value} in flight"),
            ("cpu_ns_per_io", _) => format!("{value} of processor time per I/O"),
            ("batch_mean", _) => format!("{value} I/Os per system call"),
            _ => value,
        };
        let label = match name {
            "effective_depth" => "depth",
            "cpu_ns_per_io" => "cpu",
            "batch_mean" => "batch",
            "throughput" | "iops" => "rate",
            _ => name,
        };
        let ink = if label == "rate" { Ink::Strong } else { Ink::Plain };
        let interval = match metric.low {
            Some(_) => format!("  {}", quantity::interval_words(metric)),
            None => String::new(),
        };
        page.labelled(label, ink, &format!("{text}{interval}"));
    }
}

/// A latency metric taken apart: `service.read.p99` is the p99 of service times of reads.
struct Time<'a> {
    /// `service` or `response`, and the op kind where there is one.
    row: &'a str,
    statistic: &'a str,
}

impl Time<'_> {
    fn of(metric: &Metric) -> Option<Time<'_>> {
        let (clock, _) = metric.name.split_once('.')?;
        let known = metric.unit == Unit::Nanoseconds && ["service", "response"].contains(&clock);
        // The statistic begins after the last dot that a digit does not follow (`p99.9`).
        let mut dots = metric.name.match_indices('.');
        let is_point = |at: usize| metric.name[at + 1..].starts_with(|c: char| c.is_ascii_digit());
        let (at, _) = dots.rfind(|(at, _)| !is_point(*at))?;
        known.then(|| Time { row: &metric.name[..at], statistic: &metric.name[at + 1..] })
    }
}

/// Statistics across, service and response times down: their difference is time spent waiting.
fn latencies(metrics: &[&Metric], style: &Style) -> Table {
    let times: Vec<_> = metrics.iter().filter_map(|m| Some((Time::of(m)?, m.value))).collect();
    let mut rows: Vec<&str> = Vec::new();
    let mut statistics: Vec<&str> = Vec::new();
    for (time, _) in &times {
        if !rows.contains(&time.row) {
            rows.push(time.row);
        }
        if !statistics.contains(&time.statistic) {
            statistics.push(time.statistic);
        }
    }
    let columns = [vec![Align::Left], vec![Align::Right; statistics.len()]].concat();
    let mut table = Table::new(&columns);
    table.heading(std::iter::once("latency").chain(statistics.iter().copied()));
    for row in rows {
        let value = |statistic: &str| {
            let time = times.iter().find(|(t, _)| t.row == row && t.statistic == statistic);
            time.and_then(|(_, value)| *value)
        };
        let dash = || Cell::dim(style.either("–", "-"));
        let cell = |s: &&str| value(s).map_or_else(dash, |ns| latency(ns).into());
        let label = Cell::from(row.replace('.', " "));
        table.row(std::iter::once(label).chain(statistics.iter().map(cell)));
    }
    table
}
