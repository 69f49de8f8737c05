//! iozone: its full output, only the table, the tables that -R adds for spreadsheets, or the rates
//! of several processes (-t).
//!
//! Columns of tests that were not run are blank, so a value is identified by its position: it ends
//! in the same column as its heading, or one column from it. The widths differ between versions and
//! between columns. Figures are KiB/s, with -O operations per second, with -N whole microseconds per
//! operation, as the lines above the table say. The table of `ssdyno iozone` is in the same format.

use methods::{IozoneFigure, iozone_metric, iozone_throughput_metric};
use record::{Finding, FindingKind, Level, MetricKey, Run, Statistic, Unit};

use super::found::{self, ctime, moment, put, run};
use super::lines::{ImportError, Lines, after, number, number_after};
use crate::iozone::{REPORTS, TITLE, letters};

/// File size and record size in KiB, figure and value.
type IozoneCell = (u64, u64, IozoneFigure, f64);

/// What the values of a table are.
#[derive(Clone, Copy, Default, PartialEq)]
enum Output {
    #[default]
    KibPerSecond,
    /// -O
    Operations,
    /// -N
    Microseconds,
}

/// What iozone says about its run before the figures.
#[derive(Default)]
struct IozoneFacts {
    output: Output,
    /// File size and record size of -t, in bytes.
    sizes: Option<(u64, u64)>,
}

pub(crate) fn begins(lines: &Lines<'_>) -> bool {
    lines.peek().is_some_and(|line| {
        is_title(line) || is_command(line) || is_heading(line) || report(line).is_some()
    }) || lines.peek().is_some_and(|line| mode(line).is_some() || throughput(line).is_some())
}

/// The line with the command, for outputs that lost what precedes it.
fn is_command(line: &str) -> bool {
    line.trim_start().starts_with("Command line used:") && line.contains("iozone")
}

/// `OPS Mode. Output is in operations per second.`
fn mode(line: &str) -> Option<Output> {
    let line = line.trim();
    if line.starts_with("OPS Mode.") {
        Some(Output::Operations)
    } else if line.starts_with("Microseconds/op Mode.") {
        Some(Output::Microseconds)
    } else {
        None
    }
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
    let words = [
        "random",
        "Excel output is below",
        "iozone test complete",
        "Children see",
        "Parent sees",
        "Min throughput",
        "Max throughput",
        "Avg throughput",
        "Min xfer",
        "Child[",
        "Each process writes a",
        "Each thread writes a",
        "\"Throughput report",
        "\"Record size",
        "\"Output is in",
        "\"  ",
    ];
    let line = line.trim();
    let is_known = line.is_empty() || words.iter().any(|word| line.starts_with(word));
    is_known || is_heading(line) || report(line).is_some()
}

/// The figure of a -R table, by its heading. Versions differ in case.
fn report(line: &str) -> Option<IozoneFigure> {
    let line = line.trim().strip_prefix('"')?.strip_suffix('"')?;
    let report = REPORTS.iter().position(|words| words.eq_ignore_ascii_case(line));
    report.map(|column| IozoneFigure::ALL[column])
}

pub(crate) fn read(lines: &mut Lines<'_>) -> Result<Vec<Run>, ImportError> {
    let begin = lines.number();
    let mut run = run("iozone", "iozone", None, begin);
    let mut facts = IozoneFacts::default();
    let (mut table, mut sheets) = (Vec::new(), Vec::new());
    while let Some(line) = lines.peek() {
        let read = !table.is_empty() || !sheets.is_empty() || !run.metrics.is_empty();
        let is_next = is_title(line)
            || read && (mode(line).is_some() || is_command(line))
            || is_heading(line) && !table.is_empty()
            || report(line).is_some_and(|figure| sheets.iter().any(|(_, _, f, _)| *f == figure));
        if is_next && lines.number() > begin || read && !is_continuation(line) {
            break;
        }
        lines.next();
        if is_heading(line) {
            rows(lines, line, &run, &mut table)?;
        } else if let Some(figure) = report(line) {
            sheet(lines, figure, &mut sheets)?;
        } else if let Some((processes, label, rest)) = throughput(line) {
            if !put_throughput(&mut run, &facts, (processes, label), rest) {
                return Err(lines.wrong("not a throughput of iozone"));
            }
        } else {
            fact(&mut run, &mut facts, line);
        }
    }
    // With -R, both contain the same values.
    let cells = if table.is_empty() { sheets } else { table };
    if cells.is_empty() && run.metrics.is_empty() {
        return Err(lines.wrong_at(begin, "iozone's output ends before its table"));
    }
    enter(&mut run, facts.output, &cells);
    Ok(vec![run])
}

