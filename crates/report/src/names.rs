//! Labels, order and statistics of the grid's cells, and names listed once each. The keys themselves
//! belong to `record`.

use record::{CellKey, Order, Statistic};
use workload::{OpKind, units};

/// The columns of rates: reads, then writes.
pub(crate) const DIRECTIONS: [OpKind; 2] = [OpKind::Read, OpKind::Write];

/// The latency statistics of every screen, in column order.
pub(crate) const STATISTICS: [Statistic; 4] =
    [Statistic::P50, Statistic::P99, Statistic::P999, Statistic::Max];

/// Whether a series' column is the rate of reads or of writes.
pub(crate) fn is_direction(column: &str) -> bool {
    DIRECTIONS.iter().any(|d| d.name() == column)
}

/// The row of a cell, which shows its reads and writes side by side.
pub(crate) fn row_of(cell: &CellKey) -> CellKey {
    CellKey { op: None, ..cell.clone() }
}

/// Sorts rows as in CrystalDiskMark: sequential first, large and deep first.
pub(crate) fn rank(row: &CellKey) -> impl Ord + use<> {
    let down = std::cmp::Reverse;
    (row.order, down(row.block_bytes), down(u64::from(row.depth)), row.words.clone())
}

/// The heading of a row for both directions, short enough for a table: `rand 4 KiB q32`. A mix is
/// named by its shares if known: `mix 70/30 4 KiB q32`.
pub(crate) fn label(row: &CellKey, shares: Option<&str>) -> String {
    let size = units::binary(row.block_bytes);
    let (order, depth) = (row.order.name(), row.depth);
    if let (Order::Mixed, Some(shares)) = (row.order, shares) {
        return format!("mix {shares} {size} q{depth}");
    }
    let words = row.words.iter().map(|word| format!(" {word}")).collect::<String>();
    format!("{order} {size} q{depth}{words}")
}

/// Distinct items, in the order of their first occurrence.
pub(crate) fn distinct<T: PartialEq>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut distinct = Vec::new();
    for item in items {
        if !distinct.contains(&item) {
            distinct.push(item);
        }
    }
    distinct
}

#[cfg(test)]
mod tests {
    use record::MetricKey;

    use super::*;

    #[test]
    fn rows_have_short_labels() {
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
