//! `quick`, the default: the common figures in about a minute, with intervals.
//!
//! One replicate of every cell makes a round. Rounds alternate in order, so that drift of the drive
//! affects all cells alike and the scatter between rounds is an honest interval. A scratch file is
//! filled first, because unwritten blocks are not read from the drive. A short form of the checks
//! of `authentic` then shows whether the figures can be trusted.

use record::{Safety, Unit};
use workload::OpKind::{Read, Write};

use crate::authentic;
use crate::causes;
use crate::cell::Cell;
use crate::schedule;
use crate::session::Session;
use crate::test_region::TestRegion;
use crate::{Method, MethodError, MethodInfo, MetricInfo, Options};

/// Default duration of everything, in seconds.
const SECONDS: f64 = 60.0;

/// Shares of the time; the rest is for the cells.
const FILL_SHARE: f64 = 1.0 / 6.0;
const CHECKS_SHARE: f64 = 0.16;
const CAUSES_SHARE: f64 = 0.08;

/// The method.
pub(crate) struct Quick;

static INFO: MethodInfo = MethodInfo {
    name: "quick",
    summary: "how fast is the drive, and can the numbers be believed",
    about: "Fills a scratch file of 1 GiB (or --size, or what fits) with random content, then reads \
            and writes it past the page cache: 1 MiB blocks in order with 8 and 1 in flight, 4 KiB \
            blocks at random with 32 and 1 in flight, and a mix of 70% reads and 30% writes. Every \
            workload is repeated four times in alternating order, which gives each figure a 95% \
            interval; writes include the flush that makes them durable. Figures \
            that nothing explains yet are then tested with one thing changed: more in flight, \
            larger blocks, the same blocks in order. Then the checks of \
            'authentic' in their short form: were reads served from memory, does the drive \
            compress, is a flush a flush, is there a cache in the drive, what bounds the speed. A \
            device that was not given away with --destroy is only read.",
    safety: Safety::Scratch,
    seconds: SECONDS,
    writes: "the scratch file once, then at most 31 times over on a drive fast enough for that",
    primary: &[
        "seq-{read,write}-{size}-q8",
        "rand-{read,write}-{size}-q{32,1}",
        "mixed-read-{size}-q32",
    ],
    metrics: &[&GRID, &authentic::CHECKS],
    answer: crate::answer::quick,
    ..MethodInfo::EMPTY
};

const GRID: [MetricInfo; 4] = [
    MetricInfo::new(
        "seq-{read,write}-{size}-q{8,1}",
        Unit::BytesPerSecond,
        "blocks in order, so many in flight",
    ),
    MetricInfo::new(
        "rand-{read,write}-{size}-q{32,1}",
        Unit::Iops,
        "blocks at random, so many in flight",
    ),
    MetricInfo::new(
        "mixed-{read,write}-{size}-q32",
        Unit::Iops,
        "the two sides of a mix of 70% reads",
    ),
    MetricInfo::new(
        "{seq,rand,mixed}-{read,write}-{size}-q{depth}.{p50,p99,p99.9,max}",
        Unit::Nanoseconds,
        "latencies of these",
    ),
];

impl Method for Quick {
    fn info(&self) -> &'static MethodInfo {
        &INFO
    }

    fn run(&self, session: &mut Session<'_>, options: &Options) -> Result<(), MethodError> {
        session.declare(&INFO);
        let test_region = TestRegion::new(session.target(), options, SECONDS)?;
        measure(session, test_region)
    }
}

fn measure(session: &mut Session<'_>, mut test_region: TestRegion) -> Result<(), MethodError> {
    test_region.bytes = session.begin(&test_region, FILL_SHARE * test_region.seconds)?;
    schedule::run(session, &test_region, &mut cells(&test_region))?;
    causes::run(session, &test_region, CAUSES_SHARE * test_region.seconds)?;
    authentic::run(session, &test_region, CHECKS_SHARE * test_region.seconds)
}

/// The grid, in reading order.
fn cells(test_region: &TestRegion) -> Vec<Cell> {
    let cells = vec![
        Cell::sequential(test_region, Read, 8, 0),
        Cell::sequential(test_region, Write, 8, 1),
        Cell::sequential(test_region, Read, 1, 2),
        Cell::sequential(test_region, Write, 1, 3),
        Cell::random(test_region, Read, 32, 4),
        Cell::random(test_region, Write, 32, 5),
        Cell::random(test_region, Read, 1, 6),
        Cell::random(test_region, Write, 1, 7),
        Cell::mixed(test_region, 32, 8),
    ];
    let fill = if test_region.writes { FILL_SHARE } else { 0.0 };
    Cell::sharing(
        cells,
        test_region,
        (1.0 - fill - CAUSES_SHARE - CHECKS_SHARE) * test_region.seconds,
    )
}
