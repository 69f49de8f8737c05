//! The checker: reports every inconsistency of a volume and repairs none.
//!
//! It is stricter than fsck: `fsck.exfat` 1.2.0 accepts allocated clusters that belong to no file,
//! allocation past the end of a file, the dirty flag, and a valid length below the size. The caller
//! supplies a buffer with one bit per cluster.

mod exfat;
mod fat32;

use crate::cache::Cache;
use crate::directory::{Cursor, DirectoryEntry, Found, Position};
use crate::drive::{Error, SectorDrive};
use crate::exfat::bit;
use crate::layout::{FIRST_CLUSTER, Link, VolumeKind, VolumeLayout};

/// An inconsistency. Clusters and sectors are numbered within the volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Problem {
    /// The volume was not cleanly unmounted.
    Dirty,
    /// The drive reported errors to the last writer.
    MediaFailed,
    /// A boot region or its copy does not match its checksum.
    BootChecksum {
        /// First sector of the region.
        sector: u64,
    },
    /// The boot region differs from its copy.
    BackupDiffers,
    /// The bitmap is missing, or its size does not match the number of clusters.
    Bitmap,
    /// The up-case table is missing or damaged.
    Upcase,
    /// An entry set is torn: it does not match its own checksum or count.
    TornSet {
        /// Sector of the set's first entry.
        sector: u64,
    },
    /// A file has no valid first cluster, or its chain ends early or leaves the volume.
    BadChain {
        /// The first cluster of the file.
        first: u32,
    },
    /// A cluster belongs to two files.
    Shared {
        /// The cluster.
        cluster: u32,
    },
    /// A file uses clusters that the bitmap marks as free.
    NotAllocated {
        /// The first cluster of the file.
        first: u32,
        /// Clusters.
        count: u64,
    },
    /// The valid length of a file is larger than its size.
    ValidOverSize {
        /// The first cluster of the file.
        first: u32,
    },
    /// The valid length of a file is smaller than its size: the rest was never written.
    ValidBelowSize {
        /// The first cluster of the file.
        first: u32,
        /// Number of bytes never written.
        bytes: u64,
    },
    /// More clusters are allocated than the file's size requires, in its chain or in the bitmap
    /// right after the file.
    LongerThanFile {
        /// The first excess cluster.
        cluster: u32,
        /// Clusters.
        count: u64,
    },
    /// Allocated clusters belong to no file.
    Lost {
        /// The first of these clusters.
        cluster: u32,
        /// Number of contiguous clusters.
        count: u64,
    },
    /// Bits of the bitmap past the last cluster are set.
    BitsBehindEnd,
    /// The stated percentage of used clusters, or number of free clusters, is wrong.
    StaleCount {
        /// The stated value.
        stated: u32,
        /// The counted value.
        counted: u32,
    },
    /// The copies of the FAT differ.
    FatsDiffer {
        /// The first sector that differs, counted from the start of the FAT.
        sector: u64,
    },
    /// Directories are nested more deeply than can be checked.
    TooDeep,
}

/// Buffer size in bytes that [`check`] requires.
pub fn check_room(layout: &VolumeLayout) -> usize {
    (u64::from(layout.clusters).div_ceil(8)) as usize
}

/// Maximum nesting of directories.
const DEPTH: usize = 16;

/// Checks a volume and calls `report` for each problem. `room` must have at least [`check_room`]
/// bytes.
pub fn check<D: SectorDrive>(
    drive: &mut D,
    room: &mut [u8],
    report: &mut dyn FnMut(Problem),
) -> Result<VolumeLayout, Error<D::Error>> {
    let layout = VolumeLayout::read(drive)?;
    let used = room.get_mut(..check_room(&layout)).ok_or(Error::Room)?;
    used.fill(0);
    let mut check =
        Check { layout, used, report, fat: Cache::new(), table: Cache::new(), bitmap_sector: None };
    match layout.kind {
        VolumeKind::Exfat => check.exfat(drive)?,
        VolumeKind::Fat32 => check.fat32(drive)?,
    }
    Ok(layout)
}

