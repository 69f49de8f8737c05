//! The answer of `restore`: the time, and the slowest part.

use super::{PROCESSOR, RATE, SOURCE, TIME, WRITE, WRITTEN};
use record::{Answer, Better, Chart, Unit, VerdictKind};
use script::Outcome;
use script::draft::Draft;
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
    let chart = Chart::bars("Rates of the overlapping parts", Unit::BytesPerSecond)
        .source(SOURCE, "source")
        .source(PROCESSOR, "processor")
        .source(WRITE, "drive");
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
