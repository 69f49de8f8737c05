//! Parses an iozone command line.
//!
//! As in getopt, letters without a value may be joined (`-eo`, `-az`), and a value may follow its
//! letter directly (`-s100M`, `-i0`) or as the next word.

use methods::{Iozone, IozoneLatencies as Latencies};

use super::letters::{HELP, REFUSED, REFUSED_VALUES, VERSION};
use super::size::parse as size;
use super::sweep::Sizes;
use super::{IozoneCommand, IozoneError, ResultUnit};

/// Maximum number of processes, operations in flight, and records of a stride.
const PROCESSES_MAX: u32 = 256;
const DEPTH_MAX: u32 = 1024;
const STRIDE_MAX: u32 = 1 << 20;

type Result<T> = std::result::Result<T, IozoneError>;

/// The result of parsing.
#[derive(Clone, Debug)]
pub enum IozoneRequest {
    /// Run this.
    Run(Box<IozoneCommand>),
    /// Print this help text instead.
    Answer(&'static str),
    /// Print this version instead.
    Version(&'static str),
}

/// Parses a command line, without the program's name.
pub fn parse(words: &[String]) -> Result<IozoneRequest> {
    let mut draft = Draft::default();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) else {
            let error = IozoneError::new(format!("'{word}' is not an option of iozone"));
            return Err(error.advise("give the file with -f"));
        };
        if let Some(plus) = letters.strip_prefix('+') {
            draft.plus(plus)?;
            continue;
        }
        let mut letters = letters.chars();
        while let Some(letter) = letters.next() {
            if letter == 'h' || letter == '?' {
                return Ok(IozoneRequest::Answer(HELP));
            }
            if letter == 'v' {
                return Ok(IozoneRequest::Version(VERSION));
            }
            if !takes_value(letter) {
                draft.letter(letter)?;
                continue;
            }
            let tail = letters.as_str();
            let value = if tail.is_empty() { rest.next().map(String::as_str) } else { Some(tail) };
            let value =
                value.ok_or_else(|| IozoneError::new(format!("-{letter} needs a value")))?;
            draft.value(letter, value)?;
            if letter == 'F' {
                // A file for each process; only their directory matters.
                let names = rest.as_slice().iter().take_while(|word| !word.starts_with('-'));
                let count = names.count();
                rest.by_ref().take(count).for_each(drop);
            }
            break;
        }
    }
    Ok(IozoneRequest::Run(Box::new(draft.finish(words)?)))
}

pub(super) fn takes_value(letter: char) -> bool {
    "srifngyqjbSLtluFUHk".contains(letter) || REFUSED_VALUES.iter().any(|r| r.0 == letter)
}

#[derive(Default)]
struct Draft {
    sizes: Sizes,
    tests: Vec<u32>,
    flush: bool,
    close: bool,
    sync: bool,
    direct: bool,
    once: bool,
    stride: Option<u64>,
    depth: Option<u32>,
    drops: bool,
    processes: [Option<u32>; 2],
    threads: bool,
    unit: ResultUnit,
    keep: bool,
    mapped: bool,
    latencies: bool,
    file: Option<String>,
    excel: bool,
    sheet: Option<String>,
    lines: Vec<String>,
    notes: Vec<String>,
}

impl Draft {
    /// A letter without a value.
    fn letter(&mut self, letter: char) -> Result<()> {
        let line = match letter {
            'a' => {
                self.sizes.auto = true;
                "Auto Mode"
            }
            'A' => {
                (self.sizes.auto, self.sizes.all) = (true, true);
                self.tests.extend([0, 1]);
                "Auto Mode 2"
            }
            'z' => {
                self.sizes.all = true;
                "Cross over of record size disabled."
            }
            'e' => {
                self.flush = true;
                "Include fsync in write timing"
            }
            'c' => {
                self.close = true;
                "Include close in write timing"
            }
            'o' => {
                self.sync = true;
                "SYNC Mode. "
            }
            'I' => {
                self.direct = true;
                "O_DIRECT feature enabled"
            }
            'B' => {
                self.mapped = true;
                "Using mmap files"
            }
            'R' => {
                self.excel = true;
                "Excel chart generation enabled"
            }
            'w' => {
                self.keep = true;
                "Setting no_unlink"
            }
            'O' => {
                self.unit = ResultUnit::Operations;
                "OPS Mode. Output is in operations per second."
            }
            'N' => {
                self.unit = ResultUnit::Microseconds;
                "Microseconds/op Mode. Output is in microseconds per operation."
            }
            'Q' => {
                self.latencies = true;
                "Offset/latency files enabled."
            }
            'T' => {
                self.threads = true;
                return Ok(());
            }
            'x' => "Stonewall disabled",
            'p' => {
                return self.note(
                    "-p: the processor's cache is not purged, because each record is new to it",
                );
            }
            'C' | 'M' => return self.note(&format!("-{letter} has no effect")),
            _ => return Err(refused(letter, REFUSED)),
        };
        self.line(line);
        Ok(())
    }

