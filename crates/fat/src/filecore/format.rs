//! Makes an empty FileCore disc of format E+: map, root directory and boot block.
//!
//! Two copies of the map are in the middle of the disc, with one sector per zone. Fragment 2
//! contains the map and, after it in map order, the start of the disc with the boot block. Sources:
//! RISC OS Programmer's Reference Manual, "FileCore" (map, zone check, big directories). The
//! reference reader is Linux's adfs.

use core::ops::Range;

use super::{BOOT_BLOCK_AT, BOOT_BLOCK_BYTES, Filecore, RECORD_AT, RECORD_BITS, ZONE_SPARE};
use crate::bytes::{put, put_u16, put_u32};
use crate::drive::{Error, SECTOR_BYTES_MAX, SectorDrive};

/// Fragment identifiers: the space beyond the end of the disc; the map and the boot block.
const BEYOND: u32 = 1;
const MAP: u32 = 2;

/// Initial size of the root directory in bytes; it grows with the number of files.
const ROOT_BYTES: u32 = 2048;

/// The parts of a new disc, in map bits.
struct Parts {
    boot: Range<u64>,
    map: Range<u64>,
    root: Range<u64>,
    root_id: u32,
}

impl Filecore {
    /// Makes an empty disc of this shape on a drive with the same sector size, with a name of up to
    /// ten characters. The boot block is written last, so a power cut leaves no disc instead of an
    /// incomplete one.
    ///
    /// # Errors
    ///
    /// The drive failed, is too small or has another sector size, the allocation unit is smaller
    /// than a sector, or the disc is too small for its map.
    pub fn format<D: SectorDrive>(&self, drive: &mut D, name: &str) -> Result<(), Error<D::Error>> {
        let sector = u64::from(self.sector_bytes);
        if drive.sector_bytes() != self.sector_bytes || drive.sectors() * sector < self.bytes {
            return Err(Error::Geometry("the drive is too small or has another sector size"));
        }
        let parts = self.parts().map_err(Error::Geometry)?;
        let boot = self.boot_block(name, (parts.root_id << 8, ROOT_BYTES));
        let mut buffer = [0; SECTOR_BYTES_MAX];
        let block = &mut buffer[..sector as usize];
        // Clear the head of the disc, including the boot block.
        let head = (BOOT_BLOCK_AT + BOOT_BLOCK_BYTES as u64).div_ceil(sector);
        for at in 0..head {
            drive.submit(at, block).map_err(Error::Drive)?;
        }
        drive.flush().map_err(Error::Drive)?;
        for copy in 0..2 {
            let first = parts.map.start * u64::from(self.unit_bytes) / sector;
            for zone in 0..u64::from(self.zones) {
                self.zone(zone, &parts, &boot[RECORD_AT..RECORD_AT + 60], block);
                let target = first + copy * u64::from(self.zones) + zone;
                drive.submit(target, block).map_err(Error::Drive)?;
            }
        }
        let root = root_directory(parts.root_id << 8);
        let first = parts.root.start * u64::from(self.unit_bytes) / sector;
        for (at, piece) in (first..).zip(root.chunks(sector as usize)) {
            block.fill(0);
            put(block, 0, piece);
            drive.submit(at, block).map_err(Error::Drive)?;
        }
        drive.flush().map_err(Error::Drive)?;
        block.fill(0);
        put(block, (BOOT_BLOCK_AT % sector) as usize, &boot);
        drive.submit(BOOT_BLOCK_AT / sector, block).map_err(Error::Drive)?;
        drive.flush().map_err(Error::Drive)
    }

    /// Number of map bits that represent the disc.
    fn bits(&self) -> u64 {
        self.bytes / u64::from(self.unit_bytes)
    }

    /// Range of the disc's bits that a zone covers.
    fn zone_bits(&self, zone: u64) -> Range<u64> {
        let bits = u64::from(self.sector_bytes) * 8 - ZONE_SPARE;
        let start = (zone * bits).saturating_sub(RECORD_BITS);
        start..((zone + 1) * bits - RECORD_BITS).min(self.bits())
    }

    fn zone_of(&self, bit: u64) -> u64 {
        (bit + RECORD_BITS) / (u64::from(self.sector_bytes) * 8 - ZONE_SPARE)
    }

    /// Minimum length of a fragment in bits.
    fn shortest(&self) -> u64 {
        u64::from(self.idlen) + 1
    }

    /// Returns `bits` bits from `start`, extended if the last piece in a zone, or the free rest of
    /// that zone, would be too short for a fragment.
    fn grown(&self, start: u64, bits: u64) -> Range<u64> {
        let end = start + bits.max(self.shortest());
        let zone = self.zone_bits(self.zone_of(end - 1));
        let end = end.max(zone.start + self.shortest());
        start..if zone.end.saturating_sub(end) < self.shortest() { zone.end } else { end }
    }

