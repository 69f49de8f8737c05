//! The distribution of a quantity over many runs: a histogram with its median.

use maud::Markup;
use record::{Axis, Chart, Mark, Unit};

use super::Drawn;
use super::canvas::Canvas;
use super::plane::Plane;
use super::scale::{Base, Scale, shown};

/// Limits of the number of classes, which is the square root of the number of values.
const CLASSES: [usize; 2] = [5, 40];

/// A quantity and its values.
#[derive(Clone, Debug, PartialEq)]
pub struct Distribution {
    pub name: String,
    pub unit: Unit,
    /// Sorted.
    values: Vec<f64>,
}

/// Points of a distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantiles {
    pub least: f64,
    pub tenth: f64,
    pub median: f64,
    pub ninetieth: f64,
    pub most: f64,
}

impl Distribution {
    /// Takes the values in any order; those that are no numbers are left out.
    pub fn new(name: impl Into<String>, unit: Unit, mut values: Vec<f64>) -> Distribution {
        values.retain(|value| value.is_finite());
        values.sort_unstable_by(f64::total_cmp);
        Distribution { name: name.into(), unit, values }
    }

    /// Number of values.
    pub fn count(&self) -> usize {
        self.values.len()
    }

    /// `None` without a value.
    pub fn quantiles(&self) -> Option<Quantiles> {
        let last = self.values.len().checked_sub(1)?;
        let [least, tenth, median, ninetieth, most] = [0.0, 0.1, 0.5, 0.9, 1.0]
            .map(|share: f64| self.values[(share * last as f64).round() as usize]);
        Some(Quantiles { least, tenth, median, ninetieth, most })
    }

    /// The histogram; `None` for values that are all the same in print.
    pub fn figure(&self) -> Option<Markup> {
        let Quantiles { least, median, most, .. } = self.quantiles()?;
        if most <= least || shown(self.unit, least) == shown(self.unit, most) {
            return None;
        }
        let bins = self.bins(least, most);
        let highest = bins.iter().copied().max().unwrap_or(0);
        let mark = Mark { label: "median".into(), at: median, low: None, high: None };
        let chart = Chart::points(&self.name, Axis::Workload, Unit::Number);
        let chart = Chart { marks: vec![mark], ..chart };
        let [low, middle, high] = [least, median, most].map(|value| shown(self.unit, value));
        let words = vec![format!("{} runs, {low} to {high}, median {middle}", self.count())];
        let (x, y) = (Scale::between(least, most), Scale::from_zero(f64::from(highest)));
        let drawing = Drawn::new(Vec::new(), words, |narrow| {
            self.form(&bins, &chart, Plane::new(&chart, x, y, narrow))
        });
        Some(drawing.figure(&self.name))
    }

    /// Number of values in each class.
    fn bins(&self, least: f64, most: f64) -> Vec<u32> {
        let classes = (self.values.len() as f64).sqrt() as usize;
        let mut bins = vec![0; classes.clamp(CLASSES[0], CLASSES[1])];
        let last = bins.len() - 1;
        for value in &self.values {
            let share = (value - least) / (most - least);
            bins[((share * (last + 1) as f64) as usize).min(last)] += 1;
        }
        bins
    }

    /// As many ticks as fit, and as few that no two have the same label.
    fn ticks(&self, plane: &Plane) -> Vec<(f64, String)> {
        let labelled = |count: usize| {
            let ticks = plane.x.ticks(count, Base::Ten).into_iter();
            ticks.map(|value| (value, shown(self.unit, value))).collect::<Vec<_>>()
        };
        let is_distinct =
            |ticks: &Vec<(f64, String)>| ticks.windows(2).all(|pair| pair[0].1 != pair[1].1);
        let counts = (1..=plane.labels_across()).rev();
        counts.map(labelled).find(is_distinct).unwrap_or_else(|| labelled(1))
    }

    fn form(&self, bins: &[u32], chart: &Chart, mut plane: Plane) -> Canvas {
        plane.count_axis();
        let ticks = self.ticks(&plane);
        plane.horizontal_ticks(&ticks);
        let width = plane.across() / bins.len() as f64;
        for (index, count) in bins.iter().enumerate() {
            let left = plane.x.value(index as f64 / bins.len() as f64);
            let ([x, top], [_, bottom]) =
                (plane.place(left, f64::from(*count)), plane.place(left, 0.0));
            plane.canvas.rect("datum s0", [x + 0.5, top], [width - 1.0, bottom - top]);
        }
        plane.marks(chart);
        plane.canvas
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distribution_has_its_quantiles_and_a_bar_for_every_value() {
        let distribution = |values: &[f64]| Distribution::new("reads", Unit::Iops, values.to_vec());
        assert_eq!(distribution(&[]).quantiles(), None);
        assert!(distribution(&[5.0, 5.0, f64::NAN]).figure().is_none());
        // The axis would have one label many times.
        assert!(distribution(&[500_000.0, 500_001.0]).figure().is_none());
        let hundred = distribution(&(0..=100).rev().map(f64::from).collect::<Vec<_>>());
        let quantiles = hundred.quantiles().expect("values");
        assert_eq!((quantiles.tenth, quantiles.median, quantiles.most), (10.0, 50.0, 100.0));
        assert_eq!(hundred.bins(0.0, 100.0).iter().sum::<u32>(), 101);
        let figure = hundred.figure().expect("a chart").into_string();
        assert!(figure.contains("101 runs, 0 IOPS to 100 IOPS, median 50 IOPS"), "{figure}");
    }

    #[test]
    fn labels_are_distinct_and_counts_whole() {
        let values = vec![17.61e6, 17.64e6, 17.66e6, 17.79e6];
        let close = Distribution::new("writes", Unit::BytesPerSecond, values);
        let figure = close.figure().expect("a chart").into_string();
        // One form after the other, for wide and narrow windows.
        for form in figure.split("<svg").skip(1) {
            let labels: Vec<&str> = form
                .split("class=\"tick\"")
                .skip(1)
                .filter_map(|rest| rest.split('>').nth(1)?.split('<').next())
                .collect();
            let distinct: std::collections::BTreeSet<&str> = labels.iter().copied().collect();
            assert_eq!(distinct.len(), labels.len(), "{labels:?}");
            assert!(labels.iter().any(|label| label.ends_with("MB/s")), "{labels:?}");
            let counts = labels.iter().filter(|label| !label.contains(' '));
            assert!(counts.clone().count() > 1, "{labels:?}");
            assert!(counts.into_iter().all(|count| count.parse::<u32>().is_ok()), "{labels:?}");
        }
    }
}
