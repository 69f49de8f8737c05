//! Reads a text line by line, with line numbers for errors, and the numbers and units in a line.

use std::cell::Cell;
use std::rc::Rc;

use thiserror::Error;

use super::dress::Dress;

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

/// The most lines in a row that may belong to somebody else before a dressed result ends.
/// Arbitrary; a journal has fewer between two lines of one program.
const FOREIGN: usize = 1000;

/// A line of a text.
struct Line<'a> {
    text: &'a str,
    /// Number in its file, from 1.
    number: usize,
    /// Whether a carriage return ends it: a terminal wrote the next line over it.
    is_overwritten: bool,
    /// Whether a result contains it.
    is_taken: Cell<bool>,
}

impl Line<'_> {
    fn is_seen(&self) -> bool {
        !self.is_taken.get() && !self.is_overwritten
    }
}

/// Position of a parser in a text, of which it sees the lines that wear one dress. Cheap to clone,
/// because parsers look ahead with a clone.
#[derive(Clone)]
pub(crate) struct Lines<'a> {
    lines: Rc<[Line<'a>]>,
    dress: Rc<Dress>,
    at: usize,
}

impl<'a> Lines<'a> {
    /// Starts at the beginning of a plain text, whose first line has this number in its file.
    pub fn new(text: &'a str, first: usize) -> Lines<'a> {
        let mut number = first;
        // Texts of old computers end all their lines so.
        let has_progress = text.contains('\n');
        let lines = text.split_inclusive(['\n', '\r']).map(|text| {
            let line = Line {
                text: text.trim_end_matches(['\n', '\r']),
                number,
                is_overwritten: has_progress && text.ends_with('\r'),
                is_taken: Cell::new(false),
            };
            number += usize::from(text.ends_with('\n') || !has_progress);
            line
        });
        let mut lines = Lines { lines: lines.collect(), dress: Rc::default(), at: 0 };
        lines.settle_seen();
        lines
    }

    /// The same position, where only the lines of a dress are seen.
    pub fn dressed(&self, dress: Dress) -> Lines<'a> {
        Lines { dress: Rc::new(dress), ..self.clone() }
    }

    /// The dress of the lines that are seen.
    pub fn dress(&self) -> Dress {
        (*self.dress).clone()
    }

