//! `snia-throughput`: steady-state sequential reads and writes of large blocks.

use record::{MetricKey, Safety, Unit, size_word};

use super::cell::Cell;
use super::metrics::throughput::{CELLS, NAME};
use super::rounds::Rounds;
use super::{IGNORES, MINUTE, Part, answers, run, tracked};
use script::whole::Whole;
use script::{MethodInfo, MetricInfo};

/// Block sizes in bytes, each with its own purge and precondition.
const SIZES: [u32; 2] = [1 << 20, 128 << 10];

/// Limits of a minute of writes, and of all rounds of one size, in passes.
const ROUND_PASSES: f64 = 0.5;
const PASSES_MAX: f64 = 12.5;

pub(crate) static THROUGHPUT: MethodInfo = MethodInfo {
    name: NAME,
    summary: "SNIA: large transfers in steady state",
    about: "For blocks of 1 MiB and of 128 KiB: discards the drive, writes it twice \
            sequentially, then reads and writes sequentially for a minute each, one job at \
            queue depth 32, in at most 25 rounds until both are steady. A minute ends early \
            when it has written half of the drive.",
    safety: Safety::Destroys,
    seconds: 7_200.0,
    writes: "the whole drive four times, then sequentially at most 25 times the drive",
    primary: &["snia-throughput-{1MiB,128KiB}-r{100,0}"],
    metrics: &[
        &[CELLS],
        &tracked!(
            "snia-throughput-{size}-r{reads}",
            "snia-throughput-{size}",
            Unit::BytesPerSecond
        ),
    ],
    run: |session, options| run(session, options, &THROUGHPUT, parts),
    answer: answers::throughput,
    ignores: IGNORES,
    ..MethodInfo::EMPTY
};

fn parts(whole: &Whole) -> Vec<Part> {
    let seconds = whole.seconds(MINUTE);
    let parts = SIZES.into_iter().flat_map(|size| {
        let cells = [100, 0].map(|reads| {
            let cell = Cell::sequential(whole, NAME, size, reads, seconds);
            cell.writing_at_most(whole, ROUND_PASSES).tracked()
        });
        let name = MetricKey::of_words(&[&NAME, &size_word(u64::from(size))]);
        let rounds = Rounds::new(&name.to_string(), cells.into(), PASSES_MAX);
        [Part::Purge, Part::Precondition, Part::Rounds(rounds)]
    });
    parts.collect()
}
