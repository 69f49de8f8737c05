//! The scratch file in a directory: its size, creation and removal.
//!
//! It has no name if the file system supports that (O_TMPFILE). Otherwise it is named, locked and
//! unlinked at once, so that a kill leaves nothing. If the file system cannot use an unlinked file,
//! it keeps its name until the guard is dropped; a kill before that leaves an orphan, an unlocked
//! file whose name has our pattern, which the next run removes. It leaves free what `room.rs` says.
//! The only exception is `fake`, which tests only the space that it fills: with a given size it may
//! use the rest, except on the root file system.

use std::fs::{File, OpenOptions};
use std::hash::{BuildHasher, Hasher};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use record::{FileSystem, Health, Safety, TargetKind};
use rustix::fs::{Access, AtFlags, CWD, FlockOperation, OFlags, accessat, flock};
use rustix::io::Errno;
use workload::units;

use super::{Facts, OpenRequest, Plan};
use crate::error::DriveError;
use crate::guard::Guard;
use crate::machine::Machine;
use crate::room::{kept_free, whole_mib};
use crate::stack::Stack;

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
/// With a file of this size, `quick` distinguishes a drive from its cache and takes about a minute.
const DEFAULT_BYTES: u64 = GIB;
/// Budget of writes of a file that stands for a drive: the smaller of a maximum in bytes and a share
/// of the drive's life, which a user would not miss; what a small card bears, if the life is unknown.
const BUDGET_MAX: f64 = 100e9;
const LIFE_SHARE_MAX: f64 = 0.001;
const BUDGET_OF_UNKNOWN_LIFE: f64 = 4e9;
/// Minimum default size: in a smaller file, the times of single erase blocks dominate.
const DEFAULT_BYTES_MIN: u64 = 16 * MIB;
/// Share (1/n) of the free space, at least 1 MiB, that the file system itself needs when filled.
const OWN_SHARE: u64 = 256;
/// Maximum file size on FAT, in whole MiB.
const FAT_BYTES_MAX: u64 = 4 * GIB - MIB;
const PREFIX: &str = ".ssdyno-scratch-";

pub(super) fn plan(
    machine: &Machine,
    spec: &str,
    request: &OpenRequest,
) -> Result<Plan, DriveError> {
    if request.destroy.is_some() {
        return Err(DriveError::Refused {
            text: format!("--destroy permits overwriting a drive or a file, {spec} is a directory"),
            hint: Some("without --destroy, which works on a scratch file".into()),
        });
    }
    let path = Path::new(spec);
    let location = machine.locate(path)?;
    accessat(CWD, path, Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS)
        .map_err(|e| not_writable(path, &location.filesystem, e))?;
    let (filesystem, stack) = (location.filesystem, location.stack);
    let facts = Facts {
        spec,
        kind: TargetKind::Directory,
        path: &location.path,
        bytes: 0,
        logical_block_bytes: direct_bytes(&filesystem, &stack),
        filesystem: Some(filesystem.clone()),
        allowed: Safety::Scratch,
        discard: false,
    };
    let mut info = facts.info(machine, &stack);
    let usual = usual_bytes(info.target.drive.as_ref().map(|drive| &drive.health), request);
    info.bytes = size(spec, &filesystem, request, usual)?;
    info.target.bytes = Some(info.bytes);
    Ok(Plan { info, stack, identity: None, destroys: None })
}

/// The default size of the scratch file where there is room. A file that stands for a drive has the
/// largest one with which the run stays within its budget of writes.
fn usual_bytes(health: Option<&Health>, request: &OpenRequest) -> u64 {
    let Some(passes) = request.passes else { return DEFAULT_BYTES };
    let of_life = health.and_then(|health| health.bytes_of_life(LIFE_SHARE_MAX));
    let budget = of_life.map_or(BUDGET_OF_UNKNOWN_LIFE, |bytes| bytes.min(BUDGET_MAX));
    whole_mib((budget / passes) as u64)
}

fn not_writable(path: &Path, filesystem: &FileSystem, error: Errno) -> DriveError {
    match error {
        Errno::ROFS => {
            let FileSystem { mount, kind, .. } = filesystem;
            DriveError::ReadOnly { what: format!("the {kind} file system at {mount}") }
        }
        _ => DriveError::from_io("create files in", path, error),
    }
}

/// Smallest unit of an O_DIRECT transfer on a file system, bytes. Most accept the drive's blocks;
/// the ones named here require 4 KiB. If the drive is not known, 4 KiB suits them all.
pub(super) fn direct_bytes(filesystem: &FileSystem, stack: &Stack) -> u32 {
    let needs_pages = matches!(filesystem.kind.as_str(), "btrfs" | "bcachefs" | "f2fs" | "zfs");
    stack.block_bytes().filter(|_| !needs_pages).unwrap_or(4096)
}

