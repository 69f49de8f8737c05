//! Two records compared: the quantities both have, and the conditions that differ. Pure.
//!
//! No claim is made without an interval, and the intervals of one comparison hold together.

use std::collections::BTreeSet;

use analysis::{Comparison, Outcome, compare_blocks};
use record::{Metric, MetricKey, Run, State, Unit};
use serde::Serialize;

use crate::published;

/// One quantity in both records.
#[derive(Debug, Serialize)]
pub struct Pair {
    /// Its name in the first record.
    pub name: String,
    /// Its name in the second record, where it differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name_b: Option<String>,
    /// The unit of both values.
    pub unit: Unit,
    /// The value in the first record.
    pub a: Option<f64>,
    /// The value in the second record.
    pub b: Option<f64>,
    /// Replicates in each.
    pub n: [u32; 2],
    /// B over A.
    pub ratio: Option<f64>,
    /// Lower end of the ratio's interval; the intervals of all pairs hold together with 95%.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// The smallest difference, as a share, that a comparison like this finds four times out of five.
    pub detectable: Option<f64>,
    /// The conclusion in a few words.
    pub claim: &'static str,
}

/// A condition that differs, or is known for only one of the records.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The condition.
    pub what: &'static str,
    /// In the first record.
    pub a: Option<String>,
    /// In the second record.
    pub b: Option<String>,
}

/// The quantities both records have, in the order of the first.
pub fn pairs(a: &Run, b: &Run) -> Vec<Pair> {
    let mut taken = BTreeSet::new();
    let mut both = Vec::new();
    for metric in &a.metrics {
        let apart = published::is_published(a) != published::is_published(b);
        let names = names(a, &metric.name, apart);
        let same = |other: &&Metric| {
            let theirs = self::names(b, &other.name, apart);
            other.unit == metric.unit && theirs.iter().any(|name| names.contains(name))
        };
        let found = b.metrics.iter().filter(|m| !taken.contains(&m.name)).find(same);
        if let Some(other) = found {
            taken.insert(other.name.clone());
            both.push((metric, other));
        }
    }
    // Each interval is widened for their number, so that together they hold with 95%.
    let tested = both.iter().filter(|(a, b)| values(a).len() > 1 && values(b).len() > 1).count();
    both.into_iter().map(|(a, b)| pair(tested, a, b)).collect()
}

/// Names of a quantity. Metrics of fio begin with the name of the job, which is ignored beside a
/// published figure; two jobs measured by ssdyno are matched by their full names.
fn names(run: &Run, metric: &str, apart: bool) -> Vec<String> {
    let mut names = published::names(run, metric);
    if apart && run.method == "fio" && !published::is_published(run) {
        names.extend(MetricKey::parse(metric).without_owner().map(String::from));
    }
    names
}

/// The replicates, or the value alone where they were not kept.
fn values(metric: &Metric) -> Vec<f64> {
    match metric.samples.as_slice() {
        [] => metric.value.into_iter().collect(),
        samples => samples.to_vec(),
    }
}

fn pair(tested: usize, a: &Metric, b: &Metric) -> Pair {
    let found = compare_blocks(tested, &values(a), &values(b));
    let bare = match (a.value, b.value) {
        (Some(a), Some(b)) if a > 0.0 => Some(b / a),
        _ => None,
    };
    Pair {
        name: a.name.clone(),
        name_b: (a.name != b.name).then(|| b.name.clone()),
        unit: a.unit,
        a: a.value,
        b: b.value,
        n: [a.n, b.n],
        ratio: found.as_ref().map(|c| c.ratio).or(bare),
        low: found.as_ref().and_then(|c| c.low),
        high: found.as_ref().and_then(|c| c.high),
        detectable: found.as_ref().and_then(|c| c.detectable),
        claim: claim(a.unit, found.as_ref()),
    }
}

fn claim(unit: Unit, found: Option<&Comparison>) -> &'static str {
    let rate = matches!(unit, Unit::BytesPerSecond | Unit::Iops);
    match found {
        None => "unknown",
        Some(c) if c.low.is_none() => "no claim",
        Some(c) => match c.outcome {
            Outcome::Faster if rate => "B faster",
            Outcome::Slower if rate => "B slower",
            Outcome::Faster => "B higher",
            Outcome::Slower => "B lower",
            Outcome::Equivalent => "same within 5%",
            Outcome::Inconclusive => "inconclusive",
        },
    }
}

