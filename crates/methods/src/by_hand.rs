//! A single manual workload, for `ssdyno io`. It is not a method, because the user defines the
//! workload. Metrics, warnings and verdicts are the same as for methods.

use record::{
    LatencyProfile, Metric, MetricInfo, MetricKey, Safety, Series, Statistic, TargetKind, Unit,
};
use rig::{DividedTime, KindStats, Measurement};
use workload::{OpKind, Workload};

use rules::Digest;
use rules::rate_change::of_neither;
use rules::time_series::TimeSeries;
use script::{Conclusion, MethodInfo, Result, Session};

/// Declares the metrics of a workload, with a prefix before each name.
macro_rules! declared {
    ($prefix:literal) => {
        [
            MetricInfo::rate(concat!($prefix, "throughput"), "reads and writes together"),
            MetricInfo::iops(concat!($prefix, "iops"), "reads and writes together"),
            MetricInfo::rate(concat!($prefix, "{read,write}.throughput"), "one direction of a mix"),
            MetricInfo::iops(concat!($prefix, "{read,write}.iops"), "one direction of a mix"),
            MetricInfo::ns(
                concat!($prefix, "service.{p50,p90,p99,p99.9,max}"),
                "from the submission of an operation to its completion; a percentile needs ten \
                 operations beyond it",
            ),
            MetricInfo::ns(
                concat!($prefix, "response.{p50,p90,p99,p99.9,max}"),
                "from the time an operation was due to its completion, for a paced workload",
            ),
            MetricInfo::ns(
                concat!($prefix, "{read,write,flush}.{service,response}.{p50,p90,p99,p99.9,max}"),
                "the same for one kind of operation: in a mix, and for flushes between writes",
            ),
            DividedTime::info(concat!(
                $prefix,
                "{time,slow}-{total,drive,link,layer,held,queue,completion,waiting,host,unexplained}"
            )),
            DividedTime::info(concat!(
                $prefix,
                "{read,write}.{time,slow}-{total,drive,link,layer,held,queue,completion,waiting,host,unexplained}"
            )),
            MetricInfo::number(
                concat!($prefix, "effective_depth"),
                "mean number of operations in flight",
            ),
            MetricInfo::ns(concat!($prefix, "cpu_ns_per_io"), "CPU time of ssdyno per operation"),
            MetricInfo::number(
                concat!($prefix, "batch_mean"),
                "operations submitted per system call, mean",
            ),
            MetricInfo::number(
                concat!($prefix, "late_ops"),
                "operations issued after they were due",
            ),
            MetricInfo::bytes(
                concat!($prefix, "verified_bytes"),
                "bytes whose content was checked, with --verify",
            ),
        ]
    };
}

/// Metrics of a step that runs a manual workload: those of [`BY_HAND`], with the step's name before
/// each.
pub static STEP_METRICS: [MetricInfo; 14] = declared!("{step}.");

/// A manual workload, as described by `ssdyno methods io`.
pub static BY_HAND: MethodInfo = MethodInfo {
    name: "io",
    summary: "one workload, defined by the user",
    about: "See ssdyno io --help. The workload runs once.",
    safety: Safety::Destroys,
    writes: "the workload's own bytes",
    metrics: &[&declared!("")],
    answer: crate::answer::by_hand,
    conclusion: Conclusion::Script,
    ..MethodInfo::EMPTY
};

/// Runs a workload once. The session has the results even if the user stops the run early.
pub fn by_hand(session: &mut Session<'_>, workload: &Workload) -> Result<()> {
    session.step(&workload.name, 0);
    session.declare(&BY_HAND);
    let mut measurement = session.issue(workload)?;
    session.set_state(session.target().state);
    session.keep_doubts(&workload.name, &measurement);
    let has_host = session.target().target.kind != TargetKind::Virtual;
    figures(&measurement, has_host).into_iter().for_each(|metric| session.put_metric(metric));
    for kind in OpKind::ALL {
        if let Some(stats) = measurement.kind(kind) {
            session.put_latency(profile(workload, kind, stats));
        }
    }
    // A run on the null target says nothing about a drive.
    if session.target().target.kind != TargetKind::Null {
        session.judge_run(Digest::of_run(workload, &measurement));
    }
    if let Some(doubt) = of_neither(&TimeSeries::from_measurement(&measurement)) {
        session.note(match workload.mix.weight(OpKind::Write) {
            0 => doubt,
            _ => doubt.advise("-m sustain measures both rates and the size of the cache"),
        });
    }
    session.put_series(Series { replicate: 0, ..std::mem::take(&mut measurement.series) });
    session.checkpoint();
    session.completed(measurement).map(|_| ())
}

