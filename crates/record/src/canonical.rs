//! Canonical JSON: equal content has equal text.
//!
//! Follows RFC 8785: members sorted by name, no white space, strings with the fewest escapes,
//! doubles as JavaScript writes them (`1.0` is `1`). Three rules differ. Names are compared by code
//! point rather than by UTF-16 code unit. Integers are written in full, because records contain
//! 64-bit counters. A member that is `null`, `[]` or `{}` carries no information and is omitted, so
//! a field added by a later version does not change a record that lacks it.
//!
//! The text is rewritten during parsing, without a tree, so memory is bounded by the text.

use std::borrow::Cow;
use std::fmt::{self, Write};
use std::ops::Range;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// JavaScript writes an exponent from this value on, and below a millionth.
const PLAIN_MAX: f64 = 1e21;
const PLAIN_MIN: f64 = 1e-6;

/// Returns the canonical form of a JSON text.
pub(crate) fn canonical(json: &str) -> serde_json::Result<String> {
    let mut text = String::with_capacity(json.len());
    let mut parser = serde_json::Deserializer::from_str(json);
    Canonical(&mut text).deserialize(&mut parser)?;
    parser.end()?;
    Ok(text)
}

/// Whether a canonical text carries no information.
pub(crate) fn says_nothing(canonical: &str) -> bool {
    matches!(canonical, "null" | "[]" | "{}")
}

/// Adds a member to the text of an object.
pub(crate) fn put_member(out: &mut String, name: &str, value: &str) -> serde_json::Result<()> {
    if !out.ends_with('{') {
        out.push(',');
    }
    put_text(out, name)?;
    out.push(':');
    out.push_str(value);
    Ok(())
}

/// Adds a string.
fn put_text(out: &mut String, text: &str) -> serde_json::Result<()> {
    if text.bytes().any(|byte| byte < b' ' || matches!(byte, b'"' | b'\\')) {
        out.push_str(&serde_json::to_string(text)?);
    } else {
        out.push('"');
        out.push_str(text);
        out.push('"');
    }
    Ok(())
}

/// Adds a finite double in JavaScript's form (ECMA-262, Number::toString): the fewest digits that read
/// back as the same value. serde_json's form is not used, because it has changed between releases.
fn put_double(out: &mut String, value: f64) -> fmt::Result {
    if value == 0.0 {
        out.push('0');
        return Ok(());
    }
    if (PLAIN_MIN..PLAIN_MAX).contains(&value.abs()) {
        return write!(out, "{value}");
    }
    let scientific = format!("{value:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let sign = if exponent.starts_with('-') { "" } else { "+" };
    write!(out, "{digits}e{sign}{exponent}")
}

/// Appends the canonical form of the next value.
struct Canonical<'a>(&'a mut String);

/// The name of a member.
struct Name<'de>(Cow<'de, str>);

impl<'de> Deserialize<'de> for Name<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Name<'de>, D::Error> {
        struct Text;
        impl<'de> Visitor<'de> for Text {
            type Value = Name<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Owned(text.to_string())))
            }
        }
        deserializer.deserialize_str(Text)
    }
}

