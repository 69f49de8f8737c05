//! Waits for a child and returns its resource usage, which the standard library does not provide.

use std::io;

use rig::Exit;

/// A child that has ended.
pub(crate) struct Ended {
    pub exit: Exit,
    pub user_ns: u64,
    pub system_ns: u64,
    pub memory_bytes_max: u64,
}

/// Waits for a child of this process; nothing else may wait for it.
pub(crate) fn wait(id: u32) -> io::Result<Ended> {
    let mut status = 0;
    // SAFETY: a rusage is plain numbers: all zeros are valid.
    let mut used: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: both pointers are live and exclusive for the call.
        let done = unsafe { libc::wait4(id as libc::pid_t, &mut status, 0, &mut used) };
        if done >= 0 {
            break;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    let exit = match libc::WIFSIGNALED(status) {
        true => Exit::Signal(libc::WTERMSIG(status)),
        false => Exit::Code(libc::WEXITSTATUS(status)),
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
