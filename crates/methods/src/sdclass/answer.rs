//! The answer of `sdclass`: the classes met here.

use super::classes::{demanded_operations, demanded_rates};
use super::{RANDOM, READ, WRITE};
use record::{Answer, Better, Chart, Unit, VerdictKind};
use script::Outcome;
use script::draft::Draft;

/// The answer: the classes as printed on cards.
pub(super) fn answer(out: &Outcome) -> Option<Answer> {
    let verdict = out.verdicts.iter().find(|verdict| verdict.kind == VerdictKind::Grade)?;
    let (sentence, continuation) = match verdict.text.split_once(". ") {
        Some((met, missed)) => (format!("{met}."), Some(format!(" {missed}"))),
        None => (verdict.text.clone(), None),
    };
    let [small, large] = ["64KiB", "512KiB"].map(|unit| WRITE.member(&[&unit]));
    let random = |direction: &str, depth: u32| RANDOM.member(&[&direction, &depth]);
    let rates =
        Chart::bars("Rates that the Speed, UHS and Video classes count", Unit::BytesPerSecond)
            .source(&small, "written in 64 KiB")
            .source(&large, "written in 512 KiB")
            .source(READ, "read in 512 KiB");
    let highest = [&small, &large].into_iter().filter_map(|key| out.value(key)).reduce(f64::max);
    let rates = levels(rates, demanded_rates(), highest);
    let operations = Chart::bars("Operations that A1 and A2 count", Unit::Iops)
        .source(random("read", 1), "reads, one at a time")
        .source(random("write", 1), "writes, one at a time")
        .source(random("read", 32), "reads, 32 at a time")
        .source(random("write", 32), "writes, 32 at a time");
    // Reads and writes have demands of their own.
    let operations = ["read", "write"].into_iter().fold(operations, |chart, direction| {
        let rates = [1, 32].map(|depth| out.value(random(direction, depth)));
        let demands = demanded_operations().filter(|(name, _)| name.contains(direction));
        levels(chart, demands, rates.into_iter().flatten().reduce(f64::max))
    });
    Draft::new(out, "Which speed class does the card meet on this host?")
        .tile("Slowest 4 MiB written", large, Better::Higher)
        .tile("Same, in 64 KiB", small, Better::Higher)
        .tile("Random reads, one at a time", random("read", 1), Better::Higher)
        .tile("Random writes, one at a time", random("write", 1), Better::Higher)
        .tile("Random reads, 32 at a time", random("read", 32), Better::Higher)
        .tile("Random writes, 32 at a time", random("write", 32), Better::Higher)
        .chart(rates)
        .chart(operations)
        .say(sentence, continuation)
}

/// Adds the demands of classes as lines: the highest that the card meets, and the next.
fn levels(
    chart: Chart,
    demands: impl IntoIterator<Item = (String, f64)>,
    highest: Option<f64>,
) -> Chart {
    let highest = highest.unwrap_or(0.0);
    let (lower, higher): (Vec<_>, Vec<_>) =
        demands.into_iter().partition(|(_, value)| *value <= highest);
    let last = lower.into_iter().max_by(|a, b| a.1.total_cmp(&b.1));
    let next = higher.into_iter().min_by(|a, b| a.1.total_cmp(&b.1));
    let lines = [last, next].into_iter().flatten();
    lines.fold(chart, |chart, (classes, value)| chart.level(classes, value, None))
}
