//! The known name that a misspelt one was meant to be.

use strsim::levenshtein;

/// Longer names are compared with nothing: names come from outside, and the cost grows with both.
const LONGEST: usize = 64;

/// The known name that is nearest to a misspelt one: at most two fifths of the longer one's letters
/// differ, and of a short name one. Capitals make no difference. The first of several that are equally
/// near.
pub fn nearest<'n>(misspelt: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    if misspelt.is_empty() || misspelt.len() > LONGEST {
        return None;
    }
    let misspelt = misspelt.to_ascii_lowercase();
    let edits = |name: &'n str| (levenshtein(&misspelt, &name.to_ascii_lowercase()), name);
    let is_near = |(edits, name): &(usize, &str)| {
        edits * 5 <= 2 * misspelt.chars().count().max(name.chars().count()).max(3)
    };
    known.map(edits).filter(is_near).min_by_key(|near| near.0).map(|near| near.1)
}

/// The end of an error about an unknown name: `; did you mean 'X'?`, or nothing where none is near.
pub fn did_you_mean<'n>(misspelt: &str, known: impl Iterator<Item = &'n str>) -> String {
    let near = nearest(misspelt, known);
    near.map_or(String::new(), |name| format!("; did you mean '{name}'?"))
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
    fn the_question_is_asked_only_where_there_is_an_answer() {
        let asked = |word| did_you_mean(word, ["read", "write"].into_iter());
        assert_eq!(
            (asked("wriet").as_str(), asked("trim").as_str()),
            ("; did you mean 'write'?", "")
        );
    }
}
