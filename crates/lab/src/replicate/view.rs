//! A repeated document prepared for a report: figures in words, and charts of the published values
//! with ours. Pure.

use record::{Axis, Chart, Metric, Origin, OriginKind, Run, Series, Unit};
use report::replication::{
    ClaimEntry, ClaimPlace, ClaimState as ShownState, Claims, Drawing, Headline, ReplicatedFigure,
    Replication, RunLine, SKETCH_COLUMNS, Sketch,
};

use super::claims::{ClaimExperiment, ClaimValue};
use super::document::{Bound, Chart as Shape, PublishedFigure};
use super::headline;
use super::judgement::{self, ClaimCounts, ClaimGround, ClaimState, JudgedClaim, JudgedPlace};
use super::label::Basis;
use super::question::Answered;
use super::reading::Compared;
use super::repeated::{Done, Repeated};
use super::time_series::{ByteSeries, Reading, Take};
use super::unit::{Unit as PublishedUnit, number};
use crate::error::Result;

/// Number of points of a line, one per percent of the bytes.
const PARTS: usize = 100;

/// Maximum number of published levels in a chart; more would hide the line.
const LEVELS_MAX: usize = 4;

/// The reason shown for a missed figure if none is known.
const UNEXPLAINED: &str = "the reason is unknown";

impl Repeated<'_> {
    /// The content of the report.
    pub fn view(&self) -> Result<Replication> {
        let Repeated { document, done: steps, figures, .. } = self;
        let mut sources = nothing();
        let charts = document.charts.iter().map(|shape| match shape {
            Shape::Lines { title, series } => self.lines(title, series, &mut sources),
            Shape::Bars { title, bars, of } => bars_of(title, (bars, of), figures, &mut sources),
        });
        let charts = charts.collect();
        let sketches = document.charts.iter().map(|shape| match shape {
            Shape::Lines { title, series } => {
                let lines = series.iter().filter_map(|name| self.sketched(name));
                Sketch { title: title.clone(), lines: lines.collect() }
            }
            Shape::Bars { title, bars, of } => {
                Sketch { title: title.clone(), lines: sketched_bars((bars, of), figures) }
            }
        });
        let answers = self
            .answers()
            .into_iter()
            .map(|answered| [answered.ask.to_string(), in_words(&answered)]);
        Ok(Replication {
            title: document.title.clone(),
            about: document.about.clone(),
            sentence: self.sentence(),
            met: self.met(),
            headline: document.headline.as_ref().map(headline).transpose()?,
            charts,
            sources,
            sketches: sketches.collect(),
            figures: figures.iter().map(figure).collect(),
            claims: claims(&self.claims()),
            missed: missed(figures),
            answers: answers
                .chain(
                    self.unanswered()
                        .into_iter()
                        .map(|(ask, how): (&str, &str)| [ask.to_string(), how.to_string()]),
                )
                .collect(),
            runs: steps.iter().map(run_line).collect(),
        })
    }

    /// A workload's rate by fraction of its bytes, and the range of the rate.
    fn sketched(&self, name: &str) -> Option<(String, Drawing, String)> {
        let (experiment, workload) = name.split_once('/')?;
        let rates = ByteSeries::from_run(self.run_of(experiment)?, workload)?;
        let rates = rates.parts(SKETCH_COLUMNS, 0.0, 1.0);
        let low = rates.iter().copied().fold(f64::MAX, f64::min);
        let high = rates.iter().copied().fold(0.0, f64::max);
        let values = format!("{} to {} MB/s", number(low / 1e6), number(high / 1e6));
        Some((name.to_string(), Drawing::Values(rates), values))
    }

    /// The rate against the fraction of the bytes, with a line for each workload and the published
    /// rates as levels.
    fn lines(&self, title: &str, names: &[String], sources: &mut Run) -> Chart {
        let mut chart = Chart::lines(title, Axis::ShareOfBytes, Unit::BytesPerSecond);
        for name in names {
            let Some((experiment, workload)) = name.split_once('/') else { continue };
            let rates = self.run_of(experiment).and_then(|run| ByteSeries::from_run(run, workload));
            let Some(rates) = rates else { continue };
            let mut series = Series::new(name.as_str(), 0, 0);
            for (percent, rate) in (1u64..).zip(rates.parts(PARTS, 0.0, 1.0)) {
                // The chart reads its axis from the times, so a percent is stored as a second.
                series.push(percent * 1_000_000_000, &[("rate", Unit::BytesPerSecond, Some(rate))]);
            }
            sources.series.push(series);
            chart = chart.source(name.as_str(), label(name, names));
        }
        let levels: Vec<&PublishedFigure> = self
            .document
            .figures
            .iter()
            .filter(|figure| match &figure.read {
                Reading::TimeSeries { series, take: Take::Rate | Take::MeanOfParts, .. } => {
                    names.iter().any(|name| *name == format!("{}/{series}", figure.experiment))
                }
                _ => false,
            })
            .collect();
        let rates =
            levels.into_iter().filter(|figure| unit_of(figure.unit) == Unit::BytesPerSecond);
        for figure in rates.take(LEVELS_MAX) {
            let Reading::TimeSeries { from, to, .. } = figure.read else { continue };
            let (name, scale) = figure.unit.name_and_scale();
            let label = format!("published {} {name}", number(figure.published));
            chart = chart.level(label, figure.published * scale, Some([from * 100.0, to * 100.0]));
        }
        chart
    }
}

