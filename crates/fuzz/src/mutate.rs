//! Inputs mutated from examples: lines and words are swapped, numbers become edge values, pieces
//! are repeated or cut, and bits are flipped. Deterministic for a given seed.

use crate::FuzzTarget;

/// Maximum input length, bytes; enough to expose quadratic time.
const LONGEST: usize = 1 << 14;
/// Maximum number of inputs kept; beyond it, a new one replaces an old one.
const KEPT_MAX: usize = 4096;

/// Values that trip parsers.
const EDGES: &[&str] = &[
    "0",
    "-1",
    "1",
    "00",
    "-0",
    "255",
    "65536",
    "2147483648",
    "4294967296",
    "9223372036854775807",
    "18446744073709551615",
    "18446744073709551616",
    "99999999999999999999999999",
    "0x",
    "0xffffffffffffffff",
    "1e308",
    "1e-320",
    "nan",
    "inf",
    "-inf",
    ".",
    "..",
    "1.",
    ".5",
    "1e",
    "100%",
    "101%",
    "%",
    "é",
    "\u{202e}",
    "\0",
    "\r\n",
    "\t",
    "\"",
    "'",
    "\\",
    "[",
    "]",
    "{",
    "}",
    "(",
    ")",
    "((((((((",
    ",",
    ",,,",
    ":",
    "=",
    "==",
    "--",
    "/",
    ";",
    "#",
    "${X}",
    "$",
    "",
];

/// A small random number generator (SplitMix64).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Creates a generator from a seed.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// A number below `n`; 0 if `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) as usize % n.max(1)
    }

    fn of<'a, T>(&mut self, some: &'a [T]) -> Option<&'a T> {
        some.get(self.below(some.len()))
    }
}

/// Makes inputs, mutated from the examples and from kept inputs.
#[derive(Clone, Debug)]
pub struct Mutator {
    random: Random,
    kept: Vec<Vec<u8>>,
    words: Vec<Vec<u8>>,
    examples: usize,
}

impl Mutator {
    /// Starts from the examples of a target.
    pub fn new(target: &FuzzTarget, seed: u64) -> Mutator {
        let examples: Vec<_> = target.corpus.iter().map(|text| text.as_bytes().to_vec()).collect();
        let text_words = target
            .corpus
            .iter()
            .flat_map(|text| text.split(|c: char| !c.is_alphanumeric() && !"_-.+".contains(c)));
        let mut words: Vec<_> = text_words
            .filter(|word| !word.is_empty())
            .map(|word| word.as_bytes().to_vec())
            .collect();
        words.sort_unstable();
        words.dedup();
        Mutator { random: Random::new(seed), examples: examples.len(), kept: examples, words }
    }

    /// Keeps an input for further mutation. The examples are never dropped.
    pub fn keep(&mut self, input: &[u8]) {
        if self.kept.len() < KEPT_MAX.max(self.examples + 1) {
            self.kept.push(input.to_vec());
            return;
        }
        let place = self.examples + self.random.below(self.kept.len() - self.examples);
        self.kept[place] = input.to_vec();
    }

    /// Number of inputs available for mutation.
    pub fn kept(&self) -> usize {
        self.kept.len()
    }

    pub fn next_input(&mut self) -> Vec<u8> {
        let mut input = self.random.of(&self.kept).cloned().unwrap_or_default();
        for _ in 0..1 + self.random.below(6) {
            self.change(&mut input);
        }
        input.truncate(LONGEST);
        input
    }

    fn change(&mut self, input: &mut Vec<u8>) {
        match self.random.below(12) {
            0 => self.flip(input),
            1 => self.cut(input),
            2 | 3 => self.number(input),
            4 | 5 => self.word(input),
            6 => self.line_from_another(input),
            7 => self.lines(input),
            8 => self.repeat(input),
            9 => self.edge(input),
            10 => self.rest_of_another(input),
            _ => self.value(input),
        }
    }

    fn flip(&mut self, input: &mut [u8]) {
        let place = self.random.below(input.len());
        if let Some(byte) = input.get_mut(place) {
            *byte ^= 1 << self.random.below(8);
        }
    }