fn profile(workload: &Workload, kind: OpKind, stats: &KindStats) -> LatencyProfile {
    LatencyProfile {
        name: workload.name.clone(),
        op: kind.name().to_string(),
        service: stats.service.clone(),
        response: stats.response.clone(),
    }
}

/// The metrics of a measurement. The costs of submitting I/O exist only on a host.
fn figures(measurement: &Measurement, has_host: bool) -> Vec<Metric> {
    let mut figures = Vec::new();
    let mut add = |statistic, unit, value: Option<f64>| {
        let key = MetricKey::of_run(statistic);
        figures.extend(value.map(|value| Metric::single(key, unit, value)));
    };
    let data: Vec<_> = measurement.transfers().collect();
    add(Statistic::Throughput, Unit::BytesPerSecond, measurement.throughput(None));
    add(Statistic::Iops, Unit::Iops, measurement.iops(None));
    add(Statistic::EffectiveDepth, Unit::Number, Some(measurement.effective_depth));
    let ops = measurement.kinds.iter().flatten().map(|k| k.ops).sum::<u64>();
    let cpu = (ops > 0).then(|| measurement.cpu_ns as f64 / ops as f64);
    add(Statistic::CpuPerIo, Unit::Nanoseconds, cpu.filter(|_| has_host));
    add(Statistic::BatchMean, Unit::Number, has_host.then_some(measurement.batch_mean));
    add(
        Statistic::LateOps,
        Unit::Number,
        (measurement.late_ops > 0).then_some(measurement.late_ops as f64),
    );
    let sectors = measurement.verified_sectors;
    add(Statistic::VerifiedBytes, Unit::Bytes, (sectors > 0).then_some(sectors as f64 * 512.0));
    let run = MetricKey::parse("");
    let is_mix = data.len() > 1;
    let writes = data.iter().any(|(kind, _)| *kind == OpKind::Write);
    let mut transfers = KindStats::default();
    data.iter().for_each(|(_, stats)| transfers.merge(stats));
    latencies(&run, &transfers, &mut figures);
    figures.extend(transfers.split.iter().flat_map(|split| split.metrics(&run)));
    // One kind alone has the figures of all.
    for (kind, stats) in data.into_iter().filter(|_| is_mix) {
        let part = |statistic| MetricKey::of_run(statistic).of_op(kind);
        let [iops, bytes_per_s] =
            [measurement.iops(Some(kind)), measurement.throughput(Some(kind))]
                .map(Option::unwrap_or_default);
        figures.push(Metric::single(part(Statistic::Iops), Unit::Iops, iops));
        figures.push(Metric::single(
            part(Statistic::Throughput),
            Unit::BytesPerSecond,
            bytes_per_s,
        ));
        latencies(&run.clone().of_op(kind), stats, &mut figures);
        let key = run.clone().of_op(kind);
        figures.extend(stats.split.iter().flat_map(|split| split.metrics(&key)));
    }
    if let Some(flush) = measurement.kind(OpKind::Flush).filter(|_| writes) {
        latencies(&run.of_op(OpKind::Flush), flush, &mut figures);
    }
    figures
}

/// Adds the percentiles and maximum of the service time, and of the response time if there is one.
fn latencies(subject: &MetricKey, stats: &KindStats, figures: &mut Vec<Metric>) {
    for (clock, statistic, ns) in stats.statistics() {
        let key = subject.clone().clocked(clock).with(statistic);
        figures.push(Metric::single(key, Unit::Nanoseconds, ns as f64));
    }
}
