//! `ssdyno runs`, `show`, `rm`: lists, shows and removes records.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use lab::published;
use record::{Document, Run};
use report::Ink;
use report::table::{Align, Table, TableCell};
use store::{Filter, Host, RunSummary, Store};

use crate::cli::{RmArgs, RunsArgs, ShowArgs, StoreArgs};
use crate::failure::{Failure, IO, Result, USAGE};
use crate::{picture, present, screen};

/// Default number of runs listed. On a terminal, only as many as fit its height, but at least
/// [`LIMIT_MIN`].
const LIMIT: u32 = 50;
const LIMIT_MIN: u32 = 36;

/// Lines of the terminal that are not runs: the heading, the remark on others, the prompt.
const OTHER_LINES: u32 = 4;

/// Minimum columns for the result.
const RESULT_COLUMNS: usize = 30;

/// Lists the records, latest first.
pub fn list(args: &RunsArgs) -> Result {
    if args.published {
        return list_published(args);
    }
    let mut store = open(&args.store)?;
    let filter = Filter {
        drive: args.drive.clone(),
        method: args.method.clone(),
        host: args.host.clone(),
        title: args.title.clone(),
        tags: args.tags.clone(),
        since: args.since.as_deref().map(store::day).transpose()?.map(|d| d.start),
        until: args.until.as_deref().map(store::day).transpose()?.map(|d| d.end),
        limit: if args.all { None } else { Some(args.limit.unwrap_or_else(limit)) },
        ..Filter::default()
    };
    let runs = lab::listed(&mut store, &filter)?;
    let text = if args.json {
        present::json(&lab::runs_json(&runs))?
    } else {
        runs_table(&runs, &store.hosts()?)
    };
    present::print(&text)?;
    let total = store.count(&filter)?;
    if total > runs.len() as u64 && args.limit.is_none() {
        screen::say(&format!("the last {} of {total} runs; more: --limit N, --all", runs.len()));
    }
    Ok(ExitCode::SUCCESS)
}

/// The number of runs listed by default.
fn limit() -> u32 {
    screen::height().map_or(LIMIT, |rows| rows.saturating_sub(OTHER_LINES).clamp(LIMIT_MIN, LIMIT))
}

/// Lists published results in the order of the documents.
fn list_published(args: &RunsArgs) -> Result {
    let mut runs = published::all()?;
    let drive = args.drive.as_ref().map(|text| text.to_lowercase());
    runs.retain(|run| {
        let machine = run.environment.board.as_deref().unwrap_or_default();
        let names = [drive_name(run), machine, run.id.as_str()];
        let is_named = drive
            .as_ref()
            .is_none_or(|text| names.iter().any(|name| name.to_lowercase().contains(text)));
        is_named && args.method.as_ref().is_none_or(|method| *method == run.method)
    });
    runs.truncate(args.limit.map_or(usize::MAX, |n| n as usize));
    let text = if args.json { present::json(&runs)? } else { published_table(&runs) };
    present::done(&text)
}

fn drive_name(run: &Run) -> &str {
    let model = run.target.drive.as_ref().and_then(|drive| drive.model.as_deref());
    model.unwrap_or("unknown")
}

/// A loaded record.
pub struct Loaded {
    /// The record for display, with findings about the record itself.
    pub run: Run,
    /// The record as stored; `None` for a published one.
    document: Option<Document>,
    /// Directory for its pages.
    reports: PathBuf,
}

/// Loads the selected record.
pub fn load(selector: &str, args: &StoreArgs) -> Result<Loaded> {
    if selector.starts_with(published::PREFIX) {
        let store = args.store.clone().map_or_else(store::default_path, Ok)?;
        let run = lab::answered(published::find(selector)?);
        let reports = present::reports_beside(&store);
        return Ok(Loaded { run, document: None, reports });
    }
    let store = open(args)?;
    let (run, document) = lab::kept(&store, store.find(selector)?)?;
    let reports = present::reports_beside(store.path());
    Ok(Loaded { run, document: Some(document), reports })
}

