//! Numbers in fio's format: `14.3k`, `56.0MiB/s`, `9133.1k`.

/// A number in at most `digits` characters: divided by 1000 or 1024 until it fits, with as many
/// decimals as possible, followed by prefix and unit.
pub(super) fn short(number: f64, digits: usize, binary: bool, unit: &str) -> String {
    let prefixes =
        if binary { ["", "Ki", "Mi", "Gi", "Ti", "Pi"] } else { ["", "k", "M", "G", "T", "P"] };
    let thousand = if binary { 1024 } else { 1000 };
    let (mut whole, mut rest, mut step) = (number.max(0.0) as u64, None, 0);
    while whole.to_string().len() > digits && step + 1 < prefixes.len() {
        rest = Some(whole % thousand);
        whole /= thousand;
        step += 1;
    }
    let prefix = prefixes[step];
    let room = digits - whole.to_string().len().min(digits);
    match rest {
        None => format!("{whole}{prefix}{unit}"),
        Some(rest) if room <= 1 => {
            format!("{}{prefix}{unit}", whole + u64::from(rest >= thousand / 2))
        }
        Some(rest) => {
            let value = whole as f64 + rest as f64 / thousand as f64;
            format!("{value:.*}{prefix}{unit}", room - 1)
        }
    }
}

/// A count: `14.3k`.
pub(super) fn count(number: f64) -> String {
    short(number, 4, false, "")
}

/// Bytes per second in both units: `56.0MiB/s (58.7MB/s)`, or the same in bits.
pub(super) fn rate(bytes_per_s: f64, bits: bool) -> String {
    format!("{} ({})", binary_rate(bytes_per_s, bits), decimal_rate(bytes_per_s, bits))
}

/// `56.0MiB/s`, `448Mibit/s`.
pub(super) fn binary_rate(bytes_per_s: f64, bits: bool) -> String {
    in_units(bytes_per_s, true, bits)
}

/// `58.7MB/s`, `470Mbit/s`.
pub(super) fn decimal_rate(bytes_per_s: f64, bits: bool) -> String {
    in_units(bytes_per_s, false, bits)
}

fn in_units(bytes_per_s: f64, binary: bool, bits: bool) -> String {
    if bits {
        short(bytes_per_s * 8.0, 4, binary, "bit/s")
    } else {
        short(bytes_per_s, 4, binary, "B/s")
    }
}

/// `48.0MiB`.
pub(super) fn bytes(bytes: u64) -> String {
    short(bytes as f64, 4, true, "B")
}

/// `50.3MB`.
pub(super) fn decimal_bytes(bytes: u64) -> String {
    short(bytes as f64, 4, false, "B")
}

/// The unit in which a latency is shown: its name, and its nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LatencyUnit {
    pub name: &'static str,
    pub ns: f64,
}

impl LatencyUnit {
    /// fio's choice: the largest unit in which the smallest value is well above 1.
    pub(super) fn for_range(min_ns: f64, max_ns: f64, deviation_ns: f64) -> LatencyUnit {
        // The figures in multiples of their limits for a larger unit.
        let excess = (min_ns / 2000.0).min(max_ns / 99_999.0).min(deviation_ns / 1000.0);
        if excess > 1000.0 {
            LatencyUnit { name: "msec", ns: 1e6 }
        } else if excess > 1.0 {
            LatencyUnit { name: "usec", ns: 1e3 }
        } else {
            LatencyUnit { name: "nsec", ns: 1.0 }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_look_like_those_of_fio() {
        assert_eq!(count(14_323.0), "14.3k");
        assert_eq!(count(4793.0), "4793");
        assert_eq!(count(123_456.0), "123k");
        assert_eq!(count(1_234_567.0), "1235k");
        assert_eq!(bytes(50_282_496), "48.0MiB");
        assert_eq!(decimal_bytes(50_282_496), "50.3MB");
        assert_eq!(bytes(16 << 20), "16.0MiB");
        assert_eq!(bytes(4 << 30), "4096MiB");
        assert_eq!(short(9_133_100.0, 6, false, ""), "9133.1k");
        assert_eq!(short(10_331.0, 6, false, ""), "10331");
        assert_eq!(rate(58_719_000.0, false), "56.0MiB/s (58.7MB/s)");
        // fio 3.33's output for 400 KiB in 1002 ms with unit_base=1.
        assert_eq!(rate(400.0 * 1024.0 / 1.002, true), "3194Kibit/s (3270kbit/s)");
    }
}
