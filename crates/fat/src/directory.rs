//! Directory entries of both file systems, and a cursor that walks over them.
//!
//! If a directory is damaged, the walk ends or reports a torn set. It is limited by the number of
//! clusters, so it also ends if a chain loops.

use crate::bytes::{u16_at, u32_at, u64_at};
use crate::cache::Cache;
use crate::drive::{Error, SectorDrive};
use crate::exfat::{self, ENTRY};
use crate::fat32;
use crate::layout::{Link, VolumeKind, VolumeLayout};
use crate::name::Name;

/// A file or a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirectoryEntry {
    /// The name; `None` if it is not an 8.3 name of capital letters and digits.
    pub name: Option<Name>,
    /// Whether the entry is a directory.
    pub directory: bool,
    /// First cluster; 0 if there is none.
    pub first: u32,
    /// Size, bytes.
    pub bytes: u64,
    /// Valid data length, bytes; the rest reads as zeros.
    pub valid: u64,
    /// Whether the clusters are consecutive, without a chain.
    pub contiguous: bool,
    /// Location of the entry.
    pub(crate) place: EntryLocation,
}

/// Location of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EntryLocation {
    pub sector: u64,
    pub index: usize,
}

/// The next item in a directory.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Found {
    /// The end of the directory.
    End,
    /// A file or directory.
    Entry(DirectoryEntry),
    /// A label, bitmap or up-case table.
    Special([u8; ENTRY]),
    /// An inconsistent entry set.
    Torn(EntryLocation),
}

/// A position in a directory, with cached sectors.
#[derive(Clone)]
pub(crate) struct Cursor {
    layout: VolumeLayout,
    position: Position,
    directory: Cache,
    fat: Cache,
}

/// A position in a directory, without cached sectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    pub cluster: u32,
    /// Sector within the cluster, and entry within the sector.
    pub sector: u64,
    pub index: usize,
    /// Maximum number of clusters left, including the current one.
    pub left: u64,
    pub contiguous: bool,
}

impl Position {
    pub fn root(layout: &VolumeLayout) -> Position {
        let left = u64::from(layout.clusters);
        Position { cluster: layout.root_cluster, sector: 0, index: 0, left, contiguous: false }
    }

    pub fn start(layout: &VolumeLayout, entry: &DirectoryEntry) -> Position {
        let left = if entry.contiguous {
            layout.clusters_for(entry.bytes).min(u64::from(layout.clusters))
        } else {
            u64::from(layout.clusters)
        };
        let (cluster, contiguous) = (entry.first, entry.contiguous);
        Position { cluster, sector: 0, index: 0, left, contiguous }
    }
}

impl Cursor {
    pub fn root(layout: &VolumeLayout) -> Cursor {
        Cursor::at(layout, Position::root(layout))
    }

    pub fn at(layout: &VolumeLayout, position: Position) -> Cursor {
        Cursor { layout: *layout, position, directory: Cache::new(), fat: Cache::new() }
    }

    pub fn position(&self) -> Position {
        self.position
    }

    pub fn seek(&mut self, position: Position) {
        self.position = position;
    }

    /// The location of the current entry on the drive.
    pub fn place(&self) -> EntryLocation {
        let Position { cluster, sector, index, .. } = self.position;
        EntryLocation { sector: self.layout.sector_of(cluster) + sector, index }
    }

    /// Whether the position is inside the directory's clusters.
    pub fn exists(&self) -> bool {
        self.position.left > 0 && self.layout.has(self.position.cluster)
    }

    /// The entry at the position, in use or not; `None` after the last cluster.
    pub fn peek<D: SectorDrive>(
        &mut self,
        drive: &mut D,
    ) -> Result<Option<[u8; ENTRY]>, Error<D::Error>> {
        if !self.exists() {
            return Ok(None);
        }
        let place = self.place();
        let bytes = self.directory.get(drive, place.sector)?;
        let mut entry = [0; ENTRY];
        entry.copy_from_slice(&bytes[place.index * ENTRY..][..ENTRY]);
        Ok(Some(entry))
    }

    /// Advances to the next entry.
    pub fn advance<D: SectorDrive>(&mut self, drive: &mut D) -> Result<(), Error<D::Error>> {
        self.position.index += 1;
        if self.position.index < self.layout.sector_bytes as usize / ENTRY {
            return Ok(());
        }
        self.next_sector(drive)
    }

    /// Advances to the first entry of the next sector.
    pub fn next_sector<D: SectorDrive>(&mut self, drive: &mut D) -> Result<(), Error<D::Error>> {
        let position = &mut self.position;
        (position.index, position.sector) = (0, position.sector + 1);
        if position.sector < self.layout.cluster_sectors() {
            return Ok(());
        }
        (position.sector, position.left) = (0, position.left.saturating_sub(1));
        if position.left == 0 {
            return Ok(());
        }
        let next = if position.contiguous {
            Link::To(position.cluster.saturating_add(1))
        } else {
            self.layout.follow(drive, &mut self.fat, position.cluster)?
        };
        match next {
            Link::To(cluster) => position.cluster = cluster,
            _ => position.left = 0,
        }
        Ok(())
    }

