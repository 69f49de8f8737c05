//! The allocation table, a bitmap or a FAT, as needed by a recorder: one run of free clusters,
//! allocated from the front.
//!
//! The two table sectors at the ends of the run are kept in memory, and all clusters between them
//! are known to be free, so an allocation writes without reading.

use core::ops::Range;

use crate::bytes::{put_u32, u32_at};
use crate::directory::{Cursor, Found, special_place};
use crate::drive::{Error, SECTOR_BYTES_MAX, SectorDrive};
use crate::exfat;
use crate::fat32::LAST;
use crate::layout::{FIRST_CLUSTER, Link, VolumeKind, VolumeLayout};

type Sector = [u8; SECTOR_BYTES_MAX];

#[derive(Clone)]
pub(crate) struct Table {
    layout: VolumeLayout,
    /// First sector of the table; the second FAT follows after `layout.fat_sectors`.
    start: u64,
    /// Number of clusters that a sector describes.
    per_sector: u64,
    /// The free run.
    run: Range<u32>,
    /// Number of free clusters, inside and outside the run.
    free: u32,
    /// The table sectors of the run's first cluster and of its last.
    head: (u64, Sector),
    tail: (u64, Sector),
}

impl Table {
    /// Opens the table and finds the longest free run.
    pub fn open<D: SectorDrive>(
        drive: &mut D,
        layout: &VolumeLayout,
        room: &mut [u8],
    ) -> Result<Table, Error<D::Error>> {
        let size = u64::from(layout.sector_bytes);
        let (start, per_sector) = match layout.kind {
            VolumeKind::Exfat => (layout.sector_of(bitmap_cluster(drive, layout)?), size * 8),
            VolumeKind::Fat32 => (layout.fat_sector, size / 4),
        };
        let empty = [0; SECTOR_BYTES_MAX];
        let mut table = Table {
            layout: *layout,
            start,
            per_sector,
            run: 0..0,
            free: 0,
            head: (0, empty),
            tail: (0, empty),
        };
        table.scan(drive, room)?;
        if !table.run.is_empty() {
            let (first, last) = (table.run.start, table.run.end - 1);
            table.head = table.read(drive, first)?;
            table.tail = table.read(drive, last)?;
        }
        Ok(table)
    }

    /// Number of free clusters on the volume.
    pub fn free(&self) -> u32 {
        self.free
    }

    /// Number of clusters left in the run.
    pub fn left(&self) -> u32 {
        self.run.end - self.run.start
    }

    /// Allocates up to `clusters` from the run, and submits the table sectors. The caller must
    /// flush before anything refers to the clusters.
    pub fn claim<D: SectorDrive>(
        &mut self,
        drive: &mut D,
        clusters: u32,
        room: &mut [u8],
    ) -> Result<Range<u32>, Error<D::Error>> {
        let claim = self.run.start..self.run.start + clusters.min(self.left());
        if claim.is_empty() {
            return Err(Error::Full);
        }
        for copy in 0..self.copies() {
            self.write_claim(drive, &claim, copy, room)?;
        }
        let (sector, _) = self.place(claim.end - 1);
        let mut last = [0; SECTOR_BYTES_MAX];
        let size = self.layout.sector_bytes as usize;
        self.compose(sector, &claim, &mut last[..size]);
        if let Some(next) = Some(claim.end).filter(|next| *next < self.run.end) {
            // The sector of the next free cluster is the same, or one without allocations from the
            // run.
            let (next_sector, _) = self.place(next);
            if next_sector != sector {
                last.fill(0);
                self.compose(next_sector, &claim, &mut last[..size]);
            }
            self.head = (next_sector, last);
        }
        (self.run.start, self.free) = (claim.end, self.free - (claim.end - claim.start));
        Ok(claim)
    }

    fn write_claim<D: SectorDrive>(
        &self,
        drive: &mut D,
        taken: &Range<u32>,
        copy: u64,
        room: &mut [u8],
    ) -> Result<(), Error<D::Error>> {
        let size = self.layout.sector_bytes as usize;
        let most = (room.len() / size) as u64;
        if most == 0 {
            return Err(Error::Room);
        }
        let (mut sector, end) = (self.place(taken.start).0, self.place(taken.end - 1).0 + 1);
        while sector < end {
            let count = most.min(end - sector);
            let piece = &mut room[..count as usize * size];
            for (bytes, number) in piece.chunks_exact_mut(size).zip(sector..) {
                self.compose(number, taken, bytes);
            }
            drive.submit(self.at(sector, copy), piece).map_err(Error::Drive)?;
            sector += count;
        }
        Ok(())
    }

    /// Frees the end of an allocation: the clusters in `gone`, which follow `kept` remaining ones.
    /// The directory must no longer refer to them.
    pub fn release<D: SectorDrive>(
        &mut self,
        drive: &mut D,
        gone: Range<u32>,
        kept: u32,
    ) -> Result<(), Error<D::Error>> {
        let mut cluster = gone.start;
        // End the chain before freeing the clusters after it.
        if self.layout.kind == VolumeKind::Fat32 && kept > 0 {
            cluster -= 1;
        }
        let mut first = true;
        while cluster < gone.end {
            let (sector, index) = self.place(cluster);
            let count = (self.per_sector - index).min(u64::from(gone.end - cluster)) as u32;
            let (_, mut bytes) = self.read(drive, cluster)?;
            let bytes = &mut bytes[..self.layout.sector_bytes as usize];
            for cluster in cluster..cluster + count {
                self.set(bytes, cluster, if cluster < gone.start { LAST } else { 0 });
            }
            for copy in 0..self.copies() {
                drive.submit(self.at(sector, copy), bytes).map_err(Error::Drive)?;
            }
            if first {
                drive.flush().map_err(Error::Drive)?;
            }
            (cluster, first) = (cluster + count, false);
        }
        self.free += gone.end - gone.start;
        if gone.end == self.run.start && !gone.is_empty() {
            self.run.start = gone.start;
            self.head = self.read(drive, gone.start)?;
            self.tail = self.read(drive, self.run.end - 1)?;
        }
        Ok(())
    }

