//! The conclusion and the answer of `sdclass`.

use record::{
    Answer, Axis, Better, Chart, ChartKind, Evidence, Explained, Metric, Stamp, Unit, Verdict,
    VerdictKind,
};

use super::classes::Measured;
use crate::Outcome;
use crate::answer::{headline, tile};

/// GRADE: the classes met on this host, and the next ones that are not.
pub(super) fn verdict(measured: &Measured) -> Verdict {
    let (met, missed) = measured.words();
    let missed = match missed.is_empty() {
        true => String::new(),
        false => format!(" It does not meet {} here.", missed.join(", ")),
    };
    let text = match met.is_empty() {
        true => format!("The card meets no class on this host.{missed}"),
        false => format!("The card meets {} on this host.{missed}", met.join(", ")),
    };
    let mut verdict = Verdict::new(VerdictKind::Grade, text);
    let evidence = [
        ("slowest 4 MiB in units of 64 KiB", measured.write[0], Unit::BytesPerSecond),
        ("slowest 4 MiB in units of 512 KiB", measured.write[1], Unit::BytesPerSecond),
        ("slowest unit of 512 KiB", measured.busy_ns[1] as f64, Unit::Nanoseconds),
        ("reads of 512 KiB", measured.read, Unit::BytesPerSecond),
        ("random reads", measured.random[0][0], Unit::Iops),
        ("random writes", measured.random[0][1], Unit::Iops),
        ("random reads, 32 in flight", measured.random[1][0], Unit::Iops),
        ("random writes, 32 in flight", measured.random[1][1], Unit::Iops),
    ];
    for (name, value, unit) in evidence {
        verdict.evidence.push(Evidence::new(name, value, unit));
    }
    for name in ["speed", "uhs", "video", "application"] {
        let metric = format!("sdclass-{name}");
        verdict.explains.push(Explained { metric, share: None });
    }
    verdict
}

/// The answer: the classes as they are printed on cards.
pub(super) fn answer(out: &Outcome) -> Option<Answer> {
    let verdict = out.verdicts.iter().find(|verdict| verdict.kind == VerdictKind::Grade)?;
    let find = |name: &str| out.metrics.iter().find(|m: &&Metric| m.name == name);
    let (sentence, more) = match verdict.text.split_once(". ") {
        Some((met, missed)) => (format!("{met}."), format!(" {missed}")),
        None => (verdict.text.clone(), String::new()),
    };
    let tiles = [
        ("Slowest 4 MiB written", "sdclass-write-512KiB"),
        ("Same, in 64 KiB", "sdclass-write-64KiB"),
        ("Random reads, one at a time", "sdclass-rand-read-q1"),
        ("Random writes, one at a time", "sdclass-rand-write-q1"),
        ("Random reads, 32", "sdclass-rand-read-q32"),
        ("Random writes, 32", "sdclass-rand-write-q32"),
    ];
    let tiles =
        tiles.into_iter().filter_map(|(label, m)| Some(tile(label, find(m)?, Better::Higher)));
    let bars = |title: &str, y: Unit| Chart {
        title: title.into(),
        kind: ChartKind::Bars,
        x: Axis::Workload,
        y,
        sources: out
            .metrics
            .iter()
            .filter(|m| m.unit == y && m.name.starts_with("sdclass-"))
            .map(|m| m.name.clone())
            .collect(),
        marks: Vec::new(),
    };
    let charts = vec![
        bars("Rates that the Speed, UHS and Video classes count", Unit::BytesPerSecond),
        bars("Operations that A1 and A2 count", Unit::Iops),
    ];
    Some(Answer {
        question: "Which speed class does the card meet on this host?".into(),
        headline: headline(out, sentence, &[more, String::new()]),
        stamp: Stamp::of(&out.warnings, &out.verdicts),
        tiles: tiles.collect(),
        charts,
        limits: Vec::new(),
        peers: Vec::new(),
    })
}
