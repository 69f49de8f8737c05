//! iozone: its full output, only the table, or the tables that -R adds for spreadsheets.
//!
//! Columns of tests that were not run are blank, so a value is identified by its position: it ends
//! in the same column as its heading, or one column from it. The widths differ between versions and
//! between columns. Rates are KiB/s. The table of `ssdyno iozone` is in the same format.

use methods::{IozoneFigure, iozone_metric};
use record::{Finding, FindingKind, Level, Run, Unit};

use super::found::{self, ctime, moment, put, run};
use super::lines::{ImportError, Lines, after};
use crate::iozone::{REPORTS, TITLE};

/// File size and record size in KiB, figure and KiB/s.
type Cell = (u64, u64, IozoneFigure, f64);

pub(crate) fn begins(lines: &Lines<'_>) -> bool {
    lines.peek().is_some_and(|line| is_title(line) || is_heading(line) || report(line).is_some())
}

fn is_title(line: &str) -> bool {
    let line = line.trim_start();
    ["Iozone: Performance Test of File I/O", TITLE].iter().any(|title| line.starts_with(title))
}

/// The second of the table's two heading lines.
fn is_heading(line: &str) -> bool {
    let mut words = line.split_whitespace();
    words.next().is_some_and(|w| w.eq_ignore_ascii_case("kB"))
        && words.next() == Some("reclen")
        && words.next() == Some("write")
}

/// Lines that may appear between and after tables.
fn is_continuation(line: &str) -> bool {
    let words = ["random", "Excel output is below", "iozone test complete"];
    let line = line.trim();
    let known = line.is_empty() || words.iter().any(|word| line.starts_with(word));
    known || is_heading(line) || report(line).is_some()
}

/// The figure of a -R table, by its heading. Versions differ in case.
fn report(line: &str) -> Option<IozoneFigure> {
    let line = line.trim().strip_prefix('"')?.strip_suffix('"')?;
    let found = REPORTS.iter().position(|words| words.eq_ignore_ascii_case(line));
    found.map(|column| IozoneFigure::ALL[column])
}

pub(crate) fn read(lines: &mut Lines<'_>) -> Result<Vec<Run>, ImportError> {
    let begin = lines.number();
    let mut run = run("iozone", "iozone", None, begin);
    let (mut table, mut sheets) = (Vec::new(), Vec::new());
    while let Some(line) = lines.peek() {
        let read = !table.is_empty() || !sheets.is_empty();
        if is_title(line) && lines.number() > begin || read && !is_continuation(line) {
            break;
        }
        lines.next();
        if is_heading(line) {
            rows(lines, line, &run, &mut table)?;
        } else if let Some(figure) = report(line) {
            sheet(lines, figure, &mut sheets)?;
        } else {
            fact(&mut run, line);
        }
    }
    // With -R, both contain the same values.
    let cells = if table.is_empty() { sheets } else { table };
    if cells.is_empty() {
        return Err(lines.wrong_at(begin, "iozone's output ends before its table"));
    }
    enter(&mut run, &cells);
    Ok(vec![run])
}

fn fact(run: &mut Run, line: &str) {
    let line = line.trim();
    if let Some(command) = line.strip_prefix("Command line used:") {
        *run = found::with_command(run.clone(), Some(command.trim().to_string()));
        let file = command.split_whitespace().skip_while(|w| *w != "-f").nth(1);
        run.target.spec = file.unwrap_or_default().to_string();
        let direct = command.split_whitespace().any(|w| w == "-I");
        run.target.direct = Some(direct);
    } else if let Some(time) = line.strip_prefix("Run began:").and_then(ctime) {
        found::start(run, Some(moment(time)));
    } else if let (Some(version), Some(origin)) =
        (after(line, "Version $Revision: "), &mut run.origin)
    {
        origin.version = version.split_whitespace().next().map(String::from);
    }
}

fn rows(
    lines: &mut Lines<'_>,
    heading: &str,
    run: &Run,
    cells: &mut Vec<Cell>,
) -> Result<(), ImportError> {
    let ends = ends(heading);
    let command = run.origin.as_ref().and_then(|o| o.command.as_deref()).unwrap_or("");
    let asked = tests_asked(command);
    while let Some(line) = lines.peek() {
        let line = line.trim_end();
        if !line.trim_start().starts_with(|c: char| c.is_ascii_digit()) {
            break;
        }
        lines.next();
        let row = by_column(line, &ends).or_else(|| in_order(line, asked.as_deref()));
        cells.extend(row.ok_or_else(|| lines.wrong("not a row of iozone's table"))?);
    }
    Ok(())
}

