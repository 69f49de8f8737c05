//! SATA drives: the words of IDENTIFY DEVICE, and commands that read further data.
//!
//! The kernel keeps the words in VPD page 0x89 (ATA Information, SAT-3 12.4.2), readable without
//! privileges: a header of 60 bytes, then the drive's 512 bytes. Words are little-endian; text has
//! its bytes swapped. Sources: ACS-3, 7.12.7 (IDENTIFY DEVICE); SAT-3, 12.2.2 (ATA PASS-THROUGH).

use super::u64_at;
use crate::node::Node;

const HEADER_BYTES: usize = 60;
const WORDS: usize = 256;
/// Size of the response to IDENTIFY DEVICE and of every page of SMART data and logs.
pub(crate) const PAGE_BYTES: usize = 512;

/// The response to IDENTIFY DEVICE.
#[derive(Debug)]
pub(crate) struct Identify([u16; WORDS]);

impl Identify {
    /// Reads the kernel's copy.
    pub fn read(disk: &Node) -> Option<Identify> {
        Identify::parse(&std::fs::read(disk.dir.join("device/vpd_pg89")).ok()?)
    }

    /// Parses the VPD page.
    pub fn parse(page: &[u8]) -> Option<Identify> {
        Identify::parse_words(page.get(HEADER_BYTES..)?)
    }

    /// Parses the words in the drive's byte order. All zeroes are not a response.
    pub fn parse_words(data: &[u8]) -> Option<Identify> {
        let data = data.get(..2 * WORDS)?;
        let mut words = [0; WORDS];
        for (word, bytes) in words.iter_mut().zip(data.chunks_exact(2)) {
            *word = u16::from_le_bytes([bytes[0], bytes[1]]);
        }
        words.iter().any(|word| *word != 0).then_some(Identify(words))
    }

    /// Serial number, words 10 to 19.
    pub fn serial(&self) -> Option<String> {
        self.text(10, 20)
    }

    /// Firmware revision, words 23 to 26.
    pub fn firmware(&self) -> Option<String> {
        self.text(23, 27)
    }

    /// Model, words 27 to 46.
    pub fn model(&self) -> Option<String> {
        self.text(27, 47)
    }

    /// The highest SATA generation supported by the drive (word 76, bits 1 to 3); 0 and FFFFh: not
    /// reported.
    pub fn generation_max(&self) -> Option<u32> {
        let word = self.reported(76)?;
        (1..=3).rev().find(|bit| word & (1 << bit) != 0)
    }

    /// Revolutions per minute (word 217); 0: not rotating.
    pub fn rotation(&self) -> Option<u16> {
        match self.0[217] {
            1 => Some(0),
            rpm @ 0x401..=0xfffe => Some(rpm),
            _ => None,
        }
    }

    /// Whether it accepts DATA SET MANAGEMENT with TRIM (word 169, bit 0).
    pub fn trims(&self) -> bool {
        self.reported(169).is_some_and(|word| word & 1 != 0)
    }

    /// Content of blocks after TRIM (word 69): always zeroes (RZAT, bit 5), always the same (DRAT,
    /// bit 14), or indeterminate.
    pub fn after_trim(&self) -> AfterTrim {
        match self.reported(69).unwrap_or(0) {
            word if word & 0x4000 == 0 => AfterTrim::Anything,
            word if word & 0x20 == 0 => AfterTrim::Same,
            _ => AfterTrim::Zeroes,
        }
    }

    /// Maximum ranges of one TRIM command, in units of 64 (word 105); 0: not reported.
    pub fn trim_ranges(&self) -> Option<u32> {
        self.reported(105).map(|blocks| 64 * u32::from(blocks))
    }

    /// Logical and physical sector size, bytes (words 106, 117, 118).
    pub fn sectors(&self) -> (u32, u32) {
        let Some(word) = self.valid(106) else { return (512, 512) };
        let words = u32::from(self.0[117]) | u32::from(self.0[118]) << 16;
        let logical = match word & 0x1000 {
            0 => 512,
            _ => words.saturating_mul(2).max(512),
        };
        let power = if word & 0x2000 == 0 { 0 } else { u32::from(word & 15) };
        (logical, logical.saturating_mul(1 << power))
    }

    /// Offset of logical sector 0 within its physical sector, bytes (word 209).
    pub fn alignment_bytes(&self) -> u32 {
        let (logical, _) = self.sectors();
        let offset = self.valid(209).map_or(0, |word| u32::from(word & 0x3fff));
        offset.saturating_mul(logical)
    }

