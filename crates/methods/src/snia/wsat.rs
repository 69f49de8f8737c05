//! `snia-wsat`: random writes from a purged drive until they saturate it.

use record::{Safety, Unit};

use super::cell::Cell;
use super::metrics::wsat::{CELLS, NAME};
use super::rounds::Rounds;
use super::{IGNORES, MINUTE, Part, answers, run, tracked};
use script::whole::Whole;
use script::{MethodInfo, MetricInfo};

/// Maximum rounds: six hours of one-minute rounds.
const ROUNDS_MAX: u32 = 360;

/// Maximum passes written by all rounds.
const PASSES_MAX: f64 = 4.0;

pub(crate) static WSAT: MethodInfo = MethodInfo {
    name: NAME,
    summary: "SNIA: random writes until saturation",
    about: "Discards the drive, then writes random 4 KiB blocks at queue depth 32 in rounds of \
            a minute, until the rate is steady on a plateau, the drive was written four times \
            over, or six hours have passed. The results are the time series, the first minute \
            and the plateau.",
    safety: Safety::Destroys,
    seconds: 21_600.0,
    writes: "at random at most four times the whole drive",
    primary: &[CELLS.name],
    metrics: &[&[CELLS], &tracked!("snia-wsat-{size}-r0", "snia-wsat", Unit::Iops)],
    run: |session, options| run(session, options, &WSAT, parts),
    answer: answers::wsat,
    ignores: IGNORES,
    ..MethodInfo::EMPTY
};

fn parts(whole: &Whole) -> Vec<Part> {
    let cell =
        Cell::random(whole, NAME, whole.test_region.small, 0, whole.seconds(MINUTE)).tracked();
    let rounds = Rounds { most: ROUNDS_MAX, ..Rounds::new(NAME, vec![cell], PASSES_MAX) };
    vec![Part::Purge, Part::Rounds(rounds)]
}
