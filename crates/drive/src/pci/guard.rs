//! The guard of a drive without an IOMMU: a process that holds its memory until it is harmless.
//!
//! A controller that outlives its driver continues to write to the memory it was given. Without an
//! IOMMU to stop it, that memory must not be reused before the controller's access is disabled. A
//! second process therefore holds the same huge pages. When the run ends, in any way, it disables
//! the controller's access to memory, resets the controller, and only then releases the pages. It
//! also holds the lock of the drive's note, so that nobody returns the drive before that.
//!
//! Killing both processes at once defeats it. Therefore it leaves the session and the control group
//! of the run, has a different name, and is the last process to be killed if memory runs out.

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

/// The first argument of the guard process; the second is the address of the function.
pub const GUARD: &str = "pci-guard";

/// Time for the guard to start, and to end.
const PATIENCE: Duration = Duration::from_secs(30);
const STEP: Duration = Duration::from_millis(5);

/// The guard and the memory it holds.
#[derive(Debug)]
pub(super) struct Guard {
    process: Mutex<Child>,
    /// End of file on this link tells the guard to act.
    link: Option<UnixStream>,
    /// An initially empty file of 2 MiB huge pages, shared with the guard.
    pub pages: File,
}

impl Guard {
    /// Starts the guard of a function. It is active on return.
    pub fn start(address: Address, lock: &File) -> io::Result<Guard> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::HUGETLB | MemfdFlags::HUGE_2MB;
        let pages = File::from(rustix::fs::memfd_create("ssdyno", flags)?);
        let (mut link, guard_link) = UnixStream::pair()?;
        let mut command = Command::new(std::env::current_exe()?);
        command.arg(GUARD).arg(address.to_string()).current_dir("/");
        // Its standard streams are the pages, the link and the lock, so it prints nothing.
        command
            .stdin(pages.try_clone()?)
            .stdout(OwnedFd::from(guard_link))
            .stderr(lock.try_clone()?);
        let process = command.spawn()?;
        drop(command);
        link.set_read_timeout(Some(PATIENCE))?;
        let confirmation = link.read_exact(&mut [0]);
        // Without its confirmation, it is not guarding. Dropping the link ends it.
        confirmation.map_err(|e| io::Error::new(e.kind(), "the guard process did not start"))?;
        Ok(Guard { process: Mutex::new(process), link: Some(link), pages })
    }

    /// Whether the guard process is still running.
    pub fn is_there(&self) -> bool {
        let mut process = self.process.lock().unwrap_or_else(PoisonError::into_inner);
        matches!(process.try_wait(), Ok(None))
    }

    /// Tells the guard to act, and waits for its end.
    pub fn end(&mut self) -> io::Result<()> {
        self.link = None;
        let begin = Instant::now();
        while self.is_there() {
            if begin.elapsed() > PATIENCE {
                return Err(io::Error::other("its guard process cannot disable memory access"));
            }
            thread::sleep(STEP);
        }
        Ok(())
    }
}

/// The guard process: returns when the controller can no longer access memory.
///
/// # Errors
/// If it cannot guard; nothing has been changed.
pub fn keep_guard(address: &str) -> io::Result<()> {
    let machine = Machine::here();
    let address: Address = address.parse().map_err(|()| io::ErrorKind::NotFound)?;
    let function = Function::at(&machine, address).ok_or(io::ErrorKind::NotFound)?;
    function.can_be_silenced()?;
    withdraw();
    let stdout = io::stdout();
    let link = stdout.as_fd();
    rustix::io::write(link, &[1])?;
    // Only the end of file is expected.
    while !matches!(rustix::io::read(link, &mut [0; 8]), Ok(0) | Err(Errno::CONNRESET)) {}
    while let Err(error) = function.silence() {
        if Function::at(&machine, address).is_none() {
            return Ok(());
        }
        // The pages are held as long as this fails.
        drop(error);
        thread::sleep(Duration::from_secs(1));
    }
    Ok(())
}

/// Leaves the session, name and group by which the run and its guard could be killed together. A
/// failed step leaves the guard less safe, and there is no alternative.
fn withdraw() {
    let _ = rustix::process::setsid();
    let pid = std::process::id().to_string();
    let _ = fs::write("/proc/self/comm", GUARD);
    let _ = fs::write("/proc/self/oom_score_adj", "-1000");
    let _ = fs::write("/sys/fs/cgroup/cgroup.procs", pid);
}