    fn value(&mut self, letter: char, value: &str) -> Result<()> {
        let option = format!("-{letter}");
        let kib = |line: &str, lines: &mut Vec<String>| -> Result<u64> {
            let bytes = size(&option, value)?;
            lines.push(line.replace("{}", &(bytes >> 10).to_string()));
            Ok(bytes)
        };
        let lines = &mut self.lines;
        match letter {
            's' => self.sizes.files.push(kib("File size set to {} kB", lines)?),
            'r' => self.sizes.records.push(kib("Record Size {} kB", lines)?),
            'n' => {
                let min = kib("Using minimum file size of {} kilobytes.", lines)?;
                self.sizes.file_range[0] = Some(min);
            }
            'g' => {
                let max = kib("Using maximum file size of {} kilobytes.", lines)?;
                self.sizes.file_range[1] = Some(max);
            }
            'y' => {
                self.sizes.record_range[0] = Some(kib("Using Minimum Record Size {} kB", lines)?)
            }
            'q' => {
                self.sizes.record_range[1] = Some(kib("Using Maximum Record Size {} kB", lines)?)
            }
            'i' => self.test(value)?,
            'j' => {
                self.stride = Some(u64::from(number(&option, value, STRIDE_MAX)?));
            }
            'f' => self.file = Some(value.to_string()),
            'F' => self.file = self.file.take().or(Some(value.to_string())),
            'b' => self.sheet = Some(value.to_string()),
            't' => self.processes = [Some(number(&option, value, PROCESSES_MAX)?); 2],
            'l' => self.processes[0] = Some(number(&option, value, PROCESSES_MAX)?),
            'u' => self.processes[1] = Some(number(&option, value, PROCESSES_MAX)?),
            'H' | 'k' => self.asynchronous(letter, number(&option, value, DEPTH_MAX)?),
            'U' => {
                self.drops = true;
                return self.note(
                    "-U: nothing is unmounted; the page cache is dropped before every test instead",
                );
            }
            'S' | 'L' => {
                size(&option, value)?;
                return self
                    .note(&format!("{option}: no effect, the processor's cache is not involved"));
            }
            _ => return Err(refused(letter, REFUSED_VALUES)),
        }
        Ok(())
    }

    fn asynchronous(&mut self, letter: char, depth: u32) {
        self.depth = Some(depth);
        let copies = if letter == 'H' { "with" } else { "no" };
        self.lines.push(format!("POSIX async I/O ({copies} bcopy). Depth {depth} "));
    }

    fn test(&mut self, value: &str) -> Result<()> {
        match value.parse::<u32>() {
            Ok(test @ 0..=7) => self.tests.push(test),
            Ok(test @ 8..=12) => {
                let error = IozoneError::new(format!(
                    "-i {test} is not supported: it needs threads or \
                    other calls"
                ));
                return Err(error.advise("-i 0 to -i 7; mixes: ssdyno io DIR --rw randrw --jobs N"));
            }
            _ => {
                return Err(IozoneError::new(format!(
                    "-i takes a test from 0 to 7, not '{value}'"
                )));
            }
        }
        Ok(())
    }

    /// An option after `-+`.
    fn plus(&mut self, option: &str) -> Result<()> {
        if option == "n" {
            self.once = true;
            self.line("No retest option selected");
            return Ok(());
        }
        let error = IozoneError::new(format!("-+{option} is not supported"));
        Err(error.advise("ssdyno iozone -h lists the supported options; ssdyno fio has more"))
    }

