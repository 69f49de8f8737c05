//! Journals that another user made, or could have made: nothing is restored from them unless their
//! owner is named, and none of them stops a run of somebody else.
//!
//! Only root can give files to another user; without that, most of these tests are skipped.

use crate::common;
use crate::kernel::or_skip;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

use drive::{DriveKey, Machine};
use journal::{BLOCK, Borrowed, EarlierJournal, JournalDir, JournalError, Leftover, State};
use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};
use tempfile::TempDir;
use workload::Region;

/// A user without an account.
const STRANGER: u32 = 12_345;

const BYTES: u64 = 2 * BLOCK as u64;

fn key() -> DriveKey {
    common::key(BYTES)
}

/// A directory with these permissions. An error if this user cannot give files away.
fn directory(parent: &TempDir, name: &str, mode: u32) -> Result<PathBuf, String> {
    let path = parent.path().join(name);
    fs::create_dir(&path).expect("made");
    fs::set_permissions(&path, Permissions::from_mode(mode)).expect("changed");
    let probe = path.join("probe");
    fs::write(&probe, "").expect("written");
    let given = give(&probe);
    fs::remove_file(&probe).expect("removed");
    given.map(|()| path)
}

fn give(path: &Path) -> Result<(), String> {
    std::os::unix::fs::lchown(path, Some(STRANGER), Some(STRANGER)).map_err(|e| e.to_string())
}

fn borrowed(parent: &TempDir) -> Borrowed {
    let path = parent.path().join("drive");
    fs::write(&path, vec![7; BYTES as usize]).expect("written");
    Borrowed::read(&File::open(path).expect("opens"), Region::first(BYTES)).expect("read")
}

/// Leaves a journal of a killed run in a directory.
fn left_in(parent: &TempDir, dir: &Path) -> PathBuf {
    let journal = JournalDir::at(dir).keep(&key(), &borrowed(parent)).expect("kept");
    journal.path().to_path_buf()
}

/// The stranger's journals in a directory, as root sees them after naming him.
fn as_the_strangers(dir: &Path) -> JournalDir {
    let account = Machine::here().account(&STRANGER.to_string()).expect("a number");
    JournalDir::of_account(&account, Some(dir)).expect("a directory")
}

/// Checks that a drive can be borrowed and overwritten.
fn permits(place: &JournalDir, parent: &TempDir) {
    place.check_overwrite(&key(), "/dev/sdx").expect("nothing stops it");
    place.keep(&key(), &borrowed(parent)).expect("nothing stops it").close().expect("closed");
}

#[test]
fn a_journal_of_another_user_in_a_shared_directory_stops_nobody_and_is_not_restored() {
    let parent = TempDir::new().expect("a directory");
    let shared = or_skip!(directory(&parent, "shared", 0o1777));
    let path = left_in(&parent, &shared);
    or_skip!(give(&path));
    let place = JournalDir::at(&shared);
    assert!(place.unfinished().expect("read").is_empty(), "it is not ours");
    permits(&place, &parent);
    let error = place.open(&path).expect_err("not ours");
    assert!(matches!(error, JournalError::Foreign { uid: STRANGER, .. }), "{error}");
    let [left] = &place.left_elsewhere()[..] else { panic!("one is reported") };
    let command = format!("ssdyno recover --journal-of {STRANGER} --journal {}", shared.display());
    assert_eq!((left.command(), left.is_ours), (command, false));
    // Its owner was named.
    let his = as_the_strangers(&shared);
    let [Leftover { state: State::Whole(_), .. }] = &his.unfinished().expect("read")[..] else {
        panic!("one whole journal");
    };
    let kept = his.open(&path).expect("named");
    assert_eq!((kept.uid().expect("open"), kept.content()[1].len() as u64), (STRANGER, BYTES));
    let on_disk = fs::read(&path).expect("read");
    assert_eq!(kept.content().concat(), on_disk);
}

/// A directory of root's in another user's home can be moved away by that user, journals and all.
#[test]
fn root_keeps_no_journal_where_another_user_could_replace_a_directory_on_the_way() {
    let parent = TempDir::new().expect("a directory");
    let home = or_skip!(directory(&parent, "home", 0o755));
    let inside = home.join("roots");
    fs::create_dir(&inside).expect("made");
    let link = parent.path().join("link");
    let target = directory(&parent, "target", 0o700).expect("as above");
    symlink(&target, &link).expect("linked");
    give(&home).and_then(|()| give(&link)).expect("given");
    for dir in [inside.clone(), inside.join("new/deep"), link.join("new")] {
        let place = JournalDir::at(&dir);
        let error = place.keep(&key(), &borrowed(&parent)).expect_err("not safe");
        assert!(matches!(error, JournalError::Shared { .. }), "{error}");
    }
    assert_eq!(fs::read_dir(&inside).expect("a directory").count(), 0);
    assert_eq!(fs::read_dir(&target).expect("a directory").count(), 0);
    permits(&JournalDir::at(&target.join("new")), &parent);
}

