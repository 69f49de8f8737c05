//! `cargo xtask bench predict`: how well virtual drives predict figures that they were not fitted to.
//!
//! The rows of `published/predict.tsv` become a document for `ssdyno replicate`, whose experiments are run
//! by one process per processor, or by agents of a fleet: `--document FILE` writes it, and
//! `--records PATH` reads the records.
//! The error of a row is |ln(ours / published)|, measured to the nearer end of the interval if
//! several sources publish the quantity. Rows that a parameter was fitted to are kept apart: they
//! show that the model can behave so, not that it predicts anything.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;
use std::process::{Child, ExitCode};
use std::thread::available_parallelism;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::{Effort, Outcome, word};
use crate::run::{cargo, output, printed, program, root};

/// Columns of the file of rows.
const COLUMNS: &str = "id drive kind steps read published to unit fitted match host measured_on \
                       tool state span date source";

/// Goals for kinds with at least [`KIND_ROWS_MIN`] rows: name, whether only drives that have a preset of
/// their own count, median, 90th percentile.
const GOALS: [(&str, bool, f64, f64); 2] =
    [("drives with a preset of their own", true, 0.12, 0.50), ("all", false, 0.20, 0.80)];

/// Fewest rows of a kind that count for the goals.
const KIND_ROWS_MIN: usize = 4;

/// The parameter that one job measures on each drive, for what several jobs then do. Its row is fitted.
const PER_DRIVE: &str = "command.flush_us";

/// Rows of a small, fast drive, to test the benchmark itself.
const TINY: &str = "mx500-250-s";

/// A published figure and how to measure it.
struct PredictRow {
    id: String,
    /// A preset with overrides, as in `sim:NAME?key=value`.
    drive: String,
    kind: String,
    /// Steps separated by ` ; `: `NAME: options of ssdyno io`, `idle TIME` or `discard`.
    steps: String,
    /// A metric, `STEP rate FROM TO`, `STEP phase-bytes`, `STEP phase-rate` or `ratio STEP STEP`.
    read: String,
    low: f64,
    high: f64,
    unit: String,
    is_fitted: bool,
    /// Parameters that were chosen so that the drive shows this figure.
    chosen: Vec<String>,
    is_own_drive: bool,
}

/// A row and the signed logarithm of ours over the published figure.
type PredictError<'a> = (&'a PredictRow, f64);

/// Runs all rows.
pub fn run(effort: Effort) -> Result<Outcome> {
    let (met, text) = measure(if effort.is_whole() { "" } else { TINY })?;
    if effort.is_whole() {
        write_bands(&text)?;
    }
    // A few rows say nothing about the goals.
    Ok(Outcome::Ran { met: met || !effort.is_whole(), text })
}

/// Writes the table by kind as data, from which `ssdyno drives show` prints error bands.
fn write_bands(text: &str) -> Result<()> {
    let (_, table) = text.split_once("Predicted, by kind:").context("a table by kind")?;
    let (table, _) = table.split_once("Predicted, by drive:").context("a table by drive")?;
    let mut lines = String::from("kind\trows\tmedian\tp90\n");
    for row in table.lines().filter(|row| row.starts_with("| ") && !row.starts_with("| kind")) {
        let fields: Vec<&str> = row.split('|').skip(1).take(4).map(str::trim).collect();
        lines += &format!("{}\n", fields.join("\t"));
    }
    Ok(std::fs::write(root().join("crates/lab/src/bands.tsv"), lines)?)
}

/// Runs the rows whose names contain `filter`, and lists each.
pub fn run_some(filter: &str) -> Result<ExitCode> {
    let (_, text) = measure(filter)?;
    println!("{text}");
    Ok(ExitCode::SUCCESS)
}

/// Writes the document of all rows, for a campaign.
pub fn write_document(file: &str) -> Result<ExitCode> {
    std::fs::write(file, document_text(&read_rows("")?)).with_context(|| file.to_string())?;
    Ok(ExitCode::SUCCESS)
}

