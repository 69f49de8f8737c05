//! Names with varying parts, such as `power-after-{time}`: the only place where they are taken apart.

use std::fmt::Display;

use workload::units::parse_bytes;

/// The words of a name at the places of a pattern, in order.
///
/// A place in braces matches one of the words in `{read,write}`, a size in `{size}`, a duration in
/// `{time}`, any name in `{job}` and `{step}`, and a whole number for any other word in braces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places<'n>(Vec<&'n str>);

impl<'n> Places<'n> {
    /// Matches a whole name; `None` if it is not of this pattern.
    pub fn parse(pattern: &str, name: &'n str) -> Option<Places<'n>> {
        let mut words = Vec::new();
        matches(pattern, name, &mut words).then_some(Places(words))
    }

    /// The name of this pattern with these words at its places.
    pub fn fill(pattern: &str, words: &[&dyn Display]) -> String {
        let mut parts = pattern.split('{');
        let mut name = parts.next().unwrap_or_default().to_string();
        for (part, word) in parts.zip(words) {
            name += &word.to_string();
            name += part.split_once('}').map_or("", |(_, after)| after);
        }
        debug_assert!(Places::parse(pattern, &name).is_some(), "{name} is not of {pattern}");
        name
    }

    /// The word at a place; empty beyond the last.
    pub fn word(&self, place: usize) -> &'n str {
        self.0.get(place).copied().unwrap_or_default()
    }

    /// The size at a place, bytes; 0 if it is none.
    pub fn bytes(&self, place: usize) -> u64 {
        parse_bytes(self.word(place)).unwrap_or(0)
    }

    /// The duration at a place, seconds; 0 if it is none.
    pub fn seconds(&self, place: usize) -> f64 {
        let word = self.word(place);
        let (number, unit) = match word.strip_suffix("ms") {
            Some(number) => (number, 1e3),
            None => (word.trim_end_matches('s'), 1.0),
        };
        number.parse().map_or(0.0, |number: f64| number / unit)
    }

    /// The number at a place; 0 if it is none.
    pub fn number(&self, place: usize) -> u32 {
        self.word(place).parse().unwrap_or(0)
    }
}

/// Appends the word at each place; `words` is unchanged unless all of the name matches.
fn matches<'n>(pattern: &str, name: &'n str, words: &mut Vec<&'n str>) -> bool {
    let Some((before, rest)) = pattern.split_once('{') else { return pattern == name };
    let (Some((place, after)), Some(name)) = (rest.split_once('}'), name.strip_prefix(before))
    else {
        return false;
    };
    let mut ends = (1..=name.len()).filter(|end| name.is_char_boundary(*end));
    ends.any(|end| {
        let (word, rest) = name.split_at(end);
        if !fits(place, word) {
            return false;
        }
        words.push(word);
        let is_match = matches(after, rest, words);
        if !is_match {
            words.pop();
        }
        is_match
    })
}

/// Whether a word matches one place of a pattern.
fn fits(place: &str, word: &str) -> bool {
    let number = |text: &str, extra: &str| {
        !text.is_empty() && text.chars().all(|c| c.is_ascii_digit() || extra.contains(c))
    };
    let suffixed = |units: &[&str], extra: &str| {
        units.iter().any(|unit| word.strip_suffix(unit).is_some_and(|rest| number(rest, extra)))
    };
    match place {
        "size" => suffixed(&["B", "KiB", "MiB", "GiB"], "."),
        "time" => suffixed(&["s", "ms"], ""),
        "job" | "step" => true,
        words if words.contains(',') => words.split(',').any(|w| w == word),
        _ => number(word, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_a_name_come_from_the_places_of_its_pattern() {
        let at = Places::parse("snia-iops-{size}-r{percent}", "snia-iops-4KiB-r65").expect("of it");
        assert_eq!((at.bytes(0), at.number(1)), (4096, 65));
        assert_eq!(Places::parse("snia-iops-{size}-r{percent}", "snia-iops-4KiB-r65.pts"), None);
        let rest = |name| Places::parse("idle-{time}", name).map(|at| at.seconds(0));
        assert_eq!(
            [rest("idle-75ms"), rest("idle-900s"), rest("idle-s")],
            [Some(0.075), Some(900.0), None]
        );
        let cell =
            Places::parse("{seq,rand}-{read,write}-{size}", "rand-read-1MiB").expect("of it");
        assert_eq!((cell.word(0), cell.word(1), cell.bytes(2)), ("rand", "read", 1 << 20));
        assert_eq!((cell.word(3), cell.number(0)), ("", 0), "no such place, no such number");
    }

    #[test]
    fn a_word_that_fits_too_early_is_given_back() {
        let at = Places::parse("{job}.{p99,p99.9}", "a.p99.p99.9").expect("of it");
        assert_eq!((at.word(0), at.word(1)), ("a.p99", "p99.9"));
    }
}
