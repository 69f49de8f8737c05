//! `ssdyno run`, the main command: from a directory to a record that is kept and shown.

use std::fs;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use serde_json::Value;

use crate::common::{Going, MIB, Place, contents, metric};

/// The shortest possible run.
const SHORT: [&str; 6] = ["run", ".", "--time", "1s", "--size", "8MiB"];

#[test]
fn a_directory_is_measured_recorded_shown_and_left_unchanged() {
    let place = Place::new();
    let before = contents(&place.work());
    let said = place.ssdyno(&SHORT).good();
    assert_eq!(contents(&place.work()), before);
    assert!(said.err.starts_with("run 1   quick on .   "), "{said:?}");
    assert!(said.err.contains(", writes ") && said.err.contains(" never more than "), "{said:?}");
    assert!(!said.out.contains('\u{1b}') && !said.err.contains('\u{1b}'), "{said:?}");
    for words in ["run 1   quick   complete", "seq 1 MiB q8", "rand 4 KiB q32", "saved"] {
        assert!(said.out.contains(words), "{words} in {}", said.out);
    }
    let page = said.out.lines().last().and_then(|l| l.strip_prefix("page")).expect("a path");
    let html = fs::read_to_string(page.trim()).expect("the page is there");
    assert!(html.starts_with("<!DOCTYPE html>") && html.contains("seq-read-1MiB-q8"));
    let runs = place.runs();
    assert_eq!(runs.len(), 1);
    assert_eq!((&runs[0]["complete"], &runs[0]["method"]), (&true.into(), &"quick".into()));
}

#[test]
fn the_record_keeps_its_promises() {
    let place = Place::new();
    let page = place.text("page.html");
    let said = place.ssdyno(&[&SHORT[..], &["--json", "--quiet", "--html", &page]].concat());
    let record = said.good().json();
    valid(&record);
    assert!(fs::metadata(&page).is_ok_and(|m| m.len() > 10_000));
    let fields = [
        "schema",
        "id",
        "started",
        "method",
        "target",
        "environment",
        "plan",
        "state_before",
        "state_after",
        "metrics",
        "series",
        "verdicts",
        "warnings",
        "errors",
        "complete",
    ];
    for field in fields {
        assert!(!record[field].is_null(), "{field}");
    }
    let cells = [
        ("seq-read-1MiB-q8", "B/s"),
        ("seq-write-1MiB-q8", "B/s"),
        ("seq-read-1MiB-q1", "B/s"),
        ("seq-write-1MiB-q1", "B/s"),
        ("rand-read-4KiB-q32", "IOPS"),
        ("rand-write-4KiB-q32", "IOPS"),
        ("rand-read-4KiB-q1", "IOPS"),
        ("rand-write-4KiB-q1", "IOPS"),
        ("mixed-read-4KiB-q32", "IOPS"),
        ("mixed-write-4KiB-q32", "IOPS"),
    ];
    for (name, unit) in cells {
        is_replicated(&record, name, unit);
        let slowest = metric(&record, &format!("{name}.max")).expect("the longest");
        let median = metric(&record, &format!("{name}.p50"));
        assert!(median.is_none_or(|median| median <= slowest), "{name}");
    }
    assert_eq!(record["protocol"], 3);
    assert!(record["seed"].is_u64(), "the drawn seed");
    for verdict in record["verdicts"].as_array().expect("verdicts") {
        assert!(verdict["evidence"].is_array(), "{verdict}");
    }
}

/// At least two replicates (a busy machine makes a drive slow), and an interval for the next run.
fn is_replicated(record: &Value, name: &str, unit: &str) {
    let metrics = record["metrics"].as_array().expect("metrics");
    let found = metrics.iter().find(|m| m["name"] == name).unwrap_or_else(|| panic!("no {name}"));
    assert_eq!(found["unit"], unit, "{name}");
    let number = |field: &str| found[field].as_f64().unwrap_or_else(|| panic!("{name}.{field}"));
    assert!(number("low") <= number("value") && number("value") <= number("high"), "{found}");
    assert!(number("n") >= 2.0 && number("low") < number("high"), "{found}");
    assert_eq!((&found["covers"], &found["runs"]), (&"next-run".into(), &1.into()), "{found}");
    assert_eq!(found["samples"].as_array().map(Vec::len), Some(number("n") as usize));
}

fn valid(record: &Value) {
    let schema = include_str!("../../../../docs/record.schema.json");
    let schema = serde_json::from_str(schema).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let errors: Vec<String> = validator.iter_errors(record).map(|e| e.to_string()).collect();
    assert_eq!(errors, Vec::<String>::new());
}

