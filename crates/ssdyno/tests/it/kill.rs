//! The remains of a run that is ended early: its measurements, marked as cut short, and nothing
//! else.

use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::common::{Going, Place, contents, metric, verdicts, warnings};

const SIGHUP: i32 = 1;
const SIGINT: i32 = 2;
const SIGKILL: i32 = 9;
const SIGTERM: i32 = 15;

/// Number of kills, at random moments; `SSDYNO_KILLS` overrides it (`cargo xtask bench attacks`).
const KILLS: u64 = 50;

/// Commands that are killed. fio keeps its file, as it does itself.
const KILLED: [&str; 4] = [
    "run . --time 30s --size 8MiB",
    "run . -m align --time 30s --size 8MiB",
    "io . --rw randrw --size 8MiB --time 30s",
    "fio --name=a --size=8M --rw=randrw --directory=. --time_based --runtime=30",
];

/// Latest kill after the start, microseconds. Kills hit before anything is open, during the fill,
/// and during measurements.
const LATEST_US: u64 = 250_000;

#[test]
fn a_killed_run_costs_only_its_own_results() {
    let place = Place::new();
    fs::write(place.work().join(".ssdyno-scratch-notes"), "mine").expect("a file");
    let before = contents(&place.work());
    let asked = std::env::var("SSDYNO_KILLS").ok().and_then(|n| n.parse().ok());
    let kills: u64 = asked.unwrap_or(KILLS);
    let (mut random, mut entered) = (0x5eed_u64, 0);
    for kill in 0..kills {
        // Knuth's generator is good enough for moments (MMIX).
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let moment = Duration::from_micros((random >> 33) % LATEST_US);
        let line = KILLED[kill as usize % KILLED.len()];
        let words: Vec<&str> = line.split(' ').collect();
        let mut command = place.command(&words);
        command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
        let mut child = command.spawn().expect("starts");
        std::thread::sleep(moment);
        child.kill().expect("killed");
        child.wait().expect("ends");
        let what = format!("kill {kill} after {moment:?}: {line}");
        // The file of fio.
        let _ = fs::remove_file(place.work().join("a.0.0"));
        assert_eq!(contents(&place.work()), before, "{what}");
        let runs = place.runs();
        // The process that writes the store ends a moment after the run.
        entered = runs.len() as u64;
        assert!(entered <= kill + 1, "{what}");
        for run in &runs {
            assert_eq!((&run["complete"], &run["running"]), (&false.into(), &false.into()));
            assert_eq!(run["cut_short"], "killed", "{what}");
        }
    }
    println!("{kills} killed runs of run, io and fio: {entered} were entered, no file changed");
    assert!(entered > 0, "no kill came late enough");
    place.io(". --size 1MiB --ops 1");
    assert_eq!(contents(&place.work()), before);
}

/// Number of kills in a wear test; the tests of the method kill it 50 times or more.
const WEAR_KILLS: u64 = 12;

#[test]
fn a_killed_wear_test_continues_with_the_next_block() {
    let place = Place::new();
    let (bytes, amount) = (8 << 20, 1024 * (128 << 10));
    fs::File::create(place.work().join("card")).and_then(|f| f.set_len(bytes)).expect("a file");
    let (size, amount_word) = (bytes.to_string(), amount.to_string());
    let words = ["run", "card", "-m", "wear", "--destroy", &size, "--amount", &amount_word];
    // Before a block has been stamped there is nothing to resume.
    let more = || -> &[&str] {
        let stamped = fs::read(place.work().join("card")).expect("there")[..512] != [0; 512];
        if stamped { &["--resume"] } else { &[] }
    };
    let mut random = 0x5eed_u64;
    for kill in 0..WEAR_KILLS {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let moment = Duration::from_micros((random >> 33) % LATEST_US);
        let more = more();
        let mut child = place.command(&[&words, more].concat());
        let mut child = child.stderr(std::process::Stdio::null()).spawn().expect("starts");
        std::thread::sleep(moment);
        child.kill().expect("killed");
        child.wait().expect("ends");
        println!("kill {kill} after {moment:?} {more:?}");
    }
    let record = place.ssdyno(&[&words, more(), &["--json"]].concat()).good().json();
    assert_eq!(metric(&record, "wear-written"), Some(f64::from(amount)));
    assert_eq!(verdicts(&record), ["ENDURED"]);
}