    fn copies(&self) -> u64 {
        match self.layout.kind {
            VolumeKind::Exfat => 1,
            VolumeKind::Fat32 => u64::from(self.layout.fats),
        }
    }

    /// Drive sector of table sector `number`.
    fn at(&self, number: u64, copy: u64) -> u64 {
        self.start + number + copy * self.layout.fat_sectors
    }

    /// Table sector of a cluster, and its index within that sector.
    fn place(&self, cluster: u32) -> (u64, u64) {
        let entry = match self.layout.kind {
            VolumeKind::Exfat => u64::from(cluster.saturating_sub(FIRST_CLUSTER)),
            VolumeKind::Fat32 => u64::from(cluster),
        };
        (entry / self.per_sector, entry % self.per_sector)
    }

    fn read<D: SectorDrive>(
        &self,
        drive: &mut D,
        cluster: u32,
    ) -> Result<(u64, Sector), Error<D::Error>> {
        let (sector, _) = self.place(cluster);
        let mut bytes = [0; SECTOR_BYTES_MAX];
        let room = &mut bytes[..self.layout.sector_bytes as usize];
        drive.read(self.at(sector, 0), room).map_err(Error::Drive)?;
        Ok((sector, bytes))
    }

    /// Composes a table sector with `taken` allocated.
    fn compose(&self, sector: u64, taken: &Range<u32>, bytes: &mut [u8]) {
        let size = bytes.len();
        match sector {
            s if s == self.head.0 => bytes.copy_from_slice(&self.head.1[..size]),
            s if s == self.tail.0 => bytes.copy_from_slice(&self.tail.1[..size]),
            _ => bytes.fill(0),
        }
        let offset = match self.layout.kind {
            VolumeKind::Exfat => u64::from(FIRST_CLUSTER),
            VolumeKind::Fat32 => 0,
        };
        let first = (sector * self.per_sector + offset).max(u64::from(taken.start));
        let end = ((sector + 1) * self.per_sector + offset).min(u64::from(taken.end));
        for cluster in first..end {
            let cluster = cluster as u32;
            let next = if cluster + 1 == taken.end { LAST } else { cluster + 1 };
            self.set(bytes, cluster, next);
        }
    }

    /// Sets an entry: 0 is free, any other value is allocated.
    fn set(&self, bytes: &mut [u8], cluster: u32, value: u32) {
        let (_, index) = self.place(cluster);
        match self.layout.kind {
            VolumeKind::Fat32 => put_u32(bytes, index as usize * 4, value),
            VolumeKind::Exfat => {
                let Some(byte) = bytes.get_mut(index as usize / 8) else { return };
                let mask = 1 << (index % 8);
                *byte = if value == 0 { *byte & !mask } else { *byte | mask };
            }
        }
    }

    fn scan<D: SectorDrive>(
        &mut self,
        drive: &mut D,
        room: &mut [u8],
    ) -> Result<(), Error<D::Error>> {
        let size = self.layout.sector_bytes as usize;
        let most = (room.len() / size) as u64;
        if most == 0 {
            return Err(Error::Room);
        }
        let (mut cluster, last) = (FIRST_CLUSTER, self.layout.last_cluster());
        let mut run = cluster..cluster;
        while cluster <= last {
            let (sector, mut index) = self.place(cluster);
            let count = most.min(self.place(last).0 + 1 - sector);
            let piece = &mut room[..count as usize * size];
            drive.read(self.at(sector, 0), piece).map_err(Error::Drive)?;
            while index < count * self.per_sector && cluster <= last {
                if self.is_free(piece, index) {
                    self.free += 1;
                    run.end = cluster + 1;
                } else {
                    run = cluster + 1..cluster + 1;
                }
                if run.len() > self.run.len() {
                    self.run = run.clone();
                }
                (index, cluster) = (index + 1, cluster + 1);
            }
        }
        Ok(())
    }

    fn is_free(&self, piece: &[u8], index: u64) -> bool {
        match self.layout.kind {
            VolumeKind::Exfat => piece[index as usize / 8] >> (index % 8) & 1 == 0,
            VolumeKind::Fat32 => self.layout.link(u32_at(piece, index as usize * 4)) == Link::Free,
        }
    }
}

/// The first cluster of the bitmap, which must be contiguous.
fn bitmap_cluster<D: SectorDrive>(
    drive: &mut D,
    layout: &VolumeLayout,
) -> Result<u32, Error<D::Error>> {
    let mut cursor = Cursor::root(layout);
    loop {
        match cursor.next(drive)? {
            Found::End => return Err(Error::Volume("no allocation bitmap")),
            Found::Special(entry) if entry[0] == exfat::BITMAP => {
                let (first, bytes) = special_place(&entry);
                let clusters = layout.clusters_for(bytes).max(1);
                let end = u64::from(first) + clusters;
                let whole = bytes >= u64::from(layout.clusters).div_ceil(8);
                if !whole || !layout.has(first) || end > u64::from(layout.last_cluster()) + 1 {
                    return Err(Error::Volume("the allocation bitmap is damaged"));
                }
                return if cursor.is_contiguous(drive, first, clusters)? {
                    Ok(first)
                } else {
                    Err(Error::Volume("the allocation bitmap is fragmented"))
                };
            }
            _ => {}
        }
    }
}
