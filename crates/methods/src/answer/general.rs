//! Answers for records whose method declares none: manual workloads, fio jobs, results of other
//! tools, and records of later or earlier versions.

use std::collections::BTreeSet;

use record::{
    Answer, Axis, Better, Chart, LatencyKind, Metric, MetricKey, Naming, Statistic, Unit,
};
use workload::units::{amount, decimal, latency};

use script::Outcome;
use script::draft::{Draft, count, rate};

/// Maximum number of bars in a chart whose metrics were not chosen by a method.
const BARS_MAX: usize = 16;

/// The answer of `io` and of fio jobs: throughput and latency.
pub(crate) fn by_hand(out: &Outcome) -> Option<Answer> {
    let draft = Draft::new(out, "How fast is this workload, and how long does one I/O take?");
    let rates: Vec<&Metric> = out.metrics.iter().filter(|m| is_of_workload(m)).collect();
    let first = rates.first()?;
    let (key, owner) = (first.key(), first.key().owner());
    // The directions of the first job.
    let sides = rates.iter().copied().filter(|metric| {
        metric.key().owner() == owner && metric.key().op.is_some() == key.op.is_some()
    });
    let sides: Vec<&Metric> = sides.collect();
    let jobs = rates.iter().map(|m| m.key().owner()).collect::<BTreeSet<_>>().len();
    let subject = key.without_statistic();
    let time = |clock, statistic| subject.clone().clocked(clock).with(statistic);
    let service = |statistic| time(LatencyKind::Service, statistic);

    let iops = draft.part(&subject, Statistic::Iops).filter(|_| sides.len() == 1);
    let iops = iops.map(|v| format!(", {} IOPS", count(v))).unwrap_or_default();
    let figures = sides.iter().map(|side| rate_of(side)).collect::<Vec<_>>().join(", ") + &iops;
    let tail = draft.value(time(LatencyKind::Response, Statistic::P99));
    let tail = tail.or(draft.value(service(Statistic::P99)));
    let operations = match sides.len() {
        _ if owner.is_empty() => " of operations".to_string(),
        1 => String::new(),
        _ => format!(" of {}", direction(&key)),
    };
    let continuation = match (jobs, tail) {
        (1, Some(ns)) => format!("; 99%{operations} within {}.", latency(ns)),
        (1, None) => ".".to_string(),
        (n, _) => format!("; first of {n} jobs."),
    };
    let sentence = named(&owner, &figures, continuation.chars().count());

    // What tiles and charts are about, unless they are about everything.
    let scope = match (rates.len(), jobs) {
        (1, _) => String::new(),
        (_, 1) => format!(" of {}", direction(&key)),
        _ => format!(" of {}", Naming::Users.workload(&owner, key.op)),
    };
    let bars = [
        (Statistic::P50, "median"),
        (Statistic::P90, "90%"),
        (Statistic::P99, "99%"),
        (Statistic::P999, "99.9%"),
        (Statistic::Max, "longest"),
    ];
    let bars = bars.map(|(statistic, label)| (service(statistic), label));
    let title_end = if scope.is_empty() { " of the operations" } else { &scope };
    let bars = Chart::bars(format!("Latency{title_end}"), Unit::Nanoseconds).sources(bars);
    let lines = Chart::lines("Speed over time", Axis::Time, Unit::BytesPerSecond);
    let lines = out.series.iter().fold(lines, |chart, series| {
        if chart.sources.contains(&series.name) || chart.sources.len() >= 8 {
            return chart;
        }
        chart.source(&series.name, &series.name)
    });
    let tile = |label: &str| format!("{label}{scope}");
    let depth = MetricKey::parse(&owner).with(Statistic::EffectiveDepth);
    let of_job = if jobs > 1 { format!(" of {owner}") } else { String::new() };
    let draft = draft
        .tile(&tile("Speed"), *first, Better::Higher)
        .tile(&tile("Operations per second"), subject.clone().with(Statistic::Iops), Better::Higher)
        .tile(&tile("Median latency"), service(Statistic::P50), Better::Lower)
        .tile(&tile("p99 latency"), service(Statistic::P99), Better::Lower)
        .tile(
            &tile("p99 from due time"),
            time(LatencyKind::Response, Statistic::P99),
            Better::Lower,
        )
        .tile(&format!("Effective queue depth{of_job}"), depth, Better::Neither);
    let draft = if jobs > 1 { draft.chart(of_jobs(&rates)) } else { draft };
    draft.chart_of_column(lines).chart(bars).say(sentence, [continuation])
}

/// Whether a metric is the throughput of a workload of `io`, or of one direction of a fio job.
fn is_of_workload(metric: &Metric) -> bool {
    let key = metric.key();
    let is_whole = key.op.is_none() || !key.owner().is_empty();
    key.statistic == Some(Statistic::Throughput) && is_whole && metric.value.is_some()
}

/// `reads`, `writes`; empty for all operations together.
fn direction(key: &MetricKey) -> String {
    Naming::Users.workload("", key.op)
}

/// `reads 12.3 MB/s`
fn rate_of(side: &Metric) -> String {
    let words = [direction(&side.key()), rate(side.value.unwrap_or_default())];
    words.iter().map(String::as_str).filter(|w| !w.is_empty()).collect::<Vec<_>>().join(" ")
}

