//! Where questions about the store are answered: here, on the store itself, or by a process that
//! does the same at the other end of two pipes.

use std::io::{self, BufReader, stdin, stdout};
use std::os::unix::process::{CommandExt, parent_id};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use record::{DriveIdentity, HistoryKey, Run, State, Target, TargetKind};
use store::Store;

use super::mailbox::Mailbox;
use super::message::{self, Earlier, Question, Reply, Spoken};
use crate::error::{ErrorKind, LabError, Result};
use crate::{history, peers};

/// Answers questions, one at a time.
pub(super) trait Desk: Send {
    fn answer(&mut self, question: Question) -> Result<Reply>;
}

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
            if ![std::process::id(), parent_id()].contains(&pid) {
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
        let open = self.0.as_mut();
        open.ok_or_else(|| LabError::new(ErrorKind::Io, "no run has begun"))?.answer(question)
    }
}

impl OpenRun {
    fn answer(&mut self, question: Question) -> Result<Reply> {
        let (store, number) = (&mut self.store, self.number);
        match question {
            Question::Begin { .. } => return Err(LabError::new(ErrorKind::Io, "a run has begun")),
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
                if foresee {
                    history::foresee(store, number, &mut run);
                }
                let last = peers::last(store, number, &run);
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
        let is_whole =
            |drive: &&DriveIdentity| target.kind == TargetKind::Device && drive.path == target.path;
        let drive = target.drive.as_ref().filter(is_whole)?;
        let key = HistoryKey::of(target, self.machine_id.as_deref())?;
        let last = self.store.state_before(&key, self.number).ok()??;
        (!last.was_written_since(drive)).then_some((last.state, last.as_of))
    }
}

/// The keeper's process.
pub(super) struct ProcessDesk {
    mailbox: Arc<Mailbox>,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

/// The process behind a desk, which may be killed while a question waits.
pub(super) type Process = Arc<Mutex<Child>>;

impl ProcessDesk {
    /// Starts this program again, with `word` as its argument. It leaves the process group, so that
    /// a Ctrl-C does not reach it, and it keeps neither the terminal nor the output open.
    pub(super) fn start(word: &str, mailbox: &Arc<Mailbox>) -> io::Result<(ProcessDesk, Process)> {
        let mut command = Command::new("/proc/self/exe");
        command.arg0("ssdyno").arg(word).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        let (to, from) = (child.stdin.take(), child.stdout.take());
        let (to, from) = to.zip(from).ok_or(io::ErrorKind::BrokenPipe)?;
        let mailbox = Arc::clone(mailbox);
        let desk = ProcessDesk { mailbox, to, from: BufReader::new(from) };
        Ok((desk, Arc::new(Mutex::new(child))))
    }

    fn ask(&mut self, question: &Question) -> io::Result<Result<Reply>> {
        message::write(&mut self.to, question)?;
        loop {
            match message::read(&mut self.from)?.ok_or(io::ErrorKind::UnexpectedEof)? {
                Spoken::Migrating(done, of) => {
                    self.mailbox.note(Ok(Reply::Stored));
                    store::report_migration(done, of);
                }
                Spoken::Reply(reply) => return Ok(reply),
            }
        }
    }
}

impl Desk for ProcessDesk {
    fn answer(&mut self, question: Question) -> Result<Reply> {
        self.ask(&question).unwrap_or_else(|error| {
            let text = format!("the process that writes the store has ended: {error}");
            Err(LabError::new(ErrorKind::Io, text))
        })
    }
}

/// Kills the process, without waiting for its end: the kernel may hold it.
pub(super) fn kill(process: &Process) {
    // It may have ended by itself.
    let _ = process.lock().unwrap_or_else(PoisonError::into_inner).kill();
}

/// Whether the process has ended.
pub(super) fn has_ended(process: &Process) -> bool {
    !matches!(process.lock().unwrap_or_else(PoisonError::into_inner).try_wait(), Ok(None))
}

/// The keeper's process: answers the questions on standard input until its end. A run that is not
/// finished then counts as cut short.
pub fn serve() -> io::Result<()> {
    store::on_migration(|done, of| {
        // The pipe breaks when the run has ended.
        let _ = message::write(&mut stdout().lock(), &Spoken::Migrating(done, of));
    });
    let mut desk = StoreDesk::default();
    let mut from = stdin().lock();
    while let Some(question) = message::read(&mut from)? {
        let reply = Spoken::Reply(desk.answer(question));
        message::write(&mut stdout().lock(), &reply)?;
    }
    Ok(())
}
