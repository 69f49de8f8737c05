//! Journals left by killed runs: compares the borrowed blocks with the drive, and restores blocks
//! that differ if the user requests it.
//!
//! Only journals of this user or of root are read. Those of another user, who may have written
//! anything into them, are read if the user names their owner (`file.rs`).

mod file;
#[cfg(test)]
mod tests;

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
