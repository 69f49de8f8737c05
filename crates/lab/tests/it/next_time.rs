//! Earlier runs in the store. Comparable ones give the interval for the next run; those of other
//! drives on the same port give the host's ceiling.

use std::path::Path;
use std::time::Duration;

use lab::Options;
use record::{Covers, Run};

use crate::recorded::recorded;

const SMALL: &str = "sim:samsung-970-evo-plus-250?capacity=4GiB";

/// Runs `quick` and loads its record from the store.
fn quick(target: &str, seconds: u64, seed: u64, store: &Path) -> Run {
    let time = Some(Duration::from_secs(seconds));
    let options = Options { time, seed, size: Some(64 << 20), ..Options::default() };
    let run = recorded("quick", target, &options, store);
    let store = store::Store::open(Some(store)).expect("a store");
    store.load(run.number.expect("stored")).expect("kept")
}

/// The number of runs on which the interval of `rand-read-4KiB-q1` rests.
fn rests_on(run: &Run) -> Option<u32> {
    run.metric("rand-read-4KiB-q1").and_then(|metric| metric.runs)
}

#[test]
fn the_interval_rests_on_comparable_runs_of_the_drive() {
    let place = tempfile::tempdir().expect("a directory");
    let store = place.path().join("runs");
    let first = quick(SMALL, 6, 1, &store);
    assert_eq!((first.protocol, rests_on(&first)), (Some(3), Some(1)));
    let second = quick(SMALL, 6, 2, &store);
    assert_eq!(rests_on(&second), Some(2));
    // Another duration, another drive, and then the first again.
    assert_eq!(rests_on(&quick(SMALL, 8, 3, &store)), Some(1));
    assert_eq!(rests_on(&quick(&format!("{SMALL}&op=0.2"), 6, 3, &store)), Some(1));
    let third = quick(SMALL, 6, 3, &store);
    assert_eq!(rests_on(&third), Some(3));
    let link = third.target.drive.as_ref().and_then(|d| d.link.as_ref()?.ceiling_bytes_per_s);
    for run in [&first, &third] {
        for metric in run.metrics.iter().filter(|m| m.runs.is_some()) {
            assert_eq!(metric.covers, Some(Covers::NextRun), "{}", metric.name);
            assert!(metric.low < metric.high, "{metric:?}");
            assert!(
                metric.name.starts_with("rand")
                    || metric.name.starts_with("mixed")
                    || metric.high <= link
            );
        }
        let cells = ["seq-read-1MiB-q8", "rand-write-4KiB-q32", "seq-read-just-written-1MiB-q1"];
        assert!(cells.iter().all(|name| run.metric(name).is_some_and(|m| m.runs.is_some())));
        let p50 = run.metric("rand-read-4KiB-q1.p50").expect("measured");
        assert_eq!(p50.runs, None, "a latency has the range of its rounds");
        let answer = run.answer.as_ref().expect("quick has one");
        let tile = answer.tiles.iter().find(|tile| tile.metric == "seq-write-1MiB-q8");
        let metric = run.metric("seq-write-1MiB-q8").expect("measured");
        assert_eq!(tile.map(|tile| (tile.low, tile.high)), Some((metric.low, metric.high)));
    }
    let peers = |run: &Run| run.answer.as_ref().expect("quick has one").peers.clone();
    assert!(
        peers(&first).iter().all(|peer| !peer.whose.starts_with("run ")),
        "there is no earlier run"
    );
    // Run 2 is the latest repeat: the runs after it took longer or used another drive.
    let normal = peers(&third).into_iter().find(|peer| peer.metric == "seq-write-1MiB-q8");
    let normal = normal.expect("an earlier run has the figure");
    assert!(normal.whose.starts_with("run 2, "), "{normal:?}");
    let value = second.metric("seq-write-1MiB-q8").and_then(|metric| metric.value);
    assert_eq!((Some(normal.value), normal.differs.len()), (value, 0));
    let width = |run: &Run| {
        let m = run.metric("rand-read-4KiB-q1").expect("measured");
        m.high.zip(m.low).map(|(high, low)| libm::log(high / low)).expect("an interval")
    };
    assert!(width(&third) < 0.7 * width(&first), "three consistent runs narrow it");
}

