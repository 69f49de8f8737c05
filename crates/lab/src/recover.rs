//! Journals left by killed runs: compares the borrowed blocks with the drive, and restores blocks
//! that differ if the user requests it.
//!
//! Only journals of this user or of root are read. Those of another user, who may have written
//! anything into them, are read if the user names their owner (`file.rs`).

mod file;

use std::collections::BTreeSet;
use std::path::PathBuf;

pub use drive::pci::{Returned, left_detached};
use drive::{DriveKey, OpenRequest};
pub use file::JournalFile;
use journal::{
    BlockStorage, Differences, EarlierJournal, Header, JournalDir, Leftover, Rereads, State,
};
use record::Safety;
use rig::{Pass, Returning, Unsteady};
use serde::Serialize;
use workload::units;

use crate::error::{ErrorKind, LabError, Result};

/// Minimum fraction of equal blocks to identify a drive without a serial number of its own. A run
/// writes back the content that a block has, so nearly all blocks are equal on the right drive.
const ALIKE: f64 = 0.5;

/// Bus whose serial numbers may be those of a card reader or a dock, the same for all its drives.
const SHARED_SERIAL_BUS: &str = "usb";

/// The user's request.
#[derive(Clone, Debug, Default)]
pub struct Recovery {
    /// Limits recovery to journals of this device, and those whose drive is unknown.
    pub device: Option<String>,
    /// Write the original content to blocks that differ.
    pub replay: bool,
    /// Directory of the journals; `None`: the user's state directory, and every journal registered
    /// there.
    pub journal: Option<PathBuf>,
    /// Discard the journal with this name instead; its blocks are never restored.
    pub discard: Option<String>,
    /// Process the journals of this user, by name or number, instead of one's own.
    pub owner: Option<String>,
}

/// Observes a recovery.
pub trait RecoveryWatcher {
    /// Another user's journal was read; nothing has been written from it.
    fn opened(&mut self, file: &JournalFile);

    /// Blocks of a journal were compared with the drive, or restored.
    fn progress(&mut self, progress: &Returning);

    /// The result of a journal is known.
    fn recovered(&mut self, result: &Recovered);
}

/// The result for one journal.
#[derive(Debug, Serialize)]
pub struct Recovered {
    /// Path of the journal.
    pub journal: String,
    /// A description of the drive.
    pub drive: Option<String>,
    /// When the journal was made, seconds since 1970; `null` if it is incomplete.
    pub made_s: Option<u64>,
    /// Blocks compared.
    pub blocks: usize,
    /// Blocks that differed; unreadable ones are not counted.
    pub differing: usize,
    /// Blocks that returned different bytes when they were read again.
    pub unsteady: usize,
    /// Whether blocks were read through the page cache, because the drive permits no other reads.
    pub through_cache: bool,
    /// Blocks restored.
    pub put_back: usize,
    /// Whether the journal is closed and removed.
    pub closed: bool,
    /// The result in a sentence.
    pub text: String,
    /// A command or an action to try.
    pub advice: Option<String>,
    /// The file of another user's journal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<JournalFile>,
}

impl Recovery {
    /// The directory of the journals.
    pub fn directory(&self) -> Result<PathBuf> {
        Ok(self.place()?.dir().to_path_buf())
    }

    /// Returns drives that killed runs detached, unless this recovery is limited to one device.
    pub fn give_back(&self) -> Vec<Returned> {
        let limits = [&self.device, &self.discard, &self.owner];
        if limits.into_iter().all(Option::is_none) { drive::pci::recover() } else { Vec::new() }
    }

    /// The drives of journals left by earlier runs, each once; empty if they cannot be listed.
    pub fn left(&self) -> Vec<String> {
        let journals =
            JournalDir::of_user(self.journal.as_deref()).and_then(|place| place.unfinished());
        let mut drives: Vec<String> = journals.unwrap_or_default().iter().map(in_words).collect();
        let mut known_words = BTreeSet::new();
        drives.retain(|words| known_words.insert(words.clone()));
        drives
    }

