//! Scratch files in directories, the user's files, and paths that cannot be measured.

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use crate::common::kernel::{Loop, Mounted, or_skip, run};
use drive::{DriveError, OpenRequest, open, plan_open};
use record::{Safety, TargetKind};
use rig::ErrorClass;
use rustix::fs::{FlockOperation, flock};
use tempfile::TempDir;

const MIB: u64 = 1 << 20;
const ORPHAN: &str = ".ssdyno-scratch-4711-0123456789abcdef";

fn sized(size: u64) -> OpenRequest {
    OpenRequest { size: Some(size), ..OpenRequest::to(Safety::Scratch) }
}

fn unsized_() -> OpenRequest {
    OpenRequest::to(Safety::Scratch)
}

fn text(path: &Path) -> &str {
    path.to_str().expect("plain")
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).expect("directory").flatten();
    entries.filter_map(|e| e.file_name().into_string().ok()).filter(|n| n != "lost+found").collect()
}

fn error(path: &str, request: &OpenRequest) -> DriveError {
    let planned = plan_open(path, request).expect_err("planned as an error").to_string();
    let error = open(path, request).expect_err("an error");
    assert_eq!(error.to_string(), planned);
    assert!(!planned.contains('\n'), "one line: {planned}");
    error
}

#[test]
fn a_scratch_file_has_no_name_and_can_be_reopened() {
    let dir = TempDir::new().expect("a directory");
    let planned = plan_open(text(dir.path()), &sized(3 * MIB + 5)).expect("planned").info;
    assert_eq!(names(dir.path()), Vec::<String>::new(), "a plan changes nothing");
    let opened = open(text(dir.path()), &sized(3 * MIB + 5)).expect("opened");
    assert_eq!(names(dir.path()), Vec::<String>::new());
    let info = &opened.info;
    assert_eq!((info.bytes, info.allowed), (3 * MIB, Safety::Scratch));
    assert_eq!(info.target.bytes, Some(3 * MIB));
    assert_eq!((info.target.kind, info.target.direct), (TargetKind::Directory, None));
    assert_eq!(info.target.path.as_deref(), dir.path().canonicalize().expect("real").to_str());
    assert!(info.target.filesystem.as_ref().is_some_and(|f| f.free_bytes > Some(0)));
    assert_eq!(
        (planned.bytes, planned.logical_block_bytes, planned.target.drive.map(|d| d.name)),
        (info.bytes, info.logical_block_bytes, info.target.drive.as_ref().map(|d| d.name.clone())),
    );
    assert_eq!(opened.file().metadata().expect("open").len(), 0, "the engine fills it");
    opened.file().write_all_at(b"mine", 0).expect("written");
    let again = format!("/proc/self/fd/{}", opened.file().as_raw_fd());
    assert_eq!(fs::read(again).expect("opens again"), b"mine");
    opened.guard.check_again().expect("unchanged");
}

#[test]
fn traffic_to_the_drive_is_counted() {
    let dir = TempDir::new_in("/var/tmp").expect("a directory");
    let mut opened = open(text(dir.path()), &sized(8 * MIB)).expect("opened");
    let Some(before) = opened.watch.sample() else {
        eprintln!("skipped: no drive under /var/tmp");
        return;
    };
    opened.file().write_all_at(&vec![0xa5; 8 * MIB as usize], 0).expect("written");
    opened.file().sync_all().expect("synced");
    let after = opened.watch.sample().expect("still there");
    assert!(after.written_bytes - before.written_bytes >= 8 * MIB, "{before:?} {after:?}");
    assert!(after.read_bytes >= before.read_bytes && after.weighted_ms >= before.weighted_ms);
}

