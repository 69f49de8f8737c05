//! A ratio as every text states it: the larger figure over the smaller one, with the name of the
//! side that has the larger. The numbers of the record are B over A.

use super::Pair;

/// The larger figure of a pair over the smaller one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Factor {
    /// Which of the two sides has the larger figure; `None` if they are equal in three digits.
    pub larger: Option<usize>,
    /// At least 1; infinite if the smaller figure is 0.
    pub ratio: f64,
    /// Its interval; the lower end is below 1 if the order of the sides is open.
    pub interval: Option<[f64; 2]>,
}

impl Pair {
    /// Its ratio as text states it; `None` if a figure is unknown.
    pub fn factor(&self) -> Option<Factor> {
        let ratio = self.ratio?;
        let interval = self.low.zip(self.high).map(|(low, high)| [low, high]);
        let in_a = ratio < 1.0;
        let (ratio, interval) = if in_a {
            (1.0 / ratio, interval.map(|[low, high]| [1.0 / high, 1.0 / low]))
        } else {
            (ratio, interval)
        };
        let larger = (times(ratio) != times(1.0)).then_some(usize::from(!in_a));
        Some(Factor { larger, ratio, interval })
    }
}

impl Factor {
    /// `1.31 times`.
    pub fn words(&self) -> String {
        format!("{} times", times(self.ratio))
    }

    /// `B 1.31 times`, with the name of the side.
    pub fn words_about(&self, names: [&str; 2]) -> String {
        match self.larger {
            Some(side) => format!("{} {}", names[side], self.words()),
            None => self.words(),
        }
    }

    /// `0.880 to 1.03 times`; empty without an interval, or for one of no width.
    pub fn interval_words(&self) -> String {
        let Some([low, high]) = self.interval.filter(|[low, high]| high / low >= 1.0005) else {
            return String::new();
        };
        let (low, high) = (times(low), times(high));
        if low == high { format!("{high} times") } else { format!("{low} to {high} times") }
    }

    /// ` (1.24 to 1.38)`; empty for an interval of no width, as between virtual drives without
    /// variation.
    pub(super) fn in_brackets(&self) -> String {
        let Some([low, high]) = self.interval.map(|ends| ends.map(times)) else {
            return String::new();
        };
        if low == high { String::new() } else { format!(" ({low} to {high})") }
    }
}

/// A factor with at most three digits.
fn times(ratio: f64) -> String {
    match ratio {
        r if r < 0.001 => "under 0.001".into(),
        r if r < 0.9995 => format!("{r:.3}"),
        r if r < 9.995 => format!("{r:.2}"),
        r if r < 99.95 => format!("{r:.1}"),
        r if r < 9999.5 => format!("{r:.0}"),
        _ => "over 9999".into(),
    }
}

#[cfg(test)]
mod tests {
    use record::Unit;

    use super::*;

    fn factor(ratio: f64, interval: Option<[f64; 2]>) -> Factor {
        let pair = Pair {
            ratio: Some(ratio),
            low: interval.map(|ends| ends[0]),
            high: interval.map(|ends| ends[1]),
            ..Pair::named("rate", Unit::Iops)
        };
        pair.factor().expect("a ratio")
    }

    #[test]
    fn either_side_is_stated_in_the_same_words() {
        for (ratio, interval) in [
            (1.31, Some([1.24, 1.38])),
            (1.03, Some([0.94, 1.12])),
            (41.0, Some([20.0, f64::INFINITY])),
            (2.5, None),
        ] {
            let inverse = interval.map(|[low, high]| [1.0 / high, 1.0 / low]);
            let (b, a) = (factor(ratio, interval), factor(1.0 / ratio, inverse));
            assert_eq!((b.larger, a.larger), (Some(1), Some(0)), "{ratio}");
            assert_eq!(b.words_about(["A", "B"]), a.words_about(["B", "A"]), "{ratio}");
            assert_eq!(b.interval_words(), a.interval_words(), "{ratio}");
            assert_eq!(b.in_brackets(), a.in_brackets(), "{ratio}");
        }
    }

    #[test]
    fn numbers_have_at_most_three_digits() {
        let table = [
            (1.0, "1.00 times"),
            (0.9998, "1.00 times"),
            (0.8826, "A 1.13 times"),
            (1.031, "B 1.03 times"),
            (2.5, "B 2.50 times"),
            (0.25, "A 4.00 times"),
            (0.0, "A over 9999 times"),
            (1e12, "B over 9999 times"),
        ];
        for (ratio, text) in table {
            assert_eq!(factor(ratio, None).words_about(["A", "B"]), text);
        }
        let intervals = [
            (1.0, [0.88, 1.031], "0.880 to 1.03 times"),
            (2.5, [1.81, 3.81], "1.81 to 3.81 times"),
            (0.5, [0.495, 0.51], "1.96 to 2.02 times"),
            (0.7, [0.4, 1.25], "0.800 to 2.50 times"),
            (1e13, [1e12, 1e15], "over 9999 times"),
            (0.0, [0.0, 1e-12], "over 9999 times"),
            (1.0, [1.0, 1.0], ""),
        ];
        for (ratio, ends, text) in intervals {
            assert_eq!(factor(ratio, Some(ends)).interval_words(), text);
        }
    }
}