fn run_line(done: &Done) -> RunLine {
    RunLine {
        number: done.run.number.map_or_else(|| done.run.id.clone(), |n| n.to_string()),
        experiment: done.experiment.clone(),
        target: done.run.target.spec.clone(),
        page: done.page.clone(),
    }
}

/// An empty record as the source of the charts.
fn nothing() -> Run {
    let origin = Origin {
        kind: OriginKind::Published,
        tool: None,
        version: None,
        source: String::new(),
        place: None,
        title: None,
        command: None,
        start_known: false,
    };
    Run::elsewhere(env!("CARGO_PKG_VERSION"), "replicate", origin)
}

fn headline(headline: &headline::Headline) -> Result<Headline> {
    Ok(Headline {
        title: headline.title.clone(),
        rows: headline
            .table()?
            .into_iter()
            .map(|row| [row.machine.to_string(), row.tool.to_string(), format!("{:.2}", row.value)])
            .collect(),
        hidden: headline.hidden()?,
    })
}

fn figure(compared: &Compared) -> ReplicatedFigure {
    ReplicatedFigure {
        what: compared.what.clone(),
        published: published(compared),
        here: compared.here.map(number),
        unit: compared.unit.name_and_scale().0.to_string(),
        off: [off(compared), allowed(compared.tolerance)],
        met: compared.met,
        basis: compared.basis.name().to_string(),
        source: compared.source.clone(),
    }
}

/// What a claim rests on, in words.
const GROUNDS: [(ClaimGround, Option<Basis>, &str); 5] = [
    (ClaimGround::VirtualDrive, Some(Basis::Predicted), "predicted by virtual drives"),
    (ClaimGround::VirtualDrive, Some(Basis::Fitted), "fitted, which is no check"),
    (ClaimGround::VirtualDrive, Some(Basis::Stated), "stated to virtual drives"),
    (ClaimGround::PublishedRows, None, "from published rows"),
    (ClaimGround::Arithmetic, None, "by arithmetic"),
];

