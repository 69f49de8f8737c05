//! The keeper's process, seen from the run. Other systems than Linux keep the store in a thread of
//! the run instead (`elsewhere/process.rs`).

use std::io::{self, BufReader};
use std::os::unix::process::{CommandExt, parent_id};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use super::mailbox::Mailbox;
use super::message::{self, Desk, LastPlan, Letter, Question, Reply, Spoken};
use super::{END_MAX, END_STEP};
use crate::error::{ErrorKind, LabError, Result};

/// Starts the process. The spare desk answers if its program cannot be started after all.
pub(super) fn start(
    word: &str,
    mailbox: &Arc<Mailbox>,
    spare: Box<dyn Desk>,
) -> io::Result<(Box<dyn Desk>, Process)> {
    let desk = ProcessDesk::start(word, mailbox, spare)?;
    let process = Arc::clone(&desk.process);
    Ok((Box::new(desk), process))
}

/// Whether a run is that of this process, or of the one that started it.
pub(super) fn is_of_this_run(pid: u32) -> bool {
    [std::process::id(), parent_id()].contains(&pid)
}

/// The exit code of a process that could not start its program. Under qemu-user, the parent is not
/// told.
const NOT_STARTED: i32 = 127;

/// The keeper's process.
struct ProcessDesk {
    mailbox: Arc<Mailbox>,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    process: Process,
    plan: LastPlan,
    /// The desk in this process, which answers if the other one could not start.
    spare: Box<dyn Desk>,
    has_not_started: bool,
}

/// The process behind a desk, which may be killed while a question waits.
pub(super) type Process = Arc<Mutex<Child>>;

impl ProcessDesk {
    /// Starts this program again, with `word` as its argument. It leaves the process group, so that
    /// a Ctrl-C does not reach it, and it keeps neither the terminal nor the output open.
    fn start(word: &str, mailbox: &Arc<Mailbox>, spare: Box<dyn Desk>) -> io::Result<ProcessDesk> {
        let mut command = Command::new("/proc/self/exe");
        command.arg0("ssdyno").arg(word).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let (stdin, stdout) = stdin.zip(stdout).ok_or(io::ErrorKind::BrokenPipe)?;
        let mailbox = Arc::clone(mailbox);
        let process = Arc::new(Mutex::new(child));
        let replies = BufReader::new(stdout);
        Ok(ProcessDesk {
            mailbox,
            to: stdin,
            from: replies,
            process,
            plan: LastPlan::default(),
            spare,
            has_not_started: false,
        })
    }

    /// Whether it ended because its program could not be started. Its pipe is closed: it has ended
    /// or is about to, unless the kernel holds it.
    fn could_not_start(&self) -> bool {
        let try_wait = || self.process.lock().unwrap_or_else(PoisonError::into_inner).try_wait();
        let end = Instant::now() + END_MAX;
        while let (Ok(None), true) = (try_wait(), Instant::now() < end) {
            thread::sleep(END_STEP);
        }
        matches!(try_wait(), Ok(Some(status)) if status.code() == Some(NOT_STARTED))
    }

    fn ask(&mut self, letter: &Letter) -> io::Result<Result<Reply>> {
        message::write(&mut self.to, letter)?;
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
        if self.has_not_started {
            return self.spare.answer(question);
        }
        let letter = self.plan.shorten(question);
        let reply = self.ask(&letter);
        if reply.is_err() && self.could_not_start() {
            self.has_not_started = true;
            return self.spare.answer(self.plan.complete(letter));
        }
        reply.unwrap_or_else(|error| {
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
