//! What the user calls a run: a title, a note, and tags such as `board=mini-a`. Given before the run
//! and part of its record, so that they travel with it. Pure data.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Maximum length of a title and of a tag's value, characters.
const TITLE_MAX: usize = 200;

/// Maximum length of a note, characters.
const NOTE_MAX: usize = 4000;

/// Maximum length of a tag's name, characters.
const KEY_MAX: usize = 40;

/// The user's names for a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Labels {
    /// A name for the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// A remark.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Names and values to group and filter runs by.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
}

impl Labels {
    /// The labels, or `None` if there are none.
    pub fn if_any(self) -> Option<Labels> {
        (self != Labels::default()).then_some(self)
    }
}

/// Parses `name=value`. The name has letters, digits, `_`, `.` and `-`, in lower case; the value is not
/// empty.
pub fn parse_tag(text: &str) -> Result<(String, String), String> {
    let Some((name, value)) = text.split_once('=') else {
        return Err(format!("'{text}' is no tag: name=value, as in board=mini-a"));
    };
    let (name, value) = (name.trim().to_lowercase(), value.trim().to_string());
    let is_word = name.chars().all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c));
    if name.is_empty() || !is_word || name.len() > KEY_MAX {
        return Err(format!(
            "the name of a tag has letters, digits, '_', '.' and '-', at most {KEY_MAX}; not '{name}'"
        ));
    }
    if value.is_empty() || value.chars().count() > TITLE_MAX {
        return Err(format!("the value of tag '{name}' has 1 to {TITLE_MAX} characters"));
    }
    Ok((name, value))
}

/// Checks a title: not empty, at most 200 characters, one line.
pub fn parse_title(text: &str) -> Result<String, String> {
    let title = text.trim();
    let is_long = title.chars().count() > TITLE_MAX;
    if title.is_empty() || is_long || title.contains(char::is_control) {
        return Err(format!("must be one line of 1 to {TITLE_MAX} characters"));
    }
    Ok(title.to_string())
}

/// Checks a note: not empty, at most 4000 characters.
pub fn parse_note(text: &str) -> Result<String, String> {
    let note = text.trim();
    if note.is_empty() || note.chars().count() > NOTE_MAX {
        return Err(format!("must have 1 to {NOTE_MAX} characters"));
    }
    Ok(note.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_has_a_name_and_a_value() {
        let tag = |name: &str, value: &str| Ok((name.to_string(), value.to_string()));
        assert_eq!(parse_tag("Board = mini-a=2"), tag("board", "mini-a=2"));
        for (wrong, reason) in [
            ("board", "is no tag"),
            ("=x", "the name of a tag"),
            ("a b=x", "the name of a tag"),
            ("\u{1b}[1m=x", "the name of a tag"),
            ("a=", "has 1 to 200"),
        ] {
            let error = parse_tag(wrong).expect_err(wrong);
            assert!(error.contains(reason), "{wrong}: {error}");
        }
        assert_eq!(Labels::default().if_any(), None);
    }

    #[test]
    fn titles_and_notes_are_bounded() {
        assert_eq!(parse_title(" heat sink on ").as_deref(), Ok("heat sink on"));
        assert!(parse_title("two\nlines").is_err() && parse_title("  ").is_err());
        assert!(parse_note(&"n".repeat(NOTE_MAX + 1)).is_err());
        assert_eq!(parse_note("two\nlines").as_deref(), Ok("two\nlines"));
    }
}
