//! The answer of `speed`: throughput, and the cost of a command.

use record::Statistic::{CommandTime, Legacy, TransferRate};
use record::{Answer, Axis, Better, Chart, FittedLine, MetricKey, Unit};
use script::Outcome;
use script::draft::{Draft, name_of, rate};
use workload::units::latency;

/// The answer of `speed`: read and write throughput, and the cost of a command.
pub(super) fn answer(out: &Outcome) -> Option<Answer> {
    let draft = Draft::new(out, "What does .speed report, and what does a command cost?");
    let reads = draft.value("speed-read")?;
    let writes = draft.value("speed-write");
    let writes = writes.map(|r| format!(", writes {}", rate(r))).unwrap_or_default();
    let sentence = format!("Reads {}{writes}", rate(reads));
    let cost = draft.part("speed-read", CommandTime);
    let cost = cost.filter(|ns| *ns > 0.0).map(|ns| format!("; a command costs {}.", latency(ns)));
    let draft = draft
        .tile("Reads", "speed-read", Better::Higher)
        .tile("Writes", "speed-write", Better::Higher)
        .tile("Reads as .speed prints them", &name_of("speed-read", Legacy), Better::Higher)
        .tile("Writes as .speed prints them", &name_of("speed-write", Legacy), Better::Higher)
        .tile("Cost of a read command", &name_of("speed-read", CommandTime), Better::Lower);
    // The cost is 0 if it cannot be separated from the transfer time.
    let draft = match draft.part("speed-write", CommandTime) {
        Some(ns) if ns > 0.0 => {
            let key = name_of("speed-write", CommandTime);
            draft.tile("Cost of a write command", &key, Better::Lower)
        }
        _ => draft,
    };
    let title = "Time of a command by transfer size";
    let mut chart = Chart::points(title, Axis::BlockSize, Unit::Nanoseconds);
    for (metric, at) in out.family("speed-{read,write}-{size}") {
        let group = if at.word(0) == "read" { "reads" } else { "writes" };
        chart = chart.point(group, &metric.name, at.bytes(1) as f64);
    }
    for (subject, label) in [("speed-read", "reads"), ("speed-write", "writes")] {
        let parts = [CommandTime, TransferRate].map(|statistic| draft.part(subject, statistic));
        if let [Some(at_zero), Some(rate)] = parts {
            let slope = 1e9 / rate;
            chart.fits.push(FittedLine { label: label.into(), at_zero, slope });
        }
    }
    let places = [("", "start"), ("-middle", "middle"), ("-end", "end")];
    let mut bars = Chart::bars("Speed at three positions", Unit::BytesPerSecond);
    for (word, place) in places {
        for (side, label) in [("speed-read", "reads"), ("speed-write", "writes")] {
            let key = MetricKey::parse(&format!("{side}{word}")).to_string();
            bars = bars.grouped(place, key, label);
        }
    }
    draft.chart(chart).chart(bars).say(sentence, cost)
}
