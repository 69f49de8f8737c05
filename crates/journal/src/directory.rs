//! The directory of journals: creates, lists and removes them.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use drive::{Account, DriveKey, Machine, STATE_IN_HOME, Separation, separation, user_name};

use crate::disk::{Disk, Kernel, PartFile};
use crate::elsewhere::ElsewhereLeft;
use crate::file::{self, EarlierJournal, Header, Lock, PART, WHOLE};
use crate::homes;
use crate::leftover::{Leftover, State, look};
use crate::owner::{Opened, Owner};
use crate::registry::{self, Registered, RegistryEntry};
use crate::{Borrowed, JournalError};

/// A directory for journals, with the directory of the registry of all journals.
#[derive(Clone, Debug)]
pub struct JournalDir {
    dir: PathBuf,
    /// The registry's directory; equal to `dir` in the default place.
    registry: PathBuf,
    /// XDG state directories of other accounts.
    others: Vec<PathBuf>,
    /// The user whose journals these are.
    owner: Owner,
    disk: Arc<dyn Disk>,
}

/// Places are equal if their directories are.
impl PartialEq for JournalDir {
    fn eq(&self, other: &JournalDir) -> bool {
        (&self.dir, &self.registry, self.owner) == (&other.dir, &other.registry, other.owner)
    }
}

impl Eq for JournalDir {}

/// A complete journal of this run.
#[derive(Debug)]
pub struct Journal {
    place: JournalDir,
    path: PathBuf,
    _lock: Lock,
}

impl JournalDir {
    /// The given directory, or the default: `ssdyno/journal` in the XDG state directory, which
    /// always has the registry. Root uses its own account's home if HOME is that of another user, who
    /// could replace the journals there. Without HOME, as in a system service, the home directory is that of
    /// the user's account. Without a default, the given directory has the registry. Neither need
    /// exist. The default places of this machine's other accounts are consulted too.
    pub fn of_user(dir: Option<&Path>) -> Result<JournalDir, JournalError> {
        let accounts = Machine::here().accounts();
        let state_directory = emit::user_directory("XDG_STATE_HOME", STATE_IN_HOME);
        let default = state_directory.map(|state| safe_place(homes::place(&state), &accounts));
        let other_states = Machine::here().account_states();
        let Some(dir) = dir else {
            let place = default.map(|dir| JournalDir::at(&dir).beside(other_states));
            return place.ok_or(JournalError::NoHome);
        };
        // Absolute, because the registry outlives the working directory.
        let dir = std::path::absolute(dir).map_err(|e| JournalError::io("find", dir, e))?;
        Ok(JournalDir::at(&dir).registered_in(&default.unwrap_or(dir)).beside(other_states))
    }

    /// The journals of another user's account, in the given directory or in the default place in
    /// its home. Only its own files, and root's among them, are journals here.
    pub fn of_account(account: &Account, dir: Option<&Path>) -> Option<JournalDir> {
        let default = account.state().map(|state| homes::place(&state));
        let dir = dir.or(default.as_deref())?;
        let place = JournalDir::at(dir).registered_in(default.as_deref().unwrap_or(dir));
        Some(JournalDir { owner: Owner(account.uid), ..place })
    }

