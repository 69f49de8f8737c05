//! What a SATA drive says of itself: the words of IDENTIFY DEVICE.
//!
//! The kernel keeps them in VPD page 0x89 (ATA Information, SAT-3 12.4.2), where anybody may read
//! them: 60 bytes of header, then the 512 bytes of the drive. Words are little-endian, text has its
//! bytes swapped. Sources: ACS-3, 7.12.7 (IDENTIFY DEVICE).

use crate::node::Node;

const HEADER_BYTES: usize = 60;
const WORDS: usize = 256;

/// The answer to IDENTIFY DEVICE.
#[derive(Debug)]
pub(crate) struct Identify([u16; WORDS]);

impl Identify {
    pub fn of(disk: &Node) -> Option<Identify> {
        Identify::parse(&std::fs::read(disk.dir.join("device/vpd_pg89")).ok()?)
    }

    /// From the VPD page.
    pub fn parse(page: &[u8]) -> Option<Identify> {
        let data = page.get(HEADER_BYTES..HEADER_BYTES + 2 * WORDS)?;
        let mut words = [0; WORDS];
        for (word, bytes) in words.iter_mut().zip(data.chunks_exact(2)) {
            *word = u16::from_le_bytes([bytes[0], bytes[1]]);
        }
        Some(Identify(words))
    }

    /// Words 10 to 19.
    pub fn serial(&self) -> Option<String> {
        self.text(10, 20)
    }

    /// Words 23 to 26.
    pub fn firmware(&self) -> Option<String> {
        self.text(23, 27)
    }

    /// Words 27 to 46.
    pub fn model(&self) -> Option<String> {
        self.text(27, 47)
    }

    /// The fastest generation of SATA the drive can do (word 76, bits 1 to 3); 0 and FFFFh: not told.
    pub fn generation_max(&self) -> Option<u32> {
        let word = self.0[76];
        let told = word != 0 && word != u16::MAX;
        told.then(|| (1..=3).rev().find(|bit| word & (1 << bit) != 0)).flatten()
    }

    fn text(&self, from: usize, to: usize) -> Option<String> {
        let bytes: Vec<u8> = self.0[from..to].iter().flat_map(|word| word.to_be_bytes()).collect();
        let text = String::from_utf8_lossy(&bytes);
        let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
        (!text.is_empty()).then(|| text.to_string())
    }
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
    fn what_is_not_told_is_unknown() {
        let identify = Identify::parse(&page(&[], 0xffff)).expect("whole page");
        assert_eq!((identify.model(), identify.generation_max()), (None, None));
        assert!(Identify::parse(&[0; 100]).is_none());
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..700)) {
            if let Some(identify) = Identify::parse(&bytes) {
                let _ = (identify.model(), identify.serial(), identify.generation_max());
            }
        }
    }
}
