//! `authentic`: can the numbers of this drive be trusted? The checks that destroy nothing.
//!
//! Five checks, each in its own file and with a rule in [`crate::verdict`]: reads that bypass the
//! page cache against reads from it, growing working sets, the map, flushes, and contents. `quick` ends
//! with the same checks but that of the map in less time. Content comes last, because it leaves zeros on the drive, and a
//! read of zeros proves nothing.

mod content;
mod flush;
mod map_cache;
mod page_cache;
mod savings;
mod working_sets;

use record::{Finding, FindingKind, Level, Safety, Unit};
use rig::RigError;
use workload::OpKind::Read;

use crate::cell::Cell;
use crate::phase::{self, Rounds};
use crate::session::Session;
use crate::test_region::TestRegion;
use crate::verdict;
use crate::{Method, MethodError, MethodInfo, MetricInfo, Options};

/// Default duration of everything, in seconds.
const SECONDS: f64 = 60.0;

/// Shares of the time; the rest is for the checks.
const FILL_SHARE: f64 = 1.0 / 6.0;
const CELLS_SHARE: f64 = 0.1;

/// The method.
pub(crate) struct Authentic;

static INFO: MethodInfo = MethodInfo {
    name: "authentic",
    summary: "does it flatter: caches, compression",
    about: "Reads past the page cache are held against reads from it and against the drive's own \
            counters. Single reads within ever larger working sets show a cache in the drive. \
            Pairs of reads in spans that double, the first at random and the second beside it, show how \
            much of its map a drive holds: beyond that, the first one waits for a part of the map. \
            Small writes, each with a flush, show whether a flush takes as long as flash needs. \
            Zeros, half-compressible, repeated and random data, written in turns, show whether \
            content decides; if so, content of which 0 to 100% are zeros, or the same 4 KiB, shows how much \
            of it the drive saves. Each check is repeated in alternating order and ends in a verdict \
            with its numbers, which may be that the data do not tell. A device that was not given \
            away with --destroy is only read.",
    safety: Safety::Scratch,
    seconds: SECONDS,
    writes: "the scratch file once, then at most 12 times over on a drive fast enough for that",
    primary: &["seq-read-{size}-q8", "rand-read-{size}-q32"],
    metrics: &[&CELLS, &MAP, &CHECKS, &SAVINGS],
    answer: crate::answer::authentic,
    ..MethodInfo::EMPTY
};

const CELLS: [MetricInfo; 5] = [
    MetricInfo::new(
        "seq-read-{size}-q8",
        Unit::BytesPerSecond,
        "blocks in order, for the verdicts on memory and link",
    ),
    MetricInfo::new(
        "rand-read-{size}-q32",
        Unit::Iops,
        "blocks at random, for the verdicts on depth and processor",
    ),
    MetricInfo::new(
        "seq-read-{size}-q8.undisturbed",
        Unit::BytesPerSecond,
        "the best round of these",
    ),
    MetricInfo::new("rand-read-{size}-q32.undisturbed", Unit::Iops, "the best round of these"),
    MetricInfo::new(
        "{seq,rand}-read-{size}-q{8,32}.{p50,p99,p99.9,max}",
        Unit::Nanoseconds,
        "latencies of these",
    ),
];

/// Metrics of the checks, which `quick` makes, too.
pub(crate) const CHECKS: [MetricInfo; 4] = [
    MetricInfo::new(
        "check-read-{direct,cached}",
        Unit::BytesPerSecond,
        "reads past the page cache; reads of the same bytes from it",
    ),
    MetricInfo::new(
        "check-read-within-{size}.p50",
        Unit::Nanoseconds,
        "single reads within working sets that grow",
    ),
    MetricInfo::new(
        "check-flush-{size}.{p50,p99,p99.9,max}",
        Unit::Nanoseconds,
        "the flush after each of some small writes",
    ),
    MetricInfo::new(
        "check-write-{random,zeros,half,repeated}",
        Unit::BytesPerSecond,
        "the same writes with content that compresses differently",
    ),
];

/// Of drives other than disks.
const MAP: [MetricInfo; 3] = [
    MetricInfo::new(
        "check-map-within-{size}",
        Unit::Share,
        "single reads at random within such a span that wait for a part of the map",
    ),
    MetricInfo::new(
        "check-map-held",
        Unit::Bytes,
        "bytes whose places are in the part of the map that the drive holds; absent if no read waits",
    ),
    MetricInfo::new("check-map-miss", Unit::Nanoseconds, "time that such a wait adds to a read"),
];

