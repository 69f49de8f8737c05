//! Reads a text line by line, with line numbers for errors.

use std::rc::Rc;

use thiserror::Error;

/// Maximum number of characters quoted from a line in a message.
const QUOTED: usize = 80;

/// A text in an unexpected format.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("line {line}: {why}: '{text}'")]
pub struct ImportError {
    /// Line number, from 1.
    pub line: usize,
    /// The line, truncated if long.
    pub text: String,
    /// The problem.
    pub why: String,
}

/// Position of a parser in a text. Cheap to clone, because parsers look ahead with a clone.
#[derive(Clone)]
pub(crate) struct Lines<'a> {
    text: &'a str,
    /// Byte offset of each line.
    starts: Rc<[usize]>,
    /// Number of the first line, from 1.
    first: usize,
    at: usize,
}

impl<'a> Lines<'a> {
    /// Starts at the beginning of a text, whose first line has this number in its file.
    pub fn new(text: &'a str, first: usize) -> Lines<'a> {
        let ends = text.match_indices('\n').map(|(i, _)| i + 1);
        let starts = [0].into_iter().chain(ends).filter(|i| *i < text.len()).collect();
        Lines { text, starts, first, at: 0 }
    }

    /// The line at an index, without its terminator.
    fn line(&self, at: usize) -> Option<&'a str> {
        let start = *self.starts.get(at)?;
        let end = self.starts.get(at + 1).copied().unwrap_or(self.text.len());
        Some(self.text[start..end].trim_end_matches(['\n', '\r']))
    }

    /// The current line, without its terminator.
    pub fn peek(&self) -> Option<&'a str> {
        self.line(self.at)
    }

    /// Returns the current line and advances to the next.
    pub fn next(&mut self) -> Option<&'a str> {
        let line = self.peek()?;
        self.at += 1;
        Some(line)
    }

    /// The line `back` lines before the current one.
    pub fn before(&self, back: usize) -> Option<&'a str> {
        self.line(self.at.checked_sub(back)?)
    }

    /// Number of the current line in its file, from 1.
    pub fn number(&self) -> usize {
        self.first + self.at
    }

    /// The text from the current line on.
    pub fn rest(&self) -> &'a str {
        self.starts.get(self.at).map_or("", |start| &self.text[*start..])
    }

    /// Advances to the first line that starts at least this many bytes after the current one.
    pub fn skip(&mut self, bytes: usize) {
        let Some(start) = self.starts.get(self.at) else { return };
        let end = start + bytes;
        self.at += self.starts[self.at..].partition_point(|s| *s < end);
    }

    /// An error at the line before the current one.
    pub fn wrong(&self, why: impl Into<String>) -> ImportError {
        self.wrong_at(self.number().saturating_sub(1).max(self.first), why)
    }

    /// An error at a line number.
    pub fn wrong_at(&self, number: usize, why: impl Into<String>) -> ImportError {
        let line = self.line(number.saturating_sub(self.first)).unwrap_or("");
        let shown = line.trim().chars().filter(|c| !c.is_control()).take(QUOTED).collect();
        ImportError { line: number, text: shown, why: why.into() }
    }
}

/// The text after `word` in a line.
pub(crate) fn after<'a>(line: &'a str, word: &str) -> Option<&'a str> {
    line.split_once(word).map(|(_, rest)| rest)
}

/// The number at the start of a text, and the rest. No sign; only a negative exponent (`e-05`).
pub(crate) fn number(text: &str) -> Option<(f64, &str)> {
    let text = text.trim_start();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let exponent = text[end..]
        .strip_prefix("e-")
        .map_or(0, |rest| 2 + rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len()));
    let value: f64 = text[..end + exponent].parse().ok()?;
    value.is_finite().then_some((value, &text[end + exponent..]))
}

/// The number after a word: `usr=` in `cpu : usr=5.06%`.
pub(crate) fn number_after(line: &str, word: &str) -> Option<f64> {
    number(after(line, word)?).map(|(value, _)| value)
}

