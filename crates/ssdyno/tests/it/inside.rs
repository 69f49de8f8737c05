//! Methods that detect a drive's internals, as run by a user: on a loop device opened with
//! `--destroy`, on a directory, and on a file system that one of them fills. Their speed is not
//! checked.

use std::fs;

use serde_json::Value;

use crate::common::{Loop, MIB, Mounted, Place, metric, or_skip, root, verdicts, warnings};

const BYTES: u64 = 64 * MIB;

/// The complete record, with an answer, of a method on a target.
fn run(place: &Place, target: &str, method: &str, more: &[&str]) -> Value {
    let words = ["run", target, "-m", method, "--json", "--quiet"];
    let record = place.ssdyno(&[&words[..], more].concat()).good().json();
    assert_eq!(record["complete"], true, "{method}: {record}");
    assert_eq!(record["errors"].as_array().map(Vec::len), Some(0), "{method}");
    assert!(record["answer"]["headline"].is_string(), "{method}: {}", record["answer"]);
    record
}

/// Methods that end soon, each with the options to shorten it.
const SHORT: [(&str, &[&str]); 8] = [
    ("wear", &["--amount", "80MiB"]),
    ("restore", &[]),
    ("fake", &[]),
    ("iometer", &["--time", "1s"]),
    ("curve", &["--time", "1s"]),
    ("power", &["--time", "1s"]),
    ("authentic", &["--time", "2s"]),
    ("sdclass", &["--time", "1s"]),
];

#[test]
fn on_a_loop_device_each_ends_with_an_answer() {
    or_skip!(root());
    let device = or_skip!(Loop::new(BYTES, "", &[]));
    let place = Place::new();
    let away = format!("--destroy={BYTES}");
    let devices_alone: [(&str, &[&str]); 3] =
        [("geometry", &[]), ("cluster", &["--size", "16MiB"]), ("stream", &[])];
    for (method, more) in SHORT.into_iter().chain(devices_alone) {
        let record = run(&place, &device.path, method, &[more, &[&away]].concat());
        match method {
            "wear" => {
                assert_eq!(verdicts(&record)[0], "ENDURED");
                assert_eq!(metric(&record, "wear-written"), Some(80.0 * MIB as f64));
            }
            "fake" => {
                assert_eq!(verdicts(&record)[0], "CAPACITY REAL");
                assert_eq!(metric(&record, "fake-capacity"), Some(BYTES as f64));
            }
            _ => {}
        }
    }
}

#[test]
fn an_image_restored_to_a_loop_device_equals_its_source() {
    or_skip!(root());
    let device = or_skip!(Loop::new(BYTES, "", &[]));
    let place = Place::new();
    let source: Vec<u8> = (0..20 * MIB).map(|i| (i / 4096 * 7 + i % 251) as u8).collect();
    fs::write(place.path("source"), &source).expect("a file");
    let (from, image) = (place.text("source"), place.text("image"));
    place.ssdyno(&["image", "make", &from, &image]).good();
    let away = format!("--destroy={BYTES}");
    run(&place, &device.path, "restore", &["--image", &image, &away]);
    let written = fs::read(&device.path).expect("the device");
    assert!(written[..source.len()] == source[..], "the device differs from the source");
}

#[test]
fn an_image_that_would_fill_its_file_system_is_not_made() {
    or_skip!(root());
    let device = or_skip!(Loop::new(2 * BYTES, "mkfs.ext4 -q -m 0", &[]));
    let mounted = or_skip!(Mounted::new(&[&device.path]));
    let place = Place::new();
    // 48 MiB that do not compress, into the 40 MiB beyond the 64 that stay free.
    let noise = |i: u64| (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ i >> 7).to_le_bytes();
    let source: Vec<u8> = (1..6 * MIB).flat_map(noise).collect();
    fs::write(place.path("source"), &source[..source.len() / 512 * 512]).expect("a file");
    let image = format!("{}/image", mounted.text());
    place.ssdyno(&["image", "make", &place.text("source"), &image]).refuses(3, "no room for");
    let left: Vec<_> = fs::read_dir(mounted.text()).expect("a directory").flatten().collect();
    assert!(left.iter().all(|entry| entry.file_name() == "lost+found"), "{left:?}");
}

#[test]
fn in_a_directory_each_ends_with_an_answer_and_leaves_nothing() {
    let place = Place::new();
    for (method, more) in SHORT {
        let record = run(&place, ".", method, &[more, &["--size", "64MiB"]].concat());
        assert_eq!(place.left_behind(), Vec::<String>::new(), "{method}");
        if method == "fake" {
            // A file is not the drive, so nothing is reported about its capacity.
            assert_eq!(metric(&record, "fake-capacity"), None);
        }
    }
    place.ssdyno(&["run", ".", "-m", "geometry"]).refuses(3, "needs a whole drive");
}

