//! `ssdyno drives fit`: fits a description to records of a drive, and shows how well it predicts
//! them.

use std::io::Write;

use lab::fit::{FitReport, HEAD, Measurements, Prediction};
use report::table::{Align, Table, TableCell};
use report::{Ink, Style};
use serde_json::json;
use store::Store;
use workload::units;

use crate::cli::FitArgs;
use crate::failure::{Failure, Result};
use crate::{present, screen};

/// Relative error beyond which a prediction is marked.
const NEAR: f64 = 0.1;

/// Fits a description to records.
pub fn run(args: &FitArgs) -> Result {
    let store = Store::open_existing(args.store.store.as_deref())?;
    let runs = args.runs.iter().map(|text| Ok(store.load(store.find(text)?)?));
    let runs: Vec<_> = runs.collect::<Result<_>>()?;
    let measurements = Measurements::from_runs(&args.name, &runs)?;
    if !args.json {
        screen::say(&format!(
            "fitting to {} measurements; random writes on a full drive take longest",
            measurements.count()
        ));
    }
    let fitted = measurements.fit(args.base.as_deref())?;
    if let Some(path) = &args.output {
        let file = emit::Replacement::renew(path, HEAD.as_bytes());
        file.and_then(|mut file| {
            file.write_all(fitted.toml.as_bytes())?;
            file.finish()
        })
        .map_err(|e| Failure::cannot_write(path, &e))?;
    }
    present::done(&if args.json {
        as_json(&fitted)?
    } else {
        as_text(&fitted, args, &screen::style())
    })
}

fn as_text(fitted: &FitReport, args: &FitArgs, style: &Style) -> String {
    let mut table = Table::new(&[Align::Left, Align::Right, Align::Left]);
    table.heading(["figure", "value", "determined by"]);
    for figure in &fitted.decided {
        table.row([
            TableCell::from(figure.key.as_str()),
            TableCell::new(Ink::Strong, figure.value.as_str()),
            TableCell::dim(figure.source.as_str()),
        ]);
    }
    let mut text = format!("{}\n{}", table.render(style), undetermined(fitted, style));
    text += &format!("\n{}", predictions(&fitted.predictions, style));
    let total = fitted.predictions.len();
    let outliers = fitted.predictions.iter().filter(|p| deviation(p).abs() > NEAR).count();
    if outliers > 0 {
        let line = format!(
            "{outliers} of {total} measurements differ by more than 10% from the fitted drive"
        );
        text += &format!("\n{}\n", style.paint(Ink::Warn, &line));
    }
    text += &match &args.output {
        Some(path) => format!("\nwritten to {0}     ssdyno run sim:{0}\n", path.display()),
        None => "\nnothing written: -o FILE.toml writes the description\n".to_string(),
    };
    text
}

/// What the records leave open, and the runs that would determine it.
fn undetermined(fitted: &FitReport, style: &Style) -> String {
    let wrapped = |line: &str| format!("{}\n", screen::wrap(line, style.width.min(90)));
    let mut text = String::new();
    for advice in &fitted.advice {
        text += &wrapped(&format!("not determined: {}", advice.parameters.join(", ")));
        // A command stays in one piece, to copy.
        text += &format!("   try: {}\n", advice.command);
    }
    if !fitted.without_effect.is_empty() {
        let keys = fitted.without_effect.join(", ");
        text += &wrapped(&format!("without effect on these figures, as in the base: {keys}"));
    }
    let advised: Vec<&String> =
        fitted.advice.iter().flat_map(|advice| &advice.parameters).collect();
    let rest = fitted.undetermined.iter().map(|figure| &figure.key);
    let rest = rest.filter(|key| !advised.contains(key) && !fitted.without_effect.contains(key));
    let rest: Vec<&str> = rest.map(String::as_str).collect();
    text + &wrapped(&format!("undetermined by any run, as in the base: {}", rest.join(", ")))
}

/// Relative deviation of the fitted drive from the measurement.
fn deviation(p: &Prediction) -> f64 {
    p.predicted / p.measured - 1.0
}

fn predictions(predictions: &[Prediction], style: &Style) -> String {
    let mut table = Table::new(&[Align::Left, Align::Right, Align::Right, Align::Right]);
    table.heading(["workload", "measured", "fitted drive", "off"]);
    for p in predictions {
        let deviation = deviation(p);
        let ink = if deviation.abs() <= NEAR { Ink::Plain } else { Ink::Warn };
        table.row([
            TableCell::from(p.name.as_str()),
            TableCell::from(units::throughput(p.measured)),
            TableCell::from(units::throughput(p.predicted)),
            TableCell::new(ink, format!("{:+.1}%", deviation * 100.0)),
        ]);
    }
    table.render(style)
}

fn as_json(fitted: &FitReport) -> Result<String> {
    let predictions: Vec<_> = fitted
        .predictions
        .iter()
        .map(|p| {
            json!({
                "workload": p.name,
                "measured_bytes_per_s": p.measured,
                "fitted_bytes_per_s": p.predicted,
            })
        })
        .collect();
    present::json(&json!({
        "fitted": fitted.decided,
        "undetermined": fitted.undetermined,
        "advice": fitted.advice,
        "without_effect": fitted.without_effect,
        "predictions": predictions,
        "toml": fitted.toml,
    }))
}