/// Shows one record.
pub fn show(args: &ShowArgs) -> Result {
    let Loaded { run, document, reports } = load(&args.run, &args.store)?;
    if let Some(path) = &args.card {
        write_card(&run, path)?;
        return Ok(ExitCode::SUCCESS);
    }
    if args.html.is_some() || args.open {
        let path = args.html.as_ref().and_then(Option::as_deref);
        let page = present::write_page(&run, path, &reports)?;
        present::print(&format!("{}\n", page.display()))?;
        return if args.open { open_page(&page) } else { Ok(ExitCode::SUCCESS) };
    }
    let text = if args.json {
        match document {
            Some(document) => present::document_json(&document)?,
            None => present::record_json(&run, true)?,
        }
    } else if args.markdown {
        report::markdown(&run)
    } else if args.csv {
        report::csv(&run)
    } else if args.series {
        report::csv_series(&run)
    } else if args.grid {
        report::terminal_grid(&run, &screen::style()).ok_or_else(|| without_grid(&run))?
    } else if args.verbose {
        report::terminal_in_full(&run, &screen::style())
    } else {
        report::terminal(&run, &screen::style())
    };
    present::done(&text)
}

/// The refusal to draw the grid of a run that has none.
fn without_grid(run: &Run) -> Failure {
    let text = format!("{} measured no sequential or random rates by block size", run.method);
    Failure::new(USAGE, text).advise("the same without --grid, or a run of quick")
}

/// Writes the card of a run, in the format given by the file name.
fn write_card(run: &Run, path: &Path) -> Result<()> {
    let card = report::card(run);
    let content = match path.extension().and_then(OsStr::to_str) {
        Some("svg") => card.svg().into_bytes(),
        Some("png") => picture::png(&card)?,
        _ => {
            let text = format!("{} is neither .svg nor .png", path.display());
            return Err(Failure::new(USAGE, text).advise("--card card.png"));
        }
    };
    emit::renew(path, content).map_err(|e| Failure::cannot_write(path, &e))
}

/// Removes records, and their pages beside the store.
pub fn remove(args: &RmArgs) -> Result {
    let mut store = open(&args.store)?;
    let numbers = find_all(&store, &args.runs)?;
    store.remove(&numbers)?;
    let reports = present::reports_beside(store.path());
    for number in &numbers {
        // The page may not exist.
        let name = present::page_name(*number);
        let _ = emit::Directory::open(&reports).and_then(|reports| reports.remove(name.as_ref()));
    }
    let list: Vec<String> = numbers.iter().map(i64::to_string).collect();
    screen::say(&format!("removed run {}", list.join(", ")));
    Ok(ExitCode::SUCCESS)
}

/// Opens the store, which must exist.
pub fn open(args: &StoreArgs) -> Result<Store> {
    Ok(Store::open_existing(args.store.as_deref())?)
}

pub fn find_all(store: &Store, selectors: &[String]) -> Result<Vec<i64>> {
    selectors.iter().map(|s| Ok(store.find(s)?)).collect()
}

/// The name of a run's machine; machines of one name are told apart by their ids.
fn host_name(run: &RunSummary, hosts: &[Host]) -> String {
    let Some(name) = &run.host else { return "unknown".into() };
    let namesakes = hosts.iter().filter(|host| host.name == *name).count();
    match run.machine.as_deref().and_then(|id| id.get(..4)).filter(|_| namesakes > 1) {
        Some(id) => format!("{name}-{id}"),
        None => name.clone(),
    }
}

/// The list of runs, with their machines if the store has runs of several.
fn runs_table(runs: &[RunSummary], hosts: &[Host]) -> String {
    let has_hosts = hosts.len() > 1;
    let mut rows = Vec::new();
    for run in runs {
        let answer = run.answer.clone();
        let (ink, result) = match (run.complete, run.running, &run.cut_short) {
            (true, ..) => (Ink::Plain, answer.unwrap_or_else(|| "nothing was measured".into())),
            (_, true, _) => (Ink::Good, "running".to_string()),
            (_, _, Some(why)) => {
                (Ink::Warn, answer.map_or_else(|| format!("cut short: {why}"), |a| after_all(&a)))
            }
            _ => (Ink::Warn, answer.map_or("cut short".into(), |a| after_all(&a))),
        };
        // A conflict is more important than any result.
        let (ink, result) = if run.conflict {
            (Ink::Bad, format!("CONFLICT: another record has its id; {result}"))
        } else {
            (ink, result)
        };
        let labels = run.title.iter().cloned();
        let tags = run.tags.iter().map(|(name, value)| format!("{name}={value}"));
        let labels = labels.chain(tags).collect::<Vec<_>>().join(" ");
        let result = if labels.is_empty() { result } else { format!("[{labels}] {result}") };
        let host = has_hosts.then(|| TableCell::from(host_name(run, hosts)));
        rows.push(RunRow {
            cells: [
                vec![
                    TableCell::new(Ink::Strong, run.number.to_string()),
                    TableCell::dim(if run.start_known {
                        minute(&run.started)
                    } else {
                        "unknown".into()
                    }),
                    TableCell::from(run.method.as_str()),
                    TableCell::from(run.drive.as_deref().unwrap_or("unknown")),
                ],
                host.into_iter().collect(),
            ]
            .concat(),
            name: run.target.clone(),
            result: TableCell::new(ink, result),
        });
    }
    let headings = ["run", "started", "method", "drive", "host", "target", "result"];
    let headings = headings.into_iter().filter(|name| has_hosts || *name != "host");
    let headings: Vec<&str> = headings.collect();
    rendered(&headings, &[&["drive"], &["drive", "started"]], &rows)
}

