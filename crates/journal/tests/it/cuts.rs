//! Simulated power cuts. A run that borrows blocks and the recovery after it are recorded as a list
//! of operations; power is then cut after each operation, many times.
//!
//! Unsynced data is kept, dropped, torn at 512 bytes or reordered at random; a drive sector being
//! written may contain garbage. Names survive in any order unless their directory was synced. After
//! the cut, `recover` runs, is itself cut, and then runs to completion: not one byte of the drive
//! may differ. `SSDYNO_CUTS` sets the number of cuts (`cargo xtask bench cuts` makes 100,000); a
//! failure prints its seed.

use crate::common;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use journal::{BLOCK, Borrowed, Disk, EarlierJournal, JournalDir, Kernel, Rereads, State, Storage};
use tempfile::TempDir;
use workload::Region;

const SECTOR: usize = 512;
/// One block and part of another.
const BYTES: usize = BLOCK + 3 * SECTOR;
const CUTS: u64 = 2000;

/// One recorded operation.
#[derive(Clone, Debug)]
enum Op {
    MakeDirectory(PathBuf),
    Create(PathBuf),
    Append(PathBuf, Vec<u8>),
    Sync(PathBuf),
    Rename(PathBuf, PathBuf),
    Remove(PathBuf),
    SyncNames(PathBuf),
    /// A write to the drive.
    Write(usize, Vec<u8>),
    SyncDrive,
}

type Log = Arc<Mutex<Vec<Op>>>;

/// The system's operations, with recording.
#[derive(Debug)]
struct Recorded(Log);

impl Recorded {
    fn done<T>(&self, op: Op, result: io::Result<T>) -> io::Result<T> {
        if result.is_ok() {
            self.0.lock().expect("no panic").push(op);
        }
        result
    }
}

impl Disk for Recorded {
    fn create(&self, path: &Path) -> io::Result<File> {
        self.done(Op::Create(path.into()), Kernel.create(path))
    }

    fn append(&self, file: &mut File, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.done(Op::Append(path.into(), bytes.into()), Kernel.append(file, path, bytes))
    }

    // Real syncs would take time and prove nothing: durability is simulated.
    fn sync(&self, _file: &File, path: &Path) -> io::Result<()> {
        self.done(Op::Sync(path.into()), Ok(()))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.done(Op::Rename(from.into(), to.into()), Kernel.rename(from, to))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.done(Op::Remove(path.into()), Kernel.remove(path))
    }

    fn make_directory(&self, path: &Path) -> io::Result<()> {
        let new = !path.exists();
        let made = Kernel.make_directory(path);
        if new { self.done(Op::MakeDirectory(path.into()), made) } else { made }
    }

    fn sync_names(&self, directory: &Path) -> io::Result<()> {
        self.done(Op::SyncNames(directory.into()), Ok(()))
    }
}

/// The drive whose blocks are borrowed, with recording.
struct Drive(Mutex<Vec<u8>>, Log);

impl Drive {
    fn new(content: &[u8], log: &Log) -> Drive {
        Drive(Mutex::new(content.to_vec()), Arc::clone(log))
    }
}

impl Storage for Drive {
    fn read_exact(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let at = offset as usize;
        buffer.copy_from_slice(&self.0.lock().expect("no panic")[at..at + buffer.len()]);
        Ok(())
    }

    fn write_all(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let at = offset as usize;
        self.0.lock().expect("no panic")[at..at + bytes.len()].copy_from_slice(bytes);
        self.1.lock().expect("no panic").push(Op::Write(at, bytes.to_vec()));
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        self.1.lock().expect("no panic").push(Op::SyncDrive);
        Ok(())
    }

    fn forget(&self, _region: Region) -> io::Result<()> {
        self.sync()
    }
}

/// Knuth's MMIX generator: good enough for dice.
#[derive(Clone)]
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % n.max(1)
    }
}

/// Content of a file: durable bytes, and appends since the last sync.
#[derive(Clone, Debug, Default)]
struct Content {
    durable: Vec<u8>,
    waiting: Vec<u8>,
}

/// The durable and volatile state of all files and the drive.
#[derive(Clone)]
struct Image {
    directories: Vec<PathBuf>,
    names: BTreeMap<PathBuf, usize>,
    contents: Vec<Content>,
    /// Name changes not yet made durable by a sync, in order.
    waiting: Vec<Change>,
    /// Contents by current name.
    now: BTreeMap<PathBuf, usize>,
    drive: Vec<u8>,
    drive_waiting: Vec<(usize, Vec<u8>)>,
}

#[derive(Clone, Debug)]
enum Change {
    Directory(PathBuf),
    Name(PathBuf, usize),
    Rename(PathBuf, PathBuf),
    Gone(PathBuf),
}

impl Change {
    fn directory(&self) -> Option<&Path> {
        match self {
            Change::Directory(path) | Change::Name(path, _) | Change::Gone(path) => path.parent(),
            Change::Rename(path, _) => path.parent(),
        }
    }
}