    /// Whether SMART is supported and enabled (words 82 and 85, bit 0).
    pub fn smart(&self) -> bool {
        [82, 85].into_iter().all(|n| self.reported(n).is_some_and(|word| word & 1 != 0))
    }

    /// Whether the general purpose logs are supported (word 84 or 87, bit 5).
    pub fn logs(&self) -> bool {
        [84, 87].into_iter().any(|n| self.valid(n).is_some_and(|word| word & 0x20 != 0))
    }

    /// Whether a password is set and the drive locked (word 128, bits 1 and 2).
    pub fn security(&self) -> Option<&'static str> {
        match self.reported(128)? & 6 {
            6 => Some("locked by a password"),
            2 => Some("a password is set"),
            _ => None,
        }
    }

    /// A word that the drive reports: neither all zeroes nor all ones.
    fn reported(&self, n: usize) -> Option<u16> {
        Some(self.0[n]).filter(|word| *word != 0 && *word != u16::MAX)
    }

    /// A word marked as valid by its two highest bits.
    fn valid(&self, n: usize) -> Option<u16> {
        Some(self.0[n]).filter(|word| word & 0xc000 == 0x4000)
    }

    fn text(&self, from: usize, to: usize) -> Option<String> {
        let bytes: Vec<u8> = self.0[from..to].iter().flat_map(|word| word.to_be_bytes()).collect();
        super::text(&bytes)
    }
}

/// Content of blocks after TRIM, as reported by the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AfterTrim {
    Zeroes,
    Same,
    Anything,
}

impl AfterTrim {
    pub fn words(self) -> &'static str {
        match self {
            AfterTrim::Zeroes => "reads zeroes afterwards (RZAT)",
            AfterTrim::Same => "reads the same data every time afterwards (DRAT)",
            AfterTrim::Anything => "reads indeterminate data afterwards",
        }
    }
}

/// An ATA command that reads one page, as ATA PASS-THROUGH (16): PIO data-in, one block, length in
/// the sector count.
pub(crate) fn pass_through(command: u8, feature: u8, address: [u8; 6]) -> [u8; 16] {
    const PIO_IN: u8 = 4 << 1;
    // From the device, in blocks, length in the count; no registers returned.
    const FLAGS: u8 = 0x0e;
    // A 48-bit command has the upper halves next to the lower ones.
    let is_long = command == READ_LOG_EXT;
    let [low, mid, high, low_2, mid_2, high_2] = address;
    let protocol = PIO_IN | u8::from(is_long);
    [0x85, protocol, FLAGS, 0, feature, 0, 1, low_2, low, mid_2, mid, high_2, high, 0, command, 0]
}

/// IDENTIFY DEVICE.
pub(crate) const IDENTIFY: u8 = 0xec;
/// SMART, with the sub-command in the feature register and C24Fh in the address.
const SMART: u8 = 0xb0;
const SMART_READ_DATA: u8 = 0xd0;
const READ_LOG_EXT: u8 = 0x2f;
/// The log of device statistics.
const STATISTICS: u8 = 0x04;

/// The IDENTIFY DEVICE command.
pub(crate) fn identify_command() -> [u8; 16] {
    pass_through(IDENTIFY, 0, [0; 6])
}

/// The SMART READ DATA command.
pub(crate) fn smart_command() -> [u8; 16] {
    pass_through(SMART, SMART_READ_DATA, [0, 0x4f, 0xc2, 0, 0, 0])
}

/// The command that reads one page of the device statistics.
pub(crate) fn statistics_command(page: u8) -> [u8; 16] {
    pass_through(READ_LOG_EXT, 0, [STATISTICS, page, 0, 0, 0, 0])
}

