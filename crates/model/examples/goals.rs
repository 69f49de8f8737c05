//! Benchmarks the model itself: steady-state random writes with full timing, a 2 TB fill with a
//! latency per request, whole-drive discard, and memory. Build with `--release` for the figures
//! that the goals refer to. Times are CPU time, because the machine may be shared.

#[path = "../tests/it/common/mod.rs"]
mod common;

use common::Bench;
use model::ftl::Untimed;
use model::ftl::collect::{Draws, Policy};
use model::ftl::page::{PageMapped, Rules};
use model::ftl::slc::Slc;
use model::ftl::superblock::{FlashLayout, Wear};
use model::{Drive, DriveSpec};
use workload::{Op, OpKind};

/// CPU time of this process so far, in seconds; excludes other processes.
fn processor_s() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let ns = text.split_whitespace().next().and_then(|n| n.parse::<f64>().ok());
    ns.unwrap_or(f64::NAN) / 1e9
}

fn resident_mib() -> f64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split_whitespace().nth(1).and_then(|p| p.parse::<f64>().ok());
    pages.unwrap_or(f64::NAN) * 4096.0 / (1 << 20) as f64
}

fn plain(pairs: &[(&str, &str)]) -> DriveSpec {
    let spec = DriveSpec::preset("samsung-980-pro-1t").expect("known");
    spec.with_overrides(pairs).expect("known parameters")
}

/// Random 4 KiB writes on 2 GiB of flash at depth 32, in millions per second.
fn steady(op: &str) -> f64 {
    let share: f64 = op.parse().expect("a number");
    let bytes = ((2u64 << 30) as f64 / (1.0 + share)) as u64 / 4096 * 4096;
    let capacity = bytes.to_string();
    let pairs =
        [("capacity", capacity.as_str()), ("op", op), ("slc", "0"), ("endurance", "100000000")];
    let mut drive = Drive::new(&plain(&pairs), 1);
    let blocks = bytes / 4096;
    let mut ring = [0u64; 32];
    let mut now = 0;
    let mut state = 1u64;
    let mut write = |n: u64, ring: &mut [u64; 32], random: bool| {
        for i in 0..n {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let block =
                if random { ((u128::from(state) * u128::from(blocks)) >> 64) as u64 } else { i };
            let slot = (i % 32) as usize;
            now = ring[slot].max(now);
            let op = Op { kind: OpKind::Write, offset: block * 4096, bytes: 4096 };
            ring[slot] = drive.submit(now, &op).done_ns;
        }
    };
    write(blocks, &mut ring, false);
    write(3 * blocks, &mut ring, true);
    let clock = processor_s();
    write(8 * blocks, &mut ring, true);
    let rate = 8.0 * blocks as f64 / (processor_s() - clock) / 1e6;
    let work = drive.work();
    println!("   (lifetime write amplification {:.2})", 1.0 + work.moved as f64 / work.host as f64);
    rate
}

/// Bare translation on 64 GiB of flash: random single-page writes, in millions per second.
fn bare(share: f64) -> f64 {
    let pages = 16 << 20;
    let logical = (f64::from(pages) / (1.0 + share)) as u32;
    let layout = FlashLayout {
        logical_pages: logical,
        superblocks: pages / 8192,
        spares: 0,
        superblock_pages: 8192,
        unit_pages: [32, 8],
    };
    let rules = Rules {
        policy: Policy::Greedy,
        shared_frontier: false,
        slc: Slc::none(),
        wear: Wear { endurance: u32::MAX / 2, seed: 0 },
        level_lead: 0,
        idle_free: 0,
        idle_fold: false,
        seed: 1,
    };
    let mut drive = PageMapped::new(layout, rules);
    let mut draws = Draws(1);
    let mut write = |drive: &mut PageMapped, n: u32| {
        for _ in 0..n {
            let lpn = draws.below(logical);
            drive.write(0, lpn, 1, &mut Untimed).expect("there is room");
        }
    };
    drive.write(0, 0, logical, &mut Untimed).expect("there is room");
    write(&mut drive, 2 * logical);
    let clock = processor_s();
    write(&mut drive, logical);
    f64::from(logical) / (processor_s() - clock) / 1e6
}

fn main() {
    for share in [0.28, 0.15] {
        println!("bare translation, 64 GiB of flash, {share} spare: {:.1} M/s", bare(share));
    }
    for op in ["0.28", "0.15", "0.07"] {
        println!("random 4 KiB writes, 2 GiB of flash, {op} spare: {:.1} M/s", steady(op));
    }
    for name in ["samsung-980-pro-2t", "sabrent-rocket-4-plus-2t"] {
        let spec = DriveSpec::preset(name).expect("known");
        let mut drive = Drive::new(&spec, 1);
        let (mut ring, mut now) = ([0u64; 32], 0);
        let clock = processor_s();
        for (i, offset) in (0..drive.bytes() & !0x1ffff).step_by(128 << 10).enumerate() {
            now = ring[i % 32].max(now);
            let op = Op { kind: OpKind::Write, offset, bytes: 128 << 10 };
            ring[i % 32] = drive.submit(now, &op).done_ns;
        }
        println!(
            "{name} filled with 128 KiB: {:.2} s, {:.0} MiB resident",
            (processor_s() - clock),
            resident_mib()
        );
        let clock = processor_s();
        let bytes = drive.bytes();
        for offset in (0..bytes).step_by(1 << 31) {
            let len = (bytes - offset).min(1 << 31) as u32;
            drive.submit(now, &Op { kind: OpKind::Discard, offset, bytes: len });
        }
        println!("   discarded: {:.2} ms", (processor_s() - clock) * 1e3);
    }
    let before = resident_mib();
    let gib = 64;
    let capacity = format!("{gib}GiB");
    let mut bench = Bench::new(&plain(&[("capacity", &capacity), ("slc", "0")]));
    let bytes = bench.drive.bytes();
    bench.random(OpKind::Write, 4096, bytes, 0, 120.0);
    println!("memory fragmented: {:.2} MiB per GiB", (resident_mib() - before) / gib as f64);
}
