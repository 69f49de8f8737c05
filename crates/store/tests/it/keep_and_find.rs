//! Stored records are read back unchanged and can be found by various properties.

use std::path::PathBuf;

use crate::samples::{any_run, document, run, series, values};
use proptest::prelude::*;
use record::{Evidence, Metric, Run, Series, TargetKind, Unit, Verdict, VerdictKind};
use store::{Filter, Point, Store, StoreError};

/// Imports one record and returns its number.
fn import(store: &mut Store, run: &Run) -> Result<i64, StoreError> {
    Ok(store.import(&[document(run)])?[0].number)
}

/// A new store in its own directory.
fn new_store() -> (tempfile::TempDir, Store) {
    let dir = tempfile::tempdir().expect("a directory");
    let store = Store::open(Some(&dir.path().join("runs.sqlite"))).expect("a new store");
    (dir, store)
}

fn append(store: &mut Store, number: i64, series: &Series) {
    for i in 0..series.t_ns.len() {
        let (workload, replicate) = (series.name.as_str(), series.replicate);
        let (start_ns, t_ns) = (series.start_ns, series.t_ns[i]);
        let point = Point { workload, replicate, start_ns, t_ns, values: &values(i as u64) };
        store.append(number, &point).expect("kept");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn every_record_is_read_back_unchanged(first in any_run(), second in any_run()) {
        let (_dir, mut store) = new_store();
        let number = store.begin(&first).expect("begun");
        // The same run, with everything changed.
        let last = Run { id: first.id.clone(), number: Some(number), ..second };
        store.update(&last).expect("kept");
        store.finish(&last).expect("kept");
        let read = store.load(number).expect("readable");
        let killed = (!last.complete).then(|| "killed".to_string());
        let expected = Run { cut_short: last.cut_short.clone().or(killed), ..last };
        prop_assert_eq!(&read, &expected);

        let (_dir, mut elsewhere) = new_store();
        prop_assert_eq!(import(&mut elsewhere, &read).expect("imported"), 1);
        prop_assert_eq!(elsewhere.load(1).expect("readable"), Run { number: Some(1), ..expected });
    }
}

#[test]
fn virtual_drives_do_not_displace_the_drives_of_a_machine() {
    let (_dir, mut store) = new_store();
    let mut real = Run { complete: true, ..run("quick", "X1", "S1") };
    real.environment.machine_id = Some("m".into());
    let mut simulated = Run { complete: true, ..run("quick", "X2", "S2") };
    simulated.environment.machine_id = Some("m".into());
    (simulated.target.kind, simulated.target.spec) = (TargetKind::Virtual, "sim:a".into());
    import(&mut store, &real).expect("imported");
    import(&mut store, &simulated).expect("imported");
    let found = |simulated| {
        let runs = store.of_machine("m", "quick", i64::MAX, 1, simulated).expect("readable");
        runs.iter().map(|run| run.number).collect::<Vec<_>>()
    };
    assert_eq!((found(false), found(true)), (vec![Some(1)], vec![Some(2)]));
}

#[test]
fn a_run_is_stored_from_its_start() {
    let (dir, mut store) = new_store();
    let mut it = run("quick", "X1", "S1");
    let number = store.begin(&it).expect("begun");
    let other = Store::open(Some(&dir.path().join("runs.sqlite"))).expect("a second reader");
    let seen = other.load(number).expect("readable");
    assert_eq!((seen.complete, seen.cut_short), (false, None), "still running");
    assert!(other.runs(&Filter::default()).expect("a list")[0].running);

    append(&mut store, number, &series("seq-read", 0, 25));
    it.metrics = vec![Metric::single("seq-read-1MiB-q8", Unit::BytesPerSecond, 5e9)];
    store.update(&it).expect("kept");
    let seen = other.load(number).expect("readable");
    assert_eq!(seen.metrics, it.metrics);
    assert_eq!(seen.series, [series("seq-read", 0, 25)], "an update writes waiting points");

    // Dropping the store without finishing leaves the run cut short, with the results so far.
    append(&mut store, number, &series("seq-read", 1, 3));
    drop(store);
    let seen = other.load(number).expect("readable");
    assert_eq!((seen.complete, seen.cut_short.as_deref()), (false, Some("killed")));
    assert_eq!(seen.series, [series("seq-read", 0, 25), series("seq-read", 1, 3)]);
}

#[test]
fn the_finished_record_replaces_series_appended_under_the_same_name() {
    let (_dir, mut store) = new_store();
    let mut it = run("quick", "X1", "S1");
    let number = store.begin(&it).expect("begun");
    for (replicate, points) in [(0, 10), (1, 20), (2, 30)] {
        append(&mut store, number, &series("a", replicate, points));
        store.flush(number).expect("kept");
    }
    it.complete = true;
    it.series = vec![series("b", 0, 5), series("a", 1, 21)];
    store.finish(&it).expect("kept");
    let names: Vec<_> = store.load(number).expect("readable").series;
    let [b, a] = [it.series[0].clone(), it.series[1].clone()];
    assert_eq!(names, [b, a, series("a", 0, 10), series("a", 2, 30)]);
    let point = Point { workload: "a", replicate: 0, start_ns: 0, t_ns: 0, values: &[] };
    assert!(
        matches!(store.append(number, &point), Err(StoreError::NoSuchRun(_))),
        "the run has finished"
    );
}

#[test]
fn numbers_ids_and_last_find_a_run() {
    let (_dir, mut store) = new_store();
    assert!(matches!(store.find("last"), Err(StoreError::NoRuns)));
    for id in ["01AAAA", "01AAAB", "01AAABZ", "01B100%"] {
        store.begin(&Run { id: id.into(), ..run("quick", "X1", "S1") }).expect("begun");
    }
    let find = |what: &str| store.find(what).map_err(|e| e.to_string());
    for (what, number) in
        [("last", 4), ("1", 1), ("4", 4), ("01AAAA", 1), ("01b", 4), ("01AAAB", 2), ("01AAABz", 3)]
    {
        assert_eq!(find(what), Ok(number), "{what}");
    }
    for what in ["5", "-1", "", "0", "x", "01%", "last ", "99999999999999999999"] {
        assert!(find(what).is_err(), "{what}");
    }
    assert_eq!(find("01A"), Err("'01A' is ambiguous: 01AAAA, 01AAAB, 01AAABZ".into()));
    assert_eq!(find("77"), Err("no run '77' in the store".into()));
}

#[test]
fn a_list_is_filtered_by_drive_method_and_date() {
    let (_dir, mut store) = new_store();
    for (i, (method, model, serial)) in
        [("quick", "X1 Pro", "S100"), ("authentic", "Y2", "S200"), ("quick", "Y2", "T300")]
            .into_iter()
            .enumerate()
    {
        let started = format!("2026-11-{:02}T00:30:00+01:00", 20 + i);
        store.begin(&Run { started, ..run(method, model, serial) }).expect("begun");
    }
    let numbers = |filter: Filter| -> Vec<i64> {
        store.runs(&filter).expect("a list").iter().map(|run| run.number).collect()
    };
    let drive = |text: &str| numbers(Filter { drive: Some(text.into()), ..Filter::default() });
    assert_eq!(numbers(Filter::default()), [3, 2, 1], "the latest first");
    assert_eq!(drive("y2"), [3, 2]);
    assert_eq!(drive("s100"), [1]);
    assert_eq!(drive("acme x1"), [1], "manufacturer and model together");
    assert_eq!(drive("/mnt/scratch"), [3, 2, 1]);
    assert_eq!(drive("nvme7n1"), [3, 2, 1]);
    assert_eq!(drive("%"), [0i64; 0], "no wildcards");
    assert_eq!(numbers(Filter { method: Some("quick".into()), ..Filter::default() }), [3, 1]);
    let moment = |text: &str| Some(store::day(text).expect("a date").start);
    let since = moment("2026-11-20T23:30:00Z");
    assert_eq!(numbers(Filter { since, ..Filter::default() }), [3, 2]);
    assert_eq!(numbers(Filter { until: since, ..Filter::default() }), [1]);
    assert_eq!(numbers(Filter { limit: Some(1), ..Filter::default() }), [3]);
}

#[test]
fn a_summary_shows_one_metric_of_each_kind() {
    let (_dir, mut store) = new_store();
    let names = [
        "seq-read-1MiB-q8",
        "seq-read-1MiB-q8.p50",
        "seq-read-1MiB-q1",
        "seq-write-1MiB-q8",
        "rand-read-4KiB-q32",
        "rand-write-4KiB-q32",
        "mixed-read-4KiB-q32",
    ];
    let metrics = names.map(|name| Metric::single(name, Unit::Iops, 1.0)).to_vec();
    let it = Run { metrics, complete: true, ..run("quick", "X1", "S1") };
    import(&mut store, &it).expect("imported");
    let summary = store.runs(&Filter::default()).expect("a list").remove(0);
    let shown: Vec<_> = summary.headline.iter().map(|m| m.name.as_str()).collect();
    assert_eq!(shown, [names[0], names[3], names[4], names[5]]);
    assert_eq!((summary.complete, summary.running, summary.cut_short), (true, false, None));
    assert_eq!((summary.id, summary.started), (it.id, it.started));
    assert_eq!((summary.target.as_str(), summary.drive.as_deref()), ("/mnt/Scratch", Some("X1")));
}

#[test]
fn the_same_id_is_the_same_run() {
    let (_dir, mut store) = new_store();
    let part = run("quick", "X1", "S1");
    let whole = Run { complete: true, seconds: Some(60.0), ..part.clone() };
    assert_eq!(import(&mut store, &part).expect("imported"), 1);
    assert_eq!(import(&mut store, &whole).expect("the whole of it"), 1);
    assert_eq!(import(&mut store, &part).expect("known"), 1);
    assert_eq!(store.load(1).expect("readable"), Run { number: Some(1), ..whole.clone() });
    assert!(store.begin(&whole).is_err(), "a new run has a new id");
    let nameless = Run { id: String::new(), ..part.clone() };
    assert!(matches!(import(&mut store, &nameless), Err(StoreError::Unfit(_))));
    let undated = Run { started: "yesterday".into(), id: "x".into(), ..part };
    assert!(matches!(import(&mut store, &undated), Err(StoreError::Unfit(_))));
}

#[test]
fn removing_is_all_or_nothing_and_frees_the_space() {
    let (dir, mut store) = new_store();
    let size = || std::fs::metadata(dir.path().join("runs.sqlite")).expect("the file").len();
    let whole = |points| Run {
        series: vec![series("a", 0, points)],
        complete: true,
        ..run("quick", "X1", "S1")
    };
    import(&mut store, &whole(100_000)).expect("imported");
    import(&mut store, &whole(1)).expect("imported");
    store.begin(&run("quick", "X1", "S1")).expect("begun");
    assert!(matches!(store.remove(&[1, 7]), Err(StoreError::NoSuchRun(_))));
    assert!(matches!(store.remove(&[1, 3]), Err(StoreError::Running(3))));
    assert_eq!(store.runs(&Filter::default()).expect("a list").len(), 3);
    store.remove(&[1]).expect("removed");
    assert!(store.load(1).is_err());
    assert_eq!(import(&mut store, &whole(1)).expect("imported"), 4, "numbers are not reused");
    drop(store);
    assert!(size() < 200_000, "{} bytes are left", size());
}

#[test]
fn a_nan_does_not_make_a_record_unreadable() {
    let (_dir, mut store) = new_store();
    let evidence = vec![Evidence::new("0 / 0", f64::NAN, Unit::Number)];
    let verdict =
        Verdict::new(VerdictKind::Undetermined, "Nothing was read.").with_evidence(evidence);
    let metrics = vec![Metric::single("ratio", Unit::Number, f64::NAN)];
    let it = Run { verdicts: vec![verdict], metrics, ..run("quick", "X1", "S1") };
    let number = store.begin(&it).expect("begun");
    let read = store.load(number).expect("readable");
    assert!(read.verdicts[0].evidence[0].value.is_nan());
    assert_eq!(read.metrics[0].value, None, "unknown");
}

#[test]
fn opening_a_missing_store_for_reading_creates_none() {
    let dir = tempfile::tempdir().expect("a directory");
    let path: PathBuf = dir.path().join("a/b/runs.sqlite");
    assert!(matches!(Store::open_existing(Some(&path)), Err(StoreError::Missing { .. })));
    assert!(!dir.path().join("a").exists());
    Store::open(Some(&path)).expect("created with its directories");
    Store::open_existing(Some(&path)).expect("there now");
}

#[test]
fn runs_are_found_by_their_labels_which_travel_with_them() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut store = Store::open(Some(&dir.path().join("runs.sqlite"))).expect("it opens");
    for (title, board) in [("a fan", "mini-a"), ("no fan", "mini-b"), ("a fan", "mini-b")] {
        let mut run = run("quick", "X1", "S1");
        let tags = [("board".to_string(), board.to_string())].into();
        run.labels = Some(record::Labels { title: Some(title.into()), note: None, tags });
        store.begin(&run).expect("begun");
        store.finish(&run).expect("finished");
    }
    let numbers = |store: &Store, filter: Filter| {
        let runs = store.runs(&filter).expect("a list");
        runs.iter().map(|run| run.number).collect::<Vec<_>>()
    };
    let tag = |value: &str| vec![("board".to_string(), value.to_string())];
    assert_eq!(numbers(&store, Filter { tags: tag("mini-b"), ..Filter::default() }), [3, 2]);
    let title = Some("A Fan".to_string());
    let filter = Filter { title, tags: tag("mini-b"), ..Filter::default() };
    assert_eq!(numbers(&store, filter.clone()), [3]);
    assert_eq!(store.count(&filter).expect("counted"), 1);
    let mut other = Store::open(Some(&dir.path().join("other.sqlite"))).expect("it opens");
    let documents: Vec<_> = [1, 2, 3].map(|n| store.document(n).expect("there")).into();
    other.import(&documents).expect("imported");
    assert_eq!(numbers(&other, filter), [3]);
    other.remove(&[3]).expect("removed");
    assert_eq!(numbers(&other, Filter { tags: tag("mini-b"), ..Filter::default() }), [2]);
}