impl Image {
    fn read(root: &Path, drive: &[u8]) -> Image {
        Image {
            directories: vec![root.to_path_buf()],
            names: BTreeMap::new(),
            contents: Vec::new(),
            waiting: Vec::new(),
            now: BTreeMap::new(),
            drive: drive.to_vec(),
            drive_waiting: Vec::new(),
        }
    }

    fn content(&mut self, path: &Path) -> &mut Content {
        &mut self.contents[self.now[path]]
    }

    fn run(&mut self, op: &Op) {
        match op.clone() {
            Op::MakeDirectory(path) => self.waiting.push(Change::Directory(path)),
            Op::Create(path) => {
                self.contents.push(Content::default());
                let number = self.contents.len() - 1;
                self.now.insert(path.clone(), number);
                self.waiting.push(Change::Name(path, number));
            }
            Op::Append(path, bytes) => self.content(&path).waiting.extend(bytes),
            Op::Sync(path) => {
                let Content { durable, waiting } = self.content(&path);
                durable.append(waiting);
            }
            Op::Rename(from, to) => {
                let number = self.now.remove(&from).expect("there");
                self.now.insert(to.clone(), number);
                self.waiting.push(Change::Rename(from, to));
            }
            Op::Remove(path) => {
                self.now.remove(&path);
                self.waiting.push(Change::Gone(path));
            }
            Op::SyncNames(directory) => {
                let (synced, rest) = std::mem::take(&mut self.waiting)
                    .into_iter()
                    .partition::<Vec<_>, _>(|change| change.directory() == Some(&directory));
                self.waiting = rest;
                synced.into_iter().for_each(|change| self.settle(change));
            }
            Op::Write(at, bytes) => self.drive_waiting.push((at, bytes)),
            Op::SyncDrive => {
                for (at, bytes) in std::mem::take(&mut self.drive_waiting) {
                    self.drive[at..at + bytes.len()].copy_from_slice(&bytes);
                }
            }
        }
    }

    /// Makes a name change durable, if the old name is durable.
    fn settle(&mut self, change: Change) {
        match change {
            Change::Directory(path) => self.directories.push(path),
            Change::Name(path, number) => drop(self.names.insert(path, number)),
            Change::Rename(from, to) => {
                if let Some(number) = self.names.remove(&from) {
                    self.names.insert(to, number);
                }
            }
            Change::Gone(path) => drop(self.names.remove(&path)),
        }
    }

    /// Cuts the power.
    fn cut(&mut self, dice: &mut Dice) {
        let changes = std::mem::take(&mut self.waiting);
        // A journaling file system keeps a prefix, others any subset.
        let prefix = dice.below(2) == 0;
        let until = dice.below(changes.len() + 1);
        for (number, change) in changes.into_iter().enumerate() {
            if if prefix { number < until } else { dice.below(2) == 0 } {
                self.settle(change);
            }
        }
        for Content { durable, waiting } in &mut self.contents {
            let mut kept = std::mem::take(waiting);
            match dice.below(3) {
                0 => kept.clear(),
                1 => kept.truncate(dice.below(kept.len() / SECTOR + 1) * SECTOR),
                // The length was kept, but not every sector.
                _ => kept.chunks_mut(SECTOR).filter(|_| dice.below(2) == 0).for_each(|s| s.fill(0)),
            }
            durable.append(&mut kept);
        }
        for (at, bytes) in std::mem::take(&mut self.drive_waiting) {
            for (sector, new) in bytes.chunks(SECTOR).enumerate() {
                let old = &mut self.drive[at + sector * SECTOR..][..new.len()];
                match dice.below(8) {
                    0..4 => old.copy_from_slice(new),
                    4 => old.fill(0xee),
                    _ => {}
                }
            }
        }
        let root = self.directories[0].clone();
        let there = self.directories.clone();
        let lives = |path: &Path| {
            path.ancestors()
                .skip(1)
                .take_while(|p| *p != root)
                .all(|p| there.iter().any(|d| d == p))
        };
        self.names.retain(|path, _| lives(path));
        self.directories.retain(|path| *path == root || lives(path));
        self.now = self.names.clone();
    }

    /// Writes the files that survived a cut into the real directory.
    fn restore(&self) {
        let root = &self.directories[0];
        for entry in fs::read_dir(root).expect("a directory").flatten() {
            fs::remove_dir_all(entry.path()).expect("removed");
        }
        let mut directories: Vec<&PathBuf> = self.directories[1..].iter().collect();
        directories.sort();
        directories.iter().for_each(|path| fs::create_dir_all(path).expect("made"));
        for (path, number) in &self.names {
            fs::write(path, &self.contents[*number].durable).expect("written");
        }
    }
}

fn original() -> Vec<u8> {
    (0..BYTES).map(|i| (i * 7 + i / SECTOR + 1) as u8).collect()
}