#[test]
fn events_are_lines_and_the_record_comes_last() {
    let place = Place::new();
    let said = place.ssdyno(&[&SHORT[..], &["--json", "--events", "--quiet"]].concat()).good();
    let lines: Vec<Value> =
        said.out.lines().map(|l| serde_json::from_str(l).expect("JSON")).collect();
    let (record, events) = lines.split_last().expect("lines");
    valid(record);
    let kinds = ["step", "interval", "progress", "finding"];
    for event in events {
        assert!(kinds.iter().any(|kind| event["event"] == *kind), "{event}");
    }
    let steps: Vec<_> = events.iter().filter(|e| e["event"] == "step").collect();
    assert_eq!(steps[0]["name"], "fill");
    let plan = record["plan"]["steps"].as_array().expect("steps");
    for step in plan {
        assert!(steps.iter().any(|s| s["name"] == step["name"]), "{step} was only planned");
    }
}

#[test]
fn intervals_add_up_to_the_time_series_in_the_record() {
    let place = Place::new();
    let io = ["io", "null:", "--time", "550ms", "--json", "--events", "--quiet"];
    let said = place.ssdyno(&io).good();
    let lines: Vec<Value> =
        said.out.lines().map(|l| serde_json::from_str(l).expect("JSON")).collect();
    let (record, events) = lines.split_last().expect("lines");
    let intervals: Vec<_> = events.iter().filter(|e| e["event"] == "interval").collect();
    assert!(intervals.len() >= 5, "{intervals:?}");
    let ends: Vec<_> = intervals.iter().map(|e| e["to_ns"].clone()).collect();
    assert_eq!(record["series"][0]["t_ns"], Value::from(ends));
    for interval in intervals {
        let number = |field: &str| interval[field].as_u64().expect("a number");
        assert!(number("to_ns") > number("from_ns") && number("write_ops") == 0, "{interval}");
        assert_eq!(number("read_bytes"), number("read_ops") * 4096);
    }
}

#[test]
fn a_plan_states_the_maximum_bytes_written_and_touches_nothing() {
    let place = Place::new();
    let planned = place.ssdyno(&[&SHORT[..], &["--dry-run", "--json"]].concat()).good().json();
    let said = place.ssdyno(&[&SHORT[..], &["--dry-run"]].concat()).good();
    for words in ["writes", "at most", "scratch: uses a scratch file", "rand-write-4KiB-q32"] {
        assert!(said.out.contains(words), "{words} in {}", said.out);
    }
    assert!(place.is_untouched() && !place.path("data").exists());
    let most = planned["write_bytes_max"].as_u64().expect("bytes");
    let record = place.ssdyno(&[&SHORT[..], &["--json", "--quiet"]].concat()).good().json();
    assert_eq!(record["plan"]["write_bytes_max"], most);
    let latencies = record["latencies"].as_array().expect("latencies");
    let writes = latencies.iter().filter(|l| l["op"] == "write");
    let written: u64 = writes.map(written).sum();
    assert!(written > 0 && written + 8 * MIB <= most, "{written} of {most}");
}

/// Bytes of a latency profile: the number of operations times the block size in its name.
fn written(profile: &Value) -> u64 {
    let name = profile["name"].as_str().expect("a name");
    let block = if name.contains("1MiB") { MIB } else { 4096 };
    profile["service"]["count"].as_u64().expect("a count") * block
}

#[test]
fn a_file_is_only_read() {
    let place = Place::new();
    let file = place.file("file", 8 * MIB);
    fs::write(&file, vec![7; 8 * MIB as usize]).expect("a file");
    let run = ["run", &file, "--time", "1s", "--json", "--quiet"];
    let record = place.ssdyno(&run).good().json();
    assert_eq!(fs::read(&file).expect("a file"), vec![7; 8 * MIB as usize]);
    assert_eq!(record["plan"]["safety"], "reads");
    assert!(metric(&record, "seq-read-1MiB-q8").is_some());
    assert!(metric(&record, "seq-write-1MiB-q8").is_none());
}

#[test]
fn several_methods_leave_a_record_each() {
    let place = Place::new();
    let methods = ["-m", "quick", "-m", "authentic", "--quiet"];
    place.ssdyno(&[&SHORT[..], &methods].concat()).good();
    let runs = place.runs();
    let names: Vec<_> = runs.iter().map(|r| r["method"].as_str().expect("a name")).collect();
    assert_eq!(names, ["authentic", "quick"]);
}

#[test]
fn the_first_operation_comes_soon() {
    let place = Place::new();
    let file = place.file("file", 8 * MIB);
    let mut times: Vec<f64> = (0..5)
        .map(|_| {
            let began = Instant::now();
            let mut going = Going::start(&place, &["io", &file, "--ops", "1"]);
            going.until("\"event\":\"step\"");
            let time = began.elapsed().as_secs_f64();
            assert_eq!(going.end().code, 0);
            time
        })
        .collect();
    times.sort_by(f64::total_cmp);
    // A goal rather than a requirement, because the test machine may be busy.
    println!("start to first I/O: {:.1} ms (median of 5, goal 20 ms)", times[2] * 1e3);
}

