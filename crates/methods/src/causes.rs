//! Interventions that separate causes: the same workload with one thing changed.
//!
//! A value alone fits many causes. A larger depth, larger blocks, sequential blocks, a small region
//! or a burst to an idle drive changes it under some causes and not under others; the rules on
//! [`rules`]'s grid draw the conclusions. Only values without direct evidence are tested,
//! within a budget declared in the plan. The unchanged write is repeated between its tests, because
//! a cache that fills or drains meanwhile would look like an effect of the change. The read after a
//! rest is always made: no value under load shows a power state.

use record::{MetricKey, Unit};
use rig::Stage;
use rules::LimitTest;
use rules::changes::{
    AFTER_REST, Addressing, BEFORE_LIMIT, BURSTS, DEEPER, DEPTH, EMPTY_FLUSH, LARGER, LIMIT_RESTS,
    NEAR_BYTES, SLOW_BURSTS, UNITS, limit_test_name, other_size_name,
};
use workload::OpKind::{Read, Write};
use workload::{BlockSizes, Mix, OpKind, Pattern, Region, Stop, Workload};

use script::{Budget, Result, Round, Session, TestRegion, has_slow_link};

/// First seed of the tests, distinct from seeds of cells and checks.
const SEED: u32 = 40;

/// Index of the seed of the test of a whole depth, after those of changes, rests and bursts.
const WHOLE_DEPTH: u32 = 30;

/// Maximum share of the region that a test writes.
const PASSES_MAX: f64 = 0.125;

/// Number of empty flushes, which agree.
const FLUSHES: u64 = 3;

/// Repetitions of tests that begin with a rest, and the share of the time for the rests.
const RESTS: u32 = 3;
const REST_SHARE: f64 = 0.4;

/// Index of the seed of the tests for limits.
const LIMIT_SEED: u32 = 31;

/// Maximum number of tests for a limit.
const LIMIT_TESTS: u32 = 2;

/// Parts of the time of a test for a limit: rests of one and two, runs of one, what follows or precedes,
/// and a half for what is in flight at their ends.
const LIMIT_PARTS: f64 = 6.5;

/// Intervals of a run of such a test.
const LIMIT_INTERVALS: u64 = 60;

/// Share of the time for the other tests. The remainder is for the I/O after each rest.
const CHANGES_SHARE: f64 = 0.54;

/// Whether a workload belongs to the checks or to the search for causes: they depend on earlier
/// results, so that runs of one method differ in them.
pub fn depends_on_results(workload: &str) -> bool {
    ["check-", "cause-"].iter().any(|prefix| workload.starts_with(prefix))
}

/// A change to the deep random cell of `kind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Change {
    kind: OpKind,
    place: Addressing,
    /// Multiple of the small block.
    blocks: u32,
    depth: u32,
}

const fn change(kind: OpKind, place: Addressing, blocks: u32, depth: u32) -> Change {
    Change { kind, place, blocks, depth }
}

/// The cheapest tests of writes, which distinguish a card from a drive.
const FIRST_WRITE: Change = change(Write, Addressing::InOrder, 1, DEPTH);
const NEAR_WRITE: Change = change(Write, Addressing::Near, 1, DEPTH);

/// The test of reads that tells a cache, which also speeds up writes, from open blocks. It is needed
/// even if all reads are explained.
const NEAR_READ: Change = change(Read, Addressing::Near, 1, DEPTH);

/// The tests, most informative first.
const CHANGES: [Change; 18] = [
    change(Read, Addressing::Random, LARGER[0], DEPTH),
    FIRST_WRITE,
    NEAR_WRITE,
    change(Write, Addressing::Again, 1, DEPTH),
    change(Read, Addressing::Random, 1, DEEPER),
    change(Write, Addressing::Random, UNITS[3], DEPTH),
    change(Write, Addressing::Random, UNITS[2], DEPTH),
    change(Write, Addressing::After, 1, DEPTH),
    change(Read, Addressing::Random, LARGER[0], 1),
    change(Read, Addressing::Random, LARGER[1], 1),
    NEAR_READ,
    change(Write, Addressing::Random, UNITS[1], DEPTH),
    change(Write, Addressing::Random, UNITS[0], DEPTH),
    change(Read, Addressing::InOrder, 1, DEPTH),
    change(Write, Addressing::Random, LARGER[0], 1),
    change(Write, Addressing::Random, LARGER[1], 1),
    change(Read, Addressing::Random, LARGER[1], DEPTH),
    change(Write, Addressing::Random, 1, DEEPER),
];

impl Change {
    /// Whether its result is not already known: where a queue is no faster than one after another, a
    /// longer one is not, and takes long.
    fn tells(self, session: &Session<'_>) -> bool {
        self.kind == Write || self.depth != DEEPER || rules::gains_from_queue(session.seen(), Read)
    }

