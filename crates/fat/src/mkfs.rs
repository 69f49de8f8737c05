//! Makes a file system. The boot sectors are written last, so a power cut leaves no volume rather
//! than an incomplete one.

use crate::bytes::put_u32;
use crate::drive::{Error, SECTOR_BYTES_MAX, SectorDrive};
use crate::layout::{
    EXFAT_CLUSTERS_MAX, FAT32_CLUSTERS_LEAST, FAT32_CLUSTERS_MOST, FIRST_CLUSTER, VolumeKind,
    VolumeLayout,
};
use crate::{exfat, fat32};

/// Parameters of a new file system.
#[derive(Clone, Copy, Debug)]
pub struct FormatParameters<'a> {
    /// The file system.
    pub kind: VolumeKind,
    /// Cluster size in bytes: a power of two of at least the sector size, up to 32 MiB on exFAT and
    /// 128 sectors on FAT32.
    pub cluster_bytes: u32,
    /// Label, up to 11 characters.
    pub label: &'a str,
    /// Serial number.
    pub serial: u32,
    /// Size in bytes of the root directory, which does not grow later. Five recordings take 512
    /// bytes on exFAT.
    pub root_bytes: u32,
    /// Number of sectors before this volume; 0 without a partition table.
    pub offset_sectors: u64,
}

impl FormatParameters<'_> {
    /// Parameters with a root directory for 1,280 recordings.
    pub const fn new(kind: VolumeKind, cluster_bytes: u32) -> FormatParameters<'static> {
        let (label, serial, root_bytes) = ("RECORDER", 0x5d1a_0001, 128 << 10);
        FormatParameters { kind, cluster_bytes, label, serial, root_bytes, offset_sectors: 0 }
    }

    /// Checks whether [`mkfs`] would accept a drive of this size, without accessing one. The error
    /// states why not.
    pub fn fits(&self, sector_bytes: u32, sectors: u64) -> Result<(), &'static str> {
        plan(sector_bytes, sectors, self).map(drop)
    }

    /// The smallest and the largest cluster size, in bytes, that fit a drive of this size.
    pub fn cluster_bytes_range(&self, sector_bytes: u32, sectors: u64) -> Option<(u32, u32)> {
        let mut fitting = (9..=25)
            .map(|bits| FormatParameters { cluster_bytes: 1 << bits, ..*self })
            .filter(|format| format.fits(sector_bytes, sectors).is_ok());
        let least = fitting.next()?.cluster_bytes;
        Some((least, fitting.next_back().map_or(least, |format| format.cluster_bytes)))
    }
}

/// The cluster heap is aligned to this, like erase blocks and partitions, on drives of at least
/// [`LARGE`] bytes, and to 64 KiB on smaller ones. On exFAT, the FAT is aligned likewise.
const ALIGN: u64 = 1 << 20;
const LARGE: u64 = 256 << 20;
const ALIGN_SMALL: u64 = 64 << 10;

/// Makes a file system on a whole drive. `room` is the write buffer, at least one sector long; a
/// larger buffer gives longer writes.
pub fn mkfs<D: SectorDrive>(
    drive: &mut D,
    format: &FormatParameters<'_>,
    room: &mut [u8],
) -> Result<VolumeLayout, Error<D::Error>> {
    let size = drive.sector_bytes() as usize;
    if room.len() < size || size > SECTOR_BYTES_MAX {
        return Err(Error::Room);
    }
    let layout = plan(drive.sector_bytes(), drive.sectors(), format).map_err(Error::Geometry)?;
    let mut writer = Writer { drive, room, size };
    // Clear the boot sector, so there is no volume until the new one is complete.
    writer.region(0, 1, |_, _| {})?;
    writer.drive.flush().map_err(Error::Drive)?;
    match format.kind {
        VolumeKind::Exfat => make_exfat(&mut writer, &layout, format)?,
        VolumeKind::Fat32 => make_fat32(&mut writer, &layout, format)?,
    }
    Ok(layout)
}

