//! Tests the parameters that add a speed-changing property to a drive: each takes effect when set,
//! and has no effect when off.

use crate::common::{Bench, MB};
use model::DriveSpec;
use workload::Content;
use workload::OpKind::{Read, Write};

/// A 4 GiB drive without an SLC cache, with the given overrides.
fn bench(pairs: &[(&str, &str)]) -> Bench {
    let plain = [("capacity", "4GiB"), ("slc", "0"), ("slc.fixed", "0")];
    let spec = DriveSpec::preset("samsung-980-pro-1t").expect("a known drive");
    Bench::new(&spec.with_overrides(&[&plain, pairs].concat()).expect("known parameters"))
}

fn write_rate(pairs: &[(&str, &str)], content: &Content) -> f64 {
    let mut bench = bench(pairs);
    let share = bench.drive.stored_share(content);
    bench.drive.set_stored_share(share);
    bench.sweep(Write, 0, 2 << 30, 1 << 20, 1)[0] / MB
}

#[test]
fn content_decides_the_rate_where_the_drive_reduces_data() {
    let half = Content::Compressible(0.5);
    let plain = write_rate(&[], &half);
    assert_eq!(plain, write_rate(&[], &Content::Random), "content does not affect a plain drive");
    assert_eq!(plain, write_rate(&[("compression", "1")], &Content::Random));
    assert!(write_rate(&[("compression", "1")], &half) > 1.5 * plain);
    assert!(write_rate(&[("dedupe", "true")], &Content::Repeated) > 1.5 * plain);
}

#[test]
fn a_read_cache_answers_what_fits_it() {
    let rate = |cache: &str, span: u64| {
        let mut bench = bench(&[("read_cache", cache)]);
        bench.sweep(Write, 0, 1 << 30, 1 << 20, 1);
        bench.depth = 1;
        bench.random(Read, 4096, span, 0, 0.2);
        bench.random(Read, 4096, span, 0, 0.2)
    };
    let none = rate("0", 1 << 20);
    assert!(rate("64MiB", 1 << 20) > 2.0 * none, "the whole span fits in the cache");
    assert!(rate("64MiB", 1 << 30) < 1.3 * none, "a sixteenth of the span fits in the cache");
}

#[test]
fn a_read_cache_does_not_slow_reads_that_miss_it() {
    let rate = |cache: &str| {
        let mut bench = bench(&[("read_cache", cache)]);
        bench.sweep(Write, 0, 1 << 30, 1 << 20, 1);
        bench.sweep(Read, 0, 1 << 30, 1 << 20, 1)[0]
    };
    let (with, without) = (rate("64MiB"), rate("0"));
    assert!(with >= 0.99 * without, "{with} with a cache, {without} without");
}

#[test]
fn wear_repeats_reads_and_bad_blocks_take_spare_flash() {
    let reads = |wear: &str| {
        let mut bench = bench(&[("wear", wear)]);
        bench.sweep(Write, 0, 1 << 30, 1 << 20, 1);
        bench.depth = 1;
        (bench.random(Read, 4096, 1 << 30, 0, 0.5), bench.drive.health().wear_percent)
    };
    let ((new, percent), (worn, worn_percent)) = (reads("0"), reads("1"));
    assert!(worn < 0.9 * new, "{new} new, {worn} worn");
    assert!((worn_percent - percent - 100.0).abs() < 1e-6, "{percent} {worn_percent}");
    let writes = |bad: &str| {
        let mut bench = bench(&[("bad_blocks", bad), ("op", "0.15")]);
        let bytes = bench.drive.bytes();
        bench.fill();
        bench.random(Write, 4096, bytes, 0, 8.0);
        bench.random(Write, 4096, bytes, 0, 2.0)
    };
    let (good, bad) = (writes("0"), writes("0.08"));
    assert!(bad < 0.8 * good, "{good} without, {bad} with bad blocks");
}
