//! A run of every method on a small virtual drive, made once for screens and pages.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// The run of each method: its target and arguments. Drives are small and times short.
const RUNS: [(&str, &str, &[&str]); 26] = [
    ("quick", "sim:samsung-980-pro-1t?capacity=2GiB", &["--time", "8s"]),
    ("authentic", "sim:bx500-on-usb2?capacity=2GiB", &["--time", "8s"]),
    ("sustain", "sim:samsung-980-pro-1t?capacity=16GiB", &[]),
    ("states", "sim:indilinx-m225-64?capacity=2GiB", &["--time", "300s"]),
    ("trim", "sim:indilinx-m225-64?capacity=2GiB", &["--time", "60s"]),
    ("zones", "sim:indilinx-m225-64?capacity=2GiB&state=used", &["--time", "30s"]),
    ("align", "sim:crucial-c300-256?capacity=2GiB", &["--time", "30s"]),
    ("heat", "sim:samsung-980-pro-1t?capacity=16GiB", &[]),
    ("speed", "sim:sd-class2", &["--time", "30s"]),
    ("lbaf", "sim:./two.toml?capacity=2GiB", &["--time", "20s"]),
    ("wear", "sim:sd-class2?capacity=32MiB", &["--amount", "90MB", "--age", "1"]),
    ("stream", "sim:sd-class2?capacity=1GiB", &[]),
    ("cluster", "sim:sd-class2?capacity=1GiB", &[]),
    ("fake", OTHERS.0, &[]),
    ("geometry", OTHERS.0, &[]),
    ("restore", OTHERS.0, &[]),
    ("mark", "sim:sandisk-128?capacity=2GiB", &["--time", "30s"]),
    ("command", ".", &["--", "true"]),
    ("iozone", "sim:sandisk-128?capacity=2GiB", &[]),
    ("snia-iops", "sim:indilinx-m225-64?capacity=256MiB", &["--time", "100s"]),
    ("snia-throughput", "sim:indilinx-m225-64?capacity=512MiB", &["--time", "100s"]),
    ("snia-latency", "sim:indilinx-m225-64?capacity=512MiB", &["--time", "100s"]),
    ("snia-wsat", "sim:indilinx-m225-64?capacity=512MiB", &["--time", "100s"]),
    ("snia-hir", "sim:indilinx-m225-64?capacity=512MiB", &["--time", "100s"]),
    ("snia-xsr", "sim:indilinx-m225-64?capacity=512MiB", &["--time", "100s"]),
    ("snia-dirth", "sim:indilinx-m225-64?capacity=512MiB", &["--time", "100s"]),
];

/// The run of an unlisted method.
const OTHERS: (&str, &[&str]) = ("sim:samsung-980-pro-1t?capacity=2GiB", &["--time", "30s"]);

/// A virtual drive that gets a second format.
const PRESET: &str = include_str!("../../../../model/drives/samsung-980-pro-1t.toml");

/// A completed run.
pub struct Made {
    /// The method.
    pub name: String,
    /// Number of its record in the store.
    pub number: usize,
    /// Its page.
    pub page: String,
}

/// Runs all methods, including unlisted ones.
pub fn make(place: &Path) -> Vec<Made> {
    let two = format!("formats = [512, 4096]\n{PRESET}");
    std::fs::write(place.join("two.toml"), two).expect("a file");
    let known = ssdyno(place).args(["methods", "--json"]).output().expect("it starts");
    let known: Value = serde_json::from_slice(&known.stdout).expect("JSON");
    let run = |(number, method): (usize, &Value)| {
        let name = method["name"].as_str().expect("a name").to_string();
        let run = RUNS.iter().find(|run| run.0 == name);
        let (target, more) = run.map_or(OTHERS, |run| (run.1, run.2));
        let path = place.join(format!("{name}.page.html"));
        let mut command = ssdyno(place);
        command.args(["run", target, "-m", &name, "--seed", "1", "--quiet"]);
        command.arg(format!("--html={}", path.display()));
        let output = command.args(more).output().expect("it starts");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{name}: {text}");
        let page = std::fs::read_to_string(path).expect("a page");
        Made { name, number: number + 1, page }
    };
    known.as_array().expect("a list").iter().enumerate().map(run).collect()
}

/// The command in its own place.
pub fn ssdyno(place: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ssdyno"));
    command.current_dir(place).env("HOME", place);
    command.env("XDG_DATA_HOME", place).env("XDG_STATE_HOME", place);
    command
}
