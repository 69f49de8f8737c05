//! Protocols: steps from a file, questions, and resuming on another machine from the records.

use std::fs;

use crate::common::Place;

const STEPS: &str = r#"
name = "two-sides"
title = "The same reads twice"
compare = ["A", "B"]

[[step]]
id = "board-a"
ask = "Board A"
field = "board"

[[step]]
id = "read-a"
io = "--rw randread --bs 4k --ops 2000"
prepare = ["fill", "rest 1s", "cool 60C"]
repeat = 2
side = "A"

[[step]]
id = "move"
ask = "Move the drive to board B, then Enter"

[[step]]
id = "board-b"
ask = "Board B"
field = "board"

[[step]]
id = "read-b"
io = "--rw randread --bs 4k --ops 2000"
prepare = ["fill", "rest 1s", "cool 60C"]
repeat = 2
side = "B"
"#;

const ANSWERS: &str = "board-a = \"Mini Base\"\nmove = \"\"\nboard-b = \"IO Board\"\n";

const DRIVE: &str = "sim:sd-150x?capacity=64MiB";

fn place() -> Place {
    let place = Place::new();
    fs::write(place.path("steps.toml"), STEPS).expect("a file");
    fs::write(place.path("answers.toml"), ANSWERS).expect("a file");
    place
}

#[test]
fn a_protocol_is_planned_refused_without_answers_and_run_with_them() {
    let place = place();
    let steps = place.text("steps.toml");
    let plan = place.ssdyno(&["run", DRIVE, "--protocol", &steps, "--dry-run"]).good().out;
    assert!(
        plan.contains("7/7") && plan.contains("fill, rest 1 s, cool to 60 C, then io"),
        "{plan}"
    );
    place
        .ssdyno(&["run", DRIVE, "--protocol", &steps])
        .refuses(3, "step 'board-a' asks a question, but there is no terminal");
    assert!(place.runs().is_empty(), "nothing has begun");
    let answers = place.text("answers.toml");
    let words = ["run", DRIVE, "--protocol", &steps, "--answers", &answers];
    let said = place.ssdyno(&words).good().out;
    assert!(said.contains("A read-a, B read-b: "), "{said}");
    let record = place.ssdyno(&["show", "3", "--json"]).good().json();
    let part = &record["part_of"];
    assert_eq!(
        (&part["step"], &part["repeat"], &part["side"]),
        (&"read-b".into(), &1.into(), &"B".into())
    );
    assert_eq!(part["fields"]["board"], "IO Board");
    assert_eq!(
        (&part["protocol"], part["hash"].as_str().map(str::len)),
        (&"two-sides".into(), Some(64))
    );
}

/// A machine that has only the records of the first side does the second.
#[test]
fn a_protocol_resumes_on_another_machine_from_the_records() {
    let (here, there) = (place(), place());
    let (steps, answers) = (here.text("steps.toml"), here.text("answers.toml"));
    here.ssdyno(&["run", DRIVE, "--protocol", &steps, "--answers", &answers]).good();
    let export = here.ssdyno(&["export", "1", "2"]).good().out;
    fs::write(there.path("records.jsonl"), export).expect("a file");
    let (steps, answers) = (there.text("steps.toml"), there.text("answers.toml"));
    let words = ["run", DRIVE, "--protocol", &steps, "--answers", &answers, "--resume"];
    there.ssdyno(&words).refuses(2, "there is no store here");
    there.ssdyno(&["import", &there.text("records.jsonl")]).good();
    let plan = there.ssdyno(&[&words[..], &["--dry-run"]].concat()).good().out;
    assert!(plan.contains("4/7") && !plan.contains("read-a"), "{plan}");
    let said = there.ssdyno(&words).good().out;
    assert!(said.contains("A read-a, B read-b: "), "{said}");
    assert_eq!(there.runs().len(), 4);
    // A different text is a different protocol.
    fs::write(there.path("steps.toml"), STEPS.replace("2000", "2001")).expect("a file");
    there.ssdyno(&words).refuses(2, "no record of the protocol 'two-sides'");
}

#[test]
fn mistakes_in_protocols_and_answers_are_one_line_with_a_location() {
    let place = place();
    let steps = place.text("steps.toml");
    let run =
        |more: &[&str]| place.ssdyno(&[&["run", DRIVE, "--protocol", &steps][..], more].concat());
    fs::write(place.path("steps.toml"), STEPS.replacen("repeat", "repeats", 1)).expect("a file");
    run(&[]).refuses(2, "steps.toml:15: repeats: unknown key 'repeats'; did you mean 'repeat'?");
    fs::write(place.path("steps.toml"), STEPS.replacen("randread", "radread", 1)).expect("a file");
    run(&["--dry-run"]).refuses(2, "step 'read-a': io = ");
    fs::write(place.path("steps.toml"), STEPS).expect("a file");
    fs::write(place.path("answers.toml"), "bord-a = \"x\"\n").expect("a file");
    run(&["--answers", &place.text("answers.toml")]).refuses(2, "did you mean 'board-a'?");
    run(&["--method", "quick"]).refuses(2, "--method");
    place.ssdyno(&["run", DRIVE, "--resume"]).refuses(2, "--resume");
    place
        .ssdyno(&["run", DRIVE, "--protocol", "bord-against-board"])
        .refuses(2, "bord-against-board");
}
