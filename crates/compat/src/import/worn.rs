//! Dresses that nobody listed: what a line has in common with the lines next to it, where digits
//! may count upwards. `dress.rs` knows what logs and mails usually put before a line; this is for
//! the rest, and is tried when those fail.
//!
//! Two hosts in one log whose names differ in a digit are told apart, because their digits go down
//! again. A mark that closes every line, as in a table, belongs to a dress, too.

use super::dress::{Dress, DressPart, LONGEST, push_text};
use super::lines::Lines;

/// Lines before and after a line that are compared with it.
const BEFORE: usize = 2;
const AFTER: usize = 3;

/// The most lines, blank ones included, in which those after a line are sought. Arbitrary.
const NEAR: usize = 8;

/// The most ends that are no dress before one that is: blanks that align a number. Arbitrary.
const BLANKS: usize = 4;

/// The most dresses of a line, the shortest ones: equal lines share every prefix. Arbitrary.
const DRESSES: usize = 40;

/// Marks that close the cells of tables, and the lines of a continued command.
const CLOSING: [char; 5] = ['|', '│', '┃', '║', '\\'];

/// The closing mark of a line, if the lines next to it have the same.
fn mark(line: &str) -> Option<char> {
    line.trim_end().chars().next_back()
}

pub(super) fn closing(lines: &Lines<'_>) -> Option<char> {
    let end = lines.peek().and_then(mark).filter(|end| CLOSING.contains(end))?;
    let (lines_before, lines_after) = neighbours(lines);
    let [worn_before, worn_after] = [&lines_before, &lines_after]
        .map(|lines| lines.iter().take_while(|line| mark(line) == Some(end)).count());
    is_enough(worn_before + worn_after, lines_before.len() + lines_after.len()).then_some(end)
}

/// The dresses that a line shares with the lines next to it, the longest first.
pub(super) fn candidates(lines: &Lines<'_>) -> Vec<Dress> {
    let line = lines.peek().unwrap_or_default();
    let (lines_before, lines_after) = neighbours(lines);
    let (mut dresses, mut misses) = (Vec::new(), 0);
    for end in ends(line) {
        let dress = Dress::new(parts(&line[..end]));
        if is_shared(&dress, line, &lines_before, &lines_after) {
            dresses.push(dress);
        } else {
            misses += 1;
        }
        if misses > BLANKS || dresses.len() == DRESSES {
            break;
        }
    }
    dresses.reverse();
    dresses
}

/// The lines next to the current one, the nearest first, without blank ones.
fn has_text(line: &&str) -> bool {
    !line.trim().is_empty()
}

fn neighbours<'a>(lines: &Lines<'a>) -> (Vec<&'a str>, Vec<&'a str>) {
    let lines_before = (1..=BEFORE).map_while(|back| lines.before(back)).filter(has_text).collect();
    let mut ahead = lines.clone();
    ahead.next();
    let next_lines = std::iter::from_fn(|| ahead.next()).take(NEAR);
    let lines_after = next_lines.filter(has_text).take(AFTER).collect();
    (lines_before, lines_after)
}

/// Offsets at which a dress may end: behind a mark or a blank.
fn ends(line: &str) -> impl Iterator<Item = usize> + '_ {
    let letters = line.char_indices().take_while(|(at, _)| *at < LONGEST);
    letters.filter(|(_, c)| !c.is_alphanumeric()).map(|(at, c)| at + c.len_utf8())
}

/// The parts of a prefix: its digits may change, and the blanks before them.
fn parts(prefix: &str) -> Vec<DressPart> {
    let mut parts = Vec::new();
    let mut rest = prefix;
    while !rest.is_empty() {
        let text = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let (words, tail) = rest.split_at(text);
        let digits = tail.find(|c: char| !c.is_ascii_digit()).unwrap_or(tail.len());
        let aligned = if digits > 0 { words.trim_end_matches(' ') } else { words };
        push_text(&mut parts, aligned);
        if digits > 0 {
            if aligned.len() < words.len() || parts.is_empty() {
                parts.push(DressPart::Blanks);
            }
            parts.push(DressPart::Digits);
        }
        rest = &tail[digits..];
    }
    parts
}

/// Whether the lines next to a line wear a dress whose digits do not go down from line to line.
fn is_shared(dress: &Dress, line: &str, before: &[&str], after: &[&str]) -> bool {
    let Some(own_numbers) = numbers(dress, line) else { return false };
    let climb = |lines: &[&str], is_after: bool| {
        let mut previous = own_numbers.clone();
        let worn = lines.iter().take_while(|line| {
            let current = numbers(dress, line);
            let is_next = current
                .as_ref()
                .is_some_and(|n| if is_after { *n >= previous } else { *n <= previous });
            previous = current.unwrap_or_default();
            is_next
        });
        worn.count()
    };
    is_enough(climb(before, false) + climb(after, true), before.len() + after.len())
}

/// Whether so many lines that wear a dress are enough, among those next to a line.
fn is_enough(worn: usize, near: usize) -> bool {
    worn >= near.clamp(1, 2)
}

/// The numbers in the part of a line that a dress covers; `None` if the line does not wear it.
fn numbers(dress: &Dress, line: &str) -> Option<Vec<u64>> {
    let mut numbers = Vec::new();
    let mut rest = line;
    for part in &dress.parts {
        let tail = part.strip(rest)?;
        if *part == DressPart::Digits {
            numbers.push(rest[..rest.len() - tail.len()].parse().ok()?);
        }
        rest = tail;
    }
    Some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dressed(text: &str) -> Vec<String> {
        let lines = Lines::new(text, 1);
        let line = lines.peek().unwrap_or_default();
        let rest = |dress: Dress| dress.strip(line).unwrap_or_default().to_string();
        candidates(&lines).into_iter().map(rest).collect()
    }

    #[test]
    fn what_neighbours_share_is_a_dress() {
        for text in [
            "L1> j: (g\nL2>   read\nL3>   cpu",
            "a~7/9= j: (g\na~8/2=   read\na~10/1=   cpu",
            "10:00 PM (x) j: (g\n10:01 PM (x)   read\n11:01 PM (x)   cpu",
            "@  9@j: (g\n@ 10@  read\n@ 11@  cpu",
        ] {
            assert_eq!(dressed(text).first().map(|rest| rest.trim()), Some("j: (g"), "{text}");
        }
        for text in ["L1> j: (g\nL2>   read\nL1>   cpu", "a b\nc d\ne f", "x. y", ""] {
            assert_eq!(dressed(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn a_closing_mark_is_that_of_its_neighbours() {
        let mark = |text: &str| closing(&Lines::new(text, 1));
        assert_eq!(mark("a |\nb  |\nc|\n"), Some('|'));
        assert_eq!((mark("a |\nb\n"), mark("a\nb |\n"), mark("a |\n")), (None, None, None));
    }
}
