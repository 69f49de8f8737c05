//! The answer of `restore`: the time, and the slowest part.

use super::{PROCESSOR, RATE, SOURCE, TIME, WRITE, WRITTEN};
use record::{Answer, Better, Chart, Unit, VerdictKind};
use script::Outcome;
use script::draft::{Draft, rate};
use workload::units::{decimal, duration};

/// The answer: the time, and the slowest part.
pub(super) fn answer(out: &Outcome) -> Option<Answer> {
    let draft = Draft::new(out, "How long does writing the image take?");
    let amount = decimal(draft.value(WRITTEN)? as u64);
    let seconds = duration(draft.value(TIME)? / 1e9);
    let bound = match out.verdicts.first().map(|verdict| &verdict.kind) {
        Some(VerdictKind::Source) => "; the source is the limit.",
        Some(VerdictKind::Cpu) => "; the processor is the limit.",
        Some(VerdictKind::Writes) => "; the drive is the limit.",
        _ => ".",
    };
    let limit = match out.verdicts.first().map(|verdict| &verdict.kind) {
        Some(VerdictKind::Source) => "source",
        Some(VerdictKind::Cpu) => "processor",
        Some(VerdictKind::Writes) => "drive",
        _ => "",
    };
    let label = |part: &str| {
        if part == limit { format!("{part} (the limit)") } else { part.to_string() }
    };
    let chart = Chart::bars("Rates of the overlapping parts", Unit::BytesPerSecond)
        .source(SOURCE, label("source"))
        .source(PROCESSOR, label("processor"))
        .source(WRITE, label("drive"));
    // With one part, the whole has its rate.
    let chart = match draft.value(RATE).filter(|_| draft.find(SOURCE).is_some()) {
        Some(whole) => chart.level(format!("all of it {}", rate(whole)), whole, None),
        None => chart,
    };
    draft
        .tile("Time", TIME, Better::Lower)
        .tile("Rate", RATE, Better::Higher)
        .tile("Written", WRITTEN, Better::Neither)
        .tile("Source", SOURCE, Better::Higher)
        .tile("Processor", PROCESSOR, Better::Higher)
        .tile("Drive", WRITE, Better::Higher)
        .chart(chart)
        .say(format!("{amount} in {seconds}{bound}"), None)
}
