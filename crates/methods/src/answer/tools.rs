//! Answers of `mark`, `iozone`, `command` and `prepare`.

use record::Statistic::{
    DeviceRead, DeviceWrittenSynced, Memory, Ram, Ratio, Sync, System, Time, User,
};
use record::{Answer, Better, Chart, Metric, MetricKey, State, Unit, VerdictKind, capitalised};
use workload::units::{binary, decimal, latency};

use script::Outcome;
use script::draft::{Draft, name_of, rate};

/// The metrics of `mark`, in the order of the published tables.
const MARKS: [(&str, &str, &str); 4] = [
    ("hd-read", "Load a file", "load"),
    ("hd-write", "Save a file", "save"),
    ("fs-read", "Read bytes", "read"),
    ("fs-write", "Write bytes", "write"),
];

/// The answer of `mark`: the honest metrics, or else the legacy ones.
pub(crate) fn mark(out: &Outcome) -> Option<Answer> {
    let draft = Draft::new(out, "How fast are files and single bytes, compared with a RAM disc?");
    // Published figures have no prefix.
    let has = |kind: &&str| out.family(&format!("{kind}{{hd,fs}}-{{read,write}}")).next().is_some();
    let kind = ["mark-", "legacy-"].into_iter().find(has).unwrap_or_default();
    let key = |name: &str| MetricKey::parse(&format!("{kind}{name}")).to_string();
    let value = |name: &str| draft.value(&key(name)).map(rate);
    let load = value("hd-read")?;
    let save = value("hd-write").map(|r| format!(", saves them at {r}")).unwrap_or_default();
    let sentence = format!("Loads files at {load}{save}");
    let bytes = [value("fs-read"), value("fs-write")];
    let bytes: Vec<String> = match bytes {
        [Some(read), Some(write)] => vec![
            format!("; reads single bytes at {read}, writes them at {write}."),
            format!("; reads single bytes at {read}."),
        ],
        [Some(read), None] => vec![format!("; reads single bytes at {read}.")],
        _ => Vec::new(),
    };
    let bars = |title: &str, names: &[&str]| {
        let chart = Chart::bars(title, Unit::BytesPerSecond);
        MARKS.iter().filter(|(name, ..)| names.contains(name)).fold(
            chart,
            |chart, (name, _, verb)| {
                let chart = chart.grouped(*verb, key(name), "drive");
                chart.grouped(*verb, name_of(&key(name), Ram), "RAM disc")
            },
        )
    };
    let with_ram = ["hd-read", "fs-read"].map(|name| draft.value(&name_of(&key(name), Ram)));
    let beside = if with_ram.iter().any(Option::is_some) { ", drive and RAM disc" } else { "" };
    let mut draft = MARKS
        .iter()
        .fold(draft, |draft, (name, label, _)| draft.tile(label, &key(name), Better::Higher));
    for (name, label) in [("hd-read", "Load, share of RAM"), ("hd-write", "Save, share of RAM")] {
        draft = draft.tile(label, &name_of(&key(name), Ratio), Better::Higher);
    }
    draft
        .chart(bars(&format!("Whole files{beside}"), &["hd-read", "hd-write"]))
        .chart(bars(&format!("Single bytes{beside}"), &["fs-read", "fs-write"]))
        .say(sentence, bytes)
}

/// The answer of `iozone`: the results of the first row, and which of them came from memory.
pub(crate) fn iozone(out: &Outcome) -> Option<Answer> {
    let draft = Draft::new(out, "What does iozone report, and which figures can be believed?");
    let (_, at) = out.family("iozone-{size}-{size}.{step}").next()?;
    let row = MetricKey::of_words(&[&"iozone", &at.word(0), &at.word(1)]);
    let key = |column: &str| format!("{row}.{column}");
    let value = |column: &str| draft.value(&key(column)).map(rate);
    let (cold, warm) = (value("cold-read"), value("read"));
    let sentence = match (&cold, &warm, value("write")) {
        (Some(cold), Some(warm), _) => {
            format!("Reads {warm}, but {cold} with the cache dropped")
        }
        (None, Some(warm), Some(write)) => format!("Reads {warm}, writes {write}"),
        (Some(one), ..) | (_, Some(one), None) => format!("Reads {one}"),
        (None, None, Some(write)) => format!("Writes {write}"),
        (None, None, None) => return None,
    };
    let durable = value("rewrite-random-content").or(value("rewrite"));
    let durable = durable.map(|r| format!("; durable rewrites {r}."));
    let [file, record] = [0, 1].map(|place| binary(at.bytes(place)));
    let title = format!("iozone, {record} records in a file of {file}");
    let columns = [
        ("write", "write"),
        ("rewrite", "rewrite"),
        ("rewrite-random-content", "rewrite, random content"),
        ("read", "read"),
        ("reread", "reread"),
        ("cold-read", "read, cache dropped"),
        ("random-read", "random read"),
        ("cold-random-read", "random read, cache dropped"),
        ("random-write", "random write"),
        ("backward-read", "backward read"),
        ("record-rewrite", "record rewrite"),
        ("strided-read", "strided read"),
    ];
    let chart = Chart::bars(title, Unit::BytesPerSecond)
        .sources(columns.map(|(column, label)| (key(column), label)));
    draft
        .tile("Write", &key("write"), Better::Higher)
        .tile("Read", &key("read"), Better::Higher)
        .tile("Read, cache dropped", &key("cold-read"), Better::Higher)
        .tile("Random write", &key("random-write"), Better::Higher)
        .tile("Random read, cache dropped", &key("cold-random-read"), Better::Higher)
        .tile("Rewrite, random content", &key("rewrite-random-content"), Better::Higher)
        .chart(chart)
        .say(sentence, durable)
}

/// The answer of `command`: its time, and its traffic.
pub(crate) fn command(out: &Outcome) -> Option<Answer> {
    const SUBJECT: &str = "command";
    let draft = Draft::new(out, "How long does the program take, and what I/O does it cause?");
    let key = |statistic| name_of(SUBJECT, statistic);
    let took = latency(draft.part(SUBJECT, Time)?);
    let sentence = match draft.concluded(&VerdictKind::Failed) {
        true => format!("The command failed after {took}"),
        false => format!("Takes {took}"),
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

/// The answer of `prepare`: the state of the drive.
pub(crate) fn prepare(out: &Outcome) -> Option<Answer> {
    let draft = Draft::new(out, "What state is the drive in?");
    let trimmed = draft
        .value("trimmed")
        .map(|bytes| format!("Free space discarded: {}", decimal(bytes as u64)));
    let state = match out.state_after {
        State::Fresh => "The drive is fresh: everything is discarded",
        State::Filled => "The drive is full: every block was written once, sequentially",
        State::Used => "The drive is used: every block was overwritten in random order",
        State::Trimmed => "The drive is trimmed: used, then everything discarded",
        State::Unknown | State::Other(_) => "The state of the drive is unknown",
    };
    let sentence = trimmed.unwrap_or_else(|| state.to_string());
    let figures: Vec<&Metric> = out.metrics.iter().collect();
    let draft = figures.iter().fold(draft, |draft, metric| {
        draft.tile(&capitalised(&metric.key().in_words()), &metric.name, Better::Neither)
    });
    draft.say(sentence, None)
}
