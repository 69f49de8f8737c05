//! Splits a stream of results into pieces: single ssdyno records, and the text between them.
//!
//! A store of 100,000 records can be larger than memory, so at most one record is in memory, and
//! its size is limited. Text of other tools is read whole, up to the same limit, because a result
//! may be anywhere in it. A record starts with `{` in the first column and ends with the line of
//! the matching brace.

use std::collections::VecDeque;
use std::io::{self, BufRead, Read};

use super::own;

/// Written before UTF-8 text by Windows tools.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A piece of a stream.
#[derive(Debug)]
pub enum StreamPiece {
    /// An ssdyno record in JSON.
    Record {
        /// Its text.
        json: String,
        /// Number of its first line, from 1.
        line: usize,
    },
    /// Text that may contain results of other tools.
    Text {
        /// The text as read.
        bytes: Vec<u8>,
        /// Number of its first line, from 1.
        line: usize,
    },
}

/// Splits a stream into pieces of at most `limit` bytes. Fails at a longer piece.
#[derive(Debug)]
pub struct Pieces<R> {
    reader: R,
    limit: usize,
    /// Lines read so far.
    lines: usize,
    /// Text that precedes the next record, and its first line.
    text: (Vec<u8>, usize),
    /// An incomplete object that starts in the first column.
    object: JsonObject,
    /// Complete pieces: text, and the record after it.
    ready: VecDeque<StreamPiece>,
    /// Whether the text is UTF-16 or a spreadsheet, which is read to its end because it contains no
    /// ssdyno records.
    wide: bool,
    ended: bool,
}

/// An object being read.
#[derive(Debug, Default)]
struct JsonObject {
    bytes: Vec<u8>,
    line: usize,
    depth: usize,
    quoted: bool,
    escaped: bool,
}

impl JsonObject {
    /// Adds a line; returns whether the object is complete.
    fn add(&mut self, line: &[u8]) -> bool {
        for &byte in line {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = self.quoted,
                b'"' => self.quoted = !self.quoted,
                b'{' if !self.quoted => self.depth += 1,
                b'}' if !self.quoted => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
        }
        self.bytes.extend(line);
        self.depth == 0
    }
}

impl<R: BufRead> Pieces<R> {
    /// Reads from a stream.
    pub fn new(reader: R, limit: usize) -> Pieces<R> {
        Pieces {
            reader,
            limit,
            lines: 0,
            text: (Vec::new(), 1),
            object: JsonObject::default(),
            ready: VecDeque::new(),
            wide: false,
            ended: false,
        }
    }

    /// The next line with its terminator; empty at the end.
    fn line(&mut self) -> io::Result<Vec<u8>> {
        let buffered = self.text.0.len() + self.object.bytes.len();
        let room = self.limit.saturating_sub(buffered) + 1;
        let mut line = Vec::new();
        self.reader.by_ref().take(room as u64).read_until(b'\n', &mut line)?;
        if line.len() >= room {
            let mib = self.limit >> 20;
            let number = self.lines + 1;
            let text = format!("line {number}: a record or text of more than {mib} MiB");
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, text));
        }
        self.lines += usize::from(!line.is_empty());
        Ok(line)
    }

    /// Reads a line; returns whether there was one.
    fn advance(&mut self) -> io::Result<bool> {
        let mut line = self.line()?;
        if self.lines == 1 && line.starts_with(BYTE_ORDER_MARK) {
            line.drain(..BYTE_ORDER_MARK.len());
        }
        if line.is_empty() {
            self.close();
            self.end_of_text();
            return Ok(false);
        }
        let marks = [&b"\xff\xfe"[..], b"\xfe\xff", &super::xls::MAGIC];
        self.wide |= self.lines == 1 && marks.iter().any(|mark| line.starts_with(mark));
        let begins = !self.wide && line.starts_with(b"{");
        if begins {
            // The previous object was not closed: a truncated record.
            self.close();
            self.object.line = self.lines;
        }
        if !begins && self.object.bytes.is_empty() {
            self.add_text(&line, self.lines);
        } else if self.object.add(&line) {
            self.close();
        }
        Ok(true)
    }

    /// Ends the object, which is either a record or ordinary text.
    fn close(&mut self) {
        let JsonObject { bytes, line, .. } = std::mem::take(&mut self.object);
        match String::from_utf8(bytes) {
            Ok(json) if own::is_record(&json) => {
                self.end_of_text();
                self.ready.push_back(StreamPiece::Record { json, line });
            }
            Ok(text) => self.add_text(text.as_bytes(), line),
            Err(error) => self.add_text(error.as_bytes(), line),
        }
    }

    fn add_text(&mut self, bytes: &[u8], line: usize) {
        if self.text.0.is_empty() {
            self.text.1 = line;
        }
        self.text.0.extend(bytes);
    }

    fn end_of_text(&mut self) {
        let (bytes, line) = std::mem::take(&mut self.text);
        if !bytes.trim_ascii().is_empty() {
            self.ready.push_back(StreamPiece::Text { bytes, line });
        }
    }
}

