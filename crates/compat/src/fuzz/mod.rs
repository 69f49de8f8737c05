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
pub const TARGETS: &[Target] = &[crate::fio::FUZZ_COMMAND_LINE, crate::fio::FUZZ_JOB_FILE];

/// A number for what a parser said: the letters of the text outside of quotes, so that two errors
/// of one kind count as the same.
pub fn outcome(said: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    for (index, part) in said.split('\'').enumerate() {
        if index % 2 == 0 {
            part.chars().filter(|c| c.is_alphabetic()).take(200).for_each(|c| c.hash(&mut hasher));
        }
    }
    hasher.finish()
}
