//! The answer of `restore`: the time, and the slowest part.

use record::{Answer, Better, Chart, Unit, VerdictKind};
use script::Outcome;
use script::draft::Draft;
use workload::units::{decimal, duration};

/// The answer: the time, and the slowest part.
pub(super) fn answer(out: &Outcome) -> Option<Answer> {
    let draft = Draft::new(out, "How long does writing the image take?");
    let written = decimal(draft.value("restore-written")? as u64);
    let seconds = duration(draft.value("restore-time")? / 1e9);
    let bound = match out.verdicts.first().map(|verdict| &verdict.kind) {
        Some(VerdictKind::Source) => "; the source is the limit.",
        Some(VerdictKind::Cpu) => "; the processor is the limit.",
        Some(VerdictKind::Writes) => "; the drive is the limit.",
        _ => ".",
    };
    let chart = Chart::bars("Rates of the overlapping parts", Unit::BytesPerSecond)
        .source("restore-source", "source")
        .source("restore-processor", "processor")
        .source("restore-write", "drive");
    draft
        .tile("Time", "restore-time", Better::Lower)
        .tile("Rate", "restore-rate", Better::Higher)
        .tile("Written", "restore-written", Better::Neither)
        .tile("Source", "restore-source", Better::Higher)
        .tile("Processor", "restore-processor", Better::Higher)
        .tile("Drive", "restore-write", Better::Higher)
        .chart(chart)
        .say(format!("{written} in {seconds}{bound}"), None)
}
