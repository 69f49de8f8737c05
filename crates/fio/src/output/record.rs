//! The results of a plan as metrics and latency profiles of a record.

use record::{
    LatencyKind, LatencyProfile, Metric, MetricInfo, MetricKey, Order, Statistic, Unit,
    free_side_name, is_in_operations, side_name,
};
use rig::DividedTime;
use workload::OpKind;

use super::shown;
use super::shown::{ReportedSide, Shown};
use crate::Blocks;
use crate::run::Ran;

/// The figures of every result, as named by [`metrics`].
pub static METRICS: [MetricInfo; 12] = [
    MetricInfo::rate(
        "{job}.{read,write,discard}.throughput",
        "one direction of a job or a group, over its run time",
    ),
    MetricInfo::iops("{job}.{read,write,discard}.iops", "the same, operations"),
    MetricInfo::ns(
        "{job}.{read,write,discard}.{service,response}.{p50,p90,p99,p99.9,max}",
        "from the issue of an operation to its completion, and from the time at which it was due",
    ),
    MetricInfo::number("{job}.effective_depth", "mean number of operations in flight"),
    MetricInfo::rate(
        "seq-{read,write}-{size}-q{depth}",
        "the throughput under the name that fio's imported output has, if all blocks have one size",
    ),
    MetricInfo::rate("seq-{read,write}-{job}-{size}-q{depth}", "the same with several clones"),
    MetricInfo::iops(
        "{rand,mixed}-{read,write}-{size}-q{depth}",
        "the same for random accesses and mixes: operations",
    ),
    MetricInfo::iops(
        "{rand,mixed}-{read,write}-{job}-{size}-q{depth}",
        "the same with several clones",
    ),
    MetricInfo::ns(
        "{seq,rand,mixed}-{read,write}-{size}-q{depth}.{p50,p99,p99.9,max}",
        "the same: service times",
    ),
    MetricInfo::ns(
        "{seq,rand,mixed}-{read,write}-{job}-{size}-q{depth}.{p50,p99,p99.9,max}",
        "the same with several clones: service times",
    ),
    DividedTime::info(
        "{seq,rand,mixed}-{read,write}-{size}-q{depth}.\
         {time,slow}-{total,drive,link,layer,held,queue,completion,waiting,host,unexplained}",
    ),
    DividedTime::info(
        "{seq,rand,mixed}-{read,write}-{job}-{size}-q{depth}.\
         {time,slow}-{total,drive,link,layer,held,queue,completion,waiting,host,unexplained}",
    ),
];

/// The figures of every result. Their names start with the name of the result.
pub fn metrics(ran: &Ran<'_>) -> Vec<Metric> {
    let results = shown(ran);
    let names = names(&results).into_iter().zip(&results);
    let mut metrics: Vec<Metric> = names.flat_map(|(name, shown)| figures(&name, shown)).collect();
    for shown in &results {
        for side in shown.sides() {
            add_common(&mut metrics, shown, &side);
        }
    }
    metrics
}

/// Adds the figures of one direction under the names that imported results of fio have.
fn add_common(metrics: &mut Vec<Metric>, shown: &Shown<'_>, side: &ReportedSide<'_>) {
    let Some(kind @ (OpKind::Read | OpKind::Write)) = side.kind else { return };
    let (job, rw) = (shown.job, shown.job.access.rw);
    let Blocks::Fixed(block_bytes) = job.access.blocks.each()[kind as usize] else { return };
    let order = match (rw.writes() && (rw.reads() || rw.trims()), rw.random()) {
        (true, _) => Order::Mixed,
        (_, true) => Order::Random,
        _ => Order::Sequential,
    };
    let depth = if job.engine.asynchronous() { job.queue.depth } else { 1 };
    let (sizes, jobs) = (Some((*block_bytes, depth)), shown.runs.len() as u64);
    let name = free_side_name(
        |word| side_name(order, kind.name(), sizes, jobs, word),
        |name| metrics.iter().any(|metric| metric.name == name),
    );
    let key = MetricKey::parse(&name);
    let (unit, rate) = if is_in_operations(order) {
        (Unit::Iops, side.per_s())
    } else {
        (Unit::BytesPerSecond, side.bytes_per_s())
    };
    metrics.push(Metric::single(key.clone(), unit, rate));
    const COMMON: [Statistic; 4] =
        [Statistic::P50, Statistic::P99, Statistic::P999, Statistic::Max];
    for (clock, statistic, ns) in side.stats.statistics() {
        if clock == LatencyKind::Service && COMMON.contains(&statistic) {
            let key = key.clone().with(statistic);
            metrics.push(Metric::single(key, Unit::Nanoseconds, ns as f64));
        }
    }
    metrics.extend(side.stats.split.iter().flat_map(|split| split.metrics(&key)));
}

/// The latency histograms of every result.
pub fn latencies(ran: &Ran<'_>) -> Vec<LatencyProfile> {
    let results = shown(ran);
    let mut profiles = Vec::new();
    for (name, shown) in names(&results).into_iter().zip(&results) {
        for kind in OpKind::ALL {
            let Some(stats) = &shown.kinds[kind as usize] else { continue };
            profiles.push(LatencyProfile {
                name: name.clone(),
                op: kind.name().to_string(),
                service: stats.service.clone(),
                response: stats.response.clone(),
            });
        }
    }
    profiles
}

/// A name for each result: the job's name, with a number if several results share it.
fn names(results: &[Shown<'_>]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for shown in results {
        let name = &shown.job.name;
        let numbered = (2..).map(|n| format!("{name}#{n}"));
        let unique = std::iter::once(name.clone()).chain(numbered).find(|n| !names.contains(n));
        names.extend(unique);
    }
    names
}

fn figures(name: &str, shown: &Shown<'_>) -> Vec<Metric> {
    let mut figures = Vec::new();
    let job = MetricKey::parse(name);
    for side in shown.sides() {
        let part = MetricKey::parse(side.name()).within(name);
        let rates = [
            (Statistic::Throughput, Unit::BytesPerSecond, side.bytes_per_s()),
            (Statistic::Iops, Unit::Iops, side.per_s()),
        ];
        figures.extend(rates.map(|(statistic, unit, rate)| {
            Metric::single(part.clone().with(statistic), unit, rate)
        }));
        figures.extend(side.stats.statistics().map(|(clock, statistic, ns)| {
            let key = part.clone().clocked(clock).with(statistic);
            Metric::single(key, Unit::Nanoseconds, ns as f64)
        }));
    }
    let depth = shown.runs.iter().map(|run| run.did.measurement.effective_depth).sum();
    figures.push(Metric::single(job.with(Statistic::EffectiveDepth), Unit::Number, depth));
    figures
}
