//! The short screen of `ssdyno io`: one workload, its rate, and response beside service time.

use record::{Metric, Run};

use super::page::Page;
use super::tables;
use crate::describe;
use crate::grid;
use crate::quantity;
use crate::style::{Ink, Style};
use crate::table::{Align, Cell, Table};
use crate::times::Times;
use workload::units::latency;

/// Metrics that are told in words of their own: name, label, what stands behind the value.
const WORDS: [(&str, &str, &str); 4] = [
    ("effective_depth", "depth", "in flight"),
    ("late_ops", "late", "issued later than due"),
    ("cpu_ns_per_io", "cpu", "of processor time per I/O"),
    ("batch_mean", "batch", "I/Os per system call"),
];

/// The workload, its rates, its latencies, and what else was measured.
pub(super) fn body(page: &mut Page, run: &Run) {
    for workload in grid::workloads(run) {
        page.items("workload", &describe::workload(&workload));
    }
    page.blank();
    let (times, mut others) = Times::of(&run.metrics);
    rates(page, &mut others);
    words(page, &mut others, run);
    if !times.rows.is_empty() {
        page.blank();
        page.block(&latencies(&times, page.style).render(page.style));
    }
    if !others.is_empty() {
        page.blank();
        page.block(&tables::others(&others, page.style).render(page.style));
    }
}

/// Throughput and operations per second, of all and of each kind; takes them out of the rest.
fn rates(page: &mut Page, metrics: &mut Vec<&Metric>) {
    for (label, kind) in [("rate", ""), ("read", "read."), ("write", "write.")] {
        let mut items = Vec::new();
        for quantity in ["throughput", "iops"] {
            let Some(metric) = take(metrics, &format!("{kind}{quantity}")) else { continue };
            items.push(quantity::show_known(metric.unit, metric.value));
            items.extend(metric.low.map(|_| format!("({})", quantity::interval_words(metric))));
        }
        page.items(label, &items);
    }
}

fn words(page: &mut Page, metrics: &mut Vec<&Metric>, run: &Run) {
    // Several workloads have no depth in common.
    let mut issued = grid::workloads(run).map(|w| w.depth * w.jobs);
    let nominal = issued.next().filter(|_| issued.next().is_none());
    for (name, label, words) in WORDS {
        let Some(metric) = take(metrics, name) else { continue };
        let value = quantity::show_known(metric.unit, metric.value);
        let of = nominal.filter(|_| name == "effective_depth").map(|d| format!(" of {d}"));
        let text = format!("{value} {words}{}", of.unwrap_or_default());
        page.labelled(label, Ink::Plain, &text);
    }
}

fn take<'a>(metrics: &mut Vec<&'a Metric>, name: &str) -> Option<&'a Metric> {
    let index = metrics.iter().position(|m| m.name == name)?;
    Some(metrics.remove(index))
}

/// Statistics across, service and response times down.
fn latencies(times: &Times<'_>, style: &Style) -> Table {
    let columns = [vec![Align::Left], vec![Align::Right; times.statistics.len()]].concat();
    let mut table = Table::new(&columns);
    table.heading(std::iter::once("latency").chain(times.statistics.iter().copied()));
    for (label, values) in &times.rows {
        let dash = || Cell::dim(style.either("–", "-"));
        let cells = values.iter().map(|v| v.map_or_else(dash, |ns| latency(ns).into()));
        table.row(std::iter::once(Cell::from(label.as_str())).chain(cells));
    }
    table
}
