//! Failing drives, corrupted content, and a store that fills up during a run.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;

use serde_json::Value;

use crate::common::{
    Going, Loop, MIB, Mounted, Place, Said, metric, or_skip, root, tool, warnings,
};

/// Records imported into a store that has no room for all of them.
const COPIES: usize = 600;

/// Errors of a record: op, kind, count, and the first addresses.
fn errors(record: &Value) -> Vec<(&str, &str, u64, Vec<u64>)> {
    let list = record["errors"].as_array().expect("errors").iter();
    list.map(|e| {
        let offsets = e["first_offsets"].as_array().expect("addresses").iter();
        let offsets = offsets.map(|o| o.as_u64().expect("an address")).collect();
        let text = |field: &str| e[field].as_str().expect("text");
        (text("op"), text("kind"), e["count"].as_u64().expect("a count"), offsets)
    })
    .collect()
}

#[test]
fn a_truncated_drive_is_read_to_its_new_end() {
    or_skip!(root());
    let device = or_skip!(Loop::new(16 * MIB, "", &[]));
    let image = File::options().write(true).open(&device.image).expect("the image");
    image.set_len(8 * MIB).expect("truncated");
    let place = Place::new();
    let io = ["io", &device.path, "--rw", "randread", "--bs", "64k", "--coverage", "1"];
    let said = place.ssdyno(&[&io[..], &["--json", "--quiet"]].concat());
    assert_eq!(said.code, 4, "{said:?}");
    let record = said.json();
    let errors = errors(&record);
    let (mut count, mut addresses) = (0, Vec::new());
    for (op, kind, n, offsets) in errors {
        assert_eq!(op, "read");
        assert!(["EIO", "ENXIO", "short transfer"].contains(&kind), "{kind}");
        count += n;
        addresses.extend(offsets);
    }
    assert!(count > 0 && addresses.iter().all(|at| *at >= 8 * MIB), "{count} {addresses:?}");
    assert!(metric(&record, "iops").is_some(), "successful reads count");
    assert!(warnings(&record).contains(&"failed-operations"), "{}", record["warnings"]);
    let text = place.ssdyno(&["show"]).good().out;
    assert!(text.contains("errors") && text.contains("EIO"), "{text}");
    assert_eq!(place.runs().len(), 1);
}

#[test]
fn a_run_on_a_drive_that_fails_at_once_ends() {
    or_skip!(root());
    let device = or_skip!(Loop::new(16 * MIB, "", &[]));
    File::options().write(true).open(&device.image).and_then(|f| f.set_len(0)).expect("truncated");
    let place = Place::new();
    for words in [&["io", "--time", "30s"][..], &["run", "--time", "30s"]] {
        let args = [&words[..1], &[device.path.as_str()], &words[1..], &["--json", "--quiet"]];
        let said = place.ssdyno(&args.concat());
        assert_eq!(said.code, 4, "{said:?}");
        assert!(said.err.starts_with("ssdyno: too many I/O errors in "), "{said:?}");
        let record = said.json();
        assert_eq!(record["complete"], false);
        assert!(!errors(&record).is_empty());
    }
    assert_eq!(place.runs().len(), 2);
}

#[test]
fn flipped_bits_are_reported_with_their_address() {
    let place = Place::new();
    let file = place.file("file", MIB);
    let io = |words: &[&str]| {
        place.ssdyno(&[&["io", &file, "--verify", "--json", "--quiet"], words].concat())
    };
    let destroy = ["--rw", "write", "--coverage", "1", "--destroy=1048576"];
    let written = io(&destroy).good().json();
    assert_eq!(metric(&written, "verified_bytes"), Some(MIB as f64));
    let read = ["--rw", "read", "--coverage", "1"];
    let clean = io(&read).good().json();
    assert_eq!(metric(&clean, "verified_bytes"), Some(MIB as f64));
    assert_eq!(errors(&clean), []);
    flip(&file, 5 * 4096 + 700);
    let said = io(&read);
    assert_eq!(said.code, 1, "{said:?}");
    let record = said.json();
    assert_eq!(record["complete"], true);
    assert_eq!(errors(&record), [("verify", "flipped", 1, vec![5 * 4096])]);
    let text = place.ssdyno(&["show"]).good().out;
    assert!(text.contains("flipped") && text.contains("20480"), "{text}");
}

