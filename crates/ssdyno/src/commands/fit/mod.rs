//! `ssdyno drives fit`: from records of a drive to a description of it, and how well it predicts
//! what was measured. What the records do not decide is said.

mod file;
mod observe;

use std::fs;
use std::process::ExitCode;

use model::fit::{Fitted, Prediction, fit};
use model::{DriveSpec, FigureLine};
use report::table::{Align, Cell, Table};
use report::{Ink, Style};
use serde_json::json;
use store::Store;
use workload::units;

use crate::cli::FitArgs;
use crate::failure::{Failure, IO, Result, USAGE};
use crate::virtual_drive::{PREFIX, described};
use crate::{present, screen};

/// Beyond this share a prediction is shown as one to distrust.
const NEAR: f64 = 0.1;

/// Fits a description to records.
pub fn run(args: &FitArgs) -> Result {
    let store = Store::open_existing(args.store.store.as_deref())?;
    let runs = args.runs.iter().map(|text| Ok(store.load(store.find(text)?)?));
    let runs: Vec<_> = runs.collect::<Result<_>>()?;
    let observed = observe::observe(&args.name, &runs);
    if observed.cells.is_empty() && observed.pass.is_none() {
        let text = "these records have nothing that a description can be fitted to";
        return Err(Failure::new(USAGE, text)
            .advise("runs of quick, sustain, zones or states of one drive"));
    }
    if !args.json {
        let count = observed.cells.len() + observed.pass.iter().count();
        screen::say(&format!(
            "fitting to {count} measurements; random writes on a full drive take most"
        ));
    }
    let base = base(args.base.as_deref())?;
    let mut fitted = fit(&observed, &base);
    fitted.spec.about = format!(
        "Fitted to records of {}; what they do not decide is as in {}.",
        runs[0].target.spec, base.name
    );
    let text = file::text(&fitted.spec);
    if let Some(path) = &args.output {
        let cannot = |e| Failure::new(IO, format!("cannot write {}: {e}", path.display()));
        fs::write(path, &text).map_err(cannot)?;
    }
    present::print(&match args.json {
        true => as_json(&fitted, &text)?,
        false => shown(&fitted, args, &screen::style()),
    })?;
    Ok(ExitCode::SUCCESS)
}

fn base(name: Option<&str>) -> Result<DriveSpec> {
    let Some(name) = name else {
        return Ok(DriveSpec { name: "a plain NVMe drive".into(), ..DriveSpec::default() });
    };
    let spec = if name.starts_with(PREFIX) { name.to_string() } else { format!("{PREFIX}{name}") };
    described(&spec).unwrap_or_else(|| Err(Failure::new(USAGE, format!("{name} is no drive"))))
}

/// Figures that the records decided, and those that they did not.
fn decided(spec: &DriveSpec) -> (Vec<FigureLine>, Vec<FigureLine>) {
    spec.figures().into_iter().partition(|figure| figure.from != "guessed")
}

fn shown(fitted: &Fitted, args: &FitArgs, style: &Style) -> String {
    let (known, open) = decided(&fitted.spec);
    let mut table = Table::new(&[Align::Left, Align::Right, Align::Left]);
    table.heading(["figure", "value", "decided by"]);
    for figure in known {
        table.row([
            Cell::from(figure.key.as_str()),
            Cell::new(Ink::Strong, figure.value.as_str()),
            Cell::dim(figure.source.as_str()),
        ]);
    }
    let keys: Vec<_> = open.iter().map(|figure| figure.key.as_str()).collect();
    let line = format!("undetermined, as in the base: {}", keys.join(", "));
    let mut text =
        format!("{}\n{}\n", table.render(style), screen::wrap(&line, style.width.min(90)));
    text += &format!("\n{}", predictions(&fitted.predictions, style));
    let off = |p: &&Prediction| (p.predicted / p.measured - 1.0).abs() > NEAR;
    let far = fitted.predictions.iter().filter(off).count();
    if far > 0 {
        let all = fitted.predictions.len();
        let line =
            format!("{far} of {all} measurements are further than 10% from the fitted drive");
        text += &format!("\n{}\n", style.paint(Ink::Warn, &line));
    }
    text += &match &args.output {
        Some(path) => format!("\nwritten to {0}     ssdyno run sim:{0}\n", path.display()),
        None => "\nnothing written: -o FILE.toml writes the description\n".to_string(),
    };
    text
}

fn predictions(predictions: &[Prediction], style: &Style) -> String {
    let right = Align::Right;
    let mut table = Table::new(&[Align::Left, right, right, right]);
    table.heading(["workload", "measured", "fitted drive", "off"]);
    for p in predictions {
        let off = p.predicted / p.measured - 1.0;
        let ink = if off.abs() <= NEAR { Ink::Plain } else { Ink::Warn };
        table.row([
            Cell::from(p.name.as_str()),
            Cell::from(units::throughput(p.measured)),
            Cell::from(units::throughput(p.predicted)),
            Cell::new(ink, format!("{:+.1}%", off * 100.0)),
        ]);
    }
    table.render(style)
}

fn as_json(fitted: &Fitted, text: &str) -> Result<String> {
    let (known, open) = decided(&fitted.spec);
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
        "fitted": known,
        "undetermined": open,
        "predictions": predictions,
        "toml": text,
    }))
}
