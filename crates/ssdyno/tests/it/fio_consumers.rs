//! Programs and pages that run fio (`tests/consumers/lines.toml`): with `ssdyno fio --as-is` in fio's
//! place, the fields that they read are filled where fio fills them, and nothing is on stderr.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde::Deserialize;
use serde_json::Value;

use crate::common::{Place, Said};

const LINES: &str = include_str!("../consumers/lines.toml");

const PUBLISHED: &str = include_str!("../consumers/published.toml");

/// Published lines that are refused; this number may only become smaller.
const REFUSED_MAX: usize = 2;

/// Clones of a job: more take longer and show nothing more.
const CLONES_MAX: u32 = 4;

/// Fields that may be zero in a short run, whatever they are in the other program's.
const MAY_BE_ZERO: [&str; 7] =
    ["usr_cpu", "sys_cpu", "ctx", "util", "cpu_idleness/system", "iops_mean", "bw_mean"];

#[derive(Deserialize)]
struct Consumers {
    consumer: Vec<Consumer>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Consumer {
    name: String,
    /// Where its source is.
    address: String,
    #[serde(default)]
    line: String,
    job: Option<String>,
    /// Files that the job file includes.
    #[serde(default)]
    included: BTreeMap<String, String>,
    #[serde(default)]
    json: Vec<String>,
    #[serde(default)]
    terse: Vec<usize>,
    #[serde(default)]
    text: Vec<String>,
    near: Option<Near>,
    existing: Option<String>,
    refused: Option<String>,
}

/// A search for a line after another.
#[derive(Deserialize)]
struct Near {
    pattern: String,
    lines: usize,
    contains: String,
}

/// An option with a value that takes little time.
fn scaled_down(option: &str) -> String {
    let name_end = option.find('=').unwrap_or(option.len());
    let (name, value) = (&option[..name_end], option[name_end..].trim_start_matches('='));
    match name.trim_start_matches('-') {
        // A fraction is part of what is tested.
        "size" if value.contains('.') => format!("{name}=1048576.0"),
        "size" => format!("{name}=1m"),
        "runtime" if !value.is_empty() => format!("{name}=150ms"),
        "ramp_time" | "startdelay" => format!("{name}=1ms"),
        "numjobs" => format!("{name}={}", value.parse().unwrap_or(1).min(CLONES_MAX)),
        _ => option.to_string(),
    }
}

impl Consumer {
    fn words(&self) -> Vec<String> {
        let mut words: Vec<String> = self.line.split_whitespace().map(scaled_down).collect();
        let runtime = words.iter().position(|word| word == "--runtime");
        if let Some(value) = runtime.and_then(|position| words.get_mut(position + 1)) {
            *value = "150ms".into();
        }
        words.extend(self.job.as_ref().map(|_| "jobs.fio".to_string()));
        words
    }

    /// Runs its line; returns what was said, and the output in the file or on stdout.
    fn run(&self, program: &Path, own_words: &[&str]) -> (Said, String) {
        let place = Place::new();
        if let Some(name) = &self.existing {
            fs::write(place.work().join(name), vec![7; 1 << 20]).expect("a file");
        }
        let jobs = self.job.iter().map(|job| ("jobs.fio", job));
        for (name, text) in jobs.chain(self.included.iter().map(|(name, text)| (&**name, text))) {
            let lines: Vec<String> = text.lines().map(scaled_down).collect();
            fs::write(place.work().join(name), lines.join("\n")).expect("a file");
        }
        let words = self.words();
        let words: Vec<&str> =
            own_words.iter().copied().chain(words.iter().map(String::as_str)).collect();
        let said = Said::of(place.command_of(program, &words).output().expect("starts"));
        let file = fs::read_to_string(place.work().join("result"));
        let output = file.unwrap_or_else(|_| said.out.clone());
        (said, output)
    }

