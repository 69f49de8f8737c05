//! What drives answer, as bytes, read without complaint: whatever comes, and however little.
//!
//! Pure. A field that is not there, or that the drive says is not valid, is `None`. The commands
//! that fetch these bytes are in `ask`.

pub(crate) mod ata;
pub(crate) mod card;
pub(crate) mod nvme;
pub(crate) mod scsi;
pub(crate) mod smart;

/// `N` bytes at an offset, as they stand.
pub(crate) fn bytes<const N: usize>(data: &[u8], at: usize) -> Option<[u8; N]> {
    data.get(at..at.checked_add(N)?)?.try_into().ok()
}

/// Bytes in hexadecimal, without anything between.
pub(crate) fn hex(data: &[u8]) -> String {
    data.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Text as drives keep it: padded with blanks or NULs, possibly not text at all.
pub(crate) fn text(data: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(data);
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    (!text.is_empty()).then(|| crate::machine::printable(text))
}
