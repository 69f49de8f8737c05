//! The screen of a run within one page: the answer, the stamp, the main numbers, their bottlenecks,
//! the checks, and the next command. Evidence, all values and time series are on the full screen.

use record::{Answer, Covers, Level, Metric, MetricKey, Order, Run, Unit, Verdict, VerdictKind};
use workload::OpKind;
use workload::units::latency;

use super::tables::roomy;
use super::{advice, distrust, footer, io, page::Page, stamp_ink};
use crate::facts::{self, StampTone};
use crate::grid::{Grid, GridRow};
use crate::names::{DIRECTIONS, distinct};
use crate::peers;
use crate::quantity;
use crate::split::SplitTime;
use crate::style::{Ink, Style};
use crate::table::{Align, Table, TableCell};

/// The method whose result is a grid.
const GRID: &str = "quick";

/// Maximum number of conclusions shown besides limits and checks.
const WHY_MAX: usize = 3;

/// Maximum number of warnings shown; the others are counted.
const DOUBTS_MAX: usize = 4;

/// Maximum number of notes shown; the others are counted.
const NOTES_MAX: usize = 2;

pub(super) fn brief(page: &mut Page, run: &Run, answer: &Answer) {
    header(page, run);
    page.blank();
    let unicode = page.style.unicode;
    let headline =
        if unicode { answer.headline.clone() } else { answer.headline.replace('±', "+-") };
    page.plain(Ink::Strong, &headline);
    if !answer.rest.is_empty() {
        page.plain(Ink::Plain, &answer.rest);
    }
    if let Some((tone, stamp)) = facts::stamp(run) {
        let sign = match tone {
            StampTone::Predicted => "~",
            StampTone::Good => "OK",
            StampTone::Warn => "!",
            StampTone::Bad => "!!",
        };
        let stamp = [Some(format!("{sign}  {stamp}")), grounds(run)];
        let stamp: Vec<String> = stamp.into_iter().flatten().collect();
        page.plain(stamp_ink(tone), &stamp.join("; "));
    }
    page.blank();
    let grid = Grid::new(run);
    if run.metrics.is_empty() && run.latencies.is_empty() {
        page.labelled("result", Ink::Plain, "nothing was measured");
    } else if run.method == "io" {
        io::body(page, run);
    } else if grid.rows.iter().any(|row| main(row) && row.has_rate()) && run.method == GRID {
        let table = roomy(page.style, |wide| cells(&grid, wide, quantity::UNKNOWN));
        page.block(&table.render(page.style));
    } else {
        let table = roomy(page.style, |wide| tiles(answer, run, wide));
        page.block(&table.render(page.style));
    }
    if run.method == GRID {
        let splits = SplitTime::from_run(run);
        let singles = splits.iter().filter(|s| s.is_single_random() && !s.is_of_drive());
        io::times_of(page, singles, run);
    }
    page.blank();
    reasons(page, run, answer);
    normal(page, answer);
    doubts(page, run);
    page.blank();
    footer(page, run);
    if let Some(number) = run.number {
        page.raw("more", &format!("ssdyno show {number} --verbose"));
    }
}

/// The grid with a placeholder for every cell of the plan.
pub(super) fn so_far(run: &Run, style: &Style) -> Option<String> {
    let plan = run.plan.as_ref().filter(|_| run.method == GRID)?;
    let mut summary = Run { metrics: run.metrics.clone(), ..Run::new(GRID, run.target.clone()) };
    for key in plan.steps.iter().map(|step| MetricKey::parse(&step.name)) {
        let cell = key.as_cell().filter(|cell| cell.words.is_empty());
        let Some(cell) = cell.filter(|_| key.statistic.is_none()) else { continue };
        let unit = match cell.order {
            Order::Sequential => Unit::BytesPerSecond,
            Order::Random | Order::Mixed => Unit::Iops,
        };
        // A mix has a placeholder for each direction.
        for op in key.direction().map_or(DIRECTIONS.to_vec(), |op| vec![op]) {
            let name =
                MetricKey::cell(cell.order, Some(op), cell.block_bytes, cell.depth).to_string();
            if summary.metric(&name).is_none() {
                summary.metrics.push(Metric { value: None, ..Metric::single(name, unit, 0.0) });
            }
        }
    }
    let grid = Grid::new(&summary);
    let unmeasured = style.either("\u{b7}", ".");
    let table = roomy(style, |wide| cells(&grid, wide, unmeasured));
    (!grid.rows.is_empty()).then(|| table.render(style))
}