    /// The journals left by other users, or with another home directory, each with its command.
    pub fn left_elsewhere(&self) -> Vec<(String, String)> {
        let place = JournalDir::of_user(self.journal.as_deref());
        let journals = place.map_or(Vec::new(), |place| place.left_elsewhere());
        let commands = journals.iter().map(|left| {
            let owner = left.user().map(|user| format!("user {user}"));
            let owner = owner.unwrap_or_else(|| "a run with another home directory".into());
            (format!("{owner} left {}", borrowed(&left.drive)), left.command())
        });
        let mut commands: Vec<(String, String)> = commands.collect();
        let mut known_commands = BTreeSet::new();
        commands.retain(|command| known_commands.insert(command.clone()));
        commands
    }

    /// Processes the journals one by one; `watcher` gets each result immediately.
    pub fn run(&self, watcher: &mut impl RecoveryWatcher) -> Result<Vec<Recovered>> {
        let place = self.place()?;
        let mut results = Vec::new();
        let journals = place.unfinished()?.into_iter();
        let journals: Vec<_> = journals.filter(|left| self.concerns(left)).collect();
        if let Some(id) = self.discard.as_ref().filter(|_| journals.is_empty()) {
            let text = format!("no journal is named {id}");
            return Err(LabError::new(ErrorKind::Usage, text).advise("ssdyno recover"));
        }
        for left in journals {
            let result = self.recover(&place, &left, watcher);
            watcher.recovered(&result);
            results.push(result);
        }
        Ok(results)
    }

    /// The command that continues with this directory.
    pub fn command(&self) -> String {
        let directory = self.journal.as_ref().map(|dir| dir.display().to_string());
        let directory = directory.map(|dir| format!(" --journal {}", emit::shell_word(&dir)));
        let owner = self.owner.as_ref();
        let owner = owner.map(|name| format!(" --journal-of {}", emit::shell_word(name)));
        format!("ssdyno recover{}{}", owner.unwrap_or_default(), directory.unwrap_or_default())
    }

    fn concerns(&self, left: &Leftover) -> bool {
        if let Some(id) = &self.discard {
            return left.id() == *id;
        }
        let (Some(device), Some(drive)) = (&self.device, left.drive()) else { return true };
        drive::find(drive).contains(device) || drive.path == *device
    }

    fn recover(
        &self,
        place: &JournalDir,
        left: &Leftover,
        watcher: &mut impl RecoveryWatcher,
    ) -> Recovered {
        let mut result = Recovered {
            journal: left.path.display().to_string(),
            drive: None,
            made_s: None,
            blocks: 0,
            differing: 0,
            unsteady: 0,
            through_cache: false,
            put_back: 0,
            closed: false,
            text: String::new(),
            advice: None,
            file: None,
        };
        let outcome = match &left.state {
            _ if self.discard.is_some() => place
                .discard(left)
                .map_err(LabError::from)
                .map(|()| "discarded: the blocks on the drive were not changed".to_string()),
            State::OutOfReach(entry) => {
                result.drive = Some(entry.drive.in_words());
                result.made_s = Some(entry.made_s);
                let text = "not accessible: its file system is not mounted, or it was removed";
                let command = self.command();
                let advice = format!(
                    "mount {}, then {command}; or {command} --discard {}",
                    left.path.parent().unwrap_or(&left.path).display(),
                    left.id()
                );
                Err(LabError::new(ErrorKind::Check, text).advise(advice))
            }
            State::Torn => place
                .remove(&left.path)
                .map_err(LabError::from)
                .map(|()| "incomplete, so nothing had been overwritten yet: removed".to_string()),
            State::Damaged { reason, drive } => {
                result.drive = drive.as_ref().map(|drive| drive.in_words());
                let text = format!("{reason}: the content cannot be read");
                let advice =
                    format!("{} --discard {}, if no drive needs it", self.command(), left.id());
                Err(LabError::new(ErrorKind::Check, text).advise(advice))
            }
            State::Whole(header) => {
                result.drive = Some(header.drive.in_words());
                result.made_s = Some(header.made_s);
                self.compare((place, left), header, &mut result, watcher)
            }
        };
        result.closed = outcome.is_ok();
        (result.text, result.advice) = match outcome {
            Ok(text) => (text, None),
            Err(error) => (error.to_string(), error.advice().map(String::from)),
        };
        result
    }

