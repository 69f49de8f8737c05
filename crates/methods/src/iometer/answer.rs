//! The answer of `iometer`.

use record::{Answer, Better, Chart, Unit};

use script::Outcome;
use script::draft::{Draft, count, rate};

/// The rates of the first specification, and the number of specifications.
pub(super) fn answer(out: &Outcome) -> Option<Answer> {
    let draft = Draft::new(out, "How fast do IOMeter's access specifications run on this drive?");
    let (first, moved) = (draft.value("iometer-1")?, draft.value("iometer-1.throughput")?);
    let names = (1..).map(|number| format!("iometer-{number}"));
    let names: Vec<String> = names.take_while(|name| draft.find(name).is_some()).collect();
    let sentence = format!("{} IOPS, {}", count(first), rate(moved));
    let more = match names.len() {
        1 => None,
        n => Some(format!(" in the first of {n} access specifications.")),
    };
    let labels = (1..).map(|number| format!("specification {number}"));
    let chart = Chart::bars("Operations per second of each specification", Unit::Iops)
        .sources(names.iter().zip(labels));
    draft
        .tile("Accesses", "iometer-1", Better::Higher)
        .tile("Bytes", "iometer-1.throughput", Better::Higher)
        .tile("Reads", "iometer-1-read", Better::Higher)
        .tile("Writes", "iometer-1-write", Better::Higher)
        .tile("Mean service time", "iometer-1.mean", Better::Lower)
        .tile("p99", "iometer-1.p99", Better::Lower)
        .chart(chart)
        .say(sentence, more)
}
