//! The guard of a drive without an IOMMU: a process that holds its memory until it is harmless.
//!
//! A controller that outlives its driver goes on writing to the memory it was given. Where no IOMMU
//! stops it, that memory must not go to anybody else before the controller is kept from it. So a
//! second process holds the same huge pages. When the run ends, in whatever way, it takes the right
//! to reach memory from the controller, resets it, and only then lets the pages go. It also holds the
//! lock of the drive's note, so that nobody gives the drive back before.
//!
//! Killing both processes at once defeats it. It therefore leaves the session and the control group
//! of the run, has a name of its own, and is the last one to be ended for want of memory.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::MemfdFlags;
use rustix::io::Errno;

use super::address::Address;
use super::function::Function;
use crate::machine::Machine;

/// The first argument of the guard process; the second one is the address of the function.
pub const GUARD: &str = "pci-guard";

/// Time for the guard to begin, and for it to end.
const PATIENCE: Duration = Duration::from_secs(30);
const STEP: Duration = Duration::from_millis(5);

/// The guard, and the memory that it holds.
#[derive(Debug)]
pub(super) struct Guard {
    process: Mutex<Child>,
    /// Its end of file ends the guard's waiting.
    link: Option<UnixStream>,
    /// A file of huge pages of 2 MiB, empty at first. The guard has it, too.
    pub pages: File,
}

impl Guard {
    /// Starts the guard of a function. It does its duty from when this returns.
    pub fn start(address: Address, lock: &File) -> io::Result<Guard> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::HUGETLB | MemfdFlags::HUGE_2MB;
        let pages = File::from(rustix::fs::memfd_create("ssdyno", flags)?);
        let (mut ours, theirs) = UnixStream::pair()?;
        let mut command = Command::new(std::env::current_exe()?);
        command.arg(GUARD).arg(address.to_string()).current_dir("/");
        // Its three descriptors are the pages, the link and the lock: it prints nothing.
        command.stdin(pages.try_clone()?).stdout(OwnedFd::from(theirs)).stderr(lock.try_clone()?);
        let process = command.spawn()?;
        drop(command);
        ours.set_read_timeout(Some(PATIENCE))?;
        let ready = ours.read_exact(&mut [0]);
        // Without its word it would not guard. Dropped, the link ends it.
        ready.map_err(|e| io::Error::new(e.kind(), "the guard process does not begin"))?;
        Ok(Guard { process: Mutex::new(process), link: Some(ours), pages })
    }

    /// Whether it is still there.
    pub fn is_there(&self) -> bool {
        let mut process = self.process.lock().unwrap_or_else(PoisonError::into_inner);
        matches!(process.try_wait(), Ok(None))
    }

    /// Lets it do its duty, and waits for its end.
    pub fn end(&mut self) -> io::Result<()> {
        self.link = None;
        let begin = Instant::now();
        while self.is_there() {
            if begin.elapsed() > PATIENCE {
                return Err(io::Error::other("its guard process cannot keep it from memory"));
            }
            thread::sleep(STEP);
        }
        Ok(())
    }
}

/// The guard process: returns when the controller reaches no memory any more.
///
/// # Errors
/// It cannot do its duty; nothing was begun then.
pub fn keep_guard(address: &str) -> io::Result<()> {
    let machine = Machine::here();
    let unknown = || io::Error::from(io::ErrorKind::NotFound);
    let address: Address = address.parse().map_err(|()| unknown())?;
    let function = Function::at(&machine, address).ok_or_else(unknown)?;
    function.can_be_silenced()?;
    withdraw();
    let stdout = io::stdout();
    let link = stdout.as_fd();
    rustix::io::write(link, &[1])?;
    // Nothing comes but the end.
    while !matches!(rustix::io::read(link, &mut [0; 8]), Ok(0) | Err(Errno::CONNRESET)) {}
    while let Err(error) = function.silence() {
        if Function::at(&machine, address).is_none() {
            return Ok(());
        }
        // As long as this fails, the pages stay.
        drop(error);
        thread::sleep(Duration::from_secs(1));
    }
    Ok(())
}

/// Leaves everything by which the run and its guard could be ended together. Each step may fail; the
/// guard is then less safe from that, and no other way is left.
fn withdraw() {
    let _ = rustix::process::setsid();
    let pid = std::process::id().to_string();
    let _ = fs::write("/proc/self/comm", GUARD);
    let _ = fs::write("/proc/self/oom_score_adj", "-1000");
    let _ = fs::write("/sys/fs/cgroup/cgroup.procs", pid);
}