#[test]
fn orphans_are_removed_and_scratch_files_in_use_stay() {
    let dir = TempDir::new().expect("a directory");
    let orphan = dir.path().join(ORPHAN);
    let living = dir.path().join(ORPHAN.replace("4711", "4712"));
    let own = dir.path().join(".ssdyno-scratch-notes");
    for path in [&orphan, &living, &own] {
        fs::write(path, "x").expect("written");
    }
    let target = dir.path().join("precious");
    fs::write(&target, "x").expect("written");
    symlink(&target, dir.path().join(ORPHAN.replace("4711", "4713"))).expect("linked");
    let holder = File::open(&living).expect("open");
    flock(&holder, FlockOperation::LockExclusive).expect("locked");

    let opened = open(text(dir.path()), &sized(MIB)).expect("opened");
    assert_eq!(opened.orphans_removed, 1);
    assert!(!orphan.exists() && living.exists() && own.exists() && target.exists());
    drop(holder);
    assert_eq!(open(text(dir.path()), &sized(MIB)).expect("opened").orphans_removed, 1);
    assert!(!living.exists() && own.exists());
}

#[test]
fn a_plan_does_not_remove_orphans() {
    let dir = TempDir::new().expect("a directory");
    fs::write(dir.path().join(ORPHAN), "x").expect("written");
    plan_open(text(dir.path()), &sized(MIB)).expect("planned");
    assert_eq!(names(dir.path()), [ORPHAN]);
}

#[test]
fn a_small_card_gets_a_smaller_scratch_file() {
    let card = or_skip!(Loop::with(112 * MIB, &["mkfs.ext4", "-q", "-m", "0"]));
    let mounted = or_skip!(Mounted::new(&card.path, "rw"));
    let planned = plan_open(mounted.text(), &unsized_()).expect("planned").info;
    assert!((16 * MIB..48 * MIB).contains(&planned.bytes), "{}", planned.bytes);
    let refused = error(mounted.text(), &sized(planned.bytes + MIB));
    assert_eq!(refused.fault(), ErrorClass::Refused);
    let DriveError::NoRoom { fits, .. } = refused else { panic!("{refused}") };
    assert!((8 * MIB..48 * MIB).contains(&fits), "{fits}");
    let advice = refused.advice().expect("what fits");
    assert!(advice.starts_with(&format!("--size {}MiB", fits / MIB)), "{advice}");

    let opened = open(mounted.text(), &sized(fits)).expect("the advised size fits");
    assert_eq!(opened.info.bytes, fits);
    let layers = &opened.info.target.layers;
    assert_eq!(layers[..2], [card.path.clone(), card.image.display().to_string()]);
    assert!(matches!(error(mounted.text(), &sized(fits + MIB)), DriveError::NoRoom { .. }));
    drop(opened);
    assert_eq!(names(&mounted.dir), Vec::<String>::new());
}

#[test]
fn a_full_file_system_is_refused() {
    let card = or_skip!(Loop::with(16 * MIB, &["mkfs.ext4", "-q"]));
    let mounted = or_skip!(Mounted::new(&card.path, "rw"));
    let filler = File::create(mounted.dir.join("filler")).expect("created");
    let block = vec![1; MIB as usize];
    let fits = (0..16).take_while(|i| filler.write_all_at(&block, i * MIB).is_ok()).count();
    assert!(fits < 16, "it must be full");
    for request in [unsized_(), sized(MIB)] {
        let refused = error(mounted.text(), &request);
        assert_eq!(refused.fault(), ErrorClass::Refused, "{refused}");
        assert!(matches!(refused, DriveError::NoRoom { fits: 0, .. }), "{refused}");
        assert!(refused.to_string().starts_with("no room in "), "{refused}");
    }
    assert_eq!(names(&mounted.dir), ["filler"]);
}

#[test]
fn a_read_only_file_system_is_refused() {
    let card = or_skip!(Loop::with(16 * MIB, &["mkfs.ext4", "-q"]));
    let mounted = or_skip!(Mounted::new(&card.path, "ro"));
    let refused = error(mounted.text(), &sized(MIB));
    assert_eq!(refused.fault(), ErrorClass::Refused);
    let expected = format!("the ext4 file system at {} is read-only", mounted.text());
    assert_eq!(refused.to_string(), expected);
}

