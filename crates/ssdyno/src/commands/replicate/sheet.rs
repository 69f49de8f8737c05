//! The page of a document: its charts with the published values beside ours, its figures in words.

use lab::replicate::document::{Chart as Shape, Figure as Published};
use lab::replicate::{Compared, Document, Reading, Take, TimeSeries, Unit as PublishedUnit};
use record::{Axis, Chart, Metric, Origin, OriginKind, Run, Series, Unit};
use report::replication::{Figure, Headline, Replication};

use super::page::{self, Done};

/// Points of a line: a percent of the bytes each.
const PARTS: usize = 100;

/// A line of a chart has at most so many levels of published values, else they hide it.
const LEVELS_MAX: usize = 4;

/// Everything that the page shows.
pub fn view(document: &Document, figures: &[Compared], done: &[Done]) -> lab::Result<Replication> {
    let mut sources = nothing();
    let charts = document.charts.iter().map(|shape| match shape {
        Shape::Lines { title, series } => lines(title, series, document, done, &mut sources),
        Shape::Bars { title, bars, of } => bars_of(title, (bars, of), figures, &mut sources),
    });
    let charts = charts.collect();
    let met = figures.iter().filter(|figure| figure.met).count();
    let answers = page::answers(document, done).into_iter().map(|answered| {
        let answer = page::answer_text(&answered);
        [answered.ask.to_string(), answer]
    });
    Ok(Replication {
        title: document.title.clone(),
        about: document.about.clone(),
        sentence: page::sentence(figures),
        met: met == figures.len(),
        headline: document.headline.as_ref().map(headline).transpose()?,
        charts,
        sources,
        figures: figures.iter().map(figure).collect(),
        missed: page::reasons(figures).into_iter().map(|(names, why)| [names, why]).collect(),
        answers: answers.collect(),
        runs: done
            .iter()
            .map(|done| {
                let number = done.run.number.map_or_else(|| done.run.id.clone(), |n| n.to_string());
                [number, done.experiment.clone(), done.run.target.spec.clone()]
            })
            .collect(),
    })
}

/// A record for the sources of the charts alone.
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

fn headline(headline: &lab::replicate::headline::Headline) -> lab::Result<Headline> {
    let row = |row: lab::replicate::headline::Row| {
        [row.machine.to_string(), row.tool.to_string(), format!("{:.2}", row.value)]
    };
    Ok(Headline {
        title: headline.title.clone(),
        rows: headline.table()?.into_iter().map(row).collect(),
        hidden: headline.hidden()?,
    })
}

fn figure(compared: &Compared) -> Figure {
    let unit = compared.unit.name_and_scale().0;
    let here = compared.here.map(|here| format!("{} {unit}", page::number(here)));
    Figure {
        what: compared.what.clone(),
        published: format!("{} {unit}", page::published(compared)),
        here: here.unwrap_or_else(|| "unknown".to_string()),
        off: [page::off(compared), page::may(compared.tolerance)],
        met: compared.met,
        basis: compared.basis.name().to_string(),
        source: compared.source.clone(),
    }
}

/// The rate over the share of the bytes, a line for each workload, with the published rates as levels.
fn lines(
    title: &str,
    names: &[String],
    document: &Document,
    done: &[Done],
    sources: &mut Run,
) -> Chart {
    let mut chart = Chart::lines(title, Axis::ShareOfBytes, Unit::BytesPerSecond);
    for name in names {
        let Some((experiment, workload)) = name.split_once('/') else { continue };
        let run = done.iter().find(|done| done.experiment == experiment).map(|done| &done.run);
        let Some(rates) = run.and_then(|run| TimeSeries::of(run, workload)) else { continue };
        let mut series = Series::new(name.as_str(), 0, 0);
        for (percent, rate) in (1u64..).zip(rates.parts(PARTS, 0.0, 1.0)) {
            // The axis is read from the times: a percent takes a second.
            series.push(percent * 1_000_000_000, &[("rate", Unit::BytesPerSecond, Some(rate))]);
        }
        sources.series.push(series);
        chart = chart.source(name.as_str(), label(name, names));
    }
    let of_line = |figure: &&Published| match &figure.read {
        Reading::TimeSeries { series, take: Take::Rate | Take::MeanOfParts, .. } => {
            names.iter().any(|name| *name == format!("{}/{series}", figure.experiment))
        }
        _ => false,
    };
    let levels: Vec<&Published> = document.figures.iter().filter(of_line).collect();
    let rates = levels.into_iter().filter(|figure| unit_of(figure.unit) == Unit::BytesPerSecond);
    for figure in rates.take(LEVELS_MAX) {
        let Reading::TimeSeries { from, to, .. } = figure.read else { continue };
        let (name, scale) = figure.unit.name_and_scale();
        let label = format!("published {} {name}", page::number(figure.published));
        chart = chart.level(label, figure.published * scale, Some([from * 100.0, to * 100.0]));
    }
    chart
}

/// The name of a line: its workload, after its experiment where the chart shows several.
fn label(name: &str, all: &[String]) -> String {
    let parts = |name: &'_ str| name.split_once('/').map(|(a, b)| (a.to_string(), b.to_string()));
    let Some((experiment, workload)) = parts(name) else { return name.to_string() };
    let alone = all.iter().filter_map(|other| parts(other)).all(|other| other.0 == experiment);
    let workload = workload.replace('-', " ");
    if alone { workload } else { format!("{experiment}, {workload}") }
}

/// A published bar beside each of ours.
fn bars_of(
    title: &str,
    (begin, end): (&str, &str),
    figures: &[Compared],
    sources: &mut Run,
) -> Chart {
    let shown =
        || figures.iter().filter_map(|figure| Some((page::bar(figure, begin, end)?, figure)));
    let unit = shown().next().map_or(Unit::Number, |(_, figure)| unit_of(figure.unit));
    let mut chart = Chart::bars(title, unit);
    for (name, figure) in shown() {
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
        if let Some(here) = figure.here {
            let here = add("here", here, None);
            chart = chart.grouped(&name, here, "here");
        }
    }
    chart
}

/// The unit of records that a published one is converted to.
fn unit_of(unit: PublishedUnit) -> Unit {
    use PublishedUnit::*;
    match unit {
        GbPerSecond | MbPerSecond | KibPerSecond | KbPerSecond => Unit::BytesPerSecond,
        Iops => Unit::Iops,
        Gigabytes => Unit::Bytes,
        Seconds => Unit::Nanoseconds,
        Times => Unit::Number,
    }
}
