//! A store written by version 1 of the schema: `ssdyno io` on the null target (run 1) and a virtual
//! drive (2), imports of another store's export (3) and of dd's results (4 to 8), a removed run (9)
//! and a killed one (10). `version-1.jsonl` is the export made by that version of ssdyno.
//!
//! And one of version 3, written on host `beta`: its run (1), two carried from host `alpha` (2 and 3),
//! and fio's results with a title (4).

use std::fs;
use std::path::PathBuf;

use crate::mount::Mount;
use serde_json::Value;
use store::{Filter, Provenance, Store, StoreError};

fn migrated() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("runs.sqlite");
    fs::write(&path, include_bytes!("../stores/version-1.sqlite")).expect("a copy");
    (dir, path)
}

#[test]
fn every_record_is_unchanged() {
    let (_dir, path) = migrated();
    let store = Store::open(Some(&path)).expect("it opens");
    let exported = include_str!("../stores/version-1.jsonl").lines();
    let exported: Vec<Value> = exported.map(|l| serde_json::from_str(l).expect("JSON")).collect();
    let numbers = store.numbers().expect("listed");
    assert_eq!(numbers, [1, 2, 3, 4, 5, 6, 7, 8, 10]);
    assert_eq!(numbers.len(), exported.len());
    for (number, mut before) in numbers.into_iter().zip(exported) {
        let after = store.document(number).expect("readable").text().expect("JSON");
        let after: Value = serde_json::from_str(&after).expect("JSON");
        if number == 3 {
            assert_eq!(before["origin"]["tool"], "ssdyno");
            before.as_object_mut().expect("a record").remove("origin");
        }
        // The field was added later; the records do not have it.
        assert_eq!(after["environment"].get("machine_id"), Some(&Value::Null));
        before["environment"]["machine_id"] = Value::Null;
        assert_eq!(after, before, "run {number}");
    }
}

#[test]
fn a_store_of_version_3_gets_hosts_titles_and_firmware_from_its_records() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("runs.sqlite");
    fs::write(&path, include_bytes!("../stores/version-3.sqlite")).expect("a copy");
    let refused = Store::open_current(Some(&path)).map(drop);
    assert!(matches!(refused, Err(StoreError::NotMigrated { found: 3, .. })), "{refused:?}");
    let mut store = Store::open(Some(&path)).expect("it opens");
    let runs = store.runs(&Filter::default()).expect("a list");
    let rows = runs.iter().map(|run| (run.number, run.host.as_deref(), run.title.as_deref()));
    let (alpha, beta) = (Some("alpha"), Some("beta"));
    assert_eq!(
        rows.collect::<Vec<_>>(),
        [(4, None, Some("mytitle")), (3, alpha, None), (2, alpha, None), (1, beta, None)]
    );
    for run in &runs {
        let kept = store.kept(run.number).expect("readable");
        assert!(kept.intact, "run {}", run.number);
        let firmware = kept.document.run().target.drive.as_ref().and_then(|d| d.firmware.clone());
        assert_eq!(run.firmware, firmware, "run {}", run.number);
    }
    let hosts = store.hosts().expect("listed");
    assert_eq!(hosts.iter().map(|host| &*host.name).collect::<Vec<_>>(), ["alpha", "beta"]);
    assert!(hosts.iter().all(|host| host.machine.is_some()));
    let filter = Filter { host: Some("alpha".into()), before: Some(3), ..Filter::default() };
    assert_eq!(store.runs(&filter).expect("a list").len(), 1);
    let unanswered = Filter { title: Some("MYT".into()), ..Filter::default() };
    assert_eq!(store.runs(&unanswered).expect("a list")[0].answer, None);
    store.keep_headlines(&[(4, "45k IOPS".into())]).expect("written");
    assert_eq!(store.runs(&unanswered).expect("a list")[0].answer.as_deref(), Some("45k IOPS"));
    assert!(store.kept(4).expect("readable").intact);
    drop(store);
    assert_eq!(
        Store::open_current(Some(&path)).expect("current").numbers().ok(),
        Some(vec![1, 2, 3, 4])
    );
}

#[test]
fn a_store_that_must_be_current_is_not_migrated() {
    let (_dir, path) = migrated();
    let old = fs::read(&path).expect("there");
    let refused = Store::open_current(Some(&path)).map(drop);
    assert!(matches!(refused, Err(StoreError::NotMigrated { found: 1, .. })), "{refused:?}");
    assert_eq!(fs::read(&path).expect("there"), old);
    drop(Store::open(Some(&path)).expect("it opens"));
    Store::open_current(Some(&path)).map(drop).expect("current");
    let none = path.with_file_name("none");
    assert!(matches!(Store::open_current(Some(&none)), Err(StoreError::Missing { .. })));
}