    /// The numbers of processes to run; empty for the table.
    fn processes(&mut self) -> Result<Vec<u32>> {
        let (min, max) = match self.processes {
            [None, None] => return Ok(Vec::new()),
            [min, max] => (min.unwrap_or(1), max.or(min).unwrap_or(1)),
        };
        if min > max {
            return Err(IozoneError::new(format!("-l {min} is more than -u {max}")));
        }
        let sizes = &self.sizes;
        if sizes.auto || sizes.files.len() > 1 || sizes.records.len() > 1 {
            let text = "-t, -l and -u take one file size and one record size, as in iozone";
            return Err(IozoneError::new(text).advise("one -s and one -r, without -a"));
        }
        if self.unit == ResultUnit::Microseconds {
            let error =
                IozoneError::new("-N is not supported with several processes, as in iozone");
            return Err(error.advise("-O, or neither"));
        }
        if self.tests.contains(&4) && self.tests.len() == 1 {
            return Err(IozoneError::new("-i 4 is not a test for several processes"));
        }
        Ok((min..=max).collect())
    }

    fn line(&mut self, line: &str) {
        self.lines.push(line.to_string());
    }

    fn note(&mut self, note: &str) -> Result<()> {
        self.notes.push(note.to_string());
        Ok(())
    }

    fn finish(mut self, words: &[String]) -> Result<IozoneCommand> {
        self.tests.sort_unstable();
        self.tests.dedup();
        if self.tests.is_empty() {
            self.tests.extend(0..=7);
        }
        if self.close {
            self.note("-c: the scratch file stays open, because closing it writes nothing")?;
        }
        let (processes, tests) = (self.processes()?, self.tests.clone());
        if self.depth.is_some() || self.mapped {
            self.tests.retain(|test| *test <= 5);
        }
        if !self.tests.contains(&0) {
            self.note("without -i 0, the file is first written once, untimed")?;
        }
        let (rows, records) = (self.sizes.rows()?, self.sizes.records()?);
        Ok(IozoneCommand {
            run: Iozone {
                rows,
                tests: self.tests,
                flush: self.flush,
                sync: self.sync,
                direct: self.direct,
                once: self.once,
                stride: self.stride.unwrap_or(17),
                depth: self.depth.unwrap_or(1),
                drops: self.drops,
                processes,
                honest: true,
            },
            asked: tests,
            records,
            unit: self.unit,
            threads: self.threads,
            keep: self.keep,
            mapped: self.mapped,
            latencies: self.latencies.then(Latencies::default),
            file: self.file,
            excel: self.excel,
            sheet: self.sheet,
            lines: self.lines,
            notes: self.notes,
            typed: words.join(" "),
        })
    }
}

fn number(option: &str, value: &str, most: u32) -> Result<u32> {
    let number = value.parse().ok().filter(|n| (1..=most).contains(n));
    number.ok_or_else(|| {
        IozoneError::new(format!("{option} takes a number from 1 to {most}, not '{value}'"))
    })
}

