//! The directory of journals: creates, lists and removes them.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use drive::{DriveKey, Machine, STATE_IN_HOME, Separation, separation};

use crate::disk::{Disk, Kernel};
use crate::elsewhere::ElsewhereLeft;
use crate::file::{self, Header, Kept};
use crate::homes;
use crate::leftover::{Leftover, PART, State, WHOLE, look};
use crate::registry::{self, Entry, Registered};
use crate::{Borrowed, JournalError};

/// A directory for journals, with the directory of the registry of all journals.
#[derive(Clone, Debug)]
pub struct JournalDir {
    dir: PathBuf,
    /// The registry's directory; equal to `dir` in the default place.
    registry: PathBuf,
    /// XDG state directories of other accounts.
    others: Vec<PathBuf>,
    disk: Arc<dyn Disk>,
}

/// Places are equal if their directories are.
impl PartialEq for JournalDir {
    fn eq(&self, other: &JournalDir) -> bool {
        (&self.dir, &self.registry) == (&other.dir, &other.registry)
    }
}

impl Eq for JournalDir {}

/// A complete journal of this run.
#[derive(Debug)]
pub struct Journal {
    place: JournalDir,
    path: PathBuf,
    /// Holds the lock.
    _file: File,
}

impl JournalDir {
    /// The given directory, or the default: `ssdyno/journal` in the XDG state directory, which
    /// always has the registry. Without HOME, as in a system service, the home directory is that of
    /// the user's account. Without a default, the given directory has the registry. Neither need
    /// exist. The default places of this machine's other accounts are consulted too.
    pub fn of_user(dir: Option<&Path>) -> Result<JournalDir, JournalError> {
        let default =
            emit::user_directory("XDG_STATE_HOME", STATE_IN_HOME).map(|state| homes::place(&state));
        let others = Machine::here().account_states();
        let Some(dir) = dir else {
            let place = default.map(|dir| JournalDir::at(&dir).beside(others));
            return place.ok_or(JournalError::NoHome);
        };
        // Absolute, because the registry outlives the working directory.
        let dir = std::path::absolute(dir).map_err(|e| JournalError::io("find", dir, e))?;
        Ok(JournalDir::at(&dir).registered_in(&default.unwrap_or(dir)).beside(others))
    }

    /// A directory with its own registry.
    pub fn at(dir: &Path) -> JournalDir {
        let (dir, others) = (dir.to_path_buf(), Vec::new());
        JournalDir { registry: dir.clone(), dir, others, disk: Arc::new(Kernel) }
    }

    /// The same place, with the XDG state directories of other accounts, which are consulted before
    /// a drive is overwritten.
    #[must_use]
    pub fn beside(self, others: Vec<PathBuf>) -> JournalDir {
        JournalDir { others, ..self }
    }

    /// The same place, with different file operations.
    #[must_use]
    pub fn on(self, disk: Arc<dyn Disk>) -> JournalDir {
        JournalDir { disk, ..self }
    }

    /// The same directory, with the registry in another.
    #[must_use]
    pub fn registered_in(self, registry: &Path) -> JournalDir {
        JournalDir { registry: registry.to_path_buf(), ..self }
    }

    /// The directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Checks that blocks of this device may be kept here: on another drive, not in memory, and
    /// with no earlier blocks left to restore. Creates nothing.
    pub fn check(&self, device: &Path) -> Result<(), JournalError> {
        let there = self.dir.ancestors().find(|dir| dir.is_dir()).unwrap_or(Path::new("."));
        let there = if there.as_os_str().is_empty() { Path::new(".") } else { there };
        let drive = device.display().to_string();
        if let Some(key) = DriveKey::at(device) {
            self.check_borrow(&key, &drive)?;
        }
        match separation(there, device)? {
            Separation::Elsewhere => Ok(()),
            Separation::SameDrive => Err(JournalError::SameDrive { dir: self.dir.clone(), drive }),
            Separation::Memory => Err(JournalError::Memory { dir: self.dir.clone() }),
            Separation::Unknown => Err(JournalError::PlaceUnknown { dir: self.dir.clone(), drive }),
        }
    }

