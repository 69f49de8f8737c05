//! `snia-iops`: steady-state operations per second of 56 mixes of reads, writes and sizes.

use record::{Safety, Unit};

use super::cell::Cell;
use super::metrics::iops::{CELLS, NAME};
use super::rounds::Rounds;
use super::{IGNORES, MINUTE, Part, answers, run, tracked};
use script::whole::Whole;
use script::{MethodInfo, MetricInfo};

/// Percentages of reads, and block sizes in bytes, in the order of the specification.
const READS: [u32; 7] = [100, 95, 65, 50, 35, 5, 0];
const SIZES: [u32; 8] = [1 << 20, 128 << 10, 64 << 10, 32 << 10, 16 << 10, 8 << 10, 4 << 10, 512];

/// Cells that must be steady: percentage of reads, and block size.
const TRACKED: [(u32, u32); 3] = [(0, 4 << 10), (65, 64 << 10), (100, 1 << 20)];

/// Maximum passes written by all rounds.
const PASSES_MAX: f64 = 32.0;

pub(crate) static IOPS: MethodInfo = MethodInfo {
    name: NAME,
    summary: "SNIA: IOPS of 56 mixes in steady state",
    about: "Discards the drive and writes it twice sequentially, then runs random blocks of \
            eight sizes from 1 MiB to 512 bytes, in seven mixes of reads and writes, each for \
            a minute at queue depth 32. This is repeated until 4 KiB writes, 64 KiB blocks \
            with 65% reads and 1 MiB reads are steady, for at most 25 rounds. A minute ends \
            early when it has written a sixteenth of the drive, the rounds when they have \
            written it 32 times. Steady by the specification and steady on a plateau are \
            reported separately. Takes up to a day: --time shortens the minutes.",
    safety: Safety::Destroys,
    seconds: 84_000.0,
    writes: "the whole drive twice, then at random at most 32 times the drive",
    primary: &["snia-iops-4KiB-r{100,65,0}", "snia-iops-64KiB-r65", "snia-iops-1MiB-r{100,0}"],
    metrics: &[&[CELLS], &tracked!("snia-iops-{size}-r{reads}", "snia-iops", Unit::Iops)],
    run: |session, options| run(session, options, &IOPS, parts),
    answer: answers::iops,
    ignores: IGNORES,
    ..MethodInfo::EMPTY
};

fn parts(whole: &Whole) -> Vec<Part> {
    let seconds = whole.seconds(MINUTE);
    let grid = READS.into_iter().flat_map(|reads| SIZES.map(|size| (reads, size)));
    let cells = grid.map(|(reads, size)| {
        let cell = Cell::random(whole, NAME, size, reads, seconds);
        if TRACKED.contains(&(reads, size)) { cell.tracked() } else { cell }
    });
    let cells = cells.filter(|c| c.fits(whole)).collect();
    vec![Part::Purge, Part::Precondition, Part::Rounds(Rounds::new(NAME, cells, PASSES_MAX))]
}
