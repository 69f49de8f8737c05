//! Fuzzes one target for a given time: `cargo xtask fuzz NAME [--time 10m] [--seed N] [--seeds DIR]`.
//! `--seeds` adds the files of a directory to the examples.
//!
//! A child process does the work and writes each input, the corpus first, to a file before trying
//! it. If the child dies (panic, stack or memory exhausted, hang), the input that killed it remains
//! in `target/fuzz/NAME/current`.

use std::collections::HashSet;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit};

use crate::{FuzzTarget, Mutator};

/// An input that takes longer counts as a hang. Parsers need microseconds; the machine may be busy.
const HANG: Duration = Duration::from_secs(5);
/// Memory limit of the child, bytes: far more than a parser needs for 16 KiB of input.
const MEMORY: u64 = 2 << 30;

/// The `main` function of a fuzzer (`lab/examples/fuzz.rs`). Arguments:
/// `NAME [--time 10m] [--seed N] [--seeds DIR]`, or `--names` to list the targets, one per line.
///
/// # Panics
/// In the child process, if the parser panics, the memory limit cannot be set, or the file for the
/// input cannot be written.
pub fn main(targets: &[FuzzTarget]) -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.iter().any(|word| word == "--names") {
        targets.iter().for_each(|target| println!("{}", target.name));
        return ExitCode::SUCCESS;
    }
    let Some(options) = parse(&words, targets) else {
        let names: Vec<_> = targets.iter().map(|target| target.name).collect();
        eprintln!("usage: NAME [--time 10m] [--seed N] [--seeds DIR]; names: {}", names.join(", "));
        return ExitCode::from(2);
    };
    if options.child {
        fuzz(&options);
        return ExitCode::SUCCESS;
    }
    parent(options.target, &words)
}

/// A parsed command line.
struct Wanted<'a> {
    target: &'a FuzzTarget,
    /// Seconds.
    time: u64,
    seed: u64,
    /// Directory of further examples.
    seeds: Option<PathBuf>,
    /// Whether this is the process that does the work.
    child: bool,
}

/// Parses a command line; `None` if any word of it is not understood.
fn parse<'a>(words: &[String], targets: &'a [FuzzTarget]) -> Option<Wanted<'a>> {
    let (name, options) = words.split_first()?;
    let target = targets.iter().find(|target| target.name == name)?;
    let mut run_options = Wanted { target, time: 60, seed: 1, seeds: None, child: false };
    let mut options = options.iter();
    while let Some(option) = options.next() {
        match option.as_str() {
            "--time" => run_options.time = seconds(options.next()?)?,
            "--seed" => run_options.seed = options.next()?.parse().ok()?,
            "--seeds" => run_options.seeds = Some(options.next()?.into()),
            "--child" => run_options.child = true,
            _ => return None,
        }
    }
    Some(run_options)
}

/// Parses `90`, `90s`, `10m` or `1h` as seconds.
fn seconds(text: &str) -> Option<u64> {
    let units = [("s", 1), ("m", 60), ("h", 3600)];
    let unit = units.iter().find_map(|(unit, each)| Some((text.strip_suffix(unit)?, *each)));
    let (number, unit_seconds) = unit.unwrap_or((text, 1));
    number.parse::<u64>().ok()?.checked_mul(unit_seconds)
}

fn current(target: &FuzzTarget) -> PathBuf {
    let root = std::env::var_os("CARGO_TARGET_DIR").map_or("target".into(), PathBuf::from);
    root.join("fuzz").join(target.name).join("current")
}

fn parent(target: &FuzzTarget, words: &[String]) -> ExitCode {
    let run = || -> std::io::Result<bool> {
        let mut child = Command::new(std::env::current_exe()?);
        Ok(child.args(words).arg("--child").status()?.success())
    };
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => {
            eprintln!(
                "fuzz {}: FAILED, the input is in {}",
                target.name,
                current(target).display()
            );
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("fuzz {}: {error}", target.name);
            ExitCode::FAILURE
        }
    }
}

