//! The answer of `curve`: throughput by queue depth, and its knee.

use super::{CLOSED, KEPT, KNEE, LIMIT, response};
use record::Statistic::{P50, P99};
use record::{Answer, Axis, Better, Chart, Unit};
use script::Outcome;
use script::draft::{Draft, count};
use workload::units::latency;

/// The answer: the knee, and the highest load within the requested response time.
pub(super) fn answer(out: &Outcome) -> Option<Answer> {
    let knee = out.metric(KNEE).or_else(|| out.metric(CLOSED))?;
    let sentence = format!("Keeps up with {} IOPS", count(knee.value?));
    let continuation = match (out.value(LIMIT), out.value(KEPT)) {
        (Some(limit), Some(load)) => {
            Some(format!("; p99 stays within {} up to {}.", latency(limit), count(load)))
        }
        (Some(limit), None) => Some(format!("; no load meets a p99 of {}.", latency(limit))),
        (None, _) => out
            .value(response(50, P99))
            .map(|half| format!("; at a load of 50% the p99 is {}.", latency(half))),
    };
    let mut chart = Chart::points("Response time by offered load", Axis::Demand, Unit::Nanoseconds);
    let groups = [(P99, "99 in 100 within"), (P50, "half within")];
    for (statistic, group) in groups {
        for metric in &out.metrics {
            let key = Some(metric.key()).filter(|key| key.statistic == Some(statistic));
            let load = key.map(|key| key.without_statistic());
            let load = load.filter(|load| *load != KEPT.into());
            if let Some(rate) = load.and_then(|load| out.value(load)) {
                chart = chart.point(group, &metric.name, rate);
            }
        }
    }
    if let Some(rate) = out.value(KNEE) {
        chart = chart.mark("knee", rate);
    }
    let question = "How much load can the drive take before response times soar?";
    Draft::new(out, question)
        .tile("Knee", knee, Better::Higher)
        .tile("Load within --p99", KEPT, Better::Higher)
        .tile("p50 at a tenth", response(10, P50), Better::Lower)
        .tile("p99 at half", response(50, P99), Better::Lower)
        .tile("p99 at nine tenths", response(90, P99), Better::Lower)
        .chart(chart)
        .say(sentence, continuation)
}