#[test]
fn every_available_file_system() {
    let kinds: [(&[&str], u64); 4] = [
        (&["mkfs.vfat"], 96 * MIB),
        (&["mkfs.exfat"], 96 * MIB),
        (&["mkfs.btrfs", "-q"], 256 * MIB),
        (&["mkfs.xfs", "-q"], 320 * MIB),
    ];
    for (mkfs, bytes) in kinds {
        let made = Loop::with(bytes, mkfs).and_then(|device| {
            let mounted = Mounted::new(&device.path, "rw")?;
            Ok((mounted, device))
        });
        let (mounted, device) = match made {
            Ok(made) => made,
            Err(why) => {
                eprintln!("skipped {}: {why}", mkfs[0]);
                continue;
            }
        };
        let opened = open(mounted.text(), &sized(4 * MIB)).expect(mkfs[0]);
        let target = &opened.info.target;
        let kind = mkfs[0].trim_start_matches("mkfs.");
        assert_eq!(target.filesystem.as_ref().map(|f| f.kind.as_str()), Some(kind));
        assert_eq!(target.layers.first(), Some(&device.path), "{kind}");
        assert_eq!(names(&mounted.dir), Vec::<String>::new(), "{kind}");
        let again = format!("/proc/self/fd/{}", opened.file().as_raw_fd());
        opened.file().write_all_at(&[1; 8192], 0).expect(kind);
        assert_eq!(fs::read(again).expect(kind).len(), 8192);
    }
}

#[test]
fn an_overlay_leads_to_its_upper_directory() {
    let dir = TempDir::new().expect("a directory");
    let at = |name: &str| text(&dir.path().join(name)).to_string();
    for name in ["lower", "upper", "work"] {
        fs::create_dir(at(name)).expect("created");
    }
    let options =
        format!("lowerdir={},upperdir={},workdir={}", at("lower"), at("upper"), at("work"));
    let mounted = or_skip!(Mounted::of_kind("overlay", "overlay", &options));
    let opened = open(mounted.text(), &sized(MIB)).expect("opened");
    assert_eq!(opened.info.target.layers.first(), Some(&at("upper")));
    let below = drive::locate(at("upper")).expect("it exists");
    assert_eq!(opened.info.target.drive.map(|d| d.name), below.drive.map(|d| d.name));
    assert_eq!(names(&mounted.dir), Vec::<String>::new());
}

#[test]
fn tmpfs_is_memory() {
    let dir = or_skip!(TempDir::new_in("/dev/shm").map_err(|e| e.to_string()));
    let mut opened = open(text(dir.path()), &sized(MIB)).expect("opened");
    assert!(opened.info.ram && opened.info.target.drive.is_none());
    assert_eq!(opened.watch.sample(), None);
}

#[test]
fn a_directory_cannot_be_destroyed() {
    let dir = TempDir::new().expect("a directory");
    let request = OpenRequest { destroy: Some("S1".into()), ..sized(MIB) };
    let refused = error(text(dir.path()), &request);
    assert_eq!(refused.fault(), ErrorClass::Refused);
    assert!(refused.to_string().contains("is a directory"), "{refused}");
}

#[test]
fn a_file_is_read_only_unless_confirmed_by_its_size() {
    let dir = TempDir::new().expect("a directory");
    let path = dir.path().join("data");
    fs::write(&path, vec![7; 64 << 10]).expect("written");
    let opened = open(text(&path), &unsized_()).expect("opened");
    assert_eq!((opened.info.allowed, opened.info.target.kind), (Safety::Reads, TargetKind::File));
    assert!(opened.file().write_at(&[1], 0).is_err());

    let destroy = |word: &str| OpenRequest {
        destroy: Some(word.into()),
        ..OpenRequest::to(Safety::Destroys)
    };
    assert_eq!(error(text(&path), &destroy("64KiB")).fault(), ErrorClass::Refused);
    let opened = open(text(&path), &destroy("65536")).expect("confirmed");
    assert_eq!(opened.info.allowed, Safety::Destroys);
    assert_eq!(opened.destroys, Some(format!("the content of {}", path.display())));
    opened.file().write_all_at(&[8], 0).expect("may be written");
    let meta = fs::metadata(&path).expect("there");
    assert_eq!(meta.len(), 64 << 10, "neither truncated nor extended");
}

