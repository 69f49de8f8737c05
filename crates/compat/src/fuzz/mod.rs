//! What is fuzzed: every parser here, with examples to start from.
//!
//! A [`Target`] takes any bytes and must come back soon, without a panic, whatever they are. The
//! number it gives stands for what it did with them (which error, which kind of result): an input
//! with a number not seen before is kept and changed further, which leads the search into the
//! parser without looking at its code. `cargo xtask fuzz NAME --time 10m` runs one;
//! `tests/fuzz.rs` runs each a little in every suite.

mod mutate;

pub use mutate::{Mutator, Random};

use std::hash::{DefaultHasher, Hash, Hasher};

/// A parser under test.
#[derive(Clone, Copy)]
pub struct Target {
    /// What to call it on the command line.
    pub name: &'static str,
    /// Parses the input; gives a number for what came of it, see [`outcome`].
    pub run: fn(&[u8]) -> u64,
    /// Good inputs to start from.
    pub corpus: &'static [&'static str],
}

/// Every parser of this crate.
pub const TARGETS: &[Target] = &[
    crate::iozone::FUZZ_COMMAND_LINE,
    crate::import::FUZZ_OWN,
    crate::import::FUZZ_FIO_JSON,
    crate::import::FUZZ_FIO,
    crate::import::FUZZ_IOZONE,
    crate::import::FUZZ_DISKMARK,
    crate::import::FUZZ_F3,
    crate::import::FUZZ_HDPARM,
    crate::import::FUZZ_FLASHBENCH,
    crate::import::FUZZ_DD,
];

/// A number for what a parser said: the letters of the text but for what is between its first and
/// last quote, which is of the input, so that two errors of one kind count as the same.
pub fn outcome(said: &str) -> u64 {
    let (head, tail) = match (said.find('\''), said.rfind('\'')) {
        (Some(first), Some(last)) => (&said[..first], &said[last..]),
        _ => (said, ""),
    };
    let mut hasher = DefaultHasher::new();
    let letters = head.chars().chain(tail.chars()).filter(|c| c.is_alphabetic());
    letters.take(200).for_each(|letter| letter.hash(&mut hasher));
    hasher.finish()
}