    /// Whether a chain consists of consecutive clusters.
    pub fn is_contiguous<D: SectorDrive>(
        &mut self,
        drive: &mut D,
        first: u32,
        clusters: u64,
    ) -> Result<bool, Error<D::Error>> {
        for cluster in (u64::from(first)..).take(clusters as usize - 1) {
            let next = self.layout.follow(drive, &mut self.fat, cluster as u32)?;
            if next != Link::To(cluster as u32 + 1) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns the next file, directory or special entry.
    pub fn next<D: SectorDrive>(&mut self, drive: &mut D) -> Result<Found, Error<D::Error>> {
        while let Some(entry) = self.peek(drive)? {
            let place = self.place();
            if entry[0] == exfat::END {
                break;
            }
            if self.layout.kind == VolumeKind::Exfat && entry[0] == exfat::FILE {
                return self.set(drive, &entry, place);
            }
            self.advance(drive)?;
            let item = match self.layout.kind {
                VolumeKind::Exfat if entry[0] & exfat::IN_USE != 0 => Some(Found::Special(entry)),
                VolumeKind::Exfat => None,
                VolumeKind::Fat32 => short(&entry, place),
            };
            if let Some(item) = item {
                return Ok(item);
            }
        }
        Ok(Found::End)
    }

    /// Reads an exFAT entry set. A torn set ends before the first entry that does not belong to it.
    fn set<D: SectorDrive>(
        &mut self,
        drive: &mut D,
        file: &[u8; ENTRY],
        place: EntryLocation,
    ) -> Result<Found, Error<D::Error>> {
        self.advance(drive)?;
        let count = file[1];
        let mut sum = exfat::set_sum(file);
        let (mut stream, mut name) = ([0; ENTRY], Characters::default());
        if !(2..=18).contains(&count) {
            return Ok(Found::Torn(place));
        }
        for number in 1..=count {
            let expected = if number == 1 { exfat::STREAM } else { exfat::NAME };
            let entry = self.peek(drive)?.unwrap_or_default();
            // Benign secondary entries, such as those of vendors, can follow the name.
            let fits = entry[0] == expected || (number > 2 && entry[0] & 0xe0 == 0xe0);
            if !fits {
                return Ok(Found::Torn(place));
            }
            self.advance(drive)?;
            sum = exfat::checksum16(sum, entry.into_iter());
            match entry[0] {
                exfat::STREAM => stream = entry,
                exfat::NAME => name.add(&entry),
                _ => {}
            }
        }
        let (flags, first, valid, bytes) = exfat::stream(&stream);
        let length = usize::from(stream[3]);
        if sum != u16_at(file, 2) || length == 0 || length > name.count {
            return Ok(Found::Torn(place));
        }
        let name = name.first(length);
        if name.is_some_and(|name| exfat::name_hash(&name) != u16_at(&stream, 4)) {
            return Ok(Found::Torn(place));
        }
        let directory = exfat::attributes(file) & exfat::DIRECTORY != 0;
        let contiguous = flags & exfat::NO_CHAIN != 0;
        Ok(Found::Entry(DirectoryEntry { name, directory, first, bytes, valid, contiguous, place }))
    }
}

/// The characters of a name, as far as needed for a [`Name`].
#[derive(Default)]
struct Characters {
    bytes: [u8; 15],
    /// Number of characters that the name entries have room for, stored here or not.
    count: usize,
}

impl Characters {
    fn add(&mut self, entry: &[u8; ENTRY]) {
        if self.count == 0 {
            for (i, byte) in self.bytes.iter_mut().enumerate() {
                *byte = u8::try_from(u16_at(entry, 2 + 2 * i)).unwrap_or(0);
            }
        }
        self.count += self.bytes.len();
    }

    fn first(&self, length: usize) -> Option<Name> {
        Name::of_dotted(self.bytes.get(..length)?)
    }
}

/// Converts a FAT32 entry, if it is a file, directory or label.
fn short(entry: &[u8; ENTRY], place: EntryLocation) -> Option<Found> {
    let attributes = entry[11];
    if entry[0] == fat32::DELETED || entry[0] == b'.' || attributes & 0x3f == fat32::LONG_NAME {
        return None;
    }
    if attributes & fat32::VOLUME != 0 {
        return Some(Found::Special(*entry));
    }
    let mut padded = [b' '; 11];
    padded.copy_from_slice(&entry[..11]);
    let name = Name::from_padded(padded);
    let (characters, length) = name.dotted();
    let name = Name::of_dotted(&characters[..length]);
    let (first, bytes) = fat32::place(entry);
    let (bytes, valid) = (u64::from(bytes), u64::from(bytes));
    let directory = attributes & fat32::DIRECTORY != 0;
    Some(Found::Entry(DirectoryEntry {
        name,
        directory,
        first,
        bytes,
        valid,
        contiguous: false,
        place,
    }))
}

/// First cluster of a bitmap or an up-case table, and its size in bytes.
pub(crate) fn special_place(entry: &[u8; ENTRY]) -> (u32, u64) {
    (u32_at(entry, 20), u64_at(entry, 24))
}
