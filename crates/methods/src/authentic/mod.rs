//! `authentic`: non-destructive checks of whether the numbers of a drive can be trusted.
//!
//! Five checks, each with its own file and a rule in [`rules`]: reads that bypass the page
//! cache compared with reads from it, growing working sets, the map, flushes, and contents. `quick`
//! ends with shorter versions of the same checks, except the map. The content check comes last,
//! because it leaves zeros on the drive, and a read of zeros proves nothing.

mod answer;
mod content;
mod flush;
mod map_cache;
mod page_cache;
mod savings;
mod working_sets;

use record::{Finding, FindingKind, Level, Safety, Unit};
use rig::{DividedTime, RigError};
use workload::OpKind::Read;

use rules::Contents;
use script::phase::{self, Rounds};
use script::{Cell, MethodError, MethodInfo, MetricInfo, Options, Result, Session, TestRegion};

/// Default total duration, seconds.
const SECONDS: f64 = 60.0;

/// Shares of the time; the rest is for the checks.
const FILL_SHARE: f64 = 1.0 / 6.0;
const CELLS_SHARE: f64 = 0.1;

/// The method.
pub(crate) static INFO: MethodInfo = MethodInfo {
    name: "authentic",
    summary: "do caches or compression flatter it",
    about: "Compares reads that bypass the page cache with reads from it and with the drive's own \
            counters. Single reads within ever larger working sets reveal a cache in the drive. \
            Pairs of reads within spans of doubling size, the first at random and the second near \
            it, show how much of its map a drive holds: beyond that, the first read waits for part \
            of the map. Small writes, each followed by a flush, show whether a flush takes as long \
            as flash needs. Zeros, half-compressible, repeated and random data, written in \
            alternation, show whether content affects speed. If it does, writes with 0 to 100% \
            zeros, or repeats of the same 4 KiB, show how much programming the drive avoids. \
            Each check is repeated in alternating order and ends in a verdict with its numbers, \
            which may be that the data is inconclusive. Without --destroy, a device is only read.",
    safety: Safety::Scratch,
    seconds: SECONDS,
    writes: "the scratch file once, then at most 12 more times if the drive is fast enough",
    primary: &["seq-read-{size}-q8", RANDOM_READS.name],
    metrics: &[&CELLS, &MAP, &CHECKS, &SAVINGS],
    run,
    answer: answer::answer,
    ..MethodInfo::EMPTY
};

const RANDOM_READS: MetricInfo = MetricInfo::iops(
    "rand-read-{size}-q32",
    "random reads, for the verdicts on queue depth and CPU",
);
const CELLS: [MetricInfo; 6] = [
    MetricInfo::rate("seq-read-{size}-q8", "sequential reads, for the verdicts on memory and link"),
    RANDOM_READS,
    MetricInfo::rate(
        "seq-read-{size}-q8.undisturbed",
        "the best replicate of the sequential reads",
    ),
    MetricInfo::iops("rand-read-{size}-q32.undisturbed", "the best replicate of the random reads"),
    MetricInfo::ns(
        "{seq,rand}-read-{size}-q{8,32}.{p50,p99,p99.9,max}",
        "latencies of these reads",
    ),
    DividedTime::info(
        "{seq,rand}-read-{size}-q{8,32}.\
         {time,slow}-{total,drive,link,layer,held,queue,completion,waiting,host,unexplained}",
    ),
];

const PAGE_CACHE: MetricInfo = MetricInfo::rate(
    "check-read-{direct,cached}",
    "reads that bypass the page cache; reads of the same bytes from it",
);
const WITHIN: MetricInfo =
    MetricInfo::ns("check-read-within-{size}.p50", "single reads within growing working sets");
const FLUSH: MetricInfo =
    MetricInfo::ns("check-flush-{size}.{p50,p99,p99.9,max}", "the flush after each small write");
const CONTENTS: MetricInfo = MetricInfo::rate(
    "check-write-{random,zeros,half,repeated}",
    "the same writes with different kinds of content",
);
const DIRECT: MetricInfo = PAGE_CACHE.named("check-read-direct");
const CACHED: MetricInfo = PAGE_CACHE.named("check-read-cached");
const RANDOM: MetricInfo = CONTENTS.named("check-write-random");
const ZEROS: MetricInfo = CONTENTS.named("check-write-zeros");
const HALF: MetricInfo = CONTENTS.named("check-write-half");
const REPEATED: MetricInfo = CONTENTS.named("check-write-repeated");