/// The words of a line, with their end columns.
fn words(line: &str) -> Vec<(&str, usize)> {
    let start = line.as_ptr() as usize;
    let end = |word: &str| word.as_ptr() as usize - start + word.len();
    line.split_whitespace().map(|word| (word, end(word))).collect()
}

/// The end columns of the figures' headings, counted from the end of the record size's.
fn ends(heading: &str) -> Vec<usize> {
    let words = words(heading);
    let [_, (_, second), figures @ ..] = words.as_slice() else { return Vec::new() };
    figures.iter().map(|(_, end)| end - second).collect()
}

/// Values by column. Leading blanks may be missing; blanks between values may not.
fn by_column(line: &str, ends: &[usize]) -> Option<Vec<Cell>> {
    let words = words(line);
    let [(file, first), (record, second), values @ ..] = words.as_slice() else { return None };
    (second - first == 8 && !values.is_empty()).then_some(())?;
    let (file, record) = (file.parse().ok()?, record.parse().ok()?);
    let cell = |(word, end): &(&str, usize)| {
        let column = ends.iter().position(|heading| heading.abs_diff(end - second) <= 1)?;
        Some((file, record, *IozoneFigure::ALL.get(column)?, rate(word)?))
    };
    values.iter().map(cell).collect()
}

/// Values in order, if all columns are present or the command line identifies them.
fn in_order(line: &str, asked: Option<&[IozoneFigure]>) -> Option<Vec<Cell>> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [file, record, values @ ..] = words.as_slice() else { return None };
    let (file, record) = (file.parse().ok()?, record.parse().ok()?);
    let figures = asked.unwrap_or(&IozoneFigure::ALL);
    (values.len() == figures.len() && !values.is_empty()).then_some(())?;
    let cell = |(word, figure): (&&str, &IozoneFigure)| Some((file, record, *figure, rate(word)?));
    values.iter().zip(figures).map(cell).collect()
}

fn rate(word: &str) -> Option<f64> {
    word.parse::<u64>().ok().map(|kib| kib as f64)
}

/// The figures of the tests selected by `-i`, as in `-i 0 -i 1`; `None` means all.
fn tests_asked(command: &str) -> Option<Vec<IozoneFigure>> {
    let words: Vec<&str> = command.split_whitespace().collect();
    let tests = words.windows(2).filter(|pair| pair[0] == "-i");
    let tests: Vec<u32> = tests.filter_map(|pair| pair[1].parse().ok()).collect();
    let asked = |figure: &IozoneFigure| tests.contains(&figure.test());
    let figures: Vec<IozoneFigure> = IozoneFigure::ALL.into_iter().filter(asked).collect();
    (!figures.is_empty()).then_some(figures)
}

/// A -R table: record sizes across, file sizes down, both in quotes.
fn sheet(
    lines: &mut Lines<'_>,
    figure: IozoneFigure,
    cells: &mut Vec<Cell>,
) -> Result<(), ImportError> {
    let quoted = |word: &str| word.trim_matches('"').parse::<u64>().ok();
    let heading = lines.next().unwrap_or_default();
    let records: Option<Vec<u64>> = heading.split_whitespace().map(quoted).collect();
    let records =
        records.filter(|r| !r.is_empty()).ok_or_else(|| lines.wrong("no record sizes"))?;
    while let Some(line) = lines.peek().filter(|line| line.trim_start().starts_with('"')) {
        let mut words = line.split_whitespace();
        let Some(file) = words.next().and_then(quoted) else { break };
        lines.next();
        let values: Option<Vec<f64>> = words.map(rate).collect();
        let values = values.ok_or_else(|| lines.wrong("not a row of a -R table"))?;
        // Records larger than the file are not tested, so the row is shorter.
        cells.extend(records.iter().zip(values).map(|(r, v)| (file, *r, figure, v)));
    }
    Ok(())
}

fn enter(run: &mut Run, cells: &[Cell]) {
    for (file, record, figure, kib) in cells {
        let bytes = |kib: &u64| kib.saturating_mul(1024);
        // iozone prints 0 for tests it skipped.
        if *kib > 0.0 {
            let name = iozone_metric(bytes(file), bytes(record), figure.name());
            put(run, name, Unit::BytesPerSecond, kib * 1024.0);
        }
    }
    let command = run.origin.as_ref().and_then(|o| o.command.as_deref()).unwrap_or("");
    let flag = |flag: &str| command.split_whitespace().any(|w| w == flag);
    if !command.is_empty() && !flag("-I") {
        let text = "without -I, reads follow the writes of the same file: they came from memory \
                    unless the file is larger than memory";
        run.warnings.push(Finding::new(FindingKind::PageCache, Level::Warn, text));
    }
}
