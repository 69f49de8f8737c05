//! The numbers of a screen: the grid, the latencies below it, and other metrics.

use record::{CellKey, Metric};

use super::page::Page;
use crate::grid::{Grid, GridRow, Latency, rates_of};
use crate::names::{DIRECTIONS, STATISTICS};
use crate::quantity;
use crate::style::{Ink, Style};
use crate::table::{Align, Table, TableCell};
use workload::OpKind;
use workload::units::{amount, latency};

/// Maximum number of metrics shown besides the grid on a page of limited length; more would push it
/// off the screen.
const OTHERS_MAX: usize = 4;

/// Number of metrics that a page of limited length leaves out: all those beside a grid, if there
/// are more than [`OTHERS_MAX`].
pub(super) fn left_out(grid: &Grid<'_>) -> usize {
    let count = grid.others.len();
    if grid.rows.is_empty() || count <= OTHERS_MAX { 0 } else { count }
}

/// The grid, the latencies, and a plain table of the rest, unless `left_out` is nonzero.
pub(super) fn body(page: &mut Page, grid: &Grid<'_>, left_out: usize) {
    let style = page.style;
    let metrics = if left_out > 0 { &[] } else { grid.others.as_slice() };
    let tables = [
        // The full interval, and separate units, if there is room.
        roomy(style, |roomy| rates(grid, style, roomy)),
        roomy(style, |roomy| latencies(grid, style, roomy)),
        others(metrics, style),
    ];
    for table in tables.iter().filter(|table| !table.is_empty()) {
        page.blank();
        page.block(&table.render(style));
    }
}

/// The roomy form of a table if it fits the screen, otherwise the tight one.
pub(super) fn roomy(style: &Style, table: impl Fn(bool) -> Table) -> Table {
    let roomy = table(true);
    if roomy.width() <= style.columns() { roomy } else { table(false) }
}

/// Workloads down; MB/s, IOPS and the interval of each direction across.
pub(super) fn rates(grid: &Grid<'_>, style: &Style, roomy: bool) -> Table {
    let rows: Vec<_> = grid.rows.iter().filter(|row| row.has_rate()).collect();
    // A mix measured as a whole is in the columns of reads.
    let has_mix = rows.iter().any(|row| row.both.is_some());
    let sides = directions(|d| grid.has_rate(d) || (has_mix && d == OpKind::Read));
    let mut columns = vec![Align::Left];
    let mut heading = vec![replicates(&rows)];
    let interval = interval(&rows, roomy);
    for side in &sides {
        columns.extend([Align::Right, Align::Right]);
        columns.push(if roomy { Align::Left } else { Align::Right });
        heading.extend([format!("{} MB/s", side.name()), "IOPS".into(), interval.clone()]);
    }
    // The words of a mix follow the last column if there are no writes.
    columns.push(Align::Left);
    let mut table = Table::new(&columns);
    if !rows.is_empty() {
        table.heading(heading.iter().map(String::as_str));
    }
    rows.into_iter().for_each(|row| table.row(rate_row(row, &sides, style, roomy)));
    table
}

