//! Parses figures as printed: `215.5`, `12-17`, `>= 2.5 GB/s`, `about 30`. Pure.

use serde::Deserialize;

/// Units as printed: name, the record's unit, and the conversion factor.
const UNITS: [(&str, record::Unit, f64); 14] = [
    ("GB/s", record::Unit::BytesPerSecond, 1e9),
    ("MB/s", record::Unit::BytesPerSecond, 1e6),
    ("KiB/s", record::Unit::BytesPerSecond, 1024.0),
    ("kB/s", record::Unit::BytesPerSecond, 1e3),
    ("TB", record::Unit::Bytes, 1e12),
    ("GB", record::Unit::Bytes, 1e9),
    ("KiB", record::Unit::Bytes, 1024.0),
    ("B", record::Unit::Bytes, 1.0),
    ("s", record::Unit::Nanoseconds, 1e9),
    ("IOPS", record::Unit::Iops, 1.0),
    ("C", record::Unit::Celsius, 1.0),
    ("%", record::Unit::Number, 1.0),
    ("GBP", record::Unit::Number, 1.0),
    ("1", record::Unit::Number, 1.0),
];

/// A figure in the file.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Printed {
    /// A number in the unit of its column.
    Number(f64),
    /// Text with a range, a limit or its own unit.
    Text(String),
}

/// How a printed figure is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meant {
    Exactly,
    /// Approximately.
    About,
    /// A lower limit.
    AtLeast,
    /// An upper limit.
    AtMost,
}

/// The parts of a figure.
#[derive(Clone, Debug, PartialEq)]
pub struct ParsedFigure {
    /// As printed; the lower end of a range.
    pub value: f64,
    /// The upper end of a range.
    pub to: Option<f64>,
    /// How exactly it is meant.
    pub meant: Meant,
    /// As printed, one of `UNITS`.
    pub unit: &'static str,
}

impl ParsedFigure {
    /// Parses a figure; `unit` is the unit of its column. Returns `None` if the text is not a
    /// figure.
    pub fn read(printed: &Printed, unit: Option<&str>) -> Option<ParsedFigure> {
        let text = match printed {
            Printed::Number(value) => {
                return ParsedFigure::new(*value, None, Meant::Exactly, unit?);
            }
            Printed::Text(text) => text.trim(),
        };
        let words = [(">=", Meant::AtLeast), ("<=", Meant::AtMost), ("about", Meant::About)];
        let bound = words.into_iter().find_map(|(w, meant)| Some((text.strip_prefix(w)?, meant)));
        let (rest, meant) = bound.unwrap_or((text, Meant::Exactly));
        let rest = rest.trim();
        let (amount, own_unit) = rest.split_once(' ').map_or((rest, None), |(n, u)| (n, Some(u)));
        let (low, high) = amount.split_once('-').map_or((amount, None), |(l, h)| (l, Some(h)));
        let value_high = high.map(str::parse).transpose().ok()?;
        ParsedFigure::new(low.parse().ok()?, value_high, meant, own_unit.or(unit)?)
    }

    fn new(value: f64, to: Option<f64>, meant: Meant, unit: &str) -> Option<ParsedFigure> {
        let (unit, ..) = UNITS.into_iter().find(|(name, ..)| *name == unit)?;
        let ordered = to.is_none_or(|to| to > value);
        (value.is_finite() && value >= 0.0 && ordered).then_some(ParsedFigure {
            value,
            to,
            meant,
            unit,
        })
    }

    /// Its unit in records, and the conversion factor.
    pub fn scale(&self) -> (record::Unit, f64) {
        let unit = UNITS.into_iter().find(|(name, ..)| *name == self.unit);
        unit.map_or((record::Unit::Number, 1.0), |(_, unit, scale)| (unit, scale))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<(f64, Option<f64>, Meant, &'static str)> {
        let figure = ParsedFigure::read(&Printed::Text(text.into()), Some("MB/s"))?;
        Some((figure.value, figure.to, figure.meant, figure.unit))
    }

    #[test]
    fn figures_as_people_print_them() {
        let table = [
            ("215.5", (215.5, None, Meant::Exactly, "MB/s")),
            ("12-17", (12.0, Some(17.0), Meant::Exactly, "MB/s")),
            (">= 2.5 GB/s", (2.5, None, Meant::AtLeast, "GB/s")),
            ("<= 1.5", (1.5, None, Meant::AtMost, "MB/s")),
            ("about 30 s", (30.0, None, Meant::About, "s")),
        ];
        for (text, expected) in table {
            assert_eq!(read(text), Some(expected), "{text}");
        }
        for text in ["", "fast", "17-12", "-3", "1 parsec", "1-2-3", "nan", "1e999"] {
            assert_eq!(read(text), None, "{text}");
        }
        assert_eq!(ParsedFigure::read(&Printed::Number(3.0), None), None);
    }
}
