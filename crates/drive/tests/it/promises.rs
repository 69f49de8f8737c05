//! Promises of docs/safety.md that no other test in this directory covers: scratch files without a
//! name, orphans' names on other file types, full file systems, read-only partitions, immutable
//! files, and the guard of an erase.

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use crate::common::kernel::{Loop, Mounted, or_skip, run};
use drive::{DriveError, DriveKey, NamedScratch, OpenRequest, open, plan_open};
use record::Safety;
use rig::ErrorClass;
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::fs::{AtFlags, CWD, OFlags, linkat};
use tempfile::TempDir;

const MIB: u64 = 1 << 20;

fn sized(size: u64) -> OpenRequest {
    OpenRequest { size: Some(size), ..OpenRequest::to(Safety::Scratch) }
}

fn destroy(bytes: u64) -> OpenRequest {
    OpenRequest { destroy: Some(bytes.to_string()), ..OpenRequest::to(Safety::Destroys) }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("plain")
}

/// Whether unnamed files can be created in this directory.
fn has_nameless_files(dir: &Path) -> Result<(), String> {
    let mut options = File::options();
    options.read(true).write(true).custom_flags(OFlags::TMPFILE.bits() as i32);
    options.open(dir).map(drop).map_err(|e| format!("no O_TMPFILE: {e}"))
}

#[test]
fn a_scratch_file_never_has_a_name() {
    let dir = TempDir::new().expect("a directory");
    or_skip!(has_nameless_files(dir.path()));
    let watch = inotify::init(CreateFlags::NONBLOCK).expect("inotify");
    inotify::add_watch(&watch, dir.path(), WatchFlags::CREATE).expect("watched");
    let events = || {
        let mut space = [std::mem::MaybeUninit::<u8>::uninit(); 4096];
        inotify::Reader::new(&watch, &mut space).next().is_ok()
    };
    let opened = open(text(dir.path()), &sized(MIB)).expect("opened");
    assert!(!events(), "a name was created, if only briefly");
    fs::write(dir.path().join("seen"), "").expect("written");
    assert!(events(), "otherwise the watch does not work");
    // No process can name it later.
    let again = format!("/proc/self/fd/{}", opened.file().as_raw_fd());
    let linked = linkat(CWD, &again, CWD, dir.path().join("kept"), AtFlags::SYMLINK_FOLLOW);
    assert!(linked.is_err(), "the file got a name");
}

#[test]
fn a_named_scratch_file_is_removed_on_drop_and_orphans_on_creation() {
    let dir = TempDir::new().expect("a directory");
    let orphan = dir.path().join(".ssdyno-scratch-4711-0123456789abcdef");
    fs::write(&orphan, "x").expect("written");
    let scratch = NamedScratch::create(dir.path()).expect("created");
    assert!(!orphan.exists());
    let path = scratch.path().to_path_buf();
    let mode = fs::metadata(&path).expect("there").permissions().mode();
    assert_eq!((path.parent(), mode & 0o777), (Some(dir.path()), 0o600));
    // Another run that cleans up does not remove it.
    let other = NamedScratch::create(dir.path()).expect("created");
    assert!(path.exists() && other.path() != path);
    drop(scratch);
    assert!(!path.exists() && other.path().exists());
}

/// A pipe with a matching name is not opened for reading, which would wait for a writer.
#[test]
fn an_orphans_name_on_another_file_type_is_ignored() {
    let dir = TempDir::new().expect("a directory");
    let pipe = dir.path().join(".ssdyno-scratch-4711-0123456789abcdef");
    run("mkfifo", &[text(&pipe)]).expect("made");
    let opened = open(text(dir.path()), &sized(MIB)).expect("opened");
    assert_eq!(opened.orphans_removed, 0);
    assert!(pipe.exists());
}

#[test]
fn a_file_system_without_free_inodes_is_reported() {
    let mounted = or_skip!(Mounted::of_kind("tmpfs", "tmpfs", "size=64m,nr_inodes=1"));
    let error = open(mounted.text(), &sized(MIB)).expect_err("no inode is left");
    assert_eq!(error.fault(), ErrorClass::Refused, "{error}");
    assert!(matches!(error, DriveError::NoRoom { fits: 0, .. }), "{error}");
}

