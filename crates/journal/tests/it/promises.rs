//! The promises of docs/safety.md about a journal: its format on the drive, the order in which it
//! is made durable, the refused directories, and reads that bypass the page cache.

use crate::common;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use crate::kernel::{Loop, Mounted, or_skip};
use drive::DriveKey;
use journal::{
    BLOCK, Borrowed, Disk, EarlierJournal, ElsewhereLeft, JournalDir, JournalError, Kernel,
    Rereads, State,
};
use rig::ErrorClass;
use serde_json::{Value, json};
use tempfile::TempDir;
use workload::Region;
use xxhash_rust::xxh3::xxh3_64;

const KIB: usize = 1 << 10;
/// Two blocks of the format and part of a third.
const BYTES: usize = 128 * KIB + 512;

fn content() -> Vec<u8> {
    (0..BYTES).map(|i| (i * 7 + i / 512) as u8).collect()
}

/// A file in place of a drive, readable and writable.
fn drive_at(path: &Path, content: &[u8]) -> File {
    fs::write(path, content).expect("written");
    File::options().read(true).write(true).open(path).expect("opens")
}

/// Keeps all of a new drive in `DIR/state/journal`; on return, the run is dead.
fn kept_in(dir: &Path) -> PathBuf {
    let drive = drive_at(&dir.join("drive"), &content());
    let borrowed = Borrowed::read(&drive, Region::first(BYTES as u64)).expect("read");
    let place = JournalDir::at(&dir.join("state/journal"));
    place.keep(&common::key(BYTES as u64), &borrowed).expect("kept").path().to_path_buf()
}

/// Opens the journal of a dead run. A process that another test is starting shares the journal's
/// lock until it executes its own program.
fn open_dead(path: &Path) -> EarlierJournal {
    let held = |kept: &Result<EarlierJournal, JournalError>| {
        matches!(kept, Err(JournalError::Held { .. }))
    };
    let tries = std::iter::repeat_with(|| EarlierJournal::open(path)).take(1_000_000);
    tries
        .inspect(|_| std::thread::yield_now())
        .find(|kept| !held(kept))
        .expect("held")
        .expect("whole")
}

/// The header in the documented format, for a drive with this content.
fn header(content: &[u8]) -> Value {
    let checksums: Vec<u64> = content.chunks(64 * KIB).map(xxh3_64).collect();
    json!({
        "drive": {"path": "/dev/sdx", "model": null, "serial": "S1", "disk_bytes": BYTES,
                  "start": null, "bytes": BYTES, "backing_file": null},
        "region": {"start": 0, "bytes": content.len()},
        "made_s": 1_700_000_000,
        "block_bytes": 65536,
        "checksums": checksums,
    })
}

/// A journal's bytes, built from the description in `file.rs` without its code.
fn by_hand(magic: &[u8; 8], header: &Value, content: &[u8]) -> Vec<u8> {
    let header = serde_json::to_vec(header).expect("JSON");
    let length = (header.len() as u64).to_le_bytes();
    [&magic[..], &length, &xxh3_64(&header).to_le_bytes(), &header, content].concat()
}

/// Opens these bytes as a complete journal.
fn opened(bytes: &[u8]) -> Result<EarlierJournal, JournalError> {
    let dir = TempDir::new().expect("a directory");
    let path = dir.path().join("x.journal");
    fs::write(&path, bytes).expect("written");
    EarlierJournal::open(&path)
}

#[test]
fn a_journal_of_an_earlier_version_is_read() {
    assert_eq!(BLOCK, 64 * KIB, "existing journals have 64 KiB blocks");
    let kept = opened(&by_hand(b"SSDYNOJ1", &header(&content()), &content())).expect("read");
    assert_eq!((kept.header.drive, kept.header.made_s), (common::key(BYTES as u64), 1_700_000_000));
    assert_eq!((kept.borrowed.blocks(), kept.borrowed.damaged()), (3, vec![]));
    assert_eq!(kept.borrowed.bytes(), content());
    assert_eq!(kept.borrowed.bytes_of(&[0, 2]), 64 * KIB as u64 + 512);
}