/// Conditions that differ, or may differ because one of them is unknown.
pub fn differences(a: &Run, b: &Run) -> Vec<Difference> {
    let conditions = |run: &Run| {
        let drive = run.target.drive.as_ref();
        let machine = &run.environment;
        let tool = run.origin.as_ref().map(|o| o.tool_name());
        let state = (run.state_before != State::Unknown).then_some(run.state_before);
        [
            ("drive", drive.and_then(|d| d.model.clone().or(Some(d.name.clone())))),
            ("serial number", drive.and_then(|d| d.serial.clone())),
            ("firmware", drive.and_then(|d| d.firmware.clone())),
            ("link", drive.and_then(|d| d.link.as_ref()?.now.clone())),
            ("state before", state.map(|s| format!("{s:?}").to_lowercase())),
            ("file system", run.target.filesystem.as_ref().map(|f| f.kind.clone())),
            ("page cache", run.target.direct.map(|d| if d { "bypassed" } else { "used" }.into())),
            ("size", run.plan.as_ref().map(|p| workload::units::binary(p.region_bytes))),
            ("method", Some(run.method.clone())),
            ("tool", tool.unwrap_or_else(|| Some(format!("ssdyno {}", machine.ssdyno)))),
            ("backend", machine.backend.clone()),
            ("machine", machine.board.clone().or(machine.host.clone())),
            ("processor", machine.cpu.model.clone()),
            ("governor", machine.cpu.governor.clone()),
            ("system", machine.os.clone()),
            ("kernel", machine.kernel.clone()),
        ]
    };
    let both = conditions(a).into_iter().zip(conditions(b));
    let differ = both.filter(|((_, a), (_, b))| a != b);
    differ.map(|((what, a), (_, b))| Difference { what, a, b }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn published(id: &str) -> Run {
        published::find(id).unwrap_or_else(|e| panic!("{}", e))
    }

    fn with(metrics: Vec<Metric>) -> Run {
        Run { metrics, ..published("pub:003/m225-fresh") }
    }

    fn replicated(name: &str, samples: &[f64]) -> Metric {
        analysis::metric(name, Unit::BytesPerSecond, samples.to_vec())
    }

    #[test]
    fn one_value_each_is_no_claim() {
        let found = pairs(&published("pub:003/m225-fresh"), &published("pub:003/m225-used"));
        let names: Vec<_> = found.iter().map(|p| p.name.as_str()).collect();
        assert_eq!(names, ["sequential-read", "sequential-write"]);
        assert!(found.iter().all(|p| p.claim == "no claim" && p.low.is_none()));
        assert_eq!(found[0].ratio.map(|r| (r * 1e3).round()), Some(755.0));
    }

    #[test]
    fn replicates_that_differ_are_claimed_to_differ() {
        let a = with(vec![replicated("x", &[100.0, 101.0, 99.0]), replicated("y", &[50.0, 80.0])]);
        let b = with(vec![replicated("x", &[130.0, 131.0, 129.0]), replicated("y", &[60.0, 90.0])]);
        let claims: Vec<_> = pairs(&a, &b).iter().map(|p| p.claim).collect();
        assert_eq!(claims, ["B faster", "inconclusive"]);
        let claims: Vec<_> = pairs(&b, &a).iter().map(|p| p.claim).collect();
        assert_eq!(claims, ["B slower", "inconclusive"]);
    }

    #[test]
    fn a_published_figure_finds_the_metric_of_the_same_quantity() {
        let published = published("pub:000/sandisk-128");
        let own = with(vec![Metric::single("seq-read-8MiB-q1", Unit::BytesPerSecond, 3e8)]);
        let found = pairs(&published, &Run { id: "own".into(), ..own });
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].name_b.as_deref(), Some("seq-read-8MiB-q1"));
    }

    #[test]
    fn metrics_of_other_tools_match_published_figures() {
        let own = |method: &str, names: &[&str], unit| {
            let metrics = names.iter().map(|name| Metric::single(*name, unit, 1e3)).collect();
            Run { id: "own".into(), method: method.into(), ..with(metrics) }
        };
        let named = |id: &str, own: &Run| {
            let found = pairs(&published(id), own);
            found.into_iter().filter_map(|pair| pair.name_b).collect::<Vec<_>>()
        };
        let fio = own("fio", &["a job.read.iops", "a job.write.iops"], Unit::Iops);
        assert_eq!(named("pub:002/mini-base-fio-1", &fio), ["a job.read.iops", "a job.write.iops"]);
        let other = own("fio", &["another.read.iops"], Unit::Iops);
        assert!(pairs(&fio, &Run { id: "other".into(), ..other }).is_empty(), "jobs of its own");
        let names = ["iozone-100MiB-4KiB.rewrite", "iozone-8MiB-4KiB.read"];
        let iozone = own("iozone", &names, Unit::BytesPerSecond);
        assert_eq!(named("pub:002/mini-base-iozone-1", &iozone), names[..1]);
        let states = ["states-read-fresh", "states-read-used", "states-filled"];
        let states = own("states", &states, Unit::BytesPerSecond);
        assert_eq!(named("pub:003/m225-fresh", &states), ["states-read-fresh"]);
        assert_eq!(named("pub:003/m225-used", &states), ["states-read-used"]);
        assert_eq!(named("pub:003/m225-filled", &states), ["states-filled"]);
    }

    #[test]
    fn differing_and_unknown_conditions_are_listed() {
        let (a, mut b) = (published("pub:003/m225-fresh"), published("pub:003/m225-used"));
        b.environment.kernel = Some("6.1".into());
        let found = differences(&a, &b);
        let find = |what| found.iter().find(|d| d.what == what);
        assert_eq!(find("state before").and_then(|d| d.a.as_deref()), Some("fresh"));
        let kernel = Difference { what: "kernel", a: None, b: Some("6.1".into()) };
        assert_eq!(find("kernel"), Some(&kernel));
        assert_eq!(find("drive"), None);
    }
}
