//! A virtual drive whose jobs an editor sees, and may change, before they run.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use engine::Simulator;
use model::DriveSpec;
use record::{CellKey, MetricKey};
use rig::{Blocks, Event, Job, Performance, Preparation, Prepared, Result, Rig, Stage, TargetInfo};

/// Ending of the name of a cell's warm-up, which precedes it and belongs to it.
pub const WARM_UP: &str = "-warm-up";

/// What happens to a job before it runs.
pub trait Editor {
    fn edit(&mut self, drive: &mut Simulator, job: &mut Job) -> Result<()>;
}

/// A virtual drive with an editor.
pub struct Edited<E> {
    pub drive: Simulator,
    pub editor: E,
}

impl<E: Editor> Edited<E> {
    pub fn new(spec: &DriveSpec, editor: E) -> Edited<E> {
        Edited { drive: simulator(spec), editor }
    }
}

/// A virtual drive that nobody watches or interrupts.
pub fn simulator(spec: &DriveSpec) -> Simulator {
    let never = Arc::new(AtomicBool::new(false));
    Simulator::new(spec.clone(), "sim:edited", never, Box::new(|_: &Event| {}))
}

/// The cell that a workload measures or warms up, unless it is measured in a named state.
pub fn cell_of(workload: &str) -> Option<CellKey> {
    let key = MetricKey::parse(workload.strip_suffix(WARM_UP).unwrap_or(workload));
    key.as_cell().filter(|cell| cell.words.is_empty()).cloned()
}

impl<E: Editor> Rig for Edited<E> {
    fn target(&self) -> &TargetInfo {
        self.drive.target()
    }

    fn perform(&mut self, mut jobs: Vec<Job>, stage: Stage<'_>) -> Result<Performance> {
        jobs.iter_mut().try_for_each(|job| self.editor.edit(&mut self.drive, job))?;
        self.drive.perform(jobs, stage)
    }

    fn prepare(&mut self, preparation: Preparation) -> Result<Prepared> {
        self.drive.prepare(preparation)
    }

    fn idle(&mut self, time: Duration) -> Result<()> {
        self.drive.idle(time)
    }

    fn health(&mut self) -> Option<record::Health> {
        Some(self.drive.health())
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
