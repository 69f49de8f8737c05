//! The conclusion and the answer of `curve`.

use record::{
    Answer, Axis, Better, Chart, ChartKind, Evidence, Explained, Metric, Stamp, Unit, Verdict,
    VerdictKind,
};
use workload::units::latency;

use crate::Outcome;
use crate::answer::{count, headline, tile};

/// KNEE: the load that the drive keeps up with, and the response time on the way there.
pub(super) fn verdicts(out: &Outcome) -> Vec<Verdict> {
    let Some(knee) = find(out, "curve-knee") else {
        let text = "No knee was found: the drive kept up with every load, or with none.";
        let next = "a longer run: more operations at every load";
        let verdict = Verdict::new(VerdictKind::Undetermined, text);
        return vec![Verdict { next_test: Some(next.into()), ..verdict }];
    };
    let value = knee.value.unwrap_or(0.0);
    let rest = ["curve-50.p99", "curve-90.p99"].map(|name| find(out, name).and_then(|m| m.value));
    let on_the_way = match rest {
        [Some(half), Some(near)] => format!(
            " At half the load 99 of 100 operations take less than {}, at nine tenths {}.",
            latency(half),
            latency(near)
        ),
        _ => String::new(),
    };
    let text = format!("The drive keeps up with {} operations a second.{on_the_way}", count(value));
    let mut verdict = Verdict::new(VerdictKind::Knee, text);
    let ends = [("kept up with", knee.low), ("no longer", knee.high)];
    for (name, end) in ends {
        verdict.evidence.extend(end.map(|end| Evidence::new(name, end, Unit::Iops)));
    }
    verdict.explains.push(Explained { metric: knee.name.clone(), share: None });
    vec![verdict]
}

/// The answer: the knee, and the load that keeps the time asked for.
pub(super) fn answer(out: &Outcome) -> Option<Answer> {
    let knee = find(out, "curve-knee").or_else(|| find(out, "curve-closed"))?;
    let limit = find(out, "curve-kept.p99").and_then(|m| m.value);
    let kept = find(out, "curve-kept");
    let sentence = format!("Keeps up with {} IOPS", count(knee.value?));
    let more = match (limit, kept.and_then(|m| m.value)) {
        (Some(limit), Some(load)) => {
            format!("; p99 stays within {} up to {}.", latency(limit), count(load))
        }
        (Some(limit), None) => format!("; no load keeps a p99 of {}.", latency(limit)),
        (None, _) => match find(out, "curve-50.p99").and_then(|m| m.value) {
            Some(half) => format!("; at half of that the p99 is {}.", latency(half)),
            None => ".".into(),
        },
    };
    let tiles = [
        ("Knee", Some(knee), Better::Higher),
        ("Keeps the time asked for", kept, Better::Higher),
        ("p50 at a tenth", find(out, "curve-10.p50"), Better::Lower),
        ("p99 at half", find(out, "curve-50.p99"), Better::Lower),
        ("p99 at nine tenths", find(out, "curve-90.p99"), Better::Lower),
    ];
    let tiles = tiles.into_iter().filter_map(|(label, m, better)| Some(tile(label, m?, better)));
    let chart = Chart {
        title: "Response time of 99 in 100 operations, by offered load".into(),
        kind: ChartKind::Bars,
        x: Axis::Workload,
        y: Unit::Nanoseconds,
        sources: out
            .metrics
            .iter()
            .map(|m| m.name.clone())
            .filter(|name| name.ends_with(".p99") && name != "curve-kept.p99")
            .collect(),
        marks: Vec::new(),
    };
    Some(Answer {
        question: "How much load can the drive take before the response time breaks away?".into(),
        headline: headline(out, sentence, &[more, ".".into()]),
        stamp: Stamp::of(&out.warnings, &out.verdicts),
        tiles: tiles.collect(),
        charts: vec![chart].into_iter().filter(|chart| !chart.sources.is_empty()).collect(),
        limits: Vec::new(),
        peers: Vec::new(),
    })
}

fn find<'o>(out: &'o Outcome, name: &str) -> Option<&'o Metric> {
    out.metrics.iter().find(|m| m.name == name && m.value.is_some())
}
