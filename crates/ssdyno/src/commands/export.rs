//! `ssdyno export`: records for other programs, and what of them may be published.

use std::io::{self, IsTerminal};
use std::process::ExitCode;

use record::Run;

use super::runs::{find_all, open};
use crate::cli::{ExportArgs, ExportFormat};
use crate::failure::{Failure, IO, Result, USAGE};
use crate::{present, screen};

/// Prints the selected records, in the given order, or all, oldest first.
pub fn run(args: &ExportArgs) -> Result {
    let store = open(&args.store)?;
    let numbers = match args.runs.as_slice() {
        [] => store.numbers()?,
        some => find_all(&store, some)?,
    };
    let format = if args.csv { ExportFormat::Csv } else { args.format };
    if args.public {
        let runs = numbers.into_iter().map(|number| Ok(store.load(number)?));
        return publish(runs, !args.runs.is_empty());
    }
    match format {
        ExportFormat::Records => {
            for number in numbers {
                let text = store.document(number)?.text().map_err(|e| Failure::new(IO, e))?;
                present::print_records(&(text + "\n"))?;
            }
        }
        ExportFormat::Csv => {
            for (i, number) in numbers.into_iter().enumerate() {
                let csv = report::csv(&store.load(number)?);
                // One heading for all records.
                let lines = csv.split_inclusive('\n').skip(usize::from(i > 0));
                present::print(&lines.collect::<String>())?;
            }
        }
        ExportFormat::Influx => {
            for number in numbers {
                let run = store.load(number)?;
                present::print(&report::influx(&run, lab::started_ms(&run)))?;
            }
        }
        ExportFormat::Prom => present::print(&report::prom(timed(&load(&store, &numbers)?)))?,
        ExportFormat::Parquet => {
            if io::stdout().is_terminal() {
                let failure = Failure::new(USAGE, "Parquet is not for a terminal");
                return Err(failure.advise("ssdyno export --format parquet > runs.parquet"));
            }
            present::print_bytes(&report::parquet(timed(&load(&store, &numbers)?)))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The runs with their metrics only: what the tables need.
fn load(store: &store::Store, numbers: &[i64]) -> Result<Vec<Run>> {
    let runs = numbers.iter().map(|number| {
        let run = store.load(*number)?;
        Ok(Run { series: Vec::new(), latencies: Vec::new(), ..run })
    });
    runs.collect()
}

/// The runs with the times of their starts.
fn timed(runs: &[Run]) -> impl Iterator<Item = (&Run, Option<i64>)> {
    runs.iter().map(|run| (run, lab::started_ms(run)))
}

/// Prints what may be published. Of all runs, those that cannot be published are counted; a selected
/// one is refused.
fn publish(runs: impl Iterator<Item = Result<Run>>, is_selected: bool) -> Result {
    let mut refused = 0;
    for run in runs {
        match lab::public(&run?) {
            Ok(public) => present::print_records(&format!("{public}\n"))?,
            Err(error) if is_selected => return Err(error.into()),
            Err(_) => refused += 1,
        }
    }
    if refused > 0 {
        screen::say(&format!(
            "{refused} runs cannot be published: ssdyno export RUN --public says why"
        ));
    }
    Ok(ExitCode::SUCCESS)
}