#[test]
fn a_journal_that_is_written_has_the_documented_format() {
    let dir = TempDir::new().expect("a directory");
    let bytes = fs::read(kept_in(dir.path())).expect("read");
    let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
    let end = 24 + number(8) as usize;
    assert_eq!((&bytes[..8], number(16)), (&b"SSDYNOJ1"[..], xxh3_64(&bytes[24..end])));
    let mut found: Value = serde_json::from_slice(&bytes[24..end]).expect("JSON");
    found["made_s"] = 1_700_000_000.into();
    assert_eq!(found, header(&content()));
    assert_eq!(&bytes[end..], content());
}

#[test]
fn a_header_that_contradicts_itself_is_refused() {
    let changed = |name: &str, value: Value| {
        let mut header = header(&content());
        header[name] = value;
        by_hand(b"SSDYNOJ1", &header, &content())
    };
    let region = |start: u64, bytes: u64| json!({"start": start, "bytes": bytes});
    let whole = by_hand(b"SSDYNOJ1", &header(&content()), &content());
    let mut wrong_checksum = whole.clone();
    wrong_checksum[16] ^= 1;
    let mut far_too_long = whole.clone();
    far_too_long[8..16].copy_from_slice(&u64::MAX.to_le_bytes());
    for (bytes, words) in [
        (changed("block_bytes", 4096.into()), "block size is not supported"),
        (changed("checksums", json!([1, 2])), "checksum count is wrong"),
        (changed("checksums", json!([1, 2, 3, 4])), "checksum count is wrong"),
        (changed("region", region(1, BYTES as u64)), "region exceeds the drive"),
        (changed("region", region(u64::MAX, BYTES as u64)), "region exceeds the drive"),
        (by_hand(b"SSDYNOJ2", &header(&content()), &content()), "not a journal"),
        (far_too_long, "not a journal"),
        (wrong_checksum, "checksum of its header"),
    ] {
        let error = opened(&bytes).expect_err(words);
        assert!(error.to_string().contains(words), "{error}");
        assert_eq!((error.fault(), error.advice()), (ErrorClass::Io, None), "{error}");
    }
}

#[test]
fn only_the_requested_blocks_are_restored() {
    let dir = TempDir::new().expect("a directory");
    let kept = open_dead(&kept_in(dir.path()));
    let drive = drive_at(&dir.path().join("drive"), &vec![0; BYTES]);
    kept.borrowed.put_back(&drive, &[1], &mut |_| ()).expect("restored");
    let now = fs::read(dir.path().join("drive")).expect("read");
    let (first, rest) = now.split_at(BLOCK);
    assert!(first.iter().all(|byte| *byte == 0), "block 0 was not requested");
    assert_eq!(rest[..BLOCK], content()[BLOCK..2 * BLOCK]);
    assert!(rest[BLOCK..].iter().all(|byte| *byte == 0), "block 2 was not requested");
}

/// A file opened for appending writes only at its end, like a drive that loses writes.
#[test]
fn a_lost_write_is_an_error() {
    let dir = TempDir::new().expect("a directory");
    let kept = open_dead(&kept_in(dir.path()));
    drive_at(&dir.path().join("drive"), &vec![0; BYTES]);
    let path = dir.path().join("drive");
    let losing = File::options().read(true).append(true).open(path).expect("opens");
    let error =
        kept.borrowed.put_back(&losing, &[0, 1, 2], &mut |_| ()).expect_err("nothing arrived");
    assert!(error.to_string().ends_with("differently: 3"), "{error}");
}

