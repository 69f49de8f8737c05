//! Methods that detect a drive's internals, as run by a user: on a loop device opened with
//! `--destroy`, on a directory, and on a file system that one of them fills. Their speed is not
//! checked.

use std::fs;

use serde_json::Value;

use crate::common::{Loop, MIB, Mounted, Place, metric, or_skip, root, verdicts};

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
    for method in ["geometry", "cluster"] {
        place.ssdyno(&["run", ".", "-m", method]).refuses(3, "needs a whole drive");
    }
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