#[test]
fn evidence_is_shown_only_if_requested() {
    let place = Place::new();
    let speed = ["run", "sim:sd-class2", "-m", "speed", "--size", "32MiB"];
    let io = ["io", "sim:sd-class2", "--rw", "randread", "--ops", "500"];
    for words in [&speed[..], &io] {
        let brief = place.ssdyno(words).good().out;
        let full = place.ssdyno(&[words, &["--verbose"]].concat()).good().out;
        let begins = |text: &str, label: &str| text.lines().any(|line| line.starts_with(label));
        for evidence in ["answer  ", "stamp    predicted", "host    "] {
            assert!(begins(&full, evidence), "{evidence}: {full}");
            assert!(!begins(&brief, evidence), "{evidence}: {brief}");
        }
        let named = if words[0] == "io" { "DRIVE: " } else { "speed-read-middle" };
        assert!(full.contains(named) && !brief.contains(named), "{full}{brief}");
        assert!(begins(&brief, "more     ssdyno show") && !begins(&full, "more "), "{full}");
    }
}

/// A program is charged with its own I/O, whatever else the drive does meanwhile.
#[test]
fn a_command_is_charged_with_its_own_traffic_not_with_that_of_its_neighbours() {
    let place = Place::new();
    let neighbour = place.path("neighbour");
    let ends = Arc::new(AtomicBool::new(false));
    let (until, file) = (Arc::clone(&ends), neighbour.clone());
    let writer = thread::spawn(move || {
        while !until.load(Ordering::Relaxed) {
            let mut file = fs::File::create(&file).expect("a file");
            file.write_all(&vec![7; 16 << 20]).and_then(|()| file.sync_all()).expect("written");
        }
    });
    let traffic = |script: &str| {
        let words = ["run", ".", "-m", "command", "--replicates", "1", "--json", "--quiet"];
        let words = [&words[..], &["--", "sh", "-c", script]].concat();
        let record = place.ssdyno(&words).good().json();
        let own = metric(&record, "command.own-written");
        let written = metric(&record, "command.device-written-synced");
        (own, written, record["answer"]["headline"].as_str().unwrap_or_default().to_string())
    };
    let nothing = traffic("sleep 0.3");
    let dd = "dd if=/dev/zero of=f bs=1048576 count=8 2>/dev/null";
    let some = traffic(&format!("{dd}; sleep 0.3; rm f"));
    let of_child = traffic(&format!("sh -c '{dd}; true'; sync f; rm f"));
    ends.store(true, Ordering::Relaxed);
    writer.join().expect("it wrote");
    let (Some(own), Some(written)) = (nothing.0, nothing.1) else {
        println!("skipped: no counters of processes or of this drive");
        return;
    };
    assert_eq!(own, 0.0, "{nothing:?}");
    // It may read: the programs themselves, where nobody ran them before.
    assert!(written >= 0.0 && nothing.2.contains(" and writes 0 B;"), "{nothing:?}");
    // A page that was truncated before it was written is taken back.
    assert!(some.0.is_some_and(|bytes| bytes <= 8e6 * 1.1), "{some:?}");
    // A few pages more: those of the directory, and what the shell touches.
    let whole =
        of_child.0.is_some_and(|bytes| (8 * MIB..=8 * MIB + MIB / 4).contains(&(bytes as u64)));
    assert!(whole, "{of_child:?}");
}

#[test]
fn without_a_target_it_asks_at_a_terminal_and_prints_the_command() {
    let place = Place::new();
    place.ssdyno(&["run"]).refuses(2, "run needs a target");
    let alone = place.ssdyno(&[]).good().out;
    assert!(alone.contains("ssdyno run .") && alone.lines().count() >= 5, "{alone}");
    // The answers: a virtual drive by its name, a method by its name, yes.
    let binary = env!("CARGO_BIN_EXE_ssdyno");
    let line = format!("{binary} run");
    let mut command = place.command_of("script".as_ref(), &["-qec", &line, "/dev/null"]);
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let Ok(mut child) = command.spawn() else {
        println!("skipped: no script, which gives a program a terminal");
        return;
    };
    let mut keys = child.stdin.take().expect("piped");
    keys.write_all(b"sim:sd-150x\nfake\n\n").expect("typed");
    let said = child.wait_with_output().expect("ended");
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    for words in ["Which drive?", "Which question?", "Run it?", "$ ssdyno run sim:sd-150x -m fake"]
    {
        assert!(text.contains(words), "{words}: {text}");
    }
    let runs = place.runs();
    assert_eq!(runs.len(), 1, "{text}");
    assert_eq!(runs[0]["method"], "fake");
}
