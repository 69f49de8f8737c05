//! A store that does not answer: the measurement goes on, a signal ends the run within two seconds,
//! and the record is in a file.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use serde_json::Value;

use crate::common::{Going, Mounted, Place, Said, metric, or_skip, root};
use crate::ending::{END_MAX, code_after, wait_until_blocked};
use crate::fuse::Fuse;

const SIGINT: i32 = 2;

/// Intervals after which the store's writer waits: points are collected for a second.
const UNTIL_WRITTEN: u32 = 14;

/// Locks a store, as another process does.
fn lock(store: &Path) -> Connection {
    let other = Connection::open(store).expect("a store");
    other.busy_timeout(Duration::from_secs(10)).expect("set");
    other.execute_batch("BEGIN EXCLUSIVE").expect("locked");
    other
}

fn intervals(run: &mut Going, count: u32) {
    (0..count).for_each(|_| drop(run.until("\"event\":\"interval\"")));
}

fn end(run: Going) -> Said {
    let asked = Instant::now();
    run.signal(SIGINT);
    let said = run.end();
    assert!(asked.elapsed() < END_MAX, "{:?}: {}", asked.elapsed(), said.err);
    assert_eq!(said.code, 130, "{}", said.err);
    said
}

/// The file with the record, which is also printed.
fn record_file(said: &Said) -> PathBuf {
    let printed: Value = serde_json::from_str(said.out.lines().last().expect("a record"))
        .unwrap_or_else(|e| panic!("{e}: {said:?}"));
    assert!(metric(&printed, "iops").is_some(), "{printed}");
    let file = said.err.lines().find_map(|line| line.strip_prefix("   try: the record is in "));
    let file = PathBuf::from(file.unwrap_or_else(|| panic!("{}", said.err)));
    let text = std::fs::read_to_string(&file).expect("a record");
    let stored: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(stored["metrics"], printed["metrics"]);
    file
}

#[test]
fn a_store_locked_by_another_process_does_not_hold_up_a_run() {
    let place = Place::new();
    let store = place.path("store");
    let words = ["io", "null:", "--time", "60s", "--store", store.to_str().expect("UTF-8")];
    let mut run = Going::start(&place, &words);
    intervals(&mut run, 1);
    let locked = lock(&store);
    intervals(&mut run, UNTIL_WRITTEN);
    let file = record_file(&end(run));
    drop(locked);
    let store = store.to_str().expect("UTF-8");
    let import = ["import", file.to_str().expect("UTF-8"), "--store", store];
    assert!(place.ssdyno(&import).good().out.contains("completed"));
    let shown = place.ssdyno(&["show", "--json", "--store", store]).good().json();
    assert_eq!((&shown["number"], &shown["cut_short"]), (&1.into(), &"interrupted".into()));
}

#[test]
fn a_run_that_waits_for_a_locked_store_to_begin_can_be_ended() {
    let place = Place::new();
    place.io("null: --time 10ms");
    let _locked = lock(&place.path("data/ssdyno/runs.sqlite"));
    let run = Going::start(&place, &["io", "null:", "--time", "60s"]);
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(end(run).err, "ssdyno: interrupted\n");
}

#[test]
fn a_store_that_is_full_slow_or_stopped_does_not_hold_up_a_run() {
    or_skip!(root());
    let full = or_skip!(Mounted::new(&["-t", "tmpfs", "-o", "size=2m", "none"]));
    let slow = or_skip!(Fuse::mount());
    let stopped = or_skip!(Fuse::mount());
    let place = Place::new();
    let start = |dir: &Path| {
        let store = dir.join("store");
        let words = ["io", "null:", "--time", "60s", "--store", store.to_str().expect("UTF-8")];
        let mut run = Going::start(&place, &words);
        intervals(&mut run, 1);
        run
    };
    let mut runs = [full.dir.as_path(), slow.path(), stopped.path()].map(start);
    full.fill();
    slow.server.write_ms.store(5000, Ordering::SeqCst);
    stopped.server.is_stopped.store(true, Ordering::SeqCst);
    for run in &mut runs {
        intervals(run, UNTIL_WRITTEN);
    }
    stopped.wait_for_request();
    for run in runs {
        record_file(&end(run));
    }
}

