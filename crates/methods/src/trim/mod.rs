//! `trim`: does a discard reach the drive, and what is its effect?
//!
//! A drive can accept the command and ignore it, and an adapter can swallow it. Three signals do
//! not depend on the drive's claim: the content of the blocks after the discard, whether reads of
//! them still take the time of flash, and whether random writes on a used drive become faster. In a
//! directory, only the first is available, through the file system: blocks of a scratch file are
//! located on the device, freed, trimmed, and read without the file system.

mod answer;

use record::{Finding, FindingKind, Level, Safety, TargetKind, Unit};
use rig::{Preparation, Released, RigError, TargetInfo};
use workload::{Content, Mix, Region, Workload};

use rules::Trim;
use script::whole::Whole;
use script::{
    MethodError, MethodInfo, MetricInfo, Options, Result, Round, Session, TestRegion, schedule,
};

/// Seconds of random writes that turn a full drive into a used one.
const AGE_SECONDS: f64 = 60.0;

/// Seconds of random writes before and after the full discard.
const WRITE_SECONDS: f64 = 30.0;

/// These writes end early after this many passes; more would only wear a fast drive.
const AGE_PASSES: f64 = 0.5;
const WRITE_PASSES: f64 = 0.25;

/// Seconds per replicate of reads.
const READ_SECONDS: f64 = 1.0;

/// Rounds of reads: two pairs, forwards and backwards.
const READ_ROUNDS: u32 = 4;

/// Rounds of writes, each with its own fill.
const WRITE_ROUNDS: u32 = 2;

/// Default duration in seconds, with two fills.
const SECONDS: f64 = 300.0;

/// Queue depth of the random writes, as in `states`.
const OUTSTANDING: u32 = 3;

/// Maximum size of the discarded region and of its counterpart, bytes.
const CANARY_MAX: u64 = 1 << 30;

/// Size of the canary in a directory, bytes.
const SCRATCH: u64 = 64 << 20;

/// Names of the reads before the discard.
const BEFORE: [&str; 2] = ["trim-before-mapped", "trim-before-discarded"];

/// The method.
pub(crate) static INFO: MethodInfo = MethodInfo {
    name: "trim",
    summary: "does a discard reach it, with what effect",
    about: "On a drive: fills it and writes at random until it is used; discards a part of it, \
            checks the content of its blocks, and whether reads of them still take the time of \
            flash, relative to another part and to the same reads before the discard; then \
            compares random writes before and after a discard of the whole drive; twice. In a \
            directory: writes a scratch file, finds its blocks on the device, frees them, trims \
            (fstrim), and reads the blocks without the file system, which needs root. The verdict \
            lists the signals observed.",
    safety: Safety::Destroys,
    seconds: SECONDS,
    writes: "the whole drive twice, and random writes for four minutes; 64 MiB in a directory",
    primary: &[RANDOM_READS.name, RANDOM_WRITES.name],
    metrics: &[&[CANARY, RANDOM_READS, RATIO, RANDOM_WRITES]],
    run,
    answer: answer::answer,
    ..MethodInfo::EMPTY
};

const CANARY: MetricInfo = MetricInfo::new(
    "trim-canary.{zeros,kept}",
    Unit::Share,
    "share of discarded blocks that read as zeros; that keep their content",
);
const RANDOM_READS: MetricInfo = MetricInfo::rate(
    "trim-read-{mapped,discarded}",
    "random 4 KiB reads at queue depth 1 of blocks with data; of discarded ones, in turn",
);
const RATIO: MetricInfo = MetricInfo::number(
    "trim-read-discarded.ratio",
    "the second over the first, relative to the same ratio before the discard",
);
const RANDOM_WRITES: MetricInfo = MetricInfo::rate(
    "trim-write-{used,restored}",
    "random 4 KiB writes at queue depth 3 on a full and used drive; after a full discard",
);
const ZEROS: MetricInfo = CANARY.named("trim-canary.zeros");
const KEPT: MetricInfo = CANARY.named("trim-canary.kept");
/// The two workloads compared: reads after the discard, and writes.
const READS: [MetricInfo; 2] =
    [RANDOM_READS.named("trim-read-mapped"), RANDOM_READS.named("trim-read-discarded")];
const WRITES: [MetricInfo; 2] =
    [RANDOM_WRITES.named("trim-write-used"), RANDOM_WRITES.named("trim-write-restored")];

fn run(session: &mut Session<'_>, options: &Options) -> Result<()> {
    match session.target().target.kind {
        TargetKind::Directory => {
            let test_region = scratch(session.target(), options)?;
            in_directory(session, &test_region)
        }
        _ => {
            let whole = Whole::new(&INFO, session.target(), options)?;
            on_drive(session, &whole)
        }
    }
}

/// The region of the scratch file in a directory.
fn scratch(target: &TargetInfo, options: &Options) -> Result<TestRegion> {
    let size = options.size.unwrap_or(SCRATCH.min(target.bytes));
    TestRegion::new(target, &options.sized(size), SECONDS)
}

fn in_directory(session: &mut Session<'_>, test_region: &TestRegion) -> Result<()> {
    session.checks_mut().put(Trim { by_file_system: true, ..Trim::default() });
    let region = Region::first(session.begin(test_region, test_region.seconds)?);
    release(session, region)
}