/// The requested or default size of the scratch file, if it leaves enough space free.
fn size(
    spec: &str,
    filesystem: &FileSystem,
    request: &OpenRequest,
    usual: u64,
) -> Result<u64, DriveError> {
    let (total, free) = (filesystem.bytes.unwrap_or(0), filesystem.free_bytes.unwrap_or(0));
    let largest = if filesystem.kind == "vfat" { FAT_BYTES_MAX } else { u64::MAX };
    let fills = request.fills && request.size.is_some() && filesystem.mount != "/";
    let kept_bytes = if fills { (free / OWN_SHARE).max(MIB) } else { kept_free(total) };
    let fits = whole_mib(free.saturating_sub(kept_bytes)).min(largest);
    let bytes = match request.size {
        Some(bytes) => whole_mib(bytes).max(MIB),
        None => fits.min(usual).max(DEFAULT_BYTES_MIN),
    };
    if bytes <= fits {
        return Ok(bytes);
    }
    if total == 0 {
        let text =
            format!("{spec} is in a {} file system, which reports no free space", filesystem.kind);
        return Err(DriveError::NoRoom { text, fits: 0 });
    }
    let kept = units::decimal(kept_bytes);
    let text = format!(
        "no room in {spec} for a scratch file of {}: {} of {} are free, and {kept} must stay free",
        units::binary(bytes),
        units::decimal(free),
        units::decimal(total),
    );
    Err(DriveError::NoRoom { text, fits })
}

/// An empty scratch file with a name, for programs that open it by name; removed on drop.
#[derive(Debug)]
pub struct NamedScratch {
    path: PathBuf,
    /// Holds the lock that marks the file as in use.
    _locked: File,
    _guard: Guard,
}

impl NamedScratch {
    /// Removes the orphans of killed runs from a directory, then creates a file in it.
    pub fn create(dir: &Path) -> Result<NamedScratch, DriveError> {
        remove_orphans(dir);
        let (locked, path) = with_name(dir)?;
        Ok(NamedScratch { _guard: Guard::named(path.clone()), _locked: locked, path })
    }

    /// Path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Creates the scratch file; one to keep has a name and is not removed.
pub(super) fn create(dir: &Path, keep: Option<&Path>) -> Result<(File, Guard), DriveError> {
    if let Some(path) = keep {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true);
        let file = options.open(path).map_err(|e| DriveError::from_io("create", path, e))?;
        return Ok((file, Guard::none()));
    }
    if let Some(file) = without_name(dir).filter(reopens) {
        return Ok((file, Guard::none()));
    }
    let (file, path) = with_name(dir)?;
    // Another run may have removed it already.
    let _ = std::fs::remove_file(&path);
    if reopens(&file) {
        return Ok((file, Guard::none()));
    }
    let (file, path) = with_name(dir)?;
    Ok((file, Guard::named(path)))
}

fn without_name(dir: &Path) -> Option<File> {
    // O_EXCL: it cannot be linked later.
    let flags = OFlags::TMPFILE | OFlags::EXCL;
    OpenOptions::new()
        .read(true)
        .write(true)
        .mode(0o600)
        .custom_flags(flags.bits() as i32)
        .open(dir)
        .ok()
}

/// Whether the file can be reopened without its name, as the engine does for O_DIRECT.
fn reopens(file: &File) -> bool {
    use std::os::fd::AsRawFd;
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    OpenOptions::new().read(true).write(true).open(path).is_ok()
}

fn with_name(dir: &Path) -> Result<(File, PathBuf), DriveError> {
    loop {
        let path = dir.join(new_name());
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true).mode(0o600);
        let file = options.open(&path).map_err(|e| creation_failed(dir, e))?;
        // Without lock support, no run takes it for an orphan, because removing one requires the
        // same lock.
        let _ = flock(&file, FlockOperation::LockExclusive);
        // Until it was locked, the file looked like an orphan, and another run may have unlinked
        // it. Nobody else uses the random name.
        if std::fs::symlink_metadata(&path).is_ok() {
            return Ok((file, path));
        }
    }
}

fn creation_failed(dir: &Path, error: std::io::Error) -> DriveError {
    match error.kind() {
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => DriveError::NoRoom {
            text: format!("no room in {} even for an empty file: {error}", dir.display()),
            fits: 0,
        },
        _ => DriveError::from_io("create files in", dir, error),
    }
}

fn new_name() -> String {
    // The standard library's hash keys are random, so any hash consists of random bits.
    let mut random = std::hash::RandomState::new().build_hasher();
    random.write_u32(std::process::id());
    format!("{PREFIX}{}-{:016x}", std::process::id(), random.finish())
}

