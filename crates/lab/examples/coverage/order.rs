//! A virtual drive on which another cell of the same phase precedes each cell of `quick`.

use std::collections::BTreeMap;

use engine::Simulator;
use methods::find;
use model::DriveSpec;
use rig::{Job, Result, Rig};
use script::{Options, Outcome, Session};
use workload::{Pattern, Workload};

use crate::edited::{Edited, Editor, WARM_UP, cell_of};

/// Runs a session of `quick` on a preset with these overrides and detours.
pub fn detoured(preset: &str, pairs: &[(&str, &str)], options: &Options) -> Outcome {
    let spec = DriveSpec::preset(preset).and_then(|spec| spec.with_overrides(pairs));
    let mut rig = Edited::new(&spec.expect("a preset"), Detours::default());
    let mut script = Session::new(&mut rig);
    script.run(find("quick").expect("a method"), options).expect("it ends");
    script.finish()
}

/// Cells that follow each other in `quick`: those of reads, of sequential writes, and of random
/// writes.
type Phase = (bool, bool);

/// The cells seen so far, by phase.
#[derive(Default)]
struct Detours {
    phases: BTreeMap<Phase, Vec<Workload>>,
    taken: usize,
}

impl Editor for Detours {
    /// Before a warm-up, runs another cell of its phase, each in turn. Remembers each cell.
    fn edit(&mut self, drive: &mut Simulator, job: &mut Job) -> Result<()> {
        let cell = &job.workload;
        if cell_of(&cell.name).is_none() {
            return Ok(());
        }
        let writes = cell.mix.write > 0;
        let phase = (writes, writes && matches!(cell.pattern, Pattern::Sequential));
        let cells = self.phases.entry(phase).or_default();
        let Some(warmed) = cell.name.strip_suffix(WARM_UP) else {
            if !cells.iter().any(|other| other.name == cell.name) {
                cells.push(cell.clone());
            }
            return Ok(());
        };
        let others: Vec<&Workload> = cells.iter().filter(|other| other.name != warmed).collect();
        let Some(other) = others.get(self.taken % others.len().max(1)) else { return Ok(()) };
        self.taken += 1;
        drive.measure(other).map(drop)
    }
}
