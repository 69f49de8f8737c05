//! `states`: the effect of use on a drive, and of discard in restoring it (the experiment on SSDs
//! and TRIM).
//!
//! The file system's actions that lead to a state are performed directly. Deleting a partition
//! writes one block and discards nothing. Deleting the only file discards everything but the file
//! system's own blocks. A quick format discards everything.

mod answer;
mod in_file;

use record::{MetricKey, Unit};
use workload::OpKind::{Read, Write};
use workload::{BlockSizes, Mix, OpKind, Region, Workload};

use crate::zones::PARTS;
use in_file::FSTRIM;
use rig::RigError;
use rules::{ReachedState, States};
use script::whole::{FILE_BYTES, Whole};
use script::{Common, MethodInfo, MetricInfo, Options, Result, ScratchUse, Session};

/// Seconds of random writes from each state: twelve minutes, as in the experiment.
const RANDOM_SECONDS: f64 = 720.0;

/// Default duration in seconds, with six passes over a small drive at 100 MB/s.
const SECONDS: f64 = 9000.0;

/// Queue depth of the random writes.
const OUTSTANDING: u32 = 3;

/// Random writes end at this share of the drive, to avoid needless wear on a fast drive. The
/// experiment wrote 13%.
const RANDOM_SHARE_MAX: f64 = 0.25;

/// Block size of the sequential passes at depth 1, as in the tool of the experiment.
const PASS_BLOCK: u32 = 128 << 10;

/// Share that a file system keeps for itself at both ends when its only file is deleted.
const OWN_SHARE: f64 = 0.005;

/// The method.
pub(crate) static INFO: MethodInfo = MethodInfo {
    name: "states",
    summary: "effect of use, and recovery by discard",
    about: "Runs twelve minutes of random 4 KiB writes at depth 3 from each of these states: fresh \
            (all discarded); filled sequentially; filled and its partition deleted, without a \
            discard; filled and the file deleted with discard; filled and formatted with discard; \
            used by random writes and then discarded. Reads and writes 128 KiB blocks sequentially \
            over all addresses when fresh, when used, and when restored. The verdict says whether \
            discard restores the drive: yes, partly or no, with the ratio. In a directory, a scratch \
            file is filled, and the random writes to its first quarter alternate with the rest of \
            it written and freed (--fstrim also trims all free space of the file system).",
    safety: record::Safety::Destroys,
    seconds: SECONDS,
    writes: "the whole drive six times sequentially, and six times at most a quarter at random; in a \
             directory at most 100 GB",
    scratch: ScratchUse::passes(in_file::PASSES),
    options: &[&FSTRIM],
    ignores: &[Common::Replicates],
    primary: &[
        "states-{fresh,filled,file-deleted,used-discarded}",
        "states-{write,read}-{fresh,used}",
    ],
    metrics: &[&[
        MetricInfo::rate(
            "states-fresh",
            "random 4 KiB writes at depth 3, 12 minutes, on a discarded drive",
        ),
        MetricInfo::rate(
            "states-{filled,partition-deleted}",
            "the same on a full drive; after one more block was written",
        ),
        MetricInfo::rate(
            "states-{file-deleted,formatted}",
            "full, then nearly all or all discarded",
        ),
        MetricInfo::rate("states-used-discarded", "random writes, then all discarded"),
        PASSES,
        MetricInfo::rate(
            "states-{write,read}-{fresh,used,restored}.{first-third,middle,last-tenth}",
            "parts of this pass: up to 1/3, 1/3 to 9/10, 9/10 to the end",
        ),
        FILE_BYTES,
    ]],
    run,
    answer: answer::answer,
    ..MethodInfo::EMPTY
};

const PASSES: MetricInfo = MetricInfo::rate(
    "states-{write,read}-{fresh,used,restored}",
    "sequential over all addresses: written once, after random writes, after a discard",
);

