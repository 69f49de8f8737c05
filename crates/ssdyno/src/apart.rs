//! Commands that open the store or journals outside a run do so in a second process, apart from
//! the one that the user waits for.
//!
//! A thread that waits for a file system whose server has stopped cannot be killed, and its process
//! cannot end. The first process only waits: a signal ends it within [`END_MAX`], whatever the
//! second one waits for. The second has the same arguments, terminal and output, and ends with the
//! first. A run has a keeper instead (`lab::keeper`).

use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt, parent_id};
use std::process::{Child, Command, ExitCode, ExitStatus};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, kill_process, set_parent_process_death_signal, waitid,
};

use crate::failure::{Failure, IO};
use crate::interrupt::{self, INTERRUPTED};

/// Environment variable with the number of the first process.
const FIRST: &str = "SSDYNO_FIRST_PROCESS";

/// Longest wait for the second process after a signal.
const END_MAX: Duration = Duration::from_secs(1);

/// The exit code of a process that could not start its program. Under qemu-user, the first process
/// is not told.
const NOT_STARTED: i32 = 127;

/// Longest wait between looks at the user's interrupt.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The same without a thread that waits for the end.
const LOOK_OFTEN: Duration = Duration::from_millis(5);

/// Runs this command in a second process and returns its exit code. `None` in the second process,
/// and if there cannot be one: then the caller does the work.
pub fn run() -> Option<ExitCode> {
    if is_second() {
        return None;
    }
    let interrupt = interrupt::InterruptibleRun::begin();
    let mut second = start().ok()?;
    let end = announce_end(&second);
    let mut interrupted_at = None;
    loop {
        match second.try_wait() {
            Ok(None) => {}
            Ok(Some(status)) if status.code() == Some(NOT_STARTED) => return None,
            Ok(Some(status)) => return Some(code(status)),
            Err(error) => return Some(Failure::from(error).report()),
        }
        if interrupt.flag().load(Ordering::SeqCst) {
            if interrupted_at.is_none() {
                // It may have ended, and the terminal may have sent it the same signal.
                let _ = kill_process(Pid::from_child(&second), Signal::TERM);
            }
            if interrupted_at.get_or_insert_with(Instant::now).elapsed() >= END_MAX {
                // The kernel may hold it.
                let _ = second.kill();
                return Some(ExitCode::from(INTERRUPTED));
            }
        }
        if end.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Disconnected) {
            // Without the thread, or between its end and that of the process.
            thread::sleep(LOOK_OFTEN);
        }
    }
}

/// A message at the end of a process.
fn announce_end(process: &Child) -> Receiver<()> {
    let (sender, end) = channel();
    let pid = Pid::from_child(process);
    // Without a thread, the end is looked for.
    let _ = thread::Builder::new().spawn(move || {
        // It is left to the other thread, which may still send it a signal.
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while waitid(WaitId::Pid(pid), options).is_err_and(|error| error == Errno::INTR) {}
        // Nobody may wait for it any more.
        let _ = sender.send(());
    });
    end
}

fn start() -> io::Result<Child> {
    let mut words = std::env::args_os();
    let mut command = Command::new("/proc/self/exe");
    command.arg0(words.next().unwrap_or_else(|| "ssdyno".into()));
    command.args(words).env(FIRST, std::process::id().to_string()).spawn()
}

/// Whether this is the second process, which then ends with the first.
fn is_second() -> bool {
    let first = std::env::var(FIRST).ok().and_then(|id| id.parse::<u32>().ok());
    // Programs started by the second process inherit the variable.
    let is_second = first == Some(parent_id());
    if is_second {
        // Without it, the command is completed after a kill of the first process.
        let _ = set_parent_process_death_signal(Some(Signal::KILL));
    }
    is_second
}

fn code(status: ExitStatus) -> ExitCode {
    match status.code() {
        Some(code) => ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX)),
        None => {
            let signal = status.signal().unwrap_or_default();
            Failure::new(IO, format!("signal {signal} ended the command")).report()
        }
    }
}
