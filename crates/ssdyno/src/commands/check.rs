//! `ssdyno drives check`: holds a run against a twin, a virtual drive that describes the drive as it
//! was.

use std::process::ExitCode;

use lab::twin::{self, CauseOutcome, HeldFigure, TestedCause, Twin, TwinCheck, TwinVerdict};
use record::{Run, Unit};
use report::table::{Align, Table, TableCell};
use report::{Ink, Style};
use store::Store;
use workload::units;

use crate::cli::CheckArgs;
use crate::failure::{CHECK_FAILED, Result};
use crate::interrupt::InterruptibleRun;
use crate::{present, screen};

/// Holds a run against a twin.
pub fn run(args: &CheckArgs) -> Result {
    let twin = Twin::read(&args.twin)?;
    let store = Store::open_existing(args.store.store.as_deref())?;
    let run = store.load(store.find(&args.run)?)?;
    // Runs that were removed or are in another store are no reference.
    let fitted_to: Vec<Run> =
        twin.fitted_runs().iter().filter_map(|id| store.load(store.find(id).ok()?).ok()).collect();
    if !args.json {
        screen::say(&format!("repeating the work of {} on the twin in virtual time", run.method));
    }
    let interrupt = InterruptibleRun::begin();
    let check = twin::check(&twin, &run, &fitted_to, interrupt.flag())?;
    present::print(&if args.json {
        present::json(&check)?
    } else {
        as_text(&check, &screen::style())
    })?;
    Ok(match check.verdict {
        TwinVerdict::Same => ExitCode::SUCCESS,
        TwinVerdict::Changed(_) | TwinVerdict::Undetermined => ExitCode::from(CHECK_FAILED),
    })
}

fn as_text(check: &TwinCheck, style: &Style) -> String {
    let width = style.width.min(90);
    let mut text = format!("{}\n\n", screen::wrap(&check.sentence, width));
    text += &figures(&check.figures, style);
    if !check.causes.is_empty() {
        text += &format!("\n{}", causes(&check.causes, style));
    }
    for line in &check.assumptions {
        text += &format!("\n{}\n", screen::wrap(&format!("assumed: {line}"), width));
    }
    text
}

fn figures(figures: &[HeldFigure], style: &Style) -> String {
    let mut table = Table::new(&[
        Align::Left,
        Align::Right,
        Align::Left,
        Align::Right,
        Align::Right,
        Align::Right,
    ]);
    table.heading(["figure", "expected", "from", "measured", "times", "same within"]);
    for figure in figures {
        let ink = if figure.differs { Ink::Warn } else { Ink::Plain };
        table.row([
            TableCell::from(figure.label.as_str()),
            TableCell::from(value(figure.unit, figure.expected)),
            TableCell::dim(if figure.expected_from == "run" { "earlier run" } else { "twin" }),
            TableCell::from(value(figure.unit, figure.measured)),
            TableCell::new(ink, format!("{:.3}", figure.ratio())),
            TableCell::dim(format!("{:.0}%", 100.0 * (figure.band_factor - 1.0))),
        ]);
    }
    table.render(style)
}

fn value(unit: Unit, value: f64) -> String {
    match unit {
        Unit::BytesPerSecond => units::throughput(value),
        Unit::Nanoseconds => units::latency(value),
        Unit::Bytes => units::decimal(value as u64),
        Unit::Iops => format!("{} IOPS", units::amount(value)),
        _ => units::significant(value),
    }
}

fn causes(causes: &[TestedCause], style: &Style) -> String {
    let mut table = Table::new(&[Align::Left, Align::Left, Align::Left]).wrapping();
    table.heading(["cause", "", "evidence"]);
    for cause in causes {
        let (ink, word) = match cause.outcome {
            CauseOutcome::Explains => (Ink::Warn, "explains it"),
            CauseOutcome::DoesNotExplain => (Ink::Plain, "does not explain it"),
            CauseOutcome::Excluded => (Ink::Dim, "excluded"),
            CauseOutcome::NotReported => (Ink::Dim, "not reported"),
        };
        table.row([
            TableCell::from(cause.change.words()),
            TableCell::new(ink, word),
            TableCell::dim(cause.evidence.as_str()),
        ]);
    }
    table.render(style)
}