/// Nanoseconds of a time such as `1.24ms`, `425µs`, `-17ns`.
pub(crate) fn time_ns(text: &str) -> Option<f64> {
    let text = text.trim_start();
    let (sign, digits) = text.strip_prefix('-').map_or((1.0, text), |rest| (-1.0, rest));
    let (value, unit) = number(digits)?;
    let scale = match unit.split_whitespace().next()? {
        "ns" => 1.0,
        "µs" | "us" | "\u{3bc}s" | "\u{fffd}s" | "\u{fffd}\u{fffd}s" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ => return None,
    };
    Some(sign * value * scale)
}

/// A size such as `4k`, `4KiB`, `4096B`, `1M`; as in fio, the letters are powers of 1024.
pub(crate) fn size(text: &str) -> Option<u64> {
    let (value, unit) = number(text)?;
    let power = match unit.trim().chars().next().map(|c| c.to_ascii_lowercase()) {
        None | Some('b') => 0,
        Some('k') => 1,
        Some('m') => 2,
        Some('g') => 3,
        Some('t') => 4,
        Some(_) => return None,
    };
    let bytes = value * 1024f64.powi(power);
    (bytes >= 0.0 && bytes < 2f64.powi(60)).then_some(bytes as u64)
}

/// Bytes per second (or bytes) of a unit: `MB/s` is 10^6, `MiB/s` 2^20.
pub(crate) fn unit_scale(unit: &str) -> Option<f64> {
    let unit = unit.trim().trim_end_matches(['/', 's']);
    let (letter, rest) = unit.split_at_checked(1)?;
    let power = match letter.to_ascii_lowercase().as_str() {
        "b" => return rest.is_empty().then_some(1.0),
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        _ => return None,
    };
    match rest {
        "iB" => Some(1024f64.powi(power)),
        "B" => Some(1000f64.powi(power)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_numbers_and_are_quoted() {
        let mut lines = Lines::new("one\r\ntwo\n\nfour", 1);
        assert_eq!((lines.next(), lines.number(), lines.peek()), (Some("one"), 2, Some("two")));
        assert_eq!(lines.rest(), "two\n\nfour");
        lines.skip(4);
        assert_eq!((lines.number(), lines.peek(), lines.before(1)), (3, Some(""), Some("two")));
        lines.next();
        lines.next();
        assert_eq!(lines.wrong("odd").to_string(), "line 4: odd: 'four'");
        assert_eq!((lines.peek(), lines.rest()), (None, ""));
    }

    #[test]
    fn a_part_of_a_file_keeps_its_line_numbers() {
        let mut lines = Lines::new("one\ntwo", 7);
        assert_eq!((lines.number(), lines.before(1)), (7, None));
        assert_eq!(lines.wrong("odd").to_string(), "line 7: odd: 'one'");
        lines.next();
        lines.next();
        assert_eq!(lines.wrong("odd").to_string(), "line 8: odd: 'two'");
    }

    /// Import would take quadratic time if a parser that looks ahead copied the line starts.
    #[test]
    fn looking_ahead_copies_no_lines() {
        let lines = Lines::new("one\ntwo", 1);
        let mut ahead = lines.clone();
        assert_eq!(
            (ahead.next(), ahead.peek(), lines.peek()),
            (Some("one"), Some("two"), Some("one"))
        );
        assert!(std::ptr::eq(lines.starts.as_ptr(), ahead.starts.as_ptr()));
    }

    #[test]
    fn numbers_and_sizes() {
        assert_eq!(number(" 5.44e-05 s"), Some((5.44e-05, " s")));
        assert_eq!(number("12,5"), Some((12.0, ",5")));
        assert_eq!((number("x"), number("1.2.3"), number("")), (None, None, None));
        assert_eq!(size("4k"), Some(4096));
        assert_eq!((size("4096B"), size("1MiB"), size("4x")), (Some(4096), Some(1 << 20), None));
        assert_eq!((time_ns("-17ns"), time_ns(" 4.4ms\t")), (Some(-17.0), Some(4.4e6)));
        assert_eq!((time_ns("1'13\""), time_ns("2")), (None, None));
        assert_eq!(unit_scale("MB/s"), Some(1e6));
        assert_eq!(
            (unit_scale("MiB/s"), unit_scale("Byte"), unit_scale("")),
            (Some(1048576.0), None, None)
        );
    }
}
