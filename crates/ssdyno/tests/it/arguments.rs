//! Wrong arguments, as typed by people and scripts: every command answers with one line and the
//! right exit code, and never panics. Also several targets and methods in one command.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use crate::command_line;
use crate::common::{Place, Said};

/// Invalid UTF-8, huge and empty arguments, dashes, escapes, numbers out of range, unknown names.
fn hostile() -> Vec<OsString> {
    let bytes =
        [&b"\xff\xfe"[..], b"sim:\xff", b"\x1b[2J"].map(|b| OsStr::from_bytes(b).to_owned());
    let huge = ["a".repeat(100_000), format!("sim:{}", "b?".repeat(20_000))].map(OsString::from);
    let words =
        ["", "--", "-", "sim:", "sim:sd-150x?capacity=", "pub:", "-1", "99999999999999999999"];
    let others =
        ["--size=99999999999999999999EiB", "--time=-1s", "--seed=x", "--store=/proc/x/y", "a\nb"];
    let words = words.into_iter().chain(others).map(OsString::from);
    bytes.into_iter().chain(huge).chain(words).collect()
}

#[test]
fn every_command_refuses_hostile_arguments_in_one_line() {
    let place = Place::new();
    let commands = command_line::subcommands(&place, &[]);
    assert!(commands.len() > 15, "{commands:?}");
    for command in &commands {
        for word in hostile() {
            // `man` creates the directory it is given.
            let twice = command != "man";
            for words in [vec![word.clone()], vec![word.clone(), word.clone()]]
                .into_iter()
                .take(1 + usize::from(twice))
            {
                let output = command_line::start(&place, &[command], &words);
                command_line::check(&[command], &words, &output);
            }
        }
    }
}

/// `cargo xtask readme` records them again.
#[test]
fn the_program_gives_the_answers_in_the_readme() {
    let readme = include_str!("../../../../README.md");
    let table =
        readme.split("<!-- answers").nth(1).and_then(|rest| rest.split("<!-- /answers").next());
    let mut answers = 0;
    for line in table.expect("a table").lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, _, command, answer, _] = cells[..] else { continue };
        let Some(words) = command.strip_prefix("`ssdyno ").and_then(|c| c.strip_suffix('`')) else {
            continue;
        };
        let place = Place::new();
        let words = words.split(' ').map(|word| word.trim_matches('\''));
        let words: Vec<&str> = words.chain(["--seed", "1", "--json", "--quiet"]).collect();
        let record = place.ssdyno(&words).json();
        assert_eq!(record["answer"]["headline"], answer, "{command}");
        answers += 1;
    }
    assert_eq!(answers, 10);
}

/// The example is the output of its command, except for the times and the line with the page.
#[test]
fn the_program_prints_the_example_in_the_readme() {
    let readme = include_str!("../../../../README.md");
    let section = readme.split("## Example").nth(1).expect("a section");
    let example = section.split("```\n").nth(1).expect("a block");
    let place = Place::new();
    let run = ["run", "sim:samsung-980-pro-1t", "--seed", "1", "--quiet"];
    let said = place.ssdyno(&run).good().out;
    let masked = |text: &str| -> Vec<String> {
        let lines = text.trim_end().lines().filter(|line| !line.starts_with("page "));
        let time = |line: &str| line.split(" simulated in ").next().unwrap_or(line).to_string();
        lines.map(time).collect()
    };
    assert_eq!(masked(&said), masked(example));
}

fn records(said: &Said) -> Vec<(String, String)> {
    let line = |line: &str| {
        let record: serde_json::Value = serde_json::from_str(line).expect("a record");
        let text = |key: &str| record[key].as_str().unwrap_or_default().to_string();
        (text("method"), record["target"]["spec"].as_str().unwrap_or_default().to_string())
    };
    said.out.lines().map(line).collect()
}

#[test]
fn several_targets_are_measured_in_turns_by_several_methods() {
    let place = Place::new();
    let (a, b) = ("sim:sd-150x?capacity=256MiB", "sim:sd-class2?capacity=256MiB");
    let run = ["run", a, b, "-m", "align,zones", "--json", "--quiet"];
    let records = records(&place.ssdyno(&run).good());
    let expected = [("align", a), ("align", b), ("zones", a), ("zones", b)];
    assert_eq!(records, expected.map(|(m, t)| (m.to_string(), t.to_string())));
    assert_eq!(place.runs().len(), 4);
    place.ssdyno(&["run", a, b, "--destroy=1"]).refuses(2, "--destroy is for one drive");
    place.ssdyno(&["run", a, b, "--html=x.html"]).refuses(2, "is for one run");
    place.ssdyno(&["run", a, "-m", "align,zones", "--html=x.html"]).refuses(2, "is for one run");
}

#[test]
fn options_that_imply_others_do_not_require_them() {
    let place = Place::new();
    let events =
        place.ssdyno(&["run", "sim:sd-150x?capacity=256MiB", "-m", "align", "--events"]).good();
    let lines: Vec<serde_json::Value> =
        events.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines.last().expect("a record")["method"], "align");
    assert!(lines.len() > 5, "{}", lines.len());
    let page = place.path("no/such/x.html");
    let page = format!("--html={}", page.display());
    place.ssdyno(&["show", "1", &page]).refuses(4, "cannot write");
    assert!(!place.path("no").exists(), "the directory of a misspelt path was created");
}

#[test]
fn the_shell_completes_methods_virtual_drives_and_records() {
    let place = Place::new();
    let complete = |words: &[&str]| command_line::completed(&place, words);
    assert_eq!(complete(&["run", "-m", "susta"]), ["sustain"]);
    assert_eq!(complete(&["run", "-m", "quick,susta"]), ["quick,sustain"]);
    assert_eq!(complete(&["run", "sim:sd-class2-"]), ["sim:sd-class2-late"]);
    assert_eq!(complete(&["run", "can"]), ["canary"]);
    assert_eq!(complete(&["methods", "snia-h"]), ["snia-hir"]);
    place.io("sim:sd-150x --size 1MiB --ops 1");
    assert_eq!(complete(&["show", ""])[..2], ["1", "last"]);
}

#[test]
fn first_screens_fit_80_columns_and_40_lines() {
    let place = Place::new();
    let target = "sim:sd-150x?capacity=128MiB&vary=0&wear=0.25&host=open-firmware-usb";
    place.ssdyno(&["io", target, "--ops", "9", "--quiet"]).good();
    for words in ["--help", "methods", "drives", "list .", "doctor", "runs"] {
        let mut command = place.command(&words.split(' ').collect::<Vec<_>>());
        let output = command.env("COLUMNS", "80").output().expect("starts");
        let screen = Said::of(output).out;
        let widest = screen.lines().max_by_key(|line| line.chars().count()).unwrap_or_default();
        assert!(widest.chars().count() <= 80, "{words}: {widest}");
        assert!(screen.lines().count() < 40, "{words}: {screen}");
    }
    let mut command = place.command(&["runs"]);
    let runs = Said::of(command.env("COLUMNS", "80").output().expect("starts")).out;
    assert!(runs.contains(target) && runs.contains("IOPS"), "{runs}");
}
