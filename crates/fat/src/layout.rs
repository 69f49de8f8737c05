//! The geometry of a file system, read from its boot sector and checked against the drive.

use crate::bytes::{u16_at, u32_at, u64_at};
use crate::cache::Cache;
use crate::drive::{Error, SECTOR_BYTES_MAX, SectorDrive};

/// A supported file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VolumeKind {
    /// exFAT: a bitmap of clusters, files of any size without a chain.
    Exfat,
    /// FAT32: files of less than 4 GiB, each with a chain.
    Fat32,
}

/// The number of the first cluster.
pub(crate) const FIRST_CLUSTER: u32 = 2;

/// Minimum number of clusters of a FAT32 volume; with fewer, it would be read as FAT16.
pub(crate) const FAT32_CLUSTERS_LEAST: u32 = 65_525;

/// Maximum number of clusters of each kind.
pub(crate) const FAT32_CLUSTERS_MOST: u32 = 0x0fff_fff5;
pub(crate) const EXFAT_CLUSTERS_MAX: u32 = 0xffff_fff5;

/// The layout of a volume. Sectors count from its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VolumeLayout {
    /// The file system.
    pub kind: VolumeKind,
    /// Sector size in bytes.
    pub sector_bytes: u32,
    /// Cluster size in bytes.
    pub cluster_bytes: u32,
    /// Number of sectors of the volume.
    pub sectors: u64,
    /// First sector of the first FAT.
    pub fat_sector: u64,
    /// Number of sectors of one FAT.
    pub fat_sectors: u64,
    /// Number of copies of the FAT.
    pub fats: u32,
    /// First sector of cluster 2.
    pub heap_sector: u64,
    /// Number of clusters.
    pub clusters: u32,
    /// First cluster of the root directory.
    pub root_cluster: u32,
}

impl VolumeLayout {
    /// Reads and checks the boot sector.
    pub fn read<D: SectorDrive>(drive: &mut D) -> Result<VolumeLayout, Error<D::Error>> {
        let size = drive.sector_bytes();
        if !size.is_power_of_two() || !(512..=SECTOR_BYTES_MAX as u32).contains(&size) {
            return Err(Error::Geometry("sectors are 512 to 4096 bytes"));
        }
        let mut cache = Cache::new();
        let boot = cache.get(drive, 0)?;
        if u16_at(boot, 510) != 0xaa55 {
            return Err(Error::Volume("no boot signature"));
        }
        let layout = match boot.get(3..11) {
            Some(b"EXFAT   ") => exfat(boot),
            _ => fat32(boot),
        };
        let layout = layout.map_err(Error::Volume)?;
        if layout.sector_bytes != size {
            return Err(Error::Volume("its sector size differs from the drive's"));
        }
        if layout.sectors > drive.sectors() {
            return Err(Error::Volume("it is larger than the drive"));
        }
        Ok(layout)
    }

    /// Number of sectors in a cluster.
    pub fn cluster_sectors(&self) -> u64 {
        u64::from(self.cluster_bytes / self.sector_bytes)
    }

    /// First sector of a cluster.
    pub fn sector_of(&self, cluster: u32) -> u64 {
        self.heap_sector + u64::from(cluster.saturating_sub(FIRST_CLUSTER)) * self.cluster_sectors()
    }

    /// Whether a cluster of that number exists.
    pub fn has(&self, cluster: u32) -> bool {
        (FIRST_CLUSTER..=self.last_cluster()).contains(&cluster)
    }

    /// Number of clusters needed for this many bytes.
    pub fn clusters_for(&self, bytes: u64) -> u64 {
        bytes.div_ceil(u64::from(self.cluster_bytes))
    }

    /// Maximum file size in bytes, in whole clusters.
    pub fn file_bytes_max(&self) -> u64 {
        let cluster = u64::from(self.cluster_bytes);
        match self.kind {
            VolumeKind::Exfat => u64::from(self.clusters) * cluster,
            VolumeKind::Fat32 => u64::from(u32::MAX) / cluster * cluster,
        }
    }

    pub(crate) fn last_cluster(&self) -> u32 {
        self.clusters.saturating_add(FIRST_CLUSTER - 1)
    }

