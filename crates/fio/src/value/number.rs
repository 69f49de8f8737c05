//! Sizes and times with fio's suffixes.
//!
//! With `kb_base=1024`, the default, `k` and `kb` mean 1024 and `kib` means 1000: contrary to the
//! standards, fio keeps the original meaning of the letters. `kb_base=1000` swaps them.

use std::time::Duration;

use super::expression::{Unit, evaluate};
use super::{Parsed, Value};

/// A number of bytes (or of anything), or a percentage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Number {
    /// The number itself.
    Plain(u64),
    /// `50%`.
    Percent(u32),
}

impl Number {
    /// The number, for options in which a percentage makes no sense.
    pub fn bytes(self) -> Parsed<u64> {
        match self {
            Number::Plain(bytes) => Ok(bytes),
            Number::Percent(percent) => Err(format!("'{percent}%': a percentage is not allowed")),
        }
    }
}

/// A size: `4096`, `4k`, `1m`, `0x1000`, `50%`, `(4*1024)k`.
pub(crate) fn size(text: &str, kb: u64) -> Parsed<Number> {
    let text = text.trim();
    if text.starts_with('(') {
        return Ok(Number::Plain(evaluate(text, Unit::Bytes)?));
    }
    if let Some(digits) = hex(text) {
        return Ok(Number::Plain(digits?));
    }
    let (number, suffix) = digits(text)?;
    let suffix = suffix.to_ascii_lowercase();
    match suffix.as_str() {
        "%" if number <= 100 => return Ok(Number::Percent(number as u32)),
        "%" => return Err(format!("'{text}' is more than 100%")),
        "z" => return Err(format!("'{text}': zones of zoned devices are not supported")),
        _ => {}
    }
    let other_base = if kb == 1000 { 1024 } else { 1000 };
    let (base, power) = match suffix.as_str() {
        "" | "b" => (1, 0),
        _ => {
            let letter = suffix.chars().next().unwrap_or_default();
            let power = "kmgtp".find(letter).ok_or_else(|| no_size(text))? as u32 + 1;
            match &suffix[1..] {
                "" | "b" => (kb, power),
                "ib" => (other_base, power),
                _ => return Err(no_size(text)),
            }
        }
    };
    let factor = u64::pow(base, power);
    number.checked_mul(factor).map(Number::Plain).ok_or_else(|| format!("'{text}' is too large"))
}

fn no_size(text: &str) -> String {
    format!("'{text}' is not a number; write for example 4k, 1m, 10g, or (3*512)k")
}

/// A time: `10`, `10s`, `500ms`, `2m`, `1h`; a bare number counts `unit`s.
pub(crate) fn time(text: &str, unit: Duration) -> Parsed<Duration> {
    let text = text.trim();
    if text.starts_with('(') {
        let seconds = unit == Duration::from_secs(1);
        let unit = if seconds { Unit::Seconds } else { Unit::Micros };
        return Ok(Duration::from_micros(evaluate(text, unit)?));
    }
    let (number, suffix) = digits(text)?;
    let unit_time = match suffix.to_ascii_lowercase().as_str() {
        "" => unit,
        "us" | "usec" => Duration::from_micros(1),
        "ms" | "msec" => Duration::from_millis(1),
        "s" => Duration::from_secs(1),
        "m" => Duration::from_secs(60),
        "h" => Duration::from_secs(3600),
        "d" => Duration::from_secs(86_400),
        _ => {
            return Err(format!(
                "'{text}' is not a time: fio knows us, ms, s, m, h, d (and reads other letters \
                 as microseconds)"
            ));
        }
    };
    let nanos = u128::from(number) * unit_time.as_nanos();
    // A hundred years: more is a typing error, and the limit keeps sums of times below 64 bits.
    let nanos_max = 100 * 365 * 86_400 * 1_000_000_000u128;
    if nanos > nanos_max {
        Err(format!("'{text}' is more than a hundred years"))
    } else {
        Ok(Duration::from_nanos(nanos as u64))
    }
}

/// A whole number without suffix, possibly negative.
pub(crate) fn integer(text: &str) -> Parsed<i64> {
    text.trim().parse().map_err(|_| format!("'{text}' is not a whole number"))
}

/// A size that may be negative, such as the step of `rw=read:-8k`.
pub(crate) fn signed(value: &Value, text: &str) -> Parsed<i64> {
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text),
    };
    let bytes = value.size(rest)?.bytes()?;
    i64::try_from(bytes).map(|bytes| sign * bytes).map_err(|_| format!("'{text}' is too large"))
}

/// Leading digits and the rest.
fn digits(text: &str) -> Parsed<(u64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, mut rest) = text.split_at(end);
    if text.starts_with('-') {
        return Err(format!("'{text}' is negative"));
    }
    // What a script computes may end in `.0`.
    if rest.strip_prefix('.').is_some_and(|zeros| zeros.chars().all(|c| c == '0')) {
        rest = "";
    }
    if rest.starts_with('.') {
        return Err(format!(
            "'{text}' has a fraction: fio reads '{digits}' and drops the rest; write whole \
             numbers of a smaller unit"
        ));
    }
    if digits.is_empty() {
        return Err(no_size(text));
    }
    let number = digits.parse().map_err(|_| format!("'{text}' is too large"))?;
    Ok((number, rest.trim_start()))
}

/// The number in `0x...`, if the text is one.
fn hex(text: &str) -> Option<Parsed<u64>> {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"))?;
    Some(
        u64::from_str_radix(digits, 16)
            .map_err(|_| format!("'{text}' is not a hexadecimal number")),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str, kb: u64) -> u64 {
        match size(text, kb) {
            Ok(Number::Plain(bytes)) => bytes,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn suffixes_have_fios_meaning() {
        assert_eq!(plain("4k", 1024), 4096);
        assert_eq!(plain("4KB", 1024), 4096);
        assert_eq!(plain("4KiB", 1024), 4000);
        assert_eq!(plain("4KiB", 1000), 4096);
        assert_eq!(plain("4k", 1000), 4000);
        assert_eq!(plain("2t", 1024), 2 << 40);
        assert_eq!(plain("0x10", 1024), 16);
        assert_eq!(plain("67108864.0", 1024), 64 << 20);
        assert_eq!(plain("512b", 1024), 512);
        assert_eq!(size("50%", 1024), Ok(Number::Percent(50)));
    }

    #[test]
    fn values_that_fio_would_truncate_are_errors() {
        for text in ["1.5g", "4q", "4kk", "-4k", "", "k", "200%", "99999999999p", "4k*2", "0x1g"] {
            assert!(size(text, 1024).is_err(), "{text}");
        }
        for text in ["60sec", "1.5s", "2min", "99999999d"] {
            assert!(time(text, Duration::from_secs(1)).is_err(), "{text}");
        }
    }

    #[test]
    fn a_bare_time_has_the_options_unit() {
        assert_eq!(time("10", Duration::from_secs(1)), Ok(Duration::from_secs(10)));
        assert_eq!(time("10", Duration::from_micros(1)), Ok(Duration::from_micros(10)));
        assert_eq!(time("2m", Duration::from_micros(1)), Ok(Duration::from_secs(120)));
        assert_eq!(time("(2*3)", Duration::from_secs(1)), Ok(Duration::from_secs(6)));
        assert_eq!(time("(2*3)ms", Duration::from_secs(1)), Ok(Duration::from_millis(6)));
    }
}
