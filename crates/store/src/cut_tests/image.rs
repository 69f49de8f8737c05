//! Simulated files after a power cut: durable content and names, and changes not yet synced.
//!
//! The rules are those of the journal's simulator (`crates/journal/tests/it/cuts.rs`): a change that
//! was not synced is randomly kept, dropped, torn at 512 bytes or reordered with others. Syncing a
//! file covers its content, never its name; names become durable when their directory is synced.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use fuzz::Random;

use super::trace::Op;

const SECTOR: usize = 512;

/// Content of a file.
#[derive(Clone, Debug, Default)]
struct Content {
    durable: Vec<u8>,
    waiting: Vec<Change>,
}

#[derive(Clone, Debug)]
enum Change {
    Write(usize, Vec<u8>),
    Truncate(usize),
}

#[derive(Clone, Debug)]
enum Naming {
    Directory(PathBuf),
    Name(PathBuf, usize),
    Gone(PathBuf),
}

impl Naming {
    fn directory(&self) -> Option<&Path> {
        let (Naming::Directory(path) | Naming::Name(path, _) | Naming::Gone(path)) = self;
        path.parent()
    }
}

/// The durable and the volatile state of a directory.
#[derive(Clone, Debug)]
pub(super) struct Image {
    root: PathBuf,
    directories: Vec<PathBuf>,
    names: BTreeMap<PathBuf, usize>,
    contents: Vec<Content>,
    waiting: Vec<Naming>,
    /// Contents by name, as seen by a process.
    now: BTreeMap<PathBuf, usize>,
}

impl Image {
    /// An empty directory.
    pub(super) fn new(root: &Path) -> Image {
        Image {
            root: root.to_path_buf(),
            directories: Vec::new(),
            names: BTreeMap::new(),
            contents: Vec::new(),
            waiting: Vec::new(),
            now: BTreeMap::new(),
        }
    }

    /// Adds a durable file and its directories.
    pub(super) fn with(mut self, path: &Path, durable: &[u8]) -> Image {
        let parents = path.ancestors().skip(1).take_while(|dir| *dir != self.root);
        self.directories = parents.map(Path::to_path_buf).collect();
        self.contents.push(Content { durable: durable.to_vec(), waiting: Vec::new() });
        self.names.insert(path.into(), self.contents.len() - 1);
        self.now = self.names.clone();
        self
    }

    /// The files that a process would find.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        self.now.keys().cloned().collect()
    }

    pub(super) fn run(&mut self, op: &Op) {
        match op {
            Op::Mark(_) => {}
            Op::MakeDirectory(path) => self.waiting.push(Naming::Directory(path.clone())),
            Op::Create(path) => {
                self.contents.push(Content::default());
                let number = self.contents.len() - 1;
                self.now.insert(path.clone(), number);
                self.waiting.push(Naming::Name(path.clone(), number));
            }
            Op::Write { file, at, bytes } => {
                self.content(file).waiting.push(Change::Write(*at, bytes.clone()));
            }
            Op::Truncate { file, bytes } => {
                self.content(file).waiting.push(Change::Truncate(*bytes));
            }
            Op::Sync(file) => self.content(file).settle(),
            Op::Remove(path) => {
                self.now.remove(path);
                self.waiting.push(Naming::Gone(path.clone()));
            }
            Op::SyncNames(directory) => {
                let all = std::mem::take(&mut self.waiting);
                for naming in all {
                    if naming.directory() == Some(directory) {
                        self.name(naming)
                    } else {
                        self.waiting.push(naming)
                    }
                }
            }
        }
    }

    /// Cuts the power.
    pub(super) fn cut(&mut self, dice: &mut Random) {
        let namings = std::mem::take(&mut self.waiting);
        // A journaling file system keeps a prefix, others any subset.
        let prefix = dice.below(2) == 0;
        let until = dice.below(namings.len() + 1);
        for (number, naming) in namings.into_iter().enumerate() {
            if if prefix { number < until } else { dice.below(2) == 0 } {
                self.name(naming);
            }
        }
        self.contents.iter_mut().for_each(|content| content.cut(dice));
        let there = self.directories.clone();
        let lives = |path: &Path| {
            let mut parents = path.ancestors().skip(1).take_while(|dir| *dir != self.root);
            parents.all(|dir| there.iter().any(|d| d == dir))
        };
        self.names.retain(|path, _| lives(path));
        self.directories.retain(|path| lives(path));
        self.now = self.names.clone();
    }

    /// Writes the files as they are after a cut to the real directory.
    pub(super) fn restore(&self) {
        for entry in fs::read_dir(&self.root).expect("a directory").flatten() {
            fs::remove_dir_all(entry.path()).expect("removed");
        }
        self.directories.iter().for_each(|path| fs::create_dir_all(path).expect("made"));
        for (path, number) in &self.names {
            fs::write(path, &self.contents[*number].durable).expect("written");
        }
    }

    fn content(&mut self, path: &Path) -> &mut Content {
        &mut self.contents[self.now[path]]
    }

    /// Makes a naming change durable.
    fn name(&mut self, naming: Naming) {
        match naming {
            Naming::Directory(path) => self.directories.push(path),
            Naming::Name(path, number) => drop(self.names.insert(path, number)),
            Naming::Gone(path) => drop(self.names.remove(&path)),
        }
    }
}

impl Content {
    /// Makes everything durable, as a sync does.
    fn settle(&mut self) {
        for change in std::mem::take(&mut self.waiting) {
            match change {
                Change::Write(at, bytes) => self.put(at, &bytes),
                Change::Truncate(bytes) => self.durable.resize(bytes, 0),
            }
        }
    }

    fn cut(&mut self, dice: &mut Random) {
        let all = std::mem::take(&mut self.waiting);
        let (in_order, until) = (dice.below(3) == 0, dice.below(all.len() + 1));
        for (number, change) in all.into_iter().enumerate() {
            match (change, in_order) {
                (_, true) if number > until => {}
                (Change::Truncate(bytes), true) if number < until => self.durable.resize(bytes, 0),
                (Change::Write(at, bytes), true) if number < until => self.put(at, &bytes),
                (Change::Truncate(bytes), _) if dice.below(2) == 0 => self.durable.resize(bytes, 0),
                (Change::Truncate(_), _) => {}
                (Change::Write(at, bytes), _) => self.put_in_part(at, &bytes, dice),
            }
        }
    }

    /// Writes some, all or none of the sectors.
    fn put_in_part(&mut self, at: usize, bytes: &[u8], dice: &mut Random) {
        let luck = dice.below(4);
        let mut done = 0;
        while done < bytes.len() {
            // Up to the next sector boundary.
            let length = (SECTOR - (at + done) % SECTOR).min(bytes.len() - done);
            if luck == 0 || luck == 1 && dice.below(2) == 0 {
                self.put(at + done, &bytes[done..done + length]);
            } else if luck == 2 && self.durable.len() < at + bytes.len() {
                // The length survives, the data do not.
                self.durable.resize(at + bytes.len(), 0);
            }
            done += length;
        }
    }

    fn put(&mut self, at: usize, bytes: &[u8]) {
        let end = at + bytes.len();
        if self.durable.len() < end {
            self.durable.resize(end, 0);
        }
        self.durable[at..end].copy_from_slice(bytes);
    }
}