#[test]
fn the_list_shows_the_origin_of_records() {
    let (_dir, path) = migrated();
    let mut store = Store::open(Some(&path)).expect("it opens");
    let runs = store.runs(&Filter::default()).expect("a list");
    let kinds: Vec<_> = runs.iter().map(|run| (run.number, run.kind)).collect();
    let imported = [8, 7, 6, 5, 4].map(|number| (number, Provenance::Imported));
    let (measured, carried) = (Provenance::Measured, Provenance::Carried);
    let own = [(3, carried), (2, measured), (1, measured)];
    assert_eq!(kinds, [&[(10, measured)], &imported[..], &own].concat());
    assert!(runs[1..].iter().all(|run| run.hash.is_some() && run.complete && !run.conflict));
    let killed = &runs[0];
    assert_eq!((killed.hash, killed.cut_short.as_deref()), (None, Some("killed")));
    assert!(!runs[1].start_known && runs[8].start_known);
    assert!(runs[8].headline.iter().any(|metric| metric.name == "iops"), "{:?}", runs[8].headline);
    let of = |drive: &str| {
        let filter = Filter { drive: Some(drive.into()), ..Filter::default() };
        store.runs(&filter).expect("a list").iter().map(|run| run.number).collect::<Vec<_>>()
    };
    assert_eq!(of("bx500"), [2]);

    // The numbers of the removed run and of those after it are not reused.
    let old = include_str!("../stores/version-1.jsonl").lines().next().expect("a record");
    let again = record::Document::parse(&old.replace("\"io\"", "\"oi\"")).expect("a record");
    let entered = store.import(&[again]).expect("imported");
    assert_eq!(entered[0].number, 11);
}

#[test]
fn an_export_of_the_older_version_is_recognised() {
    let (_dir, path) = migrated();
    let mut store = Store::open(Some(&path)).expect("it opens");
    for (line, number) in include_str!("../stores/version-1.jsonl").lines().zip([1, 2, 3, 4, 5, 6])
    {
        let document = record::Document::parse(line).expect("a record");
        let entered = store.import(&[document]).expect("imported")[0];
        assert_eq!((entered.number, entered.news), (number, store::News::Known));
    }
}

#[test]
fn an_unwritable_directory_leaves_an_older_store_alone() {
    use std::os::unix::fs::PermissionsExt;
    let (dir, path) = migrated();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).expect("changed");
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o500)).expect("changed");
    if fs::OpenOptions::new().write(true).open(&path).is_ok() {
        println!("skipped: permissions do not apply to this user");
        return;
    }
    let error = Store::open(Some(&path)).map(drop).expect_err("refused").to_string();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o700)).expect("changed");
    assert!(error.contains("version 1") && error.contains("unchanged"), "{error}");
}

/// Tries every amount of free space up to a sufficient one, block by block.
#[test]
fn an_older_store_on_a_full_file_system_is_unchanged_until_there_is_space() {
    let before: &[u8] = include_bytes!("../stores/version-1.sqlite");
    for mount in Mount::all() {
        let path = mount.path().join("runs.sqlite");
        fs::write(&path, before).expect("a copy");
        let filler = mount.fill();
        let mut refused = 0;
        let store = loop {
            match Store::open(Some(&path)) {
                Ok(store) => break store,
                Err(error) => {
                    let text = error.to_string();
                    let named = match &error {
                        StoreError::NotMigrated { .. } => {
                            text.contains("unchanged") && fs::read(&path).expect("read") == before
                        }
                        // The attempt left a log that cannot be emptied or removed.
                        StoreError::Full { .. } => mount.kind == "ext4",
                        _ => false,
                    };
                    assert!(named && !text.contains('\n'), "{}: {text}", mount.kind);
                }
            }
            refused += 1;
            let filler = fs::File::options().write(true).open(&filler).expect("opened");
            let bytes = filler.metadata().expect("known").len();
            let fewer = bytes.checked_sub(4096).expect("it fits in the file system");
            filler.set_len(fewer).and_then(|()| filler.sync_all()).expect("shorter");
        };
        assert!(refused > 5, "{}: {refused}", mount.kind);
        assert_eq!(store.numbers().expect("listed"), [1, 2, 3, 4, 5, 6, 7, 8, 10]);
        for number in store.numbers().expect("listed") {
            store.load(number).unwrap_or_else(|e| panic!("{}: run {number}: {e}", mount.kind));
        }
    }
}
