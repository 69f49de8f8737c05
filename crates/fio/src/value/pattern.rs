//! `buffer_pattern` and `verify_pattern`: a sequence of texts, numbers and placeholders.
//!
//! `"abc"` stands for the bytes of the text. `0xdeadbeef` stands for its bytes from the left; with
//! an odd number of digits, the first digit alone is a byte. A decimal number stands for as many
//! bytes as it needs, lowest first, or four if negative. `%o` is eight bytes for the offset of the
//! block. `'file'` is the content of a file.

use workload::Motif;

use super::{Parsed, Value};

/// Maximum length of a pattern, bytes; arbitrary (fio 3.33 accepts 512).
const LONGEST: usize = 1 << 20;

/// Reads a pattern; its placeholders are zeroes in the bytes.
pub(crate) fn pattern(value: &Value) -> Parsed<Motif> {
    let text = value.text()?;
    let mut motif = Motif::default();
    let mut rest = text;
    while !rest.is_empty() {
        rest = match rest.as_bytes()[0] {
            b'"' => {
                let (literal, after) = quoted(rest, '"')?;
                motif.bytes.extend(literal.as_bytes());
                after
            }
            b'\'' => {
                let (name, after) = quoted(rest, '\'')?;
                motif.bytes.extend(file(value, name)?);
                after
            }
            b'%' => {
                motif.offsets_at.push(motif.bytes.len());
                motif.bytes.extend([0; 8]);
                rest.strip_prefix("%o").ok_or_else(|| wrong(rest))?
            }
            _ => number(rest, &mut motif.bytes)?,
        };
        if motif.bytes.len() > LONGEST {
            return Err(format!("is longer than {LONGEST} bytes"));
        }
    }
    if motif.bytes.is_empty() { Err("is empty".into()) } else { Ok(motif) }
}

fn wrong(rest: &str) -> String {
    let excerpt: String = rest.chars().take(40).collect();
    format!("'{excerpt}' is not a pattern; write for example 0xdeadbeef, \"text\" or %o")
}

/// The text between quotes, and the text after them.
fn quoted(rest: &str, quote: char) -> Parsed<(&str, &str)> {
    rest[1..].split_once(quote).ok_or_else(|| "has an unclosed quote".to_string())
}

fn file(value: &Value, name: &str) -> Parsed<Vec<u8>> {
    value.world.read(name).map_err(|error| format!("file '{name}': {error}"))
}

/// Reads a number at the start of `rest` into `bytes`; returns the text after it.
fn number<'a>(rest: &'a str, bytes: &mut Vec<u8>) -> Parsed<&'a str> {
    if rest.starts_with("0x") || rest.starts_with("0X") {
        return hex(&rest[2..], bytes).ok_or_else(|| wrong(rest));
    }
    let digits = rest.trim_start_matches('-').bytes().take_while(u8::is_ascii_digit).count();
    let mut end = digits + usize::from(rest.starts_with('-'));
    // The 0 of a following 0x does not belong to this number.
    if digits > 1 && rest[end..].starts_with(['x', 'X']) && rest[..end].ends_with('0') {
        end -= 1;
    }
    let number: i32 = rest[..end].parse().map_err(|_| wrong(rest))?;
    let word = number.to_le_bytes();
    let length = word.iter().rposition(|byte| *byte != 0).map_or(1, |last| last + 1);
    bytes.extend(&word[..length]);
    Ok(&rest[end..])
}

fn hex<'a>(digits: &'a str, bytes: &mut Vec<u8>) -> Option<&'a str> {
    let mut end = digits.bytes().take_while(u8::is_ascii_hexdigit).count();
    if end > 1 && digits[end..].starts_with(['x', 'X']) && digits[..end].ends_with('0') {
        end -= 1;
    }
    let (mut head, after) = digits.split_at(end);
    if head.is_empty() {
        return None;
    }
    while !head.is_empty() {
        let (byte, rest) = head.split_at(2 - head.len() % 2);
        bytes.push(u8::from_str_radix(byte, 16).ok()?);
        head = rest;
    }
    Some(after)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::with_value;

    fn bytes(text: &str) -> Vec<u8> {
        with_value(text, pattern).expect(text).bytes
    }

    #[test]
    fn examples_from_fios_manual() {
        assert_eq!(bytes("\"abcd\""), b"abcd");
        assert_eq!(bytes("-1024"), [0x00, 0xfc, 0xff, 0xff]);
        assert_eq!(bytes("66"), [0x42]);
        assert_eq!(bytes("0xFF0X1"), [0xff, 0x01]);
        assert_eq!(bytes("\"123\"0xFFeeCC"), [0x31, 0x32, 0x33, 0xff, 0xee, 0xcc]);
        let seventh = [0xf6, 0xff, 0xff, 0xff, 0xab, 0x31, 0, 0, 0, 0, 0, 0, 0, 0, 0x32];
        assert_eq!(bytes("-100xab\"1\"%o\"2\""), seventh);
        assert_eq!(bytes("0"), [0]);
        assert_eq!(bytes("0x123"), [0x01, 0x23]);
    }

    #[test]
    fn placeholders_are_reported() {
        let motif = with_value("%o0xde%o", pattern).expect("a pattern");
        assert_eq!(motif.offsets_at, [0, 9]);
    }

    #[test]
    fn invalid_patterns_are_errors() {
        for text in ["\"a", "%x", "0x", "-", "abc", "99999999999", "'no such file'", "é"] {
            assert!(with_value(text, pattern).is_err(), "{text}");
        }
    }
}
