//! The interval for the next run: learnt from comparable runs in the store, and from no others.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use lab::{Event, Options, Recorded, Request, Watcher, Work};
use record::{Covers, Run};

const SMALL: &str = "sim:samsung-970-evo-plus-250?capacity=4GiB";

/// Follows nothing.
struct Quiet;

impl Watcher for Quiet {
    fn event(&mut self, _: &Event) {}

    fn warn(&mut self, line: &str) {
        panic!("{line}");
    }

    fn give_up(&mut self, recorded: Recorded) -> ! {
        panic!("{:?}", recorded.ended);
    }
}

/// The record of `quick` as the store has it.
fn quick(target: &str, seconds: u64, seed: u64, store: &Path) -> Run {
    let request = Request { store: Some(store.to_path_buf()), ..Request::on(target) };
    let time = Some(Duration::from_secs(seconds));
    let options = Options { time, seed, size: Some(64 << 20), ..Options::default() };
    let work = Work::method("quick", &options).expect("a method");
    let begun = request.plan(&work).and_then(|planned| planned.begin(Box::new(Quiet)));
    let recorded = begun.expect("it begins").run(&Arc::new(AtomicBool::new(false)));
    recorded.ended.and(recorded.kept).expect("it ends well");
    let store = store::Store::open(Some(store)).expect("a store");
    store.load(recorded.run.number.expect("stored")).expect("kept")
}

/// The runs that the interval of a cell rests on.
fn rests_on(run: &Run) -> Option<u32> {
    run.metric("rand-read-4KiB-q1").and_then(|metric| metric.runs)
}

#[test]
fn it_rests_on_the_comparable_runs_of_the_drive() {
    let place = tempfile::tempdir().expect("a directory");
    let store = place.path().join("runs");
    let first = quick(SMALL, 6, 1, &store);
    assert_eq!((first.protocol, rests_on(&first)), (Some(2), Some(1)));
    let second = quick(SMALL, 6, 2, &store);
    assert_eq!(rests_on(&second), Some(2));
    // Another time, another drive, and then again the first.
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
    assert!(peers(&first).iter().all(|peer| !peer.whose.starts_with("run ")), "nothing is earlier");
    // Of the runs before it only the second is a repeat: the others ran longer or on another drive.
    let normal = peers(&third).into_iter().find(|peer| peer.metric == "seq-write-1MiB-q8");
    let normal = normal.expect("an earlier run has the figure");
    assert!(normal.whose.starts_with("run 2, "), "{normal:?}");
    let value = second.metric("seq-write-1MiB-q8").and_then(|metric| metric.value);
    assert_eq!((Some(normal.value), normal.differs.len()), (value, 0));
    let width = |run: &Run| {
        let m = run.metric("rand-read-4KiB-q1").expect("measured");
        m.high.zip(m.low).map(|(high, low)| (high / low).ln()).expect("an interval")
    };
    assert!(width(&third) < 0.7 * width(&first), "three runs that agree narrow it");
}

#[test]
fn a_drive_without_variation_has_no_next_time() {
    let place = tempfile::tempdir().expect("a directory");
    let run = quick(&format!("{SMALL}&vary=0"), 6, 1, &place.path().join("runs"));
    assert!(run.metrics.iter().all(|metric| metric.runs.is_none()));
    assert!(run.metrics.iter().all(|metric| metric.covers != Some(Covers::NextRun)));
}
