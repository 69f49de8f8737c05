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

/// The workload, its rates, its latencies, and what else was measured.
pub(super) fn body(page: &mut Page, run: &Run) {
    for workload in grid::workloads(run) {
        page.items("workload", &describe::workload(&workload));
    }
    page.blank();
    let (times, others) = Times::of(&run.metrics);
    let (lead, others): (Vec<_>, Vec<_>) =
        others.into_iter().partition(|m| LEAD.contains(&m.name.as_str()));
    rates(page, &lead, run);
    if !times.rows.is_empty() {
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