/// Whether a name matches the pattern of [`new_name`]; `.ssdyno-scratch-notes` belongs to the user.
fn is_ours(name: &str) -> bool {
    let parts = name.strip_prefix(PREFIX).and_then(|rest| rest.split_once('-'));
    parts.is_some_and(|(pid, random)| {
        !pid.is_empty()
            && pid.bytes().all(|b| b.is_ascii_digit())
            && random.len() == 16
            && random.bytes().all(|b| b.is_ascii_hexdigit())
    })
}

/// Removes the scratch files of killed runs from a directory; returns their number.
pub(super) fn remove_orphans(dir: &Path) -> usize {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let scratch_files = entries.filter(|entry| entry.file_name().to_str().is_some_and(is_ours));
    scratch_files.filter(|entry| remove_if_orphan(&entry.path())).count()
}

fn remove_if_orphan(path: &Path) -> bool {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
    let Ok(file) = OpenOptions::new().read(true).custom_flags(flags).open(path) else {
        return false;
    };
    let number_of = |meta: std::fs::Metadata| (meta.dev(), meta.ino());
    let file_number = file.metadata().ok().filter(|meta| meta.is_file()).map(number_of);
    if file_number.is_none() || flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
        return false;
    }
    // The name may now belong to another file.
    let named_number = std::fs::symlink_metadata(path).ok().map(number_of);
    named_number == file_number && std::fs::remove_file(path).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filesystem(kind: &str, total: u64, free: u64) -> FileSystem {
        let (bytes, free_bytes) = (Some(total), Some(free));
        FileSystem { kind: kind.into(), bytes, free_bytes, ..FileSystem::default() }
    }

    #[test]
    fn only_a_file_that_can_be_reopened_may_lose_its_name() {
        let unnamed = tempfile::tempfile().expect("a file");
        assert!(reopens(&unnamed));
        // Sockets have no path, and neither do deleted files on some file systems.
        let (end, _other) = std::os::unix::net::UnixStream::pair().expect("a pair");
        assert!(!reopens(&File::from(std::os::fd::OwnedFd::from(end))));
    }

    #[test]
    fn a_full_disk_takes_a_small_scratch_file() {
        let size = |total, free, requested| {
            size("d", &filesystem("ext4", total * GIB, free * GIB), &asked(requested), GIB)
                .map_err(|e| e.to_string())
        };
        assert_eq!(size(100, 50, None), Ok(GIB));
        assert_eq!(size(100, 50, Some(42 * GIB)), Ok(42 * GIB));
        assert!(size(100, 50, Some(42 * GIB + MIB)).is_err());
        assert_eq!(size(252, 24, Some(16 * MIB)), Ok(16 * MIB), "less than 10% is free");
        assert!(size(252, 8, None).is_err(), "8 GiB are kept");
        assert_eq!(size(5, 2, None), Ok(GIB));
        assert_eq!(size(2, 1, Some(512 * MIB)), Ok(512 * MIB));
    }

    #[test]
    fn the_default_size_shrinks_to_16_mib_on_a_small_file_system() {
        let size = |total, free| {
            size("d", &filesystem("tmpfs", total * MIB, free * MIB), &asked(None), GIB)
        };
        assert_eq!(size(600, 600).ok(), Some(536 * MIB), "a RAM disc of 600 MiB");
        assert_eq!(size(2048, 1024).ok(), Some(819 * MIB));
        assert_eq!(size(100, 80).ok(), Some(16 * MIB));
        assert!(size(100, 79).is_err(), "15 MiB would be left");
        assert!(size(32, 32).is_err(), "a file system below 64 MiB has no room");
    }

    /// The budget: 100 GB, a thousandth of the life, or 4 GB if that is unknown.
    #[test]
    fn a_file_that_stands_for_a_drive_stays_within_the_budget_of_writes() {
        let bytes = |passes, rated_bytes| {
            let health = Health { rated_bytes, ..Health::default() };
            usual_bytes(Some(&health), &OpenRequest { passes, ..asked(None) })
        };
        assert_eq!(bytes(None, Some(600_000_000_000_000)), GIB);
        assert_eq!(bytes(Some(1.0), Some(600_000_000_000_000)), whole_mib(100_000_000_000));
        assert_eq!(bytes(Some(1.0), Some(40_000_000_000_000)), whole_mib(40_000_000_000));
        assert_eq!(bytes(Some(1.0), None), whole_mib(4_000_000_000));
        assert_eq!(bytes(Some(7.5), None), whole_mib(533_333_333));
        let unknown = usual_bytes(None, &OpenRequest { passes: Some(1.0), ..asked(None) });
        assert_eq!(unknown, whole_mib(4_000_000_000));
        let full = filesystem("ext4", 100 * GIB, 10 * GIB);
        assert_eq!(size("d", &full, &asked(None), 50 * GIB).ok(), Some(2 * GIB), "8 GiB are kept");
    }

    #[test]
    fn the_advised_size_is_accepted() {
        let small = filesystem("ext4", 2 * GIB, GIB);
        let Err(DriveError::NoRoom { fits, .. }) = size("d", &small, &asked(Some(GIB)), GIB) else {
            panic!("no room")
        };
        assert_eq!(size("d", &small, &asked(Some(fits)), GIB).ok(), Some(fits));
        let full = filesystem("ext4", 2 * GIB, 0);
        let Err(DriveError::NoRoom { fits, .. }) = size("d", &full, &asked(Some(1)), GIB) else {
            panic!("full")
        };
        assert_eq!(fits, 0);
    }

    fn asked(size: Option<u64>) -> OpenRequest {
        OpenRequest { size, ..OpenRequest::to(Safety::Scratch) }
    }

    #[test]
    fn only_a_request_that_fills_uses_what_others_keep_free_and_not_of_the_root() {
        let stick = FileSystem { mount: "/mnt".into(), ..filesystem("exfat", 64 * GIB, 60 * GIB) };
        let root = FileSystem { mount: "/".into(), ..stick.clone() };
        let request = |fills, size| OpenRequest { fills, ..asked(size) };
        let most = 60 * GIB - 60 * GIB / 256;
        let all = Some(most);
        assert_eq!(size("d", &stick, &request(true, all), GIB).ok(), all);
        assert!(size("d", &stick, &request(true, Some(most + MIB)), GIB).is_err());
        assert!(size("d", &stick, &request(false, all), GIB).is_err());
        assert!(size("d", &root, &request(true, all), GIB).is_err());
        // By default, nothing is filled.
        assert_eq!(size("d", &stick, &request(true, None), GIB).ok(), Some(GIB));
    }

    #[test]
    fn a_file_system_that_reports_no_size_has_no_room() {
        let error =
            size("d", &filesystem("9p", 0, 0), &asked(Some(MIB)), GIB).expect_err("no size");
        assert!(error.to_string().contains("a 9p file system, which reports no free"), "{error}");
        let full =
            size("d", &filesystem("9p", 10 * GIB, 0), &asked(Some(MIB)), GIB).expect_err("full");
        assert!(full.to_string().starts_with("no room in d for a scratch file of"), "{full}");
    }

    #[test]
    fn direct_transfers_are_a_page_without_a_known_drive() {
        let stack = Stack::default();
        assert_eq!(direct_bytes(&filesystem("ext4", GIB, GIB), &stack), 4096);
        assert_eq!(direct_bytes(&filesystem("zfs", GIB, GIB), &stack), 4096);
    }

    #[test]
    fn a_file_on_fat_stays_below_4_gib() {
        let card = filesystem("vfat", 64 * GIB, 60 * GIB);
        assert!(size("d", &card, &asked(Some(4 * GIB)), GIB).is_err());
        assert_eq!(size("d", &card, &asked(Some(4 * GIB - MIB)), GIB).ok(), Some(4 * GIB - MIB));
    }

    #[test]
    fn a_named_file_in_use_is_not_an_orphan() {
        let dir = tempfile::TempDir::new().expect("a directory");
        let (file, path) = with_name(dir.path()).expect("created");
        assert!(path.file_name().and_then(|name| name.to_str()).is_some_and(is_ours));
        assert_eq!(remove_orphans(dir.path()), 0);
        let guard = Guard::named(path.clone());
        drop(file);
        assert!(path.exists());
        drop(guard);
        assert!(!path.exists(), "the guard removes it");
        let (file, path) = with_name(dir.path()).expect("created");
        drop(file);
        assert_eq!(remove_orphans(dir.path()), 1);
        assert!(!path.exists());
    }

    #[test]
    fn only_matching_names_are_ours() {
        assert!(is_ours(&new_name()));
        assert!(is_ours(".ssdyno-scratch-4711-0123456789abcdef"));
        for name in [
            ".ssdyno-scratch-notes",
            ".ssdyno-scratch-mine-0123456789abcdef",
            ".ssdyno-scratch-4711-0123456789abcdefg",
            ".ssdyno-scratch-4711-of-my-own-notes",
            ".ssdyno-scratch-4711-0123456789",
            ".ssdyno-scratch-1-",
            ".ssdyno-scratch--0123456789abcdef",
            "a",
        ] {
            assert!(!is_ours(name), "{name}");
        }
    }
}
