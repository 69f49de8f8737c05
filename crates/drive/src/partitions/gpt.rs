//! GPT (UEFI 2.10, chapter 5): a header in the second block, then entries, and a copy at the end.

use super::kind::PartitionType;
use super::{ENTRIES_MAX, PartitionEntry, PartitionTable};
use crate::image::Image;
use crate::response::{u32_at, u64_at};

/// The table of an image with blocks of `block` bytes.
pub(super) fn read<I: Image + ?Sized>(image: &I, bytes: u64, block: u64) -> Option<PartitionTable> {
    let header_at = |at| image.look(at, 92).filter(|header| header.starts_with(b"EFI PART"));
    let Some(header) = header_at(block) else {
        // The copy in the last block survives if the start is overwritten.
        let copy = bytes.checked_sub(block).filter(|_| block > 0).and_then(header_at);
        return copy.map(|_| PartitionTable { kind: "gpt", entries: Vec::new() });
    };
    let entries_at = u64_at(&header, 72)?.checked_mul(block)?;
    let (count, size) = (u32_at(&header, 80)?.min(ENTRIES_MAX), u32_at(&header, 84)?);
    let plausible = (128..=4096).contains(&size);
    let numbers = 0..if plausible { count } else { 0 };
    let entries = numbers.filter_map(|index| {
        let offset = entries_at.checked_add(u64::from(index) * u64::from(size))?;
        entry_of(&image.look(offset, 128)?, index + 1, block, bytes)
    });
    Some(PartitionTable { kind: "gpt", entries: entries.collect() })
}

fn entry_of(entry: &[u8], number: u32, block: u64, bytes: u64) -> Option<PartitionEntry> {
    if entry[..16].iter().all(|byte| *byte == 0) {
        return None;
    }
    let (first, last) = (u64_at(entry, 32)?, u64_at(entry, 40)?);
    let start = first.checked_mul(block)?;
    let end = last.checked_add(1)?.checked_mul(block)?;
    let units: Vec<u16> = entry[56..]
        .chunks_exact(2)
        .map(|c| u16::from_le_bytes([c[0], c[1]]))
        .take_while(|u| *u != 0)
        .collect();
    let name = String::from_utf16_lossy(&units).trim().to_string();
    let name = (!name.is_empty()).then_some(name);
    let kind = PartitionType::gpt(entry[..16].try_into().ok()?);
    (start < end && end <= bytes).then(|| PartitionEntry {
        number,
        start,
        bytes: end - start,
        kind,
        name,
    })
}
