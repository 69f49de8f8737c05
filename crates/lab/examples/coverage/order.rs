//! A virtual drive on which another cell of the same phase precedes each cell of `quick`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use engine::Simulator;
use methods::find;
use model::DriveSpec;
use record::MetricKey;
use rig::{Blocks, Event, Job, Performance, Preparation, Prepared, Result, Rig, Stage, TargetInfo};
use script::{Options, Outcome, Session};
use workload::{Pattern, Workload};

/// Runs a session of `quick` on a preset with these overrides and detours.
pub fn detoured(preset: &str, pairs: &[(&str, &str)], options: &Options) -> Outcome {
    let spec = DriveSpec::preset(preset).and_then(|spec| spec.with_overrides(pairs));
    let never = Arc::new(AtomicBool::new(false));
    let drive = Simulator::new(spec.expect("a preset"), "sim:x", never, Box::new(|_: &Event| {}));
    let mut rig = Detours { drive, phases: BTreeMap::new(), taken: 0 };
    let mut script = Session::new(&mut rig);
    script.run(find("quick").expect("a method"), options).expect("it ends");
    script.finish()
}

/// Cells that follow each other in `quick`: those of reads, of sequential writes, and of random
/// writes.
type Phase = (bool, bool);

/// Ending of the name of a cell's warm-up, which precedes it and belongs to it.
const WARM_UP: &str = "-warm-up";

/// The drive with the cells seen so far, by phase.
struct Detours {
    drive: Simulator,
    phases: BTreeMap<Phase, Vec<Workload>>,
    taken: usize,
}

impl Detours {
    /// Before a warm-up, runs another cell of its phase, each in turn. Remembers each cell.
    fn detour(&mut self, cell: &Workload) -> Result<()> {
        let warm_up = cell.name.strip_suffix(WARM_UP);
        let name = warm_up.unwrap_or(&cell.name);
        if !MetricKey::parse(name).as_cell().is_some_and(|cell| cell.words.is_empty()) {
            return Ok(());
        }
        let writes = cell.mix.write > 0;
        let phase = (writes, writes && matches!(cell.pattern, Pattern::Sequential));
        let known = self.phases.entry(phase).or_default();
        if warm_up.is_none() {
            if !known.iter().any(|other| other.name == name) {
                known.push(cell.clone());
            }
            return Ok(());
        }
        let others: Vec<&Workload> = known.iter().filter(|other| other.name != name).collect();
        let Some(other) = others.get(self.taken % others.len().max(1)) else { return Ok(()) };
        self.taken += 1;
        self.drive.measure(other).map(drop)
    }
}

impl Rig for Detours {
    fn target(&self) -> &TargetInfo {
        self.drive.target()
    }

    fn perform(&mut self, jobs: Vec<Job>, stage: Stage<'_>) -> Result<Performance> {
        if let [job] = jobs.as_slice() {
            self.detour(&job.workload.clone())?;
        }
        self.drive.perform(jobs, stage)
    }

    fn prepare(&mut self, preparation: Preparation) -> Result<Prepared> {
        self.drive.prepare(preparation)
    }

    fn idle(&mut self, time: Duration) -> Result<()> {
        self.drive.idle(time)
    }

    fn blocks(&mut self) -> Result<&mut dyn Blocks> {
        self.drive.blocks()
    }

    fn note(&mut self, event: Event) {
        self.drive.note(event);
    }

    fn elapsed_ns(&mut self) -> u64 {
        self.drive.elapsed_ns()
    }
}
