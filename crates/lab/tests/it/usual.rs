//! `src/usual.toml`: the figures of `quick` on every preset, and the durable writes of `iozone`. With
//! `SSDYNO_WRITE_USUAL=1` the test measures all of them, in some minutes, and writes the file; with
//! names of presets, separated by commas, it measures those (`none` measures none, and writes what is
//! the presets' own); otherwise two.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use lab::{Options, Request, Work, drives};
use methods::usual_gains;
use record::{Run, VerdictKind};
use serde::{Deserialize, Serialize};

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

/// Figures of `iozone` on a file of 100 MiB or less, by the end of their names, and their names in the
/// file.
const DURABLE: [(&str, &str); 2] = [
    (".rewrite-random-content", "seq-write-4KiB-durable"),
    (".random-write", "rand-write-4KiB-durable"),
];

/// What is known about a model, as in the file.
#[derive(Default, Deserialize, Serialize)]
struct Model {
    #[serde(default)]
    drive: String,
    #[serde(default)]
    bus: String,
    figures: BTreeMap<String, f64>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    gains: BTreeMap<String, BTreeMap<String, f64>>,
}

fn rounded(value: f64, digits: usize) -> f64 {
    format!("{value:.0$e}", digits - 1).parse().expect("a number")
}

/// The rates of `quick` on a preset without variation, with four significant digits, and what they
/// would gain without the causes that it names, with two.
fn measured(preset: &str) -> Model {
    let run = run_of("quick", preset).expect("a plan");
    let mut model = Model::default();
    for name in CELLS {
        let Some(value) = run.metric(name).and_then(|metric| metric.value) else { continue };
        model.figures.insert(name.to_string(), rounded(value, 4));
        let gains = usual_gains(&run.verdicts, name).into_iter();
        let gains: BTreeMap<_, _> = gains.map(|(kind, by)| (kind, rounded(by, 2))).collect();
        if !gains.is_empty() {
            model.gains.insert(name.to_string(), gains);
        }
    }
    // Its file does not fit some cards.
    let durable_run = run_of("iozone", preset);
    for metric in durable_run.iter().flat_map(|run| &run.metrics) {
        let durable = DURABLE.iter().find(|(end, _)| metric.name.ends_with(end));
        if let Some(((_, name), value)) = durable.zip(metric.value) {
            model.figures.insert((*name).to_string(), rounded(value, 4));
        }
    }
    model
}

fn run_of(method: &str, preset: &str) -> Option<Run> {
    let place = tempfile::tempdir().expect("a directory");
    let request = Request {
        store: Some(place.path().join("runs")),
        ..Request::on(format!("sim:{preset}?vary=0"))
    };
    let options = Options::default();
    let work = Work::method(method, &options).expect("a method");
    let interrupt = Arc::new(AtomicBool::new(false));
    let planned = request.plan(&work).ok()?;
    Some(planned.begin(Box::new(Quiet), &interrupt).expect("it begins").run(&interrupt).run)
}

#[test]
fn the_usual_figures_are_those_of_the_presets() {
    let read = || -> BTreeMap<String, Model> {
        let text = std::fs::read_to_string(FILE).expect("the file");
        toml::from_str(&text).expect("well formed")
    };
    if let Ok(names) = std::env::var("SSDYNO_WRITE_USUAL") {
        let is_named = |name: &str| names == "1" || names.split(',').any(|one| one == name);
        let mut models = if names == "1" { BTreeMap::new() } else { read() };
        for preset in drives::presets().expect("well formed") {
            if is_named(&preset.name) {
                models.insert(preset.name.clone(), measured(&preset.name));
            }
            let model = models.entry(preset.name.clone()).or_default();
            (model.drive, model.bus) = (preset.model.clone(), preset.links[0].clone());
        }
        let text = toml::to_string(&models).expect("plain data");
        let header = "# Written by tests/it/usual.rs: bytes or operations per second, and the \
                      factors by which\n# they would be higher without the causes that the rules \
                      name.\n\n";
        std::fs::write(FILE, format!("{header}{text}")).expect("written");
    }
    let stored = read();
    let advice = "SSDYNO_WRITE_USUAL=1 writes the file";
    for preset in CHECKED {
        let model = measured(preset);
        for (name, value) in model.figures {
            let ratio = value / stored[preset].figures[&name];
            assert!((0.9..1.1).contains(&ratio), "{preset}, {name}: {ratio:.2}; {advice}");
        }
    }
    for (preset, model) in &stored {
        let gains =
            model.gains.iter().flat_map(|(name, gains)| gains.iter().map(move |g| (name, g)));
        for (name, (kind, gain)) in gains {
            let is_sound = model.figures.contains_key(name) && *gain >= 1.0;
            assert!(
                is_sound && !matches!(VerdictKind::named(kind), VerdictKind::Other(_)),
                "{preset}, {name}: {kind} {gain}"
            );
        }
    }
}
