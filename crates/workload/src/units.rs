//! Parses and formats sizes, times and rates.
//!
//! `4k`, `4KiB` and `1G` are powers of two, as in fio; `4kB`, `1MB` and `2GB` are powers of ten, as
//! on a drive's label. Throughput is shown in decimal MB/s, block sizes in KiB, latencies with
//! three significant digits.

use std::time::Duration;

/// Parses a number of bytes: `512`, `4k`, `4KiB`, `1M`, `1.5G`, `2GB`, `1TiB`.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let (number, suffix) = split(text);
    let scale: u64 = match suffix.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        "t" | "tib" => 1 << 40,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "tb" => 1_000_000_000_000,
        _ => return Err(bad_size(text)),
    };
    // Whole numbers stay exact; fractions go through floating point.
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(scale).ok_or_else(|| format!("size '{text}' is too large"));
    }
    let value: f64 = number.parse().map_err(|_| bad_size(text))?;
    let bytes = value * scale as f64;
    if !(bytes >= 0.0 && bytes < 2f64.powi(63)) {
        return Err(bad_size(text));
    }
    Ok(bytes.round() as u64)
}

fn bad_size(text: &str) -> String {
    format!("'{text}' is not a size; write for example 4k, 1MiB, 1.5G or 2GB")
}

/// Parses a time: `10s`, `500ms`, `2m`, `1h`; a bare number is seconds.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let bad = || format!("'{text}' is not a time; write for example 10s, 500ms, 2m or 1h");
    let (number, suffix) = split(text);
    let scale = match suffix {
        "" | "s" => 1.0,
        "ms" => 1e-3,
        "us" => 1e-6,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        _ => return Err(bad()),
    };
    let value: f64 = number.parse().map_err(|_| bad())?;
    Duration::try_from_secs_f64(value * scale).map_err(|_| bad())
}

/// Parses a rate in bytes per second: `400MB/s`, `1.5GiB/s`, `3200Mbit/s`, `800Mb/s` (bits), or
/// frames per second times the size of a frame: `24x12MB`. A rate always has a unit; `mb/s` could be
/// bits or bytes and is refused.
pub fn parse_rate(text: &str) -> Result<f64, String> {
    let bad = || {
        format!("'{text}' is not a rate; write for example 400MB/s, 3200Mbit/s or 24x12MB (frames)")
    };
    let rate = match text.split_once('x') {
        Some((frames, frame)) => {
            let frames = frames.trim().trim_end_matches("fps").trim_end();
            let frames: f64 = frames.parse().map_err(|_| bad())?;
            frames * parse_bytes(frame).map_err(|_| bad())? as f64
        }
        None => {
            let (number, unit) = split(text);
            let number: f64 = number.parse().map_err(|_| bad())?;
            number * bytes_per_s(unit).ok_or_else(bad)?
        }
    };
    if rate.is_finite() && rate > 0.0 { Ok(rate) } else { Err(bad()) }
}

/// The bytes per second in a unit of rates, such as `MB/s` or `Gbit/s`.
fn bytes_per_s(unit: &str) -> Option<f64> {
    let amount = unit.strip_suffix("/s").or_else(|| unit.strip_suffix("ps"))?;
    let bits = amount.strip_suffix("bit").or_else(|| amount.strip_suffix('b'));
    let (prefix, share) = match bits {
        Some(prefix) => (prefix, 1.0 / 8.0),
        None => (amount.strip_suffix('B')?, 1.0),
    };
    let scale = match prefix {
        "" => 1.0,
        "k" | "K" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        "Ki" => 1024.0,
        "Mi" => 1_048_576.0,
        "Gi" => 1_073_741_824.0,
        _ => return None,
    };
    Some(scale * share)
}

/// Parses a number of events, per second or in all, of which `k` are thousand and `M` a million:
/// `5000`, `5k`, `1.2M`.
pub fn parse_amount(text: &str) -> Result<f64, String> {
    let bad = || format!("'{text}' is not a number; write for example 5000, 5k or 1.2M");
    let text = text.trim();
    let (number, scale) = match text.strip_suffix(['k', 'K']) {
        Some(number) => (number, 1e3),
        None => text.strip_suffix('M').map_or((text, 1.0), |number| (number, 1e6)),
    };
    number.parse::<f64>().map(|number| number * scale).map_err(|_| bad())
}

fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    (&text[..end], text[end..].trim_start())
}