    /// Compares a journal with its drive, restores blocks if requested, and closes the journal.
    fn compare(
        &self,
        (place, left): (&JournalDir, &Leftover),
        header: &Header,
        result: &mut Recovered,
        watcher: &mut impl RecoveryWatcher,
    ) -> Result<String> {
        let device = self.find(header)?;
        let io_error = |e| LabError::new(ErrorKind::Io, format!("{device}: {e}"));
        let journal = self.open((place, left), header, result, watcher)?;
        // Exclusive, because a drive that is now mounted must not be written or even compared.
        let request = OpenRequest::to(Safety::Borrows);
        let drive = drive::open(&device, &request)?;
        if !drive.guard.key().is_some_and(|key| key.is(&header.drive)) {
            return Err(refused(format!("{device} is now another drive: nothing was touched")));
        }
        let mut compared = Returning::new(Pass::Compare, header.region.bytes);
        let storage = BlockStorage::new(drive.file());
        let comparison = journal.borrowed.compare(&storage, Rereads::UntilCertain, &mut |bytes| {
            compared = compared.after(bytes);
            watcher.progress(&compared);
        });
        let comparison = comparison.map_err(io_error)?;
        let differing = comparison.to_restore();
        result.blocks = journal.borrowed.blocks();
        result.differing = comparison.differing.len();
        result.unsteady = comparison.unsteady.len();
        result.through_cache = !storage.is_direct();
        if differing.is_empty() {
            place.close(journal)?;
            let doubt = doubt(result);
            return Ok(format!("every byte on {device} is unchanged{doubt}: closed"));
        }
        let bus = drive.info.target.drive.as_ref().map(|drive| drive.bus.as_str());
        let identified = self.check_identity(
            header,
            &journal,
            &differing,
            (&device, bus == Some(SHARED_SERIAL_BUS)),
        );
        // Only writes on request may repair a block.
        if !self.replay || identified.is_err() {
            check_readable(&comparison, &journal, &device)?;
        }
        identified?;
        if !self.replay {
            return Err(self.not_unchanged(&comparison, &journal, &device));
        }
        let differences = difference(&journal, &differing, &device);
        let damaged = journal.borrowed.damaged();
        let (damaged_blocks, whole): (Vec<usize>, Vec<usize>) =
            differing.iter().partition(|block| damaged.contains(block));
        let mut restored = Returning::new(Pass::Restore, journal.borrowed.bytes_of(&whole));
        let put_back = journal.borrowed.put_back(&storage, &whole, &mut |bytes| {
            restored = restored.after(bytes);
            watcher.progress(&restored);
        });
        put_back.map_err(io_error)?;
        result.put_back = whole.len();
        if !damaged_blocks.is_empty() {
            let n = damaged_blocks.len();
            let text =
                format!("{differences}; {n} blocks could not be restored: the journal is damaged");
            return Err(LabError::new(ErrorKind::Check, text));
        }
        place.close(journal)?;
        Ok(format!("{differences}{}; they were restored and verified: closed", doubt(result)))
    }

    /// Reads a journal again, as its owner's and with the header known so far.
    fn open(
        &self,
        (place, left): (&JournalDir, &Leftover),
        header: &Header,
        result: &mut Recovered,
        watcher: &mut impl RecoveryWatcher,
    ) -> Result<EarlierJournal> {
        let journal = place.open(&left.path)?;
        if journal.header != *header {
            return Err(refused("it was replaced while it was read: nothing was touched".into()));
        }
        if self.owner.is_some() {
            let file = JournalFile::of_kept(&journal)?;
            watcher.opened(&file);
            result.file = Some(file);
        }
        Ok(journal)
    }

    /// The result of a comparison in which blocks did not have their original content.
    fn not_unchanged(
        &self,
        comparison: &Differences,
        kept: &EarlierJournal,
        device: &str,
    ) -> LabError {
        let (command, differing) = (self.command(), &comparison.differing);
        if differing.is_empty() {
            let text = format!("{}: their content is unknown", unsteady(comparison, kept));
            let advice = format!("another reader, port or cable, then {command}");
            return LabError::new(ErrorKind::Check, text).advise(advice);
        }
        let differences = difference(kept, differing, device);
        let text = format!("{differences}: the run damaged them, or they were written later");
        let advice = format!("{command} --replay, if nothing has written to the drive since");
        LabError::new(ErrorKind::Check, text).advise(advice)
    }