    fn workload(self, test_region: &TestRegion, index: u32, seconds: f64) -> Workload {
        let block = test_region.small * self.blocks;
        let pattern = match self.place {
            Addressing::InOrder => Pattern::Sequential,
            Addressing::Near => Pattern::Uniform,
            Addressing::Random | Addressing::Again | Addressing::After => Pattern::UniformOnce,
        };
        let place = self.place.name();
        let size = record::size_word(u64::from(block));
        let name = format!("cause-{}-{place}-{size}-{}", self.kind.name(), self.depth);
        let mut region = test_region.region();
        if self.place == Addressing::Near {
            region = Region { bytes: region.bytes.min(NEAR_BYTES), ..region };
        }
        let mut w = Workload::new(name, pattern, Mix::from_kind(self.kind), block, region);
        (w.depth, w.seed) = (self.depth, test_region.seed_of(SEED + index));
        w.stop = Stop::after_seconds(seconds);
        if self.kind == Write {
            w.flush_at_end = true;
            w.stop.bytes = Some((PASSES_MAX * test_region.bytes as f64) as u64);
        }
        w
    }
}

/// Reads from a rest on, then from a rest twice as long, where rates look like those of a limit: what
/// a bucket lets pass comes back with a rest. Blocks of another size follow, which tell what the limit
/// counts. All of it takes `seconds`.
pub(crate) fn limits(
    session: &mut Session<'_>,
    test_region: &TestRegion,
    seconds: f64,
) -> Result<()> {
    session.budget("limits", Budget { seconds, ..Budget::default() }, |session| {
        let mut part_seconds = seconds / (f64::from(LIMIT_TESTS) * LIMIT_PARTS);
        for nth in 0..LIMIT_TESTS {
            let Some(test) = limit_test(session, test_region, nth) else { break };
            // Nothing follows a first test of larger blocks.
            if nth == 0 && test.block > test_region.small {
                part_seconds *= f64::from(LIMIT_TESTS);
            }
            limit(session, test_region, &test, part_seconds)?;
        }
        Ok(())
    })?;
    session.checkpoint();
    Ok(())
}

/// The test for a limit that comes next. Planned are one of the smallest blocks and one of large ones.
fn limit_test(session: &Session<'_>, test_region: &TestRegion, nth: u32) -> Option<LimitTest> {
    if !session.plans() {
        return rules::next_limit_test(session.target(), session.seen());
    }
    Some(match nth {
        0 => LimitTest::small(test_region.small, f64::INFINITY),
        _ => LimitTest::large(test_region.large, f64::INFINITY),
    })
}

/// Runs a test for a limit, whose rests and runs last `seconds` each, or a multiple.
fn limit(
    session: &mut Session<'_>,
    test_region: &TestRegion,
    test: &LimitTest,
    seconds: f64,
) -> Result<()> {
    let w = limit_workload(test_region, test, seconds);
    if test.other.is_none() {
        session.probe(&Workload { name: BEFORE_LIMIT.into(), ..w.clone() }, 0)?;
    }
    let runs_before = session.seen().iter().filter(|digest| digest.name == w.name).count() as u32;
    session.rounds(LIMIT_RESTS.len() as u32, None, |session, round| {
        session.rest("rest", LIMIT_RESTS[round as usize] * seconds)?;
        let interval_ns = Some((seconds * 1e9) as u64 / LIMIT_INTERVALS);
        let stage = Stage { interval_ns, ..Stage::default() };
        let replicate = runs_before + round;
        session.probe_in(&TestRegion::replicate(&w, replicate), replicate, stage)?;
        Ok(Round::Again)
    })?;
    let Some(block) = test.other else { return Ok(()) };
    let other = Workload {
        name: other_size_name(test.block, block),
        blocks: BlockSizes::Fixed(block),
        seed: w.seed + 1,
        ..w
    };
    session.probe(&other, 0)?;
    Ok(())
}

/// The reads of a test for a limit.
fn limit_workload(test_region: &TestRegion, test: &LimitTest, seconds: f64) -> Workload {
    let (name, region) = (limit_test_name(test.block), test_region.region());
    let mut w = Workload::new(name, Pattern::UniformOnce, Mix::READ, test.block, region);
    w.depth = test.depth(seconds);
    w.stop = Stop::after_seconds(seconds);
    w.seed = test_region.seed_of(SEED + LIMIT_SEED);
    w
}

/// Runs the tests of a kind's unexplained values within `seconds`. They follow these values
/// directly, so that the drive is in the same state.
pub(crate) fn run(
    session: &mut Session<'_>,
    test_region: &TestRegion,
    kind: OpKind,
    seconds: f64,
) -> Result<()> {
    let changes = (0..).zip(CHANGES).filter(|(_, change)| change.kind == kind);
    let changes: Vec<(u32, Change)> = changes.collect();
    let change_seconds = seconds * CHANGES_SHARE / changes.len() as f64;
    let writes = changes.len() as f64 * PASSES_MAX * test_region.bytes as f64;
    let budget = Budget { seconds, bytes: writes as u64, ..Budget::default() };
    session.budget(&format!("causes-{}", kind.name()), budget, |session| {
        let rest = REST_SHARE * seconds / f64::from(RESTS);
        if kind == Read {
            after_rest(session, test_region, rest)?;
        }
        for (index, change) in changes {
            let w = change.workload(test_region, index, change_seconds);
            if change == FIRST_WRITE && session.is_open(Write) {
                open_block(session, &w)?;
            }
            session.rounds(1, None, |session, round| {
                if change == NEAR_READ || (session.is_open(change.kind) && change.tells(session)) {
                    session.probe(&w, round)?;
                }
                Ok(Round::Again)
            })?;
            // The bursts follow a test that opens a block, and random ones come last: on a drive with
            // few open blocks they use up the budget.
            if change == FIRST_WRITE {
                empty_flush(session, test_region)?;
                bursts(session, test_region, rest, false)?;
            } else if change == NEAR_WRITE {
                bursts(session, test_region, rest, true)?;
            }
        }
        if kind == Read { whole_depth(session, test_region, change_seconds) } else { Ok(()) }
    })?;
    session.checkpoint();
    Ok(())
}

