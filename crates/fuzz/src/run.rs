//! Fuzzes one target for a given time: `cargo xtask fuzz NAME [--time 10m] [--seed N]`.
//!
//! A child process does the work and writes each mutated input to a file before trying it. If the
//! child dies (panic, stack or memory exhausted, hang), the input that killed it remains in
//! `target/fuzz/NAME/current`. The examples are tried first and not written: if one of them kills
//! the child, that file is empty.

use std::collections::HashSet;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit};

use crate::{Mutator, Target};

/// An input that takes longer counts as a hang. Parsers need microseconds; the machine may be busy.
const HANG: Duration = Duration::from_secs(5);
/// Memory limit of the child, bytes: far more than a parser needs for 16 KiB of input.
const MEMORY: u64 = 2 << 30;

/// The program in a room's `examples/fuzz-ROOM.rs`: `NAME [--time 10m] [--seed N]`, or `--names` to
/// list its targets, one per line.
///
/// # Panics
/// In the child process, if its file cannot be written.
pub fn main(targets: &[Target]) -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let value = |name: &str| {
        let at = words.iter().position(|word| word == name)?;
        words.get(at + 1).map(String::as_str)
    };
    if words.iter().any(|word| word == "--names") {
        targets.iter().for_each(|target| println!("{}", target.name));
        return ExitCode::SUCCESS;
    }
    let target = words.first().and_then(|name| targets.iter().find(|target| target.name == name));
    let time = value("--time").map_or(Some(60), seconds);
    let (Some(target), Some(time)) = (target, time) else {
        let names: Vec<_> = targets.iter().map(|target| target.name).collect();
        eprintln!("usage: NAME [--time 10m] [--seed N]; names: {}", names.join(", "));
        return ExitCode::from(2);
    };
    let seed = value("--seed").and_then(|seed| seed.parse().ok()).unwrap_or(1);
    if words.iter().any(|word| word == "--child") {
        fuzz(target, seed, Duration::from_secs(time));
        return ExitCode::SUCCESS;
    }
    parent(target, seed, time)
}

/// Parses `90`, `90s`, `10m` or `1h` as seconds.
fn seconds(text: &str) -> Option<u64> {
    let number = text.trim_end_matches(['s', 'm', 'h']).parse::<u64>().ok()?;
    Some(match text.chars().last() {
        Some('m') => number * 60,
        Some('h') => number * 3600,
        _ => number,
    })
}

fn current(target: &Target) -> PathBuf {
    let root = std::env::var_os("CARGO_TARGET_DIR").map_or("target".into(), PathBuf::from);
    root.join("fuzz").join(target.name).join("current")
}

fn parent(target: &Target, seed: u64, time: u64) -> ExitCode {
    let run = || -> std::io::Result<bool> {
        let mut child = Command::new(std::env::current_exe()?);
        child.args([target.name, "--time", &time.to_string(), "--seed", &seed.to_string()]);
        Ok(child.arg("--child").status()?.success())
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

fn fuzz(target: &Target, seed: u64, time: Duration) {
    let limit = Rlimit { current: Some(MEMORY), maximum: Some(MEMORY) };
    rustix::process::setrlimit(Resource::As, limit).expect("a memory limit");
    let path = current(target);
    fs::create_dir_all(path.parent().expect("a directory")).expect("a directory for the input");
    let file = File::create(&path).expect("a file for the input");
    static TRIED: AtomicU64 = AtomicU64::new(0);
    std::thread::spawn(|| watch(&TRIED));
    let mut mutator = Mutator::new(target, seed);
    let mut seen = HashSet::new();
    for example in target.corpus {
        seen.insert((target.run)(example.as_bytes()));
    }
    let began = Instant::now();
    while began.elapsed() < time {
        let input = mutator.next_input();
        file.write_all_at(&input, 0)
            .and_then(|()| file.set_len(input.len() as u64))
            .expect("written");
        TRIED.fetch_add(1, Ordering::Relaxed);
        if seen.insert((target.run)(&input)) {
            mutator.keep(&input);
        }
    }
    let tried = TRIED.load(Ordering::Relaxed);
    println!(
        "fuzz {}: {tried} inputs in {} s, seed {seed}, {} kinds of result, no crash",
        target.name,
        began.elapsed().as_secs(),
        seen.len()
    );
    let _ = fs::remove_file(path);
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
