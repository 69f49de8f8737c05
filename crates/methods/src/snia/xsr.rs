//! `snia-xsr`: large sequential writes, then small random ones, then sequential again (cross
//! stimulus recovery).

use record::Safety;

use super::cell::Cell;
use super::metrics::xsr::{AFTER, BEFORE, NAME, PARTS, PARTS_END, RANDOM, RECOVERY};
use super::{IGNORES, Part, answers, run};
use script::MethodInfo;
use script::whole::Whole;

/// Duration of each sequential part and of the random part, seconds.
const SEQUENTIAL_SECONDS: f64 = 8.0 * 3600.0;
const RANDOM_SECONDS: f64 = 6.0 * 3600.0;

/// The parts end early after this many passes: the drive is then as steady as it will be, and more
/// would only wear a fast drive.
const SEQUENTIAL_PASSES: f64 = 8.0;
const RANDOM_PASSES: f64 = 4.0;

const SEQUENTIAL_BLOCK: u32 = 1 << 20;
const RANDOM_BLOCK: u32 = 8 << 10;

pub(crate) static XSR: MethodInfo = MethodInfo {
    name: NAME,
    summary: "SNIA: recovery from another workload",
    about: "Discards the drive, then writes sequential 1 MiB blocks for eight hours, random 8 \
            KiB blocks for six, and sequential 1 MiB blocks for eight again, at queue depth \
            32. A sequential part ends early after 8 times the drive, the random part after 4. \
            The results are the rates, and the time that the last part needs to become as fast \
            as the first. --time shortens all three.",
    safety: Safety::Destroys,
    seconds: 79_200.0,
    writes: "at most 20 times the whole drive, without a pause",
    primary: &[PARTS.name, PARTS_END.name],
    metrics: &[&[PARTS, PARTS_END, RECOVERY]],
    run: |session, options| run(session, options, &XSR, parts),
    answer: answers::xsr,
    ignores: IGNORES,
    ..MethodInfo::EMPTY
};

fn parts(whole: &Whole) -> Vec<Part> {
    let [first, last] = [BEFORE, AFTER].map(|metric| {
        let seconds = whole.seconds(SEQUENTIAL_SECONDS);
        let cell = Cell::sequential(whole, NAME, SEQUENTIAL_BLOCK, 0, seconds);
        cell.writing_at_most(whole, SEQUENTIAL_PASSES).named(&metric.into()).workload
    });
    let seconds = whole.seconds(RANDOM_SECONDS);
    let random = Cell::random(whole, NAME, RANDOM_BLOCK.max(whole.block), 0, seconds);
    let random = random.writing_at_most(whole, RANDOM_PASSES);
    let random = random.named(&RANDOM.into()).workload;
    vec![
        Part::Purge,
        Part::OverTime { workload: first, against: None },
        Part::OverTime { workload: random, against: None },
        Part::OverTime { workload: last, against: Some(BEFORE.name) },
    ]
}
