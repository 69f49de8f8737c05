//! Estimates how long the simulation of a plan takes on this machine.
//!
//! The cost of a simulation depends on its operations, which the plan alone does not give. A short
//! period of each kind of workload is simulated on a fresh drive, and its cost per simulated second
//! is applied to the steps. The samples must be long enough, because starting the threads of a
//! workload takes longer than a hundred of its operations. A used drive answers more slowly and
//! costs less per second, so long tests on full drives end earlier than estimated.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use engine::Simulator;
use model::DriveSpec;
use record::Plan;
use rig::{Event, Rig};
use workload::{Stop, Workload};

/// Plans shorter than this are not worth an estimate, simulated seconds.
const WORTH_SECONDS: f64 = 120.0;

/// Operations, bytes and simulated nanoseconds of a workload's first sample; the first limit
/// reached ends it.
const SAMPLE: (u64, u64, u64) = (2000, 64 << 20, 10_000_000_000);

/// Growth factor of the samples until one takes long enough.
const GROWTH: u64 = 4;

/// Minimum time of a sample; shorter ones measure the threads rather than the operations.
const SAMPLE_TIME: Duration = Duration::from_millis(20);

/// Maximum number of samples per workload.
const SAMPLES_MAX: u32 = 6;

/// Maximum number of kinds of workloads sampled, from the start of the plan.
const KINDS_MAX: usize = 16;

/// Wall-clock seconds for simulating the plan; `None` for a short one, or if none of its workloads
/// can be sampled.
pub(crate) fn seconds(spec: &DriveSpec, spec_text: &str, plan: &Plan) -> Option<f64> {
    if plan.seconds < WORTH_SECONDS {
        return None;
    }
    let workloads: Vec<Workload> = plan.known_workloads().collect();
    let observer = Box::new(|_: &Event| {});
    let mut simulator =
        Simulator::new(spec.clone(), spec_text, Arc::new(AtomicBool::new(false)), observer);
    let mut costs: HashMap<String, f64> = HashMap::new();
    for workload in &workloads {
        let kind = kind(workload);
        if costs.len() < KINDS_MAX && !costs.contains_key(&kind) {
            costs.extend(cost(&mut simulator, workload).map(|cost| (kind, cost)));
        }
    }
    let mean = costs.values().sum::<f64>() / costs.len() as f64;
    let seconds = plan.steps.iter().map(|step| {
        let workload = workloads.iter().find(|workload| workload.name == step.name);
        let cost = match workload {
            Some(workload) => costs.get(&kind(workload)).copied().unwrap_or(mean),
            // A budget, or a rest, during which nothing is simulated.
            None if step.write_bytes_max > 0 => mean,
            None => 0.0,
        };
        step.seconds * cost
    });
    let seconds: f64 = seconds.sum();
    (seconds.is_finite() && seconds > 0.0).then_some(seconds)
}

/// The kind of a workload. Workloads of one kind have the same cost.
fn kind(w: &Workload) -> String {
    format!("{:?} {:?} {:?} {} {}", w.pattern, w.mix, w.blocks, w.depth, w.jobs)
}

/// Wall-clock seconds per simulated second.
fn cost(simulator: &mut Simulator, workload: &Workload) -> Option<f64> {
    let mut cost = None;
    for power in 0..SAMPLES_MAX {
        let [ops, bytes, time] = <[u64; 3]>::from(SAMPLE).map(|n| Some(n * GROWTH.pow(power)));
        let stop = Stop { ops, bytes, time_ns: time, coverage: None };
        let (start_ns, start) = (simulator.elapsed_ns(), Instant::now());
        simulator.measure(&Workload { stop, ..workload.clone() }).ok()?;
        let (simulated, elapsed) =
            (simulator.elapsed_ns().saturating_sub(start_ns), start.elapsed());
        cost = (simulated > 0).then(|| elapsed.as_secs_f64() / (simulated as f64 * 1e-9));
        // The first sample includes building the drive's tables.
        if power > 0 && elapsed >= SAMPLE_TIME {
            break;
        }
    }
    cost
}

#[cfg(test)]
mod tests {
    use script::{Options, Session};

    use super::*;

    fn estimate(method: &str) -> Option<f64> {
        let text = "sim:samsung-980-pro-1t";
        let spec = DriveSpec::preset("samsung-980-pro-1t").expect("a preset");
        let info = Simulator::info(&spec, text);
        let method = methods::find(method).expect("a method");
        let plan = Session::plan(&info, |session| session.run(method, &Options::default()));
        seconds(&spec, text, &plan.expect("a virtual drive may be overwritten"))
    }

    #[test]
    fn a_long_simulation_is_estimated_and_a_short_one_is_not() {
        let sustain = estimate("sustain").expect("half an hour is worth an estimate");
        assert!(sustain > 0.0 && sustain.is_finite(), "{sustain}");
        assert_eq!(estimate("quick"), None);
    }
}
