//! `quick`, the default: the common figures in about a minute, each in a named state of the drive.
//!
//! A cell's result depends on the state that the previous cell left: after random writes,
//! sequential reads can run at half the rate, and data just written reads several times as fast as
//! data at rest. So the cells run in phases, in a fixed order, and ratios between phases are
//! meaningless.

mod answer;
mod loss;

use record::{Finding, FindingKind, Level, Safety};
use rig::DividedTime;
use workload::OpKind::{Read, Write};
use workload::units::{binary, span};

use crate::{authentic, causes};
use rules::changes::{AFTER_REST, JUST_WRITTEN};
use script::phase::{self, Rounds};
use script::{Cell, MethodInfo, MetricInfo, Options, Result, Session, TestRegion, has_slow_link};

pub(crate) use answer::answer_against;
pub use loss::{Usual, UsualFigure, gains};

/// Default total duration, in seconds.
const SECONDS: f64 = 60.0;

/// Shares of the total time; the remainder goes to the cells.
const FILL_SHARE: f64 = 0.1;
const CHECKS_SHARE: f64 = 0.12;
const CAUSES_SHARE: f64 = 0.1;

/// Time for the tests for a limit, in addition to the total and as a share of it: few drives need
/// them.
const LIMITS_SHARE: f64 = 0.2;
const REST_SHARE: f64 = 1.0 / 6.0;

/// Multiples of the time for the causes of reads and of writes behind a slow link: a card takes up
/// to a second for a single random write.
const SLOW_CAUSES: [f64; 2] = [2.0, 4.0];

/// Duration of a rest that suffices for all known drives, in seconds. A drive with QLC flash stays
/// slow for 7 s and then changes abruptly, which a probe that ends early would miss.
const REST_SECONDS: f64 = 10.0;

/// Cells per round: four reads, two sequential writes, and three of random writes and mixed I/O.
const ROUND_CELLS: u32 = 4 + 2 + 3;

/// Cells that run once: reads of just-written data and of scattered data.
const SINGLE_CELLS: u32 = 4 + 1;

/// Seeds of the cells that run once, distinct from those of the others.
const FRESH_SEEDS: u32 = 10;
const SCATTERED_SEED: u32 = 9;

/// A state with its own metric names, as [`JUST_WRITTEN`].
const SCATTERED: &str = "scattered";

/// The method.
pub(crate) static INFO: MethodInfo = MethodInfo {
    name: "quick",
    summary: "how fast, and can the numbers be believed",
    about: "Fills a scratch file of 1 GiB (or --size, or the space available) with random \
            content, and measures it without the page cache, in phases: (1) the fill; (2) reads \
            of just-written data, once; (3) a rest of 10 s; (4) reads at rest; (5) sequential \
            writes; (6) random writes, and a mix of 70% reads and 30% writes; (7) a sequential \
            read of the scattered data, once; (8) the checks of 'authentic' in their short form. \
            After phases 4 and 6, reads and writes whose rate is still unexplained are measured \
            again with one change each: a higher queue depth, larger blocks, sequential blocks, \
            few blocks, a burst after a rest. Reads at a rate that neither the queue nor the \
            block size changes are read again after rests, up to 8 s, in search of a provider's \
            limit. Reads and writes are sequential 1 MiB blocks at queue depths 8 and 1 and \
            random 4 KiB blocks at queue depths 32 and 1. Phases 4 to 6 have four rounds \
            (--replicates) of cells of 0.75 s, the first quarter of which is discarded; a value \
            is the total operations over the total time, for writes including the flush that \
            makes them durable. Sequential writes to a slow card take longer, because they \
            continue to 16 MiB, several of its erase blocks. --time scales fill, cells and \
            checks, and below a minute also the rest. A device not opened with --destroy is only \
            read: phases 4 and 8. A drive much slower than expected gets fewer replicates, at \
            least two, and a smaller file.",
    safety: Safety::Scratch,
    protocol: 3,
    seconds: SECONDS,
    writes: "the scratch file once, then at most 36 more times if the drive is fast enough",
    primary: &[
        "seq-{read,write}-{size}-q8",
        "rand-{read,write}-{size}-q{32,1}",
        "mixed-read-{size}-q32",
    ],
    metrics: &[&GRID, &authentic::CHECKS],
    run,
    answer: answer::answer,
    ..MethodInfo::EMPTY
};

const GRID: [MetricInfo; 10] = [
    MetricInfo::rate(
        "seq-{read,write}-{size}-q{8,1}",
        "sequential blocks at this queue depth; reads of data at rest",
    ),
    MetricInfo::iops(
        "rand-{read,write}-{size}-q{32,1}",
        "random blocks at this queue depth; reads of data at rest",
    ),
    MetricInfo::iops("mixed-{read,write}-{size}-q32", "the two sides of a mix of 70% reads"),
    MetricInfo::rate(
        "seq-read-{just-written,scattered}-{size}-q{8,1}",
        "the same reads right after the fill; at the end, after random writes",
    ),
    MetricInfo::iops(
        "rand-read-just-written-{size}-q{32,1}",
        "the same reads right after the fill",
    ),
    MetricInfo::rate("seq-{read,write}-{size}-q{depth}.undisturbed", "the best replicate"),
    MetricInfo::iops("{rand,mixed}-{read,write}-{size}-q{depth}.undisturbed", "the best replicate"),
    MetricInfo::ns(
        "{seq,rand,mixed}-{read,write,read-just-written,read-scattered}-{size}-q{depth}.{p50,p99,p99.9,max}",
        "latencies of these",
    ),
    DividedTime::info(
        "{seq,rand,mixed}-{read,write,read-just-written,read-scattered}-{size}-q{depth}.\
         {time,slow}-{total,drive,link,layer,held,queue,completion,waiting,host,unexplained}",
    ),
    MetricInfo::ns(
        AFTER_REST,
        "a single read after a short rest, which includes leaving a power state, if any",
    ),
];

