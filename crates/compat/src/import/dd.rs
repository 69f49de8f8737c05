//! dd's final lines. Bytes and seconds are exact; the rate is derived from them. The direction is
//! known only if the command line precedes the output.
//!
//! GNU dd is localised: words, their order, separators and decimal marks differ. In every language
//! the line has the bytes as its first number, and the seconds and the rate as its last two. A line
//! is dd's if the rate that it prints is the bytes over the seconds, within the digits printed, so
//! no list of languages is needed. busybox, toybox and BSD's dd fit the same rule.

use record::{FindingKind, Run, Unit};

use super::found::{self, put, run};
use super::lines::{ImportError, Lines};

/// Number of lines before the result that may contain the command.
const COMMAND_ABOVE: usize = 4;

pub(crate) fn begins(lines: &Lines<'_>) -> bool {
    let is_result = lines.peek().is_some_and(|line| result(line).is_some());
    is_result && !is_progress(lines)
}

/// A progress line precedes the record counts; the result follows them. In a text that was cut,
/// neither may be there: progress is shown in whole seconds.
fn is_progress(lines: &Lines<'_>) -> bool {
    let counts = |line: Option<&str>| line.is_some_and(|line| records(line).is_some());
    let mut ahead = lines.clone();
    ahead.next();
    let has_whole_seconds = lines.peek().and_then(figures).is_some_and(|figures| {
        let seconds = figures.len().checked_sub(2).and_then(|at| figures.get(at));
        seconds.is_some_and(|seconds| seconds.is_whole)
    });
    !counts(lines.before(1)) && (counts(ahead.peek()) || has_whole_seconds)
}

/// `64+0 records in`, in any language, with words before or behind.
fn records(line: &str) -> Option<u64> {
    let (before, after) = line.trim().split_once('+')?;
    let start = before.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let partial = after.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_count = partial.len() < after.len() && !partial.starts_with(['.', ',', ':']);
    is_count.then(|| before[start..].parse().ok()).flatten()
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

/// A number in a line and the text after it, up to the next.
struct Figure<'a> {
    value: f64,
    is_whole: bool,
    unit: &'a str,
}

/// The longest line that can be a result, and the most numbers in it: bytes, two sizes, seconds and
/// rate.
const LINE_MAX: usize = 200;
const FIGURES_MAX: usize = 5;

/// Bytes and seconds.
fn result(line: &str) -> Option<(f64, f64)> {
    if line.len() > LINE_MAX {
        return None;
    }
    let figures = figures(line)?;
    let [bytes, .., seconds, rate] = figures.as_slice() else { return None };
    let is_plausible = bytes.is_whole
        && (3..=FIGURES_MAX).contains(&figures.len())
        && is_seconds(seconds.unit)
        && rates(rate).any(|scale| {
            let printed = rate.value * scale;
            // One digit after the point, at least, or two digits in all.
            let digits = (0.06 * printed).max(0.06 * scale);
            seconds.value > 0.0 && (printed - bytes.value / seconds.value).abs() <= digits
        });
    is_plausible.then_some((bytes.value, seconds.value))
}

/// The numbers of a line in order. A decimal mark is a point, a comma, or the Arabic one.
fn figures(line: &str) -> Option<Vec<Figure<'_>>> {
    let mut figures = Vec::new();
    let mut rest = line;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let (value, length) = decimal(&rest[start..])?;
        let after = &rest[start + length..];
        let end = after.find(|c: char| c.is_ascii_digit()).unwrap_or(after.len());
        let is_whole = rest[start..start + length].bytes().all(|b| b.is_ascii_digit());
        figures.push(Figure { value, is_whole, unit: after[..end].trim_start() });
        rest = &after[end..];
    }
    Some(figures)
}

/// The number at the start of a text and its length: `5`, `0,5`, `5.44e-05`.
fn decimal(text: &str) -> Option<(f64, usize)> {
    let digits = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let whole = digits(text);
    let mut length = whole;
    let mut number = text[..whole].to_string();
    let mark = text[whole..].chars().next().filter(|c| matches!(c, '.' | ',' | '\u{66b}'));
    if let Some(mark) = mark {
        let after = &text[whole + mark.len_utf8()..];
        let fraction = digits(after);
        if fraction > 0 {
            number += &format!(".{}", &after[..fraction]);
            length += mark.len_utf8() + fraction;
        }
    }
    if let Some(after) = text[length..].strip_prefix("e-") {
        let exponent = digits(after);
        number += &format!("e-{}", &after[..exponent]);
        length += 2 + exponent;
    }
    Some((number.parse().ok()?, length))
}

/// Whether a unit is that of seconds: `s, `, `secs (`, or a letter or sign of another script.
fn is_seconds(unit: &str) -> bool {
    let word = unit.split(|c: char| c.is_whitespace() || c == ',' || c == '(').next().unwrap_or("");
    word.starts_with('s')
        || !word.is_empty() && !word.starts_with(|c: char| c.is_ascii_alphabetic())
        || word == "c"
}

/// Bytes per unit of a rate, by its letter: decimal ones of GNU, binary ones of busybox and toybox.
/// A letter of another script may stand for any.
fn rates(rate: &Figure<'_>) -> impl Iterator<Item = f64> {
    let letter = rate.unit.chars().next().unwrap_or('?').to_ascii_lowercase();
    let is_rate = rate.unit.contains('/') || rate.unit.starts_with("bps");
    let power = ['b', 'k', 'm', 'g', 't', 'p'].iter().position(|unit| *unit == letter);
    let powers = match power {
        Some(power) => power..power + 1,
        None if letter.is_ascii() => 0..0,
        None => 0..6,
    };
    let powers = if is_rate { powers } else { 0..0 };
    powers.flat_map(|power| [1000f64.powi(power as i32), 1024f64.powi(power as i32)])
}
