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
fn records_without_a_usable_measurement_are_refused() {
    let place = Place::new();
    place.ssdyno(&["io", "null:", "--ops", "10", "--quiet"]).good();
    place.ssdyno(&["drives", "fit", "last"]).refuses(2, "no measurement in these records");
}