    /// A directory with its own registry.
    pub fn at(dir: &Path) -> JournalDir {
        let (dir, others, owner) = (dir.to_path_buf(), Vec::new(), Owner::of_process());
        JournalDir { registry: dir.clone(), dir, others, owner, disk: Arc::new(Kernel) }
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

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Checks that blocks of this device may be kept here: on another drive, not in memory, and
    /// with no earlier blocks left to restore. Creates nothing.
    pub fn check(&self, device: &Path) -> Result<(), JournalError> {
        let existing = self.dir.ancestors().find(|dir| dir.is_dir()).unwrap_or(Path::new("."));
        let existing = if existing.as_os_str().is_empty() { Path::new(".") } else { existing };
        self.owner.check_path(&self.dir)?;
        let drive = device.display().to_string();
        if let Some(key) = DriveKey::from_path(device) {
            self.check_borrow(&key, &drive)?;
        }
        match separation(existing, device)? {
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
            self.owner.check_path(dir)?;
            make_durably(&*self.disk, dir).map_err(|e| JournalError::io("make", dir, e))?;
            self.owner.check_directory(dir)?;
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
        file: File,
        part: &Path,
        header: &Header,
        borrowed: &Borrowed,
    ) -> Result<Journal, JournalError> {
        let failed = |source| self.unwritten(part, header, source);
        let Some(lock) = Lock::take(&file, part)? else {
            return Err(JournalError::Held { path: part.to_path_buf() });
        };
        let mut file = PartFile::new(&*self.disk, part, file);
        file::write(&mut file, header, borrowed.bytes()).map_err(failed)?;
        file.sync().map_err(failed)?;
        let path = part.with_extension(WHOLE);
        file.publish(&path, &self.dir).map_err(failed)?;
        Ok(Journal { place: self.clone(), path, _lock: lock })
    }

    /// Registers a journal that is not in the default place.
    fn register(&self, journal: &Journal, header: &Header) -> Result<(), JournalError> {
        if self.dir == self.registry {
            return Ok(());
        }
        let (path, drive, made_s) = (journal.path.clone(), header.drive.clone(), header.made_s);
        registry::enter(&*self.disk, &self.registry, &RegistryEntry { path, drive, made_s })
    }

    /// Checks that no journal, in any directory, has blocks of this drive; `drive` is its name in
    /// errors. Restoring them later would destroy everything written to it now.
    pub fn check_overwrite(&self, key: &DriveKey, drive: &str) -> Result<(), JournalError> {
        let leftover = self.everywhere()?.into_iter().find(|left| left.is_of(key));
        leftover.map_or(Ok(()), |leftover| Err(leftover.refusal(drive.to_string())))?;
        self.check_others(key, drive)
    }

    /// Checks that no journal has blocks of this drive, or could have.
    fn check_borrow(&self, key: &DriveKey, drive: &str) -> Result<(), JournalError> {
        let leftovers = self.everywhere()?;
        let leftover =
            leftovers.into_iter().find(|left| left.is_of(key) || left.is_of_unknown_drive());
        leftover.map_or(Ok(()), |leftover| Err(leftover.refusal(drive.to_string())))?;
        self.check_others(key, drive)
    }

    /// Checks that no journal in the home of another account has blocks of this drive. One that
    /// belongs to another user is only reported; see `homes.rs`.
    fn check_others(&self, key: &DriveKey, drive: &str) -> Result<(), JournalError> {
        let other =
            self.left_elsewhere().into_iter().find(|left| left.is_ours && left.drive.overlaps(key));
        let drive = drive.to_string();
        other.map_or(Ok(()), |other| Err(JournalError::OtherHome { drive, left: Box::new(other) }))
    }

    /// Journals left by runs with another home directory, and those of other users among this
    /// user's, if this user may read them.
    pub fn left_elsewhere(&self) -> Vec<ElsewhereLeft> {
        let accounts = Machine::here().accounts();
        let mut places = vec![self.dir.clone(), self.registry.clone()];
        places.dedup();
        let states = self.others.iter().map(|state| homes::place(state));
        let other_places: Vec<PathBuf> = states.filter(|place| !places.contains(place)).collect();
        let mut journals = homes::left_in(&places, self.owner, &accounts);
        journals.retain(|left| !left.is_ours);
        journals.extend(homes::left_in(&other_places, self.owner, &accounts));
        journals
    }

    /// Journals left by ended runs: in this directory, in the registry's, and those registered.
    fn everywhere(&self) -> Result<Vec<Leftover>, JournalError> {
        if self.dir == self.registry {
            return self.unfinished();
        }
        let registry = JournalDir { dir: self.registry.clone(), ..self.clone() };
        let mut journals = registry.unfinished()?;
        // The registry also knows the drive of a damaged journal.
        for left in self.unfinished()? {
            if journals.iter().all(|known| known.path != left.path) {
                journals.push(left);
            }
        }
        Ok(journals)
    }

    /// Journals left in this place by ended runs, sorted by name. In the default place, includes
    /// registered journals elsewhere, and completes removals that a killed run had begun. Excludes
    /// journals held by a run in progress, and all files of other users.
    pub fn unfinished(&self) -> Result<Vec<Leftover>, JournalError> {
        let entries = match fs::read_dir(&self.dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(|e| JournalError::io("read", &self.dir, e))?,
        };
        // A journal that is overlooked would permit to overwrite its drive.
        let paths: io::Result<Vec<PathBuf>> = entries.map(|e| e.map(|e| e.path())).collect();
        let mut paths = paths.map_err(|e| JournalError::io("read", &self.dir, e))?;
        paths.sort_unstable();
        let leftovers = paths.iter().filter_map(|path| match registry::read(path, self.owner) {
            None if registry::is_closing(&self.registry, path, self.owner) => {
                self.remove(path).err().map(Err)
            }
            None => look(path, self.owner).transpose(),
            Some(registered) => self.follow(path, registered).transpose(),
        });
        leftovers.collect()
    }

    /// Looks up the journal of an entry; `None` if it is finished or held by a run.
    fn follow(&self, path: &Path, found: Registered) -> Result<Option<Leftover>, JournalError> {
        match found {
            Registered::Damaged(reason) => {
                let state = State::Damaged { reason, drive: None };
                Ok(Some(Leftover { path: path.to_path_buf(), state }))
            }
            // Another user's entry can name any file: only that user's own runs complete it.
            Registered::Closing(_) if self.owner != Owner::of_process() => Ok(None),
            // The run was killed between its last two steps. A directory that is missing, or empty
            // because its file system is not mounted, may return with the journal, so the entry is
            // kept until then. It refuses no run.
            Registered::Closing(entry) => {
                if entry.path.parent().is_none_or(has_files) {
                    self.remove(&entry.path).map(|()| None)
                } else {
                    Ok(None)
                }
            }
            Registered::Needed(entry) => {
                let path = entry.path.clone();
                let state = match self.owner.open(&path) {
                    Ok(Opened::File(_) | Opened::Irregular) => {
                        let mut leftover = look(&path, self.owner)?;
                        let state = leftover.as_mut().map(|leftover| &mut leftover.state);
                        if let Some(State::Damaged { drive, .. }) = state {
                            *drive = Some(Box::new(entry.drive));
                        }
                        return Ok(leftover);
                    }
                    Ok(Opened::Foreign(Owner(uid))) => {
                        let reason =
                            format!("it was replaced by a file of user {}", user_name(uid));
                        State::Damaged { reason, drive: Some(Box::new(entry.drive)) }
                    }
                    Ok(Opened::Missing) | Err(_) => State::OutOfReach(Box::new(entry)),
                };
                Ok(Some(Leftover { path, state }))
            }
        }
    }

    /// Reads a journal and takes its lock, after the checks of its owner and its directory.
    pub fn open(&self, path: &Path) -> Result<EarlierJournal, JournalError> {
        EarlierJournal::open_owned(path, self.owner)
    }

    /// Removes a journal and its entry. Its blocks must have been restored or never overwritten. A
    /// file of another user in its place stays.
    pub fn remove(&self, path: &Path) -> Result<(), JournalError> {
        let disk = &*self.disk;
        registry::begin_closing(disk, &self.registry, path)?;
        let metadata = fs::symlink_metadata(path);
        if metadata.is_ok_and(|metadata| !self.owner.trusts(metadata.uid())) {
            return registry::leave(disk, &self.registry, path);
        }
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
    pub fn close(&self, kept: EarlierJournal) -> Result<(), JournalError> {
        self.remove(&kept.path)
    }
}

impl Journal {
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the journal after its blocks have been compared with the drive.
    pub fn close(self) -> Result<(), JournalError> {
        self.place.remove(&self.path)
    }
}

/// The default place. Root's is in its own account's home if others could replace files in the
/// given one, or create it, as if `sudo` keeps the caller's HOME.
fn safe_place(place: PathBuf, accounts: &[Account]) -> PathBuf {
    let owner = Owner::of_process();
    let is_safe = owner.check_path(&place).is_ok();
    let roots = accounts.iter().find(|account| account.uid == 0).and_then(Account::state);
    match roots.filter(|_| !is_safe && owner == Owner(0)) {
        Some(state) => homes::place(&state),
        None => place,
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
