//! `src/usual.toml`: the figures of `quick` on every preset. With `SSDYNO_WRITE_USUAL=1` the test
//! measures all of them, in some minutes, and writes the file; otherwise it measures two.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use lab::{Options, Request, Work, drives};

use crate::quiet::Quiet;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/usual.toml");

/// Presets whose simulation takes little time.
const CHECKED: [&str; 2] = ["crucial-bx100-120", "sd-150x"];

const CELLS: [&str; 8] = [
    "seq-read-1MiB-q8",
    "seq-read-1MiB-q1",
    "seq-write-1MiB-q8",
    "seq-write-1MiB-q1",
    "rand-read-4KiB-q32",
    "rand-read-4KiB-q1",
    "rand-write-4KiB-q32",
    "rand-write-4KiB-q1",
];

/// The rates of `quick` on a preset without variation, with four significant digits.
fn figures(preset: &str) -> BTreeMap<String, f64> {
    let place = tempfile::tempdir().expect("a directory");
    let request = Request {
        store: Some(place.path().join("runs")),
        ..Request::on(format!("sim:{preset}?vary=0"))
    };
    let options = Options::default();
    let work = Work::method("quick", &options).expect("a method");
    let interrupt = Arc::new(AtomicBool::new(false));
    let planned = request.plan(&work).expect("a plan");
    let run = planned.begin(Box::new(Quiet), &interrupt).expect("it begins").run(&interrupt).run;
    let cells = CELLS.into_iter().filter_map(|name| {
        let value = run.metric(name)?.value?;
        Some((name.to_string(), format!("{value:.3e}").parse().expect("a number")))
    });
    cells.collect()
}

#[test]
fn the_usual_figures_are_those_of_the_presets() {
    if std::env::var_os("SSDYNO_WRITE_USUAL").is_some() {
        let mut text =
            String::from("# Written by tests/it/usual.rs: bytes or operations per second.\n");
        for preset in drives::presets().expect("well formed") {
            let _ = write!(text, "\n[{}]\n", preset.name);
            for (name, value) in figures(&preset.name) {
                let _ = writeln!(text, "{name} = {value:e}");
            }
        }
        std::fs::write(FILE, text).expect("written");
    }
    let text = std::fs::read_to_string(FILE).expect("the file");
    let stored: BTreeMap<String, BTreeMap<String, f64>> =
        toml::from_str(&text).expect("well formed");
    for preset in CHECKED {
        for (name, value) in figures(preset) {
            let ratio = value / stored[preset][&name];
            let advice = "SSDYNO_WRITE_USUAL=1 writes the file";
            assert!((0.9..1.1).contains(&ratio), "{preset}, {name}: {ratio:.2}; {advice}");
        }
    }
}
