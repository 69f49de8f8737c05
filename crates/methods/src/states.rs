//! `states`: the effect of use on a drive, and of discard in restoring it (the experiment on SSDs
//! and TRIM).
//!
//! Random 4 KiB writes at depth 3, aligned, from each state a drive can be in; the file system's
//! actions that lead to a state are performed directly. Deleting a partition writes one block and
//! tells the drive nothing. Deleting the only file discards everything but the file system's own
//! blocks. A quick format discards everything. Sequential reads and writes over all addresses come
//! before the random writes, after them, and after the last discard.
//! random writes, behind them, and behind the last discard.

use record::{Metric, Unit};
use workload::OpKind::{Read, Write};
use workload::{BlockSizes, Mix, OpKind, Region, Workload};

use crate::session::Session;
use crate::verdict::States;
use crate::whole::Whole;
use crate::zones::PARTS;
use crate::{Method, MethodError, MethodInfo, Options};

/// Seconds of random writes from each state: twelve minutes, as in the experiment.
const RANDOM_SECONDS: f64 = 720.0;

/// Default duration in seconds, with six passes over a small drive at 100 MB/s.
const SECONDS: f64 = 9000.0;

/// Queue depth of the random writes.
const OUTSTANDING: u32 = 3;

/// Random writes end at this share of the drive: a fast one would be worn for nothing. The
/// experiment wrote 13%.
const RANDOM_SHARE_MOST: f64 = 0.25;

/// Block size of the sequential passes at depth 1, as in the tool of the experiment.
const PASS_BLOCK: u32 = 128 << 10;

/// Share that a file system keeps for itself at both ends when its only file is deleted.
const OWN_SHARE: f64 = 0.005;

/// The method.
pub(crate) struct StatesMethod;

static INFO: MethodInfo = MethodInfo {
    name: "states",
    summary: "what does use do to the drive, and what does discard restore",
    about: "Twelve minutes of random 4 KiB writes, three outstanding, from each of these states: \
            fresh (all discarded); filled in order; filled and its partition deleted, of which a \
            drive learns nothing; filled and the file deleted with discard; filled and formatted \
            with discard; used at random and then discarded. Besides, 128 KiB reads and writes in \
            order over all addresses when fresh, when used, and when restored. The verdict says \
            whether discard restores the drive: yes, partly or no, with the ratio.",
    safety: record::Safety::Destroys,
    seconds: SECONDS,
    writes: "the whole drive six times in order, and six times at most a quarter of it at random",
    ..MethodInfo::EMPTY
};

/// One action of the sequence.
enum Act {
    Discard(Region),
    Fill,
    /// Writes a single block.
    ForgetPartition,
    Random(&'static str),
    Pass(&'static str, OpKind),
}

/// The sequence: every state is reached from a known one.
fn acts(whole: &Whole) -> Vec<Act> {
    use Act::*;
    let all = whole.everything;
    let own = (OWN_SHARE * all.bytes as f64) as u64 / (1 << 20) * (1 << 20);
    let file = Region { start: own, bytes: whole.bytes() - 2 * own };
    vec![
        Discard(all),
        Pass("states-write-fresh", Write),
        Pass("states-read-fresh", Read),
        Random("states-filled"),
        Discard(all),
        Random("states-fresh"),
        Pass("states-read-used", Read),
        Pass("states-write-used", Write),
        Discard(all),
        Fill,
        ForgetPartition,
        Random("states-partition-deleted"),
        Fill,
        Discard(file),
        Random("states-file-deleted"),
        Fill,
        Discard(all),
        Random("states-formatted"),
        Discard(all),
        Random("states-used-discarded"),
        Discard(all),
        Pass("states-write-restored", Write),
        Pass("states-read-restored", Read),
    ]
}

impl Method for StatesMethod {
    fn info(&self) -> &'static MethodInfo {
        &INFO
    }

    fn run(&self, session: &mut Session<'_>, options: &Options) -> Result<(), MethodError> {
        let whole = Whole::new(&INFO, session.target(), options)?;
        session.checks.states = Some(States::default());
        acts(&whole).iter().try_for_each(|act| perform(session, &whole, act))
    }
}

fn perform(session: &mut Session<'_>, whole: &Whole, act: &Act) -> Result<(), MethodError> {
    match act {
        Act::Discard(region) => session.discard(whole, "discard", *region).map(drop),
        Act::Fill => session.fill_region(whole, "fill", whole.ground.region()),
        Act::ForgetPartition => {
            session.fill_region(whole, "delete-partition", partition_table(whole))
        }
        Act::Random(name) => {
            let rate = session.course(&random(whole, name), 0)?.average().unwrap_or(0.0);
            put(session, name, rate);
            session.checks.states.get_or_insert_default().add(name, rate);
            session.checkpoint();
            Ok(())
        }
        Act::Pass(name, kind) => {
            let course = session.course(&pass(whole, name, *kind), 0)?;
            put(session, name, course.average().unwrap_or(0.0));
            for (part, from, to) in PARTS {
                let rate = course.rate_between(from * course.bytes(), to * course.bytes());
                rate.into_iter().for_each(|rate| put(session, &format!("{name}.{part}"), rate));
            }
            session.checkpoint();
            Ok(())
        }
    }
}

fn put(session: &mut Session<'_>, name: &str, rate: f64) {
    session.out.put_metric(Metric::single(name, Unit::BytesPerSecond, rate));
}

/// The region written when a partition is deleted.
fn partition_table(whole: &Whole) -> Region {
    Region::first(u64::from(whole.ground.large))
}

/// The random writes of the experiment.
fn random(whole: &Whole, name: &str) -> Workload {
    let seconds = whole.seconds(RANDOM_SECONDS);
    let mut w = whole.random(name, Mix::WRITE, whole.ground.small, seconds, 7);
    let most = (RANDOM_SHARE_MOST * whole.bytes() as f64) as u64;
    w.stop.bytes = Some(most);
    w.depth = OUTSTANDING;
    w
}

/// One pass over everything, as in the tool of the experiment.
fn pass(whole: &Whole, name: &str, kind: OpKind) -> Workload {
    let mut w = whole.pass(name, kind, 8);
    w.blocks = BlockSizes::Fixed(PASS_BLOCK.next_multiple_of(whole.ground.small));
    w.depth = 1;
    w
}