/// Metrics of the checks, which `quick` also runs.
pub(crate) const CHECKS: [MetricInfo; 5] = [
    PAGE_CACHE,
    WITHIN,
    MetricInfo::ns(
        "check-read-at-end.p50",
        "single reads within the smallest of them, at the end of the region",
    ),
    FLUSH,
    CONTENTS,
];

const WITHIN_SPAN: MetricInfo = MetricInfo::new(
    "check-map-within-{size}",
    Unit::Share,
    "single random reads within a span of this size that wait for part of the map",
);
const HELD: MetricInfo = MetricInfo::bytes(
    "check-map-held",
    "bytes covered by the part of the map that the drive holds; absent if no read waits",
);
const MISS: MetricInfo = MetricInfo::ns("check-map-miss", "time added to a read by such a wait");

/// Metrics of drives other than rotational disks.
const MAP: [MetricInfo; 3] = [WITHIN_SPAN, HELD, MISS];

const COMPRESSIBLE: MetricInfo = MetricInfo::rate(
    "check-write-compressible-{0,25,50,75,100}",
    "the same writes with this percentage of zeros",
);
const COMPRESSED: MetricInfo = MetricInfo::new(
    "check-compression",
    Unit::Share,
    "share of compressible content that the drive does not store, or a lower bound",
);
const DUPLICATE: MetricInfo = MetricInfo::rate(
    "check-write-duplicate-{0,25,50,75,100}",
    "the same writes with this percentage of repeats of the same 4 KiB",
);
const DEDUPED: MetricInfo = MetricInfo::new(
    "check-dedupe",
    Unit::Share,
    "share of repeated content that the drive does not store, or a lower bound",
);

/// Metrics of drives with content-dependent speed.
const SAVINGS: [MetricInfo; 4] = [COMPRESSIBLE, COMPRESSED, DUPLICATE, DEDUPED];

fn run(session: &mut Session<'_>, options: &Options) -> Result<()> {
    let mut test_region = TestRegion::new(session.target(), options, SECONDS)?;
    test_region.bytes = session.begin(&test_region, FILL_SHARE * test_region.seconds)?;
    let rounds = Rounds { most: test_region.rounds, all: test_region.rounds_given };
    let rounds_done = phase::run(session, rounds, &mut cells(&test_region))?;
    phase::note_cut(session, rounds.most, &[("reads", rounds_done)]);
    map_cache::CHECK.run(session, &test_region, test_region.seconds)?;
    run_checks(session, &test_region, checks_seconds(&test_region))?;
    let contents = session.checks().get::<Contents>();
    let [zeros, half, repeated] = ["zeros", "half", "repeated"]
        .map(|name| contents.is_some_and(|contents| rules::gains_from(contents, name)));
    if test_region.writes {
        // A drive that deduplicates also stores zeros only once.
        savings::COMPRESSION.run(session, &test_region, half || (zeros && !repeated))?;
        savings::DEDUPE.run(session, &test_region, repeated)?;
    }
    Ok(())
}

/// Cells for the rules on memory, link, CPU and queue depth.
fn cells(test_region: &TestRegion) -> Vec<Cell> {
    let cell_seconds = CELLS_SHARE * test_region.seconds / 2.0 / f64::from(test_region.rounds);
    let cells = [Cell::sequential(test_region, Read, 8, 0), Cell::random(test_region, Read, 32, 4)];
    cells.map(|cell| cell.lasting(cell_seconds)).into()
}

fn checks_seconds(test_region: &TestRegion) -> f64 {
    let fill = if test_region.writes { FILL_SHARE } else { 0.0 };
    test_region.seconds * (1.0 - fill - CELLS_SHARE)
}

/// A check.
struct Check {
    /// Share of the total time of the checks.
    share: f64,
    /// Whether it writes.
    writes: bool,
    /// Measures in rounds, within the given seconds, and stores the result in the session's checks.
    run: fn(&mut Session<'_>, &TestRegion, f64) -> Result<()>,
}

impl Check {
    /// Runs the check within its share of `seconds`. A check that the target does not support is
    /// skipped with a note.
    fn run(&self, session: &mut Session<'_>, test_region: &TestRegion, seconds: f64) -> Result<()> {
        match (self.run)(session, test_region, self.share * seconds) {
            Err(MethodError::Rig(RigError::Unsupported(why))) => {
                let text = format!("a check was skipped: the target does not support it: {why}");
                session.note(Finding::new(FindingKind::CheckLeftOut, Level::Note, text));
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
pub(crate) fn run_checks(
    session: &mut Session<'_>,
    test_region: &TestRegion,
    seconds: f64,
) -> Result<()> {
    checks(test_region).try_for_each(|check| check.run(session, test_region, seconds))
}