/// Plans the layout of a volume.
fn plan(
    sector_bytes: u32,
    sectors: u64,
    format: &FormatParameters<'_>,
) -> Result<VolumeLayout, &'static str> {
    let (size, cluster) = (u64::from(sector_bytes), u64::from(format.cluster_bytes));
    let most = match format.kind {
        VolumeKind::Exfat => 32 << 20,
        VolumeKind::Fat32 => 128 * size,
    };
    if !cluster.is_power_of_two() || !(size..=most).contains(&cluster) {
        return Err("the cluster size is not a power of two within this file system's range");
    }
    if format.kind == VolumeKind::Fat32 && sectors > u64::from(u32::MAX) {
        return Err("FAT32 has 32-bit sector numbers: at most 2 TiB with 512-byte sectors");
    }
    let align = if sectors * size >= LARGE { ALIGN } else { ALIGN_SMALL };
    let (per_align, per_cluster) = (align / size, cluster / size);
    let heap_align = per_align.max(per_cluster);
    let copies: u64 = if format.kind == VolumeKind::Fat32 { 2 } else { 1 };
    let entries = sectors / per_cluster + 2;
    let fat_sectors = (entries * 4).div_ceil(size);
    let (fat_sector, heap_sector) = match format.kind {
        VolumeKind::Exfat => {
            let fat = (2 * exfat::BOOT_SECTORS).next_multiple_of(per_align);
            (fat, (fat + fat_sectors).next_multiple_of(heap_align))
        }
        // FAT32 allows no gap between its FATs and the clusters: the reserved sectors are the
        // padding.
        VolumeKind::Fat32 => {
            let heap = (fat32::RESERVED + copies * fat_sectors).next_multiple_of(per_align);
            (heap - copies * fat_sectors, heap)
        }
    };
    let clusters = sectors.saturating_sub(heap_sector) / per_cluster;
    let (least, most) = match format.kind {
        VolumeKind::Exfat => (8, EXFAT_CLUSTERS_MAX),
        VolumeKind::Fat32 => (FAT32_CLUSTERS_LEAST, FAT32_CLUSTERS_MOST),
    };
    if fat_sector > u64::from(u16::MAX) && format.kind == VolumeKind::Fat32 {
        return Err("the clusters cannot be aligned");
    }
    match clusters {
        few if few < u64::from(least) => return Err("the drive is too small for these clusters"),
        many if many > u64::from(most) => return Err("the clusters are too small for the drive"),
        _ => {}
    }
    let mut layout = VolumeLayout {
        kind: format.kind,
        sector_bytes,
        cluster_bytes: format.cluster_bytes,
        sectors,
        fat_sector,
        fat_sectors,
        fats: copies as u32,
        heap_sector,
        clusters: clusters as u32,
        root_cluster: FIRST_CLUSTER,
    };
    if format.kind == VolumeKind::Exfat {
        layout.root_cluster += bitmap_clusters(&layout) + 1;
    }
    let used = layout.root_cluster - FIRST_CLUSTER + root_clusters(&layout, format);
    if used > layout.clusters {
        return Err("the drive is too small for the file system's own tables");
    }
    Ok(layout)
}

fn bitmap_bytes(layout: &VolumeLayout) -> u64 {
    u64::from(layout.clusters).div_ceil(8)
}

fn bitmap_clusters(layout: &VolumeLayout) -> u32 {
    layout.clusters_for(bitmap_bytes(layout)) as u32
}

fn root_clusters(layout: &VolumeLayout, format: &FormatParameters<'_>) -> u32 {
    layout.clusters_for(u64::from(format.root_bytes.max(1))) as u32
}

/// Writes regions piece by piece.
struct Writer<'d, D: SectorDrive> {
    drive: &'d mut D,
    room: &'d mut [u8],
    size: usize,
}

impl<D: SectorDrive> Writer<'_, D> {
    /// Writes sectors in pieces. Each piece is zeroed, then passed to `fill` with its byte offset
    /// in the region.
    fn region(
        &mut self,
        sector: u64,
        sectors: u64,
        mut fill: impl FnMut(u64, &mut [u8]),
    ) -> Result<(), Error<D::Error>> {
        let most = (self.room.len() / self.size) as u64;
        let mut count_written = 0;
        while count_written < sectors {
            let count = most.min(sectors - count_written);
            let piece = &mut self.room[..count as usize * self.size];
            piece.fill(0);
            fill(count_written * self.size as u64, piece);
            self.drive.submit(sector + count_written, piece).map_err(Error::Drive)?;
            count_written += count;
        }
        Ok(())
    }

    /// Writes `bytes`, padded with zeros to the size of the region.
    fn bytes(&mut self, sector: u64, sectors: u64, bytes: &[u8]) -> Result<(), Error<D::Error>> {
        self.region(sector, sectors, |at, piece| {
            let start = (at as usize).min(bytes.len());
            let count = piece.len().min(bytes.len() - start);
            piece[..count].copy_from_slice(&bytes[start..start + count]);
        })
    }

    /// Writes a FAT with contiguous chains in the clusters below `used`. `last` returns whether a
    /// cluster ends its chain.
    fn fat(
        &mut self,
        layout: &VolumeLayout,
        sector: u64,
        used: u32,
        (media, end): (u32, u32),
        last: impl Fn(u32) -> bool,
    ) -> Result<(), Error<D::Error>> {
        self.region(sector, layout.fat_sectors, |at, piece| {
            let first = (at / 4) as u32;
            for (entry, cluster) in piece.chunks_exact_mut(4).zip(first..used) {
                let value = match cluster {
                    0 => media,
                    1 => end,
                    _ if last(cluster) => end,
                    _ => cluster + 1,
                };
                put_u32(entry, 0, value);
            }
        })
    }
}

