//! The answer of `mark`: files and single bytes, compared with a RAM disc.

use record::Statistic::{Ram, Ratio};
use record::{Answer, Better, Chart, MetricKey, Unit};
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
pub(super) fn answer(out: &Outcome) -> Option<Answer> {
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
