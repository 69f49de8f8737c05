//! The screen of every method's run as text: at 60, 80 and 120 columns, and into a pipe. Review
//! every changed snapshot, because users will see the change.

use std::path::Path;

use super::runs::{Made, ssdyno};

/// The method whose screen depends on the machine: it shows the command's program and directory.
pub const OF_THE_MACHINE: &str = "command";

/// Compares the screens with the snapshots, and checks their width and length.
pub fn check(place: &Path, runs: &[Made]) {
    let mut wrong = Vec::new();
    for run in runs.iter().filter(|run| run.name != OF_THE_MACHINE) {
        for width in [Some(60), Some(80), Some(120), None] {
            let screen = screen(place, run, width);
            let name = width.map_or("pipe".to_string(), |width| width.to_string());
            // Here the heading is one line, however long it was.
            let widest = screen.lines().skip(1).map(|line| line.chars().count()).max().unwrap_or(0);
            if widest > width.unwrap_or(100) {
                wrong.push(format!("{} at {name}: a line of {widest}", run.name));
            }
            let lines = screen.lines().count();
            if lines > most_lines(width) {
                wrong.push(format!("{} at {name}: {lines} lines", run.name));
            }
            insta::assert_snapshot!(format!("{}-{name}", run.name), screen);
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

/// The maximum length of a screen, its second line of figures included; a narrow one is longer.
fn most_lines(width: Option<usize>) -> usize {
    match width {
        Some(60) => 44,
        Some(80) => 38,
        _ => 36,
    }
}

/// The screen without the time of the run, which differs between runs.
fn screen(place: &Path, run: &Made, width: Option<usize>) -> String {
    let number = run.number.to_string();
    let mut command = ssdyno(place);
    command.args(["show", &number]).env("LANG", "C.UTF-8").env_remove("COLUMNS");
    if let Some(width) = width {
        command.env("COLUMNS", width.to_string());
    }
    let output = command.output().expect("it starts");
    let screen = String::from_utf8(output.stdout).expect("UTF-8");
    let (first, rest) = screen.split_once("\ndrive ").expect("a heading and a drive");
    let (first, rest) = (first.replace('\n', " "), format!("drive {rest}"));
    let first = first
        .split_once(" simulated in ")
        .map_or(first.clone(), |(head, _)| format!("{head} simulated in SECONDS   DATE"));
    let rest = rest
        .replace(&format!("run {number} "), "run N ")
        .replace(&format!("show {number} "), "show N ");
    format!("{}\n{rest}", first.replace(&format!("run {number} "), "run N "))
}
