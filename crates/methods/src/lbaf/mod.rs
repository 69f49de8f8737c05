//! `lbaf`: is a drive faster when formatted to blocks of 4096 bytes rather than 512?
//!
//! The same workloads on the same drive, formatted A, B, B, A, with the same content written first.
//! Formatting destroys everything; the drive is left in its original format.

mod answer;

use record::{CellKey, Finding, FindingKind, Level, MetricKey, Order, TargetKind};
use rig::{Preparation, RigError, TargetInfo};
use workload::OpKind::{Read, Write};
use workload::{BlockSizes, Mix, OpKind, Pattern, Region, Workload};

use crate::prepare::cannot_format;
use script::whole::Whole;
use script::{Common, MethodInfo, MetricInfo, Options, Result, Session};

/// Runs in all, half of them in each format.
const RUNS: u32 = 4;

/// Seconds of one workload.
const EACH_SECONDS: f64 = 10.0;

/// Default duration in seconds, with four fills.
const SECONDS: f64 = 300.0;

/// Maximum size of the region, written after each format.
const REGION_MAX: u64 = 8 << 30;

/// The method.
pub(crate) static INFO: MethodInfo = MethodInfo {
    name: "lbaf",
    summary: "is it faster with blocks of 4096 bytes",
    about: "Formats the drive to blocks of 4096, 512, 512 and again 4096 bytes (the reverse if it \
            has 4096). After each format, writes 8 GiB (or --size) sequentially, then reads and \
            writes 1 MiB blocks sequentially at depth 8, and random 4 KiB blocks at depths 32 and \
            1. Reports the throughput in both formats and their ratio. Leaves the drive in its \
            original format, and refuses a drive that cannot be formatted.",
    safety: record::Safety::Destroys,
    seconds: SECONDS,
    writes: "the region four times, and two minutes of writes in all",
    ignores: &[Common::Replicates],
    primary: &["lbaf-{seq,rand}-{read,write}-{size}-q{depth}.ratio"],
    metrics: &[&[
        RATE,
        MetricInfo::number(
            "lbaf-{seq,rand}-{read,write}-{size}-q{depth}.ratio",
            "throughput in blocks of 4096 bytes over that in 512",
        ),
    ]],
    run,
    answer: answer::answer,
    ..MethodInfo::EMPTY
};

const RATE: MetricInfo = MetricInfo::rate(
    "lbaf-{seq,rand}-{read,write}-{size}-q{depth}-in-{512,4096}",
    "throughput in this format",
);

fn run(session: &mut Session<'_>, options: &Options) -> Result<()> {
    let whole = Whole::new(&INFO, session.target(), options)?;
    check(session.target())?;
    if session.target().target.kind == TargetKind::Virtual {
        session.note(caveat());
    }
    let original_block = session.target().logical_block_bytes;
    let result = measure(session, &whole, original_block);
    session.checkpoint();
    // Also after an interruption. A drive that cannot be formatted never left its format.
    if session.target().logical_block_bytes != original_block {
        format(session, original_block)?;
    }
    result
}

/// A virtual drive has no host whose file system pays for small blocks: document 000 found 1558 and
/// 4347 KiB/s of file-system writes with blocks of 512 and 4096 bytes on one drive.
fn caveat() -> Finding {
    let text = "a virtual drive has no host: what its file system saves with larger blocks is not \
                in these ratios (document 000: 2.8 times)";
    Finding::new(FindingKind::NoHost, Level::Note, text)
}

/// Checks that both formats are available, before the first change.
fn check(target: &TargetInfo) -> Result<()> {
    match [512, 4096].into_iter().find(|block| !target.formats.contains(block)) {
        None => Ok(()),
        Some(missing) => Err(RigError::Unsupported(cannot_format(target, missing)).into()),
    }
}

/// The other format comes first, so that nothing has been written if it is unavailable. Drift
/// affects both formats alike.
fn formats(found: u32) -> [u32; RUNS as usize] {
    let other = if found == 4096 { 512 } else { 4096 };
    let second = 512 + 4096 - other;
    [other, second, second, other]
}

fn measure(session: &mut Session<'_>, whole: &Whole, found: u32) -> Result<()> {
    let workloads = workloads(whole);
    let mut rates = vec![[Vec::new(), Vec::new()]; workloads.len()];
    for (round, block) in formats(found).into_iter().enumerate() {
        format(session, block)?;
        session.fill_region(whole, "fill", region(whole))?;
        for (w, rates) in workloads.iter().zip(&mut rates) {
            let m = session.measure(w, round as u32)?;
            rates[usize::from(block == 4096)].push(m.throughput(None).unwrap_or(0.0));
            put(session, w, rates);
            session.checkpoint();
        }
    }
    Ok(())
}

fn format(session: &mut Session<'_>, block_bytes: u32) -> Result<()> {
    session.prepare("format", Preparation::Format { block_bytes })?;
    session.set_state(record::State::Fresh);
    Ok(())
}

fn put(session: &mut Session<'_>, w: &Workload, rates: &[Vec<f64>; 2]) {
    for (block, rates) in [512, 4096].into_iter().zip(rates) {
        if !rates.is_empty() {
            session.put_rates(MetricKey::of_words(&[&w.name, &"in", &block]), rates);
        }
    }
    session.put_ratio(MetricKey::from_workload(w), &rates[0], &rates[1]);
}

fn workloads(whole: &Whole) -> Vec<Workload> {
    let (small, large) = (4096, whole.test_region.large);
    let table: [(Order, OpKind, u32, u32); 6] = [
        (Order::Sequential, Read, large, 8),
        (Order::Sequential, Write, large, 8),
        (Order::Random, Read, small, 32),
        (Order::Random, Write, small, 32),
        (Order::Random, Read, small, 1),
        (Order::Random, Write, small, 1),
    ];
    let workloads = table.into_iter().enumerate().map(|(index, (order, kind, block, depth))| {
        let cell = CellKey::new(order, Some(kind), u64::from(block), depth);
        let name = MetricKey::of_words(&[&"lbaf", &cell]).to_string();
        let seconds = whole.seconds(EACH_SECONDS);
        let mut w = whole.random(&name, Mix::from_kind(kind), block, seconds, index as u32);
        let sequential = order == Order::Sequential;
        w.pattern = if sequential { Pattern::Sequential } else { Pattern::UniformOnce };
        (w.region, w.blocks, w.depth) = (region(whole), BlockSizes::Fixed(block), depth);
        w.stop.bytes = Some(w.region.bytes).filter(|_| kind == Write);
        w
    });
    workloads.collect()
}

fn region(whole: &Whole) -> Region {
    Region::first(whole.bytes().min(REGION_MAX))
}
