//! One workload by hand, for `ssdyno io`. Not a method, because the user defines the workload;
//! figures, warnings and conclusions are the same as for methods.

use record::{LatencyProfile, Metric, Series, TargetKind, Unit};
use rig::{KindStats, Measurement};
use workload::{OpKind, Workload};

use crate::session::complete;
use crate::verdict::{self, Checks};
use crate::{Digest, MethodError, Session};

/// Percentiles in the record, if at least ten samples are beyond them.
const PERCENTILES: [(&str, f64); 4] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)];

/// Runs a workload once. The results are in the session, even if the user ends it early.
pub fn by_hand(session: &mut Session<'_>, workload: &Workload) -> Result<(), MethodError> {
    session.step(&workload.name, 0);
    session.out.issued(workload);
    session.conclude(Vec::new());
    let mut measurement = session.rig().measure(workload)?;
    session.out.state_after = session.target().state;
    session.out.keep_doubts(&workload.name, &measurement);
    figures(&measurement).into_iter().for_each(|metric| session.put_metric(metric));
    for kind in OpKind::ALL {
        if let Some(stats) = measurement.kind(kind) {
            session.out.put_latency(profile(workload, kind, stats));
        }
    }
    // A run on the null target says nothing about a drive.
    if session.target().target.kind != TargetKind::Null {
        let digest = Digest::of(workload, &measurement);
        session.conclude(verdict::judge(session.target(), &[digest], &Checks::default()));
    }
    session.out.series.push(Series { replicate: 0, ..std::mem::take(&mut measurement.series) });
    session.checkpoint();
    complete(session.rig(), measurement).map(|_| ())
}

fn profile(workload: &Workload, kind: OpKind, stats: &KindStats) -> LatencyProfile {
    LatencyProfile {
        name: workload.name.clone(),
        op: kind.name().to_string(),
        service: stats.service.clone(),
        response: stats.response.clone(),
    }
}

fn figures(measurement: &Measurement) -> Vec<Metric> {
    let mut figures = Vec::new();
    let mut put = |name: &str, unit, value: Option<f64>| {
        figures.extend(value.map(|value| Metric::single(name, unit, value)));
    };
    let data: Vec<_> = [OpKind::Read, OpKind::Write]
        .into_iter()
        .filter_map(|kind| Some((kind, measurement.kind(kind)?)))
        .collect();
    put("throughput", Unit::BytesPerSecond, measurement.throughput(None));
    put("iops", Unit::Iops, measurement.iops(None));
    put("effective_depth", Unit::Number, Some(measurement.effective_depth));
    let ops = measurement.kinds.iter().flatten().map(|k| k.ops).sum::<u64>();
    let cpu = (ops > 0).then(|| measurement.cpu_ns as f64 / ops as f64);
    put("cpu_ns_per_io", Unit::Nanoseconds, cpu);
    put("batch_mean", Unit::Number, Some(measurement.batch_mean));
    put(
        "late_ops",
        Unit::Number,
        (measurement.late_ops > 0).then_some(measurement.late_ops as f64),
    );
    let sectors = measurement.verified_sectors;
    put("verified_bytes", Unit::Bytes, (sectors > 0).then_some(sectors as f64 * 512.0));
    if let [(kind, only)] = data[..] {
        latencies("", only, &mut figures);
        if let (OpKind::Write, Some(flush)) = (kind, measurement.kind(OpKind::Flush)) {
            latencies("flush.", flush, &mut figures);
        }
        return figures;
    }
    let mut both = KindStats::default();
    data.iter().for_each(|(_, stats)| both.merge(stats));
    latencies("", &both, &mut figures);
    for (kind, stats) in data {
        let name = kind.name();
        let rate = |value: Option<f64>| value.unwrap_or_default();
        let (iops, bytes) = (measurement.iops(Some(kind)), measurement.throughput(Some(kind)));
        figures.push(Metric::single(format!("{name}.iops"), Unit::Iops, rate(iops)));
        let throughput = format!("{name}.throughput");
        figures.push(Metric::single(throughput, Unit::BytesPerSecond, rate(bytes)));
        latencies(&format!("{name}."), stats, &mut figures);
    }
    figures
}

/// Percentiles and maximum of the service time, and of the response time if there is one.
fn latencies(prefix: &str, stats: &KindStats, figures: &mut Vec<Metric>) {
    let parts = [("service", Some(&stats.service)), ("response", stats.response.as_ref())];
    for (part, histogram) in parts.into_iter().filter_map(|(name, h)| Some((name, h?))) {
        let percentiles = PERCENTILES.iter().map(|(name, q)| (*name, histogram.percentile(*q)));
        for (name, value) in percentiles.chain([("max", histogram.max())]) {
            let Some(value) = value else { continue };
            let name = format!("{prefix}{part}.{name}");
            figures.push(Metric::single(name, Unit::Nanoseconds, value as f64));
        }
    }
}
