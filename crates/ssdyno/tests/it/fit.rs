//! `ssdyno drives fit`: the file on disk, and the text around it. `lab` tests how well a fitted
//! drive predicts.

use crate::common::Place;

#[test]
fn a_description_is_fitted_and_written_and_can_be_run() {
    let place = Place::new();
    let drive = "sim:samsung-970-pro-1t?capacity=1GiB";
    place.ssdyno(&["run", drive, "-m", "zones", "--quiet"]).good();
    let fit = ["drives", "fit", "last", "--base", "wd-sn530-256", "-o", "my.toml"];
    let said = place.ssdyno(&fit).good();
    for word in ["undetermined", "heat.ambient_c", "sim:my.toml"] {
        assert!(said.out.contains(word), "{word}: {said:?}");
    }
    place.ssdyno(&fit).good();
    let theirs = "name = \"two-sides\"\n";
    std::fs::write(place.work().join("steps.toml"), theirs).expect("a file");
    let over = ["drives", "fit", "last", "--base", "wd-sn530-256", "-o", "steps.toml"];
    let said = place.ssdyno(&over);
    assert!(said.code == 4 && said.err.contains("not an earlier version"), "{said:?}");
    let kept = std::fs::read_to_string(place.work().join("steps.toml"));
    assert_eq!(kept.expect("there"), theirs);
    let plan = place.ssdyno(&["run", "sim:my.toml", "--dry-run", "--json"]).good();
    assert!(plan.json()["steps"].as_array().is_some_and(|steps| !steps.is_empty()));
}

#[test]
fn a_run_is_held_against_a_twin() {
    let place = Place::new();
    let drive = "sim:samsung-970-pro-1t?capacity=1GiB";
    let quick = |target: &str, seed: &str| {
        let words = ["run", target, "--time", "3s", "--replicates", "2", "--seed", seed, "--quiet"];
        place.ssdyno(&words).good();
    };
    quick(drive, "1");
    let same = place.ssdyno(&["drives", "check", drive, "last"]).good();
    assert!(same.out.starts_with("The same drive as before: all "), "{same:?}");
    quick(&format!("{drive}&link=pcie-2x1"), "2");
    let slow = place.ssdyno(&["drives", "check", drive, "last", "--json"]);
    assert_eq!((slow.code, &slow.json()["verdict"]["changed"]), (1, &"link".into()), "{slow:?}");
    let slow = place.ssdyno(&["drives", "check", drive, "last"]);
    for word in ["and the link explains it", "heat", "excluded", "0.2"] {
        assert!(slow.code == 1 && slow.out.contains(word), "{word}: {slow:?}");
    }
    // A fitted twin names its runs, so that a repeat is compared with them, however far it is itself.
    let id = place.ssdyno(&["show", "1", "--json"]).good().json()["id"].clone();
    let head = format!("# Fitted by ssdyno drives fit\n# run {}\n", id.as_str().expect("an id"));
    let body = "name = \"x\"\nmodel = \"Samsung SSD 970 PRO 1TB\"\ncapacity = \"1GiB\"\n";
    std::fs::write(place.work().join("my.toml"), head + body).expect("a file");
    quick(drive, "3");
    let same = place.ssdyno(&["drives", "check", "my.toml", "last"]).good();
    assert!(same.out.contains("earlier run"), "{same:?}");
    place.ssdyno(&["drives", "check", "no-such-twin", "1"]).refuses(2, "no such drive");
    place.ssdyno(&["io", drive, "--ops", "10", "--rw", "write", "--quiet"]).good();
    let check = ["drives", "check", drive, "last", "--json"];
    place.ssdyno(&check).refuses(2, "which is no method");
}

#[test]
fn records_without_a_usable_measurement_are_refused() {
    let place = Place::new();
    place.ssdyno(&["io", "null:", "--ops", "10", "--quiet"]).good();
    place.ssdyno(&["drives", "fit", "last"]).refuses(2, "no measurement in these records");
}
