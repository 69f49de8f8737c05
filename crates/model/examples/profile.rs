//! Prints the profile of a sequential fill of a virtual drive: `profile NAME-or-FILE [key=value]`.

#[path = "../tests/it/common/mod.rs"]
mod common;

use common::{Bench, mean};
use model::DriveSpec;

fn main() {
    let mut args = std::env::args().skip(1);
    let name = args.next().expect("a preset or a file");
    let overrides: Vec<String> = args.collect();
    let pairs: Vec<_> = overrides.iter().filter_map(|pair| pair.split_once('=')).collect();
    let spec = if name.ends_with(".toml") {
        DriveSpec::parse(&name, &std::fs::read_to_string(&name).expect("a readable file"))
    } else {
        DriveSpec::preset(&name)
    };
    let spec = spec.and_then(|spec| spec.with_overrides(&pairs)).unwrap_or_else(|e| panic!("{e}"));
    let mut bench = Bench::new(&spec);
    for pass in ["fresh", "overwritten"] {
        let clock = std::time::Instant::now();
        let rates = bench.fill();
        let took = clock.elapsed().as_secs_f64();
        show(pass, &rates, bench.drive.bytes());
        let health = bench.drive.health();
        println!(
            "   mean {:.0} MB/s, {:.1} C, {:?}, {took:.2} s of real time",
            mean(&rates) / 1e6,
            health.temperature_c,
            bench.drive.work()
        );
    }
}

/// Prints stretches with rates within 10% of each other.
fn show(name: &str, rates: &[f64], bytes: u64) {
    let part = bytes as f64 / rates.len() as f64 / 1e9;
    println!("{name}:");
    let mut from = 0;
    for i in 1..=rates.len() {
        let base = rates[from];
        if i == rates.len() || (rates[i] / base - 1.0).abs() > 0.1 {
            let rate = mean(&rates[from..i]) / 1e6;
            println!("   {:7.1} GB at {rate:6.0} MB/s", (i - from) as f64 * part);
            from = i;
        }
    }
}
