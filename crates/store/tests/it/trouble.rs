//! Bad files and locations: one clear error line, and nothing is changed or lost.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::mount::Mount;
use crate::samples::{document, run, series};
use record::Run;
use rusqlite::Connection;
use store::{Filter, Store, StoreError};
use tempfile::TempDir;

/// Imports one record and returns its number.
fn import(store: &mut Store, run: &Run) -> Result<i64, StoreError> {
    Ok(store.import(&[document(run)])?[0].number)
}

/// A store of two complete runs, closed.
fn small_store() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("runs.sqlite");
    fill(&path);
    (dir, path)
}

fn fill(path: &Path) {
    let mut store = Store::open(Some(path)).expect("a new store");
    for _ in 0..2 {
        import(&mut store, &whole(500)).expect("imported");
    }
}

fn whole(points: u64) -> Run {
    Run { series: vec![series("a", 0, points)], complete: true, ..run("quick", "X1", "S1") }
}

fn count(path: &Path) -> usize {
    let store = Store::open(Some(path)).expect("it opens");
    let runs = store.runs(&Filter::default()).expect("a list");
    runs.iter().for_each(|run| drop(store.load(run.number).expect("readable")));
    runs.len()
}

/// Asserts that opening fails with one line that names the file, changes no byte and creates no
/// file.
fn refused(path: &Path) -> StoreError {
    let dir = path.parent().expect("a directory");
    let files = || fs::read_dir(dir).expect("listed").count();
    let before = (fs::read(path).expect("read"), files());
    let error = Store::open(Some(path)).map(drop).expect_err("refused");
    let text = error.to_string();
    assert!(text.contains(&path.display().to_string()) && !text.contains('\n'), "{text}");
    assert!((fs::read(path).expect("read"), files()) == before, "{text}: the file was touched");
    error
}

#[test]
fn foreign_files_are_refused() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("runs.sqlite");
    for content in [&b"a note"[..], &[0; 5000], b"SQLite format 3\0"] {
        fs::write(&path, content).expect("written");
        assert!(matches!(refused(&path), StoreError::Foreign { .. }));
    }
    fs::remove_file(&path).expect("removed");
    let other = Connection::open(&path).expect("another program's");
    other.execute_batch("PRAGMA journal_mode=WAL; CREATE TABLE run (x)").expect("made");
    drop(other);
    assert!(matches!(refused(&path), StoreError::Foreign { .. }));
}

#[test]
fn a_newer_store_is_refused() {
    let (_dir, path) = small_store();
    let conn = Connection::open(&path).expect("open");
    conn.pragma_update(None, "user_version", 99).expect("changed");
    drop(conn);
    let error = refused(&path);
    assert!(matches!(error, StoreError::Newer { found: 99, .. }), "{error}");

    // The same while another process has it open and the new version is only in the log.
    let (_dir, path) = small_store();
    let conn = Connection::open(&path).expect("open");
    conn.pragma_update(None, "user_version", 99).expect("changed");
    let error = Store::open(Some(&path)).map(drop).expect_err("refused");
    assert!(matches!(error, StoreError::Newer { found: 99, .. }), "{error}");
}

#[test]
fn a_damaged_store_is_reported_and_left_unchanged() {
    let (_dir, path) = small_store();
    let good = fs::read(&path).expect("read");
    // Truncated, or with an overwritten schema page.
    let mut scratched = good.clone();
    scratched[100..4096].fill(0x5A);
    for bad in [&good[..good.len() / 2], &scratched] {
        fs::write(&path, bad).expect("written");
        let error = refused(&path);
        assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    }
    // Deeper damage shows on opening or reading; undamaged parts remain readable.
    fs::remove_file(&path).expect("removed");
    let mut store = Store::open(Some(&path)).expect("a new store");
    for _ in 0..2 {
        import(&mut store, &whole(20_000)).expect("imported");
    }
    drop(store);
    let good = fs::read(&path).expect("read");
    let mut halves = 0;
    for page in 1..good.len() / 4096 {
        let mut scratched = good.clone();
        scratched[page * 4096..][..4096].fill(0x5A);
        fs::write(&path, &scratched).expect("written");
        let store = match Store::open(Some(&path)) {
            Ok(store) => store,
            Err(error) => {
                assert!(matches!(error, StoreError::Damaged { .. }), "page {page}: {error}");
                continue;
            }
        };
        let read = [1, 2].map(|number| store.kept(number));
        let failed: Vec<_> = read.iter().filter_map(|read| read.as_ref().err()).collect();
        let named =
            |e: &&&StoreError| matches!(e, StoreError::Damaged { .. } | StoreError::NoSuchRun(_));
        assert_eq!(failed.iter().filter(named).count(), failed.len(), "page {page}: {failed:?}");
        halves += u32::from(failed.len() == 1);
    }
    assert!(halves > 0, "no damage left exactly one of two runs readable");
}

