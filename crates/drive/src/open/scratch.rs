//! The scratch file in a directory: how large it may be, how it comes and goes.
//!
//! It has no name where the file system can do that (O_TMPFILE); elsewhere it is named, locked, and
//! its name removed at once, so that a kill leaves nothing. Where the file system cannot work on a
//! file without a name, it keeps its name until the guard is dropped. A kill in between leaves an
//! orphan: a name of our pattern that nobody holds a lock on, which the next run removes.
//! Rule 5 of safety: it leaves 10% and 1 GiB of the file system free.

use std::fs::{File, OpenOptions};
use std::hash::{BuildHasher, Hasher};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use record::{FileSystem, Safety, TargetKind};
use rustix::fs::{Access, AtFlags, CWD, FlockOperation, OFlags, accessat, flock};
use rustix::io::Errno;
use workload::units;

use super::{Facts, OpenRequest, Plan};
use crate::error::DriveError;
use crate::guard::Guard;
use crate::machine::Machine;
use crate::stack::Stack;

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
/// `quick` on a file of this size tells a drive from its cache, and is over in about a minute.
const DEFAULT_BYTES: u64 = GIB;
/// Below this a file system may keep less than 1 GiB free, when a size is asked for by name: a card
/// of 2 GB must be testable.
const SMALL_BYTES: u64 = 10 * GIB;
/// FAT cannot hold a larger file; kept to a whole MiB.
const FAT_BYTES_MAX: u64 = 4 * GIB - MIB;
const PREFIX: &str = ".ssdyno-scratch-";

pub(super) fn plan(
    machine: &Machine,
    spec: &str,
    request: &OpenRequest,
) -> Result<Plan, DriveError> {
    let path = Path::new(spec);
    let location = machine.locate(path)?;
    accessat(CWD, path, Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS)
        .map_err(|e| not_writable(path, &location.filesystem, e))?;
    let bytes = size(spec, &location.filesystem, request.size)?;
    let stack = location.stack;
    let facts = Facts {
        spec,
        kind: TargetKind::Directory,
        path: &location.path,
        bytes,
        logical_block_bytes: direct_bytes(&location.filesystem, &stack),
        filesystem: Some(location.filesystem),
        allowed: Safety::Scratch,
        discard: false,
    };
    Ok(Plan { info: facts.info(machine, &stack), stack, identity: None, destroys: None })
}

fn not_writable(path: &Path, filesystem: &FileSystem, error: Errno) -> DriveError {
    match error {
        Errno::ROFS => {
            let FileSystem { mount, kind, .. } = filesystem;
            DriveError::ReadOnly { what: format!("the {kind} file system at {mount}") }
        }
        _ => DriveError::of("create files in", path, error),
    }
}

/// Smallest unit of an O_DIRECT transfer on a file system, bytes. Most take the drive's blocks;
/// these take their own, and without a drive a page is what all take.
pub(super) fn direct_bytes(filesystem: &FileSystem, stack: &Stack) -> u32 {
    let own = matches!(filesystem.kind.as_str(), "btrfs" | "bcachefs" | "f2fs" | "zfs");
    stack.block_bytes().filter(|_| !own).unwrap_or(4096)
}

/// The size of the scratch file: what was asked for or the default, if it leaves enough free.
fn size(spec: &str, filesystem: &FileSystem, asked: Option<u64>) -> Result<u64, DriveError> {
    let (total, free) = (filesystem.bytes.unwrap_or(0), filesystem.free_bytes.unwrap_or(0));
    let largest = if filesystem.kind == "vfat" { FAT_BYTES_MAX } else { u64::MAX };
    let fits = |by_name| room(total, free, by_name).min(largest);
    let wanted = match asked {
        Some(bytes) => whole_mib(bytes).max(MIB),
        None => DEFAULT_BYTES.min(fits(false)).max(MIB),
    };
    if wanted <= fits(asked.is_some()) {
        return Ok(wanted);
    }
    if total == 0 {
        let text =
            format!("{spec} lies in a {} file system, which reports no room", filesystem.kind);
        return Err(DriveError::NoRoom { text, fits: 0 });
    }
    let kept = units::decimal(kept_free(total, asked.is_some()));
    let text = format!(
        "no room in {spec} for a scratch file of {}: {} of {} are free, and {kept} have to stay free",
        units::binary(wanted),
        units::decimal(free),
        units::decimal(total),
    );
    Err(DriveError::NoRoom { text, fits: fits(true) })
}

