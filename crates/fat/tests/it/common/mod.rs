//! A drive in memory that logs its writes, and helpers for recording and verification.

#![allow(dead_code, reason = "the targets in fuzz/ use a part")]

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::process::Command;
use std::rc::Rc;

use fat::{
    Name, Problem, Recorder, RecorderStep, Recording, SectorDrive, SurvivingPart, Volume,
    VolumeKind, VolumeLayout,
};

pub type Sectors = BTreeMap<u64, Rc<[u8]>>;

/// An event in the log of a drive.
#[derive(Clone, Debug)]
pub enum Event {
    Write {
        sector: u64,
        bytes: Rc<[u8]>,
        data: bool,
    },
    /// Everything in the log before this position is durable.
    Flush(usize),
    /// The recorder reported this part as durable.
    Kept(SurvivingPart),
}

/// A drive in memory. Sectors are zeros until they are written.
#[derive(Clone)]
pub struct Disk {
    pub size: u32,
    pub count: u64,
    pub sectors: Sectors,
    pub log: Vec<Event>,
    pub reads: u64,
    pub writes: u64,
    pub bytes: u64,
    pub flushes: u64,
    /// Whether writes are logged as data instead of metadata.
    pub data: bool,
    /// Position in the log of a started flush, and the number of polls that still find it
    /// incomplete.
    pub started: Option<(usize, u32)>,
    /// Number of polls that find the next started flush incomplete.
    pub latency: u32,
    /// Whether flushes do nothing, to prove that the tests notice.
    pub lies: bool,
}

impl Disk {
    pub fn new(size: u32, bytes: u64) -> Disk {
        let (sectors, log) = (Sectors::new(), Vec::new());
        let (reads, writes, flushes) = (0, 0, 0);
        let count = bytes / u64::from(size);
        let (data, lies, bytes) = (false, false, 0);
        let (started, latency) = (None, 0);
        Disk {
            size,
            count,
            sectors,
            log,
            reads,
            writes,
            bytes,
            flushes,
            data,
            started,
            latency,
            lies,
        }
    }

    pub fn from_sectors(size: u32, count: u64, sectors: Sectors) -> Disk {
        Disk { sectors, ..Disk::new(size, count * u64::from(size)) }
    }

    pub fn clear_counts(&mut self) {
        self.log.clear();
        (self.reads, self.writes, self.bytes, self.flushes) = (0, 0, 0, 0);
    }

    /// Edits the bytes of a sector.
    pub fn edit(&mut self, sector: u64, change: impl FnOnce(&mut [u8])) {
        let mut bytes = vec![0; self.size as usize];
        self.read(sector, &mut bytes).expect("inside");
        change(&mut bytes);
        put(&mut self.sectors, self.size, sector, &bytes);
    }

    /// Returns a sparse file with the content.
    pub fn image(&self) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().expect("a file");
        file.as_file().set_len(self.count * u64::from(self.size)).expect("sparse");
        for (sector, bytes) in &self.sectors {
            let at = sector * u64::from(self.size);
            file.as_file().write_all_at(bytes, at).expect("written");
        }
        file
    }

    /// Reads all sectors back from an image that another program may have changed.
    pub fn reload(&mut self, file: &File) {
        let mut bytes = vec![0; (self.count * u64::from(self.size)) as usize];
        file.read_exact_at(&mut bytes, 0).expect("read");
        put(&mut self.sectors, self.size, 0, &bytes);
    }
}

pub fn put(sectors: &mut Sectors, size: u32, sector: u64, bytes: &[u8]) {
    for (number, piece) in (sector..).zip(bytes.chunks(size as usize)) {
        if piece.iter().all(|b| *b == 0) {
            sectors.remove(&number);
        } else {
            sectors.insert(number, piece.into());
        }
    }
}

impl SectorDrive for Disk {
    type Error = String;

    fn sector_bytes(&self) -> u32 {
        self.size
    }

    fn sectors(&self) -> u64 {
        self.count
    }

    fn submit(&mut self, sector: u64, bytes: &[u8]) -> Result<(), String> {
        assert!((bytes.len() as u32).is_multiple_of(self.size) && !bytes.is_empty());
        if sector + bytes.len() as u64 / u64::from(self.size) > self.count {
            return Err("beyond the end".into());
        }
        (self.writes, self.bytes) = (self.writes + 1, self.bytes + bytes.len() as u64);
        put(&mut self.sectors, self.size, sector, bytes);
        self.log.push(Event::Write { sector, bytes: bytes.into(), data: self.data });
        Ok(())
    }

    fn flush(&mut self) -> Result<(), String> {
        self.start_flush()?;
        self.started = Some((self.log.len(), 0));
        self.is_flushed().map(drop)
    }

    fn start_flush(&mut self) -> Result<(), String> {
        self.flushes += 1;
        self.started = Some((self.log.len(), self.latency));
        self.latency = (self.latency + 1) % 3;
        Ok(())
    }

    fn is_flushed(&mut self) -> Result<bool, String> {
        match &mut self.started {
            Some((_, left)) if *left > 0 => {
                *left -= 1;
                return Ok(false);
            }
            Some((at, _)) if !self.lies => self.log.push(Event::Flush(*at)),
            _ => {}
        }
        self.started = None;
        Ok(true)
    }

