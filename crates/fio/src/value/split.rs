//! Lists: values for read, write and trim, shares of sizes and zones, parameters of distributions.

use super::super::{Share, Spread, ZoneBytes, ZonePercent};
use super::{Parsed, Value, integer};

/// Maximum number of entries in a list of block sizes, as in fio.
const SIZES_MAX: usize = 64;
/// Maximum number of zones, as in fio.
const ZONES_MAX: usize = 256;

/// Splits a list as fio does: at commas, if no comma follows at colons, and otherwise at dashes. An
/// expression in parentheses is one part. Returns at most four parts, because no list has more than
/// three values.
pub(crate) fn parts(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let (Some(end), 0..3) = (separator(rest), parts.len()) {
        parts.push(&rest[..end]);
        rest = &rest[end + 1..];
    }
    parts.push(rest);
    parts
}

fn separator(text: &str) -> Option<usize> {
    let mut first = [None; 3];
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        depth += i32::from(c == '(') - i32::from(c == ')');
        let rank = ",:-".find(c).filter(|_| depth <= 0);
        // A dash at the start is a minus.
        if let Some(rank) = rank.filter(|_| c != '-' || at > 0) {
            first[rank].get_or_insert(at);
        }
    }
    first.into_iter().flatten().next()
}

/// `bssplit` of one direction: `4k/60:64k/40`. Sizes without a percentage share the rest. As in
/// fio, the result is sorted by ascending percentage.
pub(crate) fn shares(value: &Value, text: &str) -> Parsed<Vec<Share>> {
    let mut shares = Vec::new();
    let mut open_shares = Vec::new();
    for entry in text.split(':').filter(|entry| !entry.trim().is_empty()) {
        if shares.len() == SIZES_MAX {
            return Err(format!("has more than {SIZES_MAX} sizes"));
        }
        let (bytes, percent) = entry.split_once('/').unwrap_or((entry, ""));
        let bytes = block(value.size(bytes)?.bytes()?)?;
        let percent = match percent.trim() {
            // fio does not distinguish an explicit 0 from a missing percentage.
            "" | "0" => {
                open_shares.push(shares.len());
                0
            }
            percent => percentage(percent)?,
        };
        shares.push(Share { bytes, percent });
    }
    let sum: u32 = shares.iter().map(|share| share.percent).sum();
    if sum > 100 {
        return Err(format!("percentages add up to {sum}"));
    }
    let share = (100 - sum).checked_div(open_shares.len() as u32).unwrap_or(0);
    for index in open_shares {
        shares[index].percent = share;
    }
    shares.sort_by_key(|share| share.percent);
    Ok(shares)
}

/// A block size within bounds.
pub(crate) fn block(bytes: u64) -> Parsed<u64> {
    match bytes {
        0 => Err("a block must have at least 1 byte".into()),
        1..=0x4000_0000 => Ok(bytes),
        _ => Err(format!("a block of {bytes} bytes is larger than the limit of 1 GiB")),
    }
}

fn percentage(text: &str) -> Parsed<u32> {
    match integer(text.trim().trim_end_matches('%'))? {
        percent @ 0..=100 => Ok(percent as u32),
        percent => Err(format!("{percent} is not a percentage")),
    }
}

/// `zoned:` or `zoned_abs:` of one direction: shares of accesses, each with its size as text.
pub(crate) fn access_shares(text: &str) -> Parsed<Vec<(u32, &str)>> {
    let mut zones = Vec::new();
    for entry in text.split(':').filter(|entry| !entry.trim().is_empty()) {
        if zones.len() == ZONES_MAX {
            return Err(format!("has more than {ZONES_MAX} zones"));
        }
        let (access, size) = entry.split_once('/').unwrap_or((entry, ""));
        zones.push((percentage(access)?, size.trim()));
    }
    match zones.iter().map(|zone| zone.0).sum::<u32>() {
        100 => Ok(zones),
        sum => Err(format!("shares of accesses add up to {sum}, not 100")),
    }
}

impl ZonePercent {
    /// `60/10:40/90`; zones without a size share the rest of the file.
    pub(crate) fn list(text: &str) -> Parsed<Vec<ZonePercent>> {
        let zones = access_shares(text)?;
        let sizes = zones.iter().map(|(_, size)| match *size {
            "" | "0" => Ok(None),
            size => percentage(size).map(Some),
        });
        let sizes = sizes.collect::<Parsed<Vec<_>>>()?;
        let sum: u32 = sizes.iter().flatten().sum();
        if sum > 100 {
            return Err(format!("sizes add up to {sum}%"));
        }
        let open = sizes.iter().filter(|size| size.is_none()).count() as u32;
        let share = (100 - sum).checked_div(open).unwrap_or(0);
        let zones = zones.iter().zip(&sizes).map(|((access_percent, _), size)| ZonePercent {
            access_percent: *access_percent,
            size_percent: size.unwrap_or(share),
        });
        Ok(zones.collect())
    }
}