/// The run and its drive, one line each if there is room.
pub(super) fn header(page: &mut Page, run: &Run) {
    let ink = if run.complete && run.origin.is_none() { Ink::Plain } else { Ink::Warn };
    page.title(&[
        (Ink::Strong, facts::run_name(run)),
        (Ink::Strong, run.method.clone()),
        (ink, facts::ending(run)),
        (Ink::Dim, facts::when(run)),
    ]);
    page.items("labels", &facts::labels(run));
    facts::note(run).iter().for_each(|note| page.labelled("remark", Ink::Plain, note));
    page.items("from", &facts::origin(run));
    page.items("drive", &drive(run));
}

/// The drive and the location of the test in a few words.
fn drive(run: &Run) -> Vec<String> {
    let mut items = Vec::new();
    if let Some(drive) = &run.target.drive {
        let name = facts::model(drive).unwrap_or_else(|| drive.name.clone());
        items.push(facts::marked(name, run));
        let link = drive.link.as_ref().and_then(|link| link.now.clone());
        items.push(link.unwrap_or_else(|| drive.bus.clone()));
        items.extend(drive.firmware.as_ref().map(|f| format!("fw {f}")));
        items.extend(drive.health.temperature_c.map(|c| format!("{c:.0} C")));
    }
    items.extend(facts::target(run, true));
    items.retain(|item| !item.is_empty());
    items
}

/// The basis of the predictions: `4 replicates; next-run ranges from 4 runs`.
fn grounds(run: &Run) -> Option<String> {
    let metrics = run.metrics.iter().filter(|metric| metric.covers == Some(Covers::NextRun));
    let metric = metrics.clone().next_back()?;
    let n = metrics.map(|metric| metric.n).max()?;
    let s = if n == 1 { "" } else { "s" };
    let grounds = quantity::grounds(metric, run)?;
    Some(format!("{n} replicate{s}; next-run ranges {grounds}"))
}

/// Whether a row shows the drive as found; rows of named states are on the full screen.
fn main(row: &GridRow<'_>) -> bool {
    row.key.words.is_empty() || row.read_percent.is_some()
}

/// Workloads down; reads and writes across, each with the range for the next run or its latency. A
/// cell without a value contains `unmeasured`.
fn cells(grid: &Grid<'_>, wide: bool, unmeasured: &str) -> Table {
    let rows: Vec<&GridRow<'_>> =
        grid.rows.iter().filter(|row| main(row) && row.has_rate()).collect();
    let has_mix = rows.iter().any(|row| row.both.is_some());
    let sides = DIRECTIONS.into_iter();
    let sides = sides.filter(|side| grid.has_rate(*side) || (has_mix && *side == OpKind::Read));
    let sides: Vec<OpKind> = sides.collect();
    let mut columns = vec![Align::Left];
    let mut heading = vec![String::new()];
    for side in &sides {
        columns.push(Align::Right);
        heading.push(side.name().to_string());
        if wide {
            columns.push(Align::Left);
            heading.push(String::new());
        }
    }
    columns.push(Align::Left);
    let mut table = Table::new(&columns);
    table.heading(heading.iter().map(String::as_str));
    for row in rows {
        let mut line = vec![TableCell::from(row.label())];
        if let Some(metric) = row.both {
            line.push(TableCell::new(Ink::Strong, rate(metric, unmeasured)));
            line.push(TableCell::free(Ink::Dim, "reads and writes together"));
            table.row(line);
            continue;
        }
        for side in &sides {
            let side = row.side(*side);
            line.push(TableCell::new(
                Ink::Strong,
                side.rate.map(|metric| rate(metric, unmeasured)).unwrap_or_default(),
            ));
            if wide {
                line.push(TableCell::dim(
                    side.rate.map(|m| note(m, side.latency[1], row)).unwrap_or_default(),
                ));
            }
        }
        table.row(line);
        if sides.iter().any(|side| row.side(*side).rate.is_some_and(|m| m.unit == Unit::Iops)) {
            table.row(in_bytes(row, &sides, wide, unmeasured));
        }
    }
    table
}

/// The rates of a row in MB/s, below those in IOPS.
fn in_bytes(row: &GridRow<'_>, sides: &[OpKind], wide: bool, unmeasured: &str) -> Vec<TableCell> {
    let mut line = vec![TableCell::dim("")];
    for side in sides {
        let rate = row.side(*side).rate.map(|metric| row.bytes_per_s(metric));
        let text = rate.map(|rate| match rate {
            Some(rate) => quantity::show(Unit::BytesPerSecond, rate),
            None => unmeasured.to_string(),
        });
        line.push(TableCell::dim(text.unwrap_or_default()));
        line.extend(wide.then(|| TableCell::dim("")));
    }
    line
}