#[test]
fn comparing_reads_the_drive_and_not_the_page_cache() {
    let device = or_skip!(Loop::of(BYTES as u64 - 512));
    let region = Region::first(2 * BLOCK as u64);
    let drive = File::open(&device.path).expect("opens");
    let borrowed = Borrowed::read(&drive, region).expect("read");
    assert!(
        borrowed
            .compare(&drive, Rereads::UntilCertain, &mut |_| ())
            .expect("compared")
            .to_restore()
            .is_empty()
    );
    // Written below the loop device, whose page cache still has the old bytes.
    let image = File::options().write(true).open(&device.image).expect("opens");
    image.write_all_at(&[7; 512], BLOCK as u64).expect("written");
    assert_eq!(
        borrowed
            .compare(&drive, Rereads::UntilCertain, &mut |_| ())
            .expect("compared")
            .to_restore(),
        [1]
    );
    assert_eq!(Borrowed::read(&drive, region).expect("read").bytes()[BLOCK], 7);
}

#[test]
fn a_place_that_would_not_outlast_the_drive_is_refused() {
    let device = or_skip!(Loop::with(16 << 20, &["mkfs.ext4", "-q"]));
    let mounted = or_skip!(Mounted::new(&device.path, "rw"));
    let on_itself = JournalDir::at(&mounted.dir.join("not/yet/there"));
    let error = on_itself.check(device.path.as_ref()).expect_err("on itself");
    assert!(matches!(error, JournalError::SameDrive { .. }), "{error}");
    assert!(error.to_string().contains(&device.path), "{error}");
    assert_eq!(error.fault(), ErrorClass::Refused);
    assert!(error.advice().is_some_and(|advice| advice.contains("--journal DIR")));
    assert_eq!(fs::read_dir(&mounted.dir).expect("there").count(), 1, "only lost+found");
}

#[test]
fn a_place_in_memory_is_refused() {
    let device = or_skip!(Loop::of(BYTES as u64 - 512));
    let memory = or_skip!(TempDir::new_in("/dev/shm").map_err(|e| e.to_string()));
    let place = JournalDir::at(memory.path());
    let error = place.check(device.path.as_ref()).expect_err("in memory");
    assert!(matches!(error, JournalError::Memory { .. }), "{error}");
    assert_eq!(error.fault(), ErrorClass::Refused);
}

#[test]
fn a_missing_device_is_a_usage_error() {
    let dir = TempDir::new().expect("a directory");
    let place = JournalDir::at(dir.path());
    let error = place.check("/dev/nothing-of-this-name".as_ref()).expect_err("nothing");
    assert!(matches!(error, JournalError::Drive(_)), "{error}");
    assert_eq!(error.fault(), ErrorClass::Usage, "{error}");
}

#[test]
fn a_journal_without_room_leaves_nothing_behind() {
    let mounted = or_skip!(Mounted::of_kind("tmpfs", "tmpfs", "size=64k"));
    let dir = TempDir::new().expect("a directory");
    let drive = drive_at(&dir.path().join("drive"), &content());
    let borrowed = Borrowed::read(&drive, Region::first(BYTES as u64)).expect("read");
    let place = JournalDir::at(&mounted.dir);
    let error =
        place.keep(&common::key(BYTES as u64), &borrowed).expect_err("64 KiB is not enough");
    assert!(error.to_string().contains(&format!("{BYTES} bytes")), "{error}");
    assert!(matches!(error, JournalError::Full { .. }), "{error}");
    assert_eq!(error.fault(), ErrorClass::Refused);
    assert_eq!(fs::read_dir(&mounted.dir).expect("there").count(), 0);
}

/// Only a place that was read may be reported as having no leftovers.
#[test]
fn a_place_that_cannot_be_read_is_an_error() {
    let dir = TempDir::new().expect("a directory");
    let file = dir.path().join("file");
    fs::write(&file, "x").expect("written");
    let error = JournalDir::at(&file).unfinished().expect_err("no directory");
    assert_eq!(error.fault(), ErrorClass::Io, "{error}");
    let place = JournalDir::at(dir.path());
    fs::write(dir.path().join("notes.txt"), "mine").expect("written");
    assert!(place.unfinished().expect("read").is_empty(), "it is not a journal");
}

