//! Starts a child that cannot outlive this process, waits for it, and returns its resource usage:
//! the standard library provides neither.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

use rig::Exit;
use rustix::process::{Signal, set_parent_process_death_signal};

/// A child that has ended.
pub(crate) struct Ended {
    pub exit: Exit,
    pub user_ns: u64,
    pub system_ns: u64,
    pub memory_bytes_max: u64,
}

/// Starts a program in a process group of its own. The kernel kills it when the calling thread ends,
/// whatever ends it.
pub(crate) fn spawn(command: &mut Command) -> io::Result<Child> {
    // SAFETY: between fork and exec, the closure makes one system call and allocates nothing.
    unsafe { command.pre_exec(|| Ok(set_parent_process_death_signal(Some(Signal::KILL))?)) };
    command.process_group(0).spawn()
}

/// Waits for a child of this process; nothing else may wait for it.
pub(crate) fn wait(id: u32) -> io::Result<Ended> {
    let mut status = 0;
    // SAFETY: a rusage is plain numbers: all zeros are valid.
    let mut used: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: both pointers are live and exclusive for the call.
        let waited = unsafe { libc::wait4(id as libc::pid_t, &mut status, 0, &mut used) };
        if waited >= 0 {
            break;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    let exit = if libc::WIFSIGNALED(status) {
        Exit::Signal(libc::WTERMSIG(status))
    } else {
        Exit::Code(libc::WEXITSTATUS(status))
    };
    Ok(Ended {
        exit,
        user_ns: nanoseconds(used.ru_utime),
        system_ns: nanoseconds(used.ru_stime),
        // The kernel counts in KiB.
        memory_bytes_max: used.ru_maxrss as u64 * 1024,
    })
}

fn nanoseconds(time: libc::timeval) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000
}