    /// The device of a journal: the only match, or the one named by the user if there are several.
    fn find(&self, header: &Header) -> Result<String> {
        self.choose(&drive::find(&header.drive))
    }

    /// The device to use of those that match.
    fn choose(&self, found: &[String]) -> Result<String> {
        let named_device = self.device.as_ref();
        let fitting: Vec<&String> = found
            .iter()
            .filter(|device| named_device.is_none_or(|named| named == *device))
            .collect();
        match (fitting.as_slice(), found) {
            ([one], _) => Ok((*one).clone()),
            (_, []) => {
                let text = "the drive is not attached: nothing was touched".to_string();
                Err(refused(text).advise(format!("attach it, then {}", self.command())))
            }
            // The user named it as the journal does.
            ([], [other]) => {
                let text = format!("the drive is now {other}: nothing was touched");
                Err(refused(text).advise(format!("{} {other}", self.command())))
            }
            _ => {
                let text =
                    format!("several drives match ({}): nothing was touched", found.join(", "));
                Err(refused(text).advise(format!("{} DEVICE", self.command())))
            }
        }
    }

    /// Without a serial number of its own, the content distinguishes the drive from others of its
    /// size. `shared`: the serial number is that of a USB device, perhaps with another drive in it.
    fn check_identity(
        &self,
        header: &Header,
        kept: &EarlierJournal,
        differing: &[usize],
        (device, shared): (&str, bool),
    ) -> Result<()> {
        let alike = 1.0 - differing.len() as f64 / kept.borrowed.blocks().max(1) as f64;
        let is_confirmed = self.device.is_some() && self.replay;
        let is_unique = header.drive.is_unique() && !shared;
        if is_unique || alike >= ALIKE || is_confirmed {
            return Ok(());
        }
        let name = if shared && header.drive.serial.is_some() {
            format!("the serial number of {device} may be that of its reader or dock")
        } else {
            format!("{device} has no serial number")
        };
        let text = format!(
            "{name}, and only {:.0}% of its blocks match the journal: it is another drive, it was \
             overwritten later, or it has the stamps of a killed 'fake'; nothing was touched",
            alike * 100.0
        );
        // The stamps of a killed run also differ.
        let advice = format!("{} {device} --replay, if it is certainly the drive", self.command());
        Err(refused(text).advise(advice))
    }
}

/// The bytes of the blocks that differ, of all in the journal.
fn difference(kept: &EarlierJournal, differing: &[usize], device: &str) -> String {
    let [differing_bytes, region_bytes] =
        [kept.borrowed.bytes_of(differing), kept.header.region.bytes];
    format!(
        "{} of {} on {device} differ",
        units::decimal(differing_bytes),
        units::decimal(region_bytes)
    )
}

/// Blocks that returned different bytes, in words.
fn unsteady(comparison: &Differences, kept: &EarlierJournal) -> Unsteady {
    let counts = [comparison.unsteady.len(), kept.borrowed.blocks()].map(|n| n as u64);
    Unsteady { blocks: counts[0], of: counts[1] }
}

/// What weakens a comparison, as clauses of its result; empty if nothing does.
fn doubt(result: &Recovered) -> String {
    let rereads = Unsteady { blocks: result.unsteady as u64, of: result.blocks as u64 };
    let unsteady = if rereads.is_seen() { format!(", but {rereads}") } else { String::new() };
    let cached = if result.through_cache { ", as read through the page cache" } else { "" };
    format!("{cached}{unsteady}")
}

/// The error if blocks could not be read: whether they differ is unknown.
fn check_readable(comparison: &Differences, kept: &EarlierJournal, device: &str) -> Result<()> {
    let Some((_, error)) = comparison.unreadable.first() else { return Ok(()) };
    let (count, blocks) = (comparison.unreadable.len(), kept.borrowed.blocks());
    let text = format!("{count} of {blocks} blocks on {device} cannot be read: {error}");
    Err(LabError::new(ErrorKind::Io, text))
}