#[test]
fn leftovers_are_listed_by_name_with_their_state() {
    let dir = TempDir::new().expect("a directory");
    let place = JournalDir::at(dir.path());
    let whole = by_hand(b"SSDYNOJ1", &header(&content()), &content());
    for (name, bytes) in [("c.journal", &whole[..]), ("a.part", b""), ("b.journal", b"x")] {
        fs::write(dir.path().join(name), bytes).expect("written");
    }
    let found = place.unfinished().expect("read");
    let states: Vec<_> = found
        .iter()
        .map(|left| match &left.state {
            State::Torn => "torn",
            State::Damaged { .. } => "damaged",
            State::Whole(header) if header.drive == common::key(BYTES as u64) => "whole",
            State::Whole(_) => "of another drive",
            State::OutOfReach(_) => "out of reach",
        })
        .collect();
    assert_eq!(states, ["torn", "damaged", "whole"]);
}

/// The variable that makes this test binary keep one journal below a directory, for tracing.
const TRACED: &str = "JOURNAL_TEST_KEEPS_IN";

/// File, name and directory are synced in this order, and so is every created directory.
#[test]
fn a_journal_is_durable_before_it_is_complete() {
    if let Some(dir) = std::env::var_os(TRACED) {
        kept_in(Path::new(&dir));
        return;
    }
    let dir = TempDir::new().expect("a directory");
    let trace = dir.path().join("trace");
    let calls = "trace=fsync,rename,renameat,renameat2";
    let mut traced = Command::new("strace");
    traced.args(["-f", "-y", "-e", calls, "-o"]).arg(&trace).env(TRACED, dir.path());
    traced.arg(std::env::current_exe().expect("this test"));
    traced.args(["--exact", "promises::a_journal_is_durable_before_it_is_complete"]);
    match traced.output() {
        Ok(output) if output.status.success() => {}
        other => {
            eprintln!("skipped: no strace: {other:?}");
            return;
        }
    }
    let trace = fs::read_to_string(&trace).expect("a trace");
    let root = dir.path().canonicalize().expect("real").display().to_string();
    let state = format!("{root}/state");
    let mut calls = trace.lines().filter(|line| line.contains(&state) || line.contains(&root));
    let mut next = |wanted: &[&str]| {
        let found = calls.find(|call| wanted.iter().all(|word| call.contains(word)));
        assert!(found.is_some(), "no {wanted:?} in its place:\n{trace}");
    };
    // These directories contain the entries of the created directories.
    next(&["fsync(", &format!("<{root}>")]);
    next(&["fsync(", &format!("<{state}>")]);
    next(&["fsync(", &format!("<{state}/journal/"), ".part>"]);
    next(&["rename", ".part\"", ".journal\""]);
    next(&["fsync(", &format!("<{state}/journal>")]);
}

/// A journal of a killed run, kept elsewhere. Returns the parent directory, the place and the key.
fn killed_elsewhere() -> (TempDir, JournalDir, DriveKey) {
    let dir = TempDir::new().expect("a directory");
    let (registry, elsewhere) = (dir.path().join("state"), dir.path().join("stick"));
    let drive = drive_at(&dir.path().join("drive"), &content());
    let borrowed = Borrowed::read(&drive, Region::first(BYTES as u64)).expect("read");
    let place = JournalDir::at(&elsewhere).registered_in(&registry);
    // Dropped without being closed, as a kill leaves it.
    drop(place.keep(&common::key(BYTES as u64), &borrowed).expect("kept"));
    (dir, place, common::key(BYTES as u64))
}

/// docs/safety.md: "Every journal kept elsewhere is registered in the default directory".
#[test]
fn a_journal_kept_elsewhere_stops_runs_that_use_the_default_place() {
    let (dir, place, key) = killed_elsewhere();
    let default = JournalDir::at(&dir.path().join("state"));
    let found = default.unfinished().expect("readable");
    let [left] = &found[..] else { panic!("{found:?}") };
    assert!(matches!(left.state, State::Whole(_)), "{left:?}");
    assert_eq!(left.path.parent(), Some(place.dir()));
    let borrowed = open_dead(&left.path).borrowed;
    for place in
        [&default, &place, &JournalDir::at(&dir.path().join("new")).registered_in(default.dir())]
    {
        let error = place.keep(&key, &borrowed).expect_err("still kept");
        assert!(matches!(error, JournalError::Unfinished { .. }), "{error}");
    }
    let kept = open_dead(&left.path);
    default.close(kept).expect("closed");
    assert!(default.unfinished().expect("readable").is_empty());
    assert_eq!(fs::read_dir(default.dir()).expect("there").count(), 0, "no entry remains");
    drop(default.keep(&key, &borrowed).expect("nothing is left"));
}