/// Random reads of as many small blocks at a time as the drive seems to take, by the other tests.
fn whole_depth(session: &mut Session<'_>, test_region: &TestRegion, seconds: f64) -> Result<()> {
    let Some(depth) = rules::depth_to_test(session.seen()) else { return Ok(()) };
    let test = change(Read, Addressing::Random, 1, depth);
    let w = test.workload(test_region, WHOLE_DEPTH, seconds);
    session.rounds(1, None, |session, round| {
        if session.is_open(Read) {
            session.probe(&w, round)?;
        }
        Ok(Round::Again)
    })?;
    Ok(())
}

/// Writes a single block, for which a card copies a whole erase block: the test that follows is of
/// the open one.
fn open_block(session: &mut Session<'_>, test: &Workload) -> Result<()> {
    let mut w = Workload { name: "cause-write-opening".into(), depth: 1, ..test.clone() };
    w.stop.ops = Some(1);
    session.rounds(1, None, |session, round| {
        session.probe(&w, round)?;
        Ok(Round::Again)
    })?;
    Ok(())
}

/// Flushes after reads, which leave nothing to flush.
fn empty_flush(session: &mut Session<'_>, test_region: &TestRegion) -> Result<()> {
    let (mix, block) = (Mix { flush: 1, ..Mix::READ }, test_region.small);
    let mut w = Workload::new(EMPTY_FLUSH, Pattern::UniformOnce, mix, block, test_region.region());
    (w.stop.ops, w.seed) = (Some(2 * FLUSHES), test_region.seed_of(SEED));
    session.rounds(1, None, |session, round| {
        if session.is_open(Write) {
            session.probe(&w, round)?;
        }
        Ok(Round::Again)
    })?;
    Ok(())
}

/// Single reads after a rest. Published, because no other metric shows their latency.
fn after_rest(session: &mut Session<'_>, test_region: &TestRegion, rest: f64) -> Result<()> {
    let (pattern, block) = (Pattern::UniformOnce, test_region.small);
    let mut w = Workload::new(AFTER_REST, pattern, Mix::READ, block, test_region.region());
    w.seed = test_region.seed_of(SEED + CHANGES.len() as u32);
    (w.stop.ops, w.stop.time_ns) = (Some(1), Some(1_000_000_000));
    let mut times = Vec::new();
    session.rounds(RESTS, None, |session, round| {
        session.rest("rest", rest)?;
        let m = session.probe(&TestRegion::replicate(&w, round), round)?;
        times.extend(m.kind(Read).and_then(|k| k.service.max()).map(|ns| ns as f64));
        if !times.is_empty() {
            let key = MetricKey::of_words(&[&AFTER_REST]);
            session.put_metric(analysis::metric(key, Unit::Nanoseconds, times.clone()));
        }
        Ok(Round::Again)
    })?;
    Ok(())
}

/// Short bursts of sequential or of random writes, each after a rest that lets the drive empty its
/// buffer. `rest` is the time for all rests of a round.
fn bursts(
    session: &mut Session<'_>,
    test_region: &TestRegion,
    rest: f64,
    random: bool,
) -> Result<()> {
    let bursts = if has_slow_link(session.target()) { SLOW_BURSTS } else { BURSTS };
    let rest = rest / bursts.len() as f64;
    session.rounds(RESTS, None, |session, round| {
        for (index, burst) in (1..).zip(bursts).filter(|(_, burst)| random == (burst.blocks == 1)) {
            let block = match burst.blocks {
                0 => test_region.large,
                blocks => blocks * test_region.small,
            };
            let order = if random { Pattern::UniformOnce } else { Pattern::Sequential };
            let mut w =
                Workload::new(burst.name(block), order, Mix::WRITE, block, test_region.region());
            w.seed = test_region.seed_of(SEED + CHANGES.len() as u32 + index);
            (w.depth, w.stop.time_ns, w.flush_at_end) = (burst.depth, Some(1_000_000_000), true);
            w.stop.bytes = Some(burst.count * u64::from(block));
            if session.is_open(Write) {
                session.rest("rest", rest)?;
                session.probe(&TestRegion::replicate(&w, round), round)?;
            }
        }
        Ok(Round::Again)
    })?;
    Ok(())
}
