//! FileCore discs (RISC OS, formats E and E+): shape, boot block with disc record and, in
//! `format.rs`, an empty disc of format E+. The limits here determine whether RISC OS can use a
//! disc.
//!
//! The map in the middle of a disc has one bit for each allocation unit (LFAU) and consists of
//! zones, one sector each. A fragment starts with an identifier of `idlen` bits, so there are at
//! most 2^idlen fragments, and none is shorter than `idlen` + 1 units. Sources: RISC OS
//! Programmer's Reference Manual, "FileCore"; the checks in Linux's adfs.

mod format;

use crate::bytes::{put, put_u16, put_u32, u16_at, u32_at};

/// Byte offset of the boot block on the disc.
pub const BOOT_BLOCK_AT: u64 = 0xc00;
/// Size of the boot block in bytes.
pub const BOOT_BLOCK_BYTES: usize = 512;

/// Offsets of the disc record and the checksum within the boot block.
const RECORD_AT: usize = 0x1c0;
const CHECKSUM_AT: usize = 0x1ff;

/// Number of sector bits in a disc address: 256 GiB with sectors of 512 bytes, 2 TiB with 4096.
const SECTOR_BITS: u32 = 29;

/// Maximum bits of an identifier since FileCore 3.75 (RISC OS 5.24; 19 in earlier versions and on
/// Linux), and maximum number of zones.
const IDLEN_MAX: u32 = 21;
const ZONES_MAX: u64 = 0xffff;

/// Bits of a zone that are never allocated: its header and, in the first zone, the disc record.
const ZONE_SPARE: u64 = 32;
const RECORD_BITS: u64 = 480;

/// The shape of a FileCore disc.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filecore {
    /// Size of the disc in bytes.
    pub bytes: u64,
    /// Sector size in bytes, 512 to 4096.
    pub sector_bytes: u32,
    /// Size of the allocation unit (LFAU), which is one map bit, in bytes.
    pub unit_bytes: u32,
    /// Number of bits of an identifier.
    pub idlen: u32,
    /// Number of zones in the map.
    pub zones: u32,
}

impl Filecore {
    /// Plans the shape of a disc, with the shortest identifiers that suffice. The error names the
    /// exceeded limit.
    pub fn plan(bytes: u64, sector_bytes: u32, unit_bytes: u32) -> Result<Filecore, &'static str> {
        if !sector_bytes.is_power_of_two() || !(512..=4096).contains(&sector_bytes) {
            return Err("sectors must have 512 to 4096 bytes");
        }
        if !unit_bytes.is_power_of_two() || !(sector_bytes / 8..=1 << 20).contains(&unit_bytes) {
            return Err("an allocation unit must be a power of two, at most 1 MiB");
        }
        if bytes.div_ceil(u64::from(sector_bytes)) > 1 << SECTOR_BITS {
            return Err("RISC OS addresses 2^29 sectors: 256 GiB with 512 bytes, 2 TiB with 4096");
        }
        let bits = u64::from(sector_bytes) * 8 - ZONE_SPARE;
        let zones = (bytes / u64::from(unit_bytes) + RECORD_BITS).div_ceil(bits).max(1);
        if zones > ZONES_MAX {
            return Err("the allocation unit is too small: the map exceeds 65,535 zones");
        }
        // An identifier must be able to address every bit of a sector.
        let least = sector_bytes.trailing_zeros() + 3;
        let idlen =
            (least..=IDLEN_MAX).find(|idlen| zones * (bits / u64::from(idlen + 1)) <= 1 << idlen);
        let idlen = idlen.ok_or("the allocation unit is too small: identifiers exceed 21 bits")?;
        // The last zone's part of the disc, and the space beyond the end, must each be empty or fit
        // a fragment.
        let (unit, shortest) = (u64::from(unit_bytes), u64::from(idlen + 1));
        let end = bytes / unit + RECORD_BITS;
        let (in_last, whole) = (end % bits, end / bits * bits);
        let end = match in_last {
            0 => end,
            few if few < shortest => whole,
            most if bits - most < shortest => whole + bits - shortest,
            _ => end,
        };
        let bytes = end.saturating_sub(RECORD_BITS) * unit;
        let zones = end.div_ceil(bits).max(1) as u32;
        Ok(Filecore { bytes, sector_bytes, unit_bytes, idlen, zones })
    }

    /// Size of the smallest file on the disc, in bytes.
    pub fn fragment_bytes_min(&self) -> u64 {
        let whole = u64::from(self.idlen + 1) * u64::from(self.unit_bytes);
        whole.next_multiple_of(u64::from(self.sector_bytes))
    }

    /// Builds the boot block of a disc with a name of up to ten characters. `root` is the address
    /// and the size of the root directory. The defect list is empty.
    pub fn boot_block(&self, name: &str, root: (u32, u32)) -> [u8; BOOT_BLOCK_BYTES] {
        let mut block = [0; BOOT_BLOCK_BYTES];
        // The end of the defect list, and its check byte.
        put_u32(&mut block, 0, 0x2000_0000);
        let record = &mut block[RECORD_AT..RECORD_AT + 60];
        record[0] = self.sector_bytes.trailing_zeros() as u8;
        // Sectors per track and heads: an SSD has neither, but tools commonly use these values.
        (record[1], record[2]) = (63, 16);
        record[4] = self.idlen as u8;
        record[5] = self.unit_bytes.trailing_zeros() as u8;
        (record[9], record[42]) = (self.zones as u8, (self.zones >> 8) as u8);
        put_u16(record, 10, ZONE_SPARE as u16);
        put_u32(record, 12, root.0);
        put_u32(record, 16, self.bytes as u32);
        put_u32(record, 36, (self.bytes >> 32) as u32);
        record[22..32].fill(b' ');
        let name = &name.as_bytes()[..name.len().min(10)];
        put(record, 22, name);
        // The flag of a large disc, and large directories (E+).
        record[41] = u8::from(self.bytes > 512 << 20);
        put_u32(record, 44, 1);
        put_u32(record, 48, root.1);
        block[CHECKSUM_AT] = checksum(&block);
        block
    }

    /// Parses a boot block. Returns `None` if it is invalid or describes an impossible disc.
    pub fn read(block: &[u8]) -> Option<Filecore> {
        let block = block.get(..BOOT_BLOCK_BYTES)?;
        let record = &block[RECORD_AT..];
        let (sector, unit) = (u32::from(record[0]), u32::from(record[5]));
        if block[CHECKSUM_AT] != checksum(block) || !(8..=12).contains(&sector) || unit > 20 {
            return None;
        }
        let bytes = u64::from(u32_at(record, 16)) | u64::from(u32_at(record, 36)) << 32;
        let idlen = u32::from(record[4]);
        let zones = u32::from(record[9]) | u32::from(record[42]) << 8;
        let sound = (sector + 3..=IDLEN_MAX).contains(&idlen) && zones > 0 && bytes > 0;
        let fits = bytes >> sector <= 1 << SECTOR_BITS && u16_at(record, 10) >= 32;
        let (sector_bytes, unit_bytes) = (1 << sector, 1 << unit);
        (sound && fits).then_some(Filecore { bytes, sector_bytes, unit_bytes, idlen, zones })
    }
}

