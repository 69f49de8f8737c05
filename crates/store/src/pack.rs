//! Packed values: varints and texts, compressed with deflate.
//!
//! `miniz_oxide` is pure Rust and limits the unpacked size. lz4 compresses JSON less, and zstd
//! needs a C build. All input is checked, because a store may be damaged.

use std::fmt;

use miniz_oxide::deflate::compress_to_vec;
use miniz_oxide::inflate::decompress_to_vec_with_limit;

/// Maximum size of an unpacked value, bytes: a whole record.
const BYTES_MAX: usize = crate::RECORD_BYTES_MAX;

/// Deflate level. Level 9 would make a record only 1% smaller.
const LEVEL: u8 = 6;

/// A damaged value in the store.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Torn(pub String);

impl std::error::Error for Torn {}

impl fmt::Display for Torn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Torn {
    pub fn new(why: impl fmt::Display) -> Torn {
        Torn(why.to_string())
    }

    /// Prefixes the reason with the part of the record.
    pub fn within(self, part: impl fmt::Display) -> Torn {
        Torn(format!("{part}: {}", self.0))
    }

    fn short() -> Torn {
        Torn::new("too few bytes")
    }
}

/// Compresses bytes.
pub(crate) fn squeeze(bytes: &[u8]) -> Vec<u8> {
    compress_to_vec(bytes, LEVEL)
}

/// Decompresses bytes.
pub(crate) fn expand(bytes: &[u8]) -> Result<Vec<u8>, Torn> {
    decompress_to_vec_with_limit(bytes, BYTES_MAX).map_err(Torn::new)
}

/// Appends a number with seven bits per byte, lowest first (LEB128).
pub(crate) fn put_varint(out: &mut Vec<u8>, value: u128) {
    let mut rest = value;
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

pub(crate) fn put_text(out: &mut Vec<u8>, text: &str) {
    put_varint(out, text.len() as u128);
    out.extend(text.as_bytes());
}

/// A reader of packed values.
pub(crate) struct Packed<'a>(pub &'a [u8]);

impl<'a> Packed<'a> {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn take(&mut self, bytes: usize) -> Result<&'a [u8], Torn> {
        let (head, tail) = self.0.split_at_checked(bytes).ok_or_else(Torn::short)?;
        self.0 = tail;
        Ok(head)
    }

    pub fn varint(&mut self) -> Result<u128, Torn> {
        let mut value = 0u128;
        for shift in (0..128).step_by(7) {
            let byte = u128::from(self.take(1)?[0]);
            value |= (byte & 0x7F) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Torn::new("a number exceeds 128 bits"))
    }

    pub fn number(&mut self) -> Result<u64, Torn> {
        u64::try_from(self.varint()?).map_err(|_| Torn::new("a number exceeds 64 bits"))
    }

    pub fn text(&mut self) -> Result<&'a str, Torn> {
        let bytes = usize::try_from(self.number()?).map_err(|_| Torn::short())?;
        std::str::from_utf8(self.take(bytes)?).map_err(Torn::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn packed_values_round_trip(values: Vec<u128>, text in "\\PC{0,8}", bytes: Vec<u8>) {
            let mut out = Vec::new();
            values.iter().for_each(|value| put_varint(&mut out, *value));
            put_text(&mut out, &text);
            let mut packed = Packed(&out);
            for value in values {
                prop_assert_eq!(packed.varint(), Ok(value));
            }
            prop_assert_eq!(packed.text(), Ok(text.as_str()));
            prop_assert!(packed.is_empty());
            prop_assert_eq!(expand(&squeeze(&bytes)), Ok(bytes));
        }

        #[test]
        fn foreign_bytes_are_rejected_safely(bytes: Vec<u8>) {
            let _ = expand(&bytes);
            let mut packed = Packed(&bytes);
            while packed.varint().is_ok() && packed.text().is_ok() {}
        }
    }

    #[test]
    fn a_decompression_bomb_is_rejected() {
        let bomb = squeeze(&vec![0; BYTES_MAX + 1]);
        assert!(bomb.len() < 1 << 20);
        expand(&bomb).expect_err("too large");
    }
}
