//! `prepare`: a loop device brought into each state, free space trimmed, a virtual drive, and
//! refusals.

use std::fs;
use std::os::unix::fs::MetadataExt;

use serde_json::Value;

use crate::common::{Loop, MIB, Mounted, Place, metric, or_skip, root, verdicts};

const SIZE: &str = "--destroy=33554432";

fn device() -> Result<Loop, String> {
    root()?;
    Loop::new(32 * MIB, "", &[])
}

/// The record of a preparation.
fn prepare(place: &Place, words: &[&str]) -> Value {
    let words = [&["prepare"], words, &["--json", "--quiet"]].concat();
    place.ssdyno(&words).good().json()
}

/// Bytes that the image occupies on its file system.
fn taken(device: &Loop) -> u64 {
    fs::metadata(&device.image).expect("image").blocks() * 512
}

#[test]
fn every_state_and_the_size_left_of_the_image() {
    let device = or_skip!(device());
    let place = Place::new();
    let to = |state: &str, more: &[&str]| {
        prepare(&place, &[&[device.path.as_str(), "--to", state, SIZE], more].concat())
    };
    let filled = to("filled", &[]);
    assert_eq!(filled["state_after"], "filled");
    assert!(taken(&device) >= 32 * MIB, "{}", taken(&device));
    let fresh = to("fresh", &[]);
    assert_eq!((&fresh["state_after"], verdicts(&fresh)), (&"fresh".into(), vec!["ERASED"]));
    assert_eq!(taken(&device), 0, "the discard reached the image");
    let used = to("used", &["--time", "1s"]);
    assert_eq!(used["state_after"], "used");
    assert!(metric(&used, "age").is_some_and(|rate| rate > 0.0));
    let trimmed = to("trimmed", &["--time", "1s"]);
    assert_eq!(trimmed["state_after"], "trimmed");
    assert_eq!(taken(&device), 0);
}

#[test]
fn writing_zeroes_gives_a_filled_drive() {
    let device = or_skip!(device());
    let place = Place::new();
    fs::write(&device.path, vec![7; 32 << 20]).expect("written");
    let record = prepare(&place, &[&device.path, "--to", "fresh", "--zero", SIZE]);
    assert_eq!((&record["state_after"], verdicts(&record)), (&"filled".into(), vec!["ERASED"]));
    let content = fs::read(&device.path).expect("read");
    assert!(content.iter().all(|byte| *byte == 0));
}

#[test]
fn unpermitted_and_impossible_requests_are_refused_in_one_line() {
    let device = or_skip!(device());
    let place = Place::new();
    fs::write(&device.path, vec![7; 32 << 20]).expect("written");
    let before = device.hash();
    let table: [(&[&str], i32, &str); 6] = [
        (&[], 3, "was not opened with --destroy"),
        (&["--destroy=1"], 3, "nothing was touched"),
        (&["--lbaf", "4096", SIZE], 2, "cannot be formatted"),
        (&["--sanitize", SIZE], 2, "needs a whole NVMe drive"),
        (&["--zero", "--sanitize", SIZE], 2, "cannot be used with"),
        (&["--dry-run"], 3, "was not opened with --destroy"),
    ];
    for (more, code, words) in table {
        let line = [&["prepare", &device.path, "--to", "fresh", "--quiet"], more].concat();
        place.ssdyno(&line).refuses(code, words);
        assert_eq!(device.hash(), before, "{more:?}");
    }
    let dry = ["prepare", &device.path, "--to", "used", SIZE, "--dry-run"];
    let plan = place.ssdyno(&dry).good().out;
    assert!(plan.contains("destroys  everything on") && plan.contains("age"), "{plan}");
    assert_eq!(device.hash(), before);
    assert!(place.runs().iter().all(|run| run["method"] == "prepare" && run["complete"] == false));
}

#[test]
fn free_space_of_a_file_system_is_trimmed_and_files_stay() {
    or_skip!(root());
    let device = or_skip!(Loop::new(128 * MIB, "mkfs.ext4 -q", &[]));
    let mounted = or_skip!(Mounted::new(&[&device.path]));
    let place = Place::new();
    let kept = format!("{}/kept", mounted.text());
    fs::write(&kept, vec![9; 1 << 20]).expect("written");
    let first = prepare(&place, &[mounted.text(), "--to", "trimmed"]);
    assert_eq!(first["plan"]["safety"], "scratch");
    assert_eq!(verdicts(&first), ["TRIMMED"]);
    assert!(metric(&first, "trimmed").is_some_and(|bytes| bytes > MIB as f64), "{first}");
    let second = prepare(&place, &[mounted.text(), "--to", "trimmed"]);
    assert_eq!(metric(&second, "trimmed"), Some(0.0), "0 bytes are reported");
    assert!(fs::read(&kept).expect("kept").iter().all(|byte| *byte == 9));
    place.ssdyno(&["prepare", mounted.text(), "--to", "fresh"]).refuses(3, "only be trimmed");
}

#[test]
fn a_prepared_virtual_drive_reports_its_flash_writes() {
    let place = Place::new();
    let drive = "sim:samsung-970-pro-1t?capacity=256MiB";
    let record = prepare(&place, &[drive, "--to", "trimmed"]);
    assert_eq!(record["state_after"], "trimmed");
    assert_eq!(verdicts(&record), ["ERASED", "STEADY", "ERASED"]);
    let of = |health: &Value, name: &str| health[name].as_u64().expect("counted");
    let (before, after) = (&record["target"]["drive"]["health"], &record["health_after"]);
    let host = of(after, "written_bytes") - of(before, "written_bytes");
    let flash = of(after, "flash_written_bytes") - of(before, "flash_written_bytes");
    assert!(host > 2 * 256 * MIB && flash > host, "{host} {flash}");
    let refused = ["prepare", drive, "--to", "fresh", "--lbaf", "520"];
    place.ssdyno(&refused).refuses(2, "no format with blocks of 520");
}
