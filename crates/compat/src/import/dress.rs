//! What stands before every line of a paste and is no part of it: indentation, quote marks, time
//! stamps, the names of hosts and services, line numbers.
//!
//! The first line of a result tells where the tool's text begins; what precedes it there is the
//! dress of the whole result. The other lines must wear the same: equal words, other times. Lines
//! that wear something else belong to somebody else (two hosts in one log), and are not seen.
//! Nothing is removed from a line on its own, because a tool's lines can look dressed, too.

/// Longest dress, bytes. Arbitrary; longer than any log's prefix.
pub(super) const LONGEST: usize = 160;

/// A dress: the parts that a line must begin with, and the mark that closes it, as in a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Dress {
    pub parts: Vec<DressPart>,
    pub end: Option<char>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum DressPart {
    /// Exactly this text.
    Text(String),
    /// Digits, which differ between lines.
    Digits,
    /// The name of a month or a day.
    Name,
    /// Blanks that align numbers.
    Blanks,
}

/// Names in time stamps.
const NAMES: [&str; 19] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec", "mon",
    "tue", "wed", "thu", "fri", "sat", "sun",
];

/// Words after a time stamp that tell a message's weight or stream.
const LEVELS: [&str; 12] = [
    "trace", "debug", "info", "notice", "warn", "warning", "error", "stdout", "stderr", "out", "f",
    "p",
];

/// Marks before lines: quotes, comments, list items, output of a shell's trace.
const MARKS: [&str; 9] = ["|", "-", "#", "//", "*", "+", "--", ";", "•"];

impl Dress {
    /// The dresses that a line can wear, the longest first; the last is none. Each is followed by
    /// the same with the indentation after it.
    pub fn candidates(line: &str) -> Vec<Dress> {
        let mut dresses = Vec::new();
        for end in ends(line).into_iter().rev() {
            let rest = &line[end..];
            let indent = rest.len() - rest.trim_start().len();
            let ends = [Some(end), Some(end + indent).filter(|_| indent > 0)];
            for end in ends.into_iter().flatten() {
                let prefix = &line[..end];
                // A number may be a line's, which changes, or a process's, which does not.
                if end > 0 && has_plain_number(prefix) {
                    dresses.push(Dress::new(vec![DressPart::Text(prefix.to_string())]));
                }
                dresses.push(Dress::from_prefix(prefix));
            }
        }
        dresses
    }

    pub fn new(parts: Vec<DressPart>) -> Dress {
        Dress { parts, end: None }
    }

    /// A line without the dress; `None` if it does not wear it. Blank lines wear every dress.
    pub fn strip<'t>(&self, line: &'t str) -> Option<&'t str> {
        let mut rest = self
            .end
            .map_or(line, |mark| line.trim_end().strip_suffix(mark).map_or(line, str::trim_end));
        for (i, part) in self.parts.iter().enumerate() {
            match part.strip(rest) {
                Some(after) => rest = after,
                None if part.is_worn_out(rest, i + 1 == self.parts.len()) => return Some(""),
                None => return line.trim().is_empty().then_some(""),
            }
        }
        Some(rest)
    }

    fn from_prefix(prefix: &str) -> Dress {
        let mut parts = Vec::new();
        let mut rest = prefix;
        while !rest.is_empty() {
            let blanks = rest.len() - rest.trim_start().len();
            let (space, tail) = rest.split_at(blanks);
            let (word, tail) = tail.split_at(tail.find(char::is_whitespace).unwrap_or(tail.len()));
            let is_number = !word.is_empty() && (is_stamp(word) || is_plain_number(word));
            if is_number && (parts.is_empty() || blanks > 0) {
                parts.push(DressPart::Blanks);
            } else if !space.is_empty() {
                push_text(&mut parts, space);
            }
            if is_number {
                push_stamp(&mut parts, word);
            } else if is_name(word) {
                push_name(&mut parts, word);
            } else {
                push_text(&mut parts, word);
            }
            rest = tail;
        }
        Dress::new(parts)
    }
}

