//! `ssdyno import`: results of other tools into the store, each a record that says where it came
//! from. The id of a record is made of the text it was read from, so that the same text is the same
//! record.

use std::fs;
use std::io::{self, Read};
use std::path::Path;
use std::process::ExitCode;

use compat::import::{self, FORMATS, Format};
use jiff::Timestamp;
use record::Run;
use report::Ink;
use report::table::{Align, Cell, Table};
use store::Store;

use crate::cli::ImportArgs;
use crate::failure::{Failure, Result, USAGE};
use crate::{present, screen};

/// Largest text that is read: records with all their series have tens of MB.
const BYTES_MAX: u64 = 1 << 30;

/// A record that was found, and what became of it.
struct Entered {
    run: Run,
    file: String,
    /// It was in the store before.
    known: bool,
}

/// Reads the files and enters what is in them.
pub fn run(args: &ImportArgs) -> Result {
    if args.list {
        return list(args.json);
    }
    let only = args.format.as_deref().map(named).transpose()?;
    let mut found = Vec::new();
    // All files are read before any is entered: one that cannot be read leaves nothing behind.
    for path in &args.files {
        let name = path.display().to_string();
        for run in read(path, only)? {
            found.push(Entered { run, file: name.clone(), known: false });
        }
    }
    if !args.dry_run {
        enter(&mut found, args)?;
    }
    match args.json {
        true => {
            for entered in &found {
                present::print(&present::record_json(&entered.run, false)?)?;
            }
        }
        false => present::print(&table(&found, args.dry_run))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn named(name: &str) -> Result<&'static Format> {
    let known = || FORMATS.iter().map(|format| format.name).collect::<Vec<_>>().join(", ");
    let unknown = || Failure::new(USAGE, format!("no format '{name}'; there are: {}", known()));
    import::format(name).ok_or_else(|| unknown().advise("ssdyno import --list"))
}

fn read(path: &Path, only: Option<&Format>) -> Result<Vec<Run>> {
    let name = path.display().to_string();
    let bytes = bytes(path).map_err(|e| Failure::new(USAGE, format!("{name}: {e}")))?;
    let text = import::decode(&bytes);
    let wrong = |e| Failure::new(USAGE, format!("{name}: {e}")).advise("ssdyno import --list");
    let mut runs = import::read(&text, only).map_err(wrong)?;
    for (i, run) in runs.iter_mut().enumerate() {
        complete(run, &name, &bytes, i);
    }
    Ok(runs)
}

fn bytes(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = match path.to_str() {
        Some("-") => io::stdin().lock().take(BYTES_MAX + 1).read_to_end(&mut bytes)?,
        _ => fs::File::open(path)?.take(BYTES_MAX + 1).read_to_end(&mut bytes)?,
    };
    if read as u64 > BYTES_MAX {
        return Err(io::Error::other("more than 1 GiB"));
    }
    Ok(bytes)
}

/// Gives the record its id and its source.
fn complete(run: &mut Run, file: &str, bytes: &[u8], index: usize) {
    if let Some(origin) = run.origin.as_mut().filter(|origin| origin.source.is_empty()) {
        origin.source = file.to_string();
    }
    let known = run.origin.as_ref().is_some_and(|origin| origin.start_known);
    let moment = run.started.parse::<Timestamp>().ok().filter(|_| known);
    if run.id.is_empty() {
        let content = [bytes, &(index as u64).to_le_bytes()].concat();
        let ms = moment.map_or(0, |moment| moment.as_millisecond());
        run.id = store::id_of(ms, &content);
    }
    if moment.is_none() {
        run.started = Timestamp::now().to_string();
    }
}

/// Enters what is not there yet, and gives every record its number.
fn enter(found: &mut [Entered], args: &ImportArgs) -> Result<()> {
    let mut store = Store::open(args.store.store.as_deref())?;
    for entered in found {
        let before = store.find(&entered.run.id).ok();
        let number = store.import(&entered.run)?;
        entered.known = before == Some(number);
        if entered.known {
            entered.run = store.load(number)?;
        }
        entered.run.number = Some(number);
    }
    Ok(())
}

fn table(found: &[Entered], dry_run: bool) -> String {
    let mut table =
        Table::new(&[Align::Right, Align::Left, Align::Left, Align::Right, Align::Left]).elastic(2);
    table.heading(["run", "tool", "from", "values", ""]);
    for Entered { run, file, known } in found {
        let origin = run.origin.as_ref();
        let place = origin.and_then(|o| o.place.clone()).unwrap_or_default();
        let tool = origin.and_then(|o| o.tool_name()).unwrap_or_default();
        let word = match (dry_run, known) {
            (true, _) => "not entered",
            (_, true) => "was in the store already",
            (_, false) => "imported",
        };
        table.row([
            Cell::new(Ink::Strong, run.number.map_or("-".to_string(), |n| n.to_string())),
            Cell::from(tool),
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
