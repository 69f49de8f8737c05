//! The state of a drive according to its runs.

use crate::samples::{document, run};
use record::{DriveIdentity, Health, HistoryKey, Run, State, TargetKind};
use store::{Store, StoreError};

/// Imports one record and returns its number.
fn import(store: &mut Store, run: &Run) -> Result<i64, StoreError> {
    Ok(store.import(&[document(run)])?[0].number)
}

const BYTES: u64 = 1 << 40;

/// A run on a whole drive that leaves it in the given state.
fn left(state: State) -> Run {
    let mut it = run("prepare", "X1", "S6Z1NJ0W");
    it.target.kind = TargetKind::Device;
    it.target.bytes = Some(BYTES);
    it.target.drive = Some(DriveIdentity { bytes: Some(BYTES), ..drive(&it) });
    (it.state_after, it.complete) = (state, true);
    it.health_after = Some(Health { written_bytes: Some(5 << 40), ..Health::default() });
    it
}

fn key() -> HistoryKey {
    HistoryKey::new(&left(State::Unknown).target, None).expect("a drive")
}

fn drive(run: &Run) -> DriveIdentity {
    run.target.drive.clone().expect("has one")
}

/// The state after these runs, in order.
fn state(runs: &[Run]) -> Option<State> {
    let dir = tempfile::tempdir().expect("a directory");
    let mut store = Store::open(Some(&dir.path().join("runs.sqlite"))).expect("a new store");
    for run in runs {
        import(&mut store, run).expect("imported");
    }
    store.state_before(&key(), i64::MAX).expect("readable").map(|last| last.state)
}

fn reads_only() -> Run {
    let mut it = left(State::Unknown);
    it.plan.iter_mut().for_each(|plan| plan.write_bytes_max = 0);
    it
}

#[test]
fn the_latest_run_that_could_change_it_decides() {
    assert_eq!(state(&[]), None);
    assert_eq!(state(&[left(State::Fresh)]), Some(State::Fresh));
    assert_eq!(state(&[left(State::Fresh), left(State::Used)]), Some(State::Used));
    assert_eq!(state(&[left(State::Fresh), reads_only()]), Some(State::Fresh));
    assert_eq!(state(&[left(State::Fresh), left(State::Unknown)]), None);
    let killed = Run { complete: false, ..left(State::Filled) };
    assert_eq!(state(&[left(State::Fresh), killed]), None);
    let mut scratch = left(State::Unknown);
    scratch.target.kind = TargetKind::Directory;
    assert_eq!(state(&[left(State::Fresh), scratch]), None, "a file system on it was written to");
}

#[test]
fn an_imported_record_older_than_a_run_of_the_drive_does_not_count() {
    let old = |state, started: &str| Run { started: started.into(), ..left(state) };
    let january = || old(State::Fresh, "2026-01-10T12:00:00Z");
    let march = || old(State::Used, "2026-03-10T12:00:00Z");
    let december = || old(State::Used, "2026-12-24T12:00:00Z");
    let before_import = |imported: &[Run]| {
        let dir = tempfile::tempdir().expect("a directory");
        let mut store = Store::open(Some(&dir.path().join("runs.sqlite"))).expect("a new store");
        let measured = left(State::Filled);
        store.begin(&measured).expect("begun");
        store.finish(&measured).expect("finished");
        for run in imported {
            import(&mut store, run).expect("imported");
        }
        store.state_before(&key(), i64::MAX).expect("readable").map(|last| last.state)
    };
    assert_eq!(before_import(&[january()]), Some(State::Filled));
    assert_eq!(before_import(&[january(), december()]), Some(State::Used));
    assert_eq!(state(&[march(), january()]), Some(State::Used), "in the order of their starts");
    let reading = Run { plan: reads_only().plan, ..december() };
    assert_eq!(state(&[reading, january()]), Some(State::Fresh));
}

#[test]
fn other_drives_and_parts_of_this_one_do_not_count() {
    let mut partition = left(State::Fresh);
    partition.target.bytes = Some(BYTES / 2);
    assert_eq!(state(&[partition]), None);
    let mut twin = left(State::Fresh);
    twin.target.drive.iter_mut().for_each(|d| d.hardware_id = Some("another namespace".into()));
    assert_eq!(state(&[twin]), None);
    let mut stranger = left(State::Fresh);
    stranger.target.drive.iter_mut().for_each(|d| d.serial = Some("S6Z1NJ0X".into()));
    assert_eq!(state(&[stranger]), None);
}

#[test]
fn later_writes_are_detected_by_the_drives_counter() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut store = Store::open(Some(&dir.path().join("runs.sqlite"))).expect("a new store");
    import(&mut store, &left(State::Fresh)).expect("imported");
    let mut now = drive(&left(State::Unknown));
    let last = store.state_before(&key(), i64::MAX).expect("readable").expect("known");
    assert_eq!(last.as_of, "2026-11-21T14:30:00+01:00");
    for (more, seen) in [(0, false), (BYTES / 2000, false), (BYTES / 500, true)] {
        now.health.written_bytes = Some((5 << 40) + more);
        assert_eq!(last.was_written_since(&now), seen, "{more}");
    }
    now.health.written_bytes = None;
    assert!(!last.was_written_since(&now), "a drive without the counter");
}
