//! Differential test of `ssdyno iozone`: command lines drawn at random, run by an installed iozone
//! and by ssdyno, compared in what does not depend on speed: the lines that describe the run, the
//! rows, which columns have figures, the headings of spreadsheets and of several processes, the
//! files that stay with their sizes, and the exit code.
//!
//! Not drawn: with several processes, `-w`, because they share one file here, `-f`, which iozone
//! refuses because it wants a file for each, `-B`, with which it hangs, all tests, of which it has
//! more then, and `-Q` without `-x`, because it stops all when the first has ended; `-B` with `-Q`,
//! for which it lists no offsets, or with records of 12 KiB, which it then cannot verify; `-H`, for
//! which Debian's iozone 3.489 prints debugging lines among the figures; and sizes in descending
//! order, of which iozone takes only the first.
//!
//! iozone's source is public, but its licence keeps it out of Debian's main archive, so this test is
//! skipped where it is not installed. `SSDYNO_IOZONE_CASES` sets the number of lines,
//! `SSDYNO_IOZONE_SEED` draws others.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::common::{Place, Said, or_skip, tool};

/// Lines of the suite; several processes take iozone seconds, so only the bench draws them.
const SUITE_CASES: u64 = 12;

/// Lines that only one of them prints: iozone's about the processor's cache, its clock and its
/// authors, which say nothing about a drive.
const OWN_LINES: [&str; 11] = [
    "Processor cache",
    "Time Resolution",
    "Command line used",
    "Run began",
    "Timer resolution is poor",
    "reported inaccurate results",
    "Purge Mode On",
    // A time of 0 by its clock of microseconds; a line with `(i.e` follows.
    "I/O error during read",
    "The test completed too quickly",
    "You will get a more precise measure",
    "performance by re-running iozone",
];

/// A linear congruential generator; the same lines everywhere.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    fn one<'w>(&mut self, words: &[&'w str]) -> &'w str {
        words[self.below(words.len() as u64) as usize]
    }
}

fn draw(number: u64, with_processes: bool) -> String {
    let mut dice = Dice(number.wrapping_mul(0x9E37_79B9_7F4A_7C15) + 1);
    for _ in 0..4 {
        dice.below(2);
    }
    let mut words: Vec<String> = Vec::new();
    let processes = with_processes && dice.below(8) == 0;
    if dice.below(4) == 0 && !processes {
        words.push(
            dice.one(&["-a -n 64 -g 256", "-a -g 128k -y 8 -q 32k", "-az -n 100k -g 250k"]).into(),
        );
    } else {
        let files = ["-s 512", "-s 1m", "-s 100k", "-s 64 -s 250k", "-s 1000"];
        words.push(dice.one(&files).into());
        words.push(dice.one(&["-r 4", "-r 16k", "-r 64k", "-r 4k -r 32k", "-r 12"]).into());
    }
    if processes {
        // Several sizes would be a sweep, which iozone does not combine with processes.
        words = vec![
            dice.one(&["-s 512 -r 4", "-s 100k -r 16k", "-s 1m -r 64", "-s 64 -s 128"]).into(),
        ];
    }
    let tests = [
        "-i 0",
        "-i 0 -i 1",
        "-i 0 -i 2",
        "-i 0 -i 1 -i 3 -i 5",
        "-i 0 -i 4",
        "-i 0 -i 6 -i 7",
        if processes { "-i 0 -i 2 -i 3" } else { "" },
    ];
    words.push(dice.one(&tests).into());
    for (option, share) in [
        ("-e", 3),
        ("-o", 6),
        ("-c", 4),
        ("-+n", 4),
        ("-R", 3),
        ("-j 3", 6),
        ("-x", 8),
        ("-B", 6),
        ("-Q", 4),
    ] {
        let has = |word: &str| words.iter().any(|other| other.contains(word));
        let is_possible = match option {
            "-B" => !processes && !has("-r 12"),
            "-Q" => !has("-B") && (!processes || has("-x")),
            _ => true,
        };
        if dice.below(share) == 0 && is_possible {
            words.push(option.into());
        }
    }
    if processes {
        words.push(dice.one(&["-t 1", "-t 2", "-l 1 -u 2", "-t 2 -T"]).into());
    }
    words.push(dice.one(&["", "", "-O", if processes { "" } else { "-N" }]).into());
    if !processes {
        words.push(dice.one(&["", "-w", "-w -f there", "-f other"]).into());
    }
    words.push(dice.one(&["", "-b sheet.xls"]).into());
    words.join(" ")
}

/// What does not depend on speed.
#[derive(Debug, PartialEq)]
struct Outcome {
    code: i32,
    /// Lines in order, without figures.
    lines: Vec<String>,
    /// Names and sizes; of a spreadsheet, the number of cells; of a list of latencies, also its
    /// offsets.
    files: BTreeMap<String, u64>,
}

