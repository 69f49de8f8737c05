//! H2testw's protocol, in English and German. Its KByte, MByte and GByte are powers of 1024.
//!
//! A protocol begins with a warning, a verdict or the amount that is intact, and ends with the
//! version. "Only 14982 of 14983 MByte tested" is no fault of the medium, but says that not all of
//! it was tested.

use record::{Evidence, Finding, FindingKind, IoErrors, Level, Run, Unit, Verdict, VerdictKind};

use super::found::{put, run};
use super::lines::{ImportError, Lines, number};

/// First lines of a protocol.
const FIRST: [&str; 7] = [
    "Warning: Only ",
    "Achtung: Nur ",
    "Test finished without errors",
    "Der Test wurde ohne Fehler abgeschlossen",
    "The media is likely to be defective",
    "Der Datenträger ist wahrscheinlich defekt",
    "Error writing file",
];

/// Kinds of lost sectors, and ssdyno's names for them. Aliased sectors are among these.
const LOST: [(&str, &str); 6] = [
    ("overwritten", "misplaced"),
    ("überschrieben", "misplaced"),
    ("slightly changed", "torn"),
    ("leicht verändert", "torn"),
    ("corrupted", "flipped"),
    ("korrumpiert", "flipped"),
];

pub(crate) fn begins(lines: &Lines<'_>) -> bool {
    let line = lines.peek().unwrap_or_default().trim_start();
    let is_verdict = FIRST.iter().any(|words| line.starts_with(words));
    let is_warning = line.starts_with(FIRST[0]) || line.starts_with(FIRST[1]);
    is_verdict && (!is_warning || line.contains("MByte"))
}

pub(crate) fn read(lines: &mut Lines<'_>) -> Result<Vec<Run>, ImportError> {
    let begin = lines.number();
    let mut run = run("h2testw", "H2testw", None, begin);
    while let Some(line) = lines.peek().map(str::trim) {
        // A protocol without its last line ends where the next begins, or something else.
        let is_next = lines.number() > begin && begins(lines) || !is_part(line);
        if is_next && !run.metrics.is_empty() {
            break;
        }
        lines.next();
        if let Some(version) = line.strip_prefix("H2testw v").filter(|v| v.starts_with(is_digit)) {
            if let Some(origin) = &mut run.origin {
                origin.version = Some(version.to_string());
            }
            break;
        }
        entry(&mut run, line).map_err(|why| lines.wrong(why))?;
    }
    judge(&mut run);
    if run.metrics.is_empty() {
        return Err(lines.wrong_at(begin, "the protocol of H2testw ends before its figures"));
    }
    Ok(vec![run])
}

/// Whether a line may stand in a protocol.
fn is_part(line: &str) -> bool {
    let words = ["H2testw v", "Writing speed:", "Reading speed:", "Schreibrate:", "Leserate:"];
    let begins = words.iter().chain(&FIRST).any(|words| line.starts_with(words));
    // The offset of the first error, what was expected there, and what was found.
    let is_offset = line.contains("0x") && line.contains(':');
    line.is_empty() || begins || is_offset || line.contains(".h2w") || sectors(line).is_some()
}

fn is_digit(letter: char) -> bool {
    letter.is_ascii_digit()
}

fn entry(run: &mut Run, line: &str) -> Result<(), String> {
    let rates = [
        ("Writing speed:", "seq-write"),
        ("Schreibrate:", "seq-write"),
        ("Reading speed:", "seq-read"),
        ("Leserate:", "seq-read"),
    ];
    let line = line.strip_prefix("Details:").unwrap_or(line).trim_start();
    if let Some((name, rest)) =
        rates.iter().find_map(|(words, name)| Some((name, line.strip_prefix(words)?)))
    {
        let rate = amount(rest, "/s").ok_or("no rate in MByte/s")?;
        put(run, *name, Unit::BytesPerSecond, rate);
    } else if [FIRST[0], FIRST[1], FIRST[6]].iter().any(|words| line.starts_with(words)) {
        let finding = Finding::new(FindingKind::CheckLeftOut, Level::Warn, line);
        run.warnings.push(finding);
    } else if let Some(bytes) = sectors(line) {
        let is_loss = line.contains("DATA LOST") || line.contains("DATEN VERLOREN");
        if is_loss {
            put(run, "data-lost", Unit::Bytes, bytes);
        } else if line.contains(" OK (") {
            put(run, "data-ok", Unit::Bytes, bytes);
        } else if let Some((_, kind)) = LOST.iter().find(|(words, _)| line.contains(words)) {
            let count = (bytes / 512.0) as u64;
            if count > 0 {
                run.errors.push(IoErrors::new("verify", *kind, "h2testw", count));
            }
        }
    } else if line.starts_with(FIRST[2]) || line.starts_with(FIRST[3]) {
        verdict(run, "all content was read back", 0.0);
    }
    Ok(())
}

/// The verdict of a protocol with losses.
fn judge(run: &mut Run) {
    let lost_bytes = run.metric("data-lost").and_then(|metric| metric.value);
    if let Some(bytes) = lost_bytes.filter(|bytes| *bytes > 0.0) {
        verdict(run, "content was lost", bytes);
    }
}

fn verdict(run: &mut Run, text: &str, bytes: f64) {
    let evidence = [Evidence::new("bytes lost", bytes, Unit::Bytes)];
    run.verdicts.push(Verdict::new(VerdictKind::F3, text).with_evidence(evidence));
}

/// `9.74 MByte/s`, `9,74 MByte/s`.
fn amount(text: &str, suffix: &str) -> Option<f64> {
    let text = text.trim().replace(',', ".");
    let (value, unit) = number(&text)?;
    let unit = unit.split_whitespace().next()?.strip_suffix(suffix)?;
    let power = ["Byte", "KByte", "MByte", "GByte", "TByte"].iter().position(|u| *u == unit)?;
    Some(value * 1024f64.powi(power as i32))
}

/// Bytes of `4.3 GByte OK (9076864 sectors)`, `.. (< 8 bit/sector, 0 sectors)`.
fn sectors(line: &str) -> Option<f64> {
    let inside = line.rsplit_once('(')?.1.strip_suffix(')')?;
    let words: Vec<&str> = inside.split_whitespace().collect();
    let [.., count, unit] = words.as_slice() else { return None };
    let is_count = unit.starts_with("sector") || unit.starts_with("Sektor");
    let count: f64 = count.parse::<u64>().ok().filter(|_| is_count)? as f64;
    Some(count * 512.0)
}
