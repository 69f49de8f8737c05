//! The answer of `command`: its time, and its traffic.

use super::{MEMORY, OWN_READ, OWN_WRITTEN, READ, SYNC, SYSTEM, TIME, USER, WRITTEN_SYNCED};
use record::{Answer, Better, Chart, Unit, VerdictKind};
use script::draft::Draft;
use script::{MetricInfo, Outcome};
use workload::units::{decimal, latency};

/// The answer of `command`: its time, and its traffic.
pub(super) fn answer(out: &Outcome) -> Option<Answer> {
    let draft = Draft::new(out, "How long does the program take, and what I/O does it cause?");
    let elapsed = latency(draft.value(TIME)?);
    let sentence = if draft.concluded(&VerdictKind::Failed) {
        format!("The command failed after {elapsed}")
    } else {
        format!("Takes {elapsed}")
    };
    let words = |[read, written]: [MetricInfo; 2]| {
        let [read, written] = [draft.value(read)?, draft.value(written)?];
        Some((decimal(read as u64), decimal(written as u64)))
    };
    let own = words([OWN_READ, OWN_WRITTEN]);
    let everything = words([READ, WRITTEN_SYNCED]);
    let own = own.map(|(read, written)| format!("; reads {read} and writes {written}"));
    let beside =
        everything.map(|(read, written)| format!("; the drive, all told: {read} and {written}."));
    let continuations = match (own, beside) {
        (Some(own), Some(beside)) => vec![format!("{own}{beside}"), format!("{own}.")],
        (Some(own), None) => vec![format!("{own}.")],
        (None, Some(beside)) => vec![beside],
        (None, None) => vec!["; its traffic is unknown.".into()],
    };
    let chart = Chart::bars("Where the time went", Unit::Nanoseconds)
        .source(TIME, "start to end")
        .source(USER, "CPU, programs")
        .source(SYSTEM, "CPU, kernel")
        .source(SYNC, "final sync");
    draft
        .tile("Time", TIME, Better::Lower)
        .tile("Final sync", SYNC, Better::Lower)
        .tile("Written", OWN_WRITTEN, Better::Lower)
        .tile("Read", OWN_READ, Better::Lower)
        .tile("Drive, all writes", WRITTEN_SYNCED, Better::Lower)
        .tile("Peak memory", MEMORY, Better::Lower)
        .chart(chart)
        .say(sentence, continuations)
}
