//! Results of other tools, parsed from their output.
//!
//! A text is made plain (`plain.rs`) and scanned line by line. Where a tool's result starts, its
//! parser takes over and returns one record per result; other lines (prompts, warnings, prose) are
//! skipped. What precedes every line of a paste is found at the first line of a result and removed
//! (`dress.rs`). An unreadable line inside a result is an error that quotes it, and so is a result
//! without a figure. Information missing from the output stays unknown.

mod bonnie;
mod dd;
mod diskmark;
mod diskspd;
mod diskspd_xml;
mod dress;
mod elbencho;
mod elbencho_text;
mod f3;
#[cfg(test)]
mod field_tests;
mod fio_body;
mod fio_json;
mod fio_names;
mod fio_terse;
mod fio_text;
mod flashbench;
mod found;
mod h2testw;
mod hdparm;
mod html;
mod ioping;
mod iozone;
mod json;
mod lines;
mod own;
mod pieces;
mod plain;
mod repeats;
mod sysbench;
#[cfg(test)]
mod tests;
mod worn;
mod xls;

use record::{FindingKind, Run};

use self::dress::Dress;
pub use self::lines::ImportError;
use self::lines::Lines;
pub use self::pieces::{Pieces, StreamPiece};

/// A supported output format.
#[derive(Clone, Copy)]
pub struct Format {
    /// Name on the command line.
    pub name: &'static str,
    /// Description.
    pub about: &'static str,
    /// Whether a result starts at the current line.
    begins: fn(&Lines<'_>) -> bool,
    /// Reads the result that starts at the current line.
    read: fn(&mut Lines<'_>) -> Result<Vec<Run>, ImportError>,
}

impl std::fmt::Debug for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// All formats. The first that recognises a line is used.
pub const FORMATS: [Format; 18] = [
    Format {
        name: "ssdyno",
        about: "`ssdyno export`: JSON lines, or --csv",
        begins: own::begins,
        read: own::read,
    },
    Format {
        name: "fio-json",
        about: "fio --output-format=json or json+, of fio 2 and 3",
        begins: fio_json::begins,
        read: fio_json::read,
    },
    Format {
        name: "fio",
        about: "fio's normal output, of fio 2 and 3",
        begins: fio_text::begins,
        read: fio_text::read,
    },
    Format {
        name: "fio-terse",
        about: "fio --output-format=terse, versions 2 to 5",
        begins: fio_terse::begins,
        read: fio_terse::read,
    },
    Format {
        name: "iozone",
        about: "iozone's listing or its table alone, the tables of -R, the rates of -t, the file of -b",
        begins: iozone::begins,
        read: iozone::read,
    },
    Format {
        name: "diskmark",
        about: "the text of CrystalDiskMark 2 to 8 and of KDiskMark",
        begins: diskmark::begins,
        read: diskmark::read,
    },
    Format { name: "f3", about: "f3write, f3read, f3probe", begins: f3::begins, read: f3::read },
    Format {
        name: "hdparm",
        about: "hdparm -t and -T",
        begins: hdparm::begins,
        read: hdparm::read,
    },
    Format {
        name: "flashbench",
        about: "flashbench -a, and --open-au and --find-fat",
        begins: flashbench::begins,
        read: flashbench::read,
    },
    Format {
        name: "h2testw",
        about: "the protocol of H2testw, in English or German",
        begins: h2testw::begins,
        read: h2testw::read,
    },
    Format {
        name: "sysbench",
        about: "sysbench fileio, of sysbench 0.4 to 1.1",
        begins: sysbench::begins,
        read: sysbench::read,
    },
    Format {
        name: "ioping",
        about: "the statistics of ioping",
        begins: ioping::begins,
        read: ioping::read,
    },
    Format {
        name: "bonnie",
        about: "bonnie++: its table, its line of fields, or both",
        begins: bonnie::begins,
        read: bonnie::read,
    },
    Format {
        name: "diskspd",
        about: "diskspd's text",
        begins: diskspd::begins,
        read: diskspd::read,
    },
    Format {
        name: "diskspd-xml",
        about: "diskspd -Rxml",
        begins: diskspd_xml::begins,
        read: diskspd_xml::read,
    },
    Format {
        name: "elbencho",
        about: "elbencho --csvfile",
        begins: elbencho::begins,
        read: elbencho::read,
    },
    Format {
        name: "elbencho-text",
        about: "what elbencho prints on the screen",
        begins: elbencho_text::begins,
        read: elbencho_text::read,
    },
    Format {
        name: "dd",
        about: "the last lines of dd: GNU in any language, busybox, toybox, BSD",
        begins: dd::begins,
        read: dd::read,
    },
];

/// The format with this name.
pub fn format(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

/// All results in a text, in order; with `only`, only those of that format. The records have no id
/// yet, and no start time if the tool does not report it. A text without a result is an error.
pub fn read(text: &str, only: Option<&Format>) -> Result<Vec<Run>, ImportError> {
    let runs = results(text, 1, only)?;
    if runs.is_empty() { Err(nothing(text, 1, only)) } else { Ok(runs) }
}

/// Like [`read`], but a text without a result gives an empty list. `line` is the number of the
/// text's first line in its file.
pub fn results(text: &str, line: usize, only: Option<&Format>) -> Result<Vec<Run>, ImportError> {
    let formats = only.map_or(&FORMATS[..], std::slice::from_ref);
    let page = html::text(text).and_then(|page| listed(&page, line, formats, NESTED_MAX).ok());
    let results = match page {
        Some(results) if !results.is_empty() => results,
        _ => listed(text, line, formats, NESTED_MAX)?,
    };
    Ok(repeats::merge(results))
}

/// Depth of texts within JSON within texts. Arbitrary; logs of logs have two.
const NESTED_MAX: usize = 4;

/// A result with the name of its format.
struct Listed {
    format: &'static str,
    run: Run,
}

/// The results of a text, of all formats, in order.
fn listed(
    text: &str,
    first: usize,
    formats: &[Format],
    nested: usize,
) -> Result<Vec<Listed>, ImportError> {
    let text = plain::plain(text);
    let mut lines = Lines::new(&text, first);
    let (mut results, mut section) = (Vec::new(), 0);
    let mut dress = Dress::default();
    while let Some(line) = lines.peek() {
        if line.trim().is_empty() {
            lines.next();
        } else if let Some((inner_results, end)) = wrapped(&lines, formats, nested)? {
            // A whole object on one line may look like a line of its text.
            results.extend(inner_results);
            lines = end;
        } else if let Some((runs, view, end)) = result(&lines, formats, &dress)? {
            results.extend(runs);
            view.take(&end);
            dress = view.dress();
            lines.settle_seen();
        } else {
            if is_heading(line) {
                share_title(&mut results[section..]);
                section = results.len();
            }
            lines.next();
        }
    }
    share_title(&mut results[section..]);
    Ok(results)
}

/// The results in the texts within JSON that begins on the current line, with the position after it;
/// `None` if there are none.
fn wrapped<'a>(
    lines: &Lines<'a>,
    formats: &[Format],
    nested: usize,
) -> Result<Option<(Vec<Listed>, Lines<'a>)>, ImportError> {
    let Some((texts, end)) = json::texts(lines).filter(|_| nested > 0) else { return Ok(None) };
    let mut results = Vec::new();
    for text in texts {
        results.extend(listed(&text, lines.number(), formats, nested - 1)?);
    }
    Ok((!results.is_empty()).then_some((results, end)))
}

/// Results with the view in which they were read and its end.
type Read<'a> = (Vec<Listed>, Lines<'a>, Lines<'a>);

/// The results that start at the current line. Of the ways to undress the line, the first that gives
/// a result counts, but one that strangers interrupt only if no other does; if none does, the error
/// of the one that read furthest. `last` is the dress of the result before.
fn result<'a>(
    lines: &Lines<'a>,
    formats: &[Format],
    last: &Dress,
) -> Result<Option<Read<'a>>, ImportError> {
    if !lines.peek().is_some_and(has_word) {
        return Ok(None);
    }
    let (mut failure, mut interrupted): (Option<ImportError>, _) = (None, None);
    for (dress, is_guess) in dresses(lines, last) {
        let view = lines.dressed(dress);
        if !view.peek().is_some_and(has_word) {
            continue;
        }
        let Some(format) = formats.iter().find(|format| (format.begins)(&view)) else { continue };
        let mut end = view.clone();
        match (format.read)(&mut end).and_then(|runs| measured(runs, &view)) {
            Ok(_) if end.is_at(&view) => {}
            // No runs: lines that announce a result in another format.
            Ok(runs) => {
                let is_interrupted = is_guess && view.has_foreign(&end);
                let runs = runs.into_iter().map(|run| Listed { format: format.name, run });
                let records = (runs.collect(), view, end);
                if !is_interrupted {
                    return Ok(Some(records));
                }
                interrupted.get_or_insert(records);
            }
            Err(error) if failure.as_ref().is_none_or(|failure| failure.line < error.line) => {
                failure = Some(error);
            }
            Err(_) => {}
        }
    }
    match (interrupted, failure) {
        (None, Some(failure)) => Err(failure),
        (interrupted, _) => Ok(interrupted),
    }
}