/// Methods that take a file in place of a drive, each with options to shorten it.
const IN_FILES: [(&str, &[&str]); 6] = [
    ("sustain", &[]),
    ("states", &["--time", "90s"]),
    ("zones", &["--time", "2s"]),
    ("align", &["--time", "3s"]),
    ("heat", &["--time", "9s"]),
    ("cluster", &[]),
];

#[test]
fn in_a_directory_a_file_takes_the_place_of_the_drive_and_nothing_is_left() {
    let place = Place::new();
    for (method, more) in IN_FILES {
        let record = run(&place, ".", method, &[more, &["--size", "32MiB"]].concat());
        assert_eq!(place.left_behind(), Vec::<String>::new(), "{method}");
        assert_eq!(metric(&record, "file-bytes"), Some(32.0 * MIB as f64), "{method}");
        let warnings = warnings(&record);
        assert!(warnings.contains(&"measured-in-file"), "{method}: {warnings:?}");
    }
    let existing = place.text("existing");
    fs::write(&existing, vec![1; 32 << 20]).expect("a file");
    place.ssdyno(&["run", &existing, "-m", "sustain"]).refuses(3, "its size in bytes");
    let away = format!("--destroy={}", 32 * MIB);
    run(&place, &existing, "sustain", &[&away]);
}

/// The largest answer that a file system allows: at least what fits beside what stays free.
#[test]
fn on_a_nearly_full_file_system_sustain_says_at_least_and_in_memory_nothing() {
    or_skip!(root());
    let place = Place::new();
    let device = or_skip!(Loop::new(4 * BYTES, "mkfs.ext4 -q -m 0", &[]));
    let mounted = or_skip!(Mounted::new(&[&device.path]));
    // 40 MiB more than what stays free.
    let free = rustix::fs::statvfs(mounted.text()).map(|s| s.f_bavail * s.f_frsize);
    let others = free.expect("mounted") - 104 * MIB;
    fs::write(format!("{}/others", mounted.text()), vec![1; others as usize]).expect("room");
    let words = ["run", mounted.text(), "-m", "sustain"];
    place.ssdyno(&[&words[..], &["--size", "48MiB"]].concat()).refuses(3, "must stay free");
    let record = run(&place, mounted.text(), "sustain", &[]);
    let bytes = metric(&record, "file-bytes").expect("in a file");
    assert!((30.0..=40.0).contains(&(bytes / MIB as f64)), "{bytes}");
    let headline = record["answer"]["headline"].as_str().expect("an answer").to_string();
    assert!(headline.starts_with("At least ") || headline.contains("may end later"), "{headline}");
    let left: Vec<_> = fs::read_dir(mounted.text()).expect("a directory").flatten().collect();
    assert_eq!(left.len(), 2, "{left:?}");
    let memory = or_skip!(Mounted::new(&["-t", "tmpfs", "-o", "size=256m", "tmpfs"]));
    place.ssdyno(&["run", memory.text(), "-m", "sustain"]).refuses(3, "is in memory");
}

#[test]
fn fake_fills_a_mounted_drive_while_other_methods_leave_room() {
    or_skip!(root());
    let device = or_skip!(Loop::new(BYTES, "mkfs.ext4 -q -m 0", &[]));
    let mounted = or_skip!(Mounted::new(&[&device.path]));
    let place = Place::new();
    // 51 of the 54 MiB that ext4 leaves free of 64.
    let words = ["run", mounted.text(), "--size", "51MiB"];
    place.ssdyno(&[&words[..], &["-m", "speed"]].concat()).refuses(3, "must stay free");
    let said = place.ssdyno(&[&words[..], &["-m", "fake"]].concat()).good();
    let line = format!("fills     {}: ", mounted.text());
    assert!(said.err.contains(&line), "{said:?}");
    assert!(said.out.contains("All 53.5 MB written to the file came back."), "{said:?}");
}

#[test]
fn a_counterfeit_card_ends_with_1_and_a_genuine_one_with_0() {
    let place = Place::new();
    for (card, code) in [("sim:sd-150x?alias=wrap&real=1GiB", 1), ("sim:sd-150x", 0)] {
        let said = place.ssdyno(&["run", card, "-m", "fake", "--seed", "1", "--quiet"]);
        assert_eq!(said.code, code, "{card}: {said:?}");
    }
    // The first result does not end the command.
    let both = ["run", "sim:sd-150x?alias=wrap&real=1GiB", "sim:sd-class2", "-m", "fake"];
    let said = place.ssdyno(&[&both[..], &["--seed", "1", "--quiet"]].concat());
    assert_eq!(said.code, 1, "{said:?}");
    assert_eq!(place.runs().len(), 4);
}
