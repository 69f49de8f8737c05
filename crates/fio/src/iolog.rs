//! fio's I/O logs, versions 2 and 3: a line for each action on a file, which `read_iolog` repeats.
//!
//! Version 3 puts the time of an action in front of it, version 2 has `wait` between actions; both in
//! microseconds. Unlike fio, which skips a line that it does not understand, this parser refuses it,
//! so that no log is repeated in part. The reader of the file is a [`crate::World`].

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use workload::units::gcd;
use workload::{Op, OpKind};

/// The first lines of the versions.
const HEADER_2: &str = "fio version 2 iolog";
pub const HEADER_3: &str = "fio version 3 iolog";

/// The upper three bytes of the number with which each record of blktrace begins.
const BLKTRACE: u32 = 0x65_6174;

/// Largest operation, bytes; arbitrary, far more than any drive takes in one command.
const OP_BYTES_MAX: u64 = 1 << 30;

/// Shorter waits have no effect, as in fio, microseconds.
const WAIT_MIN_US: u64 = 100;

/// The logs that the clones of a job repeat.
#[derive(Clone, Debug, PartialEq)]
pub struct Replay {
    /// Clone `n` repeats log `n`, modulo their number; at least one.
    pub logs: Vec<Arc<IoLog>>,
    /// `replay_no_stall`: as fast as possible.
    pub no_stall: bool,
    /// `replay_time_scale=`: the rate in percent of the log's, at least 1.
    pub time_scale: u32,
}

impl Replay {
    /// The log of a clone.
    pub(crate) fn log(&self, clone: u32) -> &Arc<IoLog> {
        &self.logs[clone as usize % self.logs.len()]
    }

    /// The time that a clone takes if no operation is late.
    pub(crate) fn duration(&self, clone: u32) -> Duration {
        let last = self.log(clone).ops.last().filter(|_| !self.no_stall);
        let log_time = Duration::from_micros(last.map_or(0, |logged| logged.due_us));
        log_time.saturating_mul(100) / self.time_scale
    }

    /// Whether any clone has an operation of this kind.
    pub(crate) fn has(&self, kind: OpKind) -> bool {
        self.logs.iter().any(|log| log.count(kind) > 0)
    }

    /// The greatest common divisor of all offsets and lengths, bytes.
    pub(crate) fn grid(&self) -> u32 {
        let ops = self.logs.iter().flat_map(|log| &log.ops);
        let parts = ops.flat_map(|logged| [logged.op.offset, logged.op.bytes.into()]);
        parts.filter(|part| *part > 0).fold(0, gcd).max(1) as u32
    }

    /// Whether any clone changes its files.
    pub(crate) fn changes(&self) -> bool {
        self.has(OpKind::Write) || self.has(OpKind::Discard)
    }
}

/// A log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IoLog {
    /// Names of the files, in order of mention.
    pub files: Vec<String>,
    /// The operations, in order.
    pub ops: Vec<LoggedOp>,
    /// Whether a flush is an `fsync`; otherwise all are `fdatasync`.
    pub fsync: bool,
}

/// An operation of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoggedOp {
    /// Time since the first action, microseconds.
    pub due_us: u64,
    /// Index of its file.
    pub file: u32,
    /// The operation, with the offset in its file.
    pub op: Op,
}

/// What a log requires of a file, bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FileNeeds {
    /// Size that it must have before.
    pub size: u64,
    /// Exclusive end of all operations.
    pub end: u64,
    /// Whether it is changed.
    pub changed: bool,
    /// Whether it is trimmed.
    pub trimmed: bool,
}

/// How the offsets of a log are changed: `replay_scale`, then `replay_align`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mapping<'a> {
    /// Divisor, at least 1.
    pub scale: u64,
    /// Offsets are rounded down to a multiple of it, at least 1.
    pub align: u64,
    /// The kinds that are left out.
    pub skips: &'a [OpKind],
    /// The file of all operations, if not that of the log.
    pub redirect: Option<&'a str>,
}

impl IoLog {
    /// Reads a file with a log.
    pub(crate) fn read(bytes: &[u8]) -> Result<IoLog, String> {
        let magic = bytes.first_chunk().map_or(0, |head| u32::from_ne_bytes(*head));
        if [magic, magic.swap_bytes()].iter().any(|magic| magic >> 8 == BLKTRACE) {
            return Err("is a binary trace of blktrace, which is not read; make a text of what \
                        blkparse prints: 'fio version 2 iolog', 'DEVICE add', 'DEVICE open', then \
                        'DEVICE read|write|trim OFFSET LENGTH' in bytes"
                .into());
        }
        IoLog::parse(&String::from_utf8_lossy(bytes))
    }