    fn parts(&self) -> Result<Parts, &'static str> {
        let unit = u64::from(self.unit_bytes);
        if unit < u64::from(self.sector_bytes) {
            return Err("an allocation unit must be at least one sector");
        }
        let middle = u64::from(self.zones) / 2;
        let boot = self.grown(0, (BOOT_BLOCK_AT + BOOT_BLOCK_BYTES as u64).div_ceil(unit));
        let map_bytes = 2 * u64::from(self.zones) * u64::from(self.sector_bytes);
        let map = self.grown(self.zone_bits(middle).start, map_bytes.div_ceil(unit));
        let root = self.grown(map.end, u64::from(ROOT_BYTES).div_ceil(unit));
        // A map with one zone would overlap the boot block.
        if self.zones < 2 || boot.end > map.start || root.end > self.bits() {
            return Err("the disc is too small for this allocation unit");
        }
        // Each zone has its own range of identifiers; that of the first zone includes the constants
        // above.
        let bits = u64::from(self.sector_bytes) * 8 - ZONE_SPARE;
        let root_id = self.zone_of(root.start) * (bits / self.shortest());
        Ok(Parts { boot, map, root, root_id: root_id as u32 })
    }

    /// Builds a zone of the map.
    fn zone(&self, zone: u64, parts: &Parts, record: &[u8], block: &mut [u8]) {
        block.fill(0);
        let mut first_bit = ZONE_SPARE;
        if zone == 0 {
            put(block, 4, record);
            // The exclusive or of all zones' cross checks must be 0xff.
            block[3] = 0xff;
            first_bit += RECORD_BITS;
        }
        let covers = self.zone_bits(zone);
        let place = |bit: u64| (first_bit + bit - covers.start) as usize;
        let mut free = covers.start;
        let used = [(MAP, &parts.boot), (MAP, &parts.map), (parts.root_id, &parts.root)];
        for (id, range) in used {
            let (start, end) = (range.start.max(covers.start), range.end.min(covers.end));
            if start < end {
                fragment(block, place(start)..place(end), id);
                free = end;
            }
        }
        // Bit 15 is always set. The other bits point to the first free fragment; 0 if there is
        // none.
        let mut link = 0x8000;
        if free < covers.end {
            link |= (place(free) - 8) as u16;
            fragment(block, place(free)..place(covers.end), 0);
        }
        put_u16(block, 1, link);
        let end = block.len() * 8;
        if place(covers.end) < end {
            fragment(block, place(covers.end)..end, BEYOND);
        }
        block[0] = zone_check(block);
    }
}

/// Writes a fragment: its identifier, or the distance to the next free fragment, and a set bit at
/// its end.
fn fragment(block: &mut [u8], bits: Range<usize>, id: u32) {
    for bit in (0..u32::BITS as usize).filter(|bit| id >> bit & 1 == 1) {
        set(block, bits.start + bit);
    }
    set(block, bits.end - 1);
}

fn set(block: &mut [u8], bit: usize) {
    block[bit / 8] |= 1 << (bit % 8);
}

/// Returns the check byte of a zone: four sums over every fourth byte, each with the carry of the
/// previous sum.
fn zone_check(block: &[u8]) -> u8 {
    let mut sums = [0u32; 4];
    for word in block.chunks_exact(4).skip(1).rev() {
        for lane in 0..4 {
            let before = (lane + 3) % 4;
            sums[lane] += u32::from(word[lane]) + (sums[before] >> 8);
            sums[before] &= 0xff;
        }
    }
    sums[0] += sums[3] >> 8;
    for lane in 1..4 {
        sums[lane] += u32::from(block[lane]) + (sums[lane - 1] >> 8);
    }
    (sums[0] ^ sums[1] ^ sums[2] ^ sums[3]) as u8
}