/// One action of the sequence.
enum Act {
    Discard(Region),
    Fill,
    /// Writes a single block.
    ForgetPartition,
    Random(ReachedState),
    Pass(&'static str, OpKind),
}

/// The sequence: every state is reached from a known one.
fn acts(whole: &Whole) -> Vec<Act> {
    use Act::*;
    let everything = whole.everything;
    let reserved = (OWN_SHARE * everything.bytes as f64) as u64 / (1 << 20) * (1 << 20);
    let file = Region { start: reserved, bytes: whole.bytes() - 2 * reserved };
    vec![
        Discard(everything),
        Pass("fresh", Write),
        Pass("fresh", Read),
        Random(ReachedState::Filled),
        Discard(everything),
        Random(ReachedState::Fresh),
        Pass("used", Read),
        Pass("used", Write),
        Discard(everything),
        Fill,
        ForgetPartition,
        Random(ReachedState::PartitionDeleted),
        Fill,
        Discard(file),
        Random(ReachedState::FileDeleted),
        Fill,
        Discard(everything),
        Random(ReachedState::Formatted),
        Discard(everything),
        Random(ReachedState::UsedDiscarded),
        Discard(everything),
        Pass("restored", Write),
        Pass("restored", Read),
    ]
}

fn run(session: &mut Session<'_>, options: &Options) -> Result<()> {
    let whole = Whole::new(&INFO, session.target(), options)?;
    let trims = options.get(&FSTRIM);
    if whole.in_file {
        return in_file::run(session, &whole, trims);
    }
    if trims {
        let text = "--fstrim trims the free space of a file system, and this target is a drive";
        return Err(RigError::usage(text, "the same without --fstrim").into());
    }
    session.checks_mut().put(States::default());
    acts(&whole).iter().try_for_each(|act| perform(session, &whole, act))
}

fn perform(session: &mut Session<'_>, whole: &Whole, act: &Act) -> Result<()> {
    match act {
        Act::Discard(region) => session.discard(whole, "discard", *region).map(drop),
        Act::Fill => session.fill_region(whole, "fill", whole.test_region.region()),
        Act::ForgetPartition => {
            session.fill_region(whole, "delete-partition", partition_table(whole))
        }
        Act::Random(state) => {
            let w = random(whole, state.name());
            let rate = session.measure_over_time(&w, 0)?.average().unwrap_or(0.0);
            session.put_value(MetricKey::from_workload(&w), Unit::BytesPerSecond, Some(rate));
            session.checks_mut().update(|states: &mut States| states.add(*state, rate));
            session.checkpoint();
            Ok(())
        }
        Act::Pass(state, kind) => {
            let key = PASSES.member(&[&kind.name(), state]);
            let series = session.measure_over_time(&pass(whole, &key.to_string(), *kind), 0)?;
            session.put_value(key.clone(), PASSES.unit, Some(series.average().unwrap_or(0.0)));
            for (part, from, to) in PARTS {
                let rate = series.rate_between(from * series.bytes(), to * series.bytes());
                session.put_value(key.clone().with(part), PASSES.unit, rate);
            }
            session.checkpoint();
            Ok(())
        }
    }
}

/// The region written when a partition is deleted.
fn partition_table(whole: &Whole) -> Region {
    Region::first(u64::from(whole.test_region.large))
}

/// The random writes of the experiment.
fn random(whole: &Whole, name: &str) -> Workload {
    let seconds = whole.seconds(RANDOM_SECONDS);
    let mut w = whole.random(name, Mix::WRITE, whole.test_region.small, seconds, 7);
    let most = (RANDOM_SHARE_MAX * whole.bytes() as f64) as u64;
    w.stop.bytes = Some(most);
    w.depth = OUTSTANDING;
    w
}

/// One pass over everything, as in the tool of the experiment.
fn pass(whole: &Whole, name: &str, kind: OpKind) -> Workload {
    let mut w = whole.pass(name, kind, 8);
    w.blocks = BlockSizes::Fixed(PASS_BLOCK.next_multiple_of(whole.test_region.small));
    w.depth = 1;
    w
}