struct Check<'r> {
    layout: VolumeLayout,
    /// One bit per cluster, set if it belongs to a file or directory.
    used: &'r mut [u8],
    report: &'r mut dyn FnMut(Problem),
    fat: Cache,
    /// Cached sector of the bitmap.
    table: Cache,
    /// First sector of the bitmap.
    bitmap_sector: Option<u64>,
}

impl Check<'_> {
    fn report(&mut self, problem: Problem) {
        (self.report)(problem);
    }

    fn is_used(&self, cluster: u32) -> bool {
        let (byte, mask) = bit(cluster);
        self.used.get(byte as usize).is_some_and(|b| b & mask != 0)
    }

    /// Marks a cluster as used. Reports it and returns false if it is already used.
    fn take(&mut self, cluster: u32) -> bool {
        let (byte, mask) = bit(cluster);
        let shared = self.is_used(cluster);
        if let Some(byte) = self.used.get_mut(byte as usize) {
            *byte |= mask;
        }
        if shared {
            self.report(Problem::Shared { cluster });
        }
        !shared
    }

    /// Visits every directory. Passes the root directory's `Special` entries to `special`.
    fn walk<D: SectorDrive>(
        &mut self,
        drive: &mut D,
        mut special: impl FnMut(&mut Self, &mut D, &[u8; 32]) -> Result<(), Error<D::Error>>,
    ) -> Result<(), Error<D::Error>> {
        let mut cursor = Cursor::root(&self.layout);
        let mut parents = [None::<Position>; DEPTH];
        let mut depth = 0;
        loop {
            match cursor.next(drive)? {
                Found::End if depth == 0 => return Ok(()),
                Found::End => {
                    depth -= 1;
                    parents[depth].into_iter().for_each(|position| cursor.seek(position));
                }
                Found::Torn(place) => self.report(Problem::TornSet { sector: place.sector }),
                Found::Special(entry) if depth == 0 => special(self, drive, &entry)?,
                Found::Special(_) => {}
                Found::Entry(entry) => {
                    let whole = self.file(drive, &entry)?;
                    if !entry.directory || !whole {
                        continue;
                    }
                    if depth == DEPTH {
                        self.report(Problem::TooDeep);
                        continue;
                    }
                    (parents[depth], depth) = (Some(cursor.position()), depth + 1);
                    cursor.seek(Position::start(&self.layout, &entry));
                }
            }
        }
    }

    /// Checks the clusters of a file or directory. Returns false if it has none, or bad or shared
    /// ones.
    fn file<D: SectorDrive>(
        &mut self,
        drive: &mut D,
        entry: &DirectoryEntry,
    ) -> Result<bool, Error<D::Error>> {
        let first = entry.first;
        if entry.valid > entry.bytes {
            self.report(Problem::ValidOverSize { first });
        } else if entry.valid < entry.bytes {
            let bytes = entry.bytes - entry.valid;
            self.report(Problem::ValidBelowSize { first, bytes });
        }
        let clusters = self.layout.clusters_for(entry.bytes);
        // A FAT32 directory has no size field; its chain determines the size.
        let open_end = entry.directory && self.layout.kind == VolumeKind::Fat32;
        if first == 0 && clusters == 0 && !open_end {
            return Ok(false);
        }
        let end = u64::from(first) + clusters;
        let inside = end <= u64::from(self.layout.last_cluster()) + 1;
        if !self.layout.has(first) || (entry.contiguous && !inside) {
            self.report(Problem::BadChain { first });
            return Ok(false);
        }
        if entry.contiguous {
            self.run(drive, first, clusters)
        } else {
            self.chain(drive, first, (!open_end).then_some(clusters))
        }
    }

    /// Checks a run of clusters. Returns false if any of them is shared.
    fn run<D: SectorDrive>(
        &mut self,
        drive: &mut D,
        first: u32,
        count: u64,
    ) -> Result<bool, Error<D::Error>> {
        let (mut is_exclusive, mut free) = (true, 0);
        for cluster in (u64::from(first)..).take(count as usize) {
            is_exclusive &= self.take(cluster as u32);
            free += u64::from(!self.is_allocated(drive, cluster as u32)?);
        }
        if free > 0 {
            self.report(Problem::NotAllocated { first, count: free });
        }
        Ok(is_exclusive)
    }

    /// Checks a chain of clusters and compares its length with `needed`. Returns false if the chain
    /// is broken or shared.
    fn chain<D: SectorDrive>(
        &mut self,
        drive: &mut D,
        first: u32,
        needed: Option<u64>,
    ) -> Result<bool, Error<D::Error>> {
        let (mut cluster, mut count, mut free) = (first, 0, 0);
        let mut surplus = None;
        let is_exclusive = loop {
            if !self.take(cluster) {
                break false;
            }
            if needed == Some(count) {
                surplus = Some(cluster);
            }
            count += 1;
            free += u64::from(!self.is_allocated(drive, cluster)?);
            match self.layout.follow(drive, &mut self.fat, cluster)? {
                Link::To(next) => cluster = next,
                Link::Last => break true,
                Link::Free | Link::Bad => {
                    self.report(Problem::BadChain { first });
                    break false;
                }
            }
        };
        if free > 0 {
            self.report(Problem::NotAllocated { first, count: free });
        }
        match (surplus, needed) {
            (Some(cluster), Some(needed)) => {
                self.report(Problem::LongerThanFile { cluster, count: count - needed });
            }
            (None, Some(needed)) if is_exclusive && count < needed => {
                self.report(Problem::BadChain { first });
            }
            _ => {}
        }
        Ok(is_exclusive)
    }

    /// Whether the bitmap marks a cluster as allocated. On FAT32, the chain itself does.
    fn is_allocated<D: SectorDrive>(
        &mut self,
        drive: &mut D,
        cluster: u32,
    ) -> Result<bool, Error<D::Error>> {
        let Some(start) = self.bitmap_sector else { return Ok(true) };
        let (byte, mask) = bit(cluster);
        let size = u64::from(self.layout.sector_bytes);
        let sector = self.table.get(drive, start + byte / size)?;
        Ok(sector[(byte % size) as usize] & mask != 0)
    }

    /// Reports runs of allocated clusters that belong to no file. Returns the number of allocated
    /// clusters.
    fn lost<D: SectorDrive>(
        &mut self,
        drive: &mut D,
        mut allocated: impl FnMut(&mut Self, &mut D, u32) -> Result<bool, Error<D::Error>>,
    ) -> Result<u32, Error<D::Error>> {
        let (mut run, mut total) = (None::<(u32, u64)>, 0);
        for cluster in FIRST_CLUSTER..=self.layout.last_cluster() {
            let is_allocated = allocated(self, drive, cluster)?;
            total += u32::from(is_allocated);
            let is_lost = is_allocated && !self.is_used(cluster);
            run = match (run, is_lost) {
                (Some((first, count)), true) => Some((first, count + 1)),
                (None, true) => Some((cluster, 1)),
                (ended, false) => {
                    self.report_lost(ended);
                    None
                }
            };
        }
        self.report_lost(run);
        Ok(total)
    }

    fn report_lost(&mut self, run: Option<(u32, u64)>) {
        let Some((cluster, count)) = run else { return };
        // Lost clusters right after a file are excess clusters of a file without a chain.
        let after_file = cluster > FIRST_CLUSTER && self.is_used(cluster - 1);
        self.report(match self.layout.kind {
            VolumeKind::Exfat if after_file => Problem::LongerThanFile { cluster, count },
            _ => Problem::Lost { cluster, count },
        });
    }
}