/// Builds an empty root directory, which is its own parent.
fn root_directory(address: u32) -> [u8; ROOT_BYTES as usize] {
    const TAIL: usize = ROOT_BYTES as usize - 8;
    let mut directory = [0; ROOT_BYTES as usize];
    put(&mut directory, 4, b"SBPr");
    put_u32(&mut directory, 8, 1);
    put_u32(&mut directory, 12, ROOT_BYTES);
    put_u32(&mut directory, 24, address);
    // The name and its terminator.
    put(&mut directory, 28, b"$\r");
    put(&mut directory, TAIL, b"oven");
    let words = directory[..32].chunks_exact(4);
    let words = words.map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]));
    // The checksum continues with the end mark and three zero bytes, after header and name.
    let tail = [u32::from_le_bytes(*b"oven"), 0, 0, 0];
    let check = words.chain(tail).fold(0u32, |sum, word| sum.rotate_right(13) ^ word);
    directory[TAIL + 7] = (check ^ check >> 8 ^ check >> 16 ^ check >> 24) as u8;
    directory
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;
    use std::vec::Vec;
    use std::{collections::BTreeMap, vec};

    /// A drive in memory: sector size, number of sectors, written sectors.
    struct SurvivingPart(u32, u64, BTreeMap<u64, Vec<u8>>);

    impl SectorDrive for SurvivingPart {
        type Error = core::convert::Infallible;

        fn sector_bytes(&self) -> u32 {
            self.0
        }

        fn sectors(&self) -> u64 {
            self.1
        }

        fn submit(&mut self, sector: u64, bytes: &[u8]) -> Result<(), Self::Error> {
            assert!(sector < self.1, "sector {sector}");
            self.2.insert(sector, bytes.to_vec());
            Ok(())
        }

        fn flush(&mut self) -> Result<(), Self::Error> {
            Ok(())
        }

        fn read(&mut self, _: u64, _: &mut [u8]) -> Result<(), Self::Error> {
            Ok(())
        }
    }

    fn bit(block: &[u8], at: usize) -> bool {
        block[at / 8] >> (at % 8) & 1 == 1
    }

    /// The fragments of a zone from its first bit on, as identifiers and lengths in bits.
    fn fragments(block: &[u8], first: usize, idlen: u32) -> Vec<(u32, usize)> {
        let (mut at, mut found) = (first, vec![]);
        while at < block.len() * 8 {
            let id = (0..idlen as usize).fold(0, |id, n| id | u32::from(bit(block, at + n)) << n);
            let end = (at + idlen as usize..block.len() * 8).find(|end| bit(block, *end));
            let end = end.expect("a fragment ends in its zone");
            found.push((id, end + 1 - at));
            at = end + 1;
        }
        found
    }

    #[test]
    fn every_bit_of_the_map_belongs_to_one_fragment_and_free_space_is_the_rest() {
        let mib = 1u64 << 20;
        let shapes = [
            (20 * mib, 512, 1024),
            (20 * mib + 512 * 7, 512, 2048),
            (300 * mib, 512, 1024),
            (110_000 * mib, 512, 16 << 10),
            (700_000 * mib, 4096, 32 << 10),
            (64 * mib, 1024, 1024),
        ];
        for (bytes, sector, unit) in shapes {
            let disc = Filecore::plan(bytes, sector, unit).expect("it fits");
            let mut drive = SurvivingPart(sector, bytes / u64::from(sector), BTreeMap::new());
            disc.format(&mut drive, "HardDisc4").expect("formatted");
            let parts = disc.parts().expect("it fits");
            let map = parts.map.start * u64::from(unit) / u64::from(sector);
            let zones = u64::from(disc.zones);
            let (mut cross, mut free, mut beyond) = (0, 0, 0);
            let mut owned: BTreeMap<u32, usize> = BTreeMap::new();
            for zone in 0..zones {
                let block = &drive.2[&(map + zone)];
                assert_eq!(block, &drive.2[&(map + zones + zone)], "the second copy");
                assert_eq!(zone_check(block), block[0]);
                cross ^= block[3];
                let first = if zone == 0 { 32 + 480 } else { 32 };
                let link = usize::from(u16::from_le_bytes([block[1], block[2]]) & 0x7fff);
                let mut at = first;
                for (id, bits) in fragments(block, first, disc.idlen) {
                    assert!(bits > disc.idlen as usize, "zone {zone}: {bits} bits of {id}");
                    match id {
                        0 => {
                            assert_eq!(at, link + 8, "zone {zone}");
                            free += bits as u64;
                        }
                        BEYOND => beyond += bits as u64,
                        id => *owned.entry(id).or_default() += bits,
                    }
                    at += bits;
                }
            }
            assert_eq!(cross, 0xff);
            let used: usize = owned.values().sum();
            let all = zones * (u64::from(sector) * 8 - 32) - 480;
            assert_eq!(free + beyond + used as u64, all);
            assert_eq!(all - beyond, disc.bits(), "the disc ends where its map does");
            assert_eq!(owned.keys().copied().collect::<Vec<_>>(), [MAP, parts.root_id]);
            let at = BOOT_BLOCK_AT / u64::from(sector);
            let boot = &drive.2[&at][(BOOT_BLOCK_AT % u64::from(sector)) as usize..];
            assert_eq!(Filecore::read(boot), Some(disc));
            assert!(bytes - disc.bytes < 64 * u64::from(unit), "{bytes} {}", disc.bytes);
        }
    }

    #[test]
    fn a_disc_without_room_for_its_map_is_refused() {
        let disc = Filecore::plan(1 << 20, 512, 4096).expect("a shape");
        let mut drive = SurvivingPart(512, 2048, BTreeMap::new());
        let refused = disc.format(&mut drive, "Small").expect_err("one zone");
        assert_eq!(refused, Error::Geometry("the disc is too small for this allocation unit"));
        assert!(drive.2.is_empty(), "nothing was written");
        let disc = Filecore::plan(20 << 20, 512, 1024).expect("a shape");
        assert!(disc.format(&mut drive, "Large").is_err(), "the drive is smaller");
    }
}
