//! Whether a figure is the drive's: reads from memory are reported as such, others are not.

use std::path::Path;

use serde_json::Value;

use crate::common::{Place, metric, or_skip, verdicts, warnings};

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
