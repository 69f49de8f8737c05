//! `snia-latency`: steady-state latency of single operations.

use record::{Safety, Unit};

use super::cell::Cell;
use super::metrics::latency::{CELLS, NAME, distribution};
use super::rounds::Rounds;
use super::{IGNORES, MINUTE, Part, answers, run, tracked};
use script::whole::Whole;
use script::{MethodInfo, MetricInfo};

/// Block sizes in bytes, and shares of reads in percent.
const SIZES: [u32; 3] = [8 << 10, 4 << 10, 512];
const READS: [u32; 3] = [100, 65, 0];

/// The block size that must be steady, and for which the write distribution is kept.
const TRACKED: u32 = 4 << 10;

/// Seconds of writes for the distribution.
const HISTOGRAM_SECONDS: f64 = 1200.0;

/// These writes also end after this many passes.
const LAST_PASSES: f64 = 0.5;

/// Maximum passes written by all rounds.
const PASSES_MAX: f64 = 8.0;

pub(crate) static LATENCY: MethodInfo = MethodInfo {
    name: NAME,
    summary: "SNIA: response times in steady state",
    about: "Discards the drive and writes it twice sequentially, then runs random blocks of 8 \
            KiB, 4 KiB and 512 bytes with 100, 65 and 0% reads at queue depth 1, a minute \
            each, in at most 25 rounds until the mean latencies of 4 KiB are steady. Then it \
            runs 20 minutes of 4 KiB writes for the distribution. A minute ends early when it \
            has written a sixteenth of the drive, the rounds after 8 times the drive, the 20 \
            minutes after half of it.",
    safety: Safety::Destroys,
    seconds: 15_600.0,
    writes: "the whole drive twice, then at random at most 8.5 times the drive",
    primary: &["snia-latency-{8KiB,4KiB}-r{100,65,0}"],
    metrics: &[
        &[
            CELLS,
            MetricInfo::ns(
                "snia-latency-{size}-r{reads}.max",
                "longest service time of all rounds",
            ),
            MetricInfo::ns(
                "snia-latency-distribution.{p50,p99,p99.9,max}",
                "20 minutes of 4 KiB writes",
            ),
        ],
        &tracked!("snia-latency-{size}-r{reads}", "snia-latency", Unit::Nanoseconds),
    ],
    run: |session, options| run(session, options, &LATENCY, parts),
    answer: answers::latency,
    ignores: IGNORES,
    ..MethodInfo::EMPTY
};

fn parts(whole: &Whole) -> Vec<Part> {
    let seconds = whole.seconds(MINUTE);
    let cell =
        |size, reads, seconds| Cell::random(whole, NAME, size, reads, seconds).one_at_a_time();
    let grid = SIZES.into_iter().flat_map(|size| READS.map(|reads| (size, reads)));
    let cells = grid.map(|(size, reads)| match cell(size, reads, seconds) {
        c if size == TRACKED => c.tracked(),
        c => c,
    });
    let cells = cells.filter(|c| c.fits(whole)).collect();
    let last = cell(TRACKED.max(whole.block), 0, whole.seconds(HISTOGRAM_SECONDS));
    let last = last.writing_at_most(whole, LAST_PASSES);
    let last = last.named(&distribution());
    vec![
        Part::Purge,
        Part::Precondition,
        Part::Rounds(Rounds::new(NAME, cells, PASSES_MAX)),
        Part::Latencies(last.workload),
    ]
}