    /// Reads the FAT entry of a cluster, which tells where its chain continues.
    pub(crate) fn follow<D: SectorDrive>(
        &self,
        drive: &mut D,
        cache: &mut Cache,
        cluster: u32,
    ) -> Result<Link, Error<D::Error>> {
        let byte = u64::from(cluster) * 4;
        let sector = self.fat_sector + byte / u64::from(self.sector_bytes);
        let entry =
            u32_at(cache.get(drive, sector)?, (byte % u64::from(self.sector_bytes)) as usize);
        Ok(self.link(entry))
    }

    /// The meaning of a FAT entry.
    pub(crate) fn link(&self, entry: u32) -> Link {
        let (entry, last) = match self.kind {
            VolumeKind::Exfat => (entry, entry == u32::MAX),
            VolumeKind::Fat32 => (entry & 0x0fff_ffff, entry & 0x0fff_ffff >= 0x0fff_fff8),
        };
        match entry {
            _ if last => Link::Last,
            0 => Link::Free,
            next if self.has(next) => Link::To(next),
            _ => Link::Bad,
        }
    }

    fn checked(self) -> Result<VolumeLayout, &'static str> {
        let heap = u64::from(self.clusters) * self.cluster_sectors();
        let entries = self.fat_sectors.saturating_mul(u64::from(self.sector_bytes) / 4);
        let fats_end = self.fat_sector.saturating_add(self.fat_sectors * u64::from(self.fats));
        if self.clusters == 0 || self.heap_sector.saturating_add(heap) > self.sectors {
            return Err("its clusters extend beyond its end");
        }
        if entries < u64::from(self.clusters) + 2 || fats_end > self.heap_sector {
            return Err("its FAT is too short, or overlaps the clusters");
        }
        if !self.has(self.root_cluster) {
            return Err("its root directory has no valid cluster");
        }
        Ok(self)
    }
}

/// Where a chain continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    To(u32),
    Last,
    Free,
    Bad,
}

/// exFAT specification, section 3.1.
fn exfat(boot: &[u8]) -> Result<VolumeLayout, &'static str> {
    let (sector_shift, cluster_shift) = (boot[108], boot[109]);
    if !(9..=12).contains(&sector_shift) || cluster_shift > 25 - sector_shift {
        return Err("its sectors or clusters have an impossible size");
    }
    let fats = u32::from(boot[110]);
    if fats != 1 {
        return Err("it has more than one FAT (TexFAT)");
    }
    let layout = VolumeLayout {
        kind: VolumeKind::Exfat,
        sector_bytes: 1 << sector_shift,
        cluster_bytes: 1 << (sector_shift + cluster_shift),
        sectors: u64_at(boot, 72),
        fat_sector: u64::from(u32_at(boot, 80)),
        fat_sectors: u64::from(u32_at(boot, 84)),
        fats,
        heap_sector: u64::from(u32_at(boot, 88)),
        clusters: u32_at(boot, 92).min(EXFAT_CLUSTERS_MAX),
        root_cluster: u32_at(boot, 96),
    };
    layout.checked()
}

/// FAT32 specification, "Boot Sector and BPB".
fn fat32(boot: &[u8]) -> Result<VolumeLayout, &'static str> {
    let (sector_bytes, per_cluster) = (u32::from(u16_at(boot, 11)), u32::from(boot[13]));
    if !sector_bytes.is_power_of_two() || !per_cluster.is_power_of_two() {
        return Err("neither exFAT nor FAT32");
    }
    if u16_at(boot, 17) != 0 || u16_at(boot, 22) != 0 || !(512..=4096).contains(&sector_bytes) {
        return Err("neither exFAT nor FAT32");
    }
    let fats = u32::from(boot[16]);
    let (fat_sector, fat_sectors) = (u64::from(u16_at(boot, 14)), u64::from(u32_at(boot, 36)));
    let sectors = u64::from(u32_at(boot, 32));
    let heap_sector = fat_sector + fat_sectors * u64::from(fats);
    let clusters = sectors.saturating_sub(heap_sector) / u64::from(per_cluster);
    if fats == 0 || fats > 2 || clusters < u64::from(FAT32_CLUSTERS_LEAST) {
        return Err("neither exFAT nor FAT32");
    }
    let layout = VolumeLayout {
        kind: VolumeKind::Fat32,
        sector_bytes,
        cluster_bytes: sector_bytes * per_cluster,
        sectors,
        fat_sector,
        fat_sectors,
        fats,
        heap_sector,
        clusters: clusters.min(u64::from(FAT32_CLUSTERS_MOST)) as u32,
        root_cluster: u32_at(boot, 44),
    };
    layout.checked()
}
