//! Parsers of the bytes that drives return.
//!
//! They accept input of any content and length without panicking. Missing or invalid fields are
//! `None`. The commands that fetch the bytes are in `query`.

pub(crate) mod ata;
pub(crate) mod card;
pub(crate) mod nvme;
pub(crate) mod scsi;
pub(crate) mod smart;

pub(crate) use ::nvme::identify::{bytes, u32_at, u64_at};

/// Bytes in hexadecimal, without separators.
pub(crate) fn hex(data: &[u8]) -> String {
    data.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Text in a drive's format: padded with blanks or NULs, possibly not valid UTF-8.
pub(crate) fn text(data: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(data);
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    (!text.is_empty()).then(|| crate::machine::printable(text))
}
