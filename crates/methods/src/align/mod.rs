//! `align`: the cost of misalignment (the experiment on IOMeter's default).
//!
//! In a partition that begins at sector 63, every block is 512 bytes before a boundary. All offsets
//! run in alternating order over the same written region, so the writes affect the drive equally.

mod answer;

use record::{Finding, FindingKind, Level, MetricKey};
use rig::TargetInfo;
use workload::units::binary;
use workload::{Mix, Pattern, Region, Workload};

use rules::Shift;
use script::whole::{FILE_BYTES, Whole};
use script::{
    MethodInfo, MetricInfo, Options, Result, Round, ScratchUse, Session, TestRegion,
    random_writes_max, schedule,
};

/// Seconds per replicate of one offset.
const EACH_SECONDS: f64 = 5.0;

/// Rounds: two pairs, forwards and backwards.
const ROUNDS: u32 = 4;

/// Default duration including the fill, seconds.
const SECONDS: f64 = 300.0;

/// Queue depth, as in the experiment.
const OUTSTANDING: u32 = 3;

/// Maximum size of the region. A larger one would measure garbage collection instead of the crossed
/// page.
const REGION_MAX: u64 = 8 << 30;

/// A replicate ends after writing this fraction (1/n) of the region, to avoid needless wear on a
/// fast drive.
const SHARE_MAX: u64 = 8;

/// Bytes per write. Multiples of them are no misalignment, but controls: the same blocks, at other
/// addresses.
const BLOCK: u64 = 4096;

/// Offsets from the boundary, bytes.
const SHIFTS: [u64; 13] =
    [0, 512, 1024, 1536, 2048, 2560, 3072, 3584, 4096, 8192, 16384, 32768, 65536];

/// What a file hides.
const HIDDEN: &str = "a file system may itself delay writes that do not cover its blocks, so the \
                      drive's own cost is at most the one measured";

/// Times that the region is written: once by the fill, then by every round at every offset.
const PASSES: f64 = 1.0 + (ROUNDS as usize * SHIFTS.len()) as f64 / SHARE_MAX as f64;

/// The method.
pub(crate) static INFO: MethodInfo = MethodInfo {
    name: "align",
    summary: "what do misaligned writes cost",
    about: "Discards the drive and writes a region of 8 GiB (or --size) sequentially. Then writes \
            4 KiB blocks to it at random at depth 3, at offsets of 0, 512, 1024 ... bytes up to \
            64 KiB from their boundary, each offset four times in alternating order. Reports the \
            throughput at each offset and its ratio to the aligned throughput, with confidence \
            intervals. In a directory, a scratch file takes the place of the drive. Offsets that the drive's logical block size does not allow are skipped.",
    safety: record::Safety::Destroys,
    seconds: SECONDS,
    writes: "the region once, then random writes for four minutes; in a directory at most 100 GB",
    scratch: ScratchUse::passes(PASSES),
    primary: &["align-{0,512,2048}"],
    metrics: &[&[WRITES, RATIO, FILE_BYTES]],
    run,
    answer: answer::answer,
    ..MethodInfo::EMPTY
};

const WRITES: MetricInfo = MetricInfo::rate(
    "align-{bytes}",
    "random 4 KiB writes, 3 outstanding, at this offset from their boundary",
);
const RATIO: MetricInfo = MetricInfo::number("align-{bytes}.ratio", "its ratio to `align-0`");

fn run(session: &mut Session<'_>, options: &Options) -> Result<()> {
    let whole = Whole::new(&INFO, session.target(), options)?;
    let workloads = workloads(&whole, session.target());
    let block = session.target().logical_block_bytes;
    session.note_file(&whole, HIDDEN);
    if workloads.len() < SHIFTS.len() {
        session.note(forbidden(block));
    }
    measure(session, &whole, &workloads)
}

fn measure(session: &mut Session<'_>, whole: &Whole, workloads: &[Workload]) -> Result<()> {
    if !whole.in_file {
        session.discard(whole, "discard", whole.everything)?;
    }
    session.fill_region(whole, "fill", region(whole))?;
    let mut shifts: Vec<Shift> =
        workloads.iter().map(|w| Shift { bytes: w.shift_bytes, rates: Vec::new() }).collect();
    session.rounds(whole.rounds(ROUNDS), None, |session, round| {
        for index in schedule::order(workloads.len(), round) {
            let m = session.measure(&TestRegion::replicate(&workloads[index], round), round)?;
            shifts[index].rates.push(m.throughput(None).unwrap_or(0.0));
        }
        for shift in &shifts {
            session.put_rates(key(shift.bytes), &shift.rates);
            if shift.bytes > 0 {
                session.put_ratio(key(shift.bytes), &shifts[0].rates, &shift.rates);
            }
        }
        session.checks_mut().put(shifts.clone());
        session.checkpoint();
        Ok(Round::Again)
    })?;
    Ok(())
}

/// One workload per offset that the drive's block size allows.
fn workloads(whole: &Whole, target: &TargetInfo) -> Vec<Workload> {
    let block = u64::from(target.logical_block_bytes.max(1));
    let allowed = SHIFTS.into_iter().filter(|shift| shift.is_multiple_of(block));
    let seconds = whole.seconds(EACH_SECONDS);
    let workloads = allowed.map(|shift| {
        let mut w =
            whole.random(&key(shift).to_string(), Mix::WRITE, whole.test_region.small, seconds, 5);
        (w.pattern, w.region, w.shift_bytes) = (Pattern::UniformOnce, region(whole), shift);
        w.stop.bytes = Some(random_writes_max(target, w.region.bytes, SHARE_MAX));
        w.depth = OUTSTANDING;
        w
    });
    workloads.collect()
}

fn key(shift: u64) -> MetricKey {
    WRITES.member(&[&shift])
}

fn region(whole: &Whole) -> Region {
    Region::first(whole.bytes().min(REGION_MAX))
}

fn forbidden(block: u32) -> Finding {
    let block = binary(u64::from(block));
    let text = format!("the drive's logical block is {block}: smaller offsets are not possible");
    Finding::new(FindingKind::AlignmentForced, Level::Note, text)
}
