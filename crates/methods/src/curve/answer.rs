//! The answer of `curve`: throughput by queue depth, and its knee.

use record::{Answer, Axis, Better, Chart, Statistic, Unit};
use script::Outcome;
use script::draft::{Draft, count};
use workload::units::latency;

/// The answer: the knee, and the highest load within the requested response time.
pub(super) fn answer(out: &Outcome) -> Option<Answer> {
    let knee = out.metric("curve-knee").or_else(|| out.metric("curve-closed"))?;
    let sentence = format!("Keeps up with {} IOPS", count(knee.value?));
    let more = match (out.value("curve-kept.p99"), out.value("curve-kept")) {
        (Some(limit), Some(load)) => {
            Some(format!("; p99 stays within {} up to {}.", latency(limit), count(load)))
        }
        (Some(limit), None) => Some(format!("; no load meets a p99 of {}.", latency(limit))),
        (None, _) => out
            .value("curve-50.p99")
            .map(|half| format!("; at a load of 50% the p99 is {}.", latency(half))),
    };
    let mut chart = Chart::points("Response time by offered load", Axis::Demand, Unit::Nanoseconds);
    let groups = [(Statistic::P99, "99 in 100 within"), (Statistic::P50, "half within")];
    for (statistic, group) in groups {
        for metric in &out.metrics {
            let key = Some(metric.key()).filter(|key| key.statistic == Some(statistic));
            let load = key.map(|key| key.without_statistic().to_string());
            let load = load.filter(|name| name != "curve-kept");
            if let Some(offered) = load.and_then(|name| out.value(&name)) {
                chart = chart.point(group, &metric.name, offered);
            }
        }
    }
    if let Some(at) = out.value("curve-knee") {
        chart = chart.mark("knee", at);
    }
    let question = "How much load can the drive take before response times soar?";
    Draft::new(out, question)
        .tile("Knee", &knee.name, Better::Higher)
        .tile("Load within --p99", "curve-kept", Better::Higher)
        .tile("p50 at a tenth", "curve-10.p50", Better::Lower)
        .tile("p99 at half", "curve-50.p99", Better::Lower)
        .tile("p99 at nine tenths", "curve-90.p99", Better::Lower)
        .chart(chart)
        .say(sentence, more)
}
