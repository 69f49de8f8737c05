//! Parsers for the option values of `io`.

use std::str::FromStr;

use lab::io::Burst;
use workload::{BlockSizes, Pattern, units};

/// Maximum block size, bytes; every operation in flight needs a buffer of this size.
const BLOCK_MAX: u64 = 1 << 30;

/// Parses one block size, or several with weights: `4k`, `4k:60,64k:40`.
pub fn blocks(text: &str) -> Result<BlockSizes, String> {
    if !text.contains([':', ',']) {
        return Ok(BlockSizes::Fixed(block(text)?));
    }
    let parts = text.split(',').map(|part| {
        let (size, weight) = part.split_once(':').unwrap_or((part, "1"));
        let weight = weight.trim().parse::<u32>();
        let weight = weight.map_err(|_| format!("'{part}' has no whole number after the ':'"))?;
        Ok((block(size)?, weight))
    });
    Ok(BlockSizes::Split(parts.collect::<Result<_, String>>()?))
}

fn block(text: &str) -> Result<u32, String> {
    let bytes = units::parse_bytes(text)?;
    let unit = text.trim().trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    // Who writes 4kb means 4 KiB, as fio does.
    if matches!(unit, "kb" | "kB" | "mb" | "MB") && bytes % 512 != 0 {
        let (number, prefix) = (text.trim().trim_end_matches(unit).trim_end(), &unit[..1]);
        let binary = format!("{number} {}iB", prefix.to_ascii_uppercase());
        return Err(format!("'{text}' is {bytes} bytes; for {binary} write {number}{prefix}"));
    }
    let is_valid = (1..=BLOCK_MAX).contains(&bytes);
    let bytes = u32::try_from(bytes).ok().filter(|_| is_valid);
    bytes.ok_or_else(|| format!("a block must be 1 byte to {}", units::binary(BLOCK_MAX)))
}

/// Parses percent of space and percent of accesses: `20/80`.
pub fn hot_cold(text: &str) -> Result<Pattern, String> {
    let shares = text.split_once('/').and_then(|(space, access)| {
        let [space, access] = [space, access].map(|part| {
            let percent = part.trim().trim_end_matches('%').parse::<f64>().ok()?;
            (percent > 0.0 && percent < 100.0).then_some(percent / 100.0)
        });
        space.zip(access)
    });
    let (space, access) = shares.ok_or("write two percentages between 0 and 100, such as 20/80")?;
    Ok(Pattern::hot_cold(space, access))
}

/// Parses lengths of bursts and of the pauses between them: `1s/9s`.
pub fn burst(text: &str) -> Result<Burst, String> {
    let (busy, pause) = text.split_once('/').ok_or("write two times, such as 1s/9s")?;
    Ok(Burst { on_ns: time_ns(busy)?, off_ns: time_ns(pause)? })
}

/// Parses a nonzero duration, nanoseconds.
pub fn time_ns(text: &str) -> Result<u64, String> {
    match u64::try_from(units::parse_duration(text)?.as_nanos()) {
        Ok(0) => Err("a time of 0 leaves nothing to measure".into()),
        Ok(ns) => Ok(ns),
        Err(_) => Err("that is centuries".into()),
    }
}

/// Parses a whole number, at least 1.
pub fn count<N: FromStr + PartialOrd + From<u8>>(text: &str) -> Result<N, String> {
    let number = text.parse::<N>().ok().filter(|n| *n >= N::from(1));
    number.ok_or_else(|| "must be a whole number, 1 or more".into())
}

/// Parses a number above 0.
pub fn positive(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|n| n.is_finite() && *n > 0.0);
    number.ok_or_else(|| "must be a number above 0".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn block_sizes_with_and_without_weights() {
        assert_eq!(blocks("4k"), Ok(BlockSizes::Fixed(4096)));
        assert_eq!(blocks("1G"), Ok(BlockSizes::Fixed(1 << 30)));
        assert_eq!(blocks("4k:60,64k:40"), Ok(BlockSizes::Split(vec![(4096, 60), (65_536, 40)])));
        assert_eq!(blocks("4k,1M"), Ok(BlockSizes::Split(vec![(4096, 1), (1 << 20, 1)])));
        for text in
            ["", "0", "4x", "2G", "16TiB", "4k:", "4k:x", "4k:-1", "4k:60,", ":60", "4k:1.5"]
        {
            assert!(blocks(text).is_err(), "{text}");
        }
        let decimal = blocks("4kb").expect_err("no block size");
        assert_eq!(decimal, "'4kb' is 4000 bytes; for 4 KiB write 4k");
        assert_eq!(blocks("4000"), Ok(BlockSizes::Fixed(4000)), "for a file in memory");
    }

    #[test]
    fn hot_and_cold_in_percent() {
        let expected = Pattern::hot_cold(0.2, 0.8);
        assert_eq!(hot_cold("20/80"), Ok(expected.clone()));
        assert_eq!(hot_cold("20% / 80%"), Ok(expected));
        for text in ["", "20", "20/", "0/80", "20/100", "a/b", "-20/80", "nan/80"] {
            assert!(hot_cold(text).is_err(), "{text}");
        }
    }

    #[test]
    fn bursts_are_two_times() {
        assert_eq!(burst("1s/9s"), Ok(Burst { on_ns: 1_000_000_000, off_ns: 9_000_000_000 }));
        assert_eq!(burst("250us/1ms"), Ok(Burst { on_ns: 250_000, off_ns: 1_000_000 }));
        for text in ["1s", "1s/", "0s/1s", "1s/x", "/"] {
            assert!(burst(text).is_err(), "{text}");
        }
    }

    #[test]
    fn empty_durations_and_counts_are_refused() {
        assert_eq!(positive("0.5"), Ok(0.5));
        for text in ["0", "-1", "inf", "nan", "x", ""] {
            assert!(positive(text).is_err(), "{text}");
        }
        assert_eq!((count::<u32>("1"), count::<u64>("4294967296")), (Ok(1), Ok(1 << 32)));
        assert!(count::<u32>("0").is_err() && count::<u32>("4294967296").is_err());
        assert_eq!(time_ns("1.5s"), Ok(1_500_000_000));
        for text in ["0s", "0.1ns", "1000000d", "x", ""] {
            assert!(time_ns(text).is_err(), "{text}");
        }
    }
}
