//! 8.3 names of recordings: a stem, a number and an extension.
//!
//! Such a name is valid on both file systems: FAT32 needs no long-name entry, and the exFAT entry
//! set has the minimum size of 96 bytes.

/// The name of a file: up to eight characters, a dot, and up to three more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name {
    /// As in a FAT directory entry: padded with spaces, without the dot.
    padded: [u8; 11],
}

impl Name {
    /// Creates a name of uppercase letters and digits, such as `CLIP0001.MOV`. Returns `None` if a
    /// part is empty, too long or contains other characters.
    pub fn new(stem: &str, extension: &str) -> Option<Name> {
        let good = |part: &str, most: usize| {
            (1..=most).contains(&part.len())
                && part.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit())
        };
        if !good(stem, 8) || !good(extension, 3) {
            return None;
        }
        let mut padded = [b' '; 11];
        padded[..stem.len()].copy_from_slice(stem.as_bytes());
        padded[8..8 + extension.len()].copy_from_slice(extension.as_bytes());
        Some(Name { padded })
    }

    /// Returns the name with `number` appended to its stem, zero-padded to eight characters; `None`
    /// if it does not fit.
    pub(crate) fn numbered(mut self, number: u32) -> Option<Name> {
        let end = self.padded[..8].iter().position(|b| *b == b' ').unwrap_or(8);
        let mut left = number;
        for digit in self.padded[end..8].iter_mut().rev() {
            *digit = b'0' + (left % 10) as u8;
            left /= 10;
        }
        (left == 0 && end < 8).then_some(self)
    }

    /// Returns the number after the stem of `of`, if this is one of its numbered names.
    pub(crate) fn number_of(self, of: Name) -> Option<u32> {
        let end = of.padded[..8].iter().position(|b| *b == b' ')?;
        let same_stem =
            self.padded[..end] == of.padded[..end] && self.padded[8..] == of.padded[8..];
        let digits = &self.padded[end..8];
        let number =
            digits.iter().fold(0, |n: u32, d| n * 10 + u32::from(d.wrapping_sub(b'0')) % 10);
        (same_stem && digits.iter().all(u8::is_ascii_digit)).then_some(number)
    }

    pub(crate) fn padded(&self) -> &[u8; 11] {
        &self.padded
    }

    pub(crate) fn from_padded(padded: [u8; 11]) -> Name {
        Name { padded }
    }

    /// Returns the name with its dot, and its length.
    pub(crate) fn dotted(&self) -> ([u8; 12], usize) {
        let (mut text, mut n) = ([0; 12], 0);
        let (stem, extension) = self.padded.split_at(8);
        let visible = |part: &[u8]| part.iter().position(|b| *b == b' ').unwrap_or(part.len());
        for byte in &stem[..visible(stem)] {
            (text[n], n) = (*byte, n + 1);
        }
        if visible(extension) > 0 {
            (text[n], n) = (b'.', n + 1);
        }
        for byte in &extension[..visible(extension)] {
            (text[n], n) = (*byte, n + 1);
        }
        (text, n)
    }

    /// Parses a dotted name.
    pub(crate) fn of_dotted(characters: &[u8]) -> Option<Name> {
        let text = core::str::from_utf8(characters).ok()?;
        let (stem, extension) = text.rsplit_once('.')?;
        Name::new(stem, extension)
    }
}
