//! An answer under construction: the headline, the main numbers and the charts of a method, derived
//! from its outcome.
//!
//! Answers are pure functions of the outcome's metrics, series, verdicts and findings. An answer
//! therefore always agrees with its record, and it can be computed for a record that was stored
//! without one. A method names its function in [`crate::MethodInfo::answer`]; the function builds the
//! answer with a [`Draft`].

use record::{
    Answer, Better, Chart, Confidence, HEADLINE_MAX, Limit, Loss, Metric, MetricKey, Series, Stamp,
    Statistic, Tile, VerdictKind,
};
use workload::units::throughput;

use crate::Outcome;

/// Maximum number of tiles.
const TILES_MAX: usize = 6;

/// An answer under construction. Tiles and chart sources missing from the outcome are left out.
pub struct Draft<'o> {
    out: &'o Outcome,
    answer: Answer,
}

impl<'o> Draft<'o> {
    /// Creates an answer to this question, without a headline.
    pub fn new(out: &'o Outcome, question: &str) -> Draft<'o> {
        let stamp = Stamp::new(&out.warnings, &out.verdicts);
        Draft { out, answer: Answer::new(question, "", stamp) }
    }

    /// A metric, if its value is known.
    pub fn find(&self, key: impl Into<MetricKey>) -> Option<&'o Metric> {
        self.out.metric(key)
    }

    /// The value of a metric.
    pub fn value(&self, key: impl Into<MetricKey>) -> Option<f64> {
        self.out.value(key)
    }

    /// The value of another statistic of a metric's subject.
    pub fn part(&self, subject: impl Into<MetricKey>, statistic: Statistic) -> Option<f64> {
        self.value(subject.into().with(statistic))
    }

    /// The series with this name.
    pub fn series(&self, name: &str) -> Option<&'o Series> {
        self.out.series.iter().find(|series| series.name == name)
    }

    /// Returns whether the outcome has a verdict of this kind.
    pub fn concluded(&self, kind: &VerdictKind) -> bool {
        self.out.verdicts.iter().any(|verdict| verdict.kind == *kind)
    }

    /// Adds a tile for a metric.
    #[must_use]
    pub fn tile(mut self, label: &str, key: impl Into<MetricKey>, better: Better) -> Draft<'o> {
        let tile = self.find(key).map(|metric| Tile::from_metric(label, metric, better));
        self.answer.tiles.extend(tile);
        self
    }

    /// Adds a chart, without the sources that do not exist.
    #[must_use]
    pub fn chart(mut self, mut chart: Chart) -> Draft<'o> {
        chart.retain(|name| {
            self.find(MetricKey::parse(name)).is_some() || self.series(name).is_some()
        });
        if !chart.is_empty() {
            self.answer.charts.push(chart);
        }
        self
    }

    /// Adds a chart of the series that have values in its unit. For example, a drive without a
    /// sensor has no temperatures.
    #[must_use]
    pub fn chart_of_column(self, mut chart: Chart) -> Draft<'o> {
        let series_drawn = self.out.series.iter().filter(|series| {
            let columns = series.columns.iter().filter(|column| column.unit == chart.y);
            columns.flat_map(|column| &column.values).any(Option::is_some)
        });
        let series_drawn: Vec<&str> = series_drawn.map(|series| series.name.as_str()).collect();
        chart.retain(|key| series_drawn.contains(&key));
        self.chart(chart)
    }

    /// Adds the limit of a metric, if the outcome has this verdict.
    #[must_use]
    pub fn limit(mut self, key: impl Into<MetricKey>, by: VerdictKind) -> Draft<'o> {
        if self.concluded(&by) {
            let (metric, confidence) = (key.into().to_string(), Confidence::Measured);
            self.answer.limits.push(Limit { metric, by, confidence });
        }
        self
    }

    /// The tiles so far.
    pub fn tiles(&self) -> &[Tile] {
        &self.answer.tiles
    }

    /// Adds the limits of metrics.
    #[must_use]
    pub fn limits(mut self, limits: impl IntoIterator<Item = Limit>) -> Draft<'o> {
        self.answer.limits.extend(limits);
        self
    }

    /// Adds what the headline has no room for, in whole sentences, and the loss that it names. Numbers
    /// that are not the drive's have neither.
    #[must_use]
    pub fn rest(mut self, rest: String, loss: Option<Loss>) -> Draft<'o> {
        if !matches!(self.answer.stamp, Stamp::NotTheDrive(_)) {
            (self.answer.rest, self.answer.loss) = (rest, loss);
        }
        self
    }

    /// Finishes the answer with a headline that itself says whether the numbers are the drive's.
    pub fn say_of_others(self, headline: String) -> Option<Answer> {
        let mut answer = self.answer;
        answer.tiles.truncate(TILES_MAX);
        answer.headline = headline;
        Some(answer)
    }

    /// Finishes the answer with this headline and the first continuation that fits.
    pub fn say(
        self,
        sentence: impl Into<String>,
        more: impl IntoIterator<Item = String>,
    ) -> Option<Answer> {
        let mut answer = self.answer;
        answer.tiles.truncate(TILES_MAX);
        answer.headline = headline(self.out, sentence.into(), more);
        Some(answer)
    }
}

