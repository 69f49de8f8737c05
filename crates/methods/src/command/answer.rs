//! The answer of `command`: its time, and its traffic.

use record::Statistic::{DeviceRead, DeviceWrittenSynced, Memory, Sync, System, Time, User};
use record::{Answer, Better, Chart, Unit, VerdictKind};
use script::Outcome;
use script::draft::{Draft, name_of};
use workload::units::{decimal, latency};

/// The answer of `command`: its time, and its traffic.
pub(super) fn answer(out: &Outcome) -> Option<Answer> {
    const SUBJECT: &str = "command";
    let draft = Draft::new(out, "How long does the program take, and what I/O does it cause?");
    let key = |statistic| name_of(SUBJECT, statistic);
    let took = latency(draft.part(SUBJECT, Time)?);
    let sentence = if draft.concluded(&VerdictKind::Failed) {
        format!("The command failed after {took}")
    } else {
        format!("Takes {took}")
    };
    let moved = [DeviceRead, DeviceWrittenSynced].map(|s| draft.part(SUBJECT, s));
    let more = match moved {
        [Some(read), Some(written)] => {
            let [read, written] = [read, written].map(|bytes| decimal(bytes as u64));
            format!("; reads {read} and writes {written}, sync included.")
        }
        _ => "; the drive's traffic is unknown.".into(),
    };
    let chart = Chart::bars("Where the time went", Unit::Nanoseconds)
        .source(key(Time), "start to end")
        .source(key(User), "CPU, programs")
        .source(key(System), "CPU, kernel")
        .source(key(Sync), "final sync");
    draft
        .tile("Time", &key(Time), Better::Lower)
        .tile("Final sync", &key(Sync), Better::Lower)
        .tile("Written, sync included", &key(DeviceWrittenSynced), Better::Lower)
        .tile("Read", &key(DeviceRead), Better::Lower)
        .tile("Peak memory", &key(Memory), Better::Lower)
        .chart(chart)
        .say(sentence, [more])
}