    /// Saves borrowed blocks. On return, they survive a power loss.
    pub fn keep(&self, drive: &DriveKey, borrowed: &Borrowed) -> Result<Journal, JournalError> {
        self.check_borrow(drive, &drive.path)?;
        for dir in [&self.dir, &self.registry] {
            make_durably(&*self.disk, dir).map_err(|e| JournalError::io("make", dir, e))?;
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        // Without dots, so that only the extension follows one.
        let device = drive.path.trim_start_matches("/dev/").replace(['/', '.'], "-");
        let name = format!("{device}-{}-{}", now.as_nanos(), std::process::id());
        let part = self.dir.join(&name).with_extension(PART);
        let path = part.with_extension(WHOLE);
        let header = Header::new(drive, borrowed, now.as_secs());
        // A file with such a name belongs to another run: it is neither replaced nor removed.
        let file = match path.try_exists() {
            Ok(true) => Err(io::ErrorKind::AlreadyExists.into()),
            Ok(false) => self.disk.create(&part),
            Err(error) => Err(error),
        };
        let file = file.map_err(|e| self.unwritten(&part, &header, e))?;
        let journal = self.write(file, &part, &header, borrowed).and_then(|journal| {
            self.register(&journal, &header)?;
            Ok(journal)
        });
        if journal.is_err() {
            // No block was overwritten, so these files and the entry are not needed.
            let _ = self.disk.remove(&part);
            let _ = self.remove(&path);
        }
        journal
    }

    /// The error of a journal that cannot be written.
    fn unwritten(&self, part: &Path, header: &Header, source: io::Error) -> JournalError {
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                JournalError::Full { dir: self.dir.clone(), bytes: header.region.bytes }
            }
            _ => JournalError::io("write", part, source),
        }
    }

    /// Writes the file of a new journal, which only its owner may read: the bytes may be private.
    fn write(
        &self,
        mut file: File,
        part: &Path,
        header: &Header,
        borrowed: &Borrowed,
    ) -> Result<Journal, JournalError> {
        let failed = |source| self.unwritten(part, header, source);
        if !file::lock(&file, part)? {
            return Err(JournalError::Held { path: part.to_path_buf() });
        }
        let disk = &*self.disk;
        file::write(disk, (&mut file, part), header, borrowed.bytes()).map_err(failed)?;
        disk.sync(&file, part).map_err(failed)?;
        let path = part.with_extension(WHOLE);
        disk.rename(part, &path).and_then(|()| disk.sync_names(&self.dir)).map_err(failed)?;
        Ok(Journal { place: self.clone(), path, _file: file })
    }

    /// Registers a journal that is not in the default place.
    fn register(&self, journal: &Journal, header: &Header) -> Result<(), JournalError> {
        if self.dir == self.registry {
            return Ok(());
        }
        let (path, drive, made_s) = (journal.path.clone(), header.drive.clone(), header.made_s);
        registry::enter(&*self.disk, &self.registry, &Entry { path, drive, made_s })
    }

    /// Checks that no journal, in any directory, has blocks of this drive; `drive` is its name in
    /// errors. Restoring them later would destroy everything written to it now.
    pub fn check_overwrite(&self, key: &DriveKey, drive: &str) -> Result<(), JournalError> {
        let left = self.everywhere()?.into_iter().find(|left| left.is_of(key));
        left.map_or(Ok(()), |left| Err(left.refusal(drive.to_string())))?;
        self.check_others(key, drive)
    }

    /// Checks that no journal has blocks of this drive, or could have.
    fn check_borrow(&self, key: &DriveKey, drive: &str) -> Result<(), JournalError> {
        let all = self.everywhere()?;
        let left = all.into_iter().find(|left| left.is_of(key) || left.is_of_unknown_drive());
        left.map_or(Ok(()), |left| Err(left.refusal(drive.to_string())))?;
        self.check_others(key, drive)
    }

    /// Checks that no journal in the home of another account has blocks of this drive.
    fn check_others(&self, key: &DriveKey, drive: &str) -> Result<(), JournalError> {
        let left = self.left_elsewhere().into_iter().find(|left| left.drive.overlaps(key));
        let drive = drive.to_string();
        left.map_or(Ok(()), |left| Err(JournalError::OtherHome { drive, left: Box::new(left) }))
    }

    /// Journals left by runs with another home directory, if this user may read them.
    pub fn left_elsewhere(&self) -> Vec<ElsewhereLeft> {
        let own = |state: &&PathBuf| {
            let place = homes::place(state);
            place != self.dir && place != self.registry
        };
        homes::left_in(&self.others.iter().filter(own).cloned().collect::<Vec<_>>())
    }

    /// Journals left by ended runs: in this directory, in the registry's, and those registered.
    fn everywhere(&self) -> Result<Vec<Leftover>, JournalError> {
        if self.dir == self.registry {
            return self.unfinished();
        }
        let registry = JournalDir { dir: self.registry.clone(), ..self.clone() };
        let mut all = registry.unfinished()?;
        // The registry also knows the drive of a damaged journal.
        for left in self.unfinished()? {
            if all.iter().all(|known| known.path != left.path) {
                all.push(left);
            }
        }
        Ok(all)
    }

    /// Journals left in this place by ended runs, sorted by name. In the default place, includes
    /// registered journals elsewhere, and completes removals that a killed run had begun. Excludes
    /// journals held by a run in progress.
    pub fn unfinished(&self) -> Result<Vec<Leftover>, JournalError> {
        let entries = match fs::read_dir(&self.dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(|e| JournalError::io("read", &self.dir, e))?,
        };
        // A journal that is overlooked would permit to overwrite its drive.
        let paths: io::Result<Vec<PathBuf>> = entries.map(|e| e.map(|e| e.path())).collect();
        let mut paths = paths.map_err(|e| JournalError::io("read", &self.dir, e))?;
        paths.sort_unstable();
        let here = paths.iter().filter_map(|path| match registry::read(path, file::follow_links) {
            None if registry::is_closing(&self.registry, path) => self.remove(path).err().map(Err),
            None => look(path, file::follow_links).transpose(),
            Some(registered) => self.follow(path, registered).transpose(),
        });
        here.collect()
    }

    /// Looks up the journal of an entry; `None` if it is finished or held by a run.
    fn follow(&self, path: &Path, found: Registered) -> Result<Option<Leftover>, JournalError> {
        match found {
            Registered::Damaged(reason) => {
                let state = State::Damaged { reason, drive: None };
                Ok(Some(Leftover { path: path.to_path_buf(), state }))
            }
            // The run was killed between its last two steps. A directory that is missing, or empty
            // because its file system is not mounted, may return with the journal, so the entry is
            // kept until then. It refuses no run.
            Registered::Closing(entry) => match entry.path.parent().is_none_or(has_files) {
                true => self.remove(&entry.path).map(|()| None),
                false => Ok(None),
            },
            Registered::Needed(entry) => match entry.path.try_exists() {
                Ok(true) => {
                    let mut left = look(&entry.path, file::follow_links)?;
                    if let Some(State::Damaged { drive, .. }) = left.as_mut().map(|l| &mut l.state)
                    {
                        *drive = Some(Box::new(entry.drive));
                    }
                    Ok(left)
                }
                Ok(false) | Err(_) => {
                    let path = entry.path.clone();
                    Ok(Some(Leftover { path, state: State::OutOfReach(Box::new(entry)) }))
                }
            },
        }
    }

    /// Removes a journal and its entry. Its blocks must have been restored or never overwritten.
    pub fn remove(&self, path: &Path) -> Result<(), JournalError> {
        let disk = &*self.disk;
        registry::begin_closing(disk, &self.registry, path)?;
        match disk.remove(path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            removed => removed
                .and_then(|()| disk.sync_names(path.parent().unwrap_or(Path::new("."))))
                .map_err(|e| JournalError::io("remove", path, e))?,
        }
        registry::leave(disk, &self.registry, path)
    }

    /// Discards a journal whose blocks will never be restored: its entry, and the file if it
    /// exists.
    pub fn discard(&self, left: &Leftover) -> Result<(), JournalError> {
        self.remove(&left.path)
    }

    /// Removes a journal that this run has read and locked.
    pub fn close(&self, kept: Kept) -> Result<(), JournalError> {
        self.remove(&kept.path)
    }
}

impl Journal {
    /// Path of the journal.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the journal after its blocks have been compared with the drive.
    pub fn close(self) -> Result<(), JournalError> {
        self.place.remove(&self.path)
    }
}

/// Creates a directory and its missing parents, and syncs the directories that list them.
fn make_durably(disk: &dyn Disk, dir: &Path) -> io::Result<()> {
    let missing: Vec<&Path> = dir.ancestors().take_while(|dir| !dir.exists()).collect();
    missing.iter().rev().filter(|dir| !dir.as_os_str().is_empty()).try_for_each(|dir| {
        disk.make_directory(dir)?;
        disk.sync_names(dir.parent().unwrap_or(Path::new(".")))
    })
}

/// Whether a directory is present and not empty.
fn has_files(dir: &Path) -> bool {
    fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_some())
}
