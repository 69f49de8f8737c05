//! Answers for records whose method declares none: manual workloads, fio jobs, results of other
//! tools, and records of later or earlier versions.

use record::{Answer, Axis, Better, Chart, Clock, Metric, MetricKey, Naming, Statistic, Unit};
use workload::units::{amount, decimal, latency};

use super::{Draft, count, rate};
use crate::Outcome;

/// Maximum number of bars in a chart whose metrics were not chosen by a method.
const BARS_MAX: usize = 16;

/// The answer of `io` and of fio jobs: throughput and latency.
pub(crate) fn by_hand(out: &Outcome) -> Option<Answer> {
    let draft = Draft::new(out, "How fast is this workload, and how long does one I/O take?");
    let main = |m: &&Metric| {
        let key = m.key();
        key.statistic == Some(Statistic::Throughput) && key.op.is_none() && m.value.is_some()
    };
    let jobs: Vec<&Metric> = out.metrics.iter().filter(main).collect();
    let first = jobs.first()?;
    let subject = first.key().without_statistic().to_string();
    let key = |statistic| {
        let key = MetricKey::of_run(statistic);
        if subject.is_empty() { key } else { key.within(&subject) }
    };
    let of = |statistic| key(statistic).to_string();
    let time = |clock, statistic: Statistic| {
        let key = MetricKey::of_run(statistic).clocked(clock);
        let key = if subject.is_empty() { key } else { key.within(&subject) };
        key.to_string()
    };
    let service = |statistic| time(Clock::Service, statistic);
    let iops = draft.value(&of(Statistic::Iops)).map(|v| format!(", {} IOPS", count(v)));
    let speed = rate(first.value?);
    let sentence = format!("{speed}{}", iops.unwrap_or_default());
    let tail = draft.value(&time(Clock::Response, Statistic::P99));
    let tail = tail.or(draft.value(&service(Statistic::P99)));
    let more = match (jobs.len(), tail) {
        (1, Some(ns)) => Some(format!("; 99% of operations within {}.", latency(ns))),
        (1, None) => None,
        (n, _) => Some(format!(" in the first of {n} jobs.")),
    };
    let title = "Latency of the operations";
    let bars = [
        (Statistic::P50, "median"),
        (Statistic::P90, "90%"),
        (Statistic::P99, "99%"),
        (Statistic::P999, "99.9%"),
        (Statistic::Max, "longest"),
    ];
    let bars = bars.map(|(statistic, label)| (service(statistic), label));
    let bars = Chart::bars(title, Unit::Nanoseconds).sources(bars);
    let of_jobs = jobs.iter().take(BARS_MAX).map(|job| {
        let name = job.key().without_statistic().to_string();
        (&job.name, if name.is_empty() { "all".into() } else { name })
    });
    let of_jobs = Chart::bars("Speed of each job", Unit::BytesPerSecond).sources(of_jobs);
    let lines = Chart::lines("Speed over time", Axis::Time, Unit::BytesPerSecond);
    let lines = out.series.iter().fold(lines, |chart, series| {
        if chart.sources.contains(&series.name) || chart.sources.len() >= 8 {
            return chart;
        }
        chart.source(&series.name, &series.name)
    });
    let draft = draft
        .tile("Speed", &first.name, Better::Higher)
        .tile("Operations per second", &of(Statistic::Iops), Better::Higher)
        .tile("Median latency", &service(Statistic::P50), Better::Lower)
        .tile("p99 latency", &service(Statistic::P99), Better::Lower)
        .tile("p99 from due time", &time(Clock::Response, Statistic::P99), Better::Lower)
        .tile("Effective queue depth", &of(Statistic::EffectiveDepth), Better::Neither);
    let draft = if jobs.len() > 1 { draft.chart(of_jobs) } else { draft };
    draft.chart_of_column(lines).chart(bars).say(sentence, more)
}

/// The answer of any other record: its main metrics.
pub(crate) fn general(out: &Outcome, naming: Naming) -> Option<Answer> {
    let draft = Draft::new(out, "What was measured?");
    let known = |m: &&Metric| m.value.is_some();
    let main: Vec<&Metric> =
        out.metrics.iter().filter(known).filter(|m| m.key().is_main()).collect();
    let metrics = if main.is_empty() { out.metrics.iter().filter(known).collect() } else { main };
    let [first, ..] = metrics[..] else { return None };
    let sentence = format!("{}: {}", naming.metric_first(&first.key()), shown(first));
    let other = metrics.iter().skip(1).find(|m| m.unit == first.unit);
    let more = other.map(|m| format!(", {}: {}.", naming.metric(&m.key()), shown(m)));
    let bars = metrics.iter().filter(|m| m.unit == first.unit).take(BARS_MAX);
    let chart = Chart::bars(title(first.unit), first.unit)
        .sources(bars.map(|m| (&m.name, naming.metric(&m.key()))));
    let draft = metrics.iter().fold(draft, |draft, metric| {
        draft.tile(&naming.metric_first(&metric.key()), &metric.name, Better::Neither)
    });
    draft.chart(chart).say(short(&sentence), more)
}

/// Truncates a sentence to the length of a headline.
fn short(sentence: &str) -> String {
    sentence.chars().take(record::HEADLINE_MAX - 1).collect()
}

fn title(unit: Unit) -> &'static str {
    match unit {
        Unit::BytesPerSecond => "Speed of each workload",
        Unit::Iops => "Operations per second of each workload",
        Unit::Nanoseconds => "Measured times",
        Unit::Bytes => "Measured amounts",
        Unit::Celsius => "Temperatures",
        Unit::Share => "Shares",
        Unit::Number | Unit::Other(_) => "Figures",
    }
}

/// Formats the value with its unit.
fn shown(metric: &Metric) -> String {
    let value = metric.value.unwrap_or_default();
    match metric.unit {
        Unit::BytesPerSecond => rate(value),
        Unit::Iops => format!("{} IOPS", count(value)),
        Unit::Nanoseconds => latency(value),
        Unit::Bytes => decimal(value.max(0.0) as u64),
        Unit::Celsius => format!("{value:.0} C"),
        Unit::Number => amount(value),
        Unit::Share => format!("{:.0}%", 100.0 * value),
        Unit::Other(unit) => format!("{} {}", amount(value), unit),
    }
}