    /// The fields that it reads, and their values in an output.
    fn fields(&self, output: &str) -> Vec<(String, Option<Value>)> {
        let document: Value = serde_json::from_str(output).unwrap_or_default();
        let json = self.json.iter().map(|path| (path.clone(), document.pointer(path).cloned()));
        let terse = self.terse.iter().map(|number| {
            let field = output.lines().next().and_then(|line| line.split(';').nth(number - 1));
            (format!("field {number}"), field.map(number_or_text))
        });
        let text = self.text.iter().map(|start| {
            let line = output.lines().find(|line| line.starts_with(start.as_str()));
            (start.clone(), line.map(|_| Value::Bool(true)))
        });
        let near = self.near.iter().map(|near| {
            let lines = output.lines().skip_while(|line| !line.contains(&near.pattern));
            let mut lines = lines.take(near.lines + 1);
            let line = lines.find(|line| line.starts_with(&near.contains));
            (near.pattern.clone(), line.map(|_| Value::Bool(true)))
        });
        json.chain(terse).chain(text).chain(near).collect()
    }
}

fn number_or_text(field: &str) -> Value {
    field.parse::<f64>().map_or_else(|_| Value::from(field), Value::from)
}

/// Whether a field has a value that says something.
fn is_filled(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        _ => true,
    }
}

/// What a consumer misses in our output.
fn missing(consumer: &Consumer, theirs: &str, ours: &str) -> Vec<String> {
    let pairs = consumer.fields(theirs).into_iter().zip(consumer.fields(ours));
    let differing = pairs.filter_map(|((field, theirs), (_, ours))| {
        let has_ours = ours.as_ref().is_some_and(|ours| {
            is_filled(ours) || MAY_BE_ZERO.iter().any(|name| field.ends_with(name))
        });
        let is_wanted = theirs.as_ref().is_some_and(is_filled);
        (is_wanted && !has_ours).then(|| format!("{field}: fio {theirs:?}, ssdyno {ours:?}"))
    });
    differing.collect()
}

#[derive(Deserialize)]
struct PublishedLines {
    line: Vec<PublishedLine>,
}

/// A command line or a job file that somebody published.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PublishedLine {
    address: String,
    #[serde(default)]
    line: String,
    job: Option<String>,
    refused: Option<String>,
    /// Why, for the reader.
    #[serde(default)]
    reason: String,
}

impl PublishedLine {
    /// What ssdyno says to it, small, before anything is touched.
    fn plan(&self) -> Said {
        let consumer = Consumer {
            name: self.address.clone(),
            address: self.address.clone(),
            line: self.line.clone(),
            job: self.job.clone(),
            included: BTreeMap::new(),
            json: Vec::new(),
            terse: Vec::new(),
            text: Vec::new(),
            near: None,
            existing: Some("device".into()),
            refused: None,
        };
        let own_words = ["fio", "--as-is", "--dry-run", "--overwrite-files"];
        consumer.run(Path::new(env!("CARGO_BIN_EXE_ssdyno")), &own_words).0
    }
}

#[test]
fn published_lines_are_planned_or_refused_for_a_reason() {
    let list: PublishedLines = toml::from_str(PUBLISHED).expect("the list");
    let mut failures = Vec::new();
    for published in &list.line {
        let said = published.plan();
        let is_right = match &published.refused {
            None => said.code == 0,
            // A line that is served now leaves the list of refusals.
            Some(option) => said.code != 0 && said.err.contains(option.as_str()),
        };
        if !is_right {
            failures.push(format!("{}: {}\n{}", published.address, published.line, said.err));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    let refusals = list.line.iter().filter(|published| published.refused.is_some());
    assert!(refusals.clone().all(|published| !published.reason.is_empty()));
    assert!(refusals.count() <= REFUSED_MAX);
}

#[test]
fn consumers_find_what_they_read() {
    if Command::new("fio").arg("--version").output().is_err() {
        println!("skipped: fio is not installed");
        return;
    }
    let consumers: Consumers = toml::from_str(LINES).expect("the list");
    let mut failures = Vec::new();
    for consumer in &consumers.consumer {
        let (theirs, their_output) = consumer.run(Path::new("fio"), &[]);
        let ssdyno = Path::new(env!("CARGO_BIN_EXE_ssdyno"));
        let (ours, our_output) = consumer.run(ssdyno, &["fio", "--as-is"]);
        let name = format!("{} ({})", consumer.name, consumer.address);
        if let Some(option) = &consumer.refused {
            // A line that is served now leaves the list of refusals.
            if ours.code == 0 || !ours.err.contains(option.as_str()) {
                failures.push(format!("{name}: is not refused for {option}: {ours:?}"));
            }
            continue;
        }
        if theirs.code != ours.code || theirs.err.is_empty() && !ours.err.is_empty() {
            failures.push(format!("{name}: fio {}, {ours:?}", theirs.code));
            continue;
        }
        let missing = missing(consumer, &their_output, &our_output);
        failures.extend(missing.iter().map(|field| format!("{name}: {field}")));
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