/// A journal directory under the root: the default directory, or one registered there.
fn place(root: &Path, elsewhere: bool, log: &Log) -> JournalDir {
    let default = root.join("state/ssdyno/journal");
    let place = if elsewhere {
        JournalDir::at(&root.join("other/journals")).registered_in(&default)
    } else {
        JournalDir::at(&default)
    };
    place.on(Arc::new(Recorded(Arc::clone(log))))
}

/// A run: borrows blocks, overwrites them, restores them.
fn borrow(root: &Path, elsewhere: bool) -> Vec<Op> {
    let log = Log::default();
    let drive = Drive::new(&original(), &log);
    let borrowed = Borrowed::read(&drive, Region::first(BYTES as u64)).expect("read");
    let journal =
        place(root, elsewhere, &log).keep(&common::key(BYTES as u64), &borrowed).expect("kept");
    for at in (0..BYTES).step_by(8 * SECTOR) {
        let bytes = vec![0xaa; (8 * SECTOR).min(BYTES - at)];
        drive.write_all(at as u64, &bytes).expect("written");
        if at % (64 * SECTOR) == 0 {
            Storage::sync(&drive).expect("synced");
        }
    }
    let differing = borrowed
        .compare(&drive, Rereads::UntilCertain, &mut |_| ())
        .expect("compared")
        .to_restore();
    borrowed.put_back(&drive, &differing, &mut |_| ()).expect("restored");
    journal.close().expect("closed");
    take(&log)
}

fn take(log: &Log) -> Vec<Op> {
    std::mem::take(&mut *log.lock().expect("no panic"))
}

/// Replays every leftover journal, as `recover --replay` does. Returns the drive's content and the
/// operations.
fn recover(root: &Path, elsewhere: bool, drive: &[u8]) -> (Vec<u8>, Vec<Op>) {
    let log = Log::default();
    let drive = Drive::new(drive, &log);
    // `recover` reads the default place, which lists journals in other directories.
    let default = JournalDir::at(&root.join("state/ssdyno/journal"));
    let places = if elsewhere {
        vec![default.on(Arc::new(Recorded(Arc::clone(&log)))), place(root, true, &log)]
    } else {
        vec![place(root, false, &log)]
    };
    for place in &places {
        for left in place.unfinished().expect("listed") {
            match &left.state {
                State::Torn => place.remove(&left.path).expect("removed"),
                State::Whole(_) => {
                    let kept = EarlierJournal::open(&left.path).expect("whole");
                    assert_eq!(kept.borrowed.damaged(), [0; 0], "a complete journal is damaged");
                    let differing = kept
                        .borrowed
                        .compare(&drive, Rereads::UntilCertain, &mut |_| ())
                        .expect("compared")
                        .to_restore();
                    if !differing.is_empty() {
                        kept.borrowed.put_back(&drive, &differing, &mut |_| ()).expect("restored");
                    }
                    place.close(kept).expect("closed");
                }
                other => panic!("{}: {other:?}", left.path.display()),
            }
        }
    }
    let content = drive.0.lock().expect("no panic").clone();
    (content, take(&log))
}

#[test]
fn no_power_cut_loses_a_borrowed_byte() {
    let cuts = std::env::var("SSDYNO_CUTS").ok().and_then(|n| n.parse().ok()).unwrap_or(CUTS);
    // Creating images is fastest in memory.
    let shm = Path::new("/dev/shm");
    let dir = if shm.is_dir() { TempDir::new_in(shm) } else { TempDir::new() };
    let dir = dir.expect("a directory");
    let root = dir.path();
    let runs = [false, true].map(|elsewhere| {
        let ops = borrow(root, elsewhere);
        Image::read(root, &original()).restore();
        (elsewhere, ops)
    });
    let (mut lost_power_in_recovery, mut needed) = (0u64, 0u64);
    for seed in 0..cuts {
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let (elsewhere, ops) = &runs[seed as usize % 2];
        let at = (seed as usize / 2) % (ops.len() + 1);
        let mut image = Image::read(root, &original());
        ops[..at].iter().for_each(|op| image.run(op));
        let what = format!("seed {seed}: cut after operation {at} of {}", ops.len());
        // Up to three recoveries are cut in turn.
        for _ in 0..dice.below(4) {
            image.cut(&mut dice);
            image.restore();
            let before = image.clone();
            let (_, ops) = recover(root, *elsewhere, &image.drive);
            image = before;
            let at = dice.below(ops.len() + 1);
            ops[..at].iter().for_each(|op| image.run(op));
            lost_power_in_recovery += 1;
        }
        image.cut(&mut dice);
        image.restore();
        needed += u64::from(image.drive != original());
        let (drive, _) = recover(root, *elsewhere, &image.drive);
        assert!(drive == original(), "{what}: borrowed bytes are lost");
        let log = Log::default();
        let left = place(root, *elsewhere, &log).unfinished().expect("listed");
        assert!(left.is_empty(), "{what}: {left:?}");
    }
    println!("{cuts} cuts, {lost_power_in_recovery} during recovery; {needed} drives were damaged");
    assert!(needed > cuts / 10, "the cuts damaged only {needed} drives");
}
