//! Whole devices: reads only by default, writes with `--destroy`; and a small card.

use std::fs;

use serde_json::Value;

use crate::common::{Loop, MIB, Mounted, Place, metric, or_skip, root, tool};

/// Fills an image with varying bytes, so that a lost write would be detected.
fn written(bytes: u64, options: &[&str]) -> Result<Loop, String> {
    root()?;
    let device = Loop::new(bytes, "", options)?;
    let content: Vec<u8> = (0..bytes).map(|i| (i / 512 * 37 + i) as u8).collect();
    fs::write(&device.path, content).map_err(|e| e.to_string())?;
    tool("sync", &[&device.path])?;
    Ok(device)
}

#[test]
fn a_device_is_read_and_not_changed() {
    let device = or_skip!(written(16 * MIB, &[]));
    let place = Place::new();
    let before = device.hash();
    let said = place.ssdyno(&["run", &device.path, "--time", "1s", "--json", "--quiet"]).good();
    let record = said.json();
    assert_eq!(record["plan"]["safety"], "reads");
    assert_eq!(record["plan"]["write_bytes_max"], 0);
    assert_eq!(record["target"]["kind"], "device");
    assert!(metric(&record, "rand-read-4KiB-q32").is_some());
    assert!(metric(&record, "rand-write-4KiB-q32").is_none());
    let text = place.ssdyno(&["run", &device.path, "--time", "1s", "--dry-run"]).good().out;
    assert!(text.contains("reads only") && text.contains("changes nothing"), "{text}");
    assert_eq!(device.hash(), before);
}

#[test]
fn a_device_is_written_with_destroy() {
    let device = or_skip!(written(16 * MIB, &[]));
    let place = Place::new();
    let before = device.hash();
    let run = ["run", &device.path, "--time", "1s", "--destroy=16777216"];
    let planned = place.ssdyno(&[&run[..], &["--dry-run"]].concat()).good().out;
    assert!(planned.contains("destroys  everything on"), "{planned}");
    assert_eq!(device.hash(), before);
    let record = place.ssdyno(&[&run[..], &["--json", "--quiet"]].concat()).good().json();
    assert!(metric(&record, "rand-write-4KiB-q32").is_some());
    assert_eq!(record["plan"]["safety"], "destroys");
    assert_ne!(device.hash(), before);
}

#[test]
fn a_device_is_listed_with_the_permitted_operations() {
    or_skip!(root());
    let device = or_skip!(Loop::new(16 * MIB, "mkfs.ext4 -q -b 4096 -L card", &["-b", "4096"]));
    let place = Place::new();
    let find = |list: &Value| {
        let list = list.as_array().expect("a list");
        list.iter().find(|d| d["drive"]["name"] == device.name()).expect("listed").clone()
    };
    let listed = find(&place.ssdyno(&["list", "--json"]).good().json());
    assert_eq!(listed["drive"]["bytes"], 16 * MIB);
    assert_eq!(listed["drive"]["logical_block_bytes"], 4096);
    assert_eq!(listed["contents"][0]["kind"], "ext4");
    assert_eq!(listed["contents"][0]["label"], "card");
    assert_eq!(listed["backing_file"], device.image.to_str().expect("UTF-8"));
    assert_eq!(listed["allowance"]["most"], "destroys");
    assert_eq!(listed["allowance"]["confirm"], "16777216");
    let mounted = or_skip!(Mounted::new(&[&device.path]));
    let listed = find(&place.ssdyno(&["list", "--json"]).good().json());
    assert_eq!(listed["allowance"]["most"], "reads");
    assert!(listed["allowance"]["confirm"].is_null());
    assert_eq!(listed["mounts"][0]["mount"], mounted.text());
    let text = place.ssdyno(&["list"]).good().out;
    let line = text.lines().find(|line| line.starts_with(&device.path)).expect("its line");
    assert!(line.contains("read") && line.contains(mounted.text()), "{text}");
    let text = place.ssdyno(&["list", "--verbose"]).good().out;
    assert!(text.contains(&device.path) && text.contains("reads only: "), "{text}");
}

#[test]
fn a_small_card_with_fat_is_measured() {
    or_skip!(root());
    let card = or_skip!(Loop::new(96 * MIB, "mkfs.vfat", &[]));
    let mounted = or_skip!(Mounted::new(&[&card.path]));
    let place = Place::new();
    let run = ["run", mounted.text(), "--size", "8MiB", "--time", "2s"];
    let record = place.ssdyno(&[&run[..], &["--json", "--quiet"]].concat()).good().json();
    assert_eq!(record["target"]["filesystem"]["kind"], "vfat");
    assert!(metric(&record, "seq-write-1MiB-q8").is_some());
    assert_eq!(fs::read_dir(&mounted.dir).expect("a directory").count(), 0);
    let refused = ["run", mounted.text(), "--size", "33MiB"];
    place.ssdyno(&refused).refuses(3, "must stay free");
}

#[test]
fn space_trimmed_by_a_file_system_is_inspected() {
    or_skip!(root());
    let device = or_skip!(Loop::new(256 * MIB, "mkfs.ext4 -q", &[]));
    let mounted = or_skip!(Mounted::new(&[&device.path]));
    let place = Place::under(std::path::Path::new(mounted.text()));
    let run = ["run", ".", "-m", "trim", "--size", "16MiB", "--json", "--quiet"];
    let record = place.ssdyno(&run).good().json();
    assert_eq!(metric(&record, "trim-canary.zeros"), Some(1.0));
    assert!(record["verdicts"].to_string().contains("TRIM WORKS"), "{}", record["verdicts"]);
}