/// Judges records of that document, in a file or directory, and writes the error bands.
pub fn run_records(path: &str) -> Result<ExitCode> {
    build()?;
    let rows = read_rows("")?;
    let scratch = tempfile::tempdir()?;
    let document = scratch.path().join("rows.toml");
    std::fs::write(&document, document_text(&rows))?;
    let (met, text) = judge(&rows, &document, &std::path::absolute(path)?, false)?;
    write_bands(&text)?;
    println!("{text}");
    Ok(if met { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn build() -> Result<()> {
    output(&mut cargo(&["build", "--release", "-q", "-p", "ssdyno"])).map(drop)
}

/// The rows whose names contain `filter`.
fn read_rows(filter: &str) -> Result<Vec<PredictRow>> {
    let mut rows = parse(&std::fs::read_to_string(root().join("published/predict.tsv"))?)?;
    rows.retain(|row| row.id.contains(filter));
    ensure!(!rows.is_empty(), "no row of published/predict.tsv contains '{filter}'");
    Ok(rows)
}

fn measure(filter: &str) -> Result<(bool, String)> {
    build()?;
    let rows = read_rows(filter)?;
    let scratch = tempfile::tempdir()?;
    let (document, records) = (scratch.path().join("rows.toml"), scratch.path().join("records"));
    std::fs::write(&document, document_text(&rows))?;
    let parts = available_parallelism()?.get();
    let runs = (1..=parts).map(|part| {
        let shard = format!("{part}/{parts}");
        let mut run = program("target/release/ssdyno", &["replicate", "--quiet"]);
        run.arg(&document).args(["--shard", &shard, "--out"]).arg(&records).spawn()
    });
    let runs: Vec<Child> = runs.collect::<std::io::Result<_>>()?;
    for mut run in runs {
        ensure!(run.wait()?.success(), "ssdyno replicate failed");
    }
    judge(&rows, &document, &records, !filter.is_empty())
}

/// The report about the records of a document of these rows.
fn judge(
    rows: &[PredictRow],
    document: &Path,
    records: &Path,
    with_rows: bool,
) -> Result<(bool, String)> {
    let (document, records) = (document.to_string_lossy(), records.to_string_lossy());
    let words = ["replicate", &document, "--json", "--from", &records];
    let (_, text) = printed(&mut program("target/release/ssdyno", &words))?;
    let json: Value = serde_json::from_str(&text).context("the figures of the rows")?;
    let figures = json["figures"].as_array().context("figures")?.iter();
    let figures: BTreeMap<&str, f64> =
        figures.filter_map(|f| Some((f["what"].as_str()?, f["here"].as_f64()?))).collect();
    let errors = rows.iter().map(|row| {
        let ours = figures.get(&*row.id).with_context(|| format!("no figure for {}", row.id))?;
        Ok((row, libm::log(ours / ours.clamp(row.low, row.high))))
    });
    let (is_met, text) = report(&errors.collect::<Result<Vec<_>>>()?, with_rows);
    let lone_parameters = decided_by_one_row(&read_rows("")?);
    let count = format!(
        "\nParameters that one row alone decides: {} (goal: 0 {}). {}\n",
        lone_parameters.len(),
        word(lone_parameters.is_empty()),
        lone_parameters.join(", ")
    );
    Ok((is_met && lone_parameters.is_empty(), text + &count))
}

/// Parameters of presets and classes that were chosen by one row and by no other: such a choice may
/// hide any error of the model. A parameter of classes has their name before a colon.
fn decided_by_one_row(rows: &[PredictRow]) -> Vec<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for row in rows {
        let drive = row.drive.split(['?', '&']).next().unwrap_or_default();
        for choice in row.chosen.iter().filter(|key| *key != PER_DRIVE) {
            let (description, key) = choice.split_once(':').unwrap_or((drive, choice));
            *counts.entry(format!("`{description}` {key}")).or_default() += 1;
        }
    }
    counts.into_iter().filter(|(_, count)| *count == 1).map(|(name, _)| name).collect()
}

fn parse(text: &str) -> Result<Vec<PredictRow>> {
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap_or_default().split('\t').collect();
    ensure!(header == COLUMNS.split_whitespace().collect::<Vec<_>>(), "columns of predict.tsv");
    lines.map(|line| parse_row(line).with_context(|| format!("predict.tsv: {line}"))).collect()
}

fn parse_row(line: &str) -> Result<PredictRow> {
    let fields: Vec<&str> = line.split('\t').collect();
    let [id, drive, kind, steps, read, published, to, unit, fitted, matched, host, ..] = fields[..]
    else {
        anyhow::bail!("too few columns");
    };
    let separator = if drive.contains('?') { '&' } else { '?' };
    let low = published.parse()?;
    Ok(PredictRow {
        id: id.into(),
        drive: if host.is_empty() {
            drive.into()
        } else {
            format!("{drive}{separator}host={host}")
        },
        kind: kind.into(),
        steps: steps.into(),
        read: read.into(),
        low,
        high: if to.is_empty() { low } else { to.parse()? },
        unit: unit.into(),
        is_fitted: fitted != "n",
        chosen: fitted.split(',').filter(|key| key.contains('.')).map(String::from).collect(),
        is_own_drive: matched == "exact",
    })
}

/// The rows as a document: an experiment for each drive and sequence of steps, a figure for each row.
fn document_text(rows: &[PredictRow]) -> String {
    let mut text = String::from("title = \"predict\"\nabout = \"\"\n");
    let experiments: BTreeSet<(&str, &str)> =
        rows.iter().map(|row| (&*row.drive, &*row.steps)).collect();
    let numbers: BTreeMap<(&str, &str), usize> = experiments.into_iter().zip(1..).collect();
    for ((drive, steps), number) in &numbers {
        let steps: Vec<String> = steps.split(" ; ").map(step_text).collect();
        let steps = steps.join(", ");
        _ = writeln!(
            text,
            "[[experiment]]\nid = \"{number}\"\ndrive = {drive:?}\nsteps = [{steps}]"
        );
    }
    for row in rows {
        let number = numbers[&(&*row.drive, &*row.steps)];
        _ = writeln!(
            text,
            "[[figure]]\nwhat = {:?}\nexperiment = \"{number}\"\nread = {}\npublished = {:?}\nto = {:?}\n\
             unit = {:?}\ntolerance = 1\nsource = \"predict.tsv\"",
            row.id,
            reading_text(&row.read),
            row.low,
            row.high,
            row.unit
        );
    }
    text
}

fn step_text(step: &str) -> String {
    match step.split_once(": ") {
        Some((name, io)) => format!("{{ name = {name:?}, io = {io:?} }}"),
        None => match step.strip_prefix("idle ") {
            Some(time) => format!("{{ idle = {time:?} }}"),
            None => format!("{{ discard = {step:?} }}"),
        },
    }
}

fn reading_text(read: &str) -> String {
    match read.split(' ').collect::<Vec<_>>()[..] {
        ["ratio", above, below] => format!("{{ ratio = [{above:?}, {below:?}] }}"),
        [series, take] => format!("{{ series = {series:?}, take = {take:?} }}"),
        [series, take, from, to] => {
            format!("{{ series = {series:?}, take = {take:?}, from = {from}, to = {to} }}")
        }
        _ => format!("{read:?}"),
    }
}

/// The tables, and whether every goal was met.
fn report(errors: &[PredictError], with_rows: bool) -> (bool, String) {
    let (fitted, predicted): (Vec<_>, Vec<_>) =
        errors.iter().copied().partition(|(row, _)| row.is_fitted);
    let mut text = String::new();
    if with_rows {
        text += "| row | drive | published | ln(ours / published) |\n|---|---|---|---|\n";
        for (row, error) in errors {
            let line = format!("{} | `{}` | {} {}", row.id, row.drive, row.low, row.unit);
            _ = writeln!(text, "| {line} | {error:+.2} |");
        }
        text += "\n";
    }
    text += "| set | rows | median | 90th percentile | goal |\n|---|---|---|---|---|\n";
    let mut is_met = true;
    for (name, only_own, median_max, p90_max) in GOALS {
        let rows = predicted.iter().filter(|(row, _)| !only_own || row.is_own_drive);
        let sizes =
            rows.clone().filter(|(row, _)| rows_of_kind(&predicted, &row.kind) >= KIND_ROWS_MIN);
        let (median, p90) = (share(sizes.clone(), 0.5), share(sizes.clone(), 0.9));
        let goal = median <= median_max && p90 <= p90_max;
        is_met &= goal;
        let goal = format!("{median_max:.2} / {p90_max:.2} {}", word(goal));
        text += &line(name, &sizes.copied().collect::<Vec<_>>(), &goal);
        text += &line(&format!("{name}, rarer kinds too"), &rows.copied().collect::<Vec<_>>(), "");
    }
    text += &line("fitted", &fitted, "");
    text += "\nPredicted, by kind:\n\n| kind | rows | median | 90th percentile | |\n|---|---|---|---|---|\n";
    text += &grouped(&predicted, |row| row.kind.clone());
    text += "\nPredicted, by drive:\n\n| drive | rows | median | 90th percentile | |\n|---|---|---|---|---|\n";
    text += &grouped(&predicted, |row| format!("`{}`", row.drive));
    (is_met, text)
}

fn rows_of_kind(errors: &[PredictError], kind: &str) -> usize {
    errors.iter().filter(|(row, _)| row.kind == kind).count()
}

fn grouped(errors: &[PredictError], key: impl Fn(&PredictRow) -> String) -> String {
    let mut groups: BTreeMap<String, Vec<PredictError>> = BTreeMap::new();
    for error in errors {
        groups.entry(key(error.0)).or_default().push(*error);
    }
    groups.iter().map(|(name, errors)| line(name, errors, "")).collect()
}

fn line(name: &str, errors: &[PredictError], goal: &str) -> String {
    let [median, p90] = [0.5, 0.9].map(|part| share(errors.iter(), part));
    format!("| {name} | {} | {median:.2} | {p90:.2} | {goal} |\n", errors.len())
}

/// The error that this share of the rows does not exceed, interpolated.
fn share<'a>(errors: impl Iterator<Item = &'a PredictError<'a>>, part: f64) -> f64 {
    let mut sizes: Vec<f64> = errors.map(|(_, error)| error.abs()).collect();
    sizes.sort_by(f64::total_cmp);
    let Some(last) = sizes.len().checked_sub(1) else { return 0.0 };
    let place = part * last as f64;
    let (low, high) = (sizes[place as usize], sizes[(place as usize + 1).min(last)]);
    low + (high - low) * place.fract()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_becomes_an_experiment_and_a_figure() {
        let text = std::fs::read_to_string(root().join("published/predict.tsv")).expect("the rows");
        let rows = parse(&text).expect("rows");
        for row in &rows {
            let document = document_text(std::slice::from_ref(row));
            let table: toml::Table = document.parse().unwrap_or_else(|e| panic!("{}: {e}", row.id));
            assert_eq!(table["figure"][0]["what"].as_str(), Some(&*row.id));
            assert!(row.low > 0.0 && row.high >= row.low, "{}", row.id);
        }
        let table: toml::Table = document_text(&rows).parse().expect("a document");
        let count = |name: &str| table[name].as_array().map_or(0, Vec::len);
        assert_eq!(count("figure"), rows.len());
        assert!(count("experiment") < rows.len(), "rows share their steps");
    }

    #[test]
    fn a_parameter_that_two_rows_choose_is_decided_by_neither_alone() {
        let row = |drive: &str, fitted: &str| {
            let line = format!("a\t{drive}\tk\ts\tr\t80\t\tIOPS\t{fitted}\texact\t\t\t\t\t\t\t");
            parse_row(&line).expect("a row")
        };
        let rows = [
            row("x", "nand.read_us"),
            row("x?capacity=1TB", "nand.read_us,nand.dies"),
            row("y", "nand.read_us"),
            row("y", "y"),
            row("y", "n"),
            row("y", "c:nand.bits"),
            row("z", "c:nand.bits"),
            row("z", PER_DRIVE),
        ];
        assert_eq!(decided_by_one_row(&rows), ["`x` nand.dies", "`y` nand.read_us"]);
        let fitted = rows.map(|row| row.is_fitted);
        assert_eq!(fitted, [true, true, true, true, false, true, true, true]);
    }

    #[test]
    fn errors_are_measured_to_the_nearer_end_and_shares_are_interpolated() {
        let line = "a\td\tk\ts\tr\t80\t100\tIOPS\tn\texact\t\t\t\t\t\t\t";
        let row = parse_row(line).expect("a row");
        assert_eq!((row.low, row.high), (80.0, 100.0));
        let errors = [0.1, -0.3, 0.2].map(|error| (&row, error));
        assert!((share(errors.iter(), 0.5) - 0.2).abs() < 1e-12);
        assert!((share(errors.iter(), 0.9) - 0.28).abs() < 1e-12);
    }
}
