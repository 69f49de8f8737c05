//! The partition table of an opened target: read, renumbered, written. The formats are in
//! `partitions`; callers need no descriptor.

use std::io;

use super::Opened;
use crate::partitions::{self, PartitionTable, PlannedPartition};

impl Opened {
    /// The partition table on the first `bytes` of the target, with sectors of `sector` bytes;
    /// `None` if there is no table.
    pub fn partition_table(&self, bytes: u64, sector: u32) -> Option<PartitionTable> {
        PartitionTable::read(&self.file, bytes, sector)
    }

    /// The old partition numbers in the order of the drive, as [`Opened::renumber_partitions`]
    /// would return them; `None` if they are already in order.
    pub fn partition_order(&self, sector: u32) -> io::Result<Option<Vec<u32>>> {
        partitions::order(&self.file, sector)
    }

    /// Renumbers the partitions of an MBR in their order on the drive, durably; returns their old
    /// numbers in the new order. Only the positions of the entries in the table change. `None` if
    /// the order is already right or there is no table to change.
    pub fn renumber_partitions(&self, sector: u32) -> io::Result<Option<Vec<u32>>> {
        partitions::renumber(&self.file, sector)
    }

    /// Writes a table of `places` to a drive of `bytes` with sectors of `sector` bytes, durably.
    /// `signature` identifies the disk to operating systems; 0: none.
    pub fn write_partitions(
        &self,
        (bytes, sector): (u64, u32),
        places: &[PlannedPartition],
        signature: u32,
    ) -> io::Result<()> {
        partitions::write(&self.file, (bytes, sector), places, signature)
    }
}