/// The checksum of a boot block: the sum of all bytes before it, from last to first, with the carry
/// added back.
fn checksum(block: &[u8]) -> u8 {
    let sum = block[..CHECKSUM_AT]
        .iter()
        .rev()
        .fold(0u32, |sum, byte| (sum & 0xff) + (sum >> 8) + u32::from(*byte));
    sum as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    #[test]
    fn the_discs_of_document_000() {
        // 110 GB in sectors of 512 bytes, and 750 GB in sectors of 4096.
        let small = Filecore::plan(110_000_000_000, 512, 8192).expect("it fits");
        assert!(small.idlen <= 21 && small.zones < 65_536, "{small:?}");
        let large = Filecore::plan(750_000_000_000, 4096, 32 << 10).expect("it fits");
        assert!(large.idlen >= 15, "{large:?}");
        // A larger unit makes identifiers shorter and small files larger.
        let wide = Filecore::plan(110_000_000_000, 512, 32 << 10).expect("it fits");
        assert!(wide.idlen < small.idlen && wide.zones < small.zones);
        assert!(wide.fragment_bytes_min() > small.fragment_bytes_min());
    }

    #[test]
    fn what_risc_os_cannot_use_is_refused() {
        let refused =
            |bytes, sector, unit| Filecore::plan(bytes, sector, unit).expect_err("refused");
        assert!(refused(256 * GIB + 1, 512, 4096).contains("2^29"));
        assert!(Filecore::plan(256 * GIB, 512, 64 << 10).is_ok());
        assert!(refused(2048 * GIB + 1, 4096, 1 << 20).contains("2^29"));
        assert!(Filecore::plan(2048 * GIB, 4096, 1 << 20).is_ok());
        assert!(
            refused(256 * GIB, 512, 1024).contains("19 bits")
                || refused(256 * GIB, 512, 1024).contains("zones")
        );
        assert!(refused(GIB, 256, 4096).contains("sector"));
        assert!(refused(GIB, 512, 3000).contains("power of two"));
    }

    #[test]
    fn a_boot_block_is_read_back_and_no_byte_of_it_may_change() {
        for (bytes, sector, unit) in
            [(20 << 20, 512, 1024), (200 * GIB, 512, 32 << 10), (700 * GIB, 4096, 32 << 10)]
        {
            let plan = Filecore::plan(bytes, sector, unit).expect("it fits");
            let mut block = plan.boot_block("HardDisc4", (0x301, 2048));
            assert_eq!(Filecore::read(&block), Some(plan));
            assert_eq!(&block[0x1c0 + 22..0x1c0 + 32], b"HardDisc4 ");
            for at in 0..BOOT_BLOCK_BYTES {
                block[at] ^= 1;
                assert_eq!(Filecore::read(&block), None, "byte {at}");
                block[at] ^= 1;
            }
        }
        assert_eq!(Filecore::read(&[0; 512]), None);
        assert_eq!(Filecore::read(&[]), None);
    }
}
