//! Checks specific to exFAT: boot checksums, bitmap and up-case table.

use super::{Check, Problem};
use crate::bytes::{u16_at, u32_at};
use crate::cache::Cache;
use crate::directory::special_place;
use crate::drive::{Error, SectorDrive};
use crate::exfat;
use crate::layout::{FIRST_CLUSTER, Link};

impl Check<'_> {
    pub(super) fn exfat<D: SectorDrive>(&mut self, drive: &mut D) -> Result<(), Error<D::Error>> {
        let percent = self.boot(drive)?;
        self.chain(drive, self.layout.root_cluster, None)?;
        let (mut bitmap, mut upcase) = (false, false);
        // The bitmap comes before all files in the root directory, which are compared with it.
        self.walk(drive, |check, drive, entry| {
            let (first, bytes) = special_place(entry);
            let chained = check.layout.has(first);
            match entry[0] {
                exfat::BITMAP => {
                    let bitmap_bytes = u64::from(check.layout.clusters).div_ceil(8);
                    bitmap = chained && bytes == bitmap_bytes;
                    if chained {
                        check.bitmap_sector = Some(check.layout.sector_of(first));
                        check.chain(drive, first, Some(check.layout.clusters_for(bytes)))?;
                    }
                }
                exfat::UPCASE if chained => {
                    check.chain(drive, first, Some(check.layout.clusters_for(bytes)))?;
                    upcase = check.upcase_sum(drive, first, bytes)? == u32_at(entry, 4);
                }
                _ => {}
            }
            Ok(())
        })?;
        if !upcase {
            self.report(Problem::Upcase);
        }
        if !bitmap {
            self.report(Problem::Bitmap);
            return Ok(());
        }
        // The clusters of the root directory were claimed before the bitmap was known.
        let first = self.layout.root_cluster;
        let (mut link, mut followed, mut free) = (Link::To(first), 0, 0);
        while let Link::To(cluster) = link
            && followed < self.layout.clusters
        {
            free += u64::from(!self.is_allocated(drive, cluster)?);
            link = self.layout.follow(drive, &mut self.fat, cluster)?;
            followed += 1;
        }
        if free > 0 {
            self.report(Problem::NotAllocated { first, count: free });
        }
        let counted =
            self.lost(drive, |check, drive, cluster| check.is_allocated(drive, cluster))?;
        self.bits_behind_end(drive)?;
        let share = u64::from(counted) * 100 / u64::from(self.layout.clusters);
        if percent != 0xff && u64::from(percent) != share {
            self.report(Problem::StaleCount { stated: u32::from(percent), counted: share as u32 });
        }
        Ok(())
    }

    /// Checks both boot regions. Returns the stated percentage in use.
    fn boot<D: SectorDrive>(&mut self, drive: &mut D) -> Result<u8, Error<D::Error>> {
        let (mut sector, mut copy) = (Cache::new(), Cache::new());
        for start in [0, exfat::BOOT_SECTORS] {
            let mut sum = 0;
            for number in 0..exfat::CHECKSUM_SECTOR {
                sum = exfat::boot_sum(sum, number, sector.get(drive, start + number)?);
            }
            let checksums = sector.get(drive, start + exfat::CHECKSUM_SECTOR)?;
            if checksums.chunks_exact(4).any(|word| u32_at(word, 0) != sum) {
                self.report(Problem::BootChecksum { sector: start });
            }
        }
        let mut differs = false;
        for number in 0..exfat::BOOT_SECTORS {
            let main = sector.get(drive, number)?;
            let backup = copy.get(drive, exfat::BOOT_SECTORS + number)?;
            let counts = |at: usize| number != 0 || !matches!(at, 106 | 107 | 112);
            differs |= main.iter().zip(backup).enumerate().any(|(i, (a, b))| counts(i) && a != b);
        }
        if differs {
            self.report(Problem::BackupDiffers);
        }
        let boot = sector.get(drive, 0)?;
        let (flags, percent) = (u16_at(boot, exfat::FLAGS_AT), boot[exfat::PERCENT_AT]);
        if flags & exfat::DIRTY != 0 {
            self.report(Problem::Dirty);
        }
        if flags & exfat::MEDIA_FAILED != 0 {
            self.report(Problem::MediaFailed);
        }
        Ok(percent)
    }

    /// Returns the checksum of a contiguous table that starts at a cluster.
    fn upcase_sum<D: SectorDrive>(
        &mut self,
        drive: &mut D,
        first: u32,
        bytes: u64,
    ) -> Result<u32, Error<D::Error>> {
        // A table has at most two bytes for each character.
        let (mut left, mut sum) = (bytes.min(0x2_0000), 0);
        let (mut cache, mut sector) = (Cache::new(), self.layout.sector_of(first));
        while left > 0 && sector < self.layout.sectors {
            let content = cache.get(drive, sector)?;
            let count = left.min(content.len() as u64);
            sum = exfat::checksum32(sum, content[..count as usize].iter().copied());
            (left, sector) = (left - count, sector + 1);
        }
        Ok(sum)
    }

    fn bits_behind_end<D: SectorDrive>(&mut self, drive: &mut D) -> Result<(), Error<D::Error>> {
        let clusters = self.layout.clusters;
        for cluster in (clusters..clusters.next_multiple_of(8)).map(|at| at + FIRST_CLUSTER) {
            if self.is_allocated(drive, cluster)? {
                self.report(Problem::BitsBehindEnd);
                break;
            }
        }
        Ok(())
    }
}
