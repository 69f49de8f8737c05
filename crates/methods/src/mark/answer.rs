//! The answer of `mark`: files and single bytes, compared with a RAM disc.

use super::{LEGACY_SCORE, MARK};
use record::Statistic::{Ram, Ratio};
use record::{Answer, Better, Chart, Unit};
use script::Outcome;
use script::draft::{Draft, rate};

/// The metrics of `mark`, in the order of the published tables.
const MARKS: [([&str; 2], &str, &str); 4] = [
    (LOAD, "Load a file", "load"),
    (SAVE, "Save a file", "save"),
    (READ, "Read bytes", "read"),
    (WRITE, "Write bytes", "write"),
];

/// Words in the names of the metrics.
const LOAD: [&str; 2] = ["hd", "read"];
const SAVE: [&str; 2] = ["hd", "write"];
const READ: [&str; 2] = ["fs", "read"];
const WRITE: [&str; 2] = ["fs", "write"];

/// The answer of `mark`: the honest metrics, or else the legacy ones.
pub(super) fn answer(out: &Outcome) -> Option<Answer> {
    let draft = Draft::new(out, "How fast are files and single bytes, compared with a RAM disc?");
    // Published figures have no prefix.
    let published = MARK.named("{hd,fs}-{read,write}");
    let mut families = [MARK, LEGACY_SCORE].into_iter();
    let family = families.find(|family| out.family(*family).next().is_some()).unwrap_or(published);
    let key = |[kind, direction]: [&str; 2]| family.member(&[&kind, &direction]);
    let value = |words| draft.value(key(words)).map(rate);
    let load = value(LOAD)?;
    let save = value(SAVE).map(|r| format!(", saves them at {r}")).unwrap_or_default();
    let sentence = format!("Loads files at {load}{save}");
    let bytes = [value(READ), value(WRITE)];
    let bytes: Vec<String> = match bytes {
        [Some(read), Some(write)] => vec![
            format!("; reads single bytes at {read}, writes them at {write}."),
            format!("; reads single bytes at {read}."),
        ],
        [Some(read), None] => vec![format!("; reads single bytes at {read}.")],
        _ => Vec::new(),
    };
    let bars = |title: &str, marks: [[&str; 2]; 2]| {
        let chart = Chart::bars(title, Unit::BytesPerSecond);
        MARKS.into_iter().filter(|(words, ..)| marks.contains(words)).fold(
            chart,
            |chart, (words, _, verb)| {
                let chart = chart.grouped(verb, key(words), "drive");
                chart.grouped(verb, key(words).with(Ram), "RAM disc")
            },
        )
    };
    let with_ram = [LOAD, READ].map(|words| draft.part(key(words), Ram));
    let title_end = if with_ram.iter().any(Option::is_some) { ", drive and RAM disc" } else { "" };
    let draft = MARKS
        .into_iter()
        .fold(draft, |draft, (words, label, _)| draft.tile(label, key(words), Better::Higher))
        .tile("Load, share of RAM", key(LOAD).with(Ratio), Better::Higher)
        .tile("Save, share of RAM", key(SAVE).with(Ratio), Better::Higher);
    let shares = MARKS.into_iter().fold(
        Chart::bars("Share of the RAM disc", Unit::Number).level("100% of the RAM disc", 1.0, None),
        |chart, (words, label, _)| chart.source(key(words).with(Ratio), label),
    );
    draft
        .chart(shares)
        .chart(bars(&format!("Whole files{title_end}"), [LOAD, SAVE]))
        .chart(bars(&format!("Single bytes{title_end}"), [READ, WRITE]))
        .say(sentence, bytes)
}