#[test]
fn locations_that_cannot_contain_a_store() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("file");
    fs::write(&file, "x").expect("written");
    for path in [dir.path().to_path_buf(), file.join("runs.sqlite"), "/proc/none/s".into()] {
        let error = Store::open(Some(&path)).map(drop).expect_err("refused").to_string();
        let place = if path.starts_with("/proc") { Path::new("/proc") } else { dir.path() };
        assert!(error.contains(&place.display().to_string()), "{error}");
    }
}

#[test]
fn an_empty_file_becomes_a_store() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("odd # name ? 100%.sqlite");
    fs::write(&path, "").expect("written");
    fill(&path);
    assert_eq!(count(&path), 2);
}

#[test]
fn a_full_file_system_loses_no_earlier_run() {
    for mount in Mount::all() {
        let path = mount.path().join("runs.sqlite");
        fill(&path);
        let mut store = Store::open(Some(&path)).expect("it opens");
        let error =
            (0..400).find_map(|_| import(&mut store, &whole(5_000)).err()).expect("it fills up");
        assert!(matches!(error, StoreError::Full { .. }), "{}: {error}", mount.kind);
        let kept = store.runs(&Filter::default()).expect("a list").len();
        assert!(kept > 2);
        mount.fill();
        let (mut last, mut begun) = (None, 0);
        while last.is_none() && begun < 10_000 {
            last = store.begin(&run("quick", "X1", "S1")).err();
            begun += usize::from(last.is_none());
        }
        assert!(matches!(last, Some(StoreError::Full { .. })), "{}: {last:?}", mount.kind);
        drop(store);
        assert_eq!(count(&path), kept + begun, "{}", mount.kind);
    }
}

#[test]
fn without_space_next_to_it_a_store_can_be_read() {
    for mount in Mount::all() {
        let path = mount.path().join("runs.sqlite");
        fill(&path);
        let filler = mount.fill();
        assert_eq!(count(&path), 2);
        let mut store = Store::open(Some(&path)).expect("it opens");
        // Unlike a rollback journal, a log needs space for reading, too.
        let why = (mount.kind == "tmpfs").then_some("no space left next to it");
        assert_eq!(store.read_only(), why, "{}", mount.kind);
        let error = import(&mut store, &whole(50_000)).expect_err("no space");
        let named = matches!(error, StoreError::Full { .. } | StoreError::ReadOnly { .. });
        assert!(named, "{}: {error}", mount.kind);
        drop(store);
        fs::remove_file(filler).expect("removed");
        fill(&path);
        assert_eq!(count(&path), 4, "{}", mount.kind);
    }
}

#[test]
fn a_read_only_file_system_can_be_read() {
    let Some(mount) = Mount::tmpfs() else { return };
    let path = mount.path().join("runs.sqlite");
    fill(&path);
    let remount = Command::new("mount").args(["-o", "remount,ro"]).arg(mount.path()).status();
    assert!(remount.is_ok_and(|status| status.success()), "made read-only");
    assert_eq!(count(&path), 2);
    let mut store = Store::open(Some(&path)).expect("it opens");
    assert!(store.read_only().is_some());
    let error = store.begin(&run("quick", "X1", "S1")).expect_err("refused");
    assert!(matches!(error, StoreError::ReadOnly { .. }), "{error}");
    let missing = path.with_file_name("other.sqlite");
    let error = Store::open(Some(&missing)).map(drop).expect_err("refused").to_string();
    assert!(error.contains("other.sqlite"), "{error}");
}

#[test]
fn a_file_without_permission_is_read_or_named() {
    use std::os::unix::fs::PermissionsExt;
    let (dir, path) = small_store();
    let permit = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("changed");
    };
    permit(&path, 0o400);
    permit(dir.path(), 0o500);
    if fs::OpenOptions::new().write(true).open(&path).is_ok() {
        println!("skipped: permissions do not apply to this user");
        return;
    }
    assert_eq!(count(&path), 2);
    permit(&path, 0o000);
    let error = Store::open(Some(&path)).map(drop).expect_err("refused");
    permit(dir.path(), 0o700);
    assert!(matches!(error, StoreError::Io { .. }), "{error}");
}
