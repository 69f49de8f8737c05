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
    let program = words(&draft, [OWN_READ, OWN_WRITTEN]);
    let drive = words(&draft, [READ, WRITTEN_SYNCED]);
    let program = program.map(|(read, written)| format!("; reads {read} and writes {written}"));
    let drive =
        drive.map(|(read, written)| format!("; the drive, all told: {read} and {written}."));
    let continuations = match (program, drive) {
        (Some(program), Some(drive)) => {
            vec![format!("{program}{drive}"), format!("{program}.")]
        }
        (Some(program), None) => vec![format!("{program}.")],
        (None, Some(drive)) => vec![drive],
        (None, None) => vec!["; its traffic is unknown.".into()],
    };
    // Several processors work at once, so that their time is no part of the first.
    let chart = Chart::bars("Time of the command, and processor time in it", Unit::Nanoseconds)
        .grouped("start to end", TIME, "elapsed")
        .grouped("then a sync", SYNC, "elapsed")
        .grouped("in programs", USER, "processor")
        .grouped("in the kernel", SYSTEM, "processor");
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

/// Bytes read and written, in words.
fn words(draft: &Draft<'_>, [reads, writes]: [MetricInfo; 2]) -> Option<(String, String)> {
    let [read_bytes, written_bytes] = [draft.value(reads)?, draft.value(writes)?];
    Some((decimal(read_bytes as u64), decimal(written_bytes as u64)))
}
