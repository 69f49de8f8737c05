//! Runs a user's program and measures its duration, its processor time and memory, and the device
//! traffic it causes, including write-back after its end.
//!
//! Its standard output is discarded, because printing would add to the time. Its standard error is
//! shown, and it gets no input.

use std::io;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use drive::Sample;
use rig::{CommandRun, DeviceTraffic, ProgramTraffic};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::accounting;
use crate::clock::Clock;
use crate::device::{Able, Device};
use crate::sys::process::{self, Ended};

/// How often the interrupt flag is checked.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Time for the program to end after a SIGTERM, before it is killed.
const GRACE: Duration = Duration::from_secs(1);

/// Where a program runs, and the device it is measured on.
pub(crate) struct Stage<'a> {
    /// Its working directory; `None`: the current one.
    pub directory: Option<&'a str>,
    /// The device to sample traffic on, and to sync before and after.
    pub device: &'a dyn Device,
    pub clock: Clock,
    pub interrupt: &'a AtomicBool,
}

impl Stage<'_> {
    /// Runs it once. Pending writes of other programs are synced before timing starts.
    pub(crate) fn run(&self, words: &[String]) -> Able<CommandRun> {
        let (program, arguments) = words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null());
        if let Some(directory) = self.directory {
            command.current_dir(directory);
        }
        self.sync()?;
        let (before, counted_before) = (self.device.watch(), accounting::traffic());
        let start = self.clock.now();
        let child = process::spawn(&mut command)?;
        let ended = self.wait(child.id())?;
        let end = self.clock.now();
        let (after, counted_after) = (self.device.watch(), accounting::traffic());
        self.sync()?;
        let synced = self.clock.now();
        let moved = |now: Option<Sample>, ns| Some(traffic(before?, now?, ns));
        Ok(CommandRun {
            elapsed_ns: end - start,
            sync_ns: synced - end,
            user_ns: ended.user_ns,
            system_ns: ended.system_ns,
            memory_bytes_max: ended.memory_bytes_max,
            exit: ended.exit,
            own: counted_before.zip(counted_after).map(|(before, after)| ProgramTraffic {
                read_bytes: after.read_bytes.saturating_sub(before.read_bytes),
                written_bytes: after.written_bytes.saturating_sub(before.written_bytes),
            }),
            device: moved(after, end - start),
            device_synced: moved(self.device.watch(), synced - start),
        })
    }

    /// Writes back everything on the file system, or on the whole machine if there is no directory,
    /// because the program's writes cannot be distinguished from others.
    fn sync(&self) -> Able<()> {
        self.device.settle(self.directory.is_none())
    }

    /// Waits for the program, and ends it and its children when the user ends the run.
    fn wait(&self, id: u32) -> io::Result<Ended> {
        let (sender, ended) = channel();
        thread::Builder::new().spawn(move || sender.send(process::wait(id)))?;
        let mut interrupted_at: Option<Instant> = None;
        loop {
            match ended.recv_timeout(LOOK_EVERY) {
                Ok(ended) => return ended,
                Err(RecvTimeoutError::Disconnected) => return Err(io::ErrorKind::Other.into()),
                Err(RecvTimeoutError::Timeout) if self.interrupt.load(Ordering::Relaxed) => {
                    let signal = match interrupted_at {
                        None => Signal::TERM,
                        Some(begin) if begin.elapsed() >= GRACE => Signal::KILL,
                        Some(_) => continue,
                    };
                    interrupted_at.get_or_insert_with(Instant::now);
                    if let Some(id) = Pid::from_raw(id as i32) {
                        // It may already have ended by itself.
                        let _ = kill_process_group(id, signal);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
}

fn traffic(before: Sample, now: Sample, elapsed_ns: u64) -> DeviceTraffic {
    let in_device_ms = now.weighted_ms.saturating_sub(before.weighted_ms);
    DeviceTraffic {
        read_bytes: now.read_bytes.saturating_sub(before.read_bytes),
        written_bytes: now.written_bytes.saturating_sub(before.written_bytes),
        discarded_bytes: now.discarded_bytes.saturating_sub(before.discarded_bytes),
        depth: in_device_ms as f64 / (elapsed_ns as f64 / 1e6).max(1.0),
        own_read_bytes: None,
        busy: (now.busy_ms.saturating_sub(before.busy_ms) as f64 * 1e6 / elapsed_ns.max(1) as f64)
            .min(1.0),
    }
}
