//! The target `null:nvme`: methods on the NVMe driver with a simulated controller.

use crate::common::{Place, metric, warnings};

#[test]
fn data_written_through_the_driver_verify() {
    let place = Place::new();
    let line = "null:nvme --rw randrw --verify --jobs 2 --depth 16 --bs 16KiB --size 64MiB \
                --ops 4000";
    let record = place.io(line);
    assert_eq!(record["environment"]["backend"], "nvme");
    assert_eq!(record["errors"].as_array().map_or(0, Vec::len), 0, "{record}");
    assert!(!warnings(&record).contains(&"served-from-ram"), "{:?}", warnings(&record));
    let paced = place.io("null:nvme --rate 2000 --time 500ms --depth 32");
    let iops = metric(&paced, "iops").expect("measured");
    assert!((iops / 2000.0 - 1.0).abs() < 0.2, "{iops}");
}

#[test]
fn methods_run_on_it_and_a_recording_is_complete() {
    let place = Place::new();
    let stream = ["run", "null:nvme", "-m", "stream", "--size", "96MiB", "--file", "16MiB"];
    let record = place.ssdyno(&[&stream[..], &["--json", "--quiet"]].concat()).good().json();
    assert!(metric(&record, "stream-exfat").is_some_and(|rate| rate > 0.0), "{record}");
    assert!(!warnings(&record).contains(&"volume-damaged"), "{:?}", warnings(&record));
    let quick = ["run", "null:nvme", "--size", "64MiB", "--time", "2s", "--json", "--quiet"];
    let record = place.ssdyno(&quick).good().json();
    assert_eq!(record["complete"], true);
}

#[test]
fn it_has_no_other_backend() {
    let place = Place::new();
    place
        .ssdyno(&["io", "null:nvme", "--backend", "uring"])
        .refuses(2, "does not support the backend uring");
}