/// Sorts the members of an object by name. Each has the place of its text after `start`; of members with
/// one name, the last counts, and one without a text is omitted.
fn sort_members(out: &mut String, start: usize, mut members: Vec<(Cow<'_, str>, Range<usize>)>) {
    members.sort_by(|a, b| a.0.cmp(&b.0));
    let texts = out.split_off(start);
    for (index, (name, place)) in members.iter().enumerate() {
        let is_last = members.get(index + 1).is_none_or(|(next, _)| next != name);
        if is_last && !place.is_empty() {
            if out.len() > start {
                out.push(',');
            }
            out.push_str(&texts[place.clone()]);
        }
    }
}

impl<'de> DeserializeSeed<'de> for Canonical<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Canonical<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        self.0.push_str("null");
        Ok(())
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        write!(self.0, "{value}").map_err(E::custom)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        write!(self.0, "{value}").map_err(E::custom)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        write!(self.0, "{value}").map_err(E::custom)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        put_double(self.0, value).map_err(E::custom)
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<(), E> {
        put_text(self.0, value).map_err(E::custom)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        self.0.push('[');
        let mut first = true;
        loop {
            let before = self.0.len();
            if !first {
                self.0.push(',');
            }
            if seq.next_element_seed(Canonical(self.0))?.is_none() {
                self.0.truncate(before);
                break;
            }
            first = false;
        }
        self.0.push(']');
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        self.0.push('{');
        let start = self.0.len();
        let mut members = Vec::new();
        while let Some(Name(name)) = map.next_key()? {
            let begin = self.0.len();
            put_text(self.0, &name).map_err(A::Error::custom)?;
            self.0.push(':');
            let value = self.0.len();
            map.next_value_seed(Canonical(self.0))?;
            if says_nothing(&self.0[value..]) {
                self.0.truncate(begin);
            }
            members.push((name, begin - start..self.0.len() - start));
        }
        sort_members(self.0, start, members);
        self.0.push('}');
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn canonical_text(json: &str) -> String {
        canonical(json).unwrap_or_else(|e| panic!("{json}: {e}"))
    }

    #[test]
    fn equal_content_has_equal_text() {
        assert_eq!(
            canonical_text(r#" { "b" : 1.0, "a" : [ 1e2, -0.0, 0.5 ] } "#),
            r#"{"a":[100,0,0.5],"b":1}"#
        );
        assert_eq!(canonical_text("18446744073709551615"), "18446744073709551615");
        assert_eq!(canonical_text("-9223372036854775808"), "-9223372036854775808");
        assert_eq!(canonical_text(r#""\u0041\/\n""#), r#""A/\n""#);
        assert_eq!(
            canonical_text(r#"{"x":null,"y":[],"z":{"w":null},"a":[null,[],{}]}"#),
            r#"{"a":[null,[],{}]}"#
        );
        assert_eq!(canonical_text(r#"{"b":1,"a":2,"b":3,"c":4,"c":null}"#), r#"{"a":2,"b":3}"#);
        assert_eq!(canonical_text(r#"{"\u0062":1,"a\"":2,"a":3}"#), r#"{"a":3,"a\"":2,"b":1}"#);
    }

    #[test]
    fn doubles_are_written_as_in_rfc_8785() {
        // Its appendix B.
        for (bits, text) in [
            (0x0000_0000_0000_0000, "0"),
            (0x8000_0000_0000_0000, "0"),
            (0x0000_0000_0000_0001, "5e-324"),
            (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
            (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
            (0x4340_0000_0000_0000, "9007199254740992"),
            (0x4430_0000_0000_0000, "295147905179352830000"),
            (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
            (0x44b5_2d02_c7e1_4af6, "1e+23"),
            (0x444b_1ae4_d6e2_ef50, "1e+21"),
            (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
            (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
            (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
            (0x41b3_de43_5555_5554, "333333333.33333325"),
            (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
        ] {
            let mut written = String::new();
            put_double(&mut written, f64::from_bits(bits)).expect("in memory");
            assert_eq!(written, text);
        }
    }

    #[test]
    fn invalid_json_is_refused() {
        for text in ["", "{", "1 2", "[1,]", "{\"a\":1e999}", "nul"] {
            canonical(text).expect_err(text);
        }
        let deep = "[".repeat(100_000);
        canonical(&deep).expect_err("too deep");
    }

    fn json() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<u64>().prop_map(Into::into),
            any::<i64>().prop_map(Into::into),
            any::<f64>().prop_map(Into::into),
            "\\PC{0,4}".prop_map(Into::into),
        ];
        leaf.prop_recursive(4, 40, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Into::into),
                prop::collection::btree_map("[a-c]{1,2}", inner, 0..5)
                    .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn canonicalising_is_idempotent_and_ignores_white_space(value in json()) {
            let once = canonical_text(&value.to_string());
            prop_assert_eq!(&canonical_text(&once), &once);
            prop_assert_eq!(canonical_text(&serde_json::to_string_pretty(&value).expect("plain")), once);
        }
    }
}