    /// Reads a log. An error begins with the number of the line.
    pub(crate) fn parse(text: &str) -> Result<IoLog, String> {
        let mut lines = text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty());
        let has_time = match lines.next().map(|(line, _)| line.trim()) {
            Some(HEADER_2) => false,
            Some(HEADER_3) => true,
            _ => {
                return Err(
                    "does not begin with 'fio version 2 iolog' or 'fio version 3 iolog'".into()
                );
            }
        };
        let mut reader = Reader { has_time, ..Reader::default() };
        for (line, number) in lines {
            reader.read(line).map_err(|why| format!("line {number}: {why}"))?;
        }
        if reader.log.ops.is_empty() {
            return Err("has no operation".into());
        }
        Ok(reader.log)
    }

    /// The log with other offsets, operations or files.
    pub(crate) fn mapped(mut self, mapping: Mapping<'_>) -> IoLog {
        for logged in &mut self.ops {
            let offset = logged.op.offset / mapping.scale;
            logged.op.offset = offset - offset % mapping.align;
        }
        self.ops.retain(|logged| !mapping.skips.contains(&logged.op.kind));
        if let Some(name) = mapping.redirect {
            self.files = vec![name.to_string()];
            self.ops.iter_mut().for_each(|logged| logged.file = 0);
        }
        self
    }

    /// Number of operations of a kind.
    pub(crate) fn count(&self, kind: OpKind) -> u64 {
        self.ops.iter().filter(|logged| logged.op.kind == kind).count() as u64
    }

    /// Bytes of the operations of a kind.
    pub(crate) fn bytes(&self, kind: OpKind) -> u64 {
        let ops = self.ops.iter().filter(|logged| logged.op.kind == kind);
        ops.map(|logged| u64::from(logged.op.bytes)).sum()
    }

    /// The greatest length, bytes; at least 1.
    pub(crate) fn largest(&self) -> u32 {
        self.ops.iter().map(|logged| logged.op.bytes).fold(1, u32::max)
    }

    /// What it requires of each of its files. What it has written itself, it may read.
    pub(crate) fn needs(&self) -> Vec<FileNeeds> {
        let mut needs = vec![FileNeeds::default(); self.files.len()];
        let mut write_ends = vec![0; self.files.len()];
        for LoggedOp { file, op, .. } in &self.ops {
            let need = &mut needs[*file as usize];
            let write_end = &mut write_ends[*file as usize];
            need.end = need.end.max(op.end());
            match op.kind {
                OpKind::Write => *write_end = op.end().max(*write_end),
                OpKind::Read if op.end() > *write_end => need.size = need.size.max(op.end()),
                OpKind::Read | OpKind::Flush | OpKind::Discard => {}
            }
            need.changed |= matches!(op.kind, OpKind::Write | OpKind::Discard);
            need.trimmed |= op.kind == OpKind::Discard;
        }
        needs
    }
}

/// The state of a parser between two lines.
#[derive(Debug, Default)]
struct Reader<'t> {
    has_time: bool,
    log: IoLog,
    numbers: HashMap<&'t str, u32>,
    /// The sum of all waits so far, or the time of the last line, microseconds.
    now_us: u64,
    /// The time of the first line, microseconds.
    first_us: Option<u64>,
    /// The time at which it stands, if logs came before; microseconds.
    base_us: u64,
}

impl<'t> Reader<'t> {
    fn read(&mut self, line: &'t str) -> Result<(), String> {
        if line.trim() == if self.has_time { HEADER_3 } else { HEADER_2 } {
            // Another log was appended; its times begin again.
            (self.base_us, self.first_us) = (self.now_us, None);
            return Ok(());
        }
        let mut words = line.split_whitespace();
        if self.has_time {
            let time_us = number(words.next(), "a time")?;
            let first_us = *self.first_us.get_or_insert(time_us);
            // A time before that of the line above is no pause, as in fio.
            let time_us = time_us.saturating_sub(first_us).saturating_add(self.base_us);
            self.now_us = self.now_us.max(time_us);
        }
        let (Some(name), Some(action)) = (words.next(), words.next()) else {
            return Err("needs a file and an action".into());
        };
        let kind = match action {
            "add" => return self.add(name),
            "open" | "close" => return self.file(name).map(drop),
            "wait" if self.has_time => return Err("wait is not allowed in version 3".into()),
            "wait" => {
                let wait_us = number(words.next(), "microseconds")?;
                let wait_us = if wait_us < WAIT_MIN_US { 0 } else { wait_us };
                self.now_us = self.now_us.saturating_add(wait_us);
                return Ok(());
            }
            "read" => OpKind::Read,
            "write" => OpKind::Write,
            "trim" => OpKind::Discard,
            "sync" | "datasync" => OpKind::Flush,
            _ => return Err(format!("unknown action '{action}'")),
        };
        let file = self.file(name)?;
        self.log.fsync |= action == "sync";
        let op = if kind == OpKind::Flush {
            Op::FLUSH
        } else {
            let offset = number(words.next(), "an offset")?;
            let bytes = number(words.next(), "a length")?;
            if !(1..=OP_BYTES_MAX).contains(&bytes) {
                return Err(format!("a length of {bytes} is not within 1 to {OP_BYTES_MAX}"));
            }
            if offset.checked_add(bytes).is_none_or(|end| end > i64::MAX as u64) {
                return Err(format!("offset {offset} is beyond the end of any file"));
            }
            Op { kind, offset, bytes: bytes as u32 }
        };
        self.log.ops.push(LoggedOp { due_us: self.now_us, file, op });
        Ok(())
    }

