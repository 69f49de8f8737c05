//! Latencies by I/O priority. As in fio, they are part of a result whose clones had several
//! priorities.

use std::collections::BTreeMap;

use rig::KindStats;
use workload::OpKind;

use super::latency::{self, any_percentiles};
use super::shown::Shown;
use super::tree::Tree;
use crate::job::DIRECTIONS;

/// The field `prios` of one direction, or of all combined; `None` for a single priority.
pub(super) fn field(shown: &Shown<'_>, kind: Option<OpKind>, bins: bool) -> Option<Tree> {
    let mut groups: BTreeMap<(u8, u8), KindStats> = BTreeMap::new();
    for run in &shown.runs {
        let kinds =
            DIRECTIONS.iter().filter(|direction| kind.is_none_or(|kind| kind == **direction));
        for stats in kinds.filter_map(|kind| run.did.seen.kinds[*kind as usize].as_ref()) {
            let priority = run.job.io_priority().unwrap_or_default();
            groups.entry(priority).or_default().merge(stats);
        }
    }
    groups.retain(|_, stats| stats.ops > 0);
    let reporting = &shown.last_job().reporting;
    let name = if reporting.lat_percentiles { "lat_ns" } else { "clat_ns" };
    let fields = groups.iter().map(|((class, level), stats)| {
        let latency = latency::fields(Some(&stats.service), any_percentiles(shown), bins);
        let fields = [("prioclass", class), ("prio", level)];
        let fields = fields.map(|(name, value)| (name, u32::from(*value).into()));
        Tree::object(fields.into_iter().chain([(name, latency)]))
    });
    (groups.len() > 1).then(|| Tree::List(fields.collect()))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::{Job, testing};

    #[test]
    fn only_several_priorities_are_shown() {
        let (plain, mut urgent) = (Job::default(), Job::default());
        urgent.machine.prio = Some(4);
        let mut runs = [&plain, &urgent].map(testing::job_run);
        for run in &mut runs {
            let stats = KindStats { ops: 1, ..KindStats::default() };
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
}
