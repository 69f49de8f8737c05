//! Parsers of the identify structures: controller and namespace.
//!
//! All fields are little-endian. The parsers accept input of any content and length without
//! panicking. Text is kept as bytes: drives pad it with blanks or NULs, and it may not be UTF-8.
//! Source: NVM Express Base Specification 1.4, figures 245 (namespace) and 247 (controller).

/// Size of every identify structure, bytes.
pub const STRUCTURE_BYTES: usize = 4096;
/// CNS value of the namespace structure.
pub const NAMESPACE: u32 = 0;
/// CNS value of the controller structure.
pub const CONTROLLER: u32 = 1;
/// CNS value of the list of active namespaces.
pub const NAMESPACE_LIST: u32 = 2;

/// Entries in the format table of a namespace.
const FORMATS_MAX: usize = 64;

/// `N` bytes at an offset; `None` if the data is too short.
pub fn bytes<const N: usize>(data: &[u8], at: usize) -> Option<[u8; N]> {
    data.get(at..at.checked_add(N)?)?.try_into().ok()
}

/// The little-endian number of 16 bits at an offset.
pub fn u16_at(data: &[u8], at: usize) -> Option<u16> {
    bytes(data, at).map(u16::from_le_bytes)
}

/// The little-endian number of 32 bits at an offset.
pub fn u32_at(data: &[u8], at: usize) -> Option<u32> {
    bytes(data, at).map(u32::from_le_bytes)
}

/// The little-endian number of 64 bits at an offset.
pub fn u64_at(data: &[u8], at: usize) -> Option<u64> {
    bytes(data, at).map(u64::from_le_bytes)
}

/// Kelvin to degrees Celsius; `None` for 0 (not reported) and for implausible values.
pub(crate) fn celsius(kelvin: u16) -> Option<i16> {
    let degrees = i32::from(kelvin) - 273;
    (kelvin != 0 && (-60..=200).contains(&degrees)).then_some(degrees as i16)
}

/// A text field without its padding.
pub fn trimmed(field: &[u8]) -> &[u8] {
    let padding = |byte: &u8| *byte == 0 || byte.is_ascii_whitespace();
    let start = field.iter().position(|byte| !padding(byte)).unwrap_or(field.len());
    let end = field.iter().rposition(|byte| !padding(byte)).map_or(start, |last| last + 1);
    &field[start..end]
}

/// The controller's identity and capabilities.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Info {
    /// Serial number, padded.
    pub serial: [u8; 20],
    /// Model number, padded.
    pub model: [u8; 40],
    /// Firmware revision, padded.
    pub firmware: [u8; 8],
    /// Major, minor and tertiary version; may be 0 on drives older than NVMe 1.2, which need not
    /// report it.
    pub version: (u16, u8, u8),
    /// Warning temperature, degrees Celsius.
    pub warn_c: Option<i16>,
    /// Critical temperature, at which it throttles or stops, degrees Celsius.
    pub critical_c: Option<i16>,
    /// Supports Format NVM.
    pub formats: bool,
    /// Supports Dataset Management (discard).
    pub discards: bool,
    /// Supports Write Zeroes.
    pub zeroes: bool,
    /// Has a volatile write cache.
    pub write_cache: bool,
    /// Supports Doorbell Buffer Config (shadow doorbells).
    pub doorbell_buffer: bool,
    /// Supports sanitize by crypto erase, block erase, overwrite.
    pub sanitize: [bool; 3],
    /// Whether a format or erase of one namespace affects all.
    pub format_is_global: bool,
    /// Whether it reports its supported log pages.
    pub lists_logs: bool,
    /// Maximum transfer, as a power of two in units of its smallest page; 0: no limit.
    pub transfer_max: u8,
}

