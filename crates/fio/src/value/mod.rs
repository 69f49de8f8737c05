//! Option values: numbers with suffixes, times, expressions, lists and words.
//!
//! Every function returns the value, or a one-line error that suggests the right form. fio parses
//! the beginning of a number and ignores the rest; this parser reports an error, because the user
//! never intends fio's interpretation.

mod errno;
mod expression;
mod number;
mod pattern;
mod split;

use std::cell::RefCell;
use std::time::Duration;

pub(crate) use errno::{errno_of, number_of};
pub(crate) use expression::{Unit, evaluate};
pub(crate) use number::{Number, integer, signed, size, time};
pub(crate) use pattern::pattern;
pub(crate) use split::{block, normal, pareto, parts, shares, zipf};

use super::{Amount, PerKind, TimeRange, World};

/// A value, or an error text that follows `option=value: `.
pub(crate) type Parsed<T> = Result<T, String>;

/// Stores a value: the last step of most options.
pub(crate) fn put<T>(place: &mut T, value: T) -> Parsed<()> {
    *place = value;
    Ok(())
}

fn within<T: PartialOrd + std::fmt::Display>(number: T, low: T, high: T) -> Parsed<T> {
    if (&low..=&high).contains(&&number) {
        Ok(number)
    } else {
        Err(format!("{number} is not within {low} to {high}"))
    }
}

/// The value of one option, with the context needed to parse it.
pub(crate) struct Value<'a> {
    /// The text after the `=`; `None` for an option alone.
    pub text: Option<&'a str>,
    /// Provides the files of patterns.
    pub world: &'a dyn World,
    /// The current `kb_base`.
    pub kb: u64,
    /// Collects remarks about the interpretation of the value.
    pub notes: &'a RefCell<Vec<String>>,
}

impl<'a> Value<'a> {
    /// The text, which is required.
    pub fn text(&self) -> Parsed<&'a str> {
        match self.text.map(str::trim) {
            Some(text) if !text.is_empty() => Ok(text),
            _ => Err("needs a value".into()),
        }
    }

    /// 0 or 1, which is required.
    pub fn flag(&self) -> Parsed<bool> {
        match self.text()? {
            "0" => Ok(false),
            "1" => Ok(true),
            other => Err(format!("'{other}' is neither 0 nor 1")),
        }
    }

    /// 0 or 1; the option alone is 1.
    pub fn set(&self) -> Parsed<bool> {
        match self.text.map(str::trim) {
            None | Some("") => Ok(true),
            Some(_) => self.flag(),
        }
    }

    /// The value for a word; text after a `:` is ignored.
    pub fn word<T: Copy>(&self, words: &[(&str, T)]) -> Parsed<T> {
        let word = self.text()?.split(':').next().unwrap_or_default().trim();
        match words.iter().find(|(name, _)| *name == word) {
            Some((_, value)) => Ok(*value),
            None => {
                let names: Vec<_> = words.iter().map(|(name, _)| *name).collect();
                Err(format!("'{word}' is not one of {}", names.join(", ")))
            }
        }
    }

    /// The text after the first `:`, if any.
    pub fn after_colon(&self) -> Option<&'a str> {
        let (_, rest) = self.text?.split_once(':')?;
        Some(rest.trim()).filter(|rest| !rest.is_empty())
    }

    pub fn bytes(&self) -> Parsed<u64> {
        self.size(self.text()?)?.bytes()
    }

    /// Bytes or percent.
    pub fn amount(&self) -> Parsed<Amount> {
        Ok(match self.size(self.text()?)? {
            Number::Plain(bytes) => Amount::Bytes(bytes),
            Number::Percent(percent) => Amount::Percent(percent),
        })
    }

    /// One size within a text, with a remark if fio's unit is surprising.
    pub fn size(&self, text: &str) -> Parsed<Number> {
        let number = size(text, self.kb)?;
        let letters = text.trim_start_matches(|c: char| c.is_ascii_digit());
        let binary = letters.len() == 3 && letters.to_ascii_lowercase().ends_with("ib");
        if let (true, 1024, Number::Plain(bytes)) = (binary, self.kb, &number) {
            let note = format!(
                "'{text}' is {bytes} bytes: with fio's kb_base=1024 the i means powers of \
                 1000; write '{}' for 1024, or kb_base=1000",
                &text[..text.len() - 2]
            );
            self.notes.borrow_mut().push(note);
        }
        Ok(number)
    }

    /// A whole number from `low` to `high`, with fio's suffixes.
    pub fn count(&self, low: u64, high: u64) -> Parsed<u64> {
        within(self.bytes()?, low, high)
    }

    /// The same with 32 bits.
    pub fn count32(&self, low: u32, high: u32) -> Parsed<u32> {
        Ok(self.count(u64::from(low), u64::from(high))? as u32)
    }

    /// A whole number without suffix that may be negative.
    pub fn signed(&self, low: i64, high: i64) -> Parsed<i64> {
        within(integer(self.text()?)?, low, high)
    }

    /// A time; a bare number counts `unit`s.
    pub fn time(&self, unit: Duration) -> Parsed<Duration> {
        time(self.text()?, unit)
    }

    /// A time, or a minimum and a maximum; a bare number counts `unit`s.
    pub fn times(&self, unit: Duration) -> Parsed<TimeRange> {
        let parts = parts(self.text()?);
        let low = time(parts[0], unit)?;
        match parts[..] {
            [_] => Ok(TimeRange { low, high: low }),
            [_, high] => {
                let high = time(high, unit)?;
                Ok(TimeRange { low: low.min(high), high: low.max(high) })
            }
            _ => Err("has more than two times".into()),
        }
    }

    /// A number of milliseconds.
    pub fn millis(&self) -> Parsed<Duration> {
        Ok(Duration::from_millis(self.count(0, u64::from(u32::MAX))?))
    }

    /// One to three values, for read, write and trim: one value applies to all, the second of two
    /// to write and trim, and an empty one keeps the previous value.
    pub fn per_kind<T: Copy>(
        &self,
        into: &mut PerKind<T>,
        mut one: impl FnMut(&str) -> Parsed<T>,
    ) -> Parsed<()> {
        self.per_kind_split(into, parts(self.text()?), &mut one)
    }

    /// The same, separated only by commas, for options in which `-` and `:` have another meaning.
    pub fn per_kind_commas<T: Clone>(
        &self,
        into: &mut PerKind<T>,
        mut one: impl FnMut(&str) -> Parsed<T>,
    ) -> Parsed<()> {
        self.per_kind_split(into, self.text()?.split(',').collect(), &mut one)
    }

    fn per_kind_split<T: Clone>(
        &self,
        into: &mut PerKind<T>,
        parts: Vec<&str>,
        one: &mut dyn FnMut(&str) -> Parsed<T>,
    ) -> Parsed<()> {
        if parts.len() > 3 {
            return Err("has more than three values; they are for read, write and trim".into());
        }
        if parts.iter().all(|part| part.trim().is_empty()) {
            return Err("needs a value".into());
        }
        let mut value = |index: usize| match parts.get(index).map(|part| part.trim()) {
            None | Some("") => Ok(None),
            Some(part) => one(part).map(Some),
        };
        let (first, second, third) = (value(0)?, value(1)?, value(2)?);
        let (write, trim) = match parts.len() {
            1 => (first.clone(), first.clone()),
            2 => (second.clone(), second),
            _ => (second, third),
        };
        for (place, value) in
            [(&mut into.read, first), (&mut into.write, write), (&mut into.trim, trim)]
        {
            if let Some(value) = value {
                *place = value;
            }
        }
        Ok(())
    }
}
