//! `cargo run -p compat --example import-against -- DIR SEED`: reads every file of a directory, the
//! outputs of real tools, whole and disturbed, and compares the figures. Prints the counts as a row
//! of Markdown, then what is wrong; fails if anything is. Used by `cargo xtask bench
//! import-against`, which runs the tools.

#[path = "../tests/it/paste/check.rs"]
mod check;
#[path = "../tests/it/paste/disturb.rs"]
mod disturb;

use std::process::ExitCode;

/// The most failures printed.
const SHOWN: usize = 20;

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let (Some(dir), Some(seed)) = (words.next(), words.next().and_then(|s| s.parse::<u64>().ok()))
    else {
        eprintln!("usage: import-against DIR SEED");
        return ExitCode::from(2);
    };
    let Ok(entries) = std::fs::read_dir(&dir) else {
        eprintln!("{dir} cannot be read");
        return ExitCode::from(2);
    };
    let mut files: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "txt"));
    files.sort();
    let mut tallies = std::collections::BTreeMap::<String, check::Tally>::new();
    for (i, file) in files.iter().enumerate() {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let tool = name.split('-').next().unwrap_or(&name).to_string();
        let bytes = std::fs::read(file).unwrap_or_default();
        tallies.entry(tool).or_default().check(&name, &bytes, seed.wrapping_add(i as u64));
    }
    println!("| tool | outputs | read | disturbed | refused | formats compared | wrong | empty |");
    println!("|---|---|---|---|---|---|---|---|");
    for (tool, t) in &tallies {
        println!(
            "| {tool} | {} | {} | {} | {} | {} | {} | {} |",
            t.outputs,
            t.read,
            t.disturbed,
            t.refused,
            t.compared,
            t.wrong.len(),
            t.empty.len()
        );
    }
    let mut refused = std::collections::BTreeMap::<&str, usize>::new();
    for (what, count) in tallies.values().flat_map(|tally| &tally.refused_by) {
        *refused.entry(what).or_default() += count;
    }
    let refused: Vec<_> = refused.iter().map(|(what, count)| format!("{what} {count}")).collect();
    println!("\nRefused by disturbance: {}", refused.join(", "));
    let of = |list: fn(&check::Tally) -> &Vec<String>| tallies.values().flat_map(list);
    for line in of(|t| &t.wrong).chain(of(|t| &t.empty)).take(SHOWN) {
        eprintln!("{line}");
    }
    if std::env::var_os("SSDYNO_REASONS").is_some() {
        of(|t| &t.reasons).for_each(|line| eprintln!("refused: {line}"));
    }
    let sum = |count: fn(&check::Tally) -> usize| tallies.values().map(count).sum::<usize>();
    let is_met = of(|t| &t.wrong).next().is_none()
        && of(|t| &t.empty).next().is_none()
        && sum(|t| t.read) * 10 >= sum(|t| t.outputs) * 9;
    if is_met { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
