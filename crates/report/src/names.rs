//! The grid's words: labels, order and statistics of its cells. The keys themselves are `record`'s.

use record::{CellKey, MetricKey, Order, Statistic};
use workload::{OpKind, units};

/// The columns of rates: reads, then writes.
pub(crate) const DIRECTIONS: [OpKind; 2] = [OpKind::Read, OpKind::Write];

/// Latency statistics that every screen has, in the order of their columns.
pub(crate) const STATISTICS: [Statistic; 4] =
    [Statistic::P50, Statistic::P99, Statistic::P999, Statistic::Max];

/// Whether a series' column is the rate of reads or of writes.
pub(crate) fn is_direction(column: &str) -> bool {
    DIRECTIONS.iter().any(|d| d.name() == column)
}

/// The row of a cell: reads and writes of it stand side by side.
pub(crate) fn row_of(cell: &CellKey) -> CellKey {
    CellKey { op: None, ..cell.clone() }
}

/// Sorts rows as CrystalDiskMark users know them: sequential first, large and deep first.
pub(crate) fn rank(row: &CellKey) -> impl Ord + use<> {
    let down = std::cmp::Reverse;
    (row.order, down(row.block_bytes), down(u64::from(row.depth)), row.words.clone())
}

/// `rand 4 KiB q32`; a mix is called by its shares where they are known: `mix 70/30 4 KiB q32`.
pub(crate) fn label(row: &CellKey, shares: Option<&str>) -> String {
    let size = units::binary(row.block_bytes);
    let (order, depth) = (row.order.name(), row.depth);
    if let (Order::Mixed, Some(shares)) = (row.order, shares) {
        return format!("mix {shares} {size} q{depth}");
    }
    let words = row.words.iter().map(|word| format!(" {word}")).collect::<String>();
    format!("{order} {size} q{depth}{words}")
}

/// A metric in words: `random 4 KiB reads q32`; its key where it is not the figure of a cell.
pub fn metric_label(key: &MetricKey) -> String {
    let text = key.to_string();
    let Some(cell) = key.as_cell().filter(|_| key.is_main()) else { return text };
    let order = match cell.order {
        Order::Sequential => "sequential",
        Order::Random => "random",
        Order::Mixed => "mixed",
    };
    let op = cell.op.map_or("I/O", |op| match op {
        OpKind::Read => "reads",
        OpKind::Write => "writes",
        OpKind::Flush => "flushes",
        OpKind::Discard => "discards",
    });
    let words = cell.words.iter().map(|word| format!(" {word}")).collect::<String>();
    format!("{order} {} {op} q{}{words}", units::binary(cell.block_bytes), cell.depth)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_said_in_words() {
        let said = |key: &str| metric_label(&MetricKey::parse(key));
        assert_eq!(said("rand-read-4KiB-q32"), "random 4 KiB reads q32");
        assert_eq!(said("seq-write-jobs4-1MiB-q8"), "sequential 1 MiB writes q8 jobs4");
        assert_eq!(said("rand-read-4KiB-q32.p99"), "rand-read-4KiB-q32.p99");
        assert_eq!(said("sustain-fresh.cache"), "sustain-fresh.cache");
    }

    #[test]
    fn rows_are_called_as_people_say_them() {
        let label_of = |key: &str, shares| {
            MetricKey::parse(key).as_cell().map(|cell| label(&row_of(cell), shares))
        };
        assert_eq!(label_of("rand-write-4KiB-q32.p99.9", None).as_deref(), Some("rand 4 KiB q32"));
        let mixed = label_of("mixed-70-4KiB-q32.read.p50", Some("70/30"));
        assert_eq!(mixed.as_deref(), Some("mix 70/30 4 KiB q32"));
        let jobs = label_of("rand-read-jobs4-4KiB-q8", None);
        assert_eq!(jobs.as_deref(), Some("rand 4 KiB q8 jobs4"));
        assert_eq!(label_of("seq-read", None), None);
    }
}