    /// A line at an index without its dress; `None` beyond the text, and for lines that are not
    /// seen: foreign ones, those of other results, and progress lines.
    fn line(&self, at: usize) -> Option<&'a str> {
        let line = self.lines.get(at).filter(|line| line.is_seen())?;
        self.dress.strip(line.text)
    }

    /// The current line, without its terminator.
    pub fn peek(&self) -> Option<&'a str> {
        self.line(self.at)
    }

    /// Returns the current line and advances to the next.
    pub fn next(&mut self) -> Option<&'a str> {
        let line = self.peek()?;
        self.at += 1;
        self.settle();
        Some(line)
    }

    /// Advances to a line that is seen.
    fn settle(&mut self) {
        let mut foreign = 0;
        while self.at < self.lines.len() && self.line(self.at).is_none() {
            foreign += usize::from(self.lines[self.at].is_seen());
            self.at = if foreign > FOREIGN { self.lines.len() } else { self.at + 1 };
        }
    }

    /// Advances from a line that is not seen to one that is.
    pub fn settle_seen(&mut self) {
        while self.lines.get(self.at).is_some_and(|line| !line.is_seen()) {
            self.at += 1;
        }
    }

    /// The line `back` lines before the current one.
    pub fn before(&self, back: usize) -> Option<&'a str> {
        let first = self.at.saturating_sub(FOREIGN);
        let mut earlier = (first..self.at).rev().filter_map(|at| self.line(at));
        earlier.nth(back.checked_sub(1)?)
    }

    /// Number of the current line in its file, from 1.
    pub fn number(&self) -> usize {
        self.lines
            .get(self.at)
            .map_or_else(|| self.lines.last().map_or(1, |line| line.number + 1), |line| line.number)
    }

    /// Whether another position of the same text is the same.
    pub fn is_at(&self, other: &Lines<'_>) -> bool {
        self.at == other.at
    }

    /// Whether lines that do not wear the dress stand between those from here to another position.
    pub fn has_foreign(&self, end: &Lines<'_>) -> bool {
        let lines = self.lines.iter().take(end.at).skip(self.at).filter(|line| line.is_seen());
        let mut is_interrupted = false;
        for line in lines.filter(|line| !line.text.trim().is_empty()) {
            let is_worn = self.dress.strip(line.text).is_some();
            if is_worn && is_interrupted {
                return true;
            }
            is_interrupted = !is_worn;
        }
        false
    }

    /// Marks the lines from here to another position of the same view as part of a result.
    pub fn take(&self, end: &Lines<'_>) {
        let lines = self.lines.iter().take(end.at).skip(self.at);
        lines.filter(|line| self.dress.strip(line.text).is_some()).for_each(|line| {
            line.is_taken.set(true);
        });
    }

    /// An error at the line before the current one.
    pub fn wrong(&self, why: impl Into<String>) -> ImportError {
        let earlier = (0..self.at.min(self.lines.len())).rev().find(|at| self.line(*at).is_some());
        self.wrong_line(earlier.unwrap_or(self.at), why)
    }

    /// An error at a line number.
    pub fn wrong_at(&self, number: usize, why: impl Into<String>) -> ImportError {
        self.wrong_line(self.lines.partition_point(|line| line.number < number), why)
    }

    fn wrong_line(&self, at: usize, why: impl Into<String>) -> ImportError {
        let (line, text) = self.lines.get(at).map_or((self.number(), ""), |l| (l.number, l.text));
        let excerpt = text.trim().chars().filter(|c| !c.is_control()).take(QUOTED).collect();
        ImportError { line, text: excerpt, why: why.into() }
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

/// The number of a decimal suffix, as fio prints it: `13.3k`, `2157.7K`, `1203.5M`. Anything else
/// after the number, except a mark that ends it, is no number.
pub(crate) fn suffixed(text: &str) -> Option<f64> {
    let (value, rest) = number(text)?;
    let mut letters = rest.chars();
    let power = match letters.next() {
        Some('k' | 'K') => 1,
        Some('M') => 2,
        Some('G') => 3,
        Some('T') => 4,
        Some('P') => 5,
        Some(c) => return ends_number(c).then_some(value),
        None => 0,
    };
    letters.next().is_none_or(ends_number).then(|| value * 1000f64.powi(power))
}

fn ends_number(letter: char) -> bool {
    matches!(letter, ',' | ']' | ')' | ';') || letter.is_whitespace()
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
        let mut lines = Lines::new("one\ntwo\n\neta\rfour", 1);
        assert_eq!((lines.next(), lines.number(), lines.peek()), (Some("one"), 2, Some("two")));
        lines.next();
        assert_eq!((lines.number(), lines.peek(), lines.before(1)), (3, Some(""), Some("two")));
        lines.next();
        assert_eq!((lines.number(), lines.next()), (4, Some("four")), "not the progress line");
        assert_eq!(lines.wrong("odd").to_string(), "line 4: odd: 'four'");
        assert_eq!((lines.peek(), lines.number()), (None, 5));
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

    /// Import would take quadratic time if a parser that looks ahead copied the lines.
    #[test]
    fn looking_ahead_copies_no_lines() {
        let lines = Lines::new("one\ntwo", 1);
        let mut ahead = lines.clone();
        assert_eq!(
            (ahead.next(), ahead.peek(), lines.peek()),
            (Some("one"), Some("two"), Some("one"))
        );
        assert!(Rc::ptr_eq(&lines.lines, &ahead.lines));
    }

    #[test]
    fn lines_of_another_dress_are_not_seen_and_stay() {
        let text = "a: one\nb: 1\na: two\n";
        let mut lines = Lines::new(text, 1);
        let view = lines.dressed(Dress::candidates("a: one").remove(0));
        let mut end = view.clone();
        assert_eq!((end.next(), end.next(), end.next()), (Some("one"), Some("two"), None));
        view.take(&end);
        lines.settle_seen();
        assert_eq!((lines.number(), lines.next(), lines.next()), (2, Some("b: 1"), None));
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