/// Whether a line has a word or the brace of an object. Numbers alone begin no tool's result: a log
/// has millions of such lines, and each could be undressed in many ways.
fn has_word(line: &str) -> bool {
    let mut words = line.split(|c: char| !c.is_alphanumeric());
    line.contains('{')
        || words.any(|word| !word.starts_with("0x") && word.chars().any(char::is_alphabetic))
}

/// The ways to undress the current line, each with whether it is a guess: that of the result before,
/// what its neighbours share, what is usual.
fn dresses(lines: &Lines<'_>, earlier: &Dress) -> impl Iterator<Item = (Dress, bool)> {
    let earlier = (*earlier != Dress::default()).then(|| (earlier.clone(), false));
    let candidates = |lines: &Lines<'_>| {
        let shared = worn::candidates(lines).into_iter().map(|dress| (dress, true));
        let usual = Dress::candidates(lines.peek().unwrap_or_default());
        shared.chain(usual.into_iter().map(|dress| (dress, false)))
    };
    let with_end = worn::closing(lines).map(|mark| {
        let lines = lines.dressed(Dress { end: Some(mark), ..Dress::default() });
        candidates(&lines)
            .map(move |(dress, is_guess)| (Dress { end: Some(mark), ..dress }, is_guess))
    });
    earlier.into_iter().chain(with_end.into_iter().flatten()).chain(candidates(lines))
}

