//! Blocks in a journal can be restored whatever happened to the drive, and damage to a journal is
//! reported.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use drive::DriveKey;
use journal::{BLOCK, Borrowed, EarlierJournal, Journal, JournalDir, JournalError, Rereads, State};
use proptest::prelude::*;
use rig::ErrorClass;
use tempfile::TempDir;
use workload::Region;

/// Size of the drive, bytes: five blocks and a partial one.
const BYTES: usize = 5 * BLOCK + 1000;

/// A file in place of a drive, and a directory for journals.
struct Bench {
    dir: TempDir,
    drive: File,
    content: Vec<u8>,
}

impl Bench {
    fn new() -> Bench {
        let dir = TempDir::new().expect("a directory");
        let content: Vec<u8> = (0..BYTES).map(|i| (i / 7 * 31 + i) as u8).collect();
        let path = dir.path().join("drive");
        fs::write(&path, &content).expect("written");
        let drive = File::options().read(true).write(true).open(path).expect("opens");
        Bench { dir, drive, content }
    }

    fn place(&self) -> JournalDir {
        JournalDir::at(&self.dir.path().join("a/b"))
    }

    fn keep(&self, borrowed: &Borrowed) -> Result<Journal, JournalError> {
        self.place().keep(&key("S1"), borrowed)
    }

    fn now(&self) -> Vec<u8> {
        let mut bytes = vec![0; BYTES];
        self.drive.read_exact_at(&mut bytes, 0).expect("read");
        bytes
    }
}

fn key(serial: &str) -> DriveKey {
    DriveKey {
        path: "/dev/sdx".into(),
        model: Some("ACME X1".into()),
        serial: Some(serial.into()),
        disk_bytes: BYTES as u64,
        start: None,
        bytes: BYTES as u64,
        backing_file: None,
        nsid: None,
    }
}

fn all() -> Region {
    Region::first(BYTES as u64)
}

/// A journal whose run has died: the lock is released, the file exists.
fn left(bench: &Bench, region: Region) -> PathBuf {
    let borrowed = Borrowed::read(&bench.drive, region).expect("read");
    bench.keep(&borrowed).expect("kept").path().to_path_buf()
}

#[test]
fn a_journal_exists_until_it_is_closed() {
    let bench = Bench::new();
    assert!(bench.place().unfinished().expect("none").is_empty(), "without a directory");
    let borrowed = Borrowed::read(&bench.drive, all()).expect("read");
    let journal = bench.keep(&borrowed).expect("kept");
    assert_eq!(journal.path().extension().and_then(|e| e.to_str()), Some("journal"));
    assert!(bench.place().unfinished().expect("read").is_empty(), "its run is in progress");
    let opened = EarlierJournal::open(journal.path()).expect_err("held");
    assert!(matches!(opened, JournalError::Held { .. }), "{opened}");
    // A second region of the same run is allowed.
    let part = Borrowed::read(&bench.drive, Region { start: 0, bytes: 512 }).expect("read");
    bench.keep(&part).expect("kept").close().expect("closed");
    journal.close().expect("closed");
    assert_eq!(fs::read_dir(bench.place().dir()).expect("made").count(), 0);
}

#[test]
fn only_its_owner_can_read_a_journal() {
    use std::os::unix::fs::PermissionsExt;
    let bench = Bench::new();
    let path = left(&bench, all());
    let mode =
        |path: &std::path::Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o600);
    assert_eq!(mode(bench.place().dir()), 0o700);
}

#[test]
fn a_drive_with_blocks_in_a_journal_cannot_be_borrowed() {
    let bench = Bench::new();
    let path = left(&bench, all());
    let borrowed = Borrowed::read(&bench.drive, all()).expect("read");
    let error = bench.keep(&borrowed).expect_err("refused");
    let advice = error.advice().expect("there is something to try");
    assert!(
        error.fault() == ErrorClass::Refused && advice.starts_with("ssdyno recover --journal /")
    );
    bench.place().keep(&key("S2"), &borrowed).expect("another drive").close().expect("closed");
    bench.place().close(EarlierJournal::open(&path).expect("whole")).expect("closed");
    bench.keep(&borrowed).expect("kept");
}

#[test]
fn kept_bytes_are_read_again() {
    let bench = Bench::new();
    let region = Region { start: 512, bytes: 2 * BLOCK as u64 + 512 };
    let kept = EarlierJournal::open(&left(&bench, region)).expect("whole");
    assert_eq!((&kept.header.drive, kept.header.region), (&key("S1"), region));
    assert_eq!(kept.borrowed.bytes(), &bench.content[512..512 + region.bytes as usize]);
    assert_eq!((kept.borrowed.blocks(), kept.borrowed.damaged()), (3, vec![]));
    let mut buffer = vec![0; 1000];
    assert!(kept.borrowed.copy_to(1024, &mut buffer));
    assert_eq!(buffer, bench.content[1024..2024]);
    assert!(
        !kept.borrowed.copy_to(511, &mut buffer)
            && !kept.borrowed.copy_to(region.end(), &mut buffer)
    );
    assert!(!kept.borrowed.copy_to(region.end() - 999, &mut buffer));
}