fn refused(letter: char, table: &[(char, &str, &str)]) -> IozoneError {
    match table.iter().find(|r| r.0 == letter) {
        Some((_, what, instead)) => {
            IozoneError::new(format!("-{letter} ({what}) is not supported")).advise(instead)
        }
        None => IozoneError::new(format!("iozone has no option -{letter}"))
            .advise("ssdyno iozone -h lists the supported options"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use methods::IozoneRow;
    use proptest::prelude::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(String::from).collect()
    }

    fn run(line: &str) -> IozoneCommand {
        match parse(&words(line)) {
            Ok(IozoneRequest::Run(command)) => *command,
            other => panic!("{line}: {other:?}"),
        }
    }

    fn error(line: &str) -> IozoneError {
        parse(&words(line)).expect_err(line)
    }

    #[test]
    fn the_command_line_of_document_002() {
        let command = run("-f /data/iozone.tst -e -o -a -s 100M -r 4k -i 0 -i 1 -i 2");
        let expected = Iozone { honest: true, ..Iozone::default() };
        assert_eq!(command.run, expected);
        assert_eq!(command.file.as_deref(), Some("/data/iozone.tst"));
        let lines = [
            "Include fsync in write timing",
            "SYNC Mode. ",
            "Auto Mode",
            "File size set to 102400 kB",
            "Record Size 4 kB",
        ];
        assert_eq!(command.lines, lines);
        assert_eq!(command.notes, [""; 0]);
    }

    #[test]
    fn letters_and_values_may_be_joined() {
        let apart = run("-a -e -o -s 100M -r 4k -i 0 -i 1 -R -b x.csv");
        let joined = run("-aeo -s100M -r4k -i0 -i1 -Rb x.csv");
        assert_eq!((&apart.run, apart.excel), (&joined.run, joined.excel));
        assert_eq!(joined.sheet.as_deref(), Some("x.csv"));
        assert_eq!(run("-azi0 -i1 -g4m").run.tests, [0, 1]);
        assert!(run("-s 1m -+n").run.once);
        assert!(run("-s 1m -azB").mapped);
        let several = run("-r 4k -r 8k -s 16k -s 1m -i 5 -j 3 -I");
        assert_eq!((several.run.rows.len(), several.run.stride, several.run.direct), (4, 3, true));
        assert_eq!(run("").run.tests, [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(run("").run.rows, [IozoneRow { file_bytes: 512 << 10, record_bytes: 4096 }]);
        assert!(
            matches!(parse(&words("-h")), Ok(IozoneRequest::Answer(text)) if text.contains("-i N"))
        );
    }

    #[test]
    fn unsupported_options_are_named_with_an_alternative() {
        for (line, what) in [
            ("-d 4", "-d (delays between threads) is not supported"),
            ("-K", "-K (jitter) is not supported"),
            ("-i 8", "-i 8 is not supported"),
            ("-+m hosts", "-+m is not supported"),
            ("-%", "iozone has no option -%"),
        ] {
            let error = error(line);
            assert!(error.what.starts_with(what), "{line}: {error}");
            assert!(error.advice.is_some(), "{line}");
        }
        for (line, what) in [
            ("-s", "-s needs a value"),
            ("-s 4x", "-s takes a size"),
            ("-i nine", "-i takes a test"),
            ("-j 0", "-j takes a number"),
            ("-t 0", "-t takes a number from 1"),
            ("-l 4 -u 2", "-l 4 is more than -u 2"),
            ("-t 2 -N", "-N is not supported with several"),
            ("-t 2 -s 64 -s 128", "-t, -l and -u take one file size"),
            ("-u 2 -a", "-t, -l and -u take one file size"),
            ("file", "'file' is not an option"),
            ("-", "'-' is not an option"),
            ("-s 1k -r 4k", "no record fits"),
            ("-a -n 4m -g 1m", "-n and -g: nothing"),
        ] {
            assert!(error(line).what.starts_with(what), "{line}: {}", error(line));
        }
    }

    #[test]
    fn different_interpretations_are_noted() {
        assert_eq!(run("-U /mnt -p -c -i 1").notes.len(), 4);
    }

    #[test]
    fn several_processes_and_operations_in_flight() {
        let command = run("-t 3 -T -F a b c -s 1m -H 8 -w -O");
        assert_eq!((&command.run.processes[..], command.run.depth), (&[3][..], 8));
        assert!(command.threads && command.keep && command.unit == ResultUnit::Operations);
        assert_eq!((command.file.as_deref(), command.run.tests.last()), (Some("a"), Some(&5)));
        assert_eq!(run("-l 2 -u 4").run.processes, [2, 3, 4]);
        assert_eq!(run("-u 2").run.processes, [1, 2]);
    }

    proptest! {
        #[test]
        fn any_words_are_a_run_or_an_error(words: Vec<String>) {
            let _ = parse(&words);
        }

        #[test]
        fn likely_words_too(line in "(-[aeocIzRsrifngyqjbSLtBxwluOHkU+]{1,3} ?[0-9kmg]{0,4} ){0,8}") {
            if let Ok(IozoneRequest::Run(command)) = parse(&words(&line)) {
                prop_assert!(!command.run.rows.is_empty() && !command.run.tests.is_empty());
                for row in &command.run.rows {
                    prop_assert!(row.file_bytes >= u64::from(row.record_bytes));
                }
            }
        }
    }
}
