//! Converts the results of workers and sampler into a measurement.

use record::{Finding, IoErrors};
use rig::{BackendKind, Measurement, StopReason, ThreadLoad};
use workload::Workload;

use crate::recorder::JobEnd;
use crate::sampler::Observations;

/// Maximum addresses kept per kind of error.
const ADDRESSES_KEPT: usize = 16;

/// The measurement, without its time series and findings.
pub(crate) fn summarise(
    workload: &Workload,
    observations: &Observations,
    backend: Option<BackendKind>,
    direct: bool,
) -> Measurement {
    let ends = &observations.ends;
    let begin_ns = ends.iter().map(|e| e.origin_ns + e.begin_ns).min().unwrap_or(0);
    let end_ns = ends.iter().map(|e| e.origin_ns + e.end_ns).max().unwrap_or(0);
    let elapsed_ns =
        end_ns.saturating_sub(begin_ns).saturating_sub(observations.standstills.total_ns);
    let in_flight: u128 = observations.totals.iter().flatten().map(|k| k.service.sum()).sum();
    let (issued, calls) = ends.iter().fold((0, 0), |sum, e| (sum.0 + e.issued, sum.1 + e.calls()));
    let worst = |reason| ends.iter().any(|e| e.stop == reason);
    let stop = if worst(StopReason::Errors) {
        StopReason::Errors
    } else if worst(StopReason::Interrupted) {
        StopReason::Interrupted
    } else {
        ends.first().map(|e| e.stop).unwrap_or_default()
    };
    Measurement {
        name: workload.name.clone(),
        elapsed_ns,
        kinds: observations.totals.clone(),
        series: Default::default(),
        effective_depth: in_flight as f64 / elapsed_ns.max(1) as f64,
        late_ops: ends.iter().map(|e| e.late).sum(),
        cpu_ns: ends.iter().map(|e| e.cpu_ns()).sum(),
        busiest: busiest(ends),
        throttled_ns: observations.throttled_ns,
        batch_mean: issued as f64 / calls.max(1) as f64,
        device: observations.device,
        temperature: observations.temperature,
        backend,
        direct,
        verified_sectors: ends.iter().map(|e| e.verified_sectors).sum(),
        findings: Vec::<Finding>::new(),
        errors: merge_errors(observations),
        stop,
    }
}

/// The thread that ran or waited for a processor for the largest share of its time.
fn busiest(ends: &[JobEnd]) -> ThreadLoad {
    let loads = ends.iter().map(|end| ThreadLoad {
        wall_ns: end.end_ns.saturating_sub(end.begin_ns),
        cpu_ns: end.cpu_ns(),
        waiting_ns: end.usage.waiting_ns,
    });
    loads.max_by(|a, b| a.busy().total_cmp(&b.busy())).unwrap_or_default()
}

/// Errors of all jobs, one entry per op and kind.
fn merge_errors(observations: &Observations) -> Vec<IoErrors> {
    let mut merged: Vec<IoErrors> = Vec::new();
    for error in observations.ends.iter().flat_map(|e| &e.errors) {
        match merged.iter_mut().find(|m| m.op == error.op && m.kind == error.kind) {
            Some(known) => {
                known.count += error.count;
                let room = ADDRESSES_KEPT.saturating_sub(known.first_offsets.len());
                known.first_offsets.extend(error.first_offsets.iter().take(room));
            }
            None => merged.push(error.clone()),
        }
    }
    merged
}
