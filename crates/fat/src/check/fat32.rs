//! Checks specific to FAT32: two FATs, FSInfo and the dirty bit.

use super::{Check, Problem};
use crate::cache::Cache;
use crate::drive::{Error, SectorDrive};
use crate::fat32;
use crate::layout::Link;

impl Check<'_> {
    pub(super) fn fat32<D: SectorDrive>(&mut self, drive: &mut D) -> Result<(), Error<D::Error>> {
        let (mut sector, mut copy) = (Cache::new(), Cache::new());
        if sector.get(drive, 0)?[fat32::DIRTY_AT] & 1 != 0 {
            self.report(Problem::Dirty);
        }
        let boot = sector.get(drive, 0)?;
        let backup = copy.get(drive, fat32::BACKUP_SECTOR)?;
        // Only the first copy has the dirty bit.
        if boot.iter().zip(backup).enumerate().any(|(at, (a, b))| at != fat32::DIRTY_AT && a != b) {
            self.report(Problem::BackupDiffers);
        }
        let free_stated = fat32::info_free(sector.get(drive, fat32::INFO_SECTOR)?);
        self.chain(drive, self.layout.root_cluster, None)?;
        self.walk(drive, |_, _, _| Ok(()))?;
        let used = self.lost(drive, |check, drive, cluster| {
            let link = check.layout.follow(drive, &mut check.fat, cluster)?;
            Ok(link != Link::Free && !check.is_marked_bad(drive, cluster)?)
        })?;
        let counted = self.layout.clusters - used;
        if let Some(free_stated) =
            free_stated.filter(|free| *free != fat32::UNKNOWN && *free != counted)
        {
            self.report(Problem::StaleCount { stated: free_stated, counted });
        }
        self.compare_fats(drive, &mut sector, &mut copy)
    }

    /// Whether a cluster is marked as bad.
    fn is_marked_bad<D: SectorDrive>(
        &mut self,
        drive: &mut D,
        cluster: u32,
    ) -> Result<bool, Error<D::Error>> {
        const DEFECTIVE: u32 = 0x0fff_fff7;
        let byte = u64::from(cluster) * 4;
        let size = u64::from(self.layout.sector_bytes);
        let sector = self.fat.get(drive, self.layout.fat_sector + byte / size)?;
        Ok(crate::bytes::u32_at(sector, (byte % size) as usize) & fat32::LAST == DEFECTIVE)
    }

    fn compare_fats<D: SectorDrive>(
        &mut self,
        drive: &mut D,
        first: &mut Cache,
        second: &mut Cache,
    ) -> Result<(), Error<D::Error>> {
        if self.layout.fats < 2 {
            return Ok(());
        }
        for sector in 0..self.layout.fat_sectors {
            let a = first.get(drive, self.layout.fat_sector + sector)?;
            let b = second.get(drive, self.layout.fat_sector + self.layout.fat_sectors + sector)?;
            if a != b {
                self.report(Problem::FatsDiffer { sector });
                break;
            }
        }
        Ok(())
    }
}
