//! The lines of fio's logs, as text, or packed and compressed (`log_store_compressed`).
//!
//! A line is `time (ms), value, direction, block size, priority`; `log_offset` adds the offset before
//! the priority, `log_issue_time` the time of issue behind it. A compressed log is a series of zlib
//! streams, each of the samples as fio 3.42 has them in memory, little-endian: time, two values,
//! direction and flags (32 bits), priority (32), block size, then offset and time of issue if a flag
//! says so.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use miniz_oxide::deflate::compress_to_vec_zlib;
use miniz_oxide::inflate::stream::{InflateState, inflate};
use miniz_oxide::{DataFormat, MZFlush, MZStatus};

use crate::Logs;

/// The priority class marked by fio.
const REAL_TIME: u16 = 1;

/// Flags of a sample.
const HAS_OFFSET: u32 = 1 << 31;
const HAS_PRIORITY: u32 = 1 << 30;
const HAS_BOTH: u32 = 1 << 29;
const HAS_ISSUE_TIME: u32 = 1 << 28;
const FLAGS: u32 = 0xf << 28;

/// Size of a sample without offset and time of issue, bytes.
const SAMPLE: usize = 40;

/// Samples are compressed in pieces of this size, bytes; arbitrary (fio's is an option).
const PIECE: usize = 1 << 20;

/// zlib's usual compromise between time and size.
const LEVEL: u8 = 6;

/// A line of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LogLine {
    pub ms: u64,
    /// One value, or a mean and the largest.
    pub values: Vec<u64>,
    pub direction: usize,
    pub bytes: u64,
    pub offset: u64,
    pub priority: u16,
    pub issue_ns: u64,
}

/// The parts of a log's lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LineParts {
    offset: bool,
    /// The priority itself rather than whether it is real time.
    priority: bool,
    issue_time: bool,
}

impl LineParts {
    pub(super) fn from_logs(logs: &Logs) -> LineParts {
        LineParts { offset: logs.offset, priority: logs.priority, issue_time: logs.issue_time }
    }

    fn write(self, line: &LogLine, out: &mut impl Write) -> io::Result<()> {
        let LogLine { ms, values, direction, bytes, offset, priority, issue_ns } = line;
        write!(out, "{ms}")?;
        for value in values {
            write!(out, ", {value}")?;
        }
        write!(out, ", {direction}, {bytes}")?;
        if self.offset {
            write!(out, ", {offset}")?;
        }
        if self.priority {
            write!(out, ", 0x{priority:04x}")?
        } else {
            write!(out, ", {}", u8::from(priority >> 13 == REAL_TIME))?
        }
        if self.issue_time {
            write!(out, ", {issue_ns}")?;
        }
        writeln!(out)
    }

    fn pack(self, line: &LogLine, out: &mut Vec<u8>) {
        let flags = [
            (self.offset, HAS_OFFSET),
            (self.priority, HAS_PRIORITY),
            (line.values.len() > 1, HAS_BOTH),
            (self.issue_time, HAS_ISSUE_TIME),
        ];
        let flags = flags.into_iter().filter(|(is_set, _)| *is_set);
        let direction = flags.fold(line.direction as u32, |sum, (_, flag)| sum | flag);
        out.extend(line.ms.to_le_bytes());
        for place in 0..2 {
            out.extend(line.values.get(place).copied().unwrap_or(0).to_le_bytes());
        }
        out.extend(direction.to_le_bytes());
        out.extend(u32::from(line.priority).to_le_bytes());
        out.extend(line.bytes.to_le_bytes());
        if self.offset {
            out.extend(line.offset.to_le_bytes());
        }
        if self.issue_time {
            out.extend(line.issue_ns.to_le_bytes());
        }
    }
}

/// Writes the lines of logs to a file.
pub(super) enum LogFile {
    Text(BufWriter<emit::Replacement>),
    /// With the samples that are not yet compressed.
    Packed(emit::Replacement, Vec<u8>),
}

impl LogFile {
    pub(super) fn create(path: &Path, is_packed: bool) -> io::Result<LogFile> {
        let file = emit::Replacement::create(path)?;
        Ok(if is_packed {
            LogFile::Packed(file, Vec::new())
        } else {
            LogFile::Text(BufWriter::new(file))
        })
    }

    /// The file, for a log whose lines are only text.
    pub(super) fn text(&mut self) -> &mut dyn Write {
        match self {
            LogFile::Text(file) => file,
            LogFile::Packed(file, _) => file,
        }
    }

