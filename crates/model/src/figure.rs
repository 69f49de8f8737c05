//! A figure of a drive and its origin.
//!
//! In a file, a figure is a bare value or `{ value = 75, from = "published", source = "..." }`. A
//! bare value counts as guessed. Sizes are numbers of bytes, or text such as `"4KiB"` or `"1TB"`.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FigureOrigin {
    /// Published as a measurement or a specification.
    Published,
    /// Promised by the maker's data sheet.
    Sheet,
    /// Of the drive's class, not of this drive.
    Class,
    /// Chosen so that the model matches published measurements.
    Fitted,
    /// A typical value; nothing better is known.
    #[default]
    Guessed,
    /// Set by the user.
    Given,
}

/// A value, its origin and its source.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Figure<T> {
    pub value: T,
    pub from: FigureOrigin,
    /// The document or reasoning; empty if not given.
    pub source: String,
}

impl<T> Figure<T> {
    /// A typical value, marked as guessed.
    pub fn guess(value: T) -> Figure<T> {
        Figure { value, from: FigureOrigin::Guessed, source: String::new() }
    }
}

impl<T> Deref for Figure<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Marked<T> {
    value: T,
    #[serde(default)]
    from: FigureOrigin,
    #[serde(default)]
    source: String,
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Figure<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FigureVisitor(PhantomData))
    }
}

struct FigureVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for FigureVisitor<T> {
    type Value = Figure<T>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a value, or { value = .., from = .., source = .. }")
    }

    fn visit_bool<E: Error>(self, v: bool) -> Result<Figure<T>, E> {
        T::deserialize(v.into_deserializer()).map(Figure::guess)
    }

    fn visit_i64<E: Error>(self, v: i64) -> Result<Figure<T>, E> {
        T::deserialize(v.into_deserializer()).map(Figure::guess)
    }

    fn visit_f64<E: Error>(self, v: f64) -> Result<Figure<T>, E> {
        T::deserialize(v.into_deserializer()).map(Figure::guess)
    }

    fn visit_str<E: Error>(self, v: &str) -> Result<Figure<T>, E> {
        T::deserialize(v.into_deserializer()).map(Figure::guess)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Figure<T>, A::Error> {
        let figure = Marked::deserialize(MapAccessDeserializer::new(map))?;
        Ok(Figure { value: figure.value, from: figure.from, source: figure.source })
    }
}

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Size(pub u64);

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct SizeVisitor;
        impl Visitor<'_> for SizeVisitor {
            type Value = Size;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a number of bytes, or text such as \"4KiB\"")
            }

            fn visit_i64<E: Error>(self, v: i64) -> Result<Size, E> {
                u64::try_from(v).map(Size).map_err(|_| E::custom("a size cannot be negative"))
            }

            fn visit_str<E: Error>(self, v: &str) -> Result<Size, E> {
                workload::units::parse_bytes(v).map(Size).map_err(E::custom)
            }
        }
        deserializer.deserialize_any(SizeVisitor)
    }
}
