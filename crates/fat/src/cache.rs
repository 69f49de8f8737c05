//! A cache for one sector, read on first use.

use crate::drive::{Error, SECTOR_BYTES_MAX, SectorDrive};

#[derive(Clone)]
pub(crate) struct Cache {
    sector: Option<u64>,
    bytes: [u8; SECTOR_BYTES_MAX],
}

impl Cache {
    pub fn new() -> Cache {
        Cache { sector: None, bytes: [0; SECTOR_BYTES_MAX] }
    }

    /// The cached sector, if any.
    pub fn holds(&self) -> Option<u64> {
        self.sector
    }

    /// Caches a sector as zeros without reading it, unless it is already cached.
    pub fn blank(&mut self, sector: u64) {
        if self.sector != Some(sector) {
            (self.sector, self.bytes) = (Some(sector), [0; SECTOR_BYTES_MAX]);
        }
    }

    /// Returns a sector of the drive.
    pub fn get<D: SectorDrive>(
        &mut self,
        drive: &mut D,
        sector: u64,
    ) -> Result<&[u8], Error<D::Error>> {
        Ok(self.get_mut(drive, sector)?)
    }

    /// Returns a sector of the drive for modification; [`Cache::put`] writes it.
    pub fn get_mut<D: SectorDrive>(
        &mut self,
        drive: &mut D,
        sector: u64,
    ) -> Result<&mut [u8], Error<D::Error>> {
        let size = drive.sector_bytes() as usize;
        if self.sector != Some(sector) {
            self.sector = None;
            drive.read(sector, &mut self.bytes[..size]).map_err(Error::Drive)?;
            self.sector = Some(sector);
        }
        Ok(&mut self.bytes[..size])
    }

    /// Submits a write of the cached sector.
    pub fn put<D: SectorDrive>(&self, drive: &mut D) -> Result<(), Error<D::Error>> {
        let size = drive.sector_bytes() as usize;
        match self.sector {
            Some(sector) => drive.submit(sector, &self.bytes[..size]).map_err(Error::Drive),
            None => Ok(()),
        }
    }
}
