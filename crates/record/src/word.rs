//! A short text that is `Copy`, for names of kinds added by later versions.
//!
//! Kinds such as [`crate::Unit`] are copied everywhere, so their unknown names are stored inline.
//! Longer names are truncated; the record's text keeps them whole ([`crate::Document`]).

use std::fmt;
use std::ops::Deref;

/// Maximum length of a name, in bytes.
const BYTES: usize = 31;

/// A text of at most 31 bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Word {
    bytes: [u8; BYTES],
    length: u8,
}

impl From<&str> for Word {
    fn from(text: &str) -> Word {
        let prefix = &text.as_bytes()[..text.floor_char_boundary(BYTES)];
        let mut bytes = [0; BYTES];
        bytes[..prefix.len()].copy_from_slice(prefix);
        Word { bytes, length: prefix.len() as u8 }
    }
}

impl From<String> for Word {
    fn from(text: String) -> Word {
        Word::from(text.as_str())
    }
}

impl Deref for Word {
    type Target = str;

    fn deref(&self) -> &str {
        // Truncated at a character boundary, so it is always valid UTF-8.
        std::str::from_utf8(&self.bytes[..usize::from(self.length)]).unwrap_or_default()
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self)
    }
}

impl fmt::Debug for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_its_text_up_to_its_capacity() {
        for text in ["", "W", "l\u{e4}nge", "exactly-one-and-thirty-bytes-xx"] {
            assert_eq!(&*Word::from(text), text);
        }
        assert_eq!(&*Word::from("\u{e4}".repeat(20)), "\u{e4}".repeat(15));
    }
}
