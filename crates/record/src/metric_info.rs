//! Declarations of metrics: name, unit and meaning of every metric that a method or command
//! publishes.
//!
//! A declaration is one metric, or a family of metrics whose names differ in a few words. Scripts
//! publish it and answers refer to it, so its name and unit stand in one place; tests prove that
//! every published metric is declared with its unit. It is also the source of the tables in
//! docs/methods.md and of `ssdyno methods NAME`.

use std::fmt::Display;

use crate::Statistic;
use crate::key::MetricKey;
use crate::metric::{Metric, Unit};
use crate::places::Places;

/// A metric, or a family of metrics, of a method or a command.
#[derive(Clone, Copy, Debug)]
pub struct MetricInfo {
    /// Its key. A part in braces varies within the family, see [`Places`].
    pub name: &'static str,
    /// Unit of all metrics of the family.
    pub unit: Unit,
    /// Its meaning, without a full stop.
    pub meaning: &'static str,
}

impl MetricInfo {
    /// Creates a declaration.
    pub const fn new(name: &'static str, unit: Unit, meaning: &'static str) -> MetricInfo {
        MetricInfo { name, unit, meaning }
    }

    /// Declares bytes per second.
    pub const fn rate(name: &'static str, meaning: &'static str) -> MetricInfo {
        MetricInfo::new(name, Unit::BytesPerSecond, meaning)
    }

    /// Declares operations per second.
    pub const fn iops(name: &'static str, meaning: &'static str) -> MetricInfo {
        MetricInfo::new(name, Unit::Iops, meaning)
    }

    /// Declares nanoseconds.
    pub const fn ns(name: &'static str, meaning: &'static str) -> MetricInfo {
        MetricInfo::new(name, Unit::Nanoseconds, meaning)
    }

    /// Declares bytes.
    pub const fn bytes(name: &'static str, meaning: &'static str) -> MetricInfo {
        MetricInfo::new(name, Unit::Bytes, meaning)
    }

    /// Declares a pure number.
    pub const fn number(name: &'static str, meaning: &'static str) -> MetricInfo {
        MetricInfo::new(name, Unit::Number, meaning)
    }

    /// One metric of the family, or a part of the family, under its own name.
    #[must_use]
    pub const fn named(self, name: &'static str) -> MetricInfo {
        MetricInfo { name, ..self }
    }

    /// The metric of the family with these words at its places.
    pub fn member(self, words: &[&dyn Display]) -> MetricKey {
        MetricKey::parse(&Places::fill(self.name, words))
    }

    /// Another figure of the same subject.
    pub fn with(self, statistic: Statistic) -> MetricKey {
        MetricKey::from(self).with(statistic)
    }

    /// Its value, measured once, without an interval.
    pub fn single(self, value: f64) -> Metric {
        Metric::single(self.name, self.unit, value)
    }

    /// Whether it declares this metric.
    pub fn covers(&self, key: &MetricKey) -> bool {
        MetricInfo::is_of(self.name, key)
    }

    /// Whether a key matches a pattern as in [`MetricInfo::name`].
    pub fn is_of(pattern: &str, key: &MetricKey) -> bool {
        Places::parse(pattern, &key.to_string()).is_some()
    }
}

impl From<MetricInfo> for MetricKey {
    fn from(metric: MetricInfo) -> MetricKey {
        MetricKey::parse(metric.name)
    }
}

impl From<MetricInfo> for String {
    fn from(metric: MetricInfo) -> String {
        metric.name.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is(pattern: &'static str, name: &str) -> bool {
        MetricInfo::number(pattern, "").covers(&MetricKey::parse(name))
    }

    #[test]
    fn a_family_covers_exactly_the_names_of_its_pattern() {
        assert!(is("heat-load.hot", "heat-load.hot") && !is("heat-load.hot", "heat-load.hottest"));
        assert!(is("align-{bytes}.ratio", "align-512.ratio"));
        for name in ["align-.ratio", "align-x.ratio", "align-512", "align-512.ratio.max"] {
            assert!(!is("align-{bytes}.ratio", name), "{name}");
        }
        let cell = "{seq,rand}-{read,write}-{size}-q{depth}";
        assert!(is(cell, "rand-write-4KiB-q32") && is(cell, "seq-read-512B-q1"));
        for name in
            ["rand-4KiB-q32", "rand-read-write-4KiB-q1", "rand-read-4-q1", "seq-read-4KiB-q"]
        {
            assert!(!is(cell, name), "{name}");
        }
        assert!(is("idle-{time}", "idle-900s") && is("idle-{time}", "idle-75ms"));
        assert!(!is("idle-{time}", "idle-900") && !is("idle-{time}", "idle-s"));
        assert!(is("{job}.read.iops", "a.b.read.iops") && !is("{job}.read.iops", "read.iops"));
        assert!(is("x.{p99,p99.9}", "x.p99") && is("x.{p99,p99.9}", "x.p99.9"));
    }

    #[test]
    fn the_words_of_a_member_are_at_the_places_of_its_family() {
        let cells = MetricInfo::iops("{seq,rand}-{read,write}-{size}-q{depth}", "");
        let key = cells.member(&[&"rand", &"write", &"4KiB", &32]);
        assert_eq!(key.to_string(), "rand-write-4KiB-q32");
        assert_eq!(MetricInfo::ns("a.p50", "").member(&[]).to_string(), "a.p50");
    }

    #[test]
    #[should_panic(expected = "x-middle is not of x-{start,end}")]
    fn a_word_that_does_not_fit_makes_no_member() {
        MetricInfo::ns("x-{start,end}", "").member(&[&"middle"]);
    }
}
