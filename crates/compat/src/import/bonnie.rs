//! bonnie++: the line of fields that it prints last, and the table before it. The table has fewer
//! digits, so its values only count without the line.
//!
//! Rates are KiB/s; bonnie++ 2 adds a letter to those in the table (`294m` are 294 MiB/s). Plus
//! signs stand for a test too short to measure, and become no figure.

use record::{MetricKey, Run, Statistic, Unit};

use super::found::{self, put, run};
use super::lines::{ImportError, Lines, number};

/// The tests of files' content in both formats' order, and whether the rate is one of bytes.
const TESTS: [(&str, bool); 6] = [
    ("char-write", true),
    ("seq-write", true),
    ("seq-rewrite", true),
    ("char-read", true),
    ("seq-read", true),
    ("rand-seek", false),
];

/// Offset of the first rate in the fields, in format 1.98; earlier ones have two fields fewer.
const FIRST_RATE: usize = 9;

/// Fields from the first rate to the first latency.
const TO_LATENCY: usize = 29;

/// The fields of the last line: `1.98,2.00a,vm,1,1795719701,16M,,8192,5,530,38,+++++,+++,..`.
fn fields(line: &str) -> Option<Vec<&str>> {
    let fields: Vec<&str> = line.trim().split(',').collect();
    let is_known = matches!(fields[0], "1.96" | "1.97" | "1.98");
    (is_known && fields.len() > FIRST_RATE + 2 * TESTS.len()).then_some(fields)
}

/// The version of bonnie++ on the table's first line.
fn title(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix("Version")?;
    rest.contains("Sequential Output").then(|| rest.split_whitespace().next()).flatten()
}

pub(crate) fn begins(lines: &Lines<'_>) -> bool {
    lines.peek().is_some_and(|line| title(line).is_some() || fields(line).is_some())
}

pub(crate) fn read(lines: &mut Lines<'_>) -> Result<Vec<Run>, ImportError> {
    let begin = lines.number();
    let mut run = run("bonnie", "bonnie++", None, begin);
    if let Some(version) = lines.peek().and_then(title) {
        if let Some(origin) = &mut run.origin {
            origin.version = Some(version.to_string());
        }
        lines.next();
        let further = table(lines, &mut run)?;
        if !further.is_empty() {
            return Ok(std::iter::once(run).chain(further).collect());
        }
        // The line of fields follows the table of file names, or nothing.
        let mut ahead = lines.clone();
        while ahead.peek().is_some_and(|line| fields(line).is_none() && is_table(line)) {
            ahead.next();
        }
        if ahead.peek().and_then(fields).is_none() {
            return Ok(vec![run]);
        }
        run.metrics.clear();
        *lines = ahead;
    }
    let line = lines.next().unwrap_or_default();
    let fields = fields(line).ok_or_else(|| lines.wrong("not the fields of bonnie++"))?;
    enter(&mut run, &fields).ok_or_else(|| lines.wrong("not the fields of bonnie++"))?;
    Ok(vec![run])
}

/// Lines of the second table, and blank ones.
fn is_table(line: &str) -> bool {
    let words = ["Version", "-Create--", "files", "Latency"];
    let line = line.trim();
    let is_row = line.contains("+++") || number(line).is_some();
    line.is_empty()
        || is_row
        || line.contains("-Create--")
        || words.iter().any(|word| line.starts_with(word))
}

fn enter(run: &mut Run, fields: &[&str]) -> Option<()> {
    if let Some(origin) = &mut run.origin {
        origin.version = Some(fields[1].to_string());
    }
    *run = found::with_command(run.clone(), Some(format!("size {}", fields[5])));
    let start = if fields[0] == "1.98" { FIRST_RATE } else { FIRST_RATE - 2 };
    for (i, (name, is_bytes)) in TESTS.into_iter().enumerate() {
        let rate = *fields.get(start + 2 * i)?;
        if rate.is_empty() || rate.starts_with('+') {
            continue;
        }
        let rate: f64 = rate.parse().ok()?;
        put_rate(run, name, is_bytes, rate * if is_bytes { 1024.0 } else { 1.0 });
        if let Some(text) = fields.get(start + TO_LATENCY + i).filter(|text| !text.is_empty()) {
            let key = MetricKey::parse(name).with(Statistic::Max);
            put(run, key, Unit::Nanoseconds, latency(text)?);
        }
    }
    Some(())
}