impl ZoneBytes {
    /// `60/1g:40/0`.
    pub(crate) fn list(value: &Value, text: &str) -> Parsed<Vec<ZoneBytes>> {
        let zones = access_shares(text)?.into_iter().map(|(access_percent, size)| {
            let bytes = if size.is_empty() { 0 } else { value.size(size)?.bytes()? };
            Ok(ZoneBytes { access_percent, bytes })
        });
        zones.collect()
    }
}

/// `1.2` or `1.2:0.5`: the parameter of a distribution and its centre.
fn finite(text: &str) -> Parsed<f64> {
    match text.trim().parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        _ => Err(format!("'{text}' is not a number")),
    }
}

fn spread(text: Option<&str>, usual: f64) -> Parsed<Spread> {
    let Some(text) = text else { return Ok(Spread { value: usual, center: None }) };
    let (value, center) = match text.split_once(':') {
        Some((value, center)) => (finite(value)?, Some(finite(center)?)),
        None => (finite(text)?, None),
    };
    match center {
        Some(center) if !(0.0..=1.0).contains(&center) => {
            Err(format!("centre {center} is not within 0 to 1"))
        }
        _ => Ok(Spread { value, center }),
    }
}

/// `zipf:theta[:center]`.
pub(crate) fn zipf(text: Option<&str>) -> Parsed<Spread> {
    let spread = spread(text, 1.1)?;
    match spread.value {
        1.0 => Err("zipf with theta 1 is undefined; use for example 1.01".to_string()),
        theta if theta > 0.0 && theta <= 100.0 => Ok(spread),
        theta => Err(format!("zipf theta {theta} is not above 0")),
    }
}

/// `pareto:power[:center]`.
pub(crate) fn pareto(text: Option<&str>) -> Parsed<Spread> {
    let spread = spread(text, 0.2)?;
    match spread.value {
        power if power > 0.0 && power < 1.0 => Ok(spread),
        power => Err(format!("pareto power {power} is not between 0 and 1")),
    }
}

/// `normal:deviation[:center]`, in percent.
pub(crate) fn normal(text: Option<&str>) -> Parsed<Spread> {
    let spread = spread(text, 0.0)?;
    match spread.value {
        deviation if (0.0..100.0).contains(&deviation) => Ok(spread),
        deviation => Err(format!("deviation {deviation} is not within 0 to 100")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::with_value;

    #[test]
    fn lists_are_separated_as_in_fio() {
        assert_eq!(parts("4k,8k"), ["4k", "8k"]);
        assert_eq!(parts("4k-8k"), ["4k", "8k"]);
        assert_eq!(parts("4k:8k,16k"), ["4k:8k", "16k"]);
        assert_eq!(parts("-5"), ["-5"]);
        assert_eq!(parts("(9-1)k,2k"), ["(9-1)k", "2k"]);
        assert_eq!(parts(",8k"), ["", "8k"]);
        assert_eq!(parts(&",".repeat(1 << 20)).len(), 4);
    }

    #[test]
    fn sizes_without_a_percentage_share_the_rest() {
        let split = |text: &str| with_value(text, |value| shares(value, text));
        let share = |bytes, percent| Share { bytes, percent };
        assert_eq!(
            split("4k/10:64k/50:32k/40"),
            Ok(vec![share(4096, 10), share(32768, 40), share(65536, 50)])
        );
        assert_eq!(
            split("4k/60:8k/:16k"),
            Ok(vec![share(8192, 20), share(16384, 20), share(4096, 60)])
        );
        assert_eq!(split("4k"), Ok(vec![share(4096, 100)]));
        assert!(split("4k/60:8k/60").is_err());
        assert!(split(&"4k/1:".repeat(65)).is_err());
    }

    #[test]
    fn zones() {
        let zone = |access_percent, size_percent| ZonePercent { access_percent, size_percent };
        let list = ZonePercent::list("60/10:30/20:8/:2");
        assert_eq!(list, Ok(vec![zone(60, 10), zone(30, 20), zone(8, 35), zone(2, 35)]));
        assert!(ZonePercent::list("60/10").is_err());
        let bytes = with_value("", |value| ZoneBytes::list(value, "60/1g:40"));
        let zone = |access_percent, bytes| ZoneBytes { access_percent, bytes };
        assert_eq!(bytes, Ok(vec![zone(60, 1 << 30), zone(40, 0)]));
    }
}