fn claims(places: &[JudgedPlace<'_>]) -> Claims {
    let places_view = places.iter().map(|judged| ClaimPlace {
        at: judged.place.at.clone(),
        topic: judged.place.topic.clone(),
        none: judged.place.none.clone(),
        claims: judged.claims.iter().map(claim).collect(),
    });
    Claims { sentence: claims_sentence(places), places: places_view.collect() }
}

/// `28 claims: 24 reproduced (13 predicted by virtual drives, 2 fitted, which is no check, 9 from
/// published rows), 3 differ (3 from published rows), 1 cannot be reproduced here`; empty for a
/// document without claims.
fn claims_sentence(places: &[JudgedPlace<'_>]) -> String {
    let counts = ClaimCounts::new(places);
    if counts.all() == 0 {
        return String::new();
    }
    let [reproduced, differing] = [ClaimState::Reproduced, ClaimState::Differs].map(|state| {
        let words = GROUNDS.into_iter().filter_map(|(ground, basis, words)| {
            let claims = places.iter().flat_map(|place| &place.claims);
            let kind = (state, ground, basis);
            let count = claims.filter(|c| (c.state, c.ground, c.basis) == kind).count();
            (count > 0).then(|| format!("{count} {words}"))
        });
        let words = words.collect::<Vec<_>>().join(", ");
        if words.is_empty() { words } else { format!(" ({words})") }
    });
    let not_run = match counts.not_run {
        0 => String::new(),
        count => format!(", {count} not run"),
    };
    format!(
        "{} claims: {} reproduced{reproduced}, {} differ{differing}, {} cannot be reproduced \
         here{not_run}",
        counts.all(),
        counts.reproduced,
        counts.differs,
        counts.cannot,
    )
}

fn claim(judged: &JudgedClaim<'_>) -> ClaimEntry {
    let JudgedClaim { claim, state, reasons, .. } = judged;
    let state = match state {
        ClaimState::Reproduced => ShownState::Reproduced,
        ClaimState::Differs => ShownState::Differs,
        ClaimState::Cannot => ShownState::Cannot,
        ClaimState::NotRun => ShownState::NotRun,
    };
    let note = claim.note.as_deref().filter(|_| state == ShownState::Reproduced);
    let fitted = judged.is_fitted().then_some("fitted to it, so no check");
    let remarks: Vec<&str> = reasons.iter().copied().chain(fitted).chain(note).collect();
    ClaimEntry {
        says: claim.says.clone(),
        row: claim.row.clone(),
        state,
        shown_by: shown_by(judged),
        remark: remarks.join("; "),
    }
}

/// The experiment of a claim with its result.
fn shown_by(judged: &JudgedClaim<'_>) -> String {
    match &judged.claim.experiment {
        ClaimExperiment::Cannot(_) => String::new(),
        ClaimExperiment::Figures(names) if judged.figures.is_empty() => names.join("; "),
        ClaimExperiment::Figures(_) => {
            let figures = judged.figures.iter().map(|figure| {
                let value = figure.here.map_or_else(|| "unknown".to_string(), number);
                let unit = figure.unit.name_and_scale().0;
                format!("{}: {value} {unit}, published {}", figure.what, published(figure))
            });
            let figures = figures.collect::<Vec<_>>().join("; ");
            format!("{figures} ({})", judgement::bases(&judged.figures))
        }
        ClaimExperiment::Value(shown) => {
            let unit = shown.unit.name_and_scale().0;
            let value = judged.value.map_or_else(String::new, |value| {
                format!(" = {}", format!("{} {unit}", number(value)).trim_end())
            });
            format!("{}{value}; shown if {}", shown.value.text(), range(shown))
        }
    }
}

/// The range in which a value shows a claim.
fn range(shown: &ClaimValue) -> String {
    match (shown.at_least, shown.at_most) {
        (Some(low), Some(high)) => format!("{} to {}", number(low), number(high)),
        (Some(low), None) => format!("at least {}", number(low)),
        (None, Some(high)) => format!("at most {}", number(high)),
        (None, None) => "never".to_string(),
    }
}

/// The difference from the published figure, or the ratio if it is above ten.
fn off(figure: &Compared) -> String {
    match figure.difference {
        None => "unknown".to_string(),
        Some(share) if share > 9.0 => format!("{} x", number(share + 1.0)),
        Some(share) => format!("{:+.1}%", share * 100.0),
    }
}

/// The value as published, with its range or its kind of limit.
fn published(figure: &Compared) -> String {
    let low = number(figure.published);
    match (figure.bound, figure.published_to) {
        (Some(Bound::AtLeast), _) => format!(">= {low}"),
        (Some(Bound::AtMost), _) => format!("<= {low}"),
        (None, Some(high)) => format!("{low}-{}", number(high)),
        (None, None) => low,
    }
}

/// The tolerance of a figure; empty if it is 0, which only a limit may have.
fn allowed(tolerance: f64) -> String {
    if tolerance > 0.0 { format!("{}%", number(tolerance * 100.0)) } else { String::new() }
}

/// Names of missed figures with the reason; those with the same reason form a group.
fn missed(figures: &[Compared]) -> Vec<[String; 2]> {
    let mut misses: Vec<&Compared> = figures.iter().filter(|f| !f.met).collect();
    misses.sort_by_cached_key(|f| figures.iter().position(|g| !g.met && reason(g) == reason(f)));
    let groups = misses.chunk_by(|a, b| reason(a) == reason(b)).map(|group| {
        let names: Vec<_> = group.iter().map(|f| f.what.as_str()).collect();
        [names.join("; "), reason(group[0])]
    });
    groups.collect()
}

fn reason(figure: &Compared) -> String {
    figure.reason.clone().unwrap_or_else(|| UNEXPLAINED.to_string())
}

/// The answer with its values and its limits.
fn in_words(answered: &Answered<'_>) -> String {
    let unit = answered.unit.name_and_scale().0;
    let values = answered.values.iter().map(|(name, value)| format!("{name} {}", number(*value)));
    let values = values.collect::<Vec<_>>().join(", ");
    format!("{} {values} {unit}. {}", answered.answer, answered.limits)
}

/// The label of a line: its workload, preceded by its experiment if the chart shows several.
fn label(name: &str, all: &[String]) -> String {
    let Some((experiment, workload)) = name.split_once('/') else { return name.to_string() };
    let mut names = all.iter().filter_map(|name| name.split_once('/'));
    let alone = names.all(|(other, _)| other == experiment);
    let workload = workload.replace('-', " ");
    if alone { workload } else { format!("{experiment}, {workload}") }
}

/// Adds a published bar next to each of ours.
fn bars_of(
    title: &str,
    (begin, end): (&str, &str),
    figures: &[Compared],
    sources: &mut Run,
) -> Chart {
    let pairs = figures.iter().filter_map(|figure| Some((bar(figure, begin, end)?, figure)));
    let pairs: Vec<_> = pairs.collect();
    let unit = pairs.first().map_or(Unit::Number, |(_, figure)| unit_of(figure.unit));
    let mut chart = Chart::bars(title, unit);
    for (name, figure) in pairs {
        let scale = figure.unit.name_and_scale().1;
        let mut add = |who: &str, value: f64, high: Option<f64>| {
            let key = format!("{} {who}", figure.what);
            let metric = Metric::single(&key, unit, value * scale);
            let (low, high) = (high.map(|_| value * scale), high.map(|high| high * scale));
            sources.metrics.push(Metric { low, high, ..metric });
            key
        };
        let published = add("published", figure.published, figure.published_to);
        chart = chart.grouped(&name, published, "published");
        if let Some(value) = figure.here {
            let bar = add("here", value, None);
            chart = chart.grouped(&name, bar, "here");
        }
    }
    chart
}

/// The name of a figure's bar: the part of its description between these words.
fn bar(figure: &Compared, begin: &str, end: &str) -> Option<String> {
    let name = figure.what.strip_prefix(begin)?.strip_suffix(end)?;
    Some(name.trim_matches([',', ' ']).to_string())
}

/// A bar for each of our figures, relative to the longest.
fn sketched_bars(
    (begin, end): (&str, &str),
    figures: &[Compared],
) -> Vec<(String, Drawing, String)> {
    let bars = figures.iter().filter_map(|f| Some((bar(f, begin, end)?, f.here?, f.unit)));
    let bars: Vec<_> = bars.collect();
    let value_max = bars.iter().map(|(_, value, _)| *value).fold(f64::MIN_POSITIVE, f64::max);
    bars.into_iter()
        .map(|(name, value, unit): (String, f64, PublishedUnit)| {
            let text = format!("{} {}", number(value), unit.name_and_scale().0);
            (name, Drawing::Bar(value / value_max), text)
        })
        .collect()
}

/// The record unit to which a published unit is converted.
fn unit_of(unit: PublishedUnit) -> Unit {
    use PublishedUnit::*;
    match unit {
        GbPerSecond | MbPerSecond | KibPerSecond | KbPerSecond => Unit::BytesPerSecond,
        Iops => Unit::Iops,
        Gigabytes | Kibibytes => Unit::Bytes,
        Seconds | Nanoseconds => Unit::Nanoseconds,
        Celsius => Unit::Celsius,
        Times | Percent | Pounds | Count => Unit::Number,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tolerances_below_one_percent_are_shown() {
        let said = [0.0, 0.001, 0.05, 0.15, 0.2].map(allowed);
        assert_eq!(said, ["", "0.1%", "5%", "15%", "20%"]);
    }

    #[test]
    fn missed_figures_are_grouped_by_reason_in_the_order_of_the_first_of_each() {
        let figure = |what: &str, met, reason: Option<&str>| Compared {
            what: what.into(),
            experiment: String::new(),
            run: None,
            published: 1.0,
            published_to: None,
            here: Some(2.0),
            unit: PublishedUnit::Iops,
            difference: Some(1.0),
            tolerance: 0.1,
            bound: None,
            met,
            basis: Basis::Predicted,
            source: String::new(),
            reason: reason.map(String::from),
        };
        let figures = [
            figure("a", true, Some("y")),
            figure("b", false, Some("x")),
            figure("c", false, Some("y")),
            figure("d", false, None),
            figure("e", false, Some("x")),
        ];
        assert_eq!(missed(&figures), [["b; e", "x"], ["c", "y"], ["d", UNEXPLAINED]]);
    }
}