#[test]
fn a_shrunk_drive_differs_beyond_its_end() {
    let bench = Bench::new();
    let kept = EarlierJournal::open(&left(&bench, all())).expect("whole");
    bench.drive.set_len(2 * BLOCK as u64).expect("cut");
    assert_eq!(
        kept.borrowed
            .compare(&bench.drive, Rereads::UntilCertain, &mut |_| ())
            .expect("compared")
            .to_restore(),
        [2, 3, 4, 5]
    );
}

#[test]
fn a_truncated_file_is_not_a_journal() {
    let bench = Bench::new();
    let path = left(&bench, all());
    let whole = fs::read(&path).expect("read");
    for length in (0..500).chain([1000]) {
        fs::write(&path, &whole[..length]).expect("written");
        let [found] = &bench.place().unfinished().expect("read")[..] else { panic!("one") };
        let torn = matches!(found.state, State::Damaged { .. });
        assert!(torn || EarlierJournal::open(&path).is_ok(), "{length}: {found:?}");
    }
    fs::rename(&path, path.with_extension("part")).expect("renamed");
    let [found] = &bench.place().unfinished().expect("read")[..] else { panic!("one") };
    assert!(matches!(found.state, State::Torn), "{found:?}");
    bench.place().remove(&found.path).expect("removed");
    assert!(bench.place().unfinished().expect("read").is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Every change to the drive is detected and undone.
    #[test]
    fn differing_blocks_are_restored(
        writes in prop::collection::vec((0..BYTES, prop::collection::vec(any::<u8>(), 1..3000)), 0..6),
    ) {
        let bench = Bench::new();
        let kept = EarlierJournal::open(&left(&bench, all())).expect("whole");
        let mut now = bench.content.clone();
        for (at, bytes) in &writes {
            let end = (at + bytes.len()).min(BYTES);
            now[*at..end].copy_from_slice(&bytes[..end - at]);
        }
        bench.drive.write_all_at(&now, 0).expect("written");
        let expected: Vec<usize> = (0..BYTES.div_ceil(BLOCK))
            .filter(|i| now.chunks(BLOCK).nth(*i) != bench.content.chunks(BLOCK).nth(*i))
            .collect();
        let differing = kept.borrowed.compare(&bench.drive, Rereads::UntilCertain, &mut |_| ()).expect("compared").to_restore();
        prop_assert_eq!(&differing, &expected);
        kept.borrowed.put_back(&bench.drive, &differing, &mut |_| ()).expect("restored");
        prop_assert_eq!(bench.now(), bench.content.clone());
    }

    /// Whatever happens to the journal, only original bytes are written.
    #[test]
    fn a_damaged_journal_writes_nothing_wrong(
        flips in prop::collection::vec((any::<prop::sample::Index>(), 1..=255u8), 1..5),
        cut in any::<prop::sample::Index>(),
        cuts: bool,
    ) {
        let bench = Bench::new();
        let path = left(&bench, all());
        let mut bytes = fs::read(&path).expect("read");
        for (at, change) in &flips {
            let at = at.index(bytes.len());
            bytes[at] ^= change;
        }
        if cuts {
            bytes.truncate(cut.index(bytes.len()));
        }
        fs::write(&path, &bytes).expect("written");
        let Ok(kept) = EarlierJournal::open(&path) else { return Ok(()) };
        bench.drive.write_all_at(&vec![0; BYTES], 0).expect("written");
        let (differing, damaged) =
            (kept.borrowed.compare(&bench.drive, Rereads::UntilCertain, &mut |_| ()).expect("compared").to_restore(), kept.borrowed.damaged());
        kept.borrowed.put_back(&bench.drive, &differing, &mut |_| ()).expect("restored");
        for (i, (now, was)) in bench.now().chunks(BLOCK).zip(bench.content.chunks(BLOCK)).enumerate() {
            let left_alone = damaged.contains(&i) && now.iter().all(|byte| *byte == 0);
            prop_assert!(now == was || left_alone, "block {i}");
        }
    }

    #[test]
    fn arbitrary_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), ours: bool) {
        let dir = TempDir::new().expect("a directory");
        let path = dir.path().join("x.journal");
        let head: &[u8] = if ours { b"SSDYNOJ1" } else { b"" };
        fs::write(&path, [head, &bytes].concat()).expect("written");
        prop_assert!(EarlierJournal::open(&path).is_err());
        let place = JournalDir::at(dir.path());
        prop_assert_eq!(place.unfinished().expect("read").len(), 1);
    }
}
