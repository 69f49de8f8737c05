//! The text copied by CrystalDiskMark (2 to 8), and KDiskMark's, which looks similar.
//!
//! Rows are named up to version 3 (`Random Read 4KB (QD=32)`), state queues and threads from
//! version 4 on (`Q= 32,T= 1`), and have separate headings for reads and writes from version 7 on.
//! `T` is the number of threads, each with `Q` operations in flight. MB are 10^6 bytes; KB in row
//! names up to version 3 are 1024 bytes.

use record::{FindingKind, MetricKey, Run, Statistic, Unit};

use super::found::{self, SideFigures, WorkloadShape, put, put_side, run};
use super::lines::{ImportError, Lines, number, number_after};

/// The names of the tools, as printed.
const TOOLS: [&str; 2] = ["CrystalDiskMark", "KDiskMark"];

/// Block size of a sequential row that does not state it (versions 3 to 6), bytes.
const SEQUENTIAL_BLOCK: [(u32, u64); 2] = [(5, 1 << 17), (3, 1 << 20)];

/// Keys of the lines below the rows.
const FACTS: [&str; 8] = ["Profile", "Test", "Test Size", "Mode", "Time", "Date", "OS", "Comment"];

fn tool(line: &str) -> Option<(&'static str, String)> {
    let line = line.trim_start();
    TOOLS.iter().find_map(|tool| {
        let rest = line.strip_prefix(tool)?.strip_prefix(' ')?.trim_start_matches('(');
        let version: String =
            rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '.').collect();
        version.starts_with(|c: char| c.is_ascii_digit()).then_some((*tool, version))
    })
}

pub(crate) fn begins(lines: &Lines<'_>) -> bool {
    lines.peek().is_some_and(|line| tool(line).is_some())
}

pub(crate) fn read(lines: &mut Lines<'_>) -> Result<Vec<Run>, ImportError> {
    let begin = lines.number();
    let Some((name, version)) = lines.next().and_then(tool) else {
        return Err(lines.wrong("not the heading of CrystalDiskMark or KDiskMark"));
    };
    let major = version.split('.').next().and_then(|v| v.parse().ok()).unwrap_or(0);
    let major = if name == "KDiskMark" { 8 } else { major };
    let mut run = run("diskmark", name, Some(version), begin);
    let mut section = DiskmarkSection::default();
    while let Some(line) = lines.peek().filter(|line| tool(line).is_none()).map(str::trim) {
        if !run.metrics.is_empty() && !continues(line) {
            break;
        }
        lines.next();
        if let Some(rest) = line.strip_prefix('[').filter(|_| line.contains(']')) {
            section = DiskmarkSection::parse(rest);
        } else if is_row(line) {
            row(&mut run, line, major, &section)
                .ok_or_else(|| lines.wrong("not a row of results"))?;
        } else if fact(&mut run, line) {
            // Other lines are skipped, up to the user's comment: before the first row any, after it
            // only `Mode` and `Time`.
        } else if line.starts_with("Comment") {
            break;
        }
    }
    if run.metrics.is_empty() {
        return Err(lines.wrong_at(begin, "the text ends before its results"));
    }
    if name == "CrystalDiskMark" {
        found::note(
            &mut run,
            FindingKind::BestOf,
            "each value is the best of the passes, not their mean",
        );
    }
    Ok(vec![run])
}

/// The heading above the rows.
#[derive(Default)]
struct DiskmarkSection {
    direction: Option<&'static str>,
    mixed: bool,
}

impl DiskmarkSection {
    fn parse(text: &str) -> DiskmarkSection {
        let mixed = text.starts_with("Mix");
        let direction = match text.split(']').next() {
            Some("Read") => Some("read"),
            Some("Write") => Some("write"),
            _ => None,
        };
        DiskmarkSection { direction, mixed }
    }
}

/// Whether a line may follow the first row of a result.
fn continues(line: &str) -> bool {
    let key = line.split_once(':').map(|(key, _)| key.trim());
    let is_fact = key.is_some_and(|key| FACTS.contains(&key));
    line.is_empty() || line.starts_with('[') || is_row(line) || is_fact
}

fn is_row(line: &str) -> bool {
    let begins = ["Sequential", "Random", "SEQ", "RND"].iter().any(|word| line.starts_with(word));
    begins && line.contains(':')
}

