//! The answer of `speed`: throughput, and the cost of a command.

use super::{CHUNK, PLACE, READ, WRITE};
use record::Statistic::{CommandTime, Legacy, TransferRate};
use record::{Answer, Axis, Better, Chart, FittedLine, Unit};
use script::Outcome;
use script::draft::{Draft, rate};
use workload::units::latency;

/// The answer of `speed`: read and write throughput, and the cost of a command.
pub(super) fn answer(out: &Outcome) -> Option<Answer> {
    let draft = Draft::new(out, "What does .speed report, and what does a command cost?");
    let reads = draft.value(READ)?;
    let writes = draft.value(WRITE);
    let writes = writes.map(|r| format!(", writes {}", rate(r))).unwrap_or_default();
    let sentence = format!("Reads {}{writes}", rate(reads));
    let cost = draft.part(READ, CommandTime);
    let cost = cost.filter(|ns| *ns > 0.0).map(|ns| format!("; a command costs {}.", latency(ns)));
    let draft = draft
        .tile("Reads", READ, Better::Higher)
        .tile("Writes", WRITE, Better::Higher)
        .tile("Reads as .speed prints them", READ.with(Legacy), Better::Higher)
        .tile("Writes as .speed prints them", WRITE.with(Legacy), Better::Higher)
        .tile("Cost of a read command", READ.with(CommandTime), Better::Lower);
    // The cost is 0 if it cannot be separated from the transfer time.
    let draft = match draft.part(WRITE, CommandTime) {
        Some(ns) if ns > 0.0 => {
            draft.tile("Cost of a write command", WRITE.with(CommandTime), Better::Lower)
        }
        _ => draft,
    };
    let title = "Time of a command by transfer size";
    let mut chart = Chart::points(title, Axis::BlockSize, Unit::Nanoseconds);
    for (metric, at) in out.family(CHUNK) {
        let group = if at.word(0) == "read" { "reads" } else { "writes" };
        chart = chart.point(group, &metric.name, at.bytes(1) as f64);
    }
    for (subject, label) in [(READ, "reads"), (WRITE, "writes")] {
        let parts = [CommandTime, TransferRate].map(|statistic| draft.part(subject, statistic));
        if let [Some(at_zero), Some(rate)] = parts {
            let slope = 1e9 / rate;
            if at_zero > 0.0 {
                let cost =
                    format!("a {} command costs {}", &label[..label.len() - 1], latency(at_zero));
                chart = chart.level(cost, at_zero, None);
            }
            chart.fits.push(FittedLine { label: label.into(), at_zero, slope });
        }
    }
    let mut bars = Chart::bars("Speed at three positions", Unit::BytesPerSecond);
    bars = bars.grouped("start", READ, "reads").grouped("start", WRITE, "writes");
    for place in ["middle", "end"] {
        bars = bars.grouped(place, PLACE.member(&[&"read", &place]), "reads");
        bars = bars.grouped(place, PLACE.member(&[&"write", &place]), "writes");
    }
    draft.chart(chart).chart(bars).say(sentence, cost)
}