#[test]
fn a_file_under_a_loop_device_is_refused() {
    let device = or_skip!(Loop::of(MIB));
    let request =
        OpenRequest { destroy: Some(MIB.to_string()), ..OpenRequest::to(Safety::Destroys) };
    let refused = error(text(&device.image), &request);
    assert!(
        refused.to_string().contains(&format!("{} is backed by it", device.name())),
        "{refused}"
    );
}

#[test]
fn unmeasurable_paths_are_explained_in_one_line() {
    let dir = TempDir::new().expect("a directory");
    let at = |name: &str| dir.path().join(name);
    symlink("nowhere", at("broken")).expect("linked");
    let _socket = std::os::unix::net::UnixListener::bind(at("socket")).expect("bound");
    run("mkfifo", &[text(&at("pipe"))]).expect("made");
    fs::write(at("empty"), "").expect("written");
    fs::write(at("file"), "x").expect("written");
    let table = [
        (at("missing"), "no such file or directory"),
        (at("broken"), "is a link to nowhere, which does not exist"),
        (at("socket"), "is a socket, which cannot be measured"),
        (at("pipe"), "is a pipe, which cannot be measured"),
        (at("empty"), "has 0 bytes"),
        (at("file"), "less than one block"),
        ("/dev/null".into(), "is a character device, which cannot be measured"),
    ];
    for (path, says) in table {
        let error = error(text(&path), &unsized_());
        assert!(error.to_string().contains(says), "{error}");
        assert_eq!(error.fault(), ErrorClass::Usage, "{error}");
    }
    let below = error(text(&at("file/x")), &unsized_());
    assert_ne!(below.fault(), ErrorClass::Refused, "{below}");
    let zero = error(text(dir.path()), &sized(0));
    assert_eq!(zero.fault(), ErrorClass::Usage);
}

/// Runs `work` in a thread without root privileges.
fn as_nobody<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, String> {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let nobody = rustix::thread::Uid::from_raw(65534);
            rustix::thread::set_thread_groups(&[]).map_err(|e| format!("not root: {e}"))?;
            rustix::thread::set_thread_res_uid(nobody, nobody, nobody)
                .map_err(|e| format!("not root: {e}"))?;
            Ok(work())
        });
        thread.join().expect("no panic")
    })
}

#[test]
fn missing_permissions_are_named() {
    let dir = TempDir::new().expect("a directory");
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).expect("set");
    let closed = dir.path().join("closed");
    fs::create_dir(&closed).expect("created");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).expect("set");
    let secret = dir.path().join("secret");
    fs::write(&secret, vec![0; 4096]).expect("written");
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).expect("set");
    if fs::metadata(&secret).expect("there").uid() != 0 {
        eprintln!("skipped: not root");
        return;
    }
    let attempt = |path: &Path| or_no(as_nobody(|| error(text(path), &sized(MIB))));
    for (path, says) in [
        (dir.path(), "create files in"),
        (&closed, "create files in"),
        (&closed.join("in"), "read"),
        (&secret, "read"),
    ] {
        let Some(error) = attempt(path) else { return };
        assert_eq!(error.fault(), ErrorClass::Refused, "{error}");
        assert!(error.to_string().starts_with(&format!("no permission to {says}")), "{error}");
    }
    let device = or_skip!(Loop::of(MIB));
    let Some(error) = attempt(device.path.as_ref()) else { return };
    assert!(matches!(error, DriveError::Permission { .. }), "{error}");
    assert!(error.to_string().contains("root"), "{error}");
    assert!(error.advice().is_some());
}

fn or_no<T>(attempt: Result<T, String>) -> Option<T> {
    attempt.inspect_err(|why| eprintln!("skipped: {why}")).ok()
}
