//! TRIM WORKS: blocks that changed, ratios of reads and writes.

use rig::Released;

use super::{repeat, short, table};
use crate::trim::trim;
use crate::{Ruling, Trim};

/// 1,000 discarded bytes, of which so many read as zeros, and so many kept their content.
fn blocks(zero_bytes: u64, kept_bytes: u64) -> Option<Released> {
    Some(Released { looked_bytes: 1000, zero_bytes, kept_bytes, trimmed_bytes: None })
}

/// Three pairs with this ratio.
fn pairs(ratio: f64) -> [Vec<f64>; 2] {
    [repeat(100.0, 3), repeat(100.0 * ratio, 3)]
}

#[test]
fn nine_tenths_of_the_blocks_must_change() {
    let said = |kept| short([trim(&Trim { released: blocks(0, kept), ..Trim::default() })]);
    let rows = [
        (0, "TRIM WORKS"),
        (99, "TRIM WORKS"),
        (100, "TRIM WORKS"),
        (101, "unknown"),
        (999, "unknown"),
        (1000, "no: NO TRIM"),
    ];
    table(said, rows);
}

#[test]
fn blocks_are_called_zero_from_nine_tenths() {
    let said = |(zero, kept)| {
        let text = trim(&Trim { released: blocks(zero, kept), ..Trim::default() }).verdict.text;
        text.split_once(": ").expect("a reason").1.to_string()
    };
    let rows = [
        ((900, 100), "90% of 1000 B read as zeros."),
        ((899, 100), "90% of 1000 B changed their content."),
        ((0, 999), "0.1% of 1000 B changed their content."),
        ((0, 1000), "1000 B kept their content."),
    ];
    table(said, rows);
}

#[test]
fn reads_or_writes_faster_by_a_tenth_are_a_signal() {
    let rows = [(0.5, "no: NO TRIM"), (1.099, "no: NO TRIM"), (1.101, "TRIM WORKS")];
    let reads = |ratio| short([trim(&Trim { reads: pairs(ratio), ..Trim::default() })]);
    table(reads, rows);
    let writes = |ratio| short([trim(&Trim { writes: pairs(ratio), ..Trim::default() })]);
    table(writes, rows);
}

/// One pair has no interval.
#[test]
fn without_an_interval_twice_the_margin_is_a_signal() {
    let said = |ratio: f64| {
        let writes = [vec![100.0], vec![100.0 * ratio]];
        short([trim(&Trim { writes, ..Trim::default() })])
    };
    let rows =
        [(1.099, "no: NO TRIM"), (1.101, "unknown"), (2.199, "unknown"), (2.201, "TRIM WORKS")];
    table(said, rows);
}

#[test]
fn writes_that_scatter_do_not_count_if_blocks_and_reads_stay_the_same() {
    let scatter = [vec![100.0, 100.0], vec![90.0, 250.0]];
    let said = |(kept, reads): (u64, f64)| {
        let (released, writes) = (blocks(0, kept), scatter.clone());
        short([trim(&Trim { released, reads: pairs(reads), writes, ..Trim::default() })])
    };
    let rows = [
        ((1000, 1.0), "no: NO TRIM"),
        ((900, 1.0), "unknown"),
        ((1000, 1.2), "TRIM WORKS"),
        ((0, 1.0), "TRIM WORKS"),
    ];
    table(said, rows);
    let blind = Trim { released: blocks(0, 1000), writes: scatter.clone(), ..Trim::default() };
    assert_eq!(short([trim(&blind)]), "unknown", "without reads");
}

#[test]
fn what_a_file_system_says_is_quoted() {
    let said = |(by_file_system, trimmed_bytes)| {
        let released = blocks(0, 500).map(|released| Released { trimmed_bytes, ..released });
        let text = trim(&Trim { by_file_system, released, ..Trim::default() }).verdict.text;
        text.split_once("content").expect("of blocks").1.to_string()
    };
    let rows = [
        ((true, Some(0)), "; fstrim reports 0 bytes: trimmed before, or no free space."),
        ((true, Some(1_000_000)), "; fstrim reports 1.00 MB."),
        ((true, None), "; the file system or the device below cannot trim."),
        ((false, Some(1)), "."),
    ];
    table(said, rows);
}

pub fn examples() -> Vec<Ruling> {
    let scatter = [vec![100.0, 100.0], vec![90.0, 250.0]];
    let seen = [
        Trim { refused: true, ..Trim::default() },
        Trim {
            released: blocks(1000, 0),
            reads: pairs(3.0),
            writes: pairs(4.0),
            ..Trim::default()
        },
        Trim { released: blocks(0, 1000), reads: pairs(1.0), writes: scatter, ..Trim::default() },
        Trim { unseen: Some("no root".into()), ..Trim::default() },
        Trim::default(),
    ];
    seen.iter().map(trim).collect()
}
