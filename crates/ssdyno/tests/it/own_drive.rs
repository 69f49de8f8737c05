//! `ssdyno replicate DOCUMENT TARGET`: a document's runs on the user's own drive, with its figures
//! next to the published ones, and no files left.

use serde_json::Value;

use crate::common::{Loop, MIB, Place, contents, or_skip, root};

const SIZE: &str = "16MiB";

fn figures(json: &Value) -> Vec<(String, f64, usize)> {
    let list = json["figures"].as_array().expect("figures").iter();
    let read = |f: &Value| {
        let what = f["what"].as_str().expect("a name").trim().to_string();
        let beside = f["beside"].as_array().expect("a list").len();
        (what, f["here"].as_f64().expect("a number"), beside)
    };
    list.map(read).collect()
}

fn steps(json: &Value) -> Vec<(&str, &str)> {
    let list = json["runs"].as_array().expect("runs").iter();
    list.map(|r| (r["step"].as_str().expect("text"), r["method"].as_str().expect("text"))).collect()
}

#[test]
fn document_000_on_a_directory() {
    let place = Place::new();
    let words = ["replicate", "000", ".", "--size", SIZE, "--time", "2s", "--json"];
    let said = place.ssdyno(&words);
    if said.err.contains("refuses direct=1") {
        println!("skipped: {}", said.err);
        return;
    }
    let json = said.good().json();
    let expected = [("mark", "mark"), ("fio-mix", "fio"), ("fio-load", "fio"), ("fio-save", "fio")];
    assert_eq!(steps(&json), expected);
    let figures = figures(&json);
    assert_eq!(figures.len(), 12, "{figures:?}");
    assert!(figures.iter().all(|(_, here, _)| *here > 0.0), "{figures:?}");
    let beside: usize = figures.iter().map(|(.., beside)| beside).sum();
    assert_eq!(beside, 4 * 5 + 4 * 3);
    let mixed = &json["figures"][10];
    assert_eq!(
        (&mixed["what"], &mixed["unit"]),
        (&"fio: 4 KiB at random 80/20, read".into(), &"kB/s".into())
    );
    let first = &mixed["beside"][0];
    assert_eq!(
        (first["published"].as_f64(), &first["of"]),
        (Some(36900.0), &"NVMe Sabrent 512GB, Linux".into())
    );
    let here = mixed["here"].as_f64().expect("a number");
    let difference = first["difference"].as_f64().expect("a number");
    assert!((difference - (here / 36900.0 - 1.0)).abs() < 1e-9);
    assert_eq!(contents(&place.work()).len(), 1, "only the canary");
    assert_eq!(place.runs().len(), 4);
}

#[test]
fn document_002_as_text() {
    let place = Place::new();
    let words = ["replicate", "002", ".", "--size", "4MiB", "--quiet"];
    let said = place.ssdyno(&words).good();
    let row = said.out.lines().find(|l| l.starts_with("iozone rewrite, O_SYNC")).expect("a row");
    assert!(row.contains("4184-4204") && row.contains("four runs on two boards"), "{row}");
    assert!(said.out.contains("fio randrw 75/25, reads"), "{}", said.out);
    assert!(said.out.contains("nothing passes or fails"), "{}", said.out);
    for word in ["met", "MISSED", "tolerance"] {
        assert!(!said.out.split_whitespace().any(|w| w == word), "{}", said.out);
    }
    let only = place.ssdyno(&["replicate", "002", ".", "--size", "4MiB", "--only", "fio"]).good();
    assert!(!only.out.contains("iozone rewrite"), "{}", only.out);
    assert_eq!(contents(&place.work()).len(), 1, "only the canary");
}

#[test]
fn a_device_is_only_read_without_destroy() {
    or_skip!(root());
    let device = or_skip!(Loop::new(32 * MIB, "", &[]));
    let (place, before) = (Place::new(), device.hash());
    let words = ["replicate", "000", &device.path, "--size", SIZE, "--time", "2s", "--json"];
    let json = place.ssdyno(&words).good().json();
    assert_eq!(steps(&json), [("mark", "mark"), ("fio-load", "fio")]);
    assert_eq!(json["left_out"].as_array().map(Vec::len), Some(2));
    assert!(figures(&json).iter().all(|(what, ..)| !what.contains("written")));
    let wrong = place.ssdyno(&[&words[..], &["--destroy=5"]].concat());
    wrong.refuses(3, &device.path);
    assert_eq!(device.hash(), before, "unchanged");
    let given = format!("--destroy={}", 32 * MIB);
    let words = ["replicate", "000", &device.path, "--only", "fio-mix", "--size", "4MiB", &given];
    let said = place.ssdyno(&words).good();
    assert!(said.out.contains("80/20, written"), "{}", said.out);
    assert_ne!(device.hash(), before, "written");
}

#[test]
fn a_dry_run_touches_nothing_and_other_targets_are_refused() {
    let place = Place::new();
    let plan = place.ssdyno(&["replicate", "000", ".", "--size", SIZE, "--dry-run"]).good().out;
    assert!(plan.contains("legacy-hd-read") && plan.contains("fio"), "{plan}");
    assert!(place.is_untouched());
    place.ssdyno(&["replicate", "003", "."]).refuses(2, "003");
    place
        .ssdyno(&["replicate", "000", "sim:qlc-1t"])
        .refuses(2, "neither a directory nor a device");
    place.ssdyno(&["replicate", "000", ".", "--only", "nvme"]).refuses(2, "known: mark, fio-");
    place.ssdyno(&["replicate", "000", "./none"]).refuses(2, "./none");
    assert!(place.is_untouched());
}
