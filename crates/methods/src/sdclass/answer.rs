//! The answer of `sdclass`: the classes met here.

use record::{Answer, Better, Chart, Unit, VerdictKind};
use script::Outcome;
use script::draft::Draft;

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
