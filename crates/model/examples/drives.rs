//! Prints the results of all presets side by side: sequential rates over the first GiB, random
//! rates, and the latency of a single command.

#[path = "../tests/it/common/mod.rs"]
mod common;

use common::{Bench, MB};
use model::DriveSpec;
use workload::OpKind::{Read, Write};

fn main() {
    println!(
        "{:26} {:>8} {:>8} | {:>9} {:>9} | {:>9} {:>9}",
        "MB/s, then us", "read", "write", "4K read", "4K write", "read", "write"
    );
    for name in DriveSpec::presets() {
        let mut bench = Bench::preset(name);
        let write = bench.sweep(Write, 0, 1 << 30, 1 << 20, 1)[0] / MB;
        let read = bench.sweep(Read, 0, 1 << 30, 1 << 20, 1)[0] / MB;
        let many = [Read, Write].map(|kind| bench.random(kind, 4096, 1 << 30, 0, 0.2) / MB);
        bench.idle(60.0);
        bench.depth = 1;
        let one = [Read, Write].map(|kind| 4096e6 / bench.random(kind, 4096, 1 << 30, 0, 0.2));
        println!(
            "{name:26} {read:8.1} {write:8.1} | {:9.1} {:9.1} | {:9.1} {:9.1}",
            many[0], many[1], one[0], one[1]
        );
    }
    let spec = DriveSpec::preset("indilinx-m225-64").expect("known");
    println!("\n{}\n{}", spec.model, spec.about);
    for line in spec.figures().iter().filter(|line| line.from != "guessed") {
        println!("{:24} {:14} {:10} {}", line.key, line.value, line.from, line.source);
    }
}
