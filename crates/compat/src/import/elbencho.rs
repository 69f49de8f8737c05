//! elbencho's CSV (`--csvfile`): a row per phase, its columns by name. The figures are those of the
//! time in which the last thread finished. Its MiB are 2^20 bytes; threads are those of each host.
//!
//! A write phase with `--rwmixpct` has the reads in columns of their own. What elbencho prints on
//! the screen is in `elbencho_text.rs`.

use record::{MetricKey, Run, Statistic, Unit};

use super::found::{self, SideFigures, WorkloadShape, put, put_side, run};
use super::lines::{ImportError, Lines, size};

/// The columns of a heading; `None` if the line is none.
fn columns(line: &str) -> Option<Vec<String>> {
    let columns: Vec<String> = line.trim().split(',').map(|c| c.trim().to_lowercase()).collect();
    let mut names = ["iso date", "operation", "block size"].into_iter();
    names.all(|name| columns.iter().any(|column| column == name)).then_some(columns)
}

pub(crate) fn begins(lines: &Lines<'_>) -> bool {
    lines.peek().is_some_and(|line| line.contains(',') && columns(line).is_some())
}

/// A row by the names of its columns.
struct PhaseRow<'a> {
    columns: &'a [String],
    cells: Vec<&'a str>,
}

impl<'a> PhaseRow<'a> {
    fn text(&self, name: &str) -> Option<&'a str> {
        let index = self.columns.iter().position(|column| column == name)?;
        self.cells.get(index).map(|cell| cell.trim_matches('"')).filter(|cell| !cell.is_empty())
    }

    fn value(&self, name: &str) -> Option<f64> {
        self.text(name)?.parse().ok().filter(|value: &f64| *value > 0.0)
    }
}

pub(crate) fn read(lines: &mut Lines<'_>) -> Result<Vec<Run>, ImportError> {
    let columns = lines.next().and_then(columns).unwrap_or_default();
    let mut runs: Vec<Run> = Vec::new();
    while let Some(line) = lines.peek().filter(|line| line.contains(',')) {
        if self::columns(line).is_some() {
            break;
        }
        let begin = lines.number();
        lines.next();
        let row = PhaseRow { columns: &columns, cells: line.trim().split(',').collect() };
        if row.cells.len() < columns.len() {
            return Err(lines.wrong("not a row of elbencho: fields are missing"));
        }
        // Phases that create or delete entries have no rate of bytes.
        if row.value("iops [last]").or(row.value("mib/s [last]")).is_some() {
            runs.push(result(&row, begin).ok_or_else(|| lines.wrong("not a row of elbencho"))?);
        }
    }
    Ok(runs)
}

fn result(row: &PhaseRow<'_>, begin: usize) -> Option<Run> {
    let mut run = run("elbencho", "elbencho", None, begin);
    found::title(&mut run, row.text("label").unwrap_or_default());
    found::start(&mut run, row.text("iso date").and_then(moment));
    if let Some(origin) = &mut run.origin {
        origin.version = row.text("version").map(String::from);
        origin.command = row.text("command").map(|command| command.replace('"', "").trim().into());
    }
    run.target.direct = row.text("direct io").map(|flag| flag == "1");
    run.seconds = row.value("time ms [last]").map(|ms| ms / 1e3);
    let random = row.text("random").is_some_and(|flag| flag == "1");
    let shape = WorkloadShape {
        random,
        block_bytes: row.text("block size").and_then(size).filter(|bytes| *bytes > 0),
        depth: row.value("io depth").map(|depth| depth as u32),
        jobs: (row.value("threads").unwrap_or(1.0) * row.value("hosts").unwrap_or(1.0)) as u64,
        mixed: row.value("rwmix read iops [last]").is_some(),
        ..WorkloadShape::default()
    };
    let direction = match row.text("operation")?.to_ascii_lowercase().as_str() {
        "write" => "write",
        "read" => "read",
        other => return own(run, row, other),
    };
    put_figures(&mut run, row, &shape, (direction, ""));
    if shape.mixed {
        put_figures(&mut run, row, &shape, ("read", "rwmix read "));
    }
    Some(run)
}

/// Adds the rate and the latencies from the columns whose names begin with some words.
fn put_figures(
    run: &mut Run,
    row: &PhaseRow<'_>,
    shape: &WorkloadShape,
    (direction, words): (&str, &str),
) {
    let value = |name: &str| row.value(&format!("{words}{name}"));
    let side = SideFigures {
        bytes_per_s: value("mib/s [last]").map(|rate| rate * 1_048_576.0),
        iops: value("iops [last]"),
        min_ns: value("io lat us [min]").map(|us| us * 1e3),
        max_ns: value("io lat us [max]").map(|us| us * 1e3),
        ..SideFigures::default()
    };
    let name = put_side(run, shape, direction, &side);
    if let Some(us) = value("io lat us [avg]") {
        let key = MetricKey::parse(&name).with(Statistic::Mean);
        put(run, key, Unit::Nanoseconds, us * 1e3);
    }
}

/// A time with the offset of its zone, or one without, which is taken as UTC.
fn moment(time: &str) -> Option<String> {
    let zoned = time.parse::<jiff::Timestamp>().map(|time| time.to_string()).ok();
    zoned.or_else(|| time.parse::<jiff::civil::DateTime>().ok().map(found::moment))
}

/// A phase of another kind, by its own name.
fn own(mut run: Run, row: &PhaseRow<'_>, operation: &str) -> Option<Run> {
    let name = operation.replace([' ', '.'], "-");
    match (row.value("mib/s [last]"), row.value("iops [last]")) {
        (Some(rate), _) => put(&mut run, name, Unit::BytesPerSecond, rate * 1_048_576.0),
        (None, Some(iops)) => put(&mut run, name, Unit::Iops, iops),
        (None, None) => return None,
    }
    Some(run)
}
