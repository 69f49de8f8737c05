//! The conclusion and the answer of `sdclass`.

use record::{Answer, Better, Chart, Evidence, Unit, Verdict, VerdictKind};

use super::classes::Measured;
use script::Outcome;
use script::draft::Draft;

/// GRADE: the classes met on this host, and the next ones that are not met.
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
    let evidence = evidence.map(|(name, value, unit)| Evidence::new(name, value, unit));
    let verdict = Verdict::new(VerdictKind::Grade, text).with_evidence(evidence);
    let classes = ["speed", "uhs", "video", "application"];
    classes.iter().fold(verdict, |verdict, name| verdict.explaining(format!("sdclass-{name}")))
}

/// The answer: the classes as printed on cards.
pub(super) fn answer(out: &Outcome) -> Option<Answer> {
    let verdict = out.verdicts.iter().find(|verdict| verdict.kind == VerdictKind::Grade)?;
    let (sentence, more) = match verdict.text.split_once(". ") {
        Some((met, missed)) => (format!("{met}."), Some(format!(" {missed}"))),
        None => (verdict.text.clone(), None),
    };
    let rates =
        Chart::bars("Rates that the Speed, UHS and Video classes count", Unit::BytesPerSecond)
            .source("sdclass-write-64KiB", "written in 64 KiB")
            .source("sdclass-write-512KiB", "written in 512 KiB")
            .source("sdclass-read", "read in 512 KiB");
    let operations = Chart::bars("Operations that A1 and A2 count", Unit::Iops)
        .source("sdclass-rand-read-q1", "reads, one at a time")
        .source("sdclass-rand-write-q1", "writes, one at a time")
        .source("sdclass-rand-read-q32", "reads, 32 at a time")
        .source("sdclass-rand-write-q32", "writes, 32 at a time");
    Draft::new(out, "Which speed class does the card meet on this host?")
        .tile("Slowest 4 MiB written", "sdclass-write-512KiB", Better::Higher)
        .tile("Same, in 64 KiB", "sdclass-write-64KiB", Better::Higher)
        .tile("Random reads, one at a time", "sdclass-rand-read-q1", Better::Higher)
        .tile("Random writes, one at a time", "sdclass-rand-write-q1", Better::Higher)
        .tile("Random reads, 32 at a time", "sdclass-rand-read-q32", Better::Higher)
        .tile("Random writes, 32 at a time", "sdclass-rand-write-q32", Better::Higher)
        .chart(rates)
        .chart(operations)
        .say(sentence, more)
}