/// What a scratch file may take of a file system, in whole MiB.
fn room(total: u64, free: u64, by_name: bool) -> u64 {
    whole_mib(free.saturating_sub(kept_free(total, by_name)))
}

fn kept_free(total: u64, by_name: bool) -> u64 {
    let tenth = total.div_ceil(10);
    if by_name && total < SMALL_BYTES { tenth } else { tenth.max(GIB) }
}

/// Bytes that files may take of the file system of a directory and leave enough free, in whole MiB.
pub fn room_in(directory: &Path) -> Result<u64, DriveError> {
    let filesystem = Machine::here().locate(directory)?.filesystem;
    Ok(room(filesystem.bytes.unwrap_or(0), filesystem.free_bytes.unwrap_or(0), true))
}

fn whole_mib(bytes: u64) -> u64 {
    bytes - bytes % MIB
}

/// An empty scratch file that keeps its name, for those who open it by name; it goes with this.
#[derive(Debug)]
pub struct NamedScratch {
    path: PathBuf,
    /// Holds the lock by which others know that it is in use.
    _locked: File,
    _guard: Guard,
}

impl NamedScratch {
    /// Creates it in a directory, from which the orphans of killed runs are removed.
    pub fn create(dir: &Path) -> Result<NamedScratch, DriveError> {
        remove_orphans(dir);
        let (locked, path) = with_name(dir)?;
        Ok(NamedScratch { _guard: Guard::named(path.clone()), _locked: locked, path })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Creates the scratch file.
pub(super) fn create(dir: &Path) -> Result<(File, Guard), DriveError> {
    if let Some(file) = without_name(dir).filter(reopens) {
        return Ok((file, Guard::none()));
    }
    let (file, path) = with_name(dir)?;
    // Another run may have been quicker.
    let _ = std::fs::remove_file(&path);
    if reopens(&file) {
        return Ok((file, Guard::none()));
    }
    let (file, path) = with_name(dir)?;
    Ok((file, Guard::named(path)))
}

fn without_name(dir: &Path) -> Option<File> {
    // O_EXCL: it cannot be given a name later.
    let flags = OFlags::TMPFILE | OFlags::EXCL;
    let open = OpenOptions::new()
        .read(true)
        .write(true)
        .mode(0o600)
        .custom_flags(flags.bits() as i32)
        .open(dir);
    open.ok()
}

/// Whether the file can be opened again without its name, as the engine does for O_DIRECT.
fn reopens(file: &File) -> bool {
    use std::os::fd::AsRawFd;
    let again = format!("/proc/self/fd/{}", file.as_raw_fd());
    OpenOptions::new().read(true).write(true).open(again).is_ok()
}

fn with_name(dir: &Path) -> Result<(File, PathBuf), DriveError> {
    let path = dir.join(new_name());
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true).mode(0o600);
    let file = options.open(&path).map_err(|e| creation_failed(dir, e))?;
    // A file system without locks leaves the file looking like an orphan for the moment it has a
    // name; another run may take that name away, which is what comes next anyway.
    let _ = flock(&file, FlockOperation::LockExclusive);
    Ok((file, path))
}

fn creation_failed(dir: &Path, error: std::io::Error) -> DriveError {
    match error.kind() {
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => DriveError::NoRoom {
            text: format!("no room in {} even for an empty file: {error}", dir.display()),
            fits: 0,
        },
        _ => DriveError::of("create files in", dir, error),
    }
}

fn new_name() -> String {
    // Hashing nothing with the standard library's per-process random keys gives random bits.
    let mut random = std::hash::RandomState::new().build_hasher();
    random.write_u32(std::process::id());
    format!("{PREFIX}{}-{:016x}", std::process::id(), random.finish())
}

/// Whether a name is one that [`new_name`] makes; `.ssdyno-scratch-notes` is somebody's own.
fn is_ours(name: &str) -> bool {
    let parts = name.strip_prefix(PREFIX).and_then(|rest| rest.split_once('-'));
    parts.is_some_and(|(pid, random)| {
        !pid.is_empty()
            && pid.bytes().all(|b| b.is_ascii_digit())
            && random.len() == 16
            && random.bytes().all(|b| b.is_ascii_hexdigit())
    })
}

/// Removes the scratch files of killed runs from a directory, and tells how many.
pub(super) fn remove_orphans(dir: &Path) -> usize {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let ours = entries.filter(|entry| entry.file_name().to_str().is_some_and(is_ours));
    ours.filter(|entry| remove_if_orphan(&entry.path())).count()
}

fn remove_if_orphan(path: &Path) -> bool {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
    let Ok(file) = OpenOptions::new().read(true).custom_flags(flags).open(path) else {
        return false;
    };
    let identity = |meta: std::fs::Metadata| (meta.dev(), meta.ino());
    let opened = file.metadata().ok().filter(|meta| meta.is_file()).map(identity);
    if opened.is_none() || flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
        return false;
    }
    // The name may have passed to another file between the two looks.
    let named = std::fs::symlink_metadata(path).ok().map(identity);
    named == opened && std::fs::remove_file(path).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filesystem(kind: &str, total: u64, free: u64) -> FileSystem {
        let (bytes, free_bytes) = (Some(total), Some(free));
        FileSystem { kind: kind.into(), bytes, free_bytes, ..FileSystem::default() }
    }

