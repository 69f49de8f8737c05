//! The answer of `command`: its time, and its traffic.

use super::{MEMORY, READ, SYNC, SYSTEM, TIME, USER, WRITTEN_SYNCED};
use record::{Answer, Better, Chart, Unit, VerdictKind};
use script::Outcome;
use script::draft::Draft;
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
    let traffic = [READ, WRITTEN_SYNCED].map(|metric| draft.value(metric));
    let continuation = match traffic {
        [Some(read), Some(written)] => {
            let [read, written] = [read, written].map(|bytes| decimal(bytes as u64));
            format!("; reads {read} and writes {written}, sync included.")
        }
        _ => "; the drive's traffic is unknown.".into(),
    };
    let chart = Chart::bars("Where the time went", Unit::Nanoseconds)
        .source(TIME, "start to end")
        .source(USER, "CPU, programs")
        .source(SYSTEM, "CPU, kernel")
        .source(SYNC, "final sync");
    draft
        .tile("Time", TIME, Better::Lower)
        .tile("Final sync", SYNC, Better::Lower)
        .tile("Written, sync included", WRITTEN_SYNCED, Better::Lower)
        .tile("Read", READ, Better::Lower)
        .tile("Peak memory", MEMORY, Better::Lower)
        .chart(chart)
        .say(sentence, [continuation])
}