fn outcome(said: &Said, place: &Place) -> Outcome {
    let mut files = BTreeMap::new();
    if said.code != 0 {
        return Outcome { code: 1, lines: Vec::new(), files };
    }
    for entry in fs::read_dir(place.work()).expect("a directory").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let content = fs::read(entry.path()).expect("a file");
        let size = match name.rsplit('.').next() {
            Some("xls") => cells(&content),
            // For streams of several processes, iozone lists no offsets.
            Some("dat") if name.ends_with("_fwol.dat") || name.ends_with("_frol.dat") => {
                content.len() as u64
            }
            Some("dat") => content.len() as u64 + offsets_kib(&content),
            _ => content.len() as u64,
        };
        files.insert(name, size);
    }
    let described = said.out.lines().skip_while(|line| !line.contains("Run began"));
    let lines = described.map(without_figures).filter(|line| !line.is_empty());
    let is_shared = |line: &String| {
        !line.contains("(i.e") && !OWN_LINES.iter().any(|own| line.starts_with(own))
    };
    Outcome { code: said.code, lines: lines.filter(is_shared).collect(), files }
}

/// A row of the table as its sizes and the columns that have figures; another line as its words,
/// with `#` for a figure.
fn without_figures(line: &str) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_row =
        words.len() >= 3 && line.starts_with("     ") && words.iter().all(|w| is_number(w));
    if is_row {
        let columns = columns(line).iter().map(usize::to_string).collect::<Vec<_>>().join(",");
        return format!("row {} {}: {columns}", words[0], words[1]);
    }
    let is_sheet_row = line.starts_with('"') && words.last().is_some_and(|word| is_number(word));
    let mut seen = String::new();
    for (place, word) in words.iter().enumerate() {
        let figure = word.contains('.') && is_number(word);
        let hidden = figure || is_sheet_row && place > 0 && is_number(word);
        seen += if hidden { "# " } else { word };
        seen += " ";
    }
    // Both print a sheet's cells with different numbers of blanks between them.
    seen.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn is_number(word: &str) -> bool {
    word.parse::<f64>().is_ok()
}

/// The columns that end nearest to a figure.
fn columns(line: &str) -> Vec<usize> {
    const ENDS: [usize; 13] = [33, 42, 51, 60, 69, 78, 87, 97, 107, 116, 125, 134, 143];
    let mut figures = Vec::new();
    let mut end = 0;
    for word in line.split_whitespace() {
        end += line[end..].find(word).unwrap_or(0) + word.len();
        figures.push(end);
    }
    let nearest = |end: &usize| (0..13).min_by_key(|c| ENDS[*c].abs_diff(*end)).unwrap_or(0);
    figures[2..].iter().map(nearest).collect()
}

/// The number of cells of a sheet in Excel's old format.
fn cells(sheet: &[u8]) -> u64 {
    let (mut at, mut cells) = (0, 0);
    while let Some(&[kind, _, low, high]) = sheet.get(at..at + 4).and_then(|p| p.as_array()) {
        cells += u64::from(kind == 3 || kind == 4);
        at += 4 + usize::from(u16::from_le_bytes([low, high]));
    }
    cells
}

/// The sum of the offsets of a list of latencies.
fn offsets_kib(list: &[u8]) -> u64 {
    let text = String::from_utf8_lossy(list);
    text.lines().filter_map(|line| line.split_whitespace().next()?.parse::<u64>().ok()).sum()
}

fn theirs(place: &Place, iozone: &Path, line: &str) -> Said {
    let mut command = Command::new("timeout");
    command.arg("60").arg(iozone).args(line.split_whitespace()).current_dir(place.work());
    Said::of(command.output().expect("starts"))
}

#[test]
fn drawn_command_lines_do_what_iozone_does() {
    let iozone = tool("sh", &["-c", "command -v iozone"]);
    let iozone = or_skip!(iozone.map_err(|_| "iozone is not installed"));
    let asked = std::env::var("SSDYNO_IOZONE_CASES").ok().and_then(|n| n.parse().ok());
    let seed = std::env::var("SSDYNO_IOZONE_SEED").ok().and_then(|n| n.parse::<u64>().ok());
    let (cases, mut failed, mut differing) = (asked.unwrap_or(SUITE_CASES), 0, Vec::new());
    let first = seed.unwrap_or(0) << 32;
    for number in first..first + cases {
        let line = draw(number, asked.is_some());
        let (there, here) = (Place::new(), Place::new());
        let theirs = theirs(&there, Path::new(&iozone), &line);
        if theirs.out.contains("Error in file:") {
            // With -B, it sometimes reads back other bytes than it wrote.
            failed += 1;
            continue;
        }
        let expected = outcome(&theirs, &there);
        let words: Vec<&str> =
            ["iozone", "--legacy"].into_iter().chain(line.split_whitespace()).collect();
        let said = here.ssdyno(&words);
        let seen = outcome(&said, &here);
        if seen != expected {
            differing
                .push(format!("{line}\n  iozone {expected:?}\n  ssdyno {seen:?}\n{}", said.err));
        }
    }
    println!(
        "iozone-against: {cases} command lines, {} differ from iozone, which failed in {failed}",
        differing.len()
    );
    assert!(differing.is_empty(), "{} differ:\n{}", differing.len(), differing.join("\n"));
}