#[test]
fn the_file_of_a_killed_run_is_removed_and_reported() {
    let place = Place::new();
    let before = contents(&place.work());
    // As on file systems without O_TMPFILE, if the kill comes between two system calls.
    fs::write(place.work().join(".ssdyno-scratch-1-0123456789abcdef"), "left").expect("a file");
    let record = place.io(". --size 1MiB --ops 1");
    assert_eq!(contents(&place.work()), before);
    assert!(warnings(&record).contains(&"orphans-removed"), "{}", record["warnings"]);
}

#[test]
fn a_run_ended_by_the_user_keeps_its_results() {
    for signal in [SIGINT, SIGTERM] {
        let place = Place::new();
        let before = contents(&place.work());
        let mut run = Going::start(&place, &["run", ".", "--time", "30s", "--size", "8MiB"]);
        // The second cell, after the first was measured.
        run.until("\"name\":\"seq-write-1MiB-q8\"");
        run.signal(signal);
        let said = run.end();
        assert_eq!(said.code, 130, "{said:?}");
        assert_eq!(said.err, "ssdyno: interrupted\n");
        let record: serde_json::Value =
            serde_json::from_str(said.out.lines().last().expect("a record")).expect("JSON");
        assert_eq!(record["complete"], false);
        assert_eq!(record["cut_short"], "interrupted");
        assert!(metric(&record, "seq-read-1MiB-q8").is_some(), "{}", record["metrics"]);
        assert_eq!(contents(&place.work()), before);
        let shown = place.ssdyno(&["show"]).good().out;
        assert!(shown.contains("cut short") && shown.contains("seq 1 MiB q8"), "{shown}");
        assert_eq!(place.runs()[0]["cut_short"], "interrupted");
    }
}

#[test]
fn a_run_under_nohup_is_not_ended_by_a_logout() {
    let place = Place::new();
    let words = "io null: --time 1s --json --events --quiet";
    let line = format!("trap '' HUP; exec {} {words}", env!("CARGO_BIN_EXE_ssdyno"));
    let mut io = Going::of(place.command_of(Path::new("sh"), &["-c", &line]));
    io.until("\"event\":\"interval\"");
    io.signal(SIGHUP);
    let said = io.end();
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(place.runs()[0]["complete"], true);
}

#[test]
fn a_workload_ended_by_the_user_has_metrics() {
    let place = Place::new();
    let mut io = Going::start(&place, &["io", "null:", "--time", "30s"]);
    io.until("\"event\":\"interval\"");
    io.signal(SIGINT);
    let said = io.end();
    assert_eq!(said.code, 130);
    let shown = place.ssdyno(&["show", "--json"]).good().json();
    assert_eq!((&shown["complete"], &shown["cut_short"]), (&false.into(), &"interrupted".into()));
    assert!(metric(&shown, "iops").is_some_and(|iops| iops > 0.0));
    assert!(shown["seconds"].as_f64().is_some_and(|s| s < 30.0));
}

#[test]
fn a_workload_waiting_for_its_next_operation_can_be_ended() {
    let place = Place::new();
    let mut io = Going::start(&place, &["io", "null:", "--rate", "0.01", "--time", "300s"]);
    io.until("\"event\":\"step\"");
    io.signal(SIGINT);
    assert_eq!(io.end().code, 130);
    assert_eq!(place.runs()[0]["cut_short"], "interrupted");
}

#[test]
fn a_killed_run_has_its_time_series_up_to_the_kill() {
    let place = Place::new();
    let mut io = Going::start(&place, &["io", "null:", "--time", "30s"]);
    // Points are buffered for a second before they are written; the sixteenth interval comes after
    // that.
    (0..16).for_each(|_| drop(io.until("\"event\":\"interval\"")));
    io.signal(SIGKILL);
    assert_eq!(io.end().code, -1);
    let shown = place.ssdyno(&["show", "--json"]).good().json();
    assert_eq!(shown["cut_short"], "killed");
    let points = shown["series"][0]["t_ns"].as_array().map_or(0, Vec::len);
    assert!(points >= 5, "{points} points were saved");
}

#[test]
fn a_run_in_progress_is_listed_as_running_and_cannot_be_removed() {
    let place = Place::new();
    let mut io = Going::start(&place, &["io", "null:", "--time", "30s"]);
    io.until("\"event\":\"interval\"");
    assert_eq!(place.runs()[0]["running"], true);
    assert!(place.ssdyno(&["runs"]).good().out.contains("running"));
    place.ssdyno(&["rm", "1"]).refuses(2, "run 1 is still running");
    io.signal(SIGINT);
    assert_eq!(io.end().code, 130);
    place.ssdyno(&["rm", "1"]).good();
}