/// Of a drive whose speed depends on the content.
const SAVINGS: [MetricInfo; 4] = [
    MetricInfo::new(
        "check-write-compressible-{0,25,50,75,100}",
        Unit::BytesPerSecond,
        "the same writes, of which so many percent are zeros",
    ),
    MetricInfo::new(
        "check-compression",
        Unit::Share,
        "compressible content that the drive does not store, or more of it",
    ),
    MetricInfo::new(
        "check-write-duplicate-{0,25,50,75,100}",
        Unit::BytesPerSecond,
        "the same writes, of which so many percent are the same 4 KiB",
    ),
    MetricInfo::new(
        "check-dedupe",
        Unit::Share,
        "repeated content that the drive does not store, or more of it",
    ),
];

impl Method for Authentic {
    fn info(&self) -> &'static MethodInfo {
        &INFO
    }

    fn run(&self, session: &mut Session<'_>, options: &Options) -> Result<(), MethodError> {
        let test_region = TestRegion::new(session.target(), options, SECONDS)?;
        measure(session, test_region)
    }
}

fn measure(session: &mut Session<'_>, mut test_region: TestRegion) -> Result<(), MethodError> {
    test_region.bytes = session.begin(&test_region, FILL_SHARE * test_region.seconds)?;
    let rounds = Rounds { most: test_region.rounds, all: test_region.rounds_given };
    let done = phase::run(session, rounds, &mut cells(&test_region))?;
    phase::note_cut(session, rounds.most, &[("reads", done)]);
    map_cache::CHECK.run(session, &test_region, test_region.seconds)?;
    run(session, &test_region, checks_seconds(&test_region))?;
    let contents = session.checks.contents.as_ref();
    let [zeros, half, repeated] = ["zeros", "half", "repeated"]
        .map(|name| contents.is_some_and(|contents| verdict::gains_from(contents, name)));
    if test_region.writes {
        // A drive that stores repeated data once stores zeros once.
        savings::COMPRESSION.run(session, &test_region, half || (zeros && !repeated))?;
        savings::DEDUPE.run(session, &test_region, repeated)?;
    }
    Ok(())
}

/// Cells for the rules on memory, link, processor and depth.
fn cells(test_region: &TestRegion) -> Vec<Cell> {
    let each = CELLS_SHARE * test_region.seconds / 2.0 / f64::from(test_region.rounds);
    let cells = [Cell::sequential(test_region, Read, 8, 0), Cell::random(test_region, Read, 32, 4)];
    cells.map(|cell| cell.lasting(each)).into()
}

fn checks_seconds(test_region: &TestRegion) -> f64 {
    let fill = if test_region.writes { FILL_SHARE } else { 0.0 };
    test_region.seconds * (1.0 - fill - CELLS_SHARE)
}

/// A check: its workloads and its actions.
struct Check {
    /// Share of the time of all checks.
    share: f64,
    /// Whether it writes.
    writes: bool,
    /// Measures round by round, within that many seconds, and leaves the result in the session's checks.
    run: fn(&mut Session<'_>, &TestRegion, f64) -> Result<(), MethodError>,
}

impl Check {
    /// Runs it within its share of `seconds`. A check that the target does not support is skipped with
    /// a note.
    fn run(
        &self,
        session: &mut Session<'_>,
        test_region: &TestRegion,
        seconds: f64,
    ) -> Result<(), MethodError> {
        match (self.run)(session, test_region, self.share * seconds) {
            Err(MethodError::Rig(RigError::Unsupported(why))) => {
                let text = format!("a check was left out, the target does not support it: {why}");
                session.out.note(Finding::new(FindingKind::CheckLeftOut, Level::Note, text));
            }
            result => result?,
        }
        session.checkpoint();
        Ok(())
    }
}

/// The checks that the target allows, in order.
fn checks(test_region: &TestRegion) -> impl Iterator<Item = &'static Check> {
    static ALL: [&Check; 4] =
        [&page_cache::CHECK, &working_sets::CHECK, &flush::CHECK, &content::CHECK];
    let writes = test_region.writes;
    ALL.into_iter().filter(move |check| writes || !check.writes)
}

/// Runs the checks within `seconds`.
pub(crate) fn run(
    session: &mut Session<'_>,
    test_region: &TestRegion,
    seconds: f64,
) -> Result<(), MethodError> {
    checks(test_region).try_for_each(|check| check.run(session, test_region, seconds))
}
