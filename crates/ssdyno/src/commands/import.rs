//! `ssdyno import`: results of other tools into the store.

use std::process::ExitCode;

use lab::import::{self, FORMATS, Imported};
use report::Ink;
use report::table::{Align, Cell, Table};

use crate::cli::ImportArgs;
use crate::failure::Result;
use crate::{present, screen};

/// Reads the files and enters their records.
pub fn run(args: &ImportArgs) -> Result {
    if args.list {
        return list(args.json);
    }
    let only = args.format.as_deref().map(import::format).transpose()?;
    let mut found = Vec::new();
    // All files are read before the first record is entered: an unreadable one leaves no record.
    for path in &args.files {
        found.extend(import::read(path, only)?);
    }
    if !args.dry_run {
        import::enter(&mut found, args.store.store.as_deref())?;
    }
    if !args.json {
        present::print(&table(&found, args.dry_run))?;
        return Ok(ExitCode::SUCCESS);
    }
    for imported in &found {
        present::print(&present::record_json(&imported.run, false)?)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn table(found: &[Imported], dry_run: bool) -> String {
    let mut table =
        Table::new(&[Align::Right, Align::Left, Align::Left, Align::Right, Align::Left]).elastic(2);
    table.heading(["run", "tool", "from", "values", ""]);
    for Imported { run, file, known } in found {
        let origin = run.origin.as_ref();
        let place = origin.and_then(|o| o.place.clone()).unwrap_or_default();
        let tool = origin.map_or_else(|| Some("ssdyno".into()), |o| o.tool_name());
        let word = match (dry_run, known) {
            (true, _) => "not entered",
            (_, true) => "was in the store already",
            (_, false) => "imported",
        };
        table.row([
            Cell::new(Ink::Strong, run.number.map_or("-".to_string(), |n| n.to_string())),
            Cell::from(tool.unwrap_or_default()),
            Cell::path(format!("{file} {place}")),
            Cell::from(run.metrics.len().to_string()),
            Cell::dim(word),
        ]);
    }
    table.render(&screen::style())
}

fn list(as_json: bool) -> Result {
    let mut table = Table::new(&[Align::Left, Align::Left]);
    table.heading(["format", "what is read"]);
    for format in &FORMATS {
        table.row([Cell::new(Ink::Strong, format.name), Cell::from(format.about)]);
    }
    let names: Vec<_> = FORMATS.iter().map(|f| [f.name, f.about]).collect();
    let text = if as_json { present::json(&names)? } else { table.render(&screen::style()) };
    present::print(&text)?;
    Ok(ExitCode::SUCCESS)
}