/// docs/safety.md: "If its directory is not reachable, ssdyno names it and refuses to borrow from
/// that drive".
#[test]
fn an_unreachable_journal_stops_runs_until_it_is_discarded() {
    let (dir, place, key) = killed_elsewhere();
    let default = JournalDir::at(&dir.path().join("state"));
    let there = fs::read_dir(place.dir()).expect("there").next().expect("one").expect("one").path();
    let borrowed = open_dead(&there).borrowed;
    fs::rename(place.dir(), dir.path().join("unplugged")).expect("renamed");
    let error = default.keep(&key, &borrowed).expect_err("out of reach");
    assert!(error.to_string().contains(&there.display().to_string()), "{error}");
    let found = default.unfinished().expect("readable");
    let [left] = &found[..] else { panic!("{found:?}") };
    assert!(error.advice().is_some_and(|advice| advice.contains(&left.id())), "{error:?}");
    // Plugged in again, the journal is unchanged.
    fs::rename(dir.path().join("unplugged"), place.dir()).expect("renamed");
    assert!(matches!(default.unfinished().expect("readable")[0].state, State::Whole(_)));
    fs::rename(place.dir(), dir.path().join("unplugged")).expect("renamed");
    default.discard(left).expect("discarded");
    assert!(default.unfinished().expect("readable").is_empty());
    drop(default.keep(&key, &borrowed).expect("nothing is left"));
}

/// docs/safety.md: "a damaged journal of an unknown drive".
#[test]
fn a_damaged_journal_stops_runs_on_every_drive_it_can_be_of() {
    let (dir, place, key) = killed_elsewhere();
    let default = JournalDir::at(&dir.path().join("state"));
    let path = default.unfinished().expect("readable")[0].path.clone();
    let borrowed = open_dead(&path).borrowed;
    let other = DriveKey { serial: Some("S2".into()), ..key.clone() };
    let mut bytes = fs::read(&path).expect("read");
    bytes[40..80].fill(0);
    fs::write(&path, bytes).expect("damaged");
    // The registry knows its drive, also if the journal is found in its directory first.
    for place in [&default, &place] {
        let error = place.keep(&key, &borrowed).expect_err("its drive");
        assert!(matches!(error, JournalError::Unfinished { .. }), "{error}");
        assert!(error.advice().is_some_and(|advice| advice.contains("--discard sd")), "{error:?}");
        place.keep(&other, &borrowed).expect("another drive").close().expect("closed");
    }
    // Nothing knows the drive of one in the default place.
    fs::copy(&path, default.dir().join("sdy-1.journal")).expect("copied");
    let error = place.keep(&other, &borrowed).expect_err("of any drive");
    assert!(matches!(error, JournalError::DriveUnknown { .. }), "{error}");
    assert_eq!(error.fault(), ErrorClass::Refused);
    default.discard(&default.unfinished().expect("readable")[1]).expect("discarded");
    place.keep(&other, &borrowed).expect("nothing is left").close().expect("closed");
}

#[test]
fn a_partition_shares_the_journal_of_its_drive() {
    let whole = common::key(4 << 20);
    let part = |start| DriveKey { start: Some(start), bytes: 1 << 20, ..whole.clone() };
    assert!(whole.overlaps(&part(1 << 20)) && part(1 << 20).overlaps(&whole));
    assert!(!part(1 << 20).overlaps(&part(2 << 20)) && !part(2 << 20).overlaps(&part(1 << 20)));
    let other = DriveKey { serial: Some("S2".into()), ..part(1 << 20) };
    assert!(!whole.overlaps(&other));
}