/// The answer of a method, from its own function. If blocks returned different bytes each time, that
/// is the answer to every question.
pub fn answer(out: &Outcome, declared: impl Fn(&Outcome) -> Option<Answer>) -> Option<Answer> {
    let differ = out.verdicts.iter().find(|verdict| verdict.kind == VerdictKind::ReadsDiffer);
    let Some(verdict) = differ else { return declared(out) };
    let question = "Do blocks return the same bytes each time?";
    let draft = declared(out).map_or_else(
        || Draft::new(out, question),
        |answer| Draft { out, answer: Answer { question: question.into(), ..answer } },
    );
    draft.rest(String::new(), None).say_of_others(verdict.text.clone())
}

/// The sentence with the first continuation that fits, or else with a full stop if it lacks one and
/// there is room. If the numbers are not those of the drive, the headline states that instead.
fn headline(out: &Outcome, sentence: String, more: impl IntoIterator<Item = String>) -> String {
    if let Stamp::NotTheDrive(_) = Stamp::new(&out.warnings, &out.verdicts) {
        return "These are not the drive's numbers: see the first reason to distrust them.".into();
    }
    let room = HEADLINE_MAX.saturating_sub(sentence.chars().count());
    let stop = if room > 0 && !sentence.ends_with('.') { "." } else { "" };
    let fits = more.into_iter().find(|more| more.chars().count() <= room);
    sentence + fits.as_deref().unwrap_or(stop)
}

/// Formats a throughput: `3.40 GB/s`, `12.6 MB/s`.
pub fn rate(bytes_per_s: f64) -> String {
    match bytes_per_s {
        r if r >= 9.95e9 => format!("{:.1} GB/s", r / 1e9),
        r if r >= 0.9995e9 => format!("{:.2} GB/s", r / 1e9),
        r => throughput(r),
    }
}

/// Formats a count: `640`, `88k`, `1.2M`.
pub fn count(value: f64) -> String {
    match value {
        v if v >= 999_500.0 => format!("{:.1}M", v / 1e6),
        v if v >= 9_950.0 => format!("{:.0}k", v / 1e3),
        v if v >= 999.5 => format!("{:.1}k", v / 1e3),
        v if v >= 9.95 => format!("{v:.0}"),
        v => format!("{v:.1}"),
    }
}

/// Formats a whole number with groups of three digits: `7,997`, `1,048,576`.
pub fn grouped(value: f64) -> String {
    let digits = format!("{value:.0}");
    let count = digits.len();
    let groups = digits.chars().enumerate().map(|(place, digit)| {
        let begins = place > 0 && (count - place).is_multiple_of(3);
        if begins { format!(",{digit}") } else { digit.to_string() }
    });
    groups.collect()
}

/// Formats a factor of at least 1: `3.1 times`, `12 times`.
pub fn times(factor: f64) -> String {
    if factor >= 9.95 { format!("{factor:.0} times") } else { format!("{factor:.1} times") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_counts_and_factors_have_the_digits_that_matter() {
        let rates = [3.4e9, 12.6e9, 999.6e6, 12.6e6].map(rate);
        assert_eq!(rates, ["3.40 GB/s", "12.6 GB/s", "1.00 GB/s", "12.6 MB/s"]);
        let counts = [640.4, 88_123.0, 1.2e6, 9_949.0, 3.25].map(count);
        assert_eq!(counts, ["640", "88k", "1.2M", "9.9k", "3.2"]);
        assert_eq!(
            [0.0, 999.0, 7997.0, 1_048_576.0].map(grouped),
            ["0", "999", "7,997", "1,048,576"]
        );
        assert_eq!([3.13, 12.3].map(times), ["3.1 times", "12 times"]);
    }
}