#[test]
fn the_room_of_a_directory_is_the_maximum_scratch_size() {
    let device = or_skip!(Loop::with(128 * MIB, &["mkfs.ext4", "-q", "-m", "0"]));
    let mounted = or_skip!(Mounted::new(&device.path, "rw"));
    let room = drive::room(&mounted.dir).expect("read");
    assert!(room.is_multiple_of(MIB) && (16 * MIB..58 * MIB).contains(&room), "{room}");
    open(mounted.text(), &sized(room)).expect("all of the room");
    let error = open(mounted.text(), &sized(room + MIB)).expect_err("too large");
    assert!(matches!(error, DriveError::NoRoom { fits, .. } if fits == room), "{error}");
    assert_eq!(open(mounted.text(), &sized(MIB)).expect("opened").info.logical_block_bytes, 512);
}

/// A device set read-only. Its flag outlives the attachment of a loop device, so drop resets it.
struct ReadOnly(String);

impl ReadOnly {
    fn set(device: &str) -> Result<ReadOnly, String> {
        run("blockdev", &["--setro", device]).map(|_| ReadOnly(device.to_string()))
    }
}

impl Drop for ReadOnly {
    fn drop(&mut self) {
        let _ = run("blockdev", &["--setrw", &self.0]);
    }
}

#[test]
fn a_read_only_partition_is_refused() {
    let device = or_skip!(Loop::partitioned(16 * MIB, &[(2048, 16384), (18432, 8192)]));
    let (first, second) = (format!("{}p1", device.path), format!("{}p2", device.path));
    let refused = |path: &str, bytes| {
        let error = open(path, &destroy(bytes)).expect_err("read-only");
        assert_eq!(error.fault(), ErrorClass::Refused);
        assert_eq!(error.to_string(), format!("{path} is read-only"));
    };
    {
        let _first = or_skip!(ReadOnly::set(&first));
        refused(&first, 8 * MIB);
        open(&second, &destroy(4 * MIB)).expect("its neighbour is writable");
    }
    let _disk = or_skip!(ReadOnly::set(&device.path));
    refused(&second, 4 * MIB);
}

#[test]
fn the_guard_recognises_its_device() {
    let device = or_skip!(Loop::of(8 * MIB));
    let opened = open(&device.path, &destroy(8 * MIB)).expect("granted");
    let key = opened.guard.key().expect("a device has a key");
    assert_eq!(Some(&key), DriveKey::from_path(device.path.as_ref()).as_ref());
    assert_eq!((key.bytes, key.path.as_str()), (8 * MIB, device.path.as_str()));
    let dir = TempDir::new().expect("a directory");
    assert_eq!(open(text(dir.path()), &sized(MIB)).expect("opened").guard.key(), None);
}

#[test]
fn only_a_whole_nvme_drive_is_erased() {
    let device = or_skip!(Loop::of(8 * MIB));
    let reads = OpenRequest::to(Safety::Reads);
    let dir = TempDir::new().expect("a directory");
    let says = "needs a whole NVMe drive";
    for (path, request) in [(device.path.as_str(), &reads), (text(dir.path()), &sized(MIB))] {
        let opened = open(path, request).expect("opened");
        for (error, what) in [
            (opened.guard.can_format(512), "a format"),
            (opened.guard.format(512), "a format"),
            (opened.guard.can_sanitize(), "a sanitize"),
            (opened.guard.sanitize(&mut |_| ()), "a sanitize"),
        ] {
            assert_eq!(error.expect_err("refused").to_string(), format!("{what} {says}"));
        }
    }
}

#[test]
fn an_immutable_file_cannot_be_confirmed() {
    let dir = TempDir::new().expect("a directory");
    let image = dir.path().join("image.ro");
    fs::write(&image, vec![0; 8192]).expect("written");
    let _immutable = or_skip!(Immutable::set(&image));
    let reads = OpenRequest::to(Safety::Reads);
    assert_eq!(plan_open(text(&image), &reads).expect("read").info.allowed, Safety::Reads);
    let error = plan_open(text(&image), &destroy(8192)).expect_err("not written");
    assert_eq!(error.fault(), ErrorClass::Refused, "{error}");
}

/// A file that nobody may write, not even root.
struct Immutable<'a>(&'a Path);

impl Immutable<'_> {
    fn set(file: &Path) -> Result<Immutable<'_>, String> {
        run("chattr", &["+i", text(file)]).map(|_| Immutable(file))
    }
}

impl Drop for Immutable<'_> {
    fn drop(&mut self) {
        let _ = run("chattr", &["-i", text(self.0)]);
    }
}
