//! Where questions about the store are answered: here, on the store itself, or by a process that
//! does the same at the other end of two pipes (`process.rs`).

use std::io::{self, stdin, stdout};
use std::path::Path;

use record::{HistoryKey, Run, State, Target, TargetKind};
use store::Store;

use super::message::{self, Desk, Earlier, LastPlan, Question, Reply, Spoken};
use super::process;
use super::records;
use crate::error::{ErrorKind, LabError, Result};
use crate::{history, peers};

/// The store with the run in progress.
#[derive(Default)]
pub(super) struct StoreDesk(Option<OpenRun>);

struct OpenRun {
    store: Store,
    number: i64,
    machine_id: Option<String>,
}

impl Desk for StoreDesk {
    fn answer(&mut self, question: Question) -> Result<Reply> {
        if let Question::Begin { store, mut run, pid } = question {
            if !process::is_of_this_run(pid) {
                return Err(LabError::new(ErrorKind::Io, "the run has been killed"));
            }
            let mut store = Store::open(store.as_deref().map(Path::new))?;
            let machine_id = store.machine_id();
            run.environment.machine_id.clone_from(&machine_id);
            let number = store.begin_for(&run, pid)?;
            let path = store.path().as_os_str().to_owned();
            self.0 = Some(OpenRun { store, number, machine_id: machine_id.clone() });
            return Ok(Reply::Begun { number, machine_id, store: path });
        }
        if let Question::Records { store, wanted } = question {
            let store = Store::open_existing(store.as_deref().map(Path::new))?;
            return Ok(Reply::Records(records::find(&store, &wanted)?));
        }
        let run = self.0.as_mut();
        run.ok_or_else(|| LabError::new(ErrorKind::Io, "no run has begun"))?.answer(question)
    }
}

impl OpenRun {
    fn answer(&mut self, question: Question) -> Result<Reply> {
        let (store, number) = (&mut self.store, self.number);
        match question {
            Question::Begin { .. } | Question::Records { .. } => {
                return Err(LabError::new(ErrorKind::Io, "a run has begun"));
            }
            Question::Append(points) => points
                .iter()
                .try_for_each(|point| point.lend(|point| store.append(number, point)))?,
            Question::Update(run) => store.update(&run)?,
            Question::StateBefore(target) => {
                return Ok(Reply::StateBefore(self.state_before(&target)));
            }
            Question::Neighbours(run) => {
                let neighbours = history::neighbours(store, number, &run).into_iter();
                return Ok(Reply::Neighbours(neighbours.map(|n| (n.model, n.rates)).collect()));
            }
            Question::Earlier { mut run, foresee } => {
                let earlier = history::earlier(store, number, &run);
                if foresee {
                    history::foresee(&earlier, &mut run);
                }
                let last = peers::last(earlier, &run);
                let Run { metrics, answer, .. } = *run;
                return Ok(Reply::Earlier(Box::new(Earlier { metrics, answer, last })));
            }
            Question::Series => return Ok(Reply::Series(store.load(number)?.series)),
            Question::Finish(run) => store.finish(&run)?,
        }
        Ok(Reply::Stored)
    }

    /// A store that cannot be read has no state; its failure is reported at the next write.
    fn state_before(&self, target: &Target) -> Option<(State, String)> {
        let drive = target.drive.as_ref().filter(|drive| drive.path == target.path)?;
        if target.kind != TargetKind::Device {
            return None;
        }
        let key = HistoryKey::new(target, self.machine_id.as_deref())?;
        let state = self.store.state_before(&key, self.number).ok()??;
        (!state.was_written_since(drive)).then_some((state.state, state.as_of))
    }
}

/// The keeper's process: answers the questions on standard input until its end. A run that is not
/// finished then counts as cut short.
pub fn serve() -> io::Result<()> {
    store::on_migration(|done, of| {
        // The pipe breaks when the run has ended.
        let _ = message::write(&mut stdout().lock(), &Spoken::Migrating(done, of));
    });
    let (mut desk, mut plan) = (StoreDesk::default(), LastPlan::default());
    let mut input = stdin().lock();
    while let Some(letter) = message::read(&mut input)? {
        let reply = Spoken::Reply(desk.answer(plan.complete(letter)));
        message::write(&mut stdout().lock(), &reply)?;
    }
    Ok(())
}
