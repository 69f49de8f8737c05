//! The results of experiments on virtual drives: the figures as a table, the charts, the records.

use lab::replicate::document::{Bound, Chart};
use lab::replicate::headline::Headline;
use lab::replicate::question::Answered;
use lab::replicate::{Basis, Compared, Document, TimeSeries};
use record::Run;
use report::table::{Align, Cell, Table};
use report::{Ink, Style};
use serde_json::{Value, json};

use crate::screen;

/// Columns of a time series, and of the longest bar.
const CHART_COLUMNS: usize = 50;

/// The reason of a missed figure without a known one.
const UNEXPLAINED: &str = "the reason is unknown";

/// The record of an experiment and its page.
pub struct Done {
    pub experiment: String,
    pub run: Run,
    pub page: Option<String>,
}

/// Everything as text.
pub fn text(
    document: &Document,
    figures: &[Compared],
    done: &[Done],
    style: &Style,
) -> lab::Result<String> {
    let mut text = style.paint(Ink::Strong, &document.title) + "\n";
    text += &format!("{}\n\n", screen::wrap(&document.about, style.width.min(90)));
    text += &document.headline.as_ref().map_or(Ok(String::new()), |h| headline(h, style))?;
    text += &table(figures, style);
    text += &missed(figures, style);
    for answered in answers(document, done) {
        text += &answer(&answered, style);
    }
    for chart in &document.charts {
        text += &self::chart(chart, figures, done, style);
    }
    text += "\n";
    for Done { experiment, run, page } in done {
        let number = run.number.map_or_else(|| run.id.clone(), |n| n.to_string());
        let page = page.as_deref().unwrap_or("no page could be written");
        text += &format!("run {number}   {experiment}   {}   {page}\n", run.target.spec);
    }
    text += &format!("\n{}\n", sentence(figures));
    Ok(text)
}

/// `27 of 28 figures are within their tolerance: 9 of 9 fitted, 18 of 19 predicted`
pub fn sentence(figures: &[Compared]) -> String {
    let met = figures.iter().filter(|f| f.met).count();
    let apart: Vec<String> = by_basis(figures)
        .map(|(basis, met, of)| format!("{met} of {of} {}", basis.name()))
        .collect();
    let all = figures.len();
    format!("{met} of {all} figures are within their tolerance: {}", apart.join(", "))
}

/// The document's own result as it printed it, and what it hides.
fn headline(headline: &Headline, style: &Style) -> lab::Result<String> {
    let mut table = Table::new(&[Align::Left, Align::Left, Align::Right]);
    for row in headline.table()? {
        table.row([
            Cell::from(row.machine),
            Cell::from(row.tool),
            Cell::new(Ink::Strong, format!("{:.2}", row.value)),
        ]);
    }
    let title = style.paint(Ink::Strong, &headline.title);
    let hidden = headline.hidden()?.map_or(String::new(), |text| screen::wrap(&text, 90) + "\n");
    Ok(format!("{title}\n{}{hidden}\n", table.render(style)))
}

/// The document's open questions that the experiments run answer.
pub fn answers<'a>(document: &'a Document, done: &'a [Done]) -> Vec<Answered<'a>> {
    let run = |experiment: &str| Some(&done.iter().find(|d| d.experiment == experiment)?.run);
    document.questions.iter().filter_map(|question| question.answer(run)).collect()
}

fn answer(answered: &Answered<'_>, style: &Style) -> String {
    let text = screen::wrap(&answer_text(answered), 90);
    format!("\n{}\n{text}\n", style.paint(Ink::Strong, answered.ask))
}

/// The answer with its values and its limits.
pub fn answer_text(answered: &Answered<'_>) -> String {
    let unit = answered.unit.name_and_scale().0;
    let values = answered.values.iter().map(|(name, value)| format!("{name} {}", number(*value)));
    let values = values.collect::<Vec<_>>().join(", ");
    format!("{} {values} {unit}. {}", answered.answer, answered.limits)
}

/// The figures met, and all, of each basis that occurs.
fn by_basis(figures: &[Compared]) -> impl Iterator<Item = (Basis, usize, usize)> + '_ {
    let count = |basis| {
        let own = figures.iter().filter(move |f| f.basis == basis);
        (basis, own.clone().filter(|f| f.met).count(), own.count())
    };
    Basis::ALL.into_iter().map(count).filter(|(_, _, of)| *of > 0)
}

/// The figures; their places in the document only if there is room for them.
fn table(figures: &[Compared], style: &Style) -> String {
    let (left, right) = (Align::Left, Align::Right);
    let columns = [left, right, right, left, right, right, left, left];
    let mut table = Table::new(&columns).elastic(0);
    table.heading(["figure", "published", "here", "", "off", "allowed", "", "from"]);
    for figure in figures {
        let (ink, word) = if figure.met { (Ink::Good, "met") } else { (Ink::Bad, "MISSED") };
        table.row([
            Cell::from(figure.what.as_str()),
            Cell::from(published(figure)),
            Cell::new(Ink::Strong, figure.here.map_or("unknown".to_string(), number)),
            Cell::dim(figure.unit.name_and_scale().0),
            Cell::from(off(figure)),
            Cell::dim(may(figure.tolerance)),
            Cell::new(ink, word),
            Cell::dim(figure.source.as_str()),
        ]);
    }
    table.or_without(&["from"], style).render(style)
}

/// The missed figures, grouped by reason.
fn missed(figures: &[Compared], style: &Style) -> String {
    let groups = reasons(figures).into_iter().map(|(names, reason)| {
        let line = screen::wrap(&format!("{names}: {reason}"), 90);
        format!("\n{}\n{line}\n", style.paint(Ink::Bad, "MISSED"))
    });
    groups.collect()
}