/// A block size or file size in binary units, exact where short enough: `4 KiB`, `1 MiB`, `512 B`.
pub fn binary(bytes: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut index = 0;
    let mut value = bytes;
    while value >= 1024 && value.is_multiple_of(1024) && index + 1 < units.len() {
        value /= 1024;
        index += 1;
    }
    if value < 10_000 || index + 1 == units.len() {
        return format!("{value} {}", units[index]);
    }
    let mut value = value as f64;
    while value >= 1024.0 && index + 1 < units.len() {
        value /= 1024.0;
        index += 1;
    }
    format!("{} {}", significant(value), units[index])
}

/// Like [`binary`], without the space, for metric names: `4KiB`.
pub fn binary_tight(bytes: u64) -> String {
    binary(bytes).replace(' ', "")
}

/// A capacity in decimal units: `1.00 TB`, `64.2 GB`.
pub fn decimal(bytes: u64) -> String {
    let units = ["B", "kB", "MB", "GB", "TB", "PB"];
    let mut value = bytes as f64;
    let mut index = 0;
    while value >= 999.5 && index + 1 < units.len() {
        value /= 1000.0;
        index += 1;
    }
    if index == 0 {
        format!("{bytes} B")
    } else {
        format!("{} {}", significant(value), units[index])
    }
}

/// Throughput in decimal MB/s with three or four significant digits: `3480 MB/s`, `41.2 MB/s`; in
/// kB/s or B/s below 1 MB/s, in GB/s from 10,000 MB/s.
pub fn throughput(bytes_per_s: f64) -> String {
    match bytes_per_s.abs() {
        v if v > 0.0 && v < 999.5 => format!("{} B/s", significant(bytes_per_s)),
        v if v > 0.0 && v < 999_500.0 => format!("{} kB/s", significant(bytes_per_s / 1e3)),
        v if v < 9_995e6 => format!("{} MB/s", amount(bytes_per_s / 1e6)),
        _ => format!("{} GB/s", significant(bytes_per_s / 1e9)),
    }
}

/// A latency with three significant digits and its unit: `812 ns`, `83.1 us`, `1.20 s`.
pub fn latency(ns: f64) -> String {
    if ns < 0.0 {
        return format!("-{}", latency(-ns));
    }
    let units = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];
    let (unit, scale) = units.into_iter().find(|u| ns / u.1 < 999.5).unwrap_or(units[3]);
    if scale == 1.0 { format!("{ns:.0} ns") } else { format!("{} {unit}", significant(ns / scale)) }
}

/// A time span with minutes and hours after colons: `41 s`, `18:04`, `2:03:11`.
pub fn span(seconds: f64) -> String {
    let whole = seconds.max(0.0).round() as u64;
    match (whole / 3600, whole / 60 % 60, whole % 60) {
        (0, 0, _) if seconds < 10.0 => format!("{seconds:.1} s"),
        (0, 0, s) => format!("{s} s"),
        (0, m, s) => format!("{m}:{s:02}"),
        (h, m, s) => format!("{h}:{m:02}:{s:02}"),
    }
}

