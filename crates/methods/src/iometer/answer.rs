//! The answer of `iometer`.

use super::{ACCESSES, DIRECTION};
use record::Statistic::{Mean, P99, Throughput};
use record::{Answer, Better, Chart, MetricKey, Unit};
use serde_json::Value;

use script::Outcome;
use script::draft::{Draft, count, rate};
use workload::Workload;
use workload::units::binary;

/// The rates of the first specification, and the number of specifications.
pub(super) fn answer(out: &Outcome) -> Option<Answer> {
    let draft = Draft::new(out, "How fast do IOMeter's access specifications run on this drive?");
    let first = ACCESSES.member(&[&1]);
    let (iops, bytes_per_s) = (draft.value(&first)?, draft.part(&first, Throughput)?);
    let keys = (1..).map(|number| ACCESSES.member(&[&number]));
    let keys: Vec<MetricKey> = keys.take_while(|key| draft.find(key).is_some()).collect();
    let sentence = format!("{} IOPS, {}", count(iops), rate(bytes_per_s));
    let continuations = match keys.len() {
        1 => vec![format!(" ({}).", specification(out, 1, &first))],
        n => vec![format!(" in the first of {n} access specifications.")],
    };
    let labels: Vec<String> =
        (1..).zip(&keys).map(|(number, key)| specification(out, number, key)).collect();
    let chart = Chart::bars("Operations per second of each specification", Unit::Iops)
        .sources(keys.iter().zip(&labels));
    draft
        .tile("Accesses", &first, Better::Higher)
        .tile("Bytes", first.clone().with(Throughput), Better::Higher)
        .tile("Reads", DIRECTION.member(&[&1, &"read"]), Better::Higher)
        .tile("Writes", DIRECTION.member(&[&1, &"write"]), Better::Higher)
        .tile("Mean service time", first.clone().with(Mean), Better::Lower)
        .tile("p99", first.with(P99), Better::Lower)
        .chart(chart)
        .say(sentence, continuations)
}

/// What a specification accesses: `4 KiB, 67% reads, random`; its number if the plan is unknown.
fn specification(out: &Outcome, number: u32, key: &MetricKey) -> String {
    let name = key.to_string();
    let issued = out.workloads.iter().find(|json| json["name"] == name.as_str());
    let issued =
        issued.and_then(|json| serde_json::from_value::<Workload>(Value::clone(json)).ok());
    let Some(w) = issued else { return format!("specification {number}") };
    let [least, most] = [w.blocks.min(), w.blocks.max()].map(|bytes| binary(bytes.into()));
    let sizes = if least == most { most } else { format!("{least} to {most}") };
    let reads = f64::from(w.mix.read) / f64::from((w.mix.read + w.mix.write).max(1));
    let order = if w.pattern.is_random() { "random" } else { "sequential" };
    format!("{sizes}, {:.0}% reads, {order}", 100.0 * reads)
}
