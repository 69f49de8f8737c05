//! Suggestions for misspelt names.

use strsim::{levenshtein, osa_distance};

/// Longer names get no suggestion: they are untrusted input, and the cost grows with their length.
const LONGEST: usize = 64;

/// The known name nearest to a misspelt one; the first of equally near names. At most two fifths of
/// the longer name's letters may differ, or one letter of a short name. Case is ignored.
pub fn nearest<'n>(misspelt: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    if misspelt.is_empty() || misspelt.len() > LONGEST {
        return None;
    }
    let misspelt = misspelt.to_ascii_lowercase();
    let edits = known.map(|name| (levenshtein(&misspelt, &name.to_ascii_lowercase()), name));
    let similar = edits.filter(|(edits, name)| {
        edits * 5 <= 2 * misspelt.chars().count().max(name.chars().count()).max(3)
    });
    similar.min_by_key(|(edits, _)| *edits).map(|(_, name)| name)
}

/// The known word of which another is a typing error: a quarter of its letters differ or have changed
/// places with a neighbour, or one letter of a short word. Case is ignored. Stricter than [`nearest`]:
/// for words that are remembered rather than read, where a wrong guess misleads.
pub fn typo_of<'n>(typed: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    if typed.is_empty() || typed.len() > LONGEST {
        return None;
    }
    let typed = typed.to_ascii_lowercase();
    let edits = known.map(|word| (osa_distance(&typed, &word.to_ascii_lowercase()), word));
    let typos = edits.filter(|(edits, word)| *edits <= (word.chars().count() / 4).max(1));
    typos.min_by_key(|(edits, _)| *edits).map(|(_, word)| word)
}

/// The end of an error about an unknown name: `; did you mean 'X'?`, or empty if none is near.
pub fn did_you_mean<'n>(misspelt: &str, known: impl Iterator<Item = &'n str>) -> String {
    let nearest_name = nearest(misspelt, known);
    nearest_name.map_or(String::new(), |name| format!("; did you mean '{name}'?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_fifths_of_the_letters_may_differ() {
        let near = |word| nearest(word, ["sustain", "quick", "zones", "align"].into_iter());
        assert_eq!(near("sustian"), Some("sustain"));
        assert_eq!(near("Quik"), Some("quick"));
        assert_eq!(near("aligned"), Some("align"));
        for word in ["", "zoo", "quicksand", "everything", &"x".repeat(100)] {
            assert_eq!(near(word), None, "{word}");
        }
    }

    #[test]
    fn a_typing_error_is_nearer_than_a_similar_word() {
        let typo = |word| typo_of(word, ["show", "method", "file", "prepare"].into_iter());
        assert_eq!(
            (typo("shwo"), typo("metod"), typo("fiel")),
            (Some("show"), Some("method"), Some("file"))
        );
        for word in ["", "title", "upgrade", "methodically", &"x".repeat(100)] {
            assert_eq!(typo(word), None, "{word}");
        }
    }

    #[test]
    fn only_a_near_name_is_suggested() {
        let asked = |word| did_you_mean(word, ["read", "write"].into_iter());
        assert_eq!(
            (asked("wriet").as_str(), asked("trim").as_str()),
            ("; did you mean 'write'?", "")
        );
    }
}
