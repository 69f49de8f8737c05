//! Progress of a run: on a terminal the grid of `quick` fills in; a pipe gets none of it.

use std::path::Path;

use crate::common::{Place, Said, or_skip, tool};

const DRIVE: &str = "sim:samsung-970-evo-plus-1t?seed=1";

/// The grid's sign for a cell without a value.
const WAITS: char = '\u{b7}';

#[test]
fn on_a_terminal_the_grid_fills_in_and_is_gone_at_the_end() {
    or_skip!(tool("script", &["--version"]));
    let place = Place::new();
    let line = format!("{} run {DRIVE} >result", env!("CARGO_BIN_EXE_ssdyno"));
    let words = ["-qefc", &line, "/dev/null"];
    let mut command = place.command_of(Path::new("script"), &words);
    let said = Said::of(command.env("TERM", "xterm").env("COLUMNS", "100").output().expect("runs"));
    let frames: Vec<&str> = said.out.split("rand 4 KiB q32").skip(1).collect();
    assert!(frames.len() >= 2, "{said:?}");
    let cells = |frame: &&str| frame.matches(WAITS).count();
    let waiting: Vec<usize> = frames.iter().map(cells).collect();
    assert!(waiting.iter().any(|n| *n > 0), "cells wait for their values: {waiting:?}");
    let some = said.out.lines().any(|line| line.contains(WAITS) && line.contains("MB/s"));
    assert!(some, "one side is measured before the other: {said:?}");
    let result = std::fs::read_to_string(place.work().join("result")).expect("stdout");
    assert!(!result.contains(WAITS) && result.contains("rand 4 KiB q32"), "{result}");
}

#[test]
fn a_pipe_gets_no_grid_before_the_result() {
    let place = Place::new();
    for words in [&["run", DRIVE][..], &["run", DRIVE, "--json"], &["run", DRIVE, "--events"]] {
        let said = place.ssdyno(words).good();
        assert!(!said.err.contains(WAITS) && !said.out.contains(WAITS), "{words:?}: {said:?}");
        assert!(!said.err.contains("rand 4 KiB"), "{words:?}: {}", said.err);
    }
}
