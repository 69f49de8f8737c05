//! Fuzzing of parsers, for the tests of the rooms (crates).
//!
//! A [`FuzzTarget`] accepts any bytes and must return quickly, without a panic. The returned number
//! stands for its result (which error, which kind of value). An input with a new number is kept and
//! mutated further, which leads the search into the parser without instrumenting its code.
//!
//! A room lists its targets in `tests/it/fuzz/targets.rs`. Its test `tests/it/fuzz/mod.rs` calls
//! [`check`], which tries up to a few thousand inputs per target in every run of the suite. The
//! example `fuzz` of `lab` calls [`main`] with the targets of all rooms for longer runs:
//! `cargo xtask fuzz NAME --time 10m`. Only tests, examples and `xtask` depend on this crate, and
//! it depends on no room.

#![forbid(unsafe_code)]

mod mutate;
mod run;

pub use mutate::{Mutator, Random};
pub use run::main;

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

/// A parser under test.
#[derive(Clone, Copy, Debug)]
pub struct FuzzTarget {
    /// Its name on the command line; unique among all rooms.
    pub name: &'static str,
    /// Parses the input and returns a number for the result; see [`outcome`].
    pub run: fn(&[u8]) -> u64,
    /// Valid inputs to start from.
    pub corpus: &'static [&'static str],
}

/// A number for a parser's message: a hash of its first 200 letters, not counting those between the
/// first and the last quote, which come from the input. Two errors of the same kind thus have the
/// same number.
pub fn outcome(message: &str) -> u64 {
    let (head, tail) = match (message.find('\''), message.rfind('\'')) {
        (Some(first), Some(last)) => (&message[..first], &message[last..]),
        _ => (message, ""),
    };
    let mut hasher = DefaultHasher::new();
    let letters = head.chars().chain(tail.chars()).filter(|c| c.is_alphabetic());
    letters.take(200).for_each(|letter| letter.hash(&mut hasher));
    hasher.finish()
}

/// Decodes text that suits the mutator into bytes for a binary parser. Each line is a decimal
/// offset and hexadecimal digits (`510 55aa`); all other bytes are zero. Returns at most `most`
/// bytes.
pub fn bytes(input: &[u8], most: usize) -> Vec<u8> {
    let mut bytes_read = Vec::new();
    for line in String::from_utf8_lossy(input).lines() {
        let mut words = line.split_whitespace();
        let Some(offset) = words.next().and_then(|at| at.parse::<usize>().ok()) else { continue };
        let digits: Vec<u32> =
            words.flat_map(str::chars).filter_map(|digit| digit.to_digit(16)).collect();
        for (index, pair) in digits.chunks(2).enumerate().take(most.saturating_sub(offset)) {
            let place = offset + index;
            if bytes_read.len() <= place {
                bytes_read.resize(place + 1, 0);
            }
            bytes_read[place] = pair.iter().fold(0, |byte, digit| byte << 4 | *digit as u8);
        }
    }
    bytes_read
}

/// Tries `inputs` inputs on each target, the same ones in every run.
///
/// # Panics
/// If a parser panics (the message contains the input, unless it is an example of the corpus), if
/// a target has fewer than `kinds_min` kinds of result (the search did not get into the parser), or
/// if two targets share a name.
pub fn check(targets: &[FuzzTarget], inputs: u64, kinds_min: usize) {
    let names: HashSet<_> = targets.iter().map(|target| target.name).collect();
    assert_eq!(names.len(), targets.len(), "two targets share a name");
    for target in targets {
        let kinds = search(target, inputs);
        assert!(kinds >= kinds_min, "{}: only {kinds} kinds of result", target.name);
    }
}

/// Number of kinds of result found.
fn search(target: &FuzzTarget, inputs: u64) -> usize {
    let mut mutator = Mutator::new(target, 7);
    let mut outcomes: HashSet<_> =
        target.corpus.iter().map(|t| (target.run)(t.as_bytes())).collect();
    for _ in 0..inputs {
        let input = mutator.next_input();
        let Ok(outcome) = std::panic::catch_unwind(|| (target.run)(&input)) else {
            panic!("{}: panics on {:?}", target.name, String::from_utf8_lossy(&input));
        };
        if outcomes.insert(outcome) {
            mutator.keep(&input);
        }
    }
    outcomes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Panics on a number of at least 100 in brackets; the corpus contains none.
    fn fragile(input: &[u8]) -> u64 {
        let text = String::from_utf8_lossy(input);
        let inside = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
        let digits = inside.map_or(0, |(inside, _)| inside.parse::<u16>().map_or(1, |n| n / 10));
        assert!(digits < 10, "the number is too large");
        outcome(&"x".repeat(digits.into()))
    }

    const FRAGILE: FuzzTarget =
        FuzzTarget { name: "fragile", run: fragile, corpus: &["a[12] = 4711\n"] };

    #[test]
    fn a_parser_that_panics_is_found() {
        let error = std::panic::catch_unwind(|| check(&[FRAGILE], 20_000, 1)).expect_err("panics");
        let message = error.downcast_ref::<String>().expect("a message");
        assert!(message.starts_with("fragile: panics on "), "{message}");
    }

    #[test]
    fn a_search_without_progress_is_found() {
        let deaf = FuzzTarget { name: "deaf", run: |_| 0, corpus: &["a"] };
        let error = std::panic::catch_unwind(|| check(&[deaf], 100, 2)).expect_err("panics");
        let message = error.downcast_ref::<String>().expect("a message");
        assert_eq!(message, "deaf: only 1 kinds of result");
    }

    #[test]
    fn equal_seeds_give_equal_inputs() {
        let inputs = |seed| {
            let mut mutator = Mutator::new(&FRAGILE, seed);
            std::iter::repeat_with(|| mutator.next_input()).take(50).collect::<Vec<_>>()
        };
        assert_eq!(inputs(3), inputs(3));
        assert_ne!(inputs(3), inputs(4));
    }

    #[test]
    fn bytes_are_at_the_offsets_of_their_lines() {
        assert_eq!(bytes(b"2 0a ff\n0 1\nx 12\n", 8), [1, 0, 0x0a, 0xff]);
        assert_eq!(bytes(b"6 010203\n99999999999 1\n", 8), [0, 0, 0, 0, 0, 0, 1, 2]);
    }

    #[test]
    fn errors_of_the_same_kind_have_the_same_number() {
        assert_eq!(outcome("no option 'size'; 1 known"), outcome("no option 'it's'; 2 known"));
        assert_ne!(outcome("no option 'size'"), outcome("no value 'size'"));
    }
}
