//! `ssdyno compare A B`: two records side by side, with the claims that their differences support and
//! the conditions that differ. There is no single score, and no claim without an interval.

use std::process::ExitCode;

use lab::compare::{self, Difference, Pair};
use record::Run;
use report::table::{Align, Cell, Table};
use report::{Ink, Style};
use serde_json::json;

use crate::cli::CompareArgs;
use crate::commands::runs::load;
use crate::failure::{CHECK_FAILED, Failure, Result, USAGE};
use crate::{present, screen};

/// The caveat of two records that were not measured in alternation.
const CONFOUNDED: &str = "A and B were not measured in alternation: drift between them (heat, cache, \
                          state) is part of the difference";

/// Compares two records.
pub fn run(args: &CompareArgs) -> Result {
    let (a, b) = (load(&args.a, &args.store)?.run, load(&args.b, &args.store)?.run);
    if a.id == b.id && a.number == b.number {
        return Err(Failure::new(USAGE, format!("{} and {} are the same run", args.a, args.b)));
    }
    let pairs = compare::pairs(&a, &b);
    let differences = compare::differences(&a, &b);
    let text = match args.json {
        true => present::json(&json!({
            "a": a.id,
            "b": b.id,
            "pairs": pairs,
            "conditions_differ": differences,
            "order": "confounded",
        }))?,
        false => page(&a, &b, &pairs, &differences, &screen::style()),
    };
    present::print(&text)?;
    match pairs.is_empty() {
        true => Ok(ExitCode::from(CHECK_FAILED)),
        false => Ok(ExitCode::SUCCESS),
    }
}

fn page(a: &Run, b: &Run, pairs: &[Pair], differences: &[Difference], style: &Style) -> String {
    let mut text = format!("A  {}\nB  {}\n\n", title(a), title(b));
    if pairs.is_empty() {
        text += "the records have no value in common\n";
    } else {
        text += &values(pairs, style);
    }
    text += "\n";
    let known = differences.iter().filter(|d| d.a.is_some() && d.b.is_some());
    for Difference { what, a, b } in known.clone() {
        let shown = |side: &Option<String>| side.clone().unwrap_or_default();
        let line = format!("! {what}: {} | {}", shown(a), shown(b));
        text += &(style.paint(Ink::Warn, &line) + "\n");
    }
    if known.count() > 1 {
        text += "! more than one condition differs: the cause of a difference cannot be named\n";
    }
    let unknown: Vec<_> =
        differences.iter().filter(|d| d.a.is_none() || d.b.is_none()).map(|d| d.what).collect();
    if !unknown.is_empty() {
        let line = format!("! known for only one of them: {}", unknown.join(", "));
        text += &(screen::wrap(&line, style.width.min(100)) + "\n");
    }
    if pairs.iter().any(|p| p.claim == "no claim") {
        text += "- one value on a side: no interval, so no claim\n";
    }
    text += &(screen::wrap(&format!("- {CONFOUNDED}"), style.width.min(100)) + "\n");
    text
}

fn title(run: &Run) -> String {
    let name = run.number.map_or_else(|| run.id.clone(), |n| format!("run {n}"));
    let model = run.target.drive.as_ref().and_then(|d| d.model.clone());
    let place = run.environment.board.clone().filter(|_| run.origin.is_some());
    let subject = [model, place].into_iter().flatten().collect::<Vec<_>>().join(", ");
    let subject = if subject.is_empty() { run.target.spec.clone() } else { subject };
    let word = if run.origin.is_some() { "   not measured by ssdyno" } else { "" };
    format!("{name}   {}   {subject}{word}", run.method)
}

fn values(pairs: &[Pair], style: &Style) -> String {
    let right = Align::Right;
    let mut table = Table::new(&[Align::Left, right, right, right, Align::Left, Align::Left]);
    table.heading(["", "A", "B", "B over A", "95% interval", "claim"]);
    for pair in pairs {
        let shown = |value: Option<f64>| {
            value.map_or("unknown".to_string(), |v| report::quantity(pair.unit, v))
        };
        let percent = |ratio: f64| format!("{:+.1}%", (ratio - 1.0) * 100.0);
        let interval = match (pair.low, pair.high) {
            (Some(low), Some(high)) => format!("{} to {}", percent(low), percent(high)),
            _ => String::new(),
        };
        let name =
            pair.name_b.as_ref().map_or(pair.name.clone(), |b| format!("{} | {b}", pair.name));
        let certain = pair.claim.starts_with('B') || pair.claim.starts_with("same");
        table.row([
            Cell::from(name),
            Cell::from(shown(pair.a)),
            Cell::from(shown(pair.b)),
            Cell::new(Ink::Strong, pair.ratio.map_or(String::new(), percent)),
            Cell::dim(interval),
            Cell::new(if certain { Ink::Strong } else { Ink::Dim }, said(pair)),
        ]);
    }
    table.elastic(0).render(style)
}

/// The claim; an open one with the smallest difference this comparison could detect.
fn said(pair: &Pair) -> String {
    match (pair.claim, pair.detectable) {
        ("inconclusive", Some(share)) => {
            format!("inconclusive: detects {:.0}% or more", share * 100.0)
        }
        (claim, _) => claim.to_string(),
    }
}
