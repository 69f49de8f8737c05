//! dd's final lines. Bytes and seconds are exact; the rate is derived from them. The direction is
//! known only if the command line precedes the output.
//!
//! GNU dd is localised, including its numbers (`1,5 s`); busybox omits blanks; BSD writes
//! `bytes transferred in N secs`. All of them start with the number of bytes, and the seconds
//! precede a unit that starts with s.

use record::{FindingKind, Run, Unit};

use super::found::{self, put, run};
use super::lines::{ImportError, Lines, number, unit_scale};

/// Number of lines before the result that may contain the command.
const COMMAND_ABOVE: usize = 4;

pub(crate) fn begins(lines: &Lines<'_>) -> bool {
    let is_result = lines.peek().is_some_and(|line| result(line).is_some());
    is_result && !is_progress(lines)
}

/// A progress line precedes the record counts; the result follows them.
fn is_progress(lines: &Lines<'_>) -> bool {
    let counts = |line: Option<&str>| line.is_some_and(|line| records(line).is_some());
    let mut ahead = lines.clone();
    ahead.next();
    let carriage = lines.peek().is_some_and(|line| line.contains('\r'));
    carriage || counts(ahead.peek()) && !counts(lines.before(1))
}

/// `64+0 records in`, in any language.
fn records(line: &str) -> Option<u64> {
    let (whole, rest) = line.trim().split_once('+')?;
    let digits = rest.find(|c: char| !c.is_ascii_digit())?;
    (digits > 0 && rest[digits..].starts_with(' ')).then_some(())?;
    whole.parse().ok()
}

pub(crate) fn read(lines: &mut Lines<'_>) -> Result<Vec<Run>, ImportError> {
    let line_number = lines.number();
    let command = (1..=COMMAND_ABOVE).find_map(|back| command(lines.before(back)?));
    let counted = [lines.before(2), lines.before(1)].map(|line| line.and_then(records));
    let line = lines.next().unwrap_or_default();
    let (bytes, seconds) = result(line).ok_or_else(|| lines.wrong("not a result of dd"))?;
    if seconds <= 0.0 {
        return Err(lines.wrong("it took no time"));
    }
    let mut run = found::with_command(run("dd", "dd", None, line_number), command.clone());
    put(&mut run, "throughput", Unit::BytesPerSecond, bytes / seconds);
    put(&mut run, "bytes", Unit::Bytes, bytes);
    run.seconds = Some(seconds);
    if let Some(command) = command {
        describe(&mut run, &command);
    }
    if let [Some(read), Some(written)] = counted
        && read != written
    {
        found::note(&mut run, FindingKind::DdRecords, format!("{read} records in, {written} out"));
    }
    found::note(&mut run, FindingKind::DdPass, "a single pass; caching in memory is unknown");
    Ok(vec![run])
}

fn describe(run: &mut Run, command: &str) {
    let word = |name: &str| command.split_whitespace().find_map(|w| w.strip_prefix(name));
    let direct = |flag: &str| word(flag).is_some_and(|f| f.split(',').any(|f| f == "direct"));
    let (from, to) = (word("if=").unwrap_or(""), word("of=").unwrap_or(""));
    let source = ["/dev/zero", "/dev/urandom", "/dev/random"].contains(&from);
    let (target, flag) = match (source, to) {
        (true, _) => (to, "oflag="),
        (false, "/dev/null") => (from, "iflag="),
        _ => return,
    };
    run.target.spec = target.to_string();
    run.target.direct = Some(direct(flag));
}

/// A command line of dd, with or without a prompt.
fn command(line: &str) -> Option<String> {
    let at = line
        .find("dd ")
        .filter(|at| line[..*at].is_empty() || line[..*at].ends_with([' ', '/']))?;
    let command = &line[at..];
    (command.contains("if=") || command.contains("of=")).then(|| command.trim().to_string())
}

/// Bytes and seconds.
fn result(line: &str) -> Option<(f64, f64)> {
    let line = line.trim();
    let digits = line.find(|c: char| !c.is_ascii_digit())?;
    let bytes: f64 = line[..digits].parse().ok()?;
    let rest = line[digits..].strip_prefix(' ')?;
    let seconds = bsd(rest).or_else(|| gnu(rest))?;
    (digits > 0 && seconds.is_finite()).then_some((bytes, seconds))
}

/// `bytes transferred in 0.5 secs (2147483648 bytes/sec)`.
fn bsd(rest: &str) -> Option<f64> {
    let (seconds, unit) = number(rest.strip_prefix("bytes transferred in ")?)?;
    unit.trim_start().starts_with("sec").then_some(seconds)
}

/// `bytes (67 MB, 64 MiB) copied, 0.148009 s, 453 MB/s`: the last number is the rate, the one
/// before it the seconds.
fn gnu(rest: &str) -> Option<f64> {
    let (head, rate) = rest.rsplit_once(", ")?;
    let rate = rate.replace(',', ".");
    unit_scale(number(&rate)?.1)?;
    let (_, seconds) = head.rsplit_once(", ")?;
    let text = seconds.replace(',', ".");
    let (seconds, unit) = number(&text)?;
    unit.trim_start().starts_with('s').then_some(seconds)
}
