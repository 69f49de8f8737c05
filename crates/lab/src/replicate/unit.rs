//! Units of published figures, with their conversion factors to the units of records.

use serde::{Deserialize, Serialize};

/// Units as printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unit {
    /// 10^9 bytes per second.
    #[serde(rename = "GB/s")]
    GbPerSecond,
    /// 10^6 bytes per second.
    #[serde(rename = "MB/s")]
    MbPerSecond,
    /// 1024 bytes per second.
    #[serde(rename = "KiB/s")]
    KibPerSecond,
    /// 1000 bytes per second.
    #[serde(rename = "kB/s")]
    KbPerSecond,
    /// Operations per second.
    #[serde(rename = "IOPS")]
    Iops,
    /// 10^9 bytes.
    #[serde(rename = "GB")]
    Gigabytes,
    #[serde(rename = "s")]
    Seconds,
    #[serde(rename = "ns")]
    Nanoseconds,
    /// A ratio.
    #[serde(rename = "x")]
    Times,
    #[serde(rename = "%")]
    Percent,
    /// 1024 bytes.
    #[serde(rename = "KiB")]
    Kibibytes,
    #[serde(rename = "C")]
    Celsius,
    #[serde(rename = "GBP")]
    Pounds,
    /// A number of things.
    #[serde(rename = "count")]
    Count,
}

impl Unit {
    pub(super) const ALL: [Unit; 14] = [
        Unit::GbPerSecond,
        Unit::MbPerSecond,
        Unit::KibPerSecond,
        Unit::KbPerSecond,
        Unit::Iops,
        Unit::Gigabytes,
        Unit::Seconds,
        Unit::Nanoseconds,
        Unit::Times,
        Unit::Percent,
        Unit::Kibibytes,
        Unit::Celsius,
        Unit::Pounds,
        Unit::Count,
    ];

    /// Its name, and the conversion factor to the record's unit (bytes per second, operations per
    /// second, bytes, nanoseconds).
    pub fn name_and_scale(self) -> (&'static str, f64) {
        match self {
            Unit::GbPerSecond => ("GB/s", 1e9),
            Unit::MbPerSecond => ("MB/s", 1e6),
            Unit::KibPerSecond => ("KiB/s", 1024.0),
            Unit::KbPerSecond => ("kB/s", 1e3),
            Unit::Iops => ("IOPS", 1.0),
            Unit::Gigabytes => ("GB", 1e9),
            Unit::Seconds => ("s", 1e9),
            Unit::Nanoseconds => ("ns", 1.0),
            Unit::Times => ("x", 1.0),
            Unit::Percent => ("%", 0.01),
            Unit::Kibibytes => ("KiB", 1024.0),
            Unit::Celsius => ("C", 1.0),
            Unit::Pounds => ("GBP", 1.0),
            Unit::Count => ("", 1.0),
        }
    }
}

/// At most four significant digits and three decimals, but all digits before the point; without
/// trailing zeros.
pub(super) fn number(value: f64) -> String {
    let digits = libm::log10(value.abs().max(1.0)) as usize + 1;
    let text = format!("{value:.*}", 4usize.saturating_sub(digits).min(3));
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_string()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_four_digits_and_no_trailing_zeros() {
        let said: Vec<_> =
            [159.94, 11.8, 2.5, 0.8312, 34133.0, 406.0, 1.0].into_iter().map(number).collect();
        assert_eq!(said, ["159.9", "11.8", "2.5", "0.831", "34133", "406", "1"]);
    }
}
