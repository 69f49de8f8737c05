//! What a plan did as metrics and latency profiles, as they go into a record.

use record::{LatencyProfile, Metric, Unit};
use workload::OpKind;

use super::shown;
use super::shown::{Shown, Side};
use crate::run::Ran;

/// Percentiles in a record, where at least ten samples lie beyond.
const PERCENTILES: [(&str, f64); 4] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)];

/// The figures of every result. With several, names begin with that of the job.
pub fn metrics(ran: &Ran<'_>) -> Vec<Metric> {
    let results = shown(ran);
    let one = |(name, shown): (String, &Shown<'_>)| figures(&name, shown);
    names(&results).into_iter().zip(&results).flat_map(one).collect()
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

/// A name for each result: the job's, and a number where several have it.
fn names(results: &[Shown<'_>]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for shown in results {
        let name = &shown.job.name;
        let taken = (2..).map(|n| format!("{name}#{n}"));
        let free = std::iter::once(name.clone()).chain(taken).find(|n| !names.contains(n));
        names.extend(free);
    }
    names
}

fn figures(name: &str, shown: &Shown<'_>) -> Vec<Metric> {
    let mut figures = Vec::new();
    let mut put = |what: &str, unit, value: f64| {
        figures.push(Metric::single(format!("{name}.{what}"), unit, value));
    };
    for side in shown.sides() {
        let kind = side.name();
        put(&format!("{kind}.throughput"), Unit::BytesPerSecond, side.bytes_per_s());
        put(&format!("{kind}.iops"), Unit::Iops, side.per_s());
        for (what, value) in points(&side) {
            put(&format!("{kind}.{what}"), Unit::Nanoseconds, value as f64);
        }
    }
    let measured = shown.runs.iter().map(|run| &run.did.measurement);
    let depth = measured.map(|m| m.effective_depth).sum();
    put("effective_depth", Unit::Number, depth);
    figures
}

fn points(side: &Side<'_>) -> Vec<(String, u64)> {
    let parts =
        [("service", Some(&side.stats.service)), ("response", side.stats.response.as_ref())];
    let mut points = Vec::new();
    for (part, histogram) in parts.into_iter().filter_map(|(part, h)| Some((part, h?))) {
        let percentiles = PERCENTILES.iter().map(|(name, q)| (*name, histogram.percentile(*q)));
        let all = percentiles.chain([("max", histogram.max())]);
        points.extend(all.filter_map(|(name, v)| Some((format!("{part}.{name}"), v?))));
    }
    points
}