/// A history belongs to one specimen of one description, whatever the spelling of its name.
#[test]
fn specimens_and_overrides_of_a_virtual_drive_share_no_history() {
    let place = tempfile::tempdir().expect("a directory");
    let store = place.path().join("runs");
    let file = place.path().join("own.toml");
    let of_file = format!("sim:{}", file.display());
    let write = |dies: u32| {
        let text = format!("name = \"own\"\ncapacity = \"4GiB\"\n[nand]\ndies = {dies}\n");
        std::fs::write(&file, text).expect("written");
    };
    write(8);
    let asked = [
        (SMALL.to_string(), 1),
        (format!("{SMALL}&seed=2"), 1),
        (format!("{SMALL}&unit=65536"), 1),
        // Specimen 1 is the default; the session is not part of the drive.
        (format!("{SMALL}&seed=1"), 2),
        (format!("{SMALL}&vary.session_seed=9"), 3),
        (format!("{SMALL}&unit=65536&seed=2"), 1),
        (format!("{SMALL}&seed=2&unit=65536"), 2),
        (of_file.clone(), 1),
        (of_file.clone(), 2),
    ];
    for (seed, (target, runs)) in (1..).zip(&asked) {
        assert_eq!(rests_on(&quick(target, 2, seed, &store)), Some(*runs), "{target}");
    }
    write(4);
    assert_eq!(
        rests_on(&quick(&of_file, 2, 20, &store)),
        Some(1),
        "the file now describes another drive"
    );
}

#[test]
fn a_drive_without_variation_has_no_interval() {
    let place = tempfile::tempdir().expect("a directory");
    let run = quick(&format!("{SMALL}&vary=0"), 6, 1, &place.path().join("runs"));
    assert!(run.metrics.iter().all(|metric| metric.runs.is_none()));
    assert!(run.metrics.iter().all(|metric| metric.covers != Some(Covers::NextRun)));
}

/// Drives of three models on one slow host all reach the same rate.
#[test]
fn a_rate_reached_by_three_models_on_a_port_is_the_hosts_limit() {
    let place = tempfile::tempdir().expect("a directory");
    let store = place.path().join("runs");
    let ceilings = |run: &Run| {
        let all = run.verdicts.iter().filter(|v| v.kind == record::VerdictKind::HostCeiling);
        let explains: Vec<String> =
            all.flat_map(|v| &v.explains).map(|e| e.metric.clone()).collect();
        explains
    };
    let behind = |drive: &str, host: &str| format!("sim:{drive}?capacity=4GiB&vary=0&host={host}");
    let slow = "riscos-cm4-other-driver";
    let models = ["samsung-970-evo-plus-250", "samsung-980-pro-1t", "wd-sn530-256"];
    let figure = "rand-read-4KiB-q1".to_string();
    for model in &models[..2] {
        let run = quick(&behind(model, slow), 6, 1, &store);
        assert_eq!(ceilings(&run), [""; 0], "two models may agree by chance");
    }
    let elsewhere = quick(&behind(models[2], "riscos-cm4"), 6, 1, &store);
    assert_eq!(ceilings(&elsewhere), [""; 0], "another host");
    let third = quick(&behind(models[2], slow), 6, 1, &store);
    assert!(ceilings(&third).contains(&figure), "{:?}", third.verdicts);
    // Without that host, the limited random rates rise.
    let free = quick(&format!("sim:{}?capacity=4GiB&vary=0", models[2]), 6, 1, &store);
    assert_eq!(ceilings(&free), [""; 0]);
    for name in ceilings(&third).into_iter().filter(|name| name.starts_with("rand")) {
        let value = |run: &Run| run.metric(&name).and_then(|m| m.value).expect("measured");
        assert!(value(&free) > 1.1 * value(&third), "{name}");
    }
}