fn make_exfat<D: SectorDrive>(
    writer: &mut Writer<'_, D>,
    layout: &VolumeLayout,
    format: &FormatParameters<'_>,
) -> Result<(), Error<D::Error>> {
    let (per_cluster, bitmap) = (layout.cluster_sectors(), bitmap_clusters(layout));
    let upcase = FIRST_CLUSTER + bitmap;
    let used = layout.root_cluster + root_clusters(layout, format);
    let ends = [upcase - 1, upcase, used - 1];
    let entries = (0xffff_fff8, u32::MAX);
    writer.fat(layout, layout.fat_sector, used, entries, |cluster| ends.contains(&cluster))?;
    writer.region(
        layout.sector_of(FIRST_CLUSTER),
        u64::from(bitmap) * per_cluster,
        |at, piece| {
            let used_clusters = u64::from(used - FIRST_CLUSTER);
            for (byte, first) in piece.iter_mut().zip((at * 8..used_clusters).step_by(8)) {
                let count = (used_clusters - first).min(8);
                *byte = ((1u16 << count) - 1) as u8;
            }
        },
    )?;
    writer.bytes(layout.sector_of(upcase), per_cluster, &exfat::upcase_table())?;
    let entries = exfat::root_entries(format.label, (FIRST_CLUSTER, bitmap_bytes(layout)), upcase);
    let root = u64::from(root_clusters(layout, format)) * per_cluster;
    writer.bytes(layout.sector_of(layout.root_cluster), root, &entries)?;
    writer.drive.flush().map_err(Error::Drive)?;
    for region in [exfat::BOOT_SECTORS, 0] {
        boot_region(writer, layout, format, region)?;
        writer.drive.flush().map_err(Error::Drive)?;
    }
    Ok(())
}

fn boot_region<D: SectorDrive>(
    writer: &mut Writer<'_, D>,
    layout: &VolumeLayout,
    format: &FormatParameters<'_>,
    start: u64,
) -> Result<(), Error<D::Error>> {
    let mut sector = [0; SECTOR_BYTES_MAX];
    let sector = &mut sector[..writer.size];
    let mut sum = 0;
    for number in 0..exfat::BOOT_SECTORS {
        if number == exfat::CHECKSUM_SECTOR {
            sector.chunks_exact_mut(4).for_each(|word| put_u32(word, 0, sum));
        } else {
            exfat::boot_sector(layout, number, format.serial, format.offset_sectors, sector);
            sum = exfat::boot_sum(sum, number, sector);
        }
        writer.bytes(start + number, 1, sector)?;
    }
    Ok(())
}

fn make_fat32<D: SectorDrive>(
    writer: &mut Writer<'_, D>,
    layout: &VolumeLayout,
    format: &FormatParameters<'_>,
) -> Result<(), Error<D::Error>> {
    let root = root_clusters(layout, format);
    let used = layout.root_cluster + root;
    for copy in 0..u64::from(layout.fats) {
        let sector = layout.fat_sector + copy * layout.fat_sectors;
        let entries = (0x0fff_fff8, fat32::LAST);
        writer.fat(layout, sector, used, entries, |cluster| cluster == used - 1)?;
    }
    let entry = fat32::label_entry(format.label);
    let sectors = u64::from(root) * layout.cluster_sectors();
    writer.bytes(layout.sector_of(layout.root_cluster), sectors, &entry)?;
    writer.region(1, layout.fat_sector.min(fat32::RESERVED) - 1, |_, _| {})?;
    writer.drive.flush().map_err(Error::Drive)?;
    let mut sector = [0; SECTOR_BYTES_MAX];
    let sector = &mut sector[..writer.size];
    for start in [fat32::BACKUP_SECTOR, 0] {
        fat32::info_sector(layout.clusters - root, used, sector);
        writer.bytes(start + fat32::INFO_SECTOR, 1, sector)?;
        fat32::boot_sector(layout, format.serial, format.offset_sectors, format.label, sector);
        writer.bytes(start, 1, sector)?;
        writer.drive.flush().map_err(Error::Drive)?;
    }
    Ok(())
}