/// A leftover in words, with the drive as it was named at that time.
fn in_words(left: &Leftover) -> String {
    let path = left.path.display();
    match (left.drive(), &left.state) {
        (Some(drive), _) => borrowed(drive),
        (None, State::Torn) => format!("an incomplete journal, {path}"),
        (None, _) => format!("borrowed blocks of an unknown drive in {path}"),
    }
}

fn borrowed(drive: &DriveKey) -> String {
    format!("borrowed blocks of {} ({})", drive.path, drive.in_words())
}

fn refused(text: String) -> LabError {
    LabError::new(ErrorKind::Refused, text)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::io;

    use journal::{BLOCK, Borrowed, Storage};
    use workload::Region;

    use super::*;

    /// Makes a journal of four blocks of a drive with this serial number.
    fn kept(dir: &std::path::Path, serial: Option<&str>) -> EarlierJournal {
        let bytes = 4 * BLOCK as u64;
        let drive = dir.join("drive");
        fs::write(&drive, vec![7; 4 * BLOCK]).expect("written");
        let file = File::open(drive).expect("opens");
        let borrowed = Borrowed::read(&file, Region::first(bytes)).expect("read");
        let key = DriveKey {
            path: "/dev/sdx".into(),
            model: None,
            serial: serial.map(String::from),
            disk_bytes: bytes,
            start: None,
            bytes,
            backing_file: None,
            nsid: None,
        };
        let place = JournalDir::at(dir);
        let path = place.keep(&key, &borrowed).expect("kept").path().to_path_buf();
        EarlierJournal::open(&path).expect("whole")
    }

    /// docs/safety.md: "accepted if at least half of its blocks match the journal".
    #[test]
    fn a_drive_without_a_serial_number_is_identified_by_half_of_its_blocks() {
        let dir = tempfile::TempDir::new().expect("a directory");
        let (nameless, named) = (kept(dir.path(), None), kept(dir.path(), Some("S1")));
        let accepts = |kept: &EarlierJournal, differing: &[usize], recovery: &Recovery| {
            recovery.check_identity(&kept.header, kept, differing, ("/dev/sdx", false))
        };
        let usual = Recovery::default();
        accepts(&nameless, &[], &usual).expect("all blocks match");
        accepts(&nameless, &[0, 3], &usual).expect("half of them match");
        let error = accepts(&nameless, &[0, 1, 3], &usual).expect_err("a quarter matches");
        assert!(error.to_string().contains("only 25% of its blocks"), "{error}");
        accepts(&named, &[0, 1, 2, 3], &usual).expect("the serial number matches");
        // Naming the device counts only together with the request to write.
        let device = Some("/dev/sdx".to_string());
        let asked = Recovery { device: device.clone(), replay: true, ..Recovery::default() };
        accepts(&nameless, &[0, 1, 2, 3], &asked).expect("the user named it");
        let only_named = Recovery { device, ..Recovery::default() };
        accepts(&nameless, &[0, 1, 2, 3], &only_named).expect_err("no write was requested");
    }

    /// Two cards in turn in one reader have the serial number of the reader.
    #[test]
    fn a_usb_drive_is_identified_by_half_of_its_blocks_or_named() {
        let dir = tempfile::TempDir::new().expect("a directory");
        let kept = kept(dir.path(), Some("READER"));
        let accepts = |differing: &[usize], recovery: &Recovery| {
            recovery.check_identity(&kept.header, &kept, differing, ("/dev/sdx", true))
        };
        let replay = Recovery { replay: true, ..Recovery::default() };
        accepts(&[0, 3], &replay).expect("half of the blocks match");
        let error = accepts(&[0, 1, 2, 3], &replay).expect_err("another card");
        let text = "the serial number of /dev/sdx may be that of its reader or dock, and only 0%";
        assert!(error.to_string().starts_with(text), "{error}");
        let advice = error.advice().expect("a command").to_string();
        assert!(advice.starts_with("ssdyno recover /dev/sdx --replay"), "{advice}");
        let named = Recovery { device: Some("/dev/sdx".into()), ..replay };
        accepts(&[0, 1, 2, 3], &named).expect("the user named it");
    }

    #[test]
    fn a_drive_with_another_name_is_named() {
        let found = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
        let recovery = |device: Option<&str>| Recovery {
            device: device.map(String::from),
            ..Recovery::default()
        };
        let chosen = |device, names: &[&str]| {
            recovery(device).choose(&found(names)).map_err(|error| error.to_string())
        };
        assert_eq!(chosen(None, &["/dev/sdc"]), Ok("/dev/sdc".into()));
        assert_eq!(chosen(Some("/dev/sdc"), &["/dev/sdb", "/dev/sdc"]), Ok("/dev/sdc".into()));
        let moved = chosen(Some("/dev/sdb"), &["/dev/sdc"]).expect_err("not there");
        assert_eq!(moved, "the drive is now /dev/sdc: nothing was touched");
        let error = recovery(Some("/dev/sdb")).choose(&found(&["/dev/sdc"])).expect_err("moved");
        assert_eq!(error.advice(), Some("ssdyno recover /dev/sdc"));
        for device in [None, Some("/dev/sdb")] {
            let none = chosen(device, &[]).expect_err("none");
            assert!(none.starts_with("the drive is not attached"), "{none}");
            let two = chosen(device, &["/dev/sdc", "/dev/sdd"]).expect_err("two");
            assert!(two.starts_with("several drives match (/dev/sdc, /dev/sdd)"), "{two}");
        }
    }

    /// A drive that cannot be read from this offset on.
    struct Torn<'a>(&'a [u8], u64);

    impl Storage for Torn<'_> {
        fn read_exact(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
            if offset >= self.1 {
                return Err(io::Error::other("bad sector"));
            }
            buffer.copy_from_slice(&self.0[offset as usize..][..buffer.len()]);
            Ok(())
        }

        fn write_all(&self, _: u64, _: &[u8]) -> io::Result<()> {
            Err(io::ErrorKind::Unsupported.into())
        }

        fn sync(&self) -> io::Result<()> {
            Ok(())
        }

        fn forget(&self, _: Region) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn unreadable_blocks_are_not_reported_as_different() {
        let dir = tempfile::TempDir::new().expect("a directory");
        let kept = kept(dir.path(), Some("S1"));
        let mut bytes = vec![7; 4 * BLOCK];
        bytes[0] = 8;
        let drive = Torn(&bytes, 2 * BLOCK as u64);
        let compared = kept.borrowed.compare(&drive, Rereads::UntilCertain, &mut |_| ());
        let compared = compared.expect("compared");
        assert_eq!(
            (&compared.differing[..], &compared.to_restore()[..]),
            (&[0][..], &[0, 2, 3][..])
        );
        let error = check_readable(&compared, &kept, "/dev/sdx").expect_err("two");
        assert_eq!(error.to_string(), "2 of 4 blocks on /dev/sdx cannot be read: bad sector");
        assert_eq!(error.advice(), None);
        check_readable(&Differences::default(), &kept, "/dev/sdx").expect("all were read");
    }

    #[test]
    fn a_leftover_names_its_drive() {
        let dir = tempfile::TempDir::new().expect("a directory");
        let recovery = Recovery { journal: Some(dir.path().into()), ..Recovery::default() };
        assert_eq!(recovery.left(), Vec::<String>::new());
        drop(kept(dir.path(), Some("S1")));
        let bytes = 4 * BLOCK;
        let drive = format!("/dev/sdx (a drive of unknown model, serial number S1, {bytes} bytes)");
        assert_eq!(recovery.left(), [format!("borrowed blocks of {drive}")]);
        let names =
            || fs::read_dir(dir.path()).expect("listed").map(|e| e.expect("an entry").path());
        let is_journal = |path: &PathBuf| path.extension().is_some_and(|e| e == "journal");
        let path = names().find(is_journal).expect("there");
        // A second journal of the same drive.
        fs::copy(&path, path.with_file_name("second.journal")).expect("copied");
        assert_eq!(recovery.left(), [format!("borrowed blocks of {drive}")]);
        fs::remove_file(path.with_file_name("second.journal")).expect("removed");
        fs::write(&path, "SSDYNOJ1").expect("damaged");
        let unknown = format!("borrowed blocks of an unknown drive in {}", path.display());
        assert_eq!(recovery.left(), [unknown]);
        let part = path.with_extension("part");
        fs::rename(&path, &part).expect("renamed");
        assert_eq!(recovery.left(), [format!("an incomplete journal, {}", part.display())]);
    }
}
