//! The answer of `iozone`: the first row, and which of its figures came from memory.

use super::FIGURES;
use record::{Answer, Better, Chart, MetricKey, Unit};
use script::Outcome;
use script::draft::{Draft, rate};
use workload::units::binary;

/// The answer of `iozone`: the results of the first row, and which of them came from memory.
pub(super) fn answer(out: &Outcome) -> Option<Answer> {
    let draft = Draft::new(out, "What does iozone report, and which figures can be believed?");
    let (_, places) = out.family(FIGURES.named("iozone-{size}-{size}.{step}")).next()?;
    let row = MetricKey::of_words(&[&"iozone", &places.word(0), &places.word(1)]).to_string();
    let key = |column: &str| MetricKey::parse(column).within(&row);
    let value = |column: &str| draft.value(key(column)).map(rate);
    let (cold, warm) = (value("cold-read"), value("read"));
    let sentence = match (&cold, &warm, value("write")) {
        (Some(cold), Some(warm), _) if cold == warm => {
            format!("Reads {warm}, also with the cache dropped")
        }
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
    let [file, record] = [0, 1].map(|place| binary(places.bytes(place)));
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
        .tile("Write", key("write"), Better::Higher)
        .tile("Read", key("read"), Better::Higher)
        .tile("Read, cache dropped", key("cold-read"), Better::Higher)
        .tile("Random write", key("random-write"), Better::Higher)
        .tile("Random read, cache dropped", key("cold-random-read"), Better::Higher)
        .tile("Rewrite, random content", key("rewrite-random-content"), Better::Higher)
        .chart(chart)
        .say(sentence, durable)
}
