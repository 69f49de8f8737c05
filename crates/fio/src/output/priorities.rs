//! Latencies by I/O priority. As in fio, they are part of a result whose operations had several
//! priorities: those of its clones, or those that `cmdprio_percentage` gives to single operations,
//! which are in the log of operations.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use record::Histogram;
use workload::OpKind;

use super::latency::{self, any_percentiles};
use super::shown::Shown;
use super::tree::Tree;
use crate::job::DIRECTIONS;
use crate::run::JobRun;

/// The latencies of the operations of one priority.
pub(super) struct PriorityLatency {
    /// Class, level and hint, in fio's order.
    pub parts: [u16; 3],
    pub histogram: Histogram,
}

/// fio's name of the latency that is shown by priority.
pub(super) fn latency_name(shown: &Shown<'_>) -> &'static str {
    if shown.last_job().reporting.lat_percentiles { "lat" } else { "clat" }
}

/// The latencies of one direction, or of all combined, in order of priority; empty for a single
/// priority.
pub(super) fn latencies(shown: &Shown<'_>, kind: Option<OpKind>) -> Vec<PriorityLatency> {
    let mut groups: BTreeMap<[u16; 3], Histogram> = BTreeMap::new();
    let is_whole = latency_name(shown) == "lat";
    for run in &shown.runs {
        let is_shown = |op: OpKind| DIRECTIONS.contains(&op) && kind.is_none_or(|kind| kind == op);
        if run.job.has_priorities() {
            // A log that cannot be read has no latencies.
            if add_ops(&mut groups, run, is_whole, is_shown).is_err() {
                return Vec::new();
            }
            continue;
        }
        for kind in DIRECTIONS.into_iter().filter(|kind| is_shown(*kind)) {
            let Some(stats) = &run.did.seen.kinds[kind as usize] else { continue };
            let rest = stats.submission.as_ref().map(|times| &times.rest);
            let histogram = rest.filter(|_| !is_whole).unwrap_or(&stats.service);
            groups.entry(job_parts(run)).or_default().merge(histogram);
        }
    }
    groups.retain(|_, histogram| histogram.count() > 0);
    if groups.len() <= 1 {
        return Vec::new();
    }
    let groups = groups.into_iter();
    groups.map(|(parts, histogram)| PriorityLatency { parts, histogram }).collect()
}

/// The parts of the priority of a clone.
fn job_parts(run: &JobRun<'_>) -> [u16; 3] {
    let (class, level) = run.job.io_priority().unwrap_or_default();
    [class.into(), level.into(), 0]
}

/// Adds the operations of a clone that have priorities of their own.
fn add_ops(
    groups: &mut BTreeMap<[u16; 3], Histogram>,
    run: &JobRun<'_>,
    is_whole: bool,
    is_shown: impl Fn(OpKind) -> bool,
) -> std::io::Result<()> {
    let mut excluded = excluded_ns(run, &is_shown)?;
    run.log.each(|logged| {
        if let Some(place) = excluded.iter().position(|ns| *ns == logged.service_ns) {
            excluded.swap_remove(place);
        } else if is_shown(logged.op.kind) {
            let parts = match logged.priority {
                0 => job_parts(run),
                priority => [priority >> 13, priority & 7, priority >> 3 & 0x3ff],
            };
            let call_ns = if is_whole { 0 } else { logged.submission_ns };
            groups.entry(parts).or_default().record(logged.service_ns - call_ns);
        }
        Ok(())
    })
}

/// The service times of the operations that the latencies of a clone exclude because the process stood
/// still meanwhile: its longest.
fn excluded_ns(run: &JobRun<'_>, is_shown: impl Fn(OpKind) -> bool) -> std::io::Result<Vec<u64>> {
    let shown_kinds = DIRECTIONS.into_iter().filter(|kind| is_shown(*kind));
    let shown_stats = shown_kinds.filter_map(|kind| run.did.seen.kinds[kind as usize].as_ref());
    let count: u64 = shown_stats.map(|stats| stats.ops.saturating_sub(stats.service.count())).sum();
    let mut longest = BinaryHeap::new();
    if count > 0 {
        run.log.each(|logged| {
            if is_shown(logged.op.kind) {
                longest.push(Reverse(logged.service_ns));
            }
            if longest.len() as u64 > count {
                longest.pop();
            }
            Ok(())
        })?;
    }
    Ok(longest.into_iter().map(|Reverse(ns)| ns).collect())
}

/// The field `prios` of one direction, or of all combined; `None` for a single priority.
pub(super) fn field(shown: &Shown<'_>, kind: Option<OpKind>, bins: bool) -> Option<Tree> {
    let name = if latency_name(shown) == "lat" { "lat_ns" } else { "clat_ns" };
    let groups = latencies(shown, kind);
    let fields = groups.iter().map(|group| {
        let latency = latency::fields(Some(&group.histogram), any_percentiles(shown), bins);
        let names = ["prioclass", "prio", "priohint"].into_iter();
        let parts = names.zip(group.parts.map(|part| u32::from(part).into()));
        Tree::object(parts.chain([(name, latency)]))
    });
    (!groups.is_empty()).then(|| Tree::List(fields.collect()))
}

#[cfg(test)]
mod tests {
    use rig::{KindStats, Logged};
    use serde_json::Value;
    use workload::Op;

    use super::*;
    use crate::run::OpLog;
    use crate::{Job, testing};

    #[test]
    fn only_several_priorities_are_shown() {
        let (plain, mut urgent) = (Job::default(), Job::default());
        urgent.machine.prio = Some(4);
        let mut runs = [&plain, &urgent].map(testing::job_run);
        for run in &mut runs {
            let mut stats = KindStats { ops: 1, ..KindStats::default() };
            stats.service.record(1000);
            run.did.seen.kinds[OpKind::Read as usize] = Some(stats);
        }
        let both = Shown::new(runs.iter().collect());
        let list = field(&both, Some(OpKind::Read), false).expect("two priorities");
        let list: Value = serde_json::from_str(&list.to_string()).expect("JSON");
        let pairs = list.as_array().into_iter().flatten();
        let pairs: Vec<_> = pairs.map(|prio| [&prio["prioclass"], &prio["prio"]]).collect();
        assert_eq!(pairs, [[0, 0], [2, 4]]);
        assert_eq!(field(&both, Some(OpKind::Write), false), None);
        assert_eq!(field(&Shown::new(vec![&runs[0]]), None, false), None);
    }

    #[test]
    fn operations_have_the_latencies_of_their_own_priorities() {
        let words = ["--name=a", "--size=1m", "--ioengine=libaio", "--cmdprio_percentage=50"];
        let plan = testing::plan(&words);
        let mut run = testing::job_run(&plan.jobs[0]);
        let directory = tempfile::tempdir().expect("a directory");
        run.log = OpLog::within(directory.path()).expect("a log");
        let op = Op { kind: OpKind::Read, offset: 0, bytes: 4096 };
        let logged = |priority, service_ns| Logged {
            priority,
            done_ns: 9000,
            service_ns,
            submission_ns: 100,
            op,
        };
        run.log.add(&[logged(0, 600), logged(1 << 13 | 2, 500), logged(1 << 13 | 2, 700)]);
        let groups = |run: &JobRun<'_>, kind| {
            let groups = latencies(&Shown::new(vec![run]), Some(kind)).into_iter();
            let brief = |group: PriorityLatency| {
                (group.parts, group.histogram.count(), group.histogram.max())
            };
            groups.map(brief).collect::<Vec<_>>()
        };
        let expected = [([0, 0, 0], 1, Some(500)), ([1, 2, 0], 2, Some(600))];
        assert_eq!(groups(&run, OpKind::Read), expected);
        assert!(groups(&run, OpKind::Write).is_empty());

        // The longest was in flight while the process stood still.
        let mut stats = KindStats { ops: 3, ..KindStats::default() };
        [500, 600].into_iter().for_each(|ns| stats.service.record(ns));
        run.did.seen.kinds[OpKind::Read as usize] = Some(stats);
        let expected = [([0, 0, 0], 1, Some(500)), ([1, 2, 0], 1, Some(400))];
        assert_eq!(groups(&run, OpKind::Read), expected);
    }
}