impl Info {
    /// Parses the structure; `None` if it is too short.
    pub fn parse(data: &[u8]) -> Option<Info> {
        let (commands, optional) = (u16_at(data, 256)?, u16_at(data, 520)?);
        let (sanitize, version) = (u32_at(data, 328)?, u32_at(data, 80)?);
        Some(Info {
            serial: bytes(data, 4)?,
            model: bytes(data, 24)?,
            firmware: bytes(data, 64)?,
            version: ((version >> 16) as u16, (version >> 8) as u8, version as u8),
            warn_c: celsius(u16_at(data, 266)?),
            critical_c: celsius(u16_at(data, 268)?),
            formats: commands & 2 != 0,
            doorbell_buffer: commands & 0x100 != 0,
            discards: optional & 4 != 0,
            zeroes: optional & 8 != 0,
            write_cache: data.get(525)? & 1 != 0,
            sanitize: [1, 2, 4].map(|bit| sanitize & bit != 0),
            format_is_global: data.get(524)? & 3 != 0,
            lists_logs: data.get(261)? & 0x20 != 0,
            transfer_max: *data.get(77)?,
        })
    }
}

/// A format supported by a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockFormat {
    /// Index in the format table, as used by Format NVM.
    pub index: u8,
    /// Logical block size, bytes.
    pub block_bytes: u32,
    /// Metadata per block, bytes.
    pub metadata_bytes: u16,
    /// Relative performance: 0 best, 1 better, 2 good, 3 degraded.
    pub performance: u8,
}

/// A namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Namespace {
    /// Size, blocks.
    pub size: u64,
    /// Capacity, blocks.
    pub capacity: u64,
    /// Utilisation, blocks.
    pub used: u64,
    /// Index of the format in use.
    pub current: u8,
    /// Byte that reads of discarded blocks return, if reported.
    pub discarded_reads: Option<u8>,
    /// Preferred write granularity (NPWG) in blocks, if reported.
    pub write_blocks: Option<u32>,
    /// Preferred discard granularity (NPDG) in blocks, if reported.
    pub discard_blocks: Option<u32>,
    /// Optimal write size (NOWS) in blocks, if reported.
    pub optimal_blocks: Option<u32>,
    /// NGUID: globally unique name of 16 bytes, if it has one.
    pub nguid: Option<[u8; 16]>,
    /// EUI-64: globally unique name of 8 bytes, if it has one.
    pub eui64: Option<[u8; 8]>,
    count: usize,
    table: [[u8; 4]; FORMATS_MAX],
}

impl Namespace {
    /// Parses the structure; `None` if it is too short.
    pub fn parse(data: &[u8]) -> Option<Namespace> {
        let (features, flbas) = (data.get(24)?, data.get(26)?);
        let count = usize::from(*data.get(25)?).min(63) + 1;
        let reported = |at| Some(u32::from(u16_at(data, at)?) + 1).filter(|_| features & 0x10 != 0);
        let mut table = [[0; 4]; FORMATS_MAX];
        for (index, entry) in table.iter_mut().enumerate() {
            *entry = bytes(data, 128 + 4 * index).unwrap_or_default();
        }
        Some(Namespace {
            size: u64_at(data, 0)?,
            capacity: u64_at(data, 8)?,
            used: u64_at(data, 16)?,
            current: flbas & 15 | if count > 16 { flbas >> 1 & 0x30 } else { 0 },
            discarded_reads: match data.get(33)? & 7 {
                1 => Some(0),
                2 => Some(0xff),
                _ => None,
            },
            write_blocks: reported(64),
            discard_blocks: reported(68),
            optimal_blocks: reported(72),
            nguid: bytes(data, 104).filter(|name: &[u8; 16]| name.iter().any(|b| *b != 0)),
            eui64: bytes(data, 120).filter(|name: &[u8; 8]| name.iter().any(|b| *b != 0)),
            count,
            table,
        })
    }

    /// Its formats. An entry with a block size of zero is unused.
    pub fn formats(&self) -> impl Iterator<Item = BlockFormat> + '_ {
        self.table.iter().take(self.count).enumerate().filter_map(|(index, entry)| {
            let [metadata_low, metadata_high, power, performance] = *entry;
            let block_bytes = (9..=24).contains(&power).then(|| 1u32 << power)?;
            Some(BlockFormat {
                index: index as u8,
                block_bytes,
                metadata_bytes: u16::from_le_bytes([metadata_low, metadata_high]),
                performance: performance & 3,
            })
        })
    }

    /// The format in use.
    pub fn format(&self) -> Option<BlockFormat> {
        self.formats().find(|format| format.index == self.current)
    }

    /// Index of the fastest format with this block size and no metadata.
    pub fn format_of(&self, block_bytes: u32) -> Option<u8> {
        let fitting =
            self.formats().filter(|f| f.block_bytes == block_bytes && f.metadata_bytes == 0);
        fitting.min_by_key(|f| f.performance).map(|f| f.index)
    }
}