fn fuzz(wanted: &Wanted<'_>) {
    let (target, seed, time) = (wanted.target, wanted.seed, Duration::from_secs(wanted.time));
    let limit = Rlimit { current: Some(MEMORY), maximum: Some(MEMORY) };
    rustix::process::setrlimit(Resource::As, limit).expect("a memory limit");
    let path = current(target);
    fs::create_dir_all(path.parent().expect("a directory")).expect("a directory for the input");
    let file = File::create(&path).expect("a file for the input");
    static TRIED: AtomicU64 = AtomicU64::new(0);
    std::thread::spawn(|| watch(&TRIED));
    let mut mutator = Mutator::new(target, seed);
    let mut outcomes = HashSet::new();
    for example in target.corpus {
        TRIED.fetch_add(1, Ordering::Relaxed);
        outcomes.insert(attempt(target, &file, example.as_bytes()));
    }
    for input in wanted.seeds.iter().flat_map(|directory| files(directory)) {
        TRIED.fetch_add(1, Ordering::Relaxed);
        if outcomes.insert(attempt(target, &file, &input)) {
            mutator.keep(&input);
        }
    }
    let start = Instant::now();
    while start.elapsed() < time {
        let input = mutator.next_input();
        TRIED.fetch_add(1, Ordering::Relaxed);
        if outcomes.insert(attempt(target, &file, &input)) {
            mutator.keep(&input);
        }
    }
    let inputs = TRIED.load(Ordering::Relaxed);
    println!(
        "fuzz {}: {inputs} inputs in {} s, seed {seed}, {} kinds of result, no crash",
        target.name,
        start.elapsed().as_secs(),
        outcomes.len()
    );
    let _ = fs::remove_file(path);
}

/// The contents of the files in a directory, by name.
///
/// # Panics
/// If the directory or one of its files cannot be read.
fn files(directory: &Path) -> Vec<Vec<u8>> {
    let entries = fs::read_dir(directory).expect("a directory of examples");
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).expect("an example")).collect()
}

/// Writes an input to the file, then tries it. Returns the number of its result.
fn attempt(target: &FuzzTarget, file: &File, input: &[u8]) -> u64 {
    file.write_all_at(input, 0).and_then(|()| file.set_len(input.len() as u64)).expect("written");
    (target.run)(input)
}

/// Aborts the process if one input takes too long.
fn watch(tried: &AtomicU64) {
    let mut last = (tried.load(Ordering::Relaxed), Instant::now());
    loop {
        std::thread::sleep(Duration::from_millis(100));
        let now = tried.load(Ordering::Relaxed);
        if now != last.0 {
            last = (now, Instant::now());
        } else if last.1.elapsed() > HANG {
            eprintln!("fuzz: an input took longer than {} s", HANG.as_secs());
            std::process::abort();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TARGET: FuzzTarget =
        FuzzTarget { name: "size", run: |input| input.len() as u64, corpus: &[] };

    #[test]
    fn every_word_must_be_understood() {
        let parsed = |line: &str| {
            let words: Vec<String> = line.split(' ').map(String::from).collect();
            parse(&words, &[TARGET]).map(|wanted| (wanted.time, wanted.seed, wanted.child))
        };
        assert_eq!(parsed("size"), Some((60, 1, false)));
        assert_eq!(parsed("size --time 10m --seed 12 --child"), Some((600, 12, true)));
        assert_eq!(parsed("size --time 2h"), Some((7200, 1, false)));
        assert_eq!(parsed("size --seeds d --time 1s"), Some((1, 1, false)));
        for wrong in [
            "other",
            "size --seed 12x",
            "size --time",
            "size --time 10ms",
            "size --tim 9",
            "size --seeds",
            "size 9",
        ] {
            assert_eq!(parsed(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_file_has_the_input_that_is_tried() {
        let path = std::env::temp_dir().join(format!("ssdyno-fuzz-{}", std::process::id()));
        let file = File::create(&path).expect("created");
        let tried = [&b"a long input"[..], b"short"].map(|input| {
            let result = attempt(&TARGET, &file, input);
            (result, fs::read(&path).expect("read") == input)
        });
        fs::remove_file(&path).expect("removed");
        assert_eq!(tried, [(12, true), (5, true)]);
    }
}
