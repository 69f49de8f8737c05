//! `ssdyno import`: adds ssdyno records and the results of other tools to the store.

use std::process::ExitCode;

use lab::import::{self, Destination, FORMATS, Imported};
use lab::{ErrorKind, LabError};
use report::Ink;
use report::table::{Align, Table, TableCell};
use store::News;

use crate::cli::ImportArgs;
use crate::failure::{Failure, IO, Result};
use crate::{present, screen};

/// Maximum number of rows shown; the others are only counted, except conflicts.
const ROWS: usize = 50;

/// Reads the files and, except in a dry run, adds their records to the store.
pub fn run(args: &ImportArgs) -> Result {
    if args.list {
        return list(args.json);
    }
    let format = args.format.as_deref().map(import::format).transpose()?;
    let files = import::expand(&args.files)?;
    let mut destination = None;
    if !args.dry_run {
        import::check(&files, format)?;
        destination = Some(Destination::at(args.store.store.as_deref()));
    }
    let mut rows = Rows::default();
    let outcome =
        import::read(&files, format, destination, &args.labels.labels(), &mut |imported| {
            if !args.json {
                rows.add(&imported);
                return Ok(());
            }
            print_json(&imported).map_err(|failure| LabError::new(ErrorKind::Io, failure.text()))
        });
    if !args.json {
        present::print(&rows.render())?;
    }
    outcome?;
    Ok(ExitCode::SUCCESS)
}

fn print_json(imported: &Imported) -> Result<()> {
    let text = imported.document.numbered(imported.entered.map(|entered| entered.number));
    present::print(&(text.map_err(|e| Failure::new(IO, e))? + "\n"))
}

/// The list of results, and the number of rows not shown.
#[derive(Default)]
struct Rows {
    shown: Vec<[String; 5]>,
    more: usize,
}

impl Rows {
    fn add(&mut self, imported: &Imported) {
        let Imported { document, file, line, entered } = imported;
        let origin = document.run().origin.as_ref();
        let place = origin.and_then(|o| o.place.clone());
        let place = place.or_else(|| line.map(|line| format!("line {line}"))).unwrap_or_default();
        let tool = origin.map_or_else(|| Some("ssdyno".into()), |o| o.tool_name());
        let word = match entered.map(|entered| entered.news) {
            None => "not entered",
            Some(News::Known) => "already in the store",
            Some(News::New) if origin.is_none() => "carried",
            Some(News::New) => "imported",
            Some(News::Completed) => "completed",
            Some(News::Conflict) => "CONFLICT: other content under this id",
        };
        let conflict = matches!(entered.map(|e| e.news), Some(News::Conflict));
        if self.shown.len() >= ROWS && !conflict {
            self.more += 1;
            return;
        }
        self.shown.push([
            entered.map_or("-".to_string(), |entered| entered.number.to_string()),
            tool.unwrap_or_default(),
            format!("{file} {place}"),
            document.run().metrics.len().to_string(),
            word.to_string(),
        ]);
    }

    fn render(&self) -> String {
        let columns = [Align::Right, Align::Left, Align::Left, Align::Right, Align::Left];
        let mut table = Table::new(&columns).elastic(2);
        table.heading(["run", "tool", "from", "values", ""]);
        for [run, tool, from, values, word] in &self.shown {
            table.row([
                TableCell::new(Ink::Strong, run.as_str()),
                TableCell::from(tool.as_str()),
                TableCell::path(from.as_str()),
                TableCell::from(values.as_str()),
                TableCell::dim(word.as_str()),
            ]);
        }
        if self.shown.is_empty() {
            return String::new();
        }
        let mut text = table.render(&screen::style());
        if self.more > 0 {
            text += &format!("and {} more\n", self.more);
        }
        text
    }
}

fn list(as_json: bool) -> Result {
    let mut table = Table::new(&[Align::Left, Align::Left]);
    table.heading(["format", "input"]);
    for format in &FORMATS {
        table.row([TableCell::new(Ink::Strong, format.name), TableCell::from(format.about)]);
    }
    let names: Vec<_> = FORMATS.iter().map(|f| [f.name, f.about]).collect();
    let text = if as_json { present::json(&names)? } else { table.render(&screen::style()) };
    present::done(&text)
}