/// `7090 MB/s`, `188k IOPS`; without a value `unmeasured`.
fn rate(metric: &Metric, unmeasured: &str) -> String {
    let text = metric.value.map(|value| quantity::show(metric.unit, value));
    text.unwrap_or_else(|| unmeasured.to_string())
}

/// For one operation at a time, the tail latency; for others, the range for the next run.
fn note(metric: &Metric, p99: Option<f64>, row: &GridRow<'_>) -> String {
    if let Some(ns) = p99.filter(|_| row.key.depth == 1 && metric.unit == Unit::Iops) {
        return format!("p99 {}", latency(ns));
    }
    range(metric)
}

/// `next 6932-7100`; `too noisy` if the ends are too far apart.
fn range(metric: &Metric) -> String {
    let Some((low, high)) = quantity::ends(metric) else { return String::new() };
    let word = match metric.covers {
        Some(Covers::NextRun) => "next",
        Some(Covers::Rounds) => "rounds",
        Some(Covers::Resolution) => "within",
        Some(Covers::Other(_)) => "from",
        Some(Covers::Mean) | None => "95%",
    };
    if metric.covers == Some(Covers::NextRun) && metric.is_too_noisy() {
        return "too noisy".into();
    }
    let value = metric.value.unwrap_or(low);
    format!("{word} {}", quantity::range(metric.unit, value, [low, high]))
}

/// The main numbers, one per line.
fn tiles(answer: &Answer, run: &Run, wide: bool) -> Table {
    let mut table = Table::new(&[Align::Left, Align::Right, Align::Left]);
    for tile in &answer.tiles {
        let value = quantity::show_known(tile.unit, tile.value);
        let note = run.metric(&tile.metric).filter(|_| wide).map(range).unwrap_or_default();
        let label = TableCell::from(tile.label.as_str());
        table.row([label, TableCell::new(Ink::Strong, value), TableCell::dim(note)]);
    }
    table
}

/// The result of a check in a few words; `None` for a conclusion that is not a check.
fn check(kind: &VerdictKind) -> Option<&'static str> {
    Some(match kind {
        VerdictKind::Drive => "memory ok",
        VerdictKind::Guest => "reads left the machine",
        VerdictKind::FlushPlausible => "flush plausible",
        VerdictKind::Incompressible => "compression ok",
        VerdictKind::NoDeviceCache => "no read cache",
        VerdictKind::NoMapCache => "whole mapping table held",
        VerdictKind::LinkFree | VerdictKind::LinkFull => "link ok",
        VerdictKind::DepthKept => "queue full",
        VerdictKind::CpuFree => "processor ok",
        VerdictKind::Cool => "not too hot",
        VerdictKind::NoSlowdown => "no slowdown",
        VerdictKind::Room => "space ok",
        _ => return None,
    })
}

/// Whether a conclusion explains single figures, and belongs on the full screen.
fn is_detail(kind: &VerdictKind) -> bool {
    matches!(
        kind,
        VerdictKind::Undetermined
            | VerdictKind::PerCommand
            | VerdictKind::DataBound
            | VerdictKind::MixDetermined
            | VerdictKind::NoMix
    )
}

fn reasons(page: &mut Page, run: &Run, answer: &Answer) {
    let kinds: Vec<&VerdictKind> = answer.limits.iter().map(|limit| &limit.by).collect();
    for (labels, why) in limits(page, run, answer) {
        page.labelled("limits", Ink::Plain, &format!("{}: {why}", labels.join(", ")));
    }
    let verdicts = run.verdicts.iter().filter(|verdict| {
        let kind = &verdict.kind;
        check(kind).is_none() && !is_detail(kind) && !kinds.contains(&kind)
    });
    for verdict in verdicts.take(WHY_MAX) {
        let line = match verdict.kind {
            // An old tool's table is its result, not a reason.
            VerdictKind::Mark | VerdictKind::Speed => verdict.text.clone(),
            _ => one_line(&verdict.text, page.text_width() - 2),
        };
        if !repeats(&answer.headline, &line) && !repeats(&answer.rest, &line) {
            page.labelled("why", Ink::Plain, &line);
        }
    }
    page.items("checked", &checks(&run.verdicts));
}

/// Whether the headline already says all of a conclusion.
fn repeats(headline: &str, conclusion: &str) -> bool {
    let [headline, conclusion] = [headline, conclusion].map(str::to_lowercase);
    let statement = conclusion.trim_end_matches(['.', ';', ':']);
    headline.contains(statement.strip_prefix("the drive ").unwrap_or(statement))
}