fn run(session: &mut Session<'_>, options: &Options) -> Result<()> {
    let mut test_region = TestRegion::new(session.target(), options, SECONDS)?;
    let times = Times::new(&test_region, options.time.is_some());
    test_region.bytes = session.begin(&test_region, times.fill)?;
    let rounds = Rounds { most: test_region.rounds, all: test_region.rounds_given };
    let one_round = Rounds { most: 1, all: true };
    let phase = |session: &mut Session<'_>, rounds, cells: Vec<Cell>| {
        let mut cells: Vec<Cell> = cells.into_iter().map(|c| c.lasting(times.cell)).collect();
        phase::run(session, rounds, &mut cells)
    };
    if test_region.writes {
        let fresh = reads(&test_region, FRESH_SEEDS).into_iter();
        phase(session, one_round, fresh.map(|cell| cell.in_state(JUST_WRITTEN)).collect())?;
        rest(session, &times)?;
    }
    let slow = if has_slow_link(session.target()) { SLOW_CAUSES } else { [1.0; 2] };
    let causes = slow.map(|times_longer| times_longer * times.causes / 2.0);
    let mut run = vec![("reads", phase(session, rounds, reads(&test_region, 0))?)];
    causes::run(session, &test_region, Read, causes[0])?;
    causes::limits(session, &test_region, times.limits)?;
    if test_region.writes {
        run.push(("sequential writes", phase(session, rounds, writes(&test_region))?));
        run.push(("random writes", phase(session, rounds, random_writes(&test_region))?));
        causes::run(session, &test_region, Write, causes[1])?;
        let scattered = Cell::sequential(&test_region, Read, 8, SCATTERED_SEED);
        phase(session, one_round, vec![scattered.in_state(SCATTERED)])?;
        if !run[1..].iter().any(|(_, run)| run.fell) {
            note_cache(session, &test_region);
        }
    }
    phase::note_cut(session, rounds.most, &run);
    authentic::run_checks(session, &test_region, times.checks)
}

/// Duration of each part, in seconds.
struct Times {
    fill: f64,
    rest: f64,
    cell: f64,
    causes: f64,
    limits: f64,
    checks: f64,
}

impl Times {
    /// Divides the time among the parts. If the user gives a time, all rounds share it. Otherwise
    /// the duration of a cell is fixed, so that more rounds take more time without changing the
    /// measurement. The search for limits, which few drives need, is always on top.
    fn new(test_region: &TestRegion, given: bool) -> Times {
        let seconds = test_region.seconds;
        let (fill, checks) = (FILL_SHARE * seconds, CHECKS_SHARE * seconds);
        let rest = (REST_SHARE * seconds).min(REST_SECONDS);
        let rounds = if given { test_region.rounds } else { script::ROUNDS };
        let cells = f64::from(SINGLE_CELLS + rounds * ROUND_CELLS);
        let causes = CAUSES_SHARE * seconds;
        let cell = (seconds - fill - rest - causes - checks) / cells;
        Times { fill, rest, cell, causes, limits: LIMITS_SHARE * seconds, checks }
    }
}

fn reads(test_region: &TestRegion, seeds: u32) -> Vec<Cell> {
    vec![
        Cell::sequential(test_region, Read, 8, seeds),
        Cell::sequential(test_region, Read, 1, seeds + 2),
        Cell::random(test_region, Read, 32, seeds + 4),
        Cell::random(test_region, Read, 1, seeds + 6),
    ]
}

fn writes(test_region: &TestRegion) -> Vec<Cell> {
    vec![Cell::sequential(test_region, Write, 8, 1), Cell::sequential(test_region, Write, 1, 3)]
}

fn random_writes(test_region: &TestRegion) -> Vec<Cell> {
    vec![
        Cell::random(test_region, Write, 32, 5),
        Cell::random(test_region, Write, 1, 7),
        Cell::mixed(test_region, 32, 8),
    ]
}

/// Lets the drive finish background work left over from the fill. A shortened rest is reported.
fn rest(session: &mut Session<'_>, times: &Times) -> Result<()> {
    session.rest("rest", times.rest)?;
    if times.rest < REST_SECONDS {
        let (rested, full) = (span(times.rest), span(REST_SECONDS));
        let text = format!(
            "the rest took only {rested}, not {full}: the reads may come from data still in the \
             drive's write cache"
        );
        let finding = Finding::new(FindingKind::RestCut, Level::Note, text);
        session.note(finding.advise("--time 60s allows the full rest"));
    }
    Ok(())
}

/// For writes whose rates did not fall: notes that they stayed in the write cache, which on most
/// drives is larger than the region.
fn note_cache(session: &mut Session<'_>, test_region: &TestRegion) {
    let text = format!(
        "the writes stayed within {}, which the write cache of most drives holds: they do not show \
         a sustained rate",
        binary(test_region.bytes)
    );
    let finding = Finding::new(FindingKind::InsideCache, Level::Note, text);
    session.note(finding.advise("-m sustain shows how long the speed lasts"));
}