impl<R: BufRead> Iterator for Pieces<R> {
    type Item = io::Result<StreamPiece>;

    fn next(&mut self) -> Option<io::Result<StreamPiece>> {
        while self.ready.is_empty() && !self.ended {
            match self.advance() {
                Ok(more) => self.ended = !more,
                Err(error) => {
                    self.ended = true;
                    return Some(Err(error));
                }
            }
        }
        self.ready.pop_front().map(Ok)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORD: &str = r#"{"schema":"ssdyno.run/1","id":"}\"{"}"#;

    /// `R3` is a record from line 3, `T1:text` a text from line 1.
    fn pieces(input: &str, limit: usize) -> Vec<String> {
        let show = |piece: io::Result<StreamPiece>| match piece {
            Ok(StreamPiece::Record { json, line }) => format!("R{line}:{}", json.lines().count()),
            Ok(StreamPiece::Text { bytes, line }) => {
                format!("T{line}:{}", String::from_utf8_lossy(&bytes).trim_end())
            }
            Err(error) => format!("E:{error}"),
        };
        // Small reads, as from a pipe.
        let reader = io::BufReader::with_capacity(3, input.as_bytes());
        Pieces::new(reader, limit).map(show).collect()
    }

    #[test]
    fn records_and_text_keep_their_order() {
        let two = format!("{RECORD}\n\n{RECORD}");
        assert_eq!(pieces(&two, 1000), ["R1:1", "R3:1"]);
        let mixed = format!("a\nb\n{RECORD}\nc\n{{\"fio version\": 3}}\n{RECORD}\n");
        let expected = ["T1:a\nb", "R3:1", "T4:c\n{\"fio version\": 3}", "R6:1"];
        assert_eq!(pieces(&mixed, 1000), expected);
        assert_eq!(pieces("{ never closed\nx\n", 1000), ["T1:{ never closed\nx"]);
        assert_eq!(pieces(" \n\n", 1000), [""; 0]);
    }

    #[test]
    fn a_record_may_span_several_lines() {
        let pretty = RECORD.replace(':', " :\n ").replace('}', "\n}");
        assert_eq!(pieces(&format!("{pretty}\n{RECORD}\n"), 1000)[..], ["R1:5", "R6:1"][..]);
    }

    #[test]
    fn a_truncated_record_does_not_affect_others() {
        let cut = &RECORD[..RECORD.len() - 1];
        assert_eq!(pieces(&format!("{cut}\n{RECORD}\n"), 1000), ["R1:1", "R2:1"]);
    }

    #[test]
    fn a_record_that_is_too_long_is_refused_with_its_line() {
        let long = format!("{RECORD}\n{{{}", "x".repeat(5 << 20));
        let found = pieces(&long, 1 << 20);
        assert_eq!(found, ["R1:1", "E:line 2: a record or text of more than 1 MiB"]);
    }
}