/// Flips one bit of a file.
fn flip(file: &str, at: u64) {
    let file = File::options().read(true).write(true).open(file).expect("a file");
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).expect("a byte");
    file.write_all_at(&[byte[0] ^ 1], at).expect("a byte");
    file.sync_all().expect("written");
}

#[test]
fn a_full_store_does_not_lose_the_record() {
    or_skip!(root());
    let mounted = or_skip!(Mounted::new(&["-t", "tmpfs", "-o", "size=1m", "tmpfs"]));
    let place = Place::new();
    let store = format!("{}/runs.sqlite", mounted.text());
    let page = place.text("page.html");
    let words = ["io", "null:", "--time", "2500ms", "--store", &store, "--html", &page];
    let mut io = Going::start(&place, &words);
    io.until("\"event\":\"interval\"");
    mounted.fill();
    let said = io.end();
    assert_eq!(said.code, 4, "{said:?}");
    assert!(said.err.contains("no space left for the store; the run continues"), "{said:?}");
    let path = said.err.lines().find_map(|l| l.strip_prefix("   try: the record is in "));
    let path = path.unwrap_or_else(|| panic!("{said:?}"));
    assert!(path.starts_with(&place.text("tmp")), "{path}");
    let text = fs::read_to_string(path).expect("the record");
    let record: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(record["complete"], true);
    assert!(metric(&record, "iops").is_some_and(|iops| iops > 0.0));
    assert!(fs::metadata(page).is_ok(), "the page was still written");
    let shown: Value =
        serde_json::from_str(said.out.lines().last().expect("a line")).expect("JSON");
    assert_eq!(shown, record);
    let listed = place.ssdyno(&["runs", "--json", "--store", &store]).good().json();
    assert_eq!(listed[0]["complete"], false);
}

/// Commands on a store whose file system is full name the store and the remedy. Its runs stay
/// readable, and with more room the same command succeeds.
#[test]
fn a_full_file_system_is_named_with_its_store() {
    or_skip!(root());
    let mounted = or_skip!(Mounted::new(&["-t", "tmpfs", "-o", "size=1m", "tmpfs"]));
    let place = Place::new();
    let store = format!("{}/runs.sqlite", mounted.text());
    let ssdyno = |words: &str| {
        let words: Vec<&str> = words.split(' ').chain(["--store", &store]).collect();
        place.ssdyno(&words)
    };
    ssdyno("io null: --ops 20 --quiet").good();
    let mut record: Value = serde_json::from_str(&ssdyno("export").good().out).expect("JSON");
    let copies = (0..COPIES).map(|number| {
        let (minute, second) = (number / 60, number % 60);
        record["id"] = format!("2026-01-01T00:{minute:02}:{second:02}-00000000").into();
        format!("{record}\n")
    });
    fs::write(place.path("runs.jsonl"), copies.collect::<String>()).expect("written");
    let count = || {
        let runs = ssdyno("runs --all --json").good().json();
        runs.as_array().expect("a list").len()
    };
    let is_full = |said: &Said, remedy: &str| {
        assert_eq!((said.code, said.err.lines().count()), (4, 2), "{said:?}");
        let error = format!("ssdyno: {store}: no space left for the store\n   try: ");
        assert!(said.err.starts_with(&error) && said.err.contains(remedy), "{said:?}");
    };
    let import = format!("import {}", place.text("runs.jsonl"));
    let said = ssdyno(&import);
    let there = count();
    assert!(1 < there && there < COPIES, "{there} records fit");
    is_full(&said, &format!("the records before it ({}) are already stored", there - 1));
    mounted.fill();
    is_full(&ssdyno(&import), "are already stored");
    assert_eq!(count(), there, "readable");
    tool("mount", &["-o", "remount,size=8m", mounted.text()]).expect("more room");
    ssdyno(&import).good();
    assert_eq!(count(), COPIES + 1);
}

/// The first thread, or the fifth and every later one, cannot be started: one line and no hang.
#[test]
fn a_thread_that_cannot_be_started_ends_the_run() {
    let place = Place::new();
    let words = ["io", "null:", "--backend", "null", "--time", "100s", "--jobs", "16", "--quiet"];
    for from in [1, 5] {
        let fault = format!("clone,clone3:error=EAGAIN:when={from}+");
        let ended = or_skip!(place.faulty(&fault, &words));
        assert_eq!((ended.code, ended.err.lines().count()), (4, 1), "{ended:?}");
        assert!(ended.err.contains("cannot start"), "{ended:?}");
    }
}