fn put_rate(run: &mut Run, name: &str, is_bytes: bool, rate: f64) {
    put(run, name, if is_bytes { Unit::BytesPerSecond } else { Unit::Iops }, rate);
}

/// The rows of the first table: one, or several of which each is a result. Returns those after the
/// first.
fn table(lines: &mut Lines<'_>, run: &mut Run) -> Result<Vec<Run>, ImportError> {
    let mut ends = Vec::new();
    while let Some(line) = lines.peek() {
        if line.contains("/sec %CP") || line.contains("K/sec %CP") {
            ends = line.match_indices("/sec").map(|(at, word)| at + word.len()).collect();
        } else if !ends.is_empty() {
            break;
        }
        lines.next();
    }
    let is_old = lines.before(1).is_some_and(|line| line.contains("K/sec"));
    let blank_run = run.clone();
    row(lines, run, &ends, is_old)?;
    let mut further = Vec::new();
    while lines.peek().is_some_and(is_row) {
        let mut next_run = blank_run.clone();
        if let Some(origin) = &mut next_run.origin {
            origin.place = Some(format!("line {}", lines.number()));
        }
        row(lines, &mut next_run, &ends, is_old)?;
        further.push(next_run);
    }
    if lines.peek().is_some_and(|line| line.starts_with("Latency")) {
        lines.next();
    }
    Ok(further)
}

/// Whether a line is a further row: a machine, a size, and rates.
fn is_row(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [_, size, _, _, ..] = words.as_slice() else { return false };
    let is_size = number(size).is_some_and(|(_, letter)| matches!(letter, "M" | "G" | "K"));
    is_size && !line.starts_with([' ', '\t']) && !line.contains("--")
}

/// A row of the first table.
fn row(
    lines: &mut Lines<'_>,
    run: &mut Run,
    ends: &[usize],
    is_old: bool,
) -> Result<(), ImportError> {
    let text = "not a row of bonnie++";
    let row = lines.next().unwrap_or_default();
    let values = rates(row, ends).ok_or_else(|| lines.wrong(text))?;
    for ((name, is_bytes), word) in TESTS.into_iter().zip(values) {
        let Some(word) = word else { continue };
        let rate = rate(word, is_bytes, is_old).ok_or_else(|| lines.wrong(text))?;
        put_rate(run, name, is_bytes, rate);
    }
    Ok(())
}

/// The rates of a row by the columns in which they end, or in order if none is missing.
fn rates<'a>(row: &'a str, ends: &[usize]) -> Option<[Option<&'a str>; 6]> {
    let words: Vec<&str> = row.split_whitespace().collect();
    let mut rates = [None; 6];
    if let [_, _, values @ ..] = words.as_slice()
        && values.len() == 2 * TESTS.len()
    {
        for (rate, word) in rates.iter_mut().zip(values.iter().step_by(2)) {
            *rate = Some(*word);
        }
    } else {
        let start = row.as_ptr() as usize;
        for word in words.iter().skip(1) {
            let end = word.as_ptr() as usize - start + word.len();
            if let Some(column) = ends.iter().position(|at| *at == end).filter(|i| *i < 6) {
                rates[column] = Some(*word);
            }
        }
    }
    let rates = rates.map(|rate| rate.filter(|word| !word.starts_with('+')));
    (!words.is_empty() && ends.len() >= TESTS.len()).then_some(rates)
}

/// `294m`, `530k`, or KiB without a letter under `K/sec`; seeks are numbers.
fn rate(word: &str, is_bytes: bool, is_old: bool) -> Option<f64> {
    let (value, letter) = number(word)?;
    match (letter, is_bytes) {
        ("", false) => Some(value),
        ("", true) if is_old => Some(value * 1024.0),
        ("k", true) => Some(value * 1024.0),
        ("m", true) => Some(value * 1_048_576.0),
        ("g", true) => Some(value * 1_073_741_824.0),
        _ => None,
    }
}

/// Nanoseconds of `100ms`, `8093us`.
fn latency(text: &str) -> Option<f64> {
    let (value, unit) = number(text)?;
    let units = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];
    units.iter().find(|(name, _)| *name == unit).map(|(_, scale)| value * scale)
}
