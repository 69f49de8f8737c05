//! All operations of a clone, for fio's logs.
//!
//! A fast drive completes more operations in a minute than fit in memory, so they are written to an
//! unnamed file in the directory of the logs, 40 bytes each. Only the latest are in memory.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use rig::Logged;
use workload::{Op, OpKind};

use crate::system::nameless;

/// Size of an operation in the file, bytes.
const ENTRY: usize = 40;

/// Size of the buffer in memory, bytes.
const BUFFER: usize = ENTRY << 11;

/// The logged operations of a clone, in order of completion.
#[derive(Debug, Default)]
pub struct OpLog {
    /// `None` if the clone logs no operations.
    file: Option<File>,
    /// Bytes in the file.
    written: u64,
    /// Later operations, not yet written.
    buffer: Vec<u8>,
    /// The error that ended the log.
    failed: Option<io::Error>,
}

impl OpLog {
    /// An empty log, stored in a directory.
    pub(crate) fn within(directory: &Path) -> io::Result<OpLog> {
        Ok(OpLog { file: Some(nameless(directory)?), ..OpLog::default() })
    }

    /// Adds operations. An error is reported later by [`OpLog::each`]: a full disk does not end the
    /// run.
    pub(crate) fn add(&mut self, ops: &[Logged]) {
        if self.file.is_none() || self.failed.is_some() {
            return;
        }
        for logged in ops {
            let Logged { priority, done_ns, service_ns, submission_ns, op } = *logged;
            let rest = u64::from(op.bytes) | (op.kind as u64) << 32 | u64::from(priority) << 40;
            let words = [done_ns, service_ns, op.offset, rest, submission_ns];
            words.iter().for_each(|word| self.buffer.extend(word.to_le_bytes()));
        }
        if self.buffer.len() >= BUFFER {
            self.failed = self.write().err();
        }
    }

    fn write(&mut self) -> io::Result<()> {
        let Some(mut file) = self.file.as_ref() else { return Ok(()) };
        file.seek(SeekFrom::Start(self.written))?;
        file.write_all(&self.buffer)?;
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// Discards all operations so far, because the job's statistics were reset.
    pub(super) fn clear(&mut self) {
        (self.written, self.failed) = (0, None);
        self.buffer.clear();
    }

    /// Calls `act` for each operation in order, and stops at an error.
    pub fn each(&self, mut act: impl FnMut(&Logged) -> io::Result<()>) -> io::Result<()> {
        if let Some(error) = &self.failed {
            return Err(io::Error::new(error.kind(), error.to_string()));
        }
        let (mut position, mut chunk) = (0, vec![0; BUFFER]);
        while let Some(mut file) = self.file.as_ref().filter(|_| position < self.written) {
            let bytes = (self.written - position).min(BUFFER as u64) as usize;
            file.seek(SeekFrom::Start(position))?;
            file.read_exact(&mut chunk[..bytes])?;
            chunk[..bytes].chunks_exact(ENTRY).map(decoded).try_for_each(|op| act(&op))?;
            position += bytes as u64;
        }
        self.buffer.chunks_exact(ENTRY).map(decoded).try_for_each(|op| act(&op))
    }
}

fn decoded(entry: &[u8]) -> Logged {
    let word = |at: usize| {
        let bytes = entry[at * 8..][..8].iter().rev();
        bytes.fold(0u64, |word, byte| word << 8 | u64::from(*byte))
    };
    let rest = word(3);
    Logged {
        done_ns: word(0),
        service_ns: word(1),
        submission_ns: word(4),
        priority: (rest >> 40) as u16,
        op: Op {
            kind: OpKind::ALL[(rest >> 32) as usize & 3],
            offset: word(2),
            bytes: rest as u32,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn logged(number: u64) -> Logged {
        let kind = OpKind::ALL[number as usize % 4];
        let op = Op { kind, offset: number << 40 | 512, bytes: u32::MAX - number as u32 };
        let submission_ns = number << 3;
        let (priority, done_ns, service_ns) = (number as u16, number * 7, !number);
        Logged { priority, done_ns, service_ns, submission_ns, op }
    }

    fn all(log: &OpLog) -> Vec<Logged> {
        let mut all = Vec::new();
        log.each(|op| {
            all.push(*op);
            Ok(())
        })
        .expect("read");
        all
    }

    #[test]
    fn operations_are_read_in_order_and_few_are_in_memory() {
        let directory = tempfile::tempdir().expect("a directory");
        let mut log = OpLog::within(directory.path()).expect("a file");
        let ops: Vec<Logged> = (0..20_000).map(logged).collect();
        for part in ops.chunks(999) {
            log.add(part);
            assert!(log.buffer.len() < BUFFER + 999 * ENTRY);
        }
        assert!(log.written > 0 && !log.buffer.is_empty());
        assert_eq!(all(&log), ops);
        assert_eq!(all(&log), ops, "it can be read again");
        assert_eq!(std::fs::read_dir(directory.path()).expect("listed").count(), 0, "no name");
        log.clear();
        log.add(&ops[5..8]);
        assert_eq!(all(&log), ops[5..8]);
    }

    #[test]
    fn a_clone_without_a_log_stores_nothing() {
        let mut log = OpLog::default();
        log.add(&[logged(1)]);
        assert!(all(&log).is_empty());
    }

    #[test]
    fn an_error_is_reported_when_the_log_is_read() {
        let full =
            OpLog { file: Some(File::open("/dev/null").expect("there")), ..OpLog::default() };
        let mut full = full;
        full.add(&(0..5000).map(logged).collect::<Vec<_>>());
        assert!(full.each(|_| Ok(())).is_err(), "it cannot be written");
    }
}