/// The figures after the user's name of a job, which is cut if the headline would be too long with
/// `more` characters.
fn named(owner: &str, figures: &str, more: usize) -> String {
    if owner.is_empty() {
        return figures.to_string();
    }
    let used = figures.chars().count() + ": ".len() + more;
    let room = record::HEADLINE_MAX.saturating_sub(used);
    let name = if owner.chars().count() <= room {
        owner.to_string()
    } else {
        owner.chars().take(room.saturating_sub(3)).collect::<String>() + "..."
    };
    format!("{name}: {figures}")
}

/// A bar for each direction of each job.
fn of_jobs(rates: &[&Metric]) -> Chart {
    let bars = rates.iter().take(BARS_MAX).map(|job| {
        let key = job.key();
        (&job.name, Naming::Users.workload(&key.owner(), key.op))
    });
    Chart::bars("Speed of each job", Unit::BytesPerSecond).sources(bars)
}

/// The answer of any other record: its main metrics.
pub(crate) fn general(out: &Outcome, naming: Naming) -> Option<Answer> {
    let draft = Draft::new(out, "What was measured?");
    let valued = out.metrics.iter().filter(|m| m.value.is_some());
    let main: Vec<&Metric> = valued.clone().filter(|m| m.key().is_main()).collect();
    let metrics = if main.is_empty() { valued.collect() } else { main };
    let [first, ..] = metrics[..] else { return None };
    let sentence = format!("{}: {}", naming.metric_first(&first.key()), shown(first));
    let other = metrics.iter().skip(1).find(|m| m.unit == first.unit);
    let continuation = other.map(|m| format!(", {}: {}.", naming.metric(&m.key()), shown(m)));
    let bars = metrics.iter().filter(|m| m.unit == first.unit).take(BARS_MAX);
    let chart = Chart::bars(title(first.unit), first.unit)
        .sources(bars.map(|m| (&m.name, naming.metric(&m.key()))));
    let draft = metrics.iter().fold(draft, |draft, metric| {
        draft.tile(&naming.metric_first(&metric.key()), *metric, Better::Neither)
    });
    draft.chart(chart).say(short(&sentence), continuation)
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

#[cfg(test)]
mod tests {
    use record::{HEADLINE_MAX, Unit};

    use super::*;
    use crate::testing::outcome;

    #[test]
    fn fio_jobs_are_reported_under_their_names() {
        const RATE: Unit = Unit::BytesPerSecond;
        let job = [
            ("my-job.write.throughput", RATE, 91.2e6),
            ("my-job.write.iops", Unit::Iops, 22e3),
            ("my-job.write.service.p99", Unit::Nanoseconds, 1.2e6),
            ("my-job.effective_depth", Unit::Number, 4.0),
        ];
        let answer = by_hand(&outcome(&job)).expect("measured");
        assert_eq!(answer.headline, "my-job: writes 91.2 MB/s, 22k IOPS; 99% within 1.20 ms.");
        let labels: Vec<&str> = answer.tiles.iter().map(|tile| tile.label.as_str()).collect();
        let expected = ["Speed", "Operations per second", "p99 latency", "Effective queue depth"];
        assert_eq!(labels, expected);

        let mix = [
            ("a.read.throughput", RATE, 12.3e6),
            ("a.read.iops", Unit::Iops, 3e3),
            ("a.read.service.p99", Unit::Nanoseconds, 1.2e6),
            ("a.write.throughput", RATE, 5.21e6),
        ];
        let answer = by_hand(&outcome(&mix)).expect("measured");
        let expected = "a: reads 12.3 MB/s, writes 5.21 MB/s; 99% of reads within 1.20 ms.";
        assert_eq!((answer.headline.as_str(), answer.charts.len()), (expected, 1));
        assert_eq!(answer.tiles[0].label, "Speed of reads");

        let three = [&job[..], &mix, &[("b.discard.throughput", RATE, 1e9)]].concat();
        let answer = by_hand(&outcome(&three)).expect("measured");
        assert_eq!(answer.headline, "my-job: writes 91.2 MB/s, 22k IOPS; first of 3 jobs.");
        assert_eq!(
            (answer.charts[0].title.as_str(), answer.charts.len()),
            ("Speed of each job", 2)
        );
        assert_eq!(answer.tiles[0].label, "Speed of my-job writes");

        // The name is cut, not the figures.
        let name = "long-".repeat(30);
        let long = mix.map(|(key, unit, v)| (key.replacen('a', &name, 1), unit, v));
        let long: Vec<_> = long.iter().map(|(key, unit, v)| (key.as_str(), *unit, *v)).collect();
        let headline = by_hand(&outcome(&long)).expect("measured").headline;
        assert_eq!(headline.chars().count(), HEADLINE_MAX, "{headline}");
        let end = "...: reads 12.3 MB/s, writes 5.21 MB/s; 99% of reads within 1.20 ms.";
        assert!(headline.starts_with("long-long-") && headline.ends_with(end), "{headline}");

        // `io` has one workload without a name, whose directions are parts of it.
        let io = [
            ("throughput", RATE, 91.2e6),
            ("iops", Unit::Iops, 22e3),
            ("read.throughput", RATE, 50e6),
            ("service.p99", Unit::Nanoseconds, 1.2e6),
        ];
        let answer = by_hand(&outcome(&io)).expect("measured");
        assert_eq!(answer.headline, "91.2 MB/s, 22k IOPS; 99% of operations within 1.20 ms.");
        assert_eq!((answer.tiles[0].label.as_str(), answer.tiles.len()), ("Speed", 3));
    }
}