impl DressPart {
    /// The rest of a text that begins with the part.
    pub fn strip<'t>(&self, text: &'t str) -> Option<&'t str> {
        let end = |is_part: fn(char) -> bool| text.find(|c| !is_part(c)).unwrap_or(text.len());
        match self {
            DressPart::Text(words) => text.strip_prefix(words.as_str()),
            DressPart::Digits => {
                Some(end(|c| c.is_ascii_digit())).filter(|n| *n > 0).map(|n| &text[n..])
            }
            DressPart::Name => {
                Some(end(char::is_alphabetic)).filter(|n| *n > 0).map(|n| &text[n..])
            }
            DressPart::Blanks => Some(text.trim_start_matches([' ', '\t'])),
        }
    }

    /// Whether a line ends with the dress, whose trailing blanks an editor removed.
    fn is_worn_out(&self, rest: &str, is_last: bool) -> bool {
        matches!(self, DressPart::Text(words) if is_last && rest == words.trim_end())
    }
}

/// The parts of a month or a day with the marks around it: `[Mon`, `Jan,`.
fn push_name(parts: &mut Vec<DressPart>, word: &str) {
    let is_mark = |c: char| !c.is_alphabetic();
    let name = word.trim_start_matches(is_mark);
    push_text(parts, &word[..word.len() - name.len()]);
    parts.push(DressPart::Name);
    push_text(parts, &name[name.trim_end_matches(is_mark).len()..]);
}

pub(super) fn push_text(parts: &mut Vec<DressPart>, text: &str) {
    if text.is_empty() {
        return;
    }
    match parts.last_mut() {
        Some(DressPart::Text(before)) => before.push_str(text),
        _ => parts.push(DressPart::Text(text.to_string())),
    }
}

/// The parts of a time stamp: the digits vary, the marks between them stay.
fn push_stamp(parts: &mut Vec<DressPart>, stamp: &str) {
    let mut rest = stamp;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        if digits > 0 {
            parts.push(DressPart::Digits);
        }
        let tail = &rest[digits..];
        let marks = tail.find(|c: char| c.is_ascii_digit()).unwrap_or(tail.len());
        push_text(parts, &tail[..marks]);
        rest = &tail[marks..];
    }
}

/// The offsets in a line after each part of a possible dress, from 0.
fn ends(line: &str) -> Vec<usize> {
    let mut ends = vec![0];
    let (mut position, mut is_stamped) = (0, false);
    while position < LONGEST && ends.len() < 12 {
        let rest = &line[position..];
        let Some((length, is_time)) = element(rest, is_stamped) else { break };
        position += length;
        is_stamped |= is_time;
        ends.push(position);
    }
    ends
}

/// The length of the first element of a dress with one blank after it, and whether it is a time.
fn element(text: &str, is_stamped: bool) -> Option<(usize, bool)> {
    let indent = text.len() - text.trim_start().len();
    let body = &text[indent..];
    let word = body.split(char::is_whitespace).next().filter(|word| !word.is_empty())?;
    let piece = |length: usize| indent + blank(body, length);
    if let Some(length) = bracketed_time(body) {
        return Some((piece(length), true));
    }
    if is_stamp(word) || is_name(word) || is_plain_number(word) {
        return Some((piece(word.len()), true));
    }
    if word.starts_with('>') {
        return word.trim_start_matches('>').is_empty().then(|| (piece(word.len()), false));
    }
    let name = word.trim_end_matches(':').trim_matches(|c| matches!(c, '[' | ']' | '(' | ')'));
    let is_level = is_stamped && LEVELS.contains(&name.to_ascii_lowercase().as_str());
    let is_bracketed =
        word.starts_with(['<', '[']) && word.trim_end_matches(':').ends_with(['>', ']']);
    if is_level || is_bracketed || MARKS.contains(&word) {
        return Some((piece(word.len()), is_stamped));
    }
    // `node1: `, or a service before a bar, `web-1  | `.
    let tail = body[word.len()..].trim_start_matches(' ');
    let is_label = word.ends_with(':') && word.len() > 1 && word.len() <= 64;
    let is_service = tail.starts_with("| ") && word.chars().any(char::is_alphabetic);
    if is_label {
        return Some((piece(word.len()), is_stamped));
    }
    if is_service {
        return Some((piece(body.len() - tail.len() + 1), is_stamped));
    }
    // `host process[12]: ` in a journal.
    let process =
        tail.split(char::is_whitespace).next().filter(|p| p.len() > 1 && p.ends_with(':'));
    let end = body.len() - tail.len() + process.filter(|_| is_stamped)?.len();
    Some((piece(end), true))
}

/// The length of a time in brackets with blanks before it: `[   12.345678]`.
fn bracketed_time(text: &str) -> Option<usize> {
    let (inside, _) = text.strip_prefix('[')?.split_once(']')?;
    (inside.starts_with(' ') && is_stamp(inside.trim())).then_some(inside.len() + 2)
}