/// A run killed after its blocks were verified: the next listing removes the journal and its entry.
#[test]
fn a_journal_with_verified_blocks_is_finished() {
    let (dir, place, _) = killed_elsewhere();
    let default = JournalDir::at(&dir.path().join("state"));
    let entry =
        fs::read_dir(default.dir()).expect("there").next().expect("one").expect("one").path();
    fs::rename(&entry, entry.with_extension("closing")).expect("renamed");
    assert!(default.unfinished().expect("readable").is_empty());
    assert_eq!(fs::read_dir(place.dir()).expect("there").count(), 0);
    assert_eq!(fs::read_dir(default.dir()).expect("there").count(), 0);
}

/// The same, but its file system was unmounted meanwhile: the journal is stale when it returns, so
/// its entry is kept until then.
#[test]
fn a_journal_with_verified_blocks_that_returns_is_finished() {
    let (dir, place, _) = killed_elsewhere();
    let default = JournalDir::at(&dir.path().join("state"));
    let entry =
        fs::read_dir(default.dir()).expect("there").next().expect("one").expect("one").path();
    fs::rename(&entry, entry.with_extension("closing")).expect("renamed");
    fs::rename(place.dir(), dir.path().join("unplugged")).expect("renamed");
    assert!(default.unfinished().expect("readable").is_empty());
    assert_eq!(fs::read_dir(default.dir()).expect("there").count(), 1, "the entry remains");
    fs::rename(dir.path().join("unplugged"), place.dir()).expect("renamed");
    // As `recover --journal DIR`, which lists only that directory.
    assert!(place.unfinished().expect("readable").is_empty());
    assert_eq!(fs::read_dir(place.dir()).expect("there").count(), 0);
    assert_eq!(fs::read_dir(default.dir()).expect("there").count(), 0);
}

/// The kernel's operations, but the names in one directory cannot be made durable.
#[derive(Debug)]
struct NoNames(PathBuf);

impl Disk for NoNames {
    fn create(&self, path: &Path) -> io::Result<File> {
        Kernel.create(path)
    }

    fn append(&self, file: &mut File, path: &Path, bytes: &[u8]) -> io::Result<()> {
        Kernel.append(file, path, bytes)
    }

