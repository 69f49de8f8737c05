//! How a record reaches the user: on the screen or as JSON, and as a page with charts.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use record::{Plan, Run};
use report::table::{Align, Cell, Table};
use report::{Ink, Style};
use workload::units;

use crate::cli::OutputArgs;
use crate::failure::{CHECK_FAILED, Failure, IO, Result};
use crate::recording::is_fault_of_content;
use crate::screen;

/// Prints to stdout; a reader that went away is the end and not an error.
pub fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    match written {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => std::process::exit(0),
        other => Ok(other?),
    }
}

/// The directory for reports beside a store.
pub fn reports_beside(store: &Path) -> PathBuf {
    store.parent().unwrap_or(Path::new(".")).join("reports")
}

/// Writes the page of a run, to `path` or into `directory`, and says where it is.
pub fn write_page(run: &Run, path: Option<&Path>, directory: &Path) -> Result<PathBuf> {
    let name = run.number.map_or_else(|| run.id.clone(), |n| format!("run-{n}"));
    let path = path.map_or_else(|| directory.join(format!("{name}.html")), Path::to_path_buf);
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty());
    let made = parent.map_or(Ok(()), fs::create_dir_all);
    let page = report::html(run).map_err(|e| Failure::new(IO, e))?;
    made.and_then(|()| fs::write(&path, page))
        .map_err(|e| Failure::new(IO, format!("cannot write {}: {e}", path.display())))?;
    Ok(path)
}

/// Shows the record of a run that has ended, and gives the exit code it deserves.
pub fn show(run: &Run, output: &OutputArgs, reports: &Path) -> Result {
    let page = write_page(run, output.html.as_deref(), reports);
    if output.json {
        let json = report::json(run, false).map_err(|e| Failure::new(IO, e))?;
        print(&format!("{json}\n"))?;
    } else {
        print(&report::terminal(run, &screen::style()))?;
    }
    match page {
        Ok(path) if !output.json => print(&format!("report    {}\n", path.display()))?,
        Ok(_) => {}
        // The record is safe in the store; a page can be made again.
        Err(failure) => drop(failure.report()),
    }
    Ok(exit_code(run))
}

/// I/O errors on the target are 4, content that was not what had been written is 1.
pub fn exit_code(run: &Run) -> ExitCode {
    if run.errors.iter().any(|e| !is_fault_of_content(e)) {
        ExitCode::from(IO)
    } else if !run.errors.is_empty() {
        ExitCode::from(CHECK_FAILED)
    } else {
        ExitCode::SUCCESS
    }
}

/// One line before the first byte: how long, what is written, what is lost.
pub fn announce(number: Option<i64>, method: &str, target: &str, plan: &Plan) -> String {
    let mut line = number.map_or_else(String::new, |n| format!("run {n}   "));
    line += &format!("{method} on {target}   about {}", units::span(plan.seconds.round()));
    if plan.write_bytes_max > 0 {
        line += &format!(", writes {} at most", units::decimal(plan.write_bytes_max));
    } else {
        line += ", reads only";
    }
    if let Some(loss) = &plan.destroys {
        line += &format!("\ndestroys  {loss}");
    }
    line
}

/// The plan in full, for `--dry-run`.
pub fn plan(method: &str, target: &str, plan: &Plan, style: &Style) -> String {
    let mut table = Table::new(&[Align::Left, Align::Right, Align::Right, Align::Right]);
    table.heading(["step", "times", "time", "writes at most"]);
    for step in &plan.steps {
        let written = match step.write_bytes_max {
            0 => "-".to_string(),
            bytes => units::decimal(bytes),
        };
        table.row([
            Cell::new(Ink::Plain, step.name.as_str()),
            Cell::dim(step.repeats.to_string()),
            Cell::dim(units::span(step.seconds)),
            Cell::new(Ink::Plain, written),
        ]);
    }
    let safety = match plan.safety {
        record::Safety::Reads => "reads: touches nothing",
        record::Safety::Scratch => "scratch: a new file of its own, removed afterwards",
        record::Safety::Borrows => "borrows: overwrites blocks and puts them back",
        record::Safety::Destroys => "destroys: content is lost",
    };
    let region = units::binary(plan.region_bytes);
    format!(
        "{}\nsafety    {safety}\nregion    {region}\n\n{}",
        announce(None, method, target, plan),
        table.render(style)
    )
}
