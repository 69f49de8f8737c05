//! Who writes a run, so that "still running" and "cut short" are told apart.
//!
//! A process id alone is reused; with the boot it lived in and the clock tick it was started at, it
//! is not. A writer that cannot be seen from here (another machine on a shared file system, another
//! container) counts as gone. Nothing is written down for that: it is judged anew at every reading,
//! and when such a run does finish, it reads as complete.

use std::fs;

/// A process on this or another machine.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Writer {
    pub pid: i64,
    /// When it was started, in clock ticks since boot.
    pub start: i64,
    /// The boot it lives in, a random id that the kernel makes.
    pub boot: String,
}

impl Writer {
    /// This process; `None` without `/proc`.
    pub fn this_process() -> Option<Writer> {
        let pid = i64::from(std::process::id());
        Some(Writer { pid, start: start_of(pid)?, boot: boot_id()? })
    }

    /// Whether it lives on this machine now.
    pub fn is_alive(&self) -> bool {
        boot_id().is_some_and(|boot| boot == self.boot) && start_of(self.pid) == Some(self.start)
    }
}

fn boot_id() -> Option<String> {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(text.trim().to_string())
}

fn start_of(pid: i64) -> Option<i64> {
    start_in(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Field 22 of proc_pid_stat(5); `None` for a process that is dead and not yet buried. The second
/// field, the name, may hold blanks and parentheses, so fields count from the last parenthesis.
fn start_in(stat: &str) -> Option<i64> {
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    let state = fields.next()?;
    let start = fields.nth(18)?.parse().ok()?;
    (!matches!(state, "Z" | "X")).then_some(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_very_process_is_alive() {
        let me = Writer::this_process().expect("/proc is mounted");
        assert!(me.is_alive());
        assert!(!Writer { start: me.start + 1, ..me.clone() }.is_alive(), "pid was reused");
        assert!(!Writer { boot: "another".into(), ..me.clone() }.is_alive(), "was rebooted");
        assert!(!Writer { pid: i64::from(u32::MAX), ..me }.is_alive());
    }

    #[test]
    fn names_with_parentheses_and_zombies() {
        let stat = |state| format!("7 (a) b) {state} 1 {} 4242 0", "0 ".repeat(17));
        assert_eq!(start_in(&stat("S")), Some(4242));
        assert_eq!(start_in(&stat("Z")), None);
        assert_eq!(start_in("nonsense"), None);
    }
}