/// The length with one blank or tab after it, if there is one.
fn blank(text: &str, length: usize) -> usize {
    length + usize::from(text[length..].starts_with([' ', '\t']))
}

/// A time or a date: groups of digits joined by the marks of times.
fn is_stamp(word: &str) -> bool {
    let core = word.trim_matches(|c| matches!(c, '[' | ']' | '(' | ')' | ':' | ',' | '|'));
    let groups = core.split([':', '-', '/', '.', ',', 'T', '+']).filter(|g| !g.is_empty());
    let groups: Vec<&str> = groups.map(|g| g.strip_suffix('Z').unwrap_or(g)).collect();
    // Four groups joined by dots are an address.
    let is_address = groups.len() == 4 && core.matches('.').count() == 3;
    core.starts_with(|c: char| c.is_ascii_digit())
        && groups.len() >= 2
        && groups.iter().all(|g| !g.is_empty() && g.bytes().all(|b| b.is_ascii_digit()))
        && !is_address
}

/// A number, as before the lines of a listing: `12`, `12:`.
fn is_plain_number(word: &str) -> bool {
    let digits = word.trim_matches(|c| matches!(c, ':' | '[' | ']' | '.' | ')'));
    !digits.is_empty() && digits.len() <= 10 && digits.bytes().all(|b| b.is_ascii_digit())
}

fn has_plain_number(prefix: &str) -> bool {
    prefix.split_whitespace().any(is_plain_number)
        && !prefix.split_whitespace().any(|word| is_stamp(word) || is_name(word))
}

/// The name of a month or of a day, in English.
fn is_name(word: &str) -> bool {
    let name = word.trim_matches(|c| matches!(c, '[' | ',' | '.'));
    NAMES.contains(&name.to_ascii_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text of a first line after the dress that ends at `j:`, and of a second line.
    fn undressed<'t>(first: &'t str, second: &'t str) -> Option<(&'t str, &'t str)> {
        let dresses = Dress::candidates(first);
        dresses.iter().find_map(|dress| {
            let rest = dress.strip(first).filter(|rest| rest.starts_with("j: ("))?;
            Some((rest, dress.strip(second)?))
        })
    }

    #[test]
    fn the_dress_of_the_first_line_is_that_of_the_others() {
        for (first, second) in [
            ("12:00 | j: (g", "12:01 |   read"),
            ("> > j: (g", "> >   read"),
            (">> j: (g", ">>   read"),
            ("    j: (g", "      read"),
            ("2025-01-06T00:00:10.1234567Z j: (g", "2025-01-06T00:00:11.7Z   read"),
            ("2025-01-06 00:00:10,123 INFO j: (g", "2025-01-06 00:00:11,001 INFO   read"),
            ("Jan  6 00:00:10 host fio[12]: j: (g", "Jan 16 00:00:11 host fio[12]:   read"),
            ("[   12.345678] j: (g", "[  112.345679]   read"),
            ("[12:00:01] [INFO] j: (g", "[12:00:02] [INFO]   read"),
            ("web-1  | j: (g", "web-1  |   read"),
            ("<node1> j: (g", "<node1>   read"),
            ("10.0.0.1: j: (g", "10.0.0.1:   read"),
            ("  9\tj: (g", " 10\t  read"),
            ("9: j: (g", "10:   read"),
            ("# j: (g", "#   read"),
            ("[Mon Jan  6 23:59:59 2025] j: (g", "[Tue Jan  7 00:00:00 2025]   read"),
            ("Mon, 06 Jan 2025 23:59:59 j: (g", "Tue, 07 Jan 2025 00:00:00   read"),
        ] {
            assert_eq!(undressed(first, second), Some(("j: (g", "  read")), "{first}");
        }
    }

    #[test]
    fn another_host_wears_another_dress() {
        for (first, second) in [
            ("<node1> j: (g", "<node2>   read"),
            ("10.0.0.1: j: (g", "10.0.0.2:   read"),
            ("12:00 web-1 | j: (g", "12:00 web-2 |   read"),
            ("> j: (g", "  read"),
        ] {
            assert_eq!(undressed(first, second), None, "{first}");
        }
    }

    #[test]
    fn blank_lines_wear_every_dress() {
        let dress = Dress::from_prefix("12:00 | ");
        for line in ["12:09 |", "", "  "] {
            assert_eq!(dress.strip(line), Some(""), "{line:?}");
        }
        assert_eq!(Dress::default().strip("x"), Some("x"));
    }
}
