//! HOST CEILING: do drives of several models reach the same rate on this port?
//!
//! Three models differ in flash and controller, so a rate they all share belongs to their port: the
//! adapter, its driver and the processor. A faster drive on that port refutes this. Figures that
//! LINK explains are excluded: a known ceiling is better evidence.

use std::collections::BTreeMap;

use record::{Metric, Unit, VerdictKind};

use super::Ruling;
use super::rule::{Facts, Role, Rule};
use super::subject::{Subject, listed};

/// A drive measured on the same port of this machine, by the same method.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Neighbour {
    /// Its model.
    pub model: String,
    /// Operations per second of its cells, by metric.
    pub rates: BTreeMap<String, f64>,
}

impl Neighbour {
    /// A drive with the metrics of its run.
    pub fn new(model: &str, metrics: &[Metric]) -> Neighbour {
        let rates = metrics.iter().filter_map(|m| Some((m.name.clone(), operations(m)?)));
        Neighbour { model: model.to_string(), rates: rates.collect() }
    }
}

/// Operations per second of a cell.
fn operations(metric: &Metric) -> Option<f64> {
    let key = metric.key();
    let block = key.as_cell().filter(|_| key.is_main())?.block_bytes as f64;
    match metric.unit {
        Unit::Iops => metric.value,
        Unit::BytesPerSecond => Some(metric.value? / block),
        _ => None,
    }
}

/// Rates this close to the fastest count as equal: arbitrary, but less than two models of
/// drive usually differ by.
const WITHIN: f64 = 0.02;

/// Minimum number of models; two can agree by chance.
const MODELS_MIN: usize = 3;

pub static RULE: Rule = Rule {
    role: Role::Cause,
    overridden_by: super::media::LIMITS_OF_HOST,
    judge: |facts| host(facts).into_iter().collect(),
};

fn host(facts: &Facts<'_>) -> Option<Ruling> {
    let own_model = facts.target.target.drive.as_ref()?.model.as_deref()?;
    let neighbours = facts.checks.list();
    let links = super::link::link(facts.target, facts.seen);
    let subjects = Subject::reported(facts.seen);
    let free = subjects.iter().filter(|s| !links.iter().any(|ruling| ruling.explains(s)));
    let subjects_and_models =
        free.filter_map(|s| Some((s, models_at_rate(own_model, s, neighbours)?)));
    let limited: Vec<(&Subject<'_>, usize)> = subjects_and_models.collect();
    let (first, models) = *limited.first()?;
    let names: Vec<_> = limited.iter().map(|(subject, _)| *subject).collect();
    let text = format!(
        "Drives of {models} models reach the same rate on this port, and none was faster: the \
         host is the limit of {}.",
        listed(names.iter().copied())
    );
    let ruling = Ruling::yes(VerdictKind::HostCeiling, text)
        .next_test(
            "one of these drives on another port, or in another machine: it should be faster",
        )
        .with("models at this rate", models as f64, Unit::Number)
        .with("operations per second", first.rate(), Unit::Iops);
    Some(ruling.explaining_all(&names))
}

/// The number of models at the highest rate on this port, if this drive and enough other models
/// reach it.
fn models_at_rate(own: &str, of: &Subject<'_>, neighbours: &[Neighbour]) -> Option<usize> {
    // A mix has two metrics, and neither is an independent rate.
    let [metric] = of.metrics() else { return None };
    let neighbour_rates =
        neighbours.iter().filter_map(|n| Some((n.model.as_str(), *n.rates.get(metric)?)));
    let rates: Vec<(&str, f64)> = neighbour_rates.chain([(own, of.rate())]).collect();
    let fastest = rates.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
    let reaches = |rate: f64| rate > 0.0 && rate >= (1.0 - WITHIN) * fastest;
    let fast = rates.iter().filter(|(_, rate)| reaches(*rate));
    let mut models: Vec<String> = fast.map(|(model, _)| model.trim().to_lowercase()).collect();
    models.sort();
    models.dedup();
    (reaches(of.rate()) && models.len() >= MODELS_MIN).then_some(models.len())
}

#[cfg(test)]
mod tests {
    use rig::TargetInfo;
    use workload::OpKind::{Read, Write};

    use super::super::Checks;
    use super::super::testing::{in_order, random, with_link};
    use super::*;
    use crate::Digest;

    /// A drive of model A.
    fn target() -> TargetInfo {
        let mut info = with_link(1e9);
        info.target.drive.get_or_insert_default().model = Some("A".into());
        info
    }

    fn neighbour(model: &str, rate: f64) -> Neighbour {
        let cells = ["rand-read-4KiB-q1", "seq-read-1MiB-q8"];
        Neighbour { model: model.into(), rates: cells.map(|c| (c.to_string(), rate)).into() }
    }

    fn models(target: &TargetInfo, seen: &[Digest], others: &[(&str, f64)]) -> Option<f64> {
        let neighbours = others.iter().map(|(model, rate)| neighbour(model, *rate));
        let mut checks = Checks::default();
        checks.put(neighbours.collect::<Vec<_>>());
        let ruling = host(&Facts { target, seen, checks: &checks })?;
        assert_eq!(ruling.verdict.kind, VerdictKind::HostCeiling);
        assert_eq!(ruling.verdict.explains.len(), 1);
        Some(ruling.verdict.evidence[0].value)
    }

    #[test]
    fn three_models_at_one_rate_of_which_none_is_exceeded_are_the_hosts() {
        let seen = [random(Read, 1, 1, 10e3), random(Write, 1, 1, 10e3)];
        let found = |others: &[(&str, f64)]| models(&target(), &seen, others);
        assert_eq!(found(&[("B", 10.1e3), ("C", 9.91e3)]), Some(3.0));
        assert_eq!(found(&[("B", 10.1e3), ("C", 9.87e3)]), None, "2.3% apart");
        assert_eq!(found(&[("B", 10.1e3)]), None, "two may agree by chance");
        assert_eq!(found(&[("B", 10.1e3), ("b ", 9.95e3)]), None, "one model");
        assert_eq!(found(&[("B", 10.1e3), ("C", 9.95e3), ("D", 12e3)]), None, "one was faster");
        assert_eq!(found(&[("B", 10.1e3), ("C", 9.95e3), ("D", 2e3)]), Some(3.0), "a slow drive");
        assert_eq!(found(&[("B", 5e3), ("C", 5e3), ("D", 5e3)]), None, "this one is faster");
        let mut unknown = target();
        unknown.target.drive.get_or_insert_default().model = None;
        assert_eq!(models(&unknown, &seen, &[("B", 10.1e3), ("C", 9.95e3)]), None);
    }

    #[test]
    fn the_link_is_the_better_evidence() {
        let rate = |share: f64| [in_order(Read, 8, share * 1e9)];
        let ops = |share: f64| share * 1e9 / f64::from(1 << 20);
        let found =
            |share: f64| models(&target(), &rate(share), &[("B", ops(share)), ("C", ops(share))]);
        assert_eq!((found(0.5), found(0.98)), (Some(3.0), None));
    }
}
