//! `snia-dirth`: rate and response time at 49 intensities of demand.

use record::{Safety, Unit};

use super::cell::Cell;
use super::metrics::dirth::{CELLS, NAME, RESPONSE, STEADY};
use super::rounds::Rounds;
use super::{IGNORES, MINUTE, Part, answers, run, tracked};
use script::whole::Whole;
use script::{MethodInfo, MetricInfo};

/// Numbers of jobs, and queue depths of each job.
const LEVELS: [u32; 7] = [32, 16, 8, 6, 4, 2, 1];

/// Share of reads, percent.
const READS: u32 = 65;

/// Maximum passes written by all rounds.
const PASSES_MAX: f64 = 2.0;

pub(crate) static DIRTH: MethodInfo = MethodInfo {
    name: NAME,
    summary: "SNIA: response time at 49 demand levels",
    about: "Discards the drive, writes it twice sequentially, then runs random 4 KiB blocks \
            with 65% reads, 32 jobs at queue depth 32 each, in rounds of a minute until \
            steady. Then it runs every combination of 32 to 1 jobs and queue depths 32 to 1 \
            for a minute, and reports operations per second and mean response time of each. A \
            minute ends early when it has written a sixteenth of the drive.",
    safety: Safety::Destroys,
    seconds: 5_400.0,
    writes: "the whole drive twice, then at random at most 5 times the drive",
    primary: &[STEADY.name, "snia-dirth-t1-q1", "snia-dirth-t32-q32"],
    metrics: &[
        &[STEADY, CELLS, RESPONSE],
        &tracked!("snia-dirth-steady", "snia-dirth", Unit::Iops),
    ],
    run: |session, options| run(session, options, &DIRTH, parts),
    answer: answers::dirth,
    ignores: IGNORES,
    ..MethodInfo::EMPTY
};

fn parts(whole: &Whole) -> Vec<Part> {
    let cell = |jobs, depth| {
        let cell = Cell::random(whole, NAME, whole.test_region.small, READS, whole.seconds(MINUTE));
        cell.demanding(jobs, depth).named(&CELLS.member(&[&jobs, &depth]))
    };
    let most = cell(LEVELS[0], LEVELS[0]).named(&STEADY.into()).tracked();
    let grid = LEVELS.into_iter().flat_map(|jobs| LEVELS.map(|depth| (jobs, depth)));
    let cells = grid.map(|(jobs, depth)| cell(jobs, depth)).collect();
    vec![
        Part::Purge,
        Part::Precondition,
        Part::Rounds(Rounds::new(NAME, vec![most], PASSES_MAX)),
        Part::Once(cells),
    ]
}
