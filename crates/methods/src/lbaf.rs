//! `lbaf`: is a drive faster when formatted to blocks of 4096 bytes rather than 512?
//!
//! The same workloads on the same drive, formatted A, B, B, A, with the same content written first.
//! Formatting destroys everything; the drive is left in its original format.

use record::{Metric, Unit};
use rig::{Preparation, RigError, TargetInfo};
use workload::OpKind::{Read, Write};
use workload::units::binary;
use workload::{BlockSizes, Mix, OpKind, Pattern, Region, Workload};

use crate::prepare::cannot_format;
use crate::session::Session;
use crate::whole::Whole;
use crate::{Method, MethodError, MethodInfo, Options};

/// Total runs per format.
const RUNS: u32 = 4;

/// Seconds of one workload.
const EACH_SECONDS: f64 = 10.0;

/// Default duration in seconds, with four fills.
const SECONDS: f64 = 300.0;

/// Maximum region written after each format, and used.
const REGION_MOST: u64 = 8 << 30;

/// The method.
pub(crate) struct Lbaf;

static INFO: MethodInfo = MethodInfo {
    name: "lbaf",
    summary: "is the drive faster with blocks of 4096 bytes than of 512",
    about: "Formats the drive to blocks of 4096, 512, 512 and again 4096 bytes (the other way about \
            where it has 4096). After each format 8 \
            GiB (or --size) are written in order, then 1 MiB blocks are read and written in order, \
            8 in flight, and 4 KiB blocks at random, 32 and 1 in flight. What comes out is every \
            rate in both formats and their ratio. The drive is left in the format it had. A drive \
            that cannot be formatted is refused.",
    safety: record::Safety::Destroys,
    seconds: SECONDS,
    writes: "the region four times, then for four minutes in all",
    ..MethodInfo::EMPTY
};

impl Method for Lbaf {
    fn info(&self) -> &'static MethodInfo {
        &INFO
    }

    fn run(&self, session: &mut Session<'_>, options: &Options) -> Result<(), MethodError> {
        let whole = Whole::new(&INFO, session.target(), options)?;
        check(session.target())?;
        let found = session.target().logical_block_bytes;
        let result = measure(session, &whole, found);
        session.checkpoint();
        // Also after an interruption. A drive that cannot be formatted never left its format.
        if session.target().logical_block_bytes != found {
            format(session, found)?;
        }
        result
    }
}

/// Checks that both formats are available, before anything is touched.
fn check(target: &TargetInfo) -> Result<(), MethodError> {
    match [512, 4096].into_iter().find(|block| !target.formats.contains(block)) {
        None => Ok(()),
        Some(missing) => Err(RigError::Unsupported(cannot_format(target, missing)).into()),
    }
}

/// The other format comes first, so that nothing has been written if it is unavailable. Drift
/// affects both formats alike.
fn formats(found: u32) -> [u32; RUNS as usize] {
    let other = if found == 4096 { 512 } else { 4096 };
    let same = 512 + 4096 - other;
    [other, same, same, other]
}

fn measure(session: &mut Session<'_>, whole: &Whole, found: u32) -> Result<(), MethodError> {
    let workloads = workloads(whole);
    let mut rates = vec![[Vec::new(), Vec::new()]; workloads.len()];
    for (round, block) in formats(found).into_iter().enumerate() {
        format(session, block)?;
        session.fill_region(whole, "fill", region(whole))?;
        for (w, rates) in workloads.iter().zip(&mut rates) {
            let m = session.measure(w, round as u32)?;
            rates[usize::from(block == 4096)].push(m.throughput(None).unwrap_or(0.0));
            put(session, &w.name, rates);
            session.checkpoint();
        }
    }
    Ok(())
}

fn format(session: &mut Session<'_>, block_bytes: u32) -> Result<(), MethodError> {
    session.prepare("format", Preparation::Format { block_bytes })?;
    session.out.state_after = record::State::Fresh;
    Ok(())
}

fn put(session: &mut Session<'_>, name: &str, rates: &[Vec<f64>; 2]) {
    for (block, rates) in [512, 4096].into_iter().zip(rates) {
        if !rates.is_empty() {
            session.put_rates(&format!("{name}-in-{block}"), rates);
        }
    }
    let n = rates[0].len().min(rates[1].len());
    if let Some(c) = analysis::compare(&rates[0][..n], &rates[1][..n]) {
        let metric = Metric::single(format!("{name}.ratio"), Unit::Number, c.ratio);
        let samples = rates[0].iter().zip(&rates[1]).map(|(a, b)| b / a).collect();
        session.out.put_metric(Metric { low: c.low, high: c.high, n: c.n, samples, ..metric });
    }
}

fn workloads(whole: &Whole) -> Vec<Workload> {
    let (small, large) = (4096, whole.ground.large);
    let table: [(&str, OpKind, u32, u32); 6] = [
        ("seq", Read, large, 8),
        ("seq", Write, large, 8),
        ("rand", Read, small, 32),
        ("rand", Write, small, 32),
        ("rand", Read, small, 1),
        ("rand", Write, small, 1),
    ];
    let of = |(index, (order, kind, block, depth)): (usize, (&str, OpKind, u32, u32))| {
        let size = binary(u64::from(block)).replace(' ', "");
        let name = format!("lbaf-{order}-{}-{size}-q{depth}", kind.name());
        let mut w =
            whole.random(&name, Mix::of(kind), block, whole.seconds(EACH_SECONDS), index as u32);
        w.pattern = if order == "seq" { Pattern::Sequential } else { Pattern::UniformOnce };
        (w.region, w.blocks, w.depth) = (region(whole), BlockSizes::Fixed(block), depth);
        w.stop.bytes = Some(w.region.bytes).filter(|_| kind == Write);
        w
    };
    table.into_iter().enumerate().map(of).collect()
}

fn region(whole: &Whole) -> Region {
    Region::first(whole.bytes().min(REGION_MOST))
}