fn on_drive(session: &mut Session<'_>, whole: &Whole) -> Result<()> {
    let takes = whole.discard;
    session.checks_mut().put(Trim { refused: !takes, ..Trim::default() });
    session.checkpoint();
    if !takes {
        return session.discard(whole, "discard", whole.everything).map(drop);
    }
    let mut rates = [Vec::new(), Vec::new()];
    session.rounds(whole.rounds(WRITE_ROUNDS), None, |session, round| {
        session.fill_region(whole, "fill", whole.test_region.region())?;
        session.measure(&writes(whole, "trim-age", AGE_SECONDS, AGE_PASSES), round)?;
        let used = writes(whole, WRITES[0].name, WRITE_SECONDS, WRITE_PASSES);
        rates[0].push(reported_rate(session, &used, round)?);
        if round == 0 {
            let before = read_both(session, whole, BEFORE)?;
            let [discarded, _] = canaries(whole);
            release(session, discarded)?;
            let after = read_both(session, whole, READS.map(|reads| reads.name))?;
            put_reads(session, &before, &after);
        }
        session.discard(whole, "discard", whole.everything)?;
        let restored = writes(whole, WRITES[1].name, WRITE_SECONDS, WRITE_PASSES);
        rates[1].push(reported_rate(session, &restored, round)?);
        for (metric, rates) in WRITES.into_iter().zip(&rates) {
            session.put_rates(metric, rates);
        }
        session.checks_mut().update(|trim: &mut Trim| trim.writes = rates.clone());
        session.checkpoint();
        Ok(Round::Again)
    })?;
    Ok(())
}

/// Reads the part to keep and the part to discard, in alternation, and returns their rates.
fn read_both(session: &mut Session<'_>, whole: &Whole, names: [&str; 2]) -> Result<[Vec<f64>; 2]> {
    let [discarded, kept] = canaries(whole);
    let sides = [reads(whole, names[0], kept), reads(whole, names[1], discarded)];
    let mut rates = [Vec::new(), Vec::new()];
    session.rounds(READ_ROUNDS, None, |session, round| {
        for side in schedule::order(sides.len(), round) {
            rates[side].push(session.rate(&sides[side], round)?);
        }
        Ok(Round::Again)
    })?;
    Ok(rates)
}

/// Publishes the reads. The two parts need not be equally fast even with data: one of them can
/// still be in a write cache. So the effect of the discard is the change of their ratio.
fn put_reads(session: &mut Session<'_>, before: &[Vec<f64>; 2], after: &[Vec<f64>; 2]) {
    for (metric, rates) in READS.into_iter().zip(after) {
        session.put_rates(metric, rates);
    }
    let ratios = [before, after].map(|[kept, discarded]| -> Vec<f64> {
        discarded.iter().zip(kept).map(|(discarded, kept)| discarded / kept).collect()
    });
    session.put_ratio(READS[1], &ratios[0], &ratios[1]);
    session.checks_mut().update(|trim: &mut Trim| trim.reads = ratios);
    session.checkpoint();
}

/// Measures a replicate, keeps its time series and returns bytes per second.
fn reported_rate(session: &mut Session<'_>, w: &Workload, round: u32) -> Result<f64> {
    let m = session.measure(&TestRegion::replicate(w, round), round)?;
    Ok(m.throughput(None).unwrap_or(0.0))
}

/// Discards a region and records the resulting content, or the reason why it cannot be checked.
fn release(session: &mut Session<'_>, region: Region) -> Result<()> {
    match session.prepare("release", Preparation::Release { region }) {
        Ok(prepared) => put_released(session, prepared.released.filter(looked)),
        Err(MethodError::Rig(RigError::Unsupported(why))) => {
            unseen(session, why, "a test of the whole drive, with --destroy");
        }
        Err(MethodError::Rig(RigError::Refused(why))) if is_scratch(session.target()) => {
            unseen(session, why, "sudo");
        }
        Err(error) => return Err(error),
    }
    session.checkpoint();
    Ok(())
}

/// Records why the blocks were not read, and what would read them.
fn unseen(session: &mut Session<'_>, why: String, remedy: &str) {
    let finding = Finding::new(FindingKind::BlocksNotRead, Level::Warn, why.clone());
    session.note(finding.advise(remedy));
    session.checks_mut().update(|trim: &mut Trim| trim.unseen = Some(why));
}

fn is_scratch(target: &TargetInfo) -> bool {
    target.target.kind == TargetKind::Directory
}

fn put_released(session: &mut Session<'_>, released: Option<Released>) {
    session.checks_mut().update(|trim: &mut Trim| trim.released = released);
    let Some(Released { looked_bytes, zero_bytes, kept_bytes, .. }) = released else { return };
    for (metric, bytes) in [(ZEROS, zero_bytes), (KEPT, kept_bytes)] {
        session.put(metric, Some(bytes as f64 / looked_bytes as f64));
    }
}

fn looked(released: &Released) -> bool {
    released.looked_bytes > 0
}

/// Two parts of the drive of equal size: one to discard, one to keep.
fn canaries(whole: &Whole) -> [Region; 2] {
    let large = u64::from(whole.test_region.large);
    let bytes = (whole.bytes() / 4).min(CANARY_MAX) / large * large;
    let half = whole.bytes() / 2 / large * large;
    [Region::first(bytes), Region { start: half, bytes }]
}

/// Random writes for a time or for this many passes.
fn writes(whole: &Whole, name: &str, seconds: f64, passes: f64) -> Workload {
    let mut w = whole.random(name, Mix::WRITE, whole.test_region.small, whole.seconds(seconds), 8);
    w.depth = OUTSTANDING;
    w.content = Content::Random;
    w.stop.bytes = Some((passes * whole.bytes() as f64) as u64);
    w
}

fn reads(whole: &Whole, name: &str, region: Region) -> Workload {
    let seconds = whole.seconds(READ_SECONDS);
    let mut w = whole.random(name, Mix::READ, whole.test_region.small, seconds, 9);
    w.region = region;
    w
}