    #[test]
    fn a_tenth_and_a_gibibyte_stay_free() {
        let size = |total, free, asked| {
            size("d", &filesystem("ext4", total * GIB, free * GIB), asked)
                .map_err(|e| e.to_string())
        };
        assert_eq!(size(100, 50, None), Ok(GIB));
        assert_eq!(size(100, 50, Some(40 * GIB)), Ok(40 * GIB));
        assert!(size(100, 50, Some(40 * GIB + MIB)).is_err());
        assert!(size(100, 10, None).is_err(), "a tenth is taken up");
        assert_eq!(size(5, 2, None), Ok(GIB));
        assert!(size(2, 1, None).is_err(), "1 GiB stays free unless a size is asked for");
        assert_eq!(size(2, 1, Some(512 * MIB)), Ok(512 * MIB));
    }

    #[test]
    fn the_advice_is_a_size_that_is_then_taken() {
        let small = filesystem("ext4", 2 * GIB, GIB);
        let Err(DriveError::NoRoom { fits, .. }) = size("d", &small, None) else {
            panic!("no room")
        };
        assert_eq!(size("d", &small, Some(fits)).ok(), Some(fits));
        let full = filesystem("ext4", 2 * GIB, 0);
        let Err(DriveError::NoRoom { fits, .. }) = size("d", &full, Some(1)) else {
            panic!("full")
        };
        assert_eq!(fits, 0);
    }

    #[test]
    fn a_file_on_fat_stays_below_4_gib() {
        let card = filesystem("vfat", 64 * GIB, 60 * GIB);
        assert!(size("d", &card, Some(5 * GIB)).is_err());
        assert_eq!(size("d", &card, Some(4 * GIB - MIB)).ok(), Some(4 * GIB - MIB));
    }

    #[test]
    fn a_named_file_is_no_orphan_while_it_is_held() {
        let dir = tempfile::TempDir::new().expect("a directory");
        let (file, path) = with_name(dir.path()).expect("created");
        assert!(path.file_name().and_then(|name| name.to_str()).is_some_and(is_ours));
        assert_eq!(remove_orphans(dir.path()), 0);
        let guard = Guard::named(path.clone());
        drop(file);
        assert!(path.exists());
        drop(guard);
        assert!(!path.exists(), "the guard takes it away");
        let (file, path) = with_name(dir.path()).expect("created");
        drop(file);
        assert_eq!(remove_orphans(dir.path()), 1);
        assert!(!path.exists());
    }

    #[test]
    fn only_our_own_names_are_ours() {
        assert!(is_ours(&new_name()));
        for name in [
            ".ssdyno-scratch-notes",
            ".ssdyno-scratch-1-",
            ".ssdyno-scratch--0123456789abcdef",
            "a",
        ] {
            assert!(!is_ours(name), "{name}");
        }
    }
}
