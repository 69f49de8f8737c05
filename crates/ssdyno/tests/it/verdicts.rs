//! Whether a figure is the drive's: reads from memory are reported as such, others are not.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::common::{Place, Said, metric, or_skip, verdicts, warnings};

/// Checks that the target is on a known drive other than memory, and that the page cache can be
/// bypassed.
fn on_a_drive(record: &Value) -> Result<(), String> {
    let target = &record["target"];
    match () {
        () if target["drive"].is_null() => Err("no drive is known under the directory".into()),
        () if target["drive"]["ram"] == true => Err("the directory is in memory".into()),
        () if target["direct"] != true => Err("the file system refuses O_DIRECT".into()),
        () => Ok(()),
    }
}

#[test]
fn reads_that_bypass_the_cache_reach_the_drive() {
    let place = Place::new();
    let record = place.io(". --rw read --bs 1M --depth 4 --size 16MiB --coverage 4");
    or_skip!(on_a_drive(&record));
    // A guest of a hypervisor knows only that the reads left it.
    let guest = !record["environment"]["hypervisor"].is_null();
    let expected = if guest { "GUEST" } else { "DRIVE" };
    assert!(verdicts(&record).contains(&expected), "{}", record["verdicts"]);
    assert!(!verdicts(&record).contains(&"RAM"));
    assert!(!warnings(&record).contains(&"served-from-ram"));
}

#[test]
fn buffered_reads_of_a_cached_file_are_from_memory() {
    let place = Place::new();
    let record = place.io(". --rw read --bs 1M --size 16MiB --coverage 1");
    or_skip!(on_a_drive(&record));
    let record = place.io(". --rw read --bs 1M --size 16MiB --coverage 8 --buffered");
    assert!(verdicts(&record).contains(&"RAM"), "{}", record["verdicts"]);
    let text = place.ssdyno(&["show"]).good().out;
    assert!(text.contains("RAM"), "{text}");
}

#[test]
fn a_file_system_in_memory_is_reported_as_memory() {
    let shm = Path::new("/dev/shm");
    if !shm.is_dir() {
        println!("skipped: no /dev/shm");
        return;
    }
    let place = Place::under(shm);
    let run = ["run", ".", "--time", "1s", "--size", "8MiB", "--json", "--quiet"];
    let record = place.ssdyno(&run).good().json();
    assert!(verdicts(&record).contains(&"RAM"), "{}", record["verdicts"]);
    assert!(warnings(&record).contains(&"served-from-ram"), "{}", record["warnings"]);
    assert!(metric(&record, "seq-read-1MiB-q8").is_some());
}

#[test]
fn the_null_target_is_not_a_drive() {
    let place = Place::new();
    let record = place.io("null: --ops 1000 --depth 8");
    assert_eq!(record["target"]["kind"], "null");
    assert!(!verdicts(&record).contains(&"DRIVE"), "{}", record["verdicts"]);
}

/// A process that keeps a processor busy until it is dropped.
struct Busy(std::process::Child);

impl Busy {
    /// On this processor; an error without the command that binds it.
    fn on(processor: &str) -> Result<Busy, String> {
        let words = ["-c", processor, "sh", "-c", "while :; do :; done"];
        let busy = Command::new("taskset").args(words).spawn();
        busy.map(Busy).map_err(|e| format!("no taskset: {e}"))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.kill().expect("killed");
        self.0.wait().expect("ended");
    }
}

/// The first processor that this process may use.
fn processor() -> Option<String> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    list.trim().split([',', '-']).next().map(String::from)
}

#[test]
fn a_busy_process_on_the_same_processor_is_the_cause_and_not_the_drive() {
    let place = Place::new();
    let processor = or_skip!(processor().ok_or("the processors are not known"));
    let busy = [or_skip!(Busy::on(&processor)), or_skip!(Busy::on(&processor))];
    let io = "io . --rw randread --bs 4k --size 16MiB --time 3s --json --quiet";
    let words = ["-c", &processor, env!("CARGO_BIN_EXE_ssdyno")];
    let words: Vec<&str> = words.into_iter().chain(io.split(' ')).collect();
    let said = place.command_of(Path::new("taskset"), &words).output().expect("starts");
    drop(busy);
    let record = Said::of(said).good().json();
    or_skip!(on_a_drive(&record));
    let found = verdicts(&record);
    assert!(found.contains(&"CPU SHARED"), "{}", record["verdicts"]);
    assert!(!found.contains(&"FILE SYSTEM") && !found.contains(&"UNDETERMINED"), "{found:?}");
}

/// The number of this name in the evidence of a warning or a verdict.
fn evidence(list: &Value, name: &str, number: &str) -> Option<f64> {
    let entry = list.as_array()?.iter().find(|entry| entry["name"] == name)?;
    let evidence = entry["evidence"].as_array()?;
    evidence.iter().find(|evidence| evidence["name"] == number)?["value"].as_f64()
}

#[test]
fn a_mean_over_the_end_of_a_cache_is_of_neither_rate() {
    let place = Place::new();
    let drive = "sim:crucial-p2-500-qlc?capacity=8GiB";
    let record = place.io(&format!("{drive} --rw randwrite --bs 8k --jobs 8 --time 120s"));
    let said = &record["warnings"];
    assert!(warnings(&record).contains(&"rate-changed"), "{said}");
    let levels = ["rate before", "rate after"];
    let [before, after] = levels.map(|level| evidence(said, "rate-changed", level));
    let mean = metric(&record, "throughput");
    assert!(before > mean && mean > after && after.is_some(), "{before:?} {mean:?} {after:?}");
    assert_ne!(record["answer"]["stamp"], "believable", "{}", record["answer"]);
    // Both texts give the same numbers.
    let concluded = &record["verdicts"];
    assert!(verdicts(&record).contains(&"CACHE END"), "{concluded}");
    assert_eq!(levels.map(|level| evidence(concluded, "CACHE END", level)), [before, after]);
}

#[test]
fn the_split_of_a_virtual_drive_adds_up_to_its_time() {
    let place = Place::new();
    let drive = "sim:samsung-980-pro-1t?host.command_us=40";
    let record = place.io(&format!("{drive} --rw randread --bs 4k --time 1s"));
    let time = |part: &str| metric(&record, &format!("time-{part}")).unwrap_or(0.0);
    let whole = time("total");
    let host = time("host") / 40_000.0;
    assert!((host - 1.0).abs() < 0.05 && time("drive") > 0.0, "{}", record["metrics"]);
    let sum = time("drive") + time("link") + time("host") + time("unexplained");
    assert!((sum / whole - 1.0).abs() < 0.001 && time("unexplained") <= 0.05 * whole, "{sum}");
}
