//! Traffic that the kernel accounts to this process (`/proc/PID/io`, Documentation/filesystems/proc.rst
//! of Linux): its own, and that of each child from the moment it is waited for.

use rig::ProgramTraffic;

/// The traffic with all drives so far; `None` if the kernel does not count it.
pub(crate) fn traffic() -> Option<ProgramTraffic> {
    parse(&std::fs::read_to_string("/proc/self/io").ok()?)
}

fn parse(text: &str) -> Option<ProgramTraffic> {
    let value = |name: &str| -> Option<u64> {
        text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": ")?.parse().ok())
    };
    let written_bytes = value("write_bytes")?.saturating_sub(value("cancelled_write_bytes")?);
    Some(ProgramTraffic { read_bytes: value("read_bytes")?, written_bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truncated_writes_do_not_count() {
        let text = "rchar: 9\nwchar: 8\nread_bytes: 4096\nwrite_bytes: 12288\n\
                    cancelled_write_bytes: 8192\n";
        let expected = ProgramTraffic { read_bytes: 4096, written_bytes: 4096 };
        assert_eq!(parse(text), Some(expected));
        assert_eq!(parse("rchar: 9\n"), None);
    }
}