    fn add(&mut self, name: &'t str) -> Result<(), String> {
        let next = self.log.files.len();
        if next >= crate::MAX_FILES as usize {
            return Err(format!("more than {} files", crate::MAX_FILES));
        }
        if !self.numbers.contains_key(name) {
            self.numbers.insert(name, next as u32);
            self.log.files.push(name.to_string());
        }
        Ok(())
    }

    fn file(&self, name: &str) -> Result<u32, String> {
        self.numbers.get(name).copied().ok_or_else(|| format!("{name} was not added before"))
    }
}

fn number(word: Option<&str>, what: &str) -> Result<u64, String> {
    let word = word.ok_or_else(|| format!("needs {what}"))?;
    word.parse().map_err(|_| format!("'{word}' is not {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const V3: &str = "fio version 3 iolog\n5 f add\n9 g add\n10 f open\n20 f write 0 8192\n\
                      30 f read 4096 4096\n25 f read 8192 512\n1040 g datasync 0 0\n\
                      1041 g trim 0 4096\n1050 f close\n";

    fn op(due_us: u64, file: u32, kind: OpKind, offset: u64, bytes: u32) -> LoggedOp {
        LoggedOp { due_us, file, op: Op { kind, offset, bytes } }
    }

    #[test]
    fn actions_have_times_that_do_not_go_back() {
        let log = IoLog::parse(V3).expect("read");
        assert_eq!(log.files, ["f", "g"]);
        let ops = [
            op(15, 0, OpKind::Write, 0, 8192),
            op(25, 0, OpKind::Read, 4096, 4096),
            op(25, 0, OpKind::Read, 8192, 512),
            op(1035, 1, OpKind::Flush, 0, 0),
            op(1036, 1, OpKind::Discard, 0, 4096),
        ];
        assert_eq!((&log.ops[..], log.fsync), (&ops[..], false));
        let needs = log.needs();
        assert_eq!((needs[0].size, needs[0].end, needs[0].changed), (8704, 8704, true));
        assert_eq!((needs[1].size, needs[1].trimmed), (0, true));
    }

    #[test]
    fn waits_add_up_and_short_ones_are_none() {
        let text = "fio version 2 iolog\nf add\nf open\nf read 0 512\nf wait 99 0\nf read 0 512\n\
                    f wait 1000\nf sync 0 0\nf wait 500 0\nf read 512 512\n";
        let log = IoLog::parse(text).expect("read");
        assert_eq!(log.ops.iter().map(|op| op.due_us).collect::<Vec<_>>(), [0, 0, 1000, 1500]);
        assert!(log.fsync);
    }

    #[test]
    fn waits_of_any_length_end_at_the_end_of_time() {
        let wait = format!("f wait {}\n", u64::MAX);
        let text = format!("fio version 2 iolog\nf add\n{wait}{wait}f read 0 512\n");
        assert_eq!(IoLog::parse(&text).expect("read").ops[0].due_us, u64::MAX);
    }

    #[test]
    fn lines_that_cannot_be_repeated_are_named() {
        for (lines, why) in [
            ("", "has no operation"),
            ("f read 0 512", "line 2: f was not added before"),
            ("f add\nf erase 0 512", "line 3: unknown action 'erase'"),
            ("f add\nf read 0", "line 3: needs a length"),
            ("f add\nf read x 512", "line 3: 'x' is not an offset"),
            ("f add\nf read 0 0", "line 3: a length of 0 is not within 1 to 1073741824"),
            ("f add\nf read 9223372036854775800 512", "line 3: offset 9223372036854775800 is"),
            ("f", "line 2: needs a file and an action"),
        ] {
            let error = IoLog::parse(&format!("fio version 2 iolog\n{lines}\n")).expect_err(lines);
            assert!(error.starts_with(why), "{lines}: {error}");
        }
        for version in [[7, b't', b'a', b'e'], [b'e', b'a', b't', 7]] {
            let error = IoLog::read(&[&version[..], &[0; 44]].concat()).expect_err("binary");
            assert!(error.starts_with("is a binary trace of blktrace"), "{error}");
        }
        assert!(IoLog::parse("0, 0, 4096\n").expect_err("old").contains("does not begin"));
        let wait = "fio version 3 iolog\n0 f add\n0 f wait 500 0\n";
        assert_eq!(IoLog::parse(wait), Err("line 3: wait is not allowed in version 3".into()));
    }

    #[test]
    fn offsets_are_scaled_before_they_are_aligned() {
        let log = IoLog::parse(V3).expect("read");
        let skips = [OpKind::Discard];
        let mapping = Mapping { scale: 2, align: 1024, skips: &skips, redirect: Some("h") };
        let log = log.mapped(mapping);
        assert_eq!((log.files.len(), log.count(OpKind::Discard)), (1, 0));
        assert_eq!(log.ops.iter().map(|op| op.op.offset).collect::<Vec<_>>(), [0, 2048, 4096, 0]);
    }
}
