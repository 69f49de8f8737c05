//! Notes on drives detached from the kernel: one small file each, written before the drive is
//! unbound.
//!
//! A run that uses a drive holds a lock on its note. A note without a lock belongs to a drive bound
//! with `prepare --bind`, or to a killed run, whose drive `recover` returns. A note from another
//! boot is void, because the binding ended with that boot.
//!
//! Earlier versions kept the notes in the home directory of the user who ran them. Those are still
//! found, under any HOME, and trusted if only root or this user could have written them.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use record::DriveIdentity;
use rustix::fs::{FlockOperation, OFlags, flock};
use serde::{Deserialize, Serialize};

use super::address::Address;
use crate::error::DriveError;
use crate::key::DriveKey;
use crate::machine::{Machine, STATE_IN_HOME};

const EXTENSION: &str = "json";

/// Maximum length of a note, bytes: more than a controller with all its namespaces needs.
const NOTE_BYTES_MAX: u64 = 1 << 20;

/// A namespace at the time its controller was detached.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Namespace {
    pub nsid: u32,
    pub bytes: u64,
    pub block_bytes: u32,
    pub drive: DriveIdentity,
    pub key: DriveKey,
    /// Contents of the namespace, in words.
    pub contents: String,
}

/// A drive detached from the kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Note {
    /// `0000:00:05.0`.
    pub address: String,
    pub serial: String,
    /// IOMMU group; `None` for a drive without an IOMMU.
    pub group: Option<String>,
    /// Bound with `prepare --bind`, until unbound.
    pub kept: bool,
    pub boot: String,
    pub namespaces: Vec<Namespace>,
}

impl Note {
    /// The drive: `pci:0000:00:05.0 (ACME X1, serial number S1)`.
    pub fn in_words(&self) -> String {
        let model = self.namespaces.iter().find_map(|space| space.drive.model.as_deref());
        let model = model.map(|model| format!("{model}, ")).unwrap_or_default();
        format!("pci:{} ({model}serial number {})", self.address, self.serial)
    }
}

/// The directories that hold the notes.
#[derive(Clone, Debug)]
pub(crate) struct Notes {
    dir: PathBuf,
    /// The directories of earlier versions.
    earlier: Vec<PathBuf>,
    boot: String,
}

impl Notes {
    /// The machine's notes: only root can change its drivers. A reboot clears them.
    pub fn new(machine: &Machine) -> Notes {
        let dir = machine.path("/run/ssdyno/bound");
        Notes { dir, earlier: earlier(machine), boot: boot(machine) }
    }

    fn path(&self, address: Address) -> PathBuf {
        self.dir.join(name(address))
    }

    /// The note file for a PCI function.
    fn place(&self, address: Address) -> PathBuf {
        let path = self.path(address);
        if path.exists() {
            return path;
        }
        let mut earlier = self.earlier.iter().map(|dir| dir.join(name(address)));
        let note = earlier
            .find(|path| is_trusted(path) && read(path).is_ok_and(|note| note.boot == self.boot));
        note.unwrap_or(path)
    }

    /// The note of a function, if it exists and is readable.
    pub fn about(&self, address: Address) -> Option<Note> {
        read(&self.place(address)).ok()
    }

    /// Addresses of the notes of this version, ascending.
    pub fn all(&self) -> Vec<Address> {
        let stems = crate::machine::names(&self.dir).into_iter();
        let stems = stems.filter_map(|name| name.strip_suffix(".json").map(str::to_string));
        stems.filter_map(|stem| stem.parse().ok()).collect()
    }

    /// Locks the note of a function; `None` if another process holds the lock or there is no note.
    pub fn lock(&self, address: Address) -> Option<File> {
        let path = self.place(address);
        let file = File::open(&path).ok()?;
        flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
        // The note may have been removed and rewritten between opening and locking.
        let current = fs::metadata(&path).ok()?;
        (file.metadata().ok()?.ino() == current.ino()).then_some(file)
    }

    /// Writes the note of a function durably and returns it locked.
    pub fn keep(&self, address: Address, note: &Note) -> Result<File, DriveError> {
        let path = self.path(address);
        let io_error = |e: io::Error| DriveError::io(format!("cannot write {}", path.display()), e);
        fs::create_dir_all(&self.dir).map_err(io_error)?;
        let text = serde_json::to_string_pretty(note).map_err(|e| io_error(e.into()))?;
        let part = path.with_extension("part");
        let _ = fs::remove_file(&part);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o644);
        let file = options.custom_flags(OFlags::NOFOLLOW.bits() as i32).open(&part);
        let mut file = file.map_err(io_error)?;
        let locked = flock(&file, FlockOperation::NonBlockingLockExclusive);
        locked.map_err(|e| io_error(e.into()))?;
        file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(io_error)?;
        fs::rename(&part, &path).map_err(io_error)?;
        File::open(&self.dir).and_then(|dir| dir.sync_all()).map_err(io_error)?;
        Ok(file)
    }

    /// Removes the note of a function that was returned to the kernel.
    pub fn forget(&self, address: Address) -> Result<(), DriveError> {
        let path = self.place(address);
        match fs::remove_file(&path) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => {
                Err(DriveError::io(format!("cannot remove {}", path.display()), e))
            }
            _ => Ok(()),
        }
    }
}

fn name(address: Address) -> String {
    format!("{address}.{EXTENSION}")
}

/// The directories in which earlier versions, run by any user of this machine, kept their notes.
fn earlier(machine: &Machine) -> Vec<PathBuf> {
    let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from);
    let states = std::env::home_dir().map(|home| home.join(STATE_IN_HOME)).into_iter().chain(state);
    let states = states.filter(|_| machine.is_here());
    let mut dirs: Vec<PathBuf> = machine
        .account_states()
        .into_iter()
        .chain(states)
        .filter(|state| state.is_absolute())
        .map(|state| machine.path(state.join("ssdyno/bound")))
        .collect();
    dirs.sort_unstable();
    dirs.dedup();
    dirs
}

/// Whether only root and this user could have written a file: other users must not be able to make
/// root return a drive that is in use.
fn is_trusted(path: &Path) -> bool {
    let Ok(meta) = fs::symlink_metadata(path) else { return false };
    let owners = [0, rustix::process::geteuid().as_raw()];
    meta.is_file() && owners.contains(&meta.uid()) && meta.mode() & 0o022 == 0
}

fn read(path: &Path) -> io::Result<Note> {
    let mut bytes = Vec::new();
    File::open(path)?.take(NOTE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > NOTE_BYTES_MAX {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    parse(&bytes)
}

/// Parses a note. Its address and its boot are checked where they are used.
pub(crate) fn parse(bytes: &[u8]) -> io::Result<Note> {
    Ok(serde_json::from_slice(bytes)?)
}

/// Identifies the current boot of the machine.
pub(crate) fn boot(machine: &Machine) -> String {
    machine.text("/proc/sys/kernel/random/boot_id").unwrap_or_default()
}