/// The heading of the intervals; in a tight table only its first word.
fn interval(rows: &[&GridRow<'_>], roomy: bool) -> String {
    let heading = quantity::interval_heading(rates_of(rows.iter().copied()));
    let word = heading.split(' ').next().unwrap_or(heading);
    if roomy { heading.into() } else { word.into() }
}

/// `3 replicates`, if all rates except those of named states have that many replicates.
fn replicates(rows: &[&GridRow<'_>]) -> String {
    let primary = rows.iter().filter(|row| row.key.words.is_empty());
    let counts: Vec<u32> = rates_of(primary.copied()).map(|rate| rate.n).collect();
    match counts.first() {
        Some(&n) if n > 1 && counts.iter().all(|c| *c == n) => format!("{n} replicates"),
        _ => String::new(),
    }
}

fn directions(has: impl Fn(OpKind) -> bool) -> Vec<OpKind> {
    DIRECTIONS.into_iter().filter(|d| has(*d)).collect()
}

fn rate_row(row: &GridRow<'_>, sides: &[OpKind], style: &Style, roomy: bool) -> Vec<TableCell> {
    let mut cells = vec![row.label().into()];
    if row.both.is_some() {
        cells.extend(rate_cells(row, row.both, style, roomy));
        cells.push(TableCell::free(Ink::Dim, "reads and writes together"));
        return cells;
    }
    for side in sides {
        cells.extend(rate_cells(row, row.side(*side).rate, style, roomy));
    }
    cells
}

fn rate_cells(
    row: &GridRow<'_>,
    rate: Option<&Metric>,
    style: &Style,
    roomy: bool,
) -> [TableCell; 3] {
    let Some(rate) = rate else { return Default::default() };
    let [megabytes, iops] = [row.bytes_per_s(rate).map(|bytes| bytes / 1e6), row.iops(rate)]
        .map(|value| value.map(amount).unwrap_or_default());
    let megabytes = if rate.value.is_some() { megabytes } else { quantity::UNKNOWN.into() };
    let interval =
        if roomy { quantity::interval(rate) } else { quantity::interval_percent(rate, style) };
    [
        TableCell::new(Ink::Strong, megabytes),
        TableCell::new(Ink::Strong, iops),
        TableCell::dim(interval),
    ]
}

/// Workloads down; median, tail and maximum of each direction across.
fn latencies(grid: &Grid<'_>, style: &Style, roomy: bool) -> Table {
    let sides = directions(|d| grid.has_latency(d));
    let mut heading = vec!["latency".to_string()];
    for side in &sides {
        let names = STATISTICS.iter().enumerate().map(|(i, statistic)| match i {
            0 => format!("{} {}", side.name(), statistic.name()),
            _ => statistic.name().to_string(),
        });
        heading.extend(names);
    }
    let columns: Vec<_> = std::iter::once(Align::Left)
        .chain(std::iter::repeat_n(Align::Right, heading.len() - 1))
        .collect();
    let mut table = Table::new(&columns).gap(if roomy { 2 } else { 1 });
    let rows: Vec<_> = grid.rows.iter().filter(|row| shows_latency(grid, row)).collect();
    if !rows.is_empty() {
        table.heading(heading.iter().map(String::as_str));
    }
    for row in rows {
        let cells = sides.iter().flat_map(|d| latency_cells(&row.side(*d).latency, style, roomy));
        table.row(std::iter::once(TableCell::from(row.label())).chain(cells));
    }
    table
}

/// Whether a row shows latencies. A row that repeats another in a named state shows only its rate,
/// to fit the screen on one page.
fn shows_latency(grid: &Grid<'_>, row: &GridRow<'_>) -> bool {
    let plain_key = CellKey { words: Vec::new(), ..row.key.clone() };
    let stateful = !row.key.words.is_empty() && grid.rows.iter().any(|row| row.key == plain_key);
    row.has_latency() && !stateful
}

fn latency_cells(values: &Latency, style: &Style, roomy: bool) -> Vec<TableCell> {
    let has_values = values.iter().any(Option::is_some);
    let cells = values.iter().map(|value| match value {
        Some(ns) if roomy => latency(*ns).into(),
        Some(ns) => latency(*ns).replace(' ', "").into(),
        None if has_values => TableCell::dim(style.either("–", "-")),
        None => TableCell::default(),
    });
    cells.collect()
}

/// Metrics with other names, one per row.
pub(super) fn others(metrics: &[&Metric], style: &Style) -> Table {
    let mut table = Table::new(&[Align::Left, Align::Right, Align::Left]).elastic(0);
    if !metrics.is_empty() {
        table.heading(["metric", "value", "interval"]);
    }
    for metric in metrics {
        let value = TableCell::new(Ink::Strong, quantity::show_or_dash(metric, style));
        let interval = TableCell::dim(quantity::interval_words(metric));
        table.row([TableCell::from(metric.name.as_str()), value, interval]);
    }
    table
}
