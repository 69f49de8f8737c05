//! The answer of `iometer`.

use super::{ACCESSES, DIRECTION};
use record::Statistic::{Mean, P99, Throughput};
use record::{Answer, Better, Chart, MetricKey, Unit};

use script::Outcome;
use script::draft::{Draft, count, rate};

/// The rates of the first specification, and the number of specifications.
pub(super) fn answer(out: &Outcome) -> Option<Answer> {
    let draft = Draft::new(out, "How fast do IOMeter's access specifications run on this drive?");
    let first = ACCESSES.member(&[&1]);
    let (iops, bytes_per_s) = (draft.value(&first)?, draft.part(&first, Throughput)?);
    let keys = (1..).map(|number| ACCESSES.member(&[&number]));
    let keys: Vec<MetricKey> = keys.take_while(|key| draft.find(key).is_some()).collect();
    let sentence = format!("{} IOPS, {}", count(iops), rate(bytes_per_s));
    let continuation = match keys.len() {
        1 => None,
        n => Some(format!(" in the first of {n} access specifications.")),
    };
    let labels = (1..).map(|number| format!("specification {number}"));
    let chart = Chart::bars("Operations per second of each specification", Unit::Iops)
        .sources(keys.iter().zip(labels));
    draft
        .tile("Accesses", &first, Better::Higher)
        .tile("Bytes", first.clone().with(Throughput), Better::Higher)
        .tile("Reads", DIRECTION.member(&[&1, &"read"]), Better::Higher)
        .tile("Writes", DIRECTION.member(&[&1, &"write"]), Better::Higher)
        .tile("Mean service time", first.clone().with(Mean), Better::Lower)
        .tile("p99", first.with(P99), Better::Lower)
        .chart(chart)
        .say(sentence, continuation)
}
