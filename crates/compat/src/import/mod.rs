//! Results of other tools, parsed from their output.
//!
//! A text is scanned line by line. Where a tool's result starts, its parser takes over and returns
//! one record per result; other lines (prompts, warnings, prose) are skipped. An unreadable line
//! inside a result is an error that quotes it. Information missing from the output stays unknown.

mod dd;
mod diskmark;
mod f3;
mod fio_json;
mod fio_text;
mod flashbench;
mod found;
mod hdparm;
mod iozone;
mod lines;
mod own;
mod pieces;
#[cfg(test)]
mod tests;

use record::{FindingKind, Run};

pub use self::lines::ImportError;
use self::lines::Lines;
pub use self::pieces::{Piece, Pieces};

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
pub const FORMATS: [Format; 9] = [
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
        read: fio,
    },
    Format {
        name: "iozone",
        about: "iozone's listing, or its table alone, or the tables of -R",
        begins: iozone::begins,
        read: iozone::read,
    },
    Format {
        name: "diskmark",
        about: "the text of CrystalDiskMark 3 to 8 and of KDiskMark",
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
        name: "dd",
        about: "the last lines of dd: GNU in any language, busybox, BSD",
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
    let mut lines = Lines::new(text, line);
    let (mut runs, mut section) = (Vec::new(), 0);
    while let Some(line) = lines.peek() {
        let before = lines.number();
        if let Some(format) = formats.iter().find(|format| (format.begins)(&lines)) {
            runs.extend((format.read)(&mut lines)?);
        } else if is_heading(line) {
            share_title(&mut runs[section..]);
            section = runs.len();
        }
        if lines.number() == before {
            lines.next();
        }
    }
    share_title(&mut runs[section..]);
    Ok(runs)
}

/// fio's normal output, or nothing if the same results follow as JSON, which has more
/// (`--output-format=normal,json` of `ssdyno fio`; fio prints the JSON first).
fn fio(lines: &mut Lines<'_>) -> Result<Vec<Run>, ImportError> {
    let runs = fio_text::read(lines)?;
    let mut ahead = lines.clone();
    while ahead.peek().is_some_and(|line| line.trim().is_empty()) {
        ahead.next();
    }
    if !fio_json::begins(&ahead) {
        return Ok(runs);
    }
    let names = |run: &Run| run.origin.as_ref().and_then(|origin| origin.title.clone());
    let titles = |runs: &[Run]| runs.iter().map(names).collect::<Vec<_>>();
    match fio_json::read(&mut ahead) {
        Ok(json) if titles(&json) == titles(&runs) => Ok(Vec::new()),
        _ => Ok(runs),
    }
}

/// Whether a line is a Markdown heading, which starts a section.
fn is_heading(line: &str) -> bool {
    let words = line.trim_start_matches('#');
    words.len() < line.len() && words.starts_with(' ')
}

/// Gives untitled results the title of the others in their section, if those have only one: iozone,
/// unlike fio, has no name for a result.
fn share_title(section: &mut [Run]) {
    let title = |run: &Run| run.origin.as_ref().and_then(|origin| origin.title.clone());
    let mut titles: Vec<String> = section.iter().filter_map(title).collect();
    titles.dedup();
    let [only] = &titles[..] else { return };
    for run in section.iter_mut().filter(|run| title(run).is_none()) {
        found::title(run, only);
        let text = format!("the title is that of the other results in its section: {only}");
        found::note(run, FindingKind::SharedTitle, text);
    }
}

/// The error of a text without a result, which quotes the first line that is not blank. `line` is
/// the number of the text's first line in its file.
pub fn nothing(text: &str, line: usize, only: Option<&Format>) -> ImportError {
    let first = text.lines().position(|line| !line.trim().is_empty());
    let why = match only {
        Some(format) => format!("no result of {} from this line on", format.name),
        None => "no result of a known tool from this line on".to_string(),
    };
    Lines::new(text, line).wrong_at(line + first.unwrap_or(0), why)
}

/// The text of a file: UTF-8, or UTF-16 with a byte order mark, as written by Windows tools.
pub fn decode(bytes: &[u8]) -> String {
    let wide = |big: bool| {
        let pairs = bytes[2..].chunks_exact(2);
        let units = pairs.map(|p| match big {
            true => u16::from_be_bytes([p[0], p[1]]),
            false => u16::from_le_bytes([p[0], p[1]]),
        });
        char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
    };
    match bytes {
        [0xff, 0xfe, ..] => wide(false),
        [0xfe, 0xff, ..] => wide(true),
        [0xef, 0xbb, 0xbf, rest @ ..] => String::from_utf8_lossy(rest).into_owned(),
        _ => String::from_utf8_lossy(bytes).into_owned(),
    }
}