/// The namespace IDs in a list of active namespaces: ascending, ended by a zero.
pub fn namespace_list(data: &[u8]) -> impl Iterator<Item = u32> + '_ {
    let numbers = data.chunks_exact(4).filter_map(|bytes| bytes.try_into().ok());
    numbers.map(u32::from_le_bytes).take_while(|nsid| *nsid != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(data: &mut [u8], at: usize, bytes: &[u8]) {
        data[at..at + bytes.len()].copy_from_slice(bytes);
    }

    #[test]
    fn a_controller() {
        let mut data = [0; STRUCTURE_BYTES];
        put(&mut data, 4, b"S6Z1NJ0W            ");
        put(&mut data, 24, b"ACME X1 1TB                             ");
        put(&mut data, 64, b"4B2QEXM7");
        put(&mut data, 80, &0x0001_0301u32.to_le_bytes());
        put(&mut data, 256, &0x102u16.to_le_bytes());
        put(&mut data, 266, &358u16.to_le_bytes());
        put(&mut data, 328, &6u32.to_le_bytes());
        put(&mut data, 516, &32u32.to_le_bytes());
        put(&mut data, 520, &0x0cu16.to_le_bytes());
        let info = Info::parse(&data).expect("whole");
        assert_eq!(trimmed(&info.serial), b"S6Z1NJ0W");
        assert_eq!(trimmed(&info.model), b"ACME X1 1TB");
        assert_eq!(info.version, (1, 3, 1));
        assert_eq!((info.warn_c, info.critical_c), (Some(85), None));
        assert!(info.formats && info.doorbell_buffer && info.discards && info.zeroes);
        assert!(!info.write_cache);
        assert_eq!(info.sanitize, [false, true, true]);
    }

    #[test]
    fn a_namespace_and_its_formats() {
        let mut data = [0; STRUCTURE_BYTES];
        put(&mut data, 0, &131_072u64.to_le_bytes());
        data[25] = 3;
        data[26] = 1;
        data[33] = 1;
        put(&mut data, 128, &[0, 0, 9, 2]);
        put(&mut data, 132, &[8, 0, 9, 2]);
        put(&mut data, 136, &[0, 0, 12, 0]);
        put(&mut data, 140, &[64, 0, 12, 0]);
        let namespace = Namespace::parse(&data).expect("whole");
        assert_eq!((namespace.size, namespace.current), (131_072, 1));
        assert_eq!(namespace.format().map(|f| f.metadata_bytes), Some(8));
        assert_eq!((namespace.format_of(4096), namespace.format_of(520)), (Some(2), None));
        assert_eq!(namespace.discarded_reads, Some(0));
        assert_eq!((namespace.nguid, namespace.write_blocks), (None, None));
        // Preferred sizes are zero-based, and valid only if their feature bit is set.
        for (at, blocks) in [(64, 7u16), (68, 31), (72, 255)] {
            put(&mut data, at, &blocks.to_le_bytes());
        }
        let sizes = |data: &[u8]| {
            let found = Namespace::parse(data).expect("whole");
            [found.write_blocks, found.discard_blocks, found.optimal_blocks]
        };
        assert_eq!(sizes(&data), [None; 3]);
        data[24] = 0x10;
        assert_eq!(sizes(&data), [Some(8), Some(32), Some(256)]);
    }

    #[test]
    fn padding_is_removed_from_text() {
        assert_eq!(trimmed(b"  a b \0\0"), b"a b");
        assert_eq!(trimmed(b" \0 "), b"");
        assert_eq!(trimmed(b""), b"");
    }

    #[test]
    fn a_short_structure_is_none_and_a_list_ends_at_zero() {
        for length in 0..STRUCTURE_BYTES {
            let data = [0xff; STRUCTURE_BYTES];
            let _ = (Info::parse(&data[..length]), Namespace::parse(&data[..length]));
        }
        assert_eq!(Info::parse(&[0; 100]), None);
        assert!(namespace_list(&[1, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 9]).eq([1, 3]));
    }
}