    fn sync(&self, file: &File, path: &Path) -> io::Result<()> {
        Kernel.sync(file, path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        Kernel.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        Kernel.remove(path)
    }

    fn make_directory(&self, path: &Path) -> io::Result<()> {
        Kernel.make_directory(path)
    }

    fn sync_names(&self, directory: &Path) -> io::Result<()> {
        if directory == self.0 {
            Err(io::Error::other("no durable names"))
        } else {
            Kernel.sync_names(directory)
        }
    }
}

/// Nothing was overwritten, so nothing may refuse the next run.
#[test]
fn a_journal_that_cannot_be_registered_refuses_no_later_run() {
    let dir = TempDir::new().expect("a directory");
    let (registry, elsewhere) = (dir.path().join("state"), dir.path().join("stick"));
    let drive = drive_at(&dir.path().join("drive"), &content());
    let borrowed = Borrowed::read(&drive, Region::first(BYTES as u64)).expect("read");
    let key = common::key(BYTES as u64);
    let place = JournalDir::at(&elsewhere).registered_in(&registry);
    let failing = place.clone().on(Arc::new(NoNames(registry.clone())));
    failing.keep(&key, &borrowed).expect_err("not registered");
    place.keep(&key, &borrowed).expect("nothing is left").close().expect("closed");
    for dir in [&registry, &elsewhere] {
        assert_eq!(fs::read_dir(dir).expect("there").count(), 0, "{}", dir.display());
    }
}

#[test]
fn regions_of_a_drive_with_a_dot_in_its_name_have_journals_of_their_own() {
    let dir = TempDir::new().expect("a directory");
    let drive = drive_at(&dir.path().join("drive"), &content());
    let key = DriveKey { path: "/dev/pmem0.1".into(), ..common::key(BYTES as u64) };
    let (place, default) = (dir.path().join("stick"), dir.path().join("state"));
    let place = JournalDir::at(&place).registered_in(&default);
    let journals = [0, BLOCK as u64].map(|start| {
        let region = Region { start, bytes: BLOCK as u64 };
        let borrowed = Borrowed::read(&drive, region).expect("read");
        place.keep(&key, &borrowed).expect("kept")
    });
    let names = journals.each_ref().map(|j| j.path().to_string_lossy().into_owned());
    assert!(names.iter().all(|name| name.contains("/pmem0-1-")), "{names:?}");
    for dir in [place.dir(), &default] {
        assert_eq!(fs::read_dir(dir).expect("there").count(), 2, "{}", dir.display());
    }
    for journal in journals {
        assert!(journal.path().exists());
        journal.close().expect("closed");
    }
}

#[test]
fn commands_to_copy_are_quoted() {
    let left = ElsewhereLeft {
        path: "/data/A B/x.journal".into(),
        drive: common::key(512),
        uid: Some(u32::MAX - 7),
        is_ours: false,
        dir: Some("/data/A B".into()),
    };
    let user = u32::MAX - 7;
    let command = format!("ssdyno recover --journal-of {user} --journal '/data/A B'");
    assert_eq!(left.command(), command);
    let ours = ElsewhereLeft { uid: None, dir: None, ..left };
    assert_eq!(ours.command(), "ssdyno recover");
    let (drive, id, path) = ("/dev/sdx".into(), "x".into(), "/my stick/x.journal".into());
    let advice = JournalError::Unfinished { drive, id, path }.advice().expect("advice");
    assert!(advice.starts_with("ssdyno recover --journal '/my stick'; with "), "{advice}");
}

/// docs/safety.md: "Journals in the homes of other accounts".
#[test]
fn a_journal_in_another_home_refuses_its_drive_and_is_not_touched() {
    let dir = TempDir::new().expect("a directory");
    let states = ["user", "root"].map(|home| dir.path().join(home).join(".local/state"));
    let [users, roots] = states.clone().map(|state| state.join("ssdyno/journal"));
    let drive = drive_at(&dir.path().join("drive"), &content());
    let borrowed = Borrowed::read(&drive, Region::first(BYTES as u64)).expect("read");
    let key = common::key(BYTES as u64);
    let root = JournalDir::at(&roots).beside(states.to_vec());
    assert_eq!(root.left_elsewhere(), [], "no such directory yet");
    drop(JournalDir::at(&users).keep(&key, &borrowed).expect("kept"));
    // Other users can put anything there: a name that does not end, and a path to remove.
    let trap = dir.path().join("trap.journal");
    fs::write(&trap, "precious").expect("written");
    std::os::unix::fs::symlink("/dev/zero", users.join("zero.journal")).expect("linked");
    let entry = serde_json::json!({"path": trap, "drive": key, "made_s": 1}).to_string();
    fs::write(users.join("trap.closing"), entry).expect("written");
    let before = fs::read_dir(&users).expect("there").count();

    let [left] = &root.left_elsewhere()[..] else { panic!("one") };
    assert_eq!((left.path.parent(), &left.drive), (Some(&*users), &key));
    assert_eq!(left.command(), format!("ssdyno recover --journal {}", users.display()));
    for error in [root.check_overwrite(&key, "/dev/sdx"), root.keep(&key, &borrowed).map(drop)] {
        let error = error.expect_err("blocks are left");
        assert!(matches!(error, JournalError::OtherHome { .. }), "{error}");
        assert!(error.advice().is_some_and(|advice| advice.starts_with(&left.command())));
    }
    let other = common::key(2 * BYTES as u64);
    root.check_overwrite(&other, "/dev/sdy").expect("another drive");
    assert_eq!((fs::read_dir(&users).expect("there").count(), trap.exists()), (before, true));
    // The user's own runs find it as ever.
    let user = JournalDir::at(&users).beside(states.to_vec());
    assert_eq!(user.left_elsewhere(), []);
    assert!(matches!(user.check_overwrite(&key, "x"), Err(JournalError::Unfinished { .. })));
}
