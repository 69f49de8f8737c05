//! Canonical JSON: equal content has equal text.
//!
//! Follows RFC 8785: members sorted by name, no white space, strings with the fewest escapes,
//! doubles as JavaScript writes them (`1.0` is `1`). Three rules differ. Names are compared by code
//! point rather than by UTF-16 code unit. Integers are written in full, because records contain
//! 64-bit counters. A member that is `null`, `[]` or `{}` carries no information and is omitted, so
//! a field added by a later version does not change a record that lacks it.
//!
//! The text is rewritten during parsing, without a tree, so memory is bounded by the text.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// JavaScript writes an exponent from this power of ten on, and below a millionth.
const PLAIN_MAX: i32 = 21;

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
    out.push_str(&serde_json::to_string(name)?);
    out.push(':');
    out.push_str(value);
    Ok(())
}

/// A finite double in JavaScript's form (ECMA-262, Number::toString): the fewest digits that read
/// back as the same value. serde_json's form is not used, because it has changed between releases.
fn double(value: f64) -> String {
    let scientific = format!("{:e}", value.abs());
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let digits = digits.replace('.', "");
    // The decimal point is after this many digits.
    let point = exponent.parse::<i32>().unwrap_or(0) + 1;
    let sign = if value < 0.0 { "-" } else { "" };
    let zeros = |n: i32| "0".repeat(n.max(0) as usize);
    let count = digits.len() as i32;
    if (count..=PLAIN_MAX).contains(&point) {
        return format!("{sign}{digits}{}", zeros(point - count));
    }
    if (1..=PLAIN_MAX).contains(&point) {
        let (whole, part) = digits.split_at(point as usize);
        return format!("{sign}{whole}.{part}");
    }
    if (-5..=0).contains(&point) {
        return format!("{sign}0.{}{digits}", zeros(-point));
    }
    let (first, rest) = digits.split_at(1);
    let dot = if rest.is_empty() { "" } else { "." };
    format!("{sign}{first}{dot}{rest}e{:+}", point - 1)
}

/// Appends the canonical form of the next value.
struct Canonical<'a>(&'a mut String);

impl Canonical<'_> {
    fn put<E>(self, text: &impl ToString) -> Result<(), E> {
        self.0.push_str(&text.to_string());
        Ok(())
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
        self.put(&"null")
    }

    fn visit_bool<E>(self, value: bool) -> Result<(), E> {
        self.put(&value)
    }

    fn visit_u64<E>(self, value: u64) -> Result<(), E> {
        self.put(&value)
    }

    fn visit_i64<E>(self, value: i64) -> Result<(), E> {
        self.put(&value)
    }

    fn visit_f64<E>(self, value: f64) -> Result<(), E> {
        self.put(&double(value))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<(), E> {
        self.put(&serde_json::to_string(value).map_err(E::custom)?)
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
        let mut members = BTreeMap::new();
        while let Some(name) = map.next_key::<String>()? {
            let mut value = String::new();
            map.next_value_seed(Canonical(&mut value))?;
            members.insert(name, value);
        }
        self.0.push('{');
        for (name, value) in members.iter().filter(|(_, value)| !says_nothing(value)) {
            put_member(self.0, name, value).map_err(A::Error::custom)?;
        }
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
            assert_eq!(double(f64::from_bits(bits)), text);
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
