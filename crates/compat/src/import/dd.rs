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
    let mut ahead = lines.clone();
    ahead.next();
    let has_whole_seconds = lines.peek().and_then(figures).is_some_and(|figures| {
        let seconds = figures.len().checked_sub(2).and_then(|at| figures.get(at));
        seconds.is_some_and(|seconds| seconds.is_whole)
    });
    lines.before(1).and_then(records).is_none()
        && (ahead.peek().and_then(records).is_some() || has_whole_seconds)
}

/// `64+0 records in`, in any language, with words before or behind.
fn records(line: &str) -> Option<u64> {
    let (whole, partial) = line.trim().split_once('+')?;
    let start = whole.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let tail = partial.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_count = tail.len() < partial.len() && !tail.starts_with(['.', ',', ':']);
    is_count.then(|| whole[start..].parse().ok()).flatten()
}

pub(crate) fn read(lines: &mut Lines<'_>) -> Result<Vec<Run>, ImportError> {
    let line_number = lines.number();
    let command = (1..=COMMAND_ABOVE).find_map(|back| command(lines.before(back)?));
    let records_moved = [lines.before(2), lines.before(1)].map(|line| line.and_then(records));
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
    if let [Some(records_in), Some(records_out)] = records_moved
        && records_in != records_out
    {
        found::note(
            &mut run,
            FindingKind::DdRecords,
            format!("{records_in} records in, {records_out} out"),
        );
    }
    found::note(&mut run, FindingKind::DdPass, "a single pass; caching in memory is unknown");
    Ok(vec![run])
}

fn describe(run: &mut Run, command: &str) {
    let word = |name: &str| command.split_whitespace().find_map(|w| w.strip_prefix(name));
    let (source, destination) = (word("if=").unwrap_or(""), word("of=").unwrap_or(""));
    let is_write = ["/dev/zero", "/dev/urandom", "/dev/random"].contains(&source);
    let (target, flag) = match (is_write, destination) {
        (true, _) => (destination, "oflag="),
        (false, "/dev/null") => (source, "iflag="),
        _ => return,
    };
    run.target.spec = target.to_string();
    run.target.direct = Some(word(flag).is_some_and(|f| f.split(',').any(|f| f == "direct")));
}

/// A command line of dd, with or without a prompt.
fn command(line: &str) -> Option<String> {
    let start = line
        .find("dd ")
        .filter(|start| line[..*start].is_empty() || line[..*start].ends_with([' ', '/']))?;
    let command = &line[start..];
    (command.contains("if=") || command.contains("of=")).then(|| command.trim().to_string())
}

/// A number in a line and the text after it, up to the next.
struct DdFigure<'a> {
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
fn figures(line: &str) -> Option<Vec<DdFigure<'_>>> {
    let mut figures = Vec::new();
    let mut rest = line;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let (value, length) = decimal(&rest[start..])?;
        let tail = &rest[start + length..];
        let end = tail.find(|c: char| c.is_ascii_digit()).unwrap_or(tail.len());
        let is_whole = rest[start..start + length].bytes().all(|b| b.is_ascii_digit());
        figures.push(DdFigure { value, is_whole, unit: tail[..end].trim_start() });
        rest = &tail[end..];
    }
    Some(figures)
}

/// The number at the start of a text and its length: `5`, `0,5`, `5.44e-05`.
fn digits(text: &str) -> usize {
    text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len())
}

fn decimal(text: &str) -> Option<(f64, usize)> {
    let digit_count = digits(text);
    let mut length = digit_count;
    let mut number = text[..digit_count].to_string();
    let mark = text[digit_count..].chars().next().filter(|c| matches!(c, '.' | ',' | '\u{66b}'));
    if let Some(mark) = mark {
        let tail = &text[digit_count + mark.len_utf8()..];
        let fraction = digits(tail);
        if fraction > 0 {
            number += &format!(".{}", &tail[..fraction]);
            length += mark.len_utf8() + fraction;
        }
    }
    if let Some(tail) = text[length..].strip_prefix("e-") {
        let exponent = digits(tail);
        number += &format!("e-{}", &tail[..exponent]);
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
fn rates(rate: &DdFigure<'_>) -> impl Iterator<Item = f64> {
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