/// The list of published results.
fn published_table(runs: &[Run]) -> String {
    let rows = runs.iter().map(|run| {
        let answer = lab::answered(run.clone()).answer;
        RunRow {
            cells: vec![
                TableCell::new(Ink::Strong, run.id.as_str()),
                TableCell::dim(run.started.get(..4).unwrap_or_default()),
                TableCell::from(run.method.as_str()),
            ],
            name: drive_name(run).to_string(),
            result: TableCell::from(answer.map_or(String::new(), |answer| answer.headline)),
        }
    });
    let rows: Vec<RunRow> = rows.collect();
    let headings = ["run", "year", "method", "drive", "result"];
    rendered(&headings, &[&["year"], &["year", "method"]], &rows)
}

/// A line of a list: its first cells, the name of the drive or target, and the result.
struct RunRow {
    cells: Vec<TableCell>,
    name: String,
    result: TableCell,
}

/// Renders a list. On a terminal that is too narrow for the result, the list is shown without the
/// first set of `lesser` columns that suffices; if none does, long names get lines of their own.
/// Names are never truncated, only results.
fn rendered(headings: &[&str], lesser: &[&[&str]], rows: &[RunRow]) -> String {
    if rows.is_empty() {
        return "no runs match\n".to_string();
    }
    let style = screen::uncut();
    let table = list_of(headings, rows, usize::MAX);
    let forms = std::iter::once(&[][..]).chain(lesser.iter().copied());
    let mut forms = forms.map(|lesser| table.clone().without(lesser));
    if let Some(table) = forms.find(|table| table.least(RESULT_COLUMNS) <= style.width) {
        return table.render(&style);
    }
    let lesser = lesser.last().copied().unwrap_or_default();
    let bare = list_of(headings, rows, 0).without(lesser).least(RESULT_COLUMNS);
    let longest = style.width.saturating_sub(bare);
    list_of(headings, rows, longest).without(lesser).render(&style)
}

/// The table; names of more than `longest` characters are on lines of their own.
fn list_of(headings: &[&str], rows: &[RunRow], longest: usize) -> Table {
    let mut columns = vec![Align::Left; headings.len()];
    // Run numbers are aligned right, the ids of published runs left.
    let numbers = headings.contains(&"started");
    columns[0] = if numbers { Align::Right } else { Align::Left };
    let mut table = Table::new(&columns);
    table.heading(headings.iter().copied());
    for RunRow { cells, name, result } in rows {
        let mut cells = cells.clone();
        if name.chars().count() <= longest {
            cells.push(TableCell::from(name.as_str()));
        } else {
            let blank = vec![TableCell::default(); cells.len() + 1];
            cells.push(TableCell::free(Ink::Plain, name.as_str()));
            table.row(std::mem::replace(&mut cells, blank));
        }
        cells.push(result.clone());
        table.row(cells);
    }
    table
}

/// `2026-11-21 20:50`.
fn minute(started: &str) -> String {
    started.get(..16).unwrap_or(started).replace('T', " ")
}

/// The answer of a run that ended early, marked as such.
fn after_all(answer: &str) -> String {
    if answer.starts_with("Cut short") || answer.starts_with("Failed") {
        answer.to_string()
    } else {
        format!("cut short: {answer}")
    }
}

/// The desktop's command that opens a file in its program.
const OPENER: &str = if cfg!(windows) {
    "explorer"
} else if cfg!(target_os = "macos") {
    "open"
} else {
    "xdg-open"
};

/// Opens a page in the desktop's browser.
fn open_page(page: &Path) -> Result {
    let opener =
        Command::new(OPENER).arg(page).stdout(Stdio::null()).stderr(Stdio::null()).status();
    match opener {
        Ok(status) if status.success() => Ok(ExitCode::SUCCESS),
        _ => Err(Failure::new(IO, "no browser could be started").advise("open the file above")),
    }
}
