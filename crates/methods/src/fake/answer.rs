//! The answer of `fake`: whether the capacity is real.

use super::{CACHE, CAPACITY, LOST, MAP, MISPLACED, TESTED};
use record::{Answer, Axis, Band, Better, Chart, Unit, VerdictKind};
use script::Outcome;
use script::draft::Draft;
use workload::units::{binary, decimal};

/// The end of the addresses that were tested.
fn tested_end(draft: &Draft<'_>) -> Option<f64> {
    *draft.series(MAP)?.column("end")?.values.last()?
}

/// The answer: whether the announced capacity is real.
pub(super) fn answer(out: &Outcome) -> Option<Answer> {
    let draft = Draft::new(out, "Is the capacity real?");
    let tested = draft.value(TESTED)?;
    let capacity = draft.find(CAPACITY);
    let kind = out.verdicts.first().map(|verdict| &verdict.kind);
    let bytes = capacity.and_then(|m| m.value).map(|bytes| decimal(bytes as u64));
    let bytes_real = bytes.clone().filter(|_| kind == Some(&VerdictKind::Aliasing));
    let only = if capacity.is_some_and(|m| m.low.is_some()) { "about" } else { "only" };
    let sentence = match (kind, bytes) {
        (Some(VerdictKind::CapacityReal), Some(bytes)) => {
            format!("The capacity of {bytes} is real.")
        }
        (Some(VerdictKind::CapacityReal), None) => {
            format!("All {} written to the file came back.", decimal(tested as u64))
        }
        (Some(VerdictKind::Aliasing), Some(bytes)) => {
            format!("Counterfeit: {only} {bytes} is real.")
        }
        (Some(VerdictKind::Aliasing), None) => {
            "Counterfeit: addresses share memory or have none.".to_string()
        }
        _ => format!(
            "The drive loses content: {} of {} did not come back.",
            decimal(draft.value(LOST).unwrap_or(0.0) as u64),
            decimal(tested as u64)
        ),
    };
    let chart = Chart::bars("Bytes that came back, of those written", Unit::Bytes)
        .source(TESTED, "written")
        .source(LOST, "lost")
        .source(MISPLACED, "of another address");
    let map = Chart::map("What came back, by address", Axis::Address, Unit::Share)
        .source(MAP, "share of what was written there");
    let map = match capacity.and_then(|metric| metric.value).zip(bytes_real) {
        Some((end, bytes)) => {
            let mut map = map.mark(format!("real up to {bytes}"), end);
            let x = tested_end(&draft).map(|tested_end| [end, tested_end.max(end)]);
            map.bands.push(Band { label: "no memory of its own".into(), x, y: None });
            map
        }
        None => map,
    };
    let cache = match kind {
        Some(VerdictKind::CapacityReal) => draft.value(CACHE),
        _ => None,
    };
    let cache = cache.map(|bytes| {
        format!(" Only a cache of {} could hide missing capacity.", binary(bytes as u64))
    });
    draft
        .tile("Real capacity", CAPACITY, Better::Higher)
        .tile("Tested", TESTED, Better::Neither)
        .tile("Lost", LOST, Better::Lower)
        .tile("Misplaced", MISPLACED, Better::Lower)
        .chart(map)
        .chart(chart)
        .say(sentence, cache)
}