#[test]
fn a_run_whose_store_does_not_answer_at_all_can_be_ended() {
    or_skip!(root());
    let stopped = or_skip!(Fuse::mount());
    stopped.server.is_stopped.store(true, Ordering::SeqCst);
    let place = Place::new();
    let store = stopped.path().join("store");
    let words = ["io", "null:", "--time", "60s", "--store", store.to_str().expect("UTF-8")];
    let run = Going::start(&place, &words);
    stopped.wait_for_request();
    assert_eq!(end(run).err, "ssdyno: interrupted\n");
}

/// Functions of the kernel in which a thread waits for a file system's server, or for another
/// thread that asks it for the same name.
const HELD: [&str; 3] = ["request_wait_answer", "fuse", "d_alloc_parallel"];

#[test]
fn every_command_that_opens_a_store_that_does_not_answer_can_be_ended() {
    or_skip!(root());
    let stopped = or_skip!(Fuse::mount());
    let place = Place::new();
    let store = stopped.path().join("store");
    let store = store.to_str().expect("UTF-8");
    let io = ["io", "null:", "--ops", "9", "--quiet", "--store", store];
    (0..2).for_each(|_| drop(place.ssdyno(&io).good()));
    let record = place.text("record");
    let exported = place.ssdyno(&["export", "1", "--store", store]).good().out;
    std::fs::write(&record, exported).expect("written");
    stopped.server.is_stopped.store(true, Ordering::SeqCst);
    let resumed = ["run", "sim:sd-class2", "--protocol", "state-bars", "--resume"];
    let commands: [&[&str]; 10] = [
        &["runs"],
        &["show"],
        &["show", "1", "--html"],
        &["compare", "1", "2"],
        &["export"],
        &["import", &record],
        &["rm", "1"],
        &["drives", "fit", "1", "--name", "a"],
        &["replicate", "001", "--quiet"],
        &resumed,
    ];
    let mut commands = commands.map(|words| [words, &["--store", store]].concat()).to_vec();
    // Journals are there, too.
    commands.extend([vec!["list"], vec!["recover"]]);
    let start = |words: &[&str]| {
        let mut command = place.command(words);
        command.env("XDG_STATE_HOME", stopped.path());
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("starts")
    };
    let mut running: Vec<_> = commands.iter().map(|words| (words, start(words))).collect();
    running.iter_mut().for_each(|(_, child)| wait_until_blocked(child, &HELD));
    // All wait at the same time, so that the test takes no longer than one of them.
    let ends = running.into_iter().map(|(words, child)| {
        std::thread::spawn({
            let what = words.join(" ");
            move || (code_after(SIGINT, child, &what), what)
        })
    });
    for end in ends.collect::<Vec<_>>() {
        let (code, what) = end.join().expect("in time");
        assert_eq!(code, Some(130), "{what}");
    }
}

#[test]
fn the_record_of_an_interrupted_run_does_not_wait_for_the_disk() {
    or_skip!(root());
    let disk = or_skip!(Fuse::mount());
    let place = Place::new();
    let store = place.path("store");
    let words = ["io", "null:", "--time", "60s", "--store", store.to_str().expect("UTF-8")];
    let mut command = place.command(&[&words[..], &["--json", "--events", "--quiet"]].concat());
    command.env("TMPDIR", disk.path());
    let mut run = Going::of(command);
    intervals(&mut run, 1);
    let _locked = lock(&store);
    intervals(&mut run, UNTIL_WRITTEN);
    let file = record_file(&end(run));
    assert!(file.starts_with(disk.path()), "{file:?}");
    assert_eq!(disk.server.syncs.load(Ordering::SeqCst), 0, "waits for the disk");
}

/// A thread in fsync cannot be ended before the disk has answered.
#[test]
fn pages_do_not_wait_for_the_disk() {
    or_skip!(root());
    let disk = or_skip!(Fuse::mount());
    let place = Place::new();
    drop(place.io("null: --ops 9"));
    for name in ["run.html", "card.svg"] {
        let path = disk.path().join(name);
        let output = if name == "run.html" { "--html" } else { "--card" };
        place.ssdyno(&["show", "1", &format!("{output}={}", path.display())]).good();
        assert!(path.metadata().expect("written").len() > 1000, "{name}");
    }
    assert_eq!(disk.server.syncs.load(Ordering::SeqCst), 0, "waits for the disk");
}