#[test]
fn a_crafted_journal_in_another_home_stops_nobody() {
    let parent = TempDir::new().expect("a directory");
    let home = or_skip!(directory(&parent, "home", 0o755));
    let state = home.join(".local/state");
    let his = state.join("ssdyno/journal");
    fs::create_dir_all(&his).expect("made");
    let path = left_in(&parent, &his);
    [&his, &path].into_iter().try_for_each(|path| give(path)).expect("given");
    let place = JournalDir::at(&parent.path().join("root")).beside(vec![state]);
    permits(&place, &parent);
    let [left] = &place.left_elsewhere()[..] else { panic!("one is reported") };
    assert_eq!((left.uid, left.is_ours), (Some(STRANGER), false));
    assert!(path.exists());
}

/// As `sudo` left it with the caller's HOME: its content is root's, but the caller can put an older
/// one in its place.
#[test]
fn a_journal_of_root_in_another_home_stops_runs_and_needs_that_name() {
    let parent = TempDir::new().expect("a directory");
    let home = or_skip!(directory(&parent, "home", 0o755));
    let state = home.join(".local/state");
    let his = state.join("ssdyno/journal");
    fs::create_dir_all(&his).expect("made");
    let path = left_in(&parent, &his);
    give(&his).expect("given");
    let place = JournalDir::at(&parent.path().join("root")).beside(vec![state]);
    let error = place.check_overwrite(&key(), "/dev/sdx").expect_err("it is root's");
    let advice = error.advice().expect("a command");
    assert!(advice.starts_with(&format!("ssdyno recover --journal-of {STRANGER} ")), "{advice}");
    let error = EarlierJournal::open(&path).expect_err("it can be replaced");
    assert!(matches!(error, JournalError::Shared { .. }), "{error}");
    let named = as_the_strangers(&his);
    assert_eq!(named.unfinished().expect("read").len(), 1);
    drop(named.open(&path).expect("named"));
    named.remove(&path).expect("removed");
    permits(&place, &parent);
}

/// Makes what is no regular file; a link leads to `real`.
fn make(name: &str, at: &Path, real: &Path) -> std::io::Result<()> {
    let node = |kind, device| mknodat(CWD, at, kind, Mode::RUSR | Mode::WUSR, device);
    match name {
        "pipe" => Ok(node(FileType::Fifo, 0)?),
        "device" => Ok(node(FileType::CharacterDevice, makedev(1, 3))?),
        "directory" => fs::create_dir(at),
        "link" => symlink(real, at),
        "nowhere" => symlink("nowhere", at),
        _ => symlink(at, at),
    }
}

#[test]
fn what_is_no_regular_file_neither_hangs_nor_is_followed() {
    let parent = TempDir::new().expect("a directory");
    let shared = or_skip!(directory(&parent, "shared", 0o1777));
    let private = or_skip!(directory(&parent, "private", 0o700));
    let real = left_in(&parent, &private);
    for extension in ["journal", "part", "journal.elsewhere", "journal.closing"] {
        for name in ["pipe", "device", "directory", "link", "nowhere", "itself"] {
            let at = shared.join(format!("{name}.{extension}"));
            if let Err(error) = make(name, &at, &real) {
                assert_eq!(name, "device", "{error}");
                continue;
            }
            let place = JournalDir::at(&shared);
            let found = place.unfinished().expect("read");
            let [left] = &found[..] else { panic!("{name}: {found:?}") };
            assert!(matches!(left.state, State::Damaged { drive: None, .. }), "{left:?}");
            place.check_overwrite(&key(), "/dev/sdx").expect("it restores nothing");
            place.keep(&key(), &borrowed(&parent)).expect_err("it can be of any drive");
            EarlierJournal::open(&at).expect_err("no regular file");
            // The same by another user.
            give(&at).expect("given");
            permits(&place, &parent);
            assert!(place.unfinished().expect("read").is_empty(), "{name}.{extension}");
            EarlierJournal::open(&at).expect_err("no regular file, and not ours");
            if at.is_dir() { fs::remove_dir(&at) } else { fs::remove_file(&at) }.expect("removed");
        }
    }
    assert!(real.exists());
}