    fn cut(&mut self, input: &mut Vec<u8>) {
        let start = self.random.below(input.len());
        let end = (start + 1 + self.random.below(20)).min(input.len());
        input.drain(start.min(end)..end);
    }

    /// Changes a number by at most 2, or to an edge value.
    fn number(&mut self, input: &mut Vec<u8>) {
        let offset = self.random.below(input.len());
        let Some(start) = input.iter().skip(offset).position(u8::is_ascii_digit) else { return };
        let start = offset + start;
        let digits = input[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let neighbour = std::str::from_utf8(&input[start..start + digits])
            .ok()
            .and_then(|text| text.parse::<u64>().ok())
            .map(|number| number.wrapping_add(self.random.below(5) as u64).wrapping_sub(2));
        let new = match (self.random.below(2), neighbour) {
            (0, Some(neighbour)) => neighbour.to_string(),
            _ => self.random.of(EDGES).map(|edge| edge.to_string()).unwrap_or_default(),
        };
        input.splice(start..start + digits, new.into_bytes());
    }

    /// Replaces a word with another word from the examples.
    fn word(&mut self, input: &mut Vec<u8>) {
        let in_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let offset = self.random.below(input.len());
        let Some(start) = input.iter().skip(offset).position(in_word) else { return };
        let start = offset + start;
        let length = input[start..].iter().take_while(|byte| in_word(byte)).count();
        if let Some(word) = self.random.of(&self.words).cloned() {
            input.splice(start..start + length, word);
        }
    }

    /// Replaces the value after an `=`.
    fn value(&mut self, input: &mut Vec<u8>) {
        let offset = self.random.below(input.len());
        let Some(equals) = input.iter().skip(offset).position(|byte| *byte == b'=') else { return };
        let start = offset + equals + 1;
        let length = input[start..].iter().take_while(|byte| **byte != b'\n').count();
        let word = self.random.of(&self.words).cloned().unwrap_or_default();
        let edge = self.random.of(EDGES).map_or("", |edge| edge).as_bytes().to_vec();
        let new = if self.random.below(2) == 0 { word } else { edge };
        input.splice(start..start + length, new);
    }

    fn line_from_another(&mut self, input: &mut Vec<u8>) {
        let Some(other) = self.random.of(&self.kept).cloned() else { return };
        let lines: Vec<_> = other.split_inclusive(|byte| *byte == b'\n').collect();
        let Some(line) = self.random.of(&lines).map(|line| line.to_vec()) else { return };
        let ends: Vec<_> = (0..input.len()).filter(|at| input[*at] == b'\n').collect();
        let place = self.random.of(&ends).map_or(0, |end| end + 1);
        input.splice(place..place, line);
    }

    /// Removes a line, repeats it, or swaps it with another.
    fn lines(&mut self, input: &mut Vec<u8>) {
        let mut lines: Vec<Vec<u8>> =
            input.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        if lines.is_empty() {
            return;
        }
        let (first, second) = (self.random.below(lines.len()), self.random.below(lines.len()));
        match self.random.below(3) {
            0 => drop(lines.remove(first)),
            1 => lines.insert(second, lines[first].clone()),
            _ => lines.swap(first, second),
        }
        *input = lines.concat();
    }

    /// Repeats a piece many times.
    fn repeat(&mut self, input: &mut Vec<u8>) {
        let start = self.random.below(input.len());
        let end = (start + 1 + self.random.below(8)).min(input.len());
        let times = 1 << self.random.below(12);
        let piece = input[start.min(end)..end].repeat(times);
        let room = LONGEST.saturating_sub(input.len());
        input.splice(start..start, piece.into_iter().take(room));
    }

    fn edge(&mut self, input: &mut Vec<u8>) {
        let place = self.random.below(input.len() + 1);
        let edge = self.random.of(EDGES).map_or("", |edge| edge);
        input.splice(place..place, edge.bytes());
    }

    fn rest_of_another(&mut self, input: &mut Vec<u8>) {
        let Some(other) = self.random.of(&self.kept).cloned() else { return };
        input.truncate(self.random.below(input.len() + 1));
        input.extend(&other[self.random.below(other.len() + 1)..]);
    }
}