/// The labels of -t, in iozone's order of tests, and ssdyno's names for them.
const WORKERS: [(&str, &str); 13] = [
    ("initial writers", "write"),
    ("rewriters", "rewrite"),
    ("readers", "read"),
    ("re-readers", "reread"),
    ("random readers", "random-read"),
    ("random writers", "random-write"),
    ("reverse readers", "backward-read"),
    ("stride readers", "strided-read"),
    ("mixed workload", "mixed"),
    ("pwrite writers", "pwrite"),
    ("pread readers", "pread"),
    ("fwriters", "fwrite"),
    ("freaders", "fread"),
];

/// `Children see throughput for  2 initial writers = 861957.62 kB/sec`: processes, label and
/// what follows the sign. The parent's figures contain the start of the processes.
fn throughput(line: &str) -> Option<(u32, &str, &str)> {
    let rest = line.trim().strip_prefix("Children see throughput for")?;
    let (count, rest) = number(rest)?;
    let (label, value) = rest.split_once('=')?;
    Some((count as u32, label.trim(), value))
}

/// Adds a rate of -t. Returns whether it was understood.
fn put_throughput(
    run: &mut Run,
    facts: &IozoneFacts,
    (count, label): (u32, &str),
    rest: &str,
) -> bool {
    let name = WORKERS.iter().find(|(words, _)| *words == label).map(|(_, name)| *name);
    let Some((name, (value, unit))) = name.zip(number(rest)) else { return false };
    let key = match facts.sizes {
        Some((file, record)) => iozone_throughput_metric(file, record, count, name),
        None => MetricKey::parse(name).within(&format!("iozone-t{count}")),
    };
    let value = match (unit.trim(), facts.sizes) {
        ("kB/sec" | "KB/sec", _) => value * 1024.0,
        ("ops/sec", Some((_, record))) => value * record as f64,
        _ => return false,
    };
    put(run, key, Unit::BytesPerSecond, value);
    true
}

