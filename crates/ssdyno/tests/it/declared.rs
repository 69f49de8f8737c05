//! Commands that are not methods store metrics, too. All of these are declared, with their units.

use lab::work;
use record::{MetricKey, Unit};
use serde_json::Value;

use crate::common::Place;

const DRIVE: &str = "sim:samsung-970-evo-plus-250?capacity=1GiB";

/// Metrics of a record that its command does not declare, and the declarations that were used.
fn compared(record: &Value) -> (Vec<String>, Vec<&'static str>) {
    let method = record["method"].as_str().expect("a method");
    let info = work::described().find(|info| info.name == method).expect(method);
    let (mut others, mut met) = (Vec::new(), Vec::new());
    for metric in record["metrics"].as_array().expect("metrics") {
        let name = metric["name"].as_str().expect("a name");
        let unit: Unit = serde_json::from_value(metric["unit"].clone()).expect("a unit");
        match info.declaration(&MetricKey::parse(name)).filter(|d| d.unit == unit) {
            Some(declared) => met.push(declared.name),
            None => others.push(format!("{method}: {name}")),
        }
    }
    (others, met)
}

/// Asserts that every metric of these records is declared, and every declaration used except
/// `unmet`.
fn check(method: &str, records: &[Value], unmet: &[&str]) {
    let (others, met): (Vec<_>, Vec<_>) = records.iter().map(compared).unzip();
    assert_eq!(others.concat(), Vec::<String>::new());
    let met = met.concat();
    let info = work::described().find(|info| info.name == method).expect(method);
    let never: Vec<_> = info.metrics().map(|m| m.name).filter(|n| !met.contains(n)).collect();
    assert_eq!(never, unmet);
}

#[test]
fn the_metrics_of_io_workloads_are_declared() {
    let place = Place::new();
    let file = place.file("target", 16 << 20);
    let on_drive = |words: &str| place.io(&format!("{DRIVE} --time 100ms {words}"));
    let verified = format!("{file} --destroy=16777216 --rw write --bs 64k --size 4MiB --verify");
    check(
        "io",
        &[
            on_drive("--rw randread --bs 4k --depth 8"),
            on_drive("--rw randrw --mix 70 --bs 4k"),
            on_drive("--rw randrw --mix 70 --bs 4k --rate 2000000"),
            on_drive("--rw write --bs 64k --flush-every 8"),
            place.io(&verified),
        ],
        &[],
    );
}

#[test]
fn the_metrics_of_preparations_are_declared() {
    let place = Place::new();
    let to = |state| {
        let words = ["prepare", DRIVE, "--to", state, "--json", "--quiet"];
        place.ssdyno(&words).good().json()
    };
    // Only a directory's file system trims its free space, and not all of them do.
    check("prepare", &["fresh", "filled", "used", "trimmed"].map(to), &["trimmed"]);
}

#[test]
fn the_metrics_of_jobs_and_of_experiments_are_declared() {
    let place = Place::new();
    let store = place.text("s.sqlite");
    let filename = "--filename=sim:sd-150x";
    let jobs = ["fio", filename, "--size=4m", "--bs=64k", "--name=a.b", "--rw=randrw"];
    let more = ["--name=c", "--rw=trim", "--rate_iops=100", "--rate_process=poisson"];
    // Jobs of the same shape are numbered in the names that they share with imported results.
    let reads = ["--name=d", "--rw=read", "--name=e", "--rw=read"];
    let random = ["--name=f", "--rw=randread", "--name=g", "--rw=randread"];
    place.ssdyno(&[&jobs[..], &more, &reads, &random].concat()).good();
    let fio = place.ssdyno(&["show", "1", "--json"]).good().json();
    check("fio", &[fio], &[]);
    let only = ["replicate", "003", "--only", "c300-aligned", "--store", &store, "--quiet"];
    place.ssdyno(&only);
    let steps = place.ssdyno(&["show", "1", "--json", "--store", &store]).good().json();
    let (others, met) = compared(&steps);
    assert!(others.is_empty() && met.len() > 5, "{others:?}, {met:?}");
}