#[test]
fn a_journal_that_is_replaced_between_check_and_use_is_not_restored() {
    let parent = TempDir::new().expect("a directory");
    let [shared, registry] = ["shared", "registry"].map(|name| directory(&parent, name, 0o1777));
    let (shared, registry) = (or_skip!(shared), or_skip!(registry));
    let place = JournalDir::at(&shared).registered_in(&registry);
    let journal = place.keep(&key(), &borrowed(&parent)).expect("kept");
    let path = journal.path().to_path_buf();
    drop(journal);
    let found = JournalDir::at(&registry).unfinished().expect("read");
    assert!(matches!(found[0].state, State::Whole(_)), "{found:?}");
    let bytes = fs::read(&path).expect("read");
    fs::remove_file(&path).expect("removed");
    fs::write(&path, bytes).expect("written");
    give(&path).expect("given");
    let error = place.open(&found[0].path).expect_err("replaced");
    assert!(matches!(error, JournalError::Foreign { .. }), "{error}");
    // The registry still knows the drive, and giving up its blocks leaves the other file.
    let default = JournalDir::at(&registry);
    let found = default.unfinished().expect("read");
    let [left] = &found[..] else { panic!("{found:?}") };
    assert!(matches!(left.state, State::Damaged { drive: Some(_), .. }), "{left:?}");
    default.check_overwrite(&key(), "/dev/sdx").expect_err("its blocks are lost");
    default.discard(left).expect("discarded");
    assert!(path.exists());
    permits(&default, &parent);
}

#[test]
fn no_journal_is_kept_or_restored_where_others_could_replace_it() {
    let parent = TempDir::new().expect("a directory");
    let dir = parent.path().join("open");
    fs::create_dir(&dir).expect("made");
    let path = left_in(&parent, &dir);
    fs::set_permissions(&dir, Permissions::from_mode(0o777)).expect("changed");
    for error in [
        EarlierJournal::open(&path).map(drop).expect_err("not safe"),
        JournalDir::at(&dir)
            .keep(&common::key(BLOCK as u64), &borrowed(&parent))
            .map(drop)
            .expect_err("not safe"),
    ] {
        assert!(matches!(error, JournalError::Shared { .. }), "{error}");
        assert_eq!(error.fault(), rig::ErrorClass::Refused);
        assert!(error.advice().is_some_and(|advice| advice.starts_with("chmod go-w ")));
    }
    assert_eq!(fs::read_dir(&dir).expect("there").count(), 1, "nothing was left behind");
    fs::set_permissions(&dir, Permissions::from_mode(0o700)).expect("changed");
    drop(EarlierJournal::open(&path).expect("safe"));
    if chown(&dir, Some(STRANGER), None).is_ok() {
        let error = EarlierJournal::open(&path).expect_err("its owner can replace it");
        assert!(error.to_string().contains(&format!("its owner, user {STRANGER},")), "{error}");
    }
}

#[test]
fn entries_of_another_user_remove_no_file_that_they_name() {
    let parent = TempDir::new().expect("a directory");
    let shared = or_skip!(directory(&parent, "shared", 0o1777));
    let private = or_skip!(directory(&parent, "private", 0o700));
    let registered = JournalDir::at(&private).registered_in(&shared);
    let journal = registered.keep(&key(), &borrowed(&parent)).expect("kept");
    let name = journal.path().file_stem().expect("a name").to_owned();
    let entry = shared.join(&name).with_extension("elsewhere");
    let text = fs::read_to_string(&entry).expect("an entry");
    drop(journal);
    for precious in [private.join("precious"), private.join("precious.part")] {
        fs::write(&precious, "root's").expect("written");
        let file_name = Path::new(&name).with_extension("journal");
        let named = private.join(file_name).display().to_string();
        let trap = text.replace(&named, &precious.display().to_string());
        assert_ne!(trap, text);
        for extension in ["closing", "elsewhere"] {
            let trap_path = shared.join("trap").with_extension(extension);
            fs::write(&trap_path, &trap).expect("written");
            give(&trap_path).expect("given");
            let place = as_the_strangers(&shared);
            for left in place.unfinished().expect("read") {
                assert!(!matches!(left.state, State::Torn), "{left:?}");
            }
            assert_eq!(fs::read(&precious).expect("still there"), b"root's");
            fs::remove_file(trap_path).expect("removed");
        }
    }
}