    fn read(&mut self, sector: u64, bytes: &mut [u8]) -> Result<(), String> {
        assert!((bytes.len() as u32).is_multiple_of(self.size));
        self.reads += 1;
        for (number, piece) in (sector..).zip(bytes.chunks_mut(self.size as usize)) {
            if number >= self.count {
                return Err("beyond the end".into());
            }
            match self.sectors.get(&number) {
                Some(content) => piece.copy_from_slice(content),
                None => piece.fill(0),
            }
        }
        Ok(())
    }
}

pub fn clip() -> Name {
    Name::new("CLIP", "MOV").expect("a name")
}

pub fn recording(file_bytes: u64, checkpoint_bytes: Option<u64>) -> Recording {
    Recording { name: clip(), file_bytes, checkpoint_bytes, time: 0x5865_6000 }
}

/// Generates the content of a file: every word is derived from the file's number and the word's
/// offset.
pub fn content(file: u32, offset: u64, bytes: &mut [u8]) {
    for (i, word) in bytes.chunks_exact_mut(8).enumerate() {
        let at = offset + 8 * i as u64 + 1;
        word.copy_from_slice(&(u64::from(file) << 48 ^ at).to_le_bytes());
    }
}

/// Records `bytes` in pieces of `frame`. Returns whether everything found room.
pub fn record(
    disk: &mut Disk,
    recorder: &mut Recorder,
    bytes: u64,
    frame: u64,
    before: u32,
) -> bool {
    record_counted(disk, recorder, bytes, frame, before).is_some()
}

/// The same; returns how often the recording had to wait, except for its first file, or `None` if
/// not everything found room.
pub fn record_counted(
    disk: &mut Disk,
    recorder: &mut Recorder,
    bytes: u64,
    frame: u64,
    before: u32,
) -> Option<u32> {
    let mut room = vec![0; 64 << 10];
    let (mut left, mut offset, mut file, mut waits) = (bytes, 0, recorder.files(), 0);
    while left > 0 {
        match recorder.place(frame.min(left)) {
            RecorderStep::Sync => {
                waits += u32::from(recorder.files() > 0);
                recorder.sync(disk, &mut room).ok()?;
            }
            RecorderStep::Write { sector, bytes } => {
                if recorder.files() > file {
                    (file, offset) = (recorder.files(), 0);
                }
                let mut piece = vec![0; bytes as usize];
                content(before + file, offset, &mut piece);
                disk.data = true;
                disk.submit(sector, &piece).expect("inside");
                disk.data = false;
                (left, offset) = (left - bytes, offset + bytes);
                recorder.advance(disk, &mut room).expect("advances");
            }
        }
        disk.log.push(Event::Kept(recorder.kept()));
    }
    Some(waits)
}

/// Compares the valid part of every file with the recorded content. Returns number, valid bytes and
/// size of each.
pub fn verify(disk: &mut Disk) -> Vec<(u32, u64, u64)> {
    let mut volume = Volume::open(disk).expect("a volume");
    let mut entries = Vec::new();
    volume.list(disk, |entry| entries.push(*entry)).expect("a directory");
    let mut files = Vec::new();
    for entry in entries {
        let number = (1..1000).find(|n| {
            let name = Name::new(&format!("CLIP{n:04}"), "MOV");
            entry.name == name
        });
        // A repair assigns its own names to lost chains.
        let Some(number) = number else { continue };
        files.push((number, entry.valid, entry.bytes));
        let (mut at, mut read, mut expected) = (0, vec![0; 64 << 10], vec![0; 64 << 10]);
        while at < entry.valid {
            let count = volume.read(disk, &entry, at, &mut read).expect("read") as u64;
            let count = count.min(entry.valid - at) as usize;
            content(number, at, &mut expected);
            if read[..count] != expected[..count] {
                // The rest of a FAT32 file was possibly never written.
                let wrong = (0..count).find(|i| read[*i] != expected[*i]).unwrap_or(0) as u64;
                let last = files.last_mut().expect("pushed");
                last.1 = at + wrong / 8 * 8;
                break;
            }
            at += count as u64;
        }
    }
    files
}

pub fn problems(disk: &mut Disk) -> Vec<Problem> {
    let layout = VolumeLayout::read(disk).expect("a volume");
    let mut room = vec![0; fat::check_room(&layout)];
    let mut found = Vec::new();
    fat::check(disk, &mut room, &mut |problem| found.push(problem)).expect("readable");
    found
}

/// Runs the system's checker on an image. Returns its exit code and output; `None` if it is not
/// installed.
pub fn fsck(
    kind: VolumeKind,
    arguments: &[&str],
    image: &std::path::Path,
) -> Option<(i32, String)> {
    let name = if kind == VolumeKind::Exfat { "fsck.exfat" } else { "fsck.vfat" };
    let Some(program) = find(name) else {
        println!("skipped: {name} is not installed");
        return None;
    };
    let run = Command::new(program).args(arguments).arg(image).output().expect("runs");
    let text =
        String::from_utf8_lossy(&run.stdout).into_owned() + &String::from_utf8_lossy(&run.stderr);
    Some((run.status.code().unwrap_or(-1), text))
}

/// Finds a program on the path or in the system directories.
pub fn find(name: &str) -> Option<std::path::PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let more = ["/usr/sbin", "/sbin"].map(std::path::PathBuf::from);
    let mut places = std::env::split_paths(&path).chain(more);
    places.find(|dir| dir.join(name).is_file()).map(|dir| dir.join(name))
}

/// A random number generator for tests.
pub struct Dice(pub u64);

impl Dice {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn below(&mut self, most: u64) -> u64 {
        self.next() % most.max(1)
    }
}
