//! Selects a job's pacer. Each pacer is a separate type, so that the loop is compiled for each.

use rig::Issue;
use workload::{Closed, Open, Pace, Pacing, Think, Thinking, Workload};

use crate::flow::FlowShare;

/// Code that runs with any pacer.
pub(crate) trait UsePace {
    type Out;

    fn with<P: Pace + 'static>(self, pacer: P) -> Self::Out;
}

/// Selects the pacer of job `lane` of `jobs` equal ones: its flow, or otherwise its share of the
/// workload's schedule with the requested pauses.
pub(crate) fn choose<U: UsePace>(
    workload: &Workload,
    issue: &Issue,
    (lane, jobs): (u32, u32),
    flow: Option<FlowShare>,
    user: U,
) -> U::Out {
    if let Some(share) = flow {
        return user.with(share);
    }
    let Workload { pacing, seed, .. } = *workload;
    let think = match pacing {
        Pacing::Pauses { every, pause_ns } => {
            Some(Think { every: Some(every), pause_ns, ..Think::default() })
        }
        Pacing::Source => Some(Think::default()),
        _ => issue.think,
    };
    match (pacing, think) {
        (Pacing::Closed, None) => user.with(Closed),
        (Pacing::Closed | Pacing::Pauses { .. } | Pacing::Source, Some(think)) => {
            user.with(Thinking::new(think, Closed))
        }
        (_, None) => user.with(Open::new(&pacing, lane, jobs, seed)),
        (_, Some(think)) => user.with(Thinking::new(think, Open::new(&pacing, lane, jobs, seed))),
    }
}