/// Names of missed figures, and the reason they share.
pub fn reasons(figures: &[Compared]) -> Vec<(String, String)> {
    let reason = |f: &Compared| f.reason.clone().unwrap_or_else(|| UNEXPLAINED.to_string());
    let missed: Vec<&Compared> = figures.iter().filter(|f| !f.met).collect();
    let groups = missed.chunk_by(|a, b| reason(a) == reason(b)).map(|group| {
        let names: Vec<_> = group.iter().map(|f| f.what.as_str()).collect();
        (names.join("; "), reason(group[0]))
    });
    groups.collect()
}

/// The difference from the published figure; beyond ten times as much, the factor.
pub fn off(figure: &Compared) -> String {
    match figure.difference {
        None => "unknown".to_string(),
        Some(share) if share > 9.0 => format!("{} x", number(share + 1.0)),
        Some(share) => format!("{:+.1}%", share * 100.0),
    }
}

/// The value as published, with its range or the side on which it is a limit.
pub fn published(figure: &Compared) -> String {
    let low = number(figure.published);
    match (figure.bound, figure.published_to) {
        (Some(Bound::AtLeast), _) => format!(">= {low}"),
        (Some(Bound::AtMost), _) => format!("<= {low}"),
        (None, Some(high)) => format!("{low}-{}", number(high)),
        (None, None) => low,
    }
}

/// The tolerance of a figure; a limit has none.
pub fn may(tolerance: f64) -> String {
    if tolerance > 0.0 { format!("{:.0}%", tolerance * 100.0) } else { String::new() }
}

/// At most four significant digits, without trailing zeros.
pub fn number(value: f64) -> String {
    let whole = value.abs().max(1.0).log10() as usize + 1;
    let text = format!("{value:.*}", 4usize.saturating_sub(whole).min(3));
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text,
    }
}

fn chart(chart: &Chart, figures: &[Compared], done: &[Done], style: &Style) -> String {
    let (title, lines) = match chart {
        Chart::Lines { title, series } => {
            (title, series.iter().filter_map(|name| time_series(name, done, style)).collect())
        }
        Chart::Bars { title, bars, of } => (title, self::bars((bars, of), figures, style)),
    };
    let lines: Vec<(String, String)> = lines;
    if lines.is_empty() {
        return String::new();
    }
    let width = lines.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let mut text = format!("\n{}\n", style.paint(Ink::Strong, title));
    for (name, line) in lines {
        text += &format!("{name:width$}  {line}\n");
    }
    text
}

/// A workload's rate by share of its bytes, and the bounds of the rate.
fn time_series(name: &str, done: &[Done], style: &Style) -> Option<(String, String)> {
    let (experiment, workload) = name.split_once('/')?;
    let done = done.iter().find(|d| d.experiment == experiment)?;
    let rates = TimeSeries::of(&done.run, workload)?.parts(CHART_COLUMNS, 0.0, 1.0);
    let (low, high) =
        rates.iter().fold((f64::MAX, 0f64), |(low, high), rate| (low.min(*rate), high.max(*rate)));
    let values: Vec<_> = rates.into_iter().map(Some).collect();
    let line = report::sparkline(&values, CHART_COLUMNS, style);
    let mb = |rate: f64| number(rate / 1e6);
    Some((name.to_string(), format!("{line}  {} to {} MB/s", mb(low), mb(high))))
}

/// The name of a figure's bar in a chart of the figures between these words.
pub fn bar(figure: &Compared, begin: &str, end: &str) -> Option<String> {
    let name = figure.what.strip_prefix(begin)?.strip_suffix(end)?;
    Some(name.trim_matches([',', ' ']).to_string())
}

fn bars((begin, end): (&str, &str), figures: &[Compared], style: &Style) -> Vec<(String, String)> {
    let shown = figures.iter().filter_map(|f| Some((bar(f, begin, end)?, f.here?, f.unit)));
    let shown: Vec<_> = shown.collect();
    let most = shown.iter().map(|(_, value, _)| *value).fold(f64::MIN_POSITIVE, f64::max);
    let block = if style.unicode { "█" } else { "#" };
    let drawn = |value: f64| block.repeat(((value / most * 40.0).round() as usize).max(1));
    let line = |value: f64, unit: &str| format!("{} {} {unit}", drawn(value), number(value));
    shown.into_iter().map(|(n, value, unit)| (n, line(value, unit.name_and_scale().0))).collect()
}

/// Everything as JSON.
pub fn json(
    name: &str,
    document: &Document,
    figures: &[Compared],
    done: &[Done],
) -> lab::Result<Value> {
    let runs: Vec<Value> = done
        .iter()
        .map(|d| {
            json!({
                "experiment": d.experiment,
                "run": d.run.number,
                "target": d.run.target.spec,
                "page": d.page,
            })
        })
        .collect();
    let headline = match &document.headline {
        Some(headline) => json!({ "rows": headline.table()?, "hidden": headline.hidden()? }),
        None => Value::Null,
    };
    Ok(json!({
        "document": name,
        "title": document.title,
        "met": figures.iter().filter(|f| f.met).count(),
        "of": figures.len(),
        "by_basis": by_basis(figures)
            .map(|(basis, met, of)| (basis.name().to_string(), json!({ "met": met, "of": of })))
            .collect::<serde_json::Map<_, _>>(),
        "headline": headline,
        "figures": figures,
        "answers": answers(document, done),
        "runs": runs,
    }))
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