fn row(run: &mut Run, line: &str, major: u32, section: &DiskmarkSection) -> Option<()> {
    let (label, values) = line.rsplit_once(": ").or_else(|| line.rsplit_once(':'))?;
    let (value, unit) = number(values)?;
    let scale = match unit.split_whitespace().next()? {
        "MB/s" => 1e6,
        "GB/s" => 1e9,
        _ => return None,
    };
    let direction = direction(label).or(section.direction);
    let mut shape = shape(label, major)?;
    shape.mixed = section.mixed;
    let iops = values.split_once('[').and_then(|(_, rest)| number(rest)).map(|(n, _)| n);
    let rate = value * scale;
    if rate <= 0.0 {
        // 0 is printed for a test that was not run, or failed.
        return Some(());
    }
    let iops = iops.filter(|iops| *iops > 0.0);
    let from_rate = shape.block_bytes.map(|block| rate / block as f64);
    let side =
        SideFigures { bytes_per_s: Some(rate), iops: iops.or(from_rate), ..SideFigures::default() };
    let direction = if section.mixed { "both" } else { direction? };
    let name = put_side(run, &shape, direction, &side);
    if let Some(us) = number_after(values, "<") {
        let key = MetricKey::parse(&name).with(Statistic::Mean);
        put(run, key, Unit::Nanoseconds, us * 1e3);
    }
    Some(())
}

fn direction(label: &str) -> Option<&'static str> {
    let directions = [("Read", "read"), ("Write", "write")];
    let direction =
        directions.into_iter().find(|(word, _)| label.split_whitespace().any(|w| w == *word));
    direction.map(|(_, name)| name)
}

fn shape(label: &str, major: u32) -> Option<WorkloadShape> {
    let random = label.starts_with("Random") || label.starts_with("RND");
    let (words, inside) = label.split_once('(').unwrap_or((label, ""));
    let block = block_bytes(words);
    let old_block =
        SEQUENTIAL_BLOCK.iter().find(|(from, _)| major >= *from).map(|(_, bytes)| *bytes);
    let unqueued = !inside.contains("Q=") && !random;
    let implied =
        (!random).then_some(if unqueued { 1 << 20 } else { old_block.unwrap_or(1 << 20) });
    let queues = number_after(inside, "QD=").or(number_after(inside, "Q=")).unwrap_or(1.0);
    let threads = number_after(inside, "T=").unwrap_or(1.0);
    (queues >= 1.0 && threads >= 1.0).then_some(WorkloadShape {
        random,
        block_bytes: block.or(implied),
        depth: Some(queues as u32),
        jobs: threads as u64,
        ..WorkloadShape::default()
    })
}

/// `4KiB`, `1 MiB`, `512KB` (of 1024) among the words of a label.
fn block_bytes(words: &str) -> Option<u64> {
    let start = words.find(|c: char| c.is_ascii_digit())?;
    let (value, unit) = number(&words[start..])?;
    let scale = match unit.split_whitespace().next()? {
        "KiB" | "KB" => 1u64 << 10,
        "MiB" | "MB" => 1 << 20,
        _ => return None,
    };
    // Computed lazily, because a size out of range overflows.
    (1.0..1e6).contains(&value).then(|| value as u64 * scale)
}

/// Parses profile, test, date and system. Returns whether the line was one of them.
fn fact(run: &mut Run, line: &str) -> bool {
    let Some((key, value)) = line.split_once(':') else { return false };
    let value = value.trim();
    match key.trim() {
        "Test" => {
            let profile = run.origin.as_ref().and_then(|o| o.command.clone());
            let text = profile.map_or_else(|| value.to_string(), |p| format!("{p}, {value}"));
            *run = found::with_command(run.clone(), Some(text));
        }
        "Profile" => *run = found::with_command(run.clone(), Some(format!("profile {value}"))),
        "Date" => {
            let time = value.replace('/', "-").replacen(' ', "T", 1);
            let time = time.trim().parse::<jiff::civil::DateTime>().ok();
            found::start(run, time.map(found::moment));
        }
        "OS" => run.environment.os = Some(value.to_string()),
        _ => return false,
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_all_versions_have_the_named_shape() {
        let named =
            |label: &str, major, direction: &str| shape(label, major).map(|s| s.name(direction));
        let table = [
            ("Sequential Read", 3, "seq-read-1MiB-q1"),
            ("Random Read 512KB", 3, "rand-read-512KiB-q1"),
            ("Random Read 4KB (QD=32)", 3, "rand-read-4KiB-q32"),
            ("Sequential Read (Q= 32,T= 1)", 5, "seq-read-128KiB-q32"),
            ("Sequential Read (T= 1)", 5, "seq-read-1MiB-q1"),
            ("Random Read 4KiB (Q=  8,T= 8)", 6, "rand-read-jobs8-4KiB-q8"),
            ("SEQ    1MiB (Q=  8, T= 1)", 8, "seq-read-1MiB-q8"),
            ("RND    4KiB (Q= 32, T=16)", 8, "rand-read-jobs16-4KiB-q32"),
            ("Sequential 1 MiB (Q= 8, T= 1)", 8, "seq-read-1MiB-q8"),
        ];
        for (label, major, name) in table {
            assert_eq!(named(label, major, "read").as_deref(), Some(name), "{label}");
        }
    }
}
