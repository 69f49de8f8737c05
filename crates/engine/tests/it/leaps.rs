//! Steady stretches of a virtual drive are skipped without a trace in its state, and with little of one in
//! its rates.

use std::sync::Arc;

use engine::Simulator;
use model::DriveSpec;
use rig::{Event, Measurement, Preparation, Rig};
use workload::{Content, Mix, Pattern, Region, Stop, Workload};

const GIB: u64 = 1 << 30;

fn filled(bytes: u64, leaps: bool) -> Simulator {
    let preset = DriveSpec::preset("samsung-970-evo-plus-250").expect("a preset");
    let capacity = bytes.to_string();
    let spec = preset.with_overrides(&[("capacity", &capacity)]).expect("parameters");
    let drive = Simulator::new(spec, "sim:test", Arc::default(), Box::new(|_: &Event| {}));
    let mut drive = drive.leaping(leaps);
    let region = Region::first(bytes);
    drive.prepare(Preparation::Fill { region, content: Content::Random, seed: 1 }).expect("fills");
    drive
}

fn run(drive: &mut Simulator, block: u32, read_percent: u32, stop: Stop, seed: u64) -> Measurement {
    let region = Region::first(drive.target().bytes);
    let mix = Mix::read_percent(read_percent);
    let w = Workload::new("cell", Pattern::Uniform, mix, block, region);
    drive.measure(&Workload { depth: 32, batch: 4, stop, seed, ..w }).expect("measured")
}

/// Cells in this order on a filled drive, with and without leaps: rates, and the time skipped.
fn cells(leaps: bool) -> (Vec<f64>, u64) {
    let mut drive = filled(GIB, leaps);
    let end = Stop::after_ns(5_000_000_000);
    let most = |bytes| Stop { bytes: Some(bytes), ..Stop::default() };
    let cells = [
        (4096, 100, end),
        (4096, 0, most(2 * GIB)),
        (1 << 20, 95, most(2 * GIB)),
        (4096, 100, end),
    ];
    // Each with a seed of its own: reads in the order of the writes before would show on which die
    // each page was placed, which leaps do not keep.
    let rates = cells.iter().zip(1..).map(|(&(block, reads, stop), seed)| {
        let m = run(&mut drive, block, reads, stop, seed);
        m.iops(None).expect("completions")
    });
    (rates.collect(), drive.skipped_ns())
}

#[test]
fn rates_with_leaps_are_those_without() {
    let ((with, skipped_ns), (without, nothing_ns)) = (cells(true), cells(false));
    assert!(skipped_ns > 5_000_000_000 && nothing_ns == 0, "{skipped_ns} {nothing_ns}");
    for (with, without) in with.iter().zip(&without) {
        assert!((with / without - 1.0).abs() < 0.02, "{with} and {without}");
    }
}
