//! Estimates the processor time that the simulation of some work takes here, by rehearsing it.
//!
//! A rehearsal is the work itself on the same virtual drive, with every long workload cut to samples
//! ([`Rehearsal`]). The drive is therefore in the states that the work leaves it in, loops end about
//! when they would, and every operation costs what it costs here. Work that cannot be rehearsed to its
//! end is taken to cost as much for every planned second as the part that could.

mod rehearsal;
mod sample;

use engine::processor_ns;
use model::DriveSpec;
use record::Plan;
use rig::Rig as _;
use script::Session;

use crate::virtual_drive;
use crate::work::Work;
use rehearsal::Rehearsal;

/// Plans shorter than this are not worth an estimate, simulated seconds.
const WORTH_SECONDS: f64 = 120.0;

/// What a simulation takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SimulationCost {
    /// Processor time, seconds.
    pub seconds: f64,
    /// Operations of its workloads.
    pub ops: f64,
    /// Simulated time that it skips, seconds.
    pub skipped_seconds: f64,
}

/// What the simulation of this work takes; `None` for short work, or if it cannot be rehearsed. The
/// rehearsal may take so much processor time, or a share of that of longer work.
pub(crate) fn cost(
    spec: &DriveSpec,
    spec_text: &str,
    plan: &Plan,
    work: &Work<'_>,
    allowed_seconds: f64,
) -> Option<SimulationCost> {
    let is_worth = plan.seconds >= WORTH_SECONDS;
    is_worth.then(|| rehearse(spec, spec_text, plan.seconds, work, allowed_seconds))?
}

/// Rehearses work that is planned to take so many simulated seconds.
fn rehearse(
    spec: &DriveSpec,
    spec_text: &str,
    planned_seconds: f64,
    work: &Work<'_>,
    allowed_seconds: f64,
) -> Option<SimulationCost> {
    let begin_ns = processor_ns();
    let skips = virtual_drive::skips(spec_text, planned_seconds);
    let mut rehearsal = Rehearsal::new(spec.clone(), spec_text, skips, allowed_seconds);
    rehearsal.begin(virtual_drive::initial_state(spec_text)).ok()?;
    let began_ns = rehearsal.elapsed_ns();
    let ended = work.run(&mut Session::new(&mut rehearsal));
    let around_ns = (processor_ns() - begin_ns).saturating_sub(rehearsal.spent_ns());
    let rehearsed_seconds = rehearsal.elapsed_ns().saturating_sub(began_ns) as f64 / 1e9;
    let factor = if ended.is_ok() { 1.0 } else { (planned_seconds / rehearsed_seconds).max(1.0) };
    let seconds = factor * (around_ns as f64 / 1e9 + rehearsal.seconds());
    let [ops, skipped_seconds] =
        [rehearsal.ops(), rehearsal.skipped_seconds()].map(|part| factor * part);
    seconds.is_finite().then_some(SimulationCost { seconds, ops, skipped_seconds })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;
    use std::time::Duration;

    use engine::Simulator;
    use record::State;
    use rig::{
        Blocks, Erase, Event, Job, Performance, Preparation, Prepared, Result, Rig, Stage,
        TargetInfo,
    };
    use script::Options;

    use super::*;

    /// A plan of which steady stretches may be skipped, seconds.
    const LONG: f64 = 1e4;

    /// A virtual drive that counts the operations of workloads.
    struct Counting {
        simulator: Simulator,
        ops: u64,
    }

    impl Rig for Counting {
        fn target(&self) -> &TargetInfo {
            self.simulator.target()
        }

        fn perform(&mut self, jobs: Vec<Job>, stage: Stage<'_>) -> Result<Performance> {
            let performance = self.simulator.perform(jobs, stage)?;
            let kinds = performance.whole.kinds.iter().flatten();
            self.ops += kinds.map(|kind| kind.ops).sum::<u64>();
            Ok(performance)
        }

        fn prepare(&mut self, preparation: Preparation) -> Result<Prepared> {
            self.simulator.prepare(preparation)
        }

        fn idle(&mut self, time: Duration) -> Result<()> {
            self.simulator.idle(time)
        }

        fn blocks(&mut self) -> Result<&mut dyn Blocks> {
            self.simulator.blocks()
        }

        fn note(&mut self, event: Event) {
            self.simulator.note(event);
        }

        fn elapsed_ns(&mut self) -> u64 {
            self.simulator.elapsed_ns()
        }
    }

    /// Operations rehearsed and simulated, and the simulated time skipped, seconds, of both.
    fn amounts(target: &str, work: &Work<'_>) -> [[f64; 2]; 2] {
        let spec = virtual_drive::described(target, 1).expect("virtual").expect("a preset");
        let rehearsed = rehearse(&spec, target, LONG, work, f64::INFINITY).expect("rehearsed");
        assert!(rehearsed.seconds > 0.0 && rehearsed.seconds.is_finite(), "{rehearsed:?}");
        let (interrupt, observer) = (Arc::new(AtomicBool::new(false)), |_: &Event| {});
        let simulator = Simulator::new(spec, target, interrupt, Box::new(observer));
        let simulator = simulator.leaping(virtual_drive::skips(target, LONG));
        let mut rig = Counting { simulator, ops: 0 };
        work.run(&mut Session::new(&mut rig)).expect("it runs");
        let skipped_seconds = rig.simulator.skipped_ns() as f64 / 1e9;
        [[rehearsed.ops, rig.ops as f64], [rehearsed.skipped_seconds, skipped_seconds]]
    }

    #[test]
    fn a_rehearsal_foresees_the_operations() {
        let options = Options::default();
        let method = |name: &str| Work::method(name, &options).expect("a method");
        let used = Work::prepare(State::Used, Erase::Discard, &options);
        for (target, work) in [
            ("sim:samsung-970-evo-plus-250?capacity=2GiB", &method("states")),
            ("sim:samsung-970-evo-plus-250?capacity=1GiB", &method("snia-wsat")),
            ("sim:crucial-mx500-1t?capacity=1GiB", &method("sustain")),
            ("sim:crucial-mx500-1t?capacity=1GiB", &used),
            ("sim:sd-150x?capacity=1GiB", &method("states")),
            ("sim:sd-150x?capacity=64MiB", &method("snia-iops")),
        ] {
            let [[rehearsed, simulated], skipped_seconds] = amounts(target, work);
            let factor = rehearsed / simulated;
            assert!((1.0 / 1.5..1.5).contains(&factor), "{target}, {}: {factor}", work.info.name);
            assert_eq!(skipped_seconds, [0.0; 2]);
        }
    }

    #[test]
    fn a_rehearsal_foresees_what_is_skipped() {
        let options = Options::default();
        let work = Work::method("snia-iops", &options).expect("a method");
        let target = "sim:class=sd-uhs&capacity=256MiB&skip=on";
        let [_, [rehearsed, simulated]] = amounts(target, &work);
        let factor = rehearsed / simulated;
        assert!((1.0 / 1.5..1.5).contains(&factor), "{rehearsed} and {simulated} s");
    }

    #[test]
    fn short_work_is_not_worth_an_estimate() {
        let target = "sim:samsung-980-pro-1t";
        let spec = virtual_drive::described(target, 1).expect("virtual").expect("a preset");
        let options = Options::default();
        let work = Work::method("quick", &options).expect("a method");
        let info = Simulator::info(&spec, target);
        let plan = Session::plan(&info, |session| work.run(session)).expect("a plan");
        assert_eq!(cost(&spec, target, &plan, &work, 0.0), None);
    }
}