/// The runs, if each has a figure.
fn measured(runs: Vec<Run>, lines: &Lines<'_>) -> Result<Vec<Run>, ImportError> {
    match runs.iter().find(|run| run.metrics.is_empty()) {
        Some(run) if run.errors.is_empty() => {
            Err(lines.wrong_at(lines.number(), "the result that begins here has no figures"))
        }
        Some(run) => {
            let text =
                format!("the result that begins here has no figures: {}", run.errors[0].kind);
            Err(lines.wrong_at(lines.number(), text))
        }
        None => Ok(runs),
    }
}

/// Whether a line is a Markdown heading, which starts a section.
fn is_heading(line: &str) -> bool {
    let words = line.trim_start_matches('#');
    words.len() < line.len() && words.starts_with(' ')
}

/// Gives untitled results the title of the others in their section, if those have only one: iozone,
/// unlike fio, has no name for a result.
fn share_title(section: &mut [Listed]) {
    let mut titles: Vec<String> =
        section.iter().filter_map(|listed| found::own_title(&listed.run)).collect();
    titles.dedup();
    let [only] = &titles[..] else { return };
    for Listed { run, .. } in section.iter_mut().filter(|l| found::own_title(&l.run).is_none()) {
        found::title(run, only);
        let text = format!("the title is that of the other results in its section: {only}");
        found::note(run, FindingKind::SharedTitle, text);
    }
}

/// The error of a text without a result, which quotes the first line that is not blank. `line` is
/// the number of the text's first line in its file.
pub fn nothing(text: &str, line: usize, only: Option<&Format>) -> ImportError {
    let number = text.lines().position(|line| !line.trim().is_empty());
    let reason = match only {
        Some(format) => format!("no result of {} from this line on", format.name),
        None => "no result of a known tool from this line on".to_string(),
    };
    Lines::new(text, line).wrong_at(line + number.unwrap_or(0), reason)
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> String {
    let units = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
    char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

/// The text of a file: UTF-8, or UTF-16 with a byte order mark, as written by Windows tools; the
/// cells of iozone's spreadsheet.
pub fn decode(bytes: &[u8]) -> String {
    match bytes {
        [0xff, 0xfe, rest @ ..] => utf16(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => utf16(rest, u16::from_be_bytes),
        _ if bytes.starts_with(&xls::MAGIC) => xls::text(bytes),
        [0xef, 0xbb, 0xbf, rest @ ..] => String::from_utf8_lossy(rest).into_owned(),
        _ => String::from_utf8_lossy(bytes).into_owned(),
    }
}