    pub(super) fn add(&mut self, line: &LogLine, parts: LineParts) -> io::Result<()> {
        match self {
            LogFile::Text(file) => parts.write(line, file),
            LogFile::Packed(file, samples) => {
                parts.pack(line, samples);
                if samples.len() < PIECE {
                    return Ok(());
                }
                file.write_all(&compress_to_vec_zlib(samples, LEVEL))?;
                samples.clear();
                Ok(())
            }
        }
    }

    pub(super) fn finish(self) -> io::Result<()> {
        match self {
            LogFile::Text(file) => {
                file.into_inner().map_err(io::IntoInnerError::into_error)?.finish()
            }
            LogFile::Packed(mut file, samples) => {
                if !samples.is_empty() {
                    file.write_all(&compress_to_vec_zlib(&samples, LEVEL))?;
                }
                file.finish()
            }
        }
    }
}

/// Writes the lines of a compressed log as text (`--inflate-log`).
pub fn inflate_log(mut packed: &[u8], out: &mut impl Write) -> io::Result<()> {
    let mut buffer = vec![0; PIECE];
    while !packed.is_empty() {
        let mut state = InflateState::new_boxed(DataFormat::Zlib);
        let (mut samples, mut is_over) = (Vec::new(), false);
        while !is_over {
            let result = inflate(&mut state, packed, &mut buffer, MZFlush::None);
            packed = &packed[result.bytes_consumed..];
            samples.extend(&buffer[..result.bytes_written]);
            is_over = match result.status {
                Ok(MZStatus::StreamEnd) => true,
                Ok(_) if result.bytes_consumed + result.bytes_written > 0 => false,
                _ => return Err(io::Error::new(io::ErrorKind::InvalidData, "not a fio log")),
            };
            // All of a stream has the same parts, so that whole samples can be written.
            let whole = write_samples(&samples, out)?;
            samples.drain(..whole);
        }
    }
    Ok(())
}

/// Writes whole samples as text; returns their bytes.
fn write_samples(samples: &[u8], out: &mut impl Write) -> io::Result<usize> {
    let Some(flags) = samples.get(24..28) else { return Ok(0) };
    let flags = u32::from_le_bytes(flags.try_into().unwrap_or_default());
    let parts = LineParts {
        offset: flags & HAS_OFFSET != 0,
        priority: flags & HAS_PRIORITY != 0,
        issue_time: flags & HAS_ISSUE_TIME != 0,
    };
    let words = usize::from(parts.offset) + usize::from(parts.issue_time);
    let entries = samples.chunks_exact(SAMPLE + words * 8);
    let whole = samples.len() - entries.remainder().len();
    for entry in entries {
        let word = |at: usize| u64::from_le_bytes(entry[at..at + 8].try_into().unwrap_or_default());
        let mut rest = (SAMPLE..entry.len()).step_by(8).map(word);
        let line = LogLine {
            ms: word(0),
            values: (0..1 + usize::from(flags & HAS_BOTH != 0)).map(|n| word(8 + n * 8)).collect(),
            direction: (word(24) as u32 & !FLAGS) as usize,
            priority: (word(24) >> 32) as u16,
            bytes: word(32),
            offset: rest.next().filter(|_| parts.offset).unwrap_or(0),
            issue_ns: 0,
        };
        let issue_ns = if parts.issue_time { word(entry.len() - 8) } else { 0 };
        parts.write(&LogLine { issue_ns, ..line }, out)?;
    }
    Ok(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compressed_log_has_the_lines_of_a_text() {
        let directory = tempfile::tempdir().expect("a directory");
        for (offset, priority, issue_time, count) in
            [(false, false, false, 1), (true, true, true, 2), (false, true, true, 1)]
        {
            let parts = LineParts { offset, priority, issue_time };
            let paths = ["text", "packed"].map(|name| directory.path().join(name));
            for (path, is_packed) in paths.iter().zip([false, true]) {
                let mut log = LogFile::create(path, is_packed).expect("created");
                for number in 0..50_000 {
                    let line = LogLine {
                        ms: number / 9,
                        values: vec![number * 7; count],
                        direction: number as usize % 3,
                        bytes: 4096,
                        offset: number * 4096,
                        priority: 0x2000,
                        issue_ns: number * 1000,
                    };
                    log.add(&line, parts).expect("added");
                }
                log.finish().expect("written");
            }
            let [text, packed] = paths.map(|path| std::fs::read(path).expect("read"));
            assert!(packed.len() * 4 < text.len());
            let mut inflated = Vec::new();
            inflate_log(&packed, &mut inflated).expect("inflated");
            assert!(inflated == text);
            assert!(inflate_log(&packed[..packed.len() / 2], &mut Vec::new()).is_err());
            assert!(inflate_log(&text, &mut Vec::new()).is_err());
        }
    }
}
