//! The end of a command after a signal, and the moments before it.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Longest time to end after a signal.
pub const END_MAX: Duration = Duration::from_secs(2);

/// SIGINT, SIGQUIT and SIGTERM.
const HANDLED: [i32; 3] = [2, 3, 15];

pub const STEP: Duration = Duration::from_millis(2);

/// Longest wait for a command to be blocked.
const BLOCKED_MAX: Duration = Duration::from_secs(20);

/// Whether a signal is in a mask of a process, by its name in proc(5).
fn has_signal(process: &str, mask: &str, signal: i32) -> bool {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let bits = status.lines().find_map(|line| line.strip_prefix(mask));
    let bits = bits.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok());
    bits.is_some_and(|bits| bits >> (signal - 1) & 1 == 1)
}

/// Whether these tests ignore a signal, as under nohup: the commands then ignore it, too.
pub fn is_ignored(signal: i32) -> bool {
    has_signal("self", "SigIgn:", signal)
}

/// Waits until a process has installed its signal handlers, or has ended.
pub fn wait_for_handlers(child: &mut Child) {
    let process = child.id().to_string();
    loop {
        let is_caught = |signal: &i32| has_signal(&process, "SigCgt:", *signal);
        if HANDLED.iter().all(is_caught) || child.try_wait().expect("a child").is_some() {
            return;
        }
        std::thread::sleep(STEP);
    }
}

/// Waits until a thread of the process, or of the one that does its work, waits in one of these
/// functions of the kernel.
pub fn wait_until_blocked(child: &mut Child, places: &[&str]) {
    let began = Instant::now();
    let is_blocked = |pid: &str| {
        let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        let names = tasks.map(|task| fs::read_to_string(task.path().join("wchan")));
        names.flatten().any(|name| places.iter().any(|place| name.contains(place)))
    };
    let first = child.id().to_string();
    let second = format!("/proc/{first}/task/{first}/children");
    loop {
        let second = fs::read_to_string(&second).unwrap_or_default();
        if second.split_whitespace().chain([first.as_str()]).any(is_blocked) {
            return;
        }
        assert!(child.try_wait().expect("a child").is_none(), "it ended");
        assert!(began.elapsed() < BLOCKED_MAX, "it does not wait in {places:?}");
        std::thread::sleep(STEP);
    }
}

/// The exit code of a child that must end soon.
pub fn code_after(signal: i32, child: Child, what: &str) -> Option<i32> {
    end_after(signal, child, what).0
}

/// The exit code of a child that must end soon, and the time that it takes.
pub fn end_after(signal: i32, mut child: Child, what: &str) -> (Option<i32>, Duration) {
    let began = Instant::now();
    // It may have ended.
    let _ = Command::new("kill")
        .args([format!("-{signal}"), child.id().to_string()])
        .stderr(Stdio::null())
        .status();
    loop {
        if let Some(status) = child.try_wait().expect("a child") {
            assert!(began.elapsed() < END_MAX, "{what} took {:?}", began.elapsed());
            return (status.code(), began.elapsed());
        }
        if began.elapsed() > 5 * END_MAX {
            child.kill().expect("killed");
            panic!("{what} does not end after signal {signal}");
        }
        std::thread::sleep(STEP);
    }
}