fn fact(run: &mut Run, facts: &mut IozoneFacts, line: &str) {
    let line = line.trim();
    if let Some(output) = mode(line) {
        facts.output = output;
    } else if let Some(command) = line.strip_prefix("Command line used:") {
        *run = found::with_command(run.clone(), Some(command.trim().to_string()));
        let letters = letters(command);
        let value = |wanted: char| letters.iter().find(|(l, _)| *l == wanted).map(|(_, v)| *v);
        run.target.spec = value('f').unwrap_or_default().to_string();
        run.target.direct = Some(value('I').is_some());
        if value('O').is_some() {
            facts.output = Output::Operations;
        } else if value('N').is_some() {
            facts.output = Output::Microseconds;
        }
    } else if let Some(rest) = ["process", "thread"]
        .iter()
        .find_map(|what| line.strip_prefix("Each ")?.strip_prefix(what)?.strip_prefix(" writes a "))
    {
        let sizes = number(rest).zip(number_after(rest, " file in "));
        facts.sizes = sizes.map(|((file, _), record)| {
            [file, record].map(|kib| (kib as u64).saturating_mul(1024)).into()
        });
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
    cells: &mut Vec<IozoneCell>,
) -> Result<(), ImportError> {
    let ends = ends(heading);
    let command = run.origin.as_ref().and_then(|o| o.command.as_deref()).unwrap_or("");
    let tests = tests_asked(command);
    while let Some(line) = lines.peek() {
        let line = line.trim_end();
        if !line.trim_start().starts_with(|c: char| c.is_ascii_digit()) {
            break;
        }
        lines.next();
        let row = by_column(line, &ends).or_else(|| in_order(line, tests.as_deref()));
        cells.extend(row.ok_or_else(|| lines.wrong("not a row of iozone's table"))?);
    }
    Ok(())
}

/// The words of a line, with their end columns.
fn words(line: &str) -> Vec<(&str, usize)> {
    let start = line.as_ptr() as usize;
    let words = line.split_whitespace();
    words.map(|word| (word, word.as_ptr() as usize - start + word.len())).collect()
}

/// The end columns of the figures' headings, counted from the end of the record size's.
fn ends(heading: &str) -> Vec<usize> {
    let words = words(heading);
    let [_, (_, second), figures @ ..] = words.as_slice() else { return Vec::new() };
    figures.iter().map(|(_, end)| end - second).collect()
}

/// Values by column. Leading blanks may be missing; blanks between values may not.
fn by_column(line: &str, ends: &[usize]) -> Option<Vec<IozoneCell>> {
    let words = words(line);
    let [(file, first), (record, second), values @ ..] = words.as_slice() else { return None };
    (second - first == 8 && !values.is_empty()).then_some(())?;
    let (file, record) = (file.parse().ok()?, record.parse().ok()?);
    let cells = values.iter().map(|(word, end)| {
        let column = ends.iter().position(|heading| heading.abs_diff(end - second) <= 1)?;
        Some((file, record, *IozoneFigure::ALL.get(column)?, rate(word)?))
    });
    cells.collect()
}

/// Values in order, if all columns are present or the command line identifies them.
fn in_order(line: &str, asked: Option<&[IozoneFigure]>) -> Option<Vec<IozoneCell>> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [file, record, values @ ..] = words.as_slice() else { return None };
    let (file, record) = (file.parse().ok()?, record.parse().ok()?);
    let figures = asked.unwrap_or(&IozoneFigure::ALL);
    (values.len() == figures.len() && !values.is_empty()).then_some(())?;
    let cells = values.iter().zip(figures);
    cells.map(|(word, figure)| Some((file, record, *figure, rate(word)?))).collect()
}

fn rate(word: &str) -> Option<f64> {
    word.parse::<u64>().ok().map(|kib| kib as f64)
}

/// The figures of the tests selected by `-i`, as in `-i 0 -i 1`; `None` means all.
fn tests_asked(command: &str) -> Option<Vec<IozoneFigure>> {
    let letters = letters(command);
    let tests = letters.iter().filter(|(letter, _)| *letter == 'i');
    let tests: Vec<u32> = tests.filter_map(|(_, value)| value.parse().ok()).collect();
    let figures: Vec<IozoneFigure> =
        IozoneFigure::ALL.into_iter().filter(|figure| tests.contains(&figure.test())).collect();
    (!figures.is_empty()).then_some(figures)
}

/// A -R table: record sizes across, file sizes down, both in quotes.
fn sheet(
    lines: &mut Lines<'_>,
    figure: IozoneFigure,
    cells: &mut Vec<IozoneCell>,
) -> Result<(), ImportError> {
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

fn quoted(word: &str) -> Option<u64> {
    word.trim_matches('"').parse().ok()
}

fn enter(run: &mut Run, output: Output, cells: &[IozoneCell]) {
    for (file, record, figure, value) in cells {
        let [file_bytes, record_bytes] = [file, record].map(|kib| kib.saturating_mul(1024));
        // iozone prints 0 for tests it skipped.
        if *value <= 0.0 {
            continue;
        }
        let name = iozone_metric(file_bytes, record_bytes, figure.name());
        match output {
            Output::KibPerSecond => put(run, name, Unit::BytesPerSecond, value * 1024.0),
            Output::Operations => {
                put(run, name, Unit::BytesPerSecond, value * record_bytes as f64);
            }
            Output::Microseconds => {
                let key = MetricKey::parse(&name.to_string()).with(Statistic::Mean);
                put(run, key, Unit::Nanoseconds, value * 1e3);
            }
        }
    }
    let command = run.origin.as_ref().and_then(|o| o.command.as_deref()).unwrap_or("");
    let is_direct = letters(command).iter().any(|(letter, _)| *letter == 'I');
    if !command.is_empty() && !is_direct {
        let text = "without -I, reads follow the writes of the same file: they came from memory \
                    unless the file is larger than memory";
        run.warnings.push(Finding::new(FindingKind::PageCache, Level::Warn, text));
    }
}