/// The results of the checks that no other conclusion of the run qualifies: reads at depth 1 may
/// show no cache, and reads at a higher depth one.
fn checks(verdicts: &[Verdict]) -> Vec<String> {
    let cache = verdicts.iter().any(|v| v.kind == VerdictKind::DeviceCache);
    let valid = verdicts.iter().filter(|v| !(cache && v.kind == VerdictKind::NoDeviceCache));
    distinct(valid.filter_map(|v| check(&v.kind)).map(String::from))
}

/// The bottlenecks of the main numbers: the labels that share one, and the bottleneck in a line.
fn limits(page: &Page, run: &Run, answer: &Answer) -> Vec<(Vec<String>, String)> {
    let mut limits: Vec<(Vec<String>, String)> = Vec::new();
    for limit in &answer.limits {
        let tile = answer.tiles.iter().find(|tile| tile.metric == limit.metric);
        let label = tile.map_or("this run", |tile| tile.label.as_str());
        let room = page.text_width().saturating_sub(label.len() + 4);
        let reason = facts::limiting(run, limit);
        let reason = reason.map(|v| link(v).unwrap_or_else(|| one_line(&v.text, room)));
        let reason = reason.unwrap_or_else(|| limit.by.name().to_lowercase());
        match limits.iter_mut().find(|(_, known)| *known == reason) {
            Some((labels, _)) => labels.push(label.to_lowercase()),
            None => limits.push((vec![label.to_string()], reason)),
        }
    }
    limits
}

/// The main numbers from other sources, one sentence each.
pub(super) fn normal(page: &mut Page, answer: &Answer) {
    for peer in peers::normal(answer) {
        page.labelled("normal?", Ink::Plain, &format!("{}: {}", peer.whose, peer.text));
        if !peer.differs.is_empty() {
            page.indented_text(Ink::Dim, &peer.differs.join("; "));
        }
    }
}

/// `the link, 97% of 7100 MB/s`, if the link is the limit.
fn link(verdict: &Verdict) -> Option<String> {
    let [rate, ceiling] = ["throughput", "ceiling of the link"]
        .map(|name| verdict.evidence.iter().find(|e| e.name == name).map(|e| e.value));
    let (rate, ceiling) = rate.zip(ceiling)?;
    let is_link = verdict.kind == VerdictKind::Link && ceiling > 0.0;
    let bound = quantity::show(Unit::BytesPerSecond, ceiling);
    is_link.then(|| format!("the link, {:.0}% of {bound}", 100.0 * rate / ceiling))
}

/// The text up to the last end of a statement that fits on a line, or all of it if none does. A
/// comma does not end a statement: "When all blocks are written, ..." is meaningless without the
/// rest.
fn has_open_bracket(text: &str) -> bool {
    text.matches(['[', '(']).count() > text.matches([']', ')']).count()
}

fn one_line(text: &str, width: usize) -> String {
    let text = text.trim();
    if text.chars().count() <= width {
        return text.to_string();
    }
    let ends = text.match_indices([':', ';', '.']).map(|(at, _)| at);
    // A point between digits does not end a statement.
    ends.filter(|at| {
        let (part, rest) = (&text[..*at], &text[at + 1..]);
        rest.starts_with(' ') && part.chars().count() < width && !has_open_bracket(part)
    })
    .max()
    .map_or_else(|| text.to_string(), |at| format!("{}.", &text[..at]))
}

/// The first warnings and worse, one per line, then some notes; each with the number of the others.
fn doubts(page: &mut Page, run: &Run) {
    let doubts = facts::doubts(run);
    let (serious, notes): (Vec<_>, Vec<_>) =
        doubts.iter().partition(|doubt| doubt.finding.level > Level::Note);
    serious.iter().take(DOUBTS_MAX).for_each(|doubt| distrust(page, doubt));
    if serious.len() > DOUBTS_MAX {
        let text = format!("! and {} more", serious.len() - DOUBTS_MAX);
        page.labelled("distrust", Ink::Dim, &text);
    }
    // An author's remarks belong with the figures.
    let doubts_max = if run.origin.is_some() { usize::MAX } else { NOTES_MAX };
    for doubt in notes.iter().take(doubts_max) {
        page.labelled("note", Ink::Plain, &doubt.text());
        advice(page, doubt);
    }
    if notes.len() > doubts_max {
        page.labelled("note", Ink::Dim, &format!("and {} more", notes.len() - doubts_max));
    }
    for errors in &run.errors {
        page.labelled("errors", Ink::Bad, &facts::errors(errors, run.naming()));
    }
}