/// A value of the device statistics (ACS-3, A.5). The two highest bits mean supported and valid;
/// the value is in the lower 32 or 56 bits, depending on its kind.
pub(crate) fn statistic(page: &[u8], number: u8, at: usize, bits: u32) -> Option<u64> {
    let header = u64_at(page, 0)?;
    let value = u64_at(page, at)?;
    // Byte 2 of the header is the page number.
    let is_page = header >> 16 & 0xff == u64::from(number);
    (is_page && value >> 62 == 3).then_some(value & ((1 << bits) - 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn page(fields: &[(usize, &str)], word_76: u16) -> Vec<u8> {
        let mut page = vec![b' '; HEADER_BYTES + 2 * WORDS];
        for (word, text) in fields {
            for (i, byte) in text.bytes().enumerate() {
                page[HEADER_BYTES + 2 * word + (i ^ 1)] = byte;
            }
        }
        page[HEADER_BYTES + 152..][..2].copy_from_slice(&word_76.to_le_bytes());
        page
    }

    fn words(set: &[(usize, u16)]) -> Identify {
        let mut words = [0; WORDS];
        words[0] = 0x40;
        set.iter().for_each(|(n, word)| words[*n] = *word);
        Identify(words)
    }

    #[test]
    fn text_has_its_bytes_swapped() {
        let model = "Acme SSD 870 EVO Example 1TB";
        let page = page(&[(10, "S6PUNX0T123456"), (23, "SVT02B6Q"), (27, model)], 0x000e);
        let identify = Identify::parse(&page).expect("whole page");
        assert_eq!(identify.model().as_deref(), Some(model));
        assert_eq!(identify.serial().as_deref(), Some("S6PUNX0T123456"));
        assert_eq!(identify.firmware().as_deref(), Some("SVT02B6Q"));
        assert_eq!(identify.generation_max(), Some(3));
    }

    #[test]
    fn unreported_words_are_unknown() {
        let identify = Identify::parse(&page(&[], 0xffff)).expect("whole page");
        assert_eq!((identify.model(), identify.generation_max()), (None, None));
        assert!(Identify::parse(&[0; 100]).is_none());
        assert!(Identify::parse_words(&[0; 512]).is_none(), "all zeroes are not a response");
        let nothing = words(&[]);
        assert_eq!(nothing.rotation(), None);
        assert_eq!((nothing.sectors(), nothing.alignment_bytes()), ((512, 512), 0));
        assert!(!nothing.trims() && !nothing.smart() && !nothing.logs());
    }

    #[test]
    fn sectors_and_their_alignment() {
        let advanced = words(&[(106, 0x6003), (209, 0x4001)]);
        assert_eq!((advanced.sectors(), advanced.alignment_bytes()), ((512, 4096), 512));
        let native = words(&[(106, 0x5000), (117, 2048)]);
        assert_eq!(native.sectors(), (4096, 4096));
    }

    #[test]
    fn trim_and_the_content_after_it() {
        let of = |word_69| words(&[(169, 1), (69, word_69), (105, 8)]);
        assert!(of(0).trims());
        assert_eq!(of(0).after_trim(), AfterTrim::Anything);
        assert_eq!(of(0x4000).after_trim(), AfterTrim::Same);
        assert_eq!(of(0x4020).after_trim(), AfterTrim::Zeroes);
        assert_eq!(of(0x0020).after_trim(), AfterTrim::Anything, "RZAT means nothing without DRAT");
        assert_eq!(of(0).trim_ranges(), Some(512));
        assert_eq!(
            (words(&[(217, 1)]).rotation(), words(&[(217, 7200)]).rotation()),
            (Some(0), Some(7200))
        );
    }

    #[test]
    fn commands_follow_the_standard() {
        assert_eq!(identify_command(), [0x85, 8, 0x0e, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0xec, 0]);
        assert_eq!(
            smart_command(),
            [0x85, 8, 0x0e, 0, 0xd0, 0, 1, 0, 0, 0, 0x4f, 0, 0xc2, 0, 0xb0, 0]
        );
        assert_eq!(
            statistics_command(7),
            [0x85, 9, 0x0e, 0, 0, 0, 1, 0, 4, 0, 7, 0, 0, 0, 0x2f, 0]
        );
    }

    #[test]
    fn a_statistic_counts_only_when_it_is_valid() {
        let mut page = vec![0; PAGE_BYTES];
        page[2] = 7;
        page[8..16].copy_from_slice(&(3u64 << 62 | 12).to_le_bytes());
        page[16..24].copy_from_slice(&(1u64 << 63 | 5).to_le_bytes());
        assert_eq!(statistic(&page, 7, 8, 8), Some(12));
        assert_eq!(statistic(&page, 1, 8, 8), None, "another page");
        assert_eq!(statistic(&page, 7, 16, 8), None, "supported and not valid");
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..700)) {
            if let Some(identify) = Identify::parse(&bytes) {
                let _ = (identify.model(), identify.serial(), identify.generation_max());
                let _ = (identify.sectors(), identify.alignment_bytes(), identify.after_trim());
                let _ = (identify.rotation(), identify.trim_ranges(), identify.security());
            }
            statistic(&bytes, 7, 8, 56);
        }
    }
}