/// A time span in one unit: `13 ms`, `0.9 s`, `41 s`, `6 min`, `2.3 h`.
pub fn duration(seconds: f64) -> String {
    match seconds {
        s if s > 0.0 && s < 0.095 => format!("{:.0} ms", (s * 1e3).max(1.0)),
        s if s < 9.95 => format!("{s:.1} s"),
        s if s < 119.5 => format!("{s:.0} s"),
        s if s < 7170.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

/// Three significant digits: `1.00`, `41.2`, `812`.
pub fn significant(value: f64) -> String {
    match value.abs() {
        v if v < 9.995 => format!("{value:.2}"),
        v if v < 99.95 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// A count or rate with three or four significant digits: `0.0123`, `843`, `15.6k`, `188k`,
/// `1.20M`.
pub fn amount(value: f64) -> String {
    match value.abs() {
        v if v > 0.0 && v < 0.995 => {
            let decimals = (2.0 - libm::log10(v).floor()).clamp(2.0, 9.0) as usize;
            format!("{value:.decimals$}")
        }
        v if v < 9_995.0 => significant(value),
        v if v < 999_500.0 => format!("{}k", significant(value / 1e3)),
        v if v < 999.5e6 => format!("{}M", significant(value / 1e6)),
        _ => format!("{}G", significant(value / 1e9)),
    }
}

/// The greatest common divisor; with 0, the other number. It loops instead of recursing, because
/// the numbers come from user input.
pub fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sizes_follow_fio_and_drive_labels() {
        let table = [
            ("512", 512),
            ("4k", 4096),
            ("4K", 4096),
            ("4 KiB", 4096),
            ("4kB", 4000),
            ("1.5G", 3 << 29),
            ("2TB", 2_000_000_000_000),
            ("16TiB", 16 << 40),
            ("0", 0),
        ];
        for (text, bytes) in table {
            assert_eq!(parse_bytes(text), Ok(bytes), "{text}");
        }
        for text in ["", "k", "4x", "-4k", "4kk", "99999999999999999999", "1e9", "20000000TiB"] {
            assert!(parse_bytes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn times() {
        assert_eq!(parse_duration("10s"), Ok(Duration::from_secs(10)));
        assert_eq!(parse_duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse_duration("1.5m"), Ok(Duration::from_secs(90)));
        assert!(parse_duration("10 parsecs").is_err());
        assert!(parse_duration("s").is_err());
    }

    #[test]
    fn rates_have_units_and_bits_are_not_bytes() {
        let table = [
            ("400MB/s", 400e6),
            ("1.5 GiB/s", 1.5 * 1_073_741_824.0),
            ("3200Mbit/s", 400e6),
            ("400Mb/s", 50e6),
            ("10Gbps", 1.25e9),
            ("250MBps", 250e6),
            ("24x12MB", 288e6),
            ("60fps x 8MiB", 60.0 * 8_388_608.0),
        ];
        for (text, rate) in table {
            assert_eq!(parse_rate(text), Ok(rate), "{text}");
        }
        for text in ["400", "400MB", "2G", "400mb/s", "0MB/s", "-1MB/s", "x", "24x", "1e400x1"] {
            assert!(parse_rate(text).is_err(), "{text}");
        }
        assert_eq!(parse_amount("5k"), Ok(5000.0));
        assert_eq!(parse_amount("1.2M"), Ok(1.2e6));
        assert!(parse_amount("5 parsecs").is_err() && parse_amount("").is_err());
    }

    #[test]
    fn values_are_shown_as_people_write_them() {
        assert_eq!(binary(4096), "4 KiB");
        assert_eq!(binary(1 << 30), "1 GiB");
        assert_eq!(binary(1000), "1000 B");
        assert_eq!(binary(1_000_204_886_016), "932 GiB");
        assert_eq!(decimal(1_000_204_886_016), "1.00 TB");
        assert_eq!(throughput(41.23e6), "41.2 MB/s");
        assert_eq!(throughput(12_345.6e6), "12.3 GB/s");
        assert_eq!(throughput(12_345.6), "12.3 kB/s");
        assert_eq!(throughput(999_400.0), "999 kB/s");
        assert_eq!(throughput(999_600.0), "1.00 MB/s");
        assert_eq!(throughput(0.0), "0.00 MB/s");
        let amounts = [0.0123, 0.5, 843.2, 9_994.0, 184_632.0, 1_200_000.0, -15_600.0];
        let shown = ["0.0123", "0.500", "843", "9994", "185k", "1.20M", "-15.6k"];
        assert_eq!(amounts.map(amount), shown);
        assert_eq!(latency(83_120.0), "83.1 us");
        assert_eq!(latency(812.0), "812 ns");
        assert_eq!(latency(-2738.0), "-2.74 us");
        assert_eq!(latency(1.2e9), "1.20 s");
        assert_eq!(span(1084.0), "18:04");
    }

    proptest! {
        #[test]
        fn any_text_is_a_size_or_an_error(text in ".{0,12}") {
            let _ = parse_bytes(&text);
            let _ = parse_duration(&text);
            let _ = parse_amount(&text);
            let _ = parse_rate(&text);
        }

        #[test]
        fn binary_sizes_survive(exponent in 0u32..44, factor in 1u64..9000) {
            let bytes = factor << exponent;
            if bytes >> 40 < 9000 && (bytes.trailing_zeros() / 10 * 10) >= exponent / 10 * 10 {
                let shown = binary(bytes);
                if !shown.contains('.') && bytes < 10_000 << (exponent / 10 * 10) {
                    prop_assert_eq!(parse_bytes(&shown), Ok(bytes));
                }
            }
        }
    }
}
