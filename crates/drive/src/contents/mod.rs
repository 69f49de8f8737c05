//! Contents of a device: file systems, swap, encrypted and RAID members, partition tables.
//!
//! They are listed before a device is overwritten and shown by `ssdyno list`. Recognition uses the
//! magic numbers of [`magic`] and the tables of [`crate::partitions`]. The parsers accept any
//! bytes.

mod magic;

use serde::Serialize;

use crate::image::Image;
use crate::machine::printable;
use crate::partitions::{self, PartitionEntry};

/// Recognised content of a device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DeviceContent {
    /// `ext4`, `vfat`, `crypto_LUKS`, `gpt`, `mbr`, ... in the terms of `lsblk`; `data` for
    /// non-zero bytes of an unknown kind.
    pub kind: String,
    /// Label, or partition name in the table, if any.
    pub label: Option<String>,
    /// Number of the partition that contains it; `None` on the device itself.
    pub partition: Option<u32>,
}

impl DeviceContent {
    fn new(kind: &str, label: Option<String>) -> DeviceContent {
        let label = label.map(|label| printable(&label));
        DeviceContent { kind: kind.to_string(), label, partition: None }
    }
}

/// Part of an image, for the content of a partition.
struct Slice<'a, I: Image + ?Sized> {
    image: &'a I,
    start: u64,
    bytes: u64,
}

impl<I: Image + ?Sized> Image for Slice<'_, I> {
    fn look(&self, offset: u64, length: usize) -> Option<Vec<u8>> {
        let end = offset.checked_add(length as u64)?;
        (end <= self.bytes).then(|| self.image.look(self.start.checked_add(offset)?, length))?
    }
}

/// Contents of the first `bytes` of an image and of the partitions in its table. Empty if nothing
/// is recognised and the image looks blank.
pub(crate) fn scan<I: Image + ?Sized>(
    image: &I,
    bytes: u64,
    block_bytes: u32,
) -> Vec<DeviceContent> {
    let (mut contents, entries) = outer(image, bytes, block_bytes);
    contents.extend(entries.iter().flat_map(|entry| inside(image, entry)));
    contents
}

/// [`scan`] without the content of partitions.
pub(crate) fn surface<I: Image + ?Sized>(
    image: &I,
    bytes: u64,
    block_bytes: u32,
) -> Vec<DeviceContent> {
    outer(image, bytes, block_bytes).0
}

/// Content of a partition.
pub(crate) fn part<I: Image + ?Sized>(image: &I, start: u64, bytes: u64) -> Vec<DeviceContent> {
    magic::find(&Slice { image, start, bytes }, bytes)
}

fn outer<I: Image + ?Sized>(
    image: &I,
    bytes: u64,
    block: u32,
) -> (Vec<DeviceContent>, Vec<PartitionEntry>) {
    let mut contents = magic::find(image, bytes);
    // These boot sectors end like a partition table.
    let boot_sector =
        contents.iter().any(|f| ["vfat", "exfat", "ntfs", "BitLocker"].contains(&&*f.kind));
    let table = partitions::find(image, bytes, block, boot_sector);
    let entries = table.map(|table| {
        contents.push(DeviceContent::new(table.kind, None));
        table.entries
    });
    if contents.is_empty() && !blank(image, bytes) {
        contents.push(DeviceContent::new("data", None));
    }
    (contents, entries.unwrap_or_default())
}

fn inside<I: Image + ?Sized>(image: &I, entry: &PartitionEntry) -> Vec<DeviceContent> {
    let mut contents = part(image, entry.start, entry.bytes);
    if contents.is_empty() {
        contents.push(DeviceContent::new("partition", None));
    }
    for content in &mut contents {
        content.partition = Some(entry.number);
        // Recognised contents have their own names.
        let kind = entry.kind.name().filter(|_| content.kind == "partition");
        content.label =
            content.label.take().or_else(|| entry.name.as_deref().or(kind).map(printable));
    }
    contents
}

/// Whether the first MiB and the last 64 KiB are all zeros. Unreadable parts do not count as blank.
fn blank<I: Image + ?Sized>(image: &I, bytes: u64) -> bool {
    let end = bytes.min(64 << 10);
    [(0, bytes.min(1 << 20)), (bytes - end, end)].into_iter().all(|(offset, length)| {
        let look = image.look(offset, length as usize);
        look.is_some_and(|bytes| bytes.iter().all(|byte| *byte == 0))
    })
}

/// The contents as one line: `gpt; 1: vfat 'EFI'; 2: ext4`.
pub(crate) fn in_words(found: &[DeviceContent]) -> String {
    if found.is_empty() {
        return "blank, nothing recognised".into();
    }
    let words: Vec<String> = found.iter().map(DeviceContent::in_words).collect();
    words.join("; ")
}

impl DeviceContent {
    fn in_words(&self) -> String {
        let kind = match self.kind.as_str() {
            "data" => "unknown data",
            "gpt" => "GPT partition table",
            "mbr" => "MBR partition table",
            kind => kind,
        };
        let place = self.partition.map(|number| format!("{number}: ")).unwrap_or_default();
        let label = self.label.as_ref().map(|label| format!(" '{label}'"));
        format!("{place}{kind}{}", label.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn blank_and_unknown_are_distinguished() {
        let mut image = vec![0u8; 2 << 20];
        let scan = |image: &[u8]| scan(image, image.len() as u64, 512);
        assert_eq!(scan(&image), []);
        image[4711] = 1;
        assert_eq!(in_words(&scan(&image)), "unknown data");
    }

    #[test]
    fn labels_cannot_control_a_terminal() {
        let content = DeviceContent::new("ext4", Some("a\u{1b}[2Jb".into()));
        assert_eq!(in_words(&[content]), "ext4 'a\u{fffd}[2Jb'");
    }

    /// Positions that parsers inspect, so that random bytes reach them.
    fn mutated() -> impl Strategy<Value = Vec<u8>> {
        let spots = prop::sample::select(vec![
            0usize, 3, 32, 446, 510, 512, 584, 592, 1024, 1080, 1120, 3520, 4072, 4086, 4096,
            32769, 65600, 131072,
        ]);
        let magics = prop::sample::select(vec![
            &b"EFI PART"[..],
            b"\x55\xaa",
            b"XFSB",
            b"\x53\xef",
            b"LABELONE",
            b"_BHRfS_M",
            b"NTFS    ",
            b"SWAPSPACE2",
            b"CD001",
            b"\xfc\x4e\x2b\xa9",
            b"FAT32   ",
            b"\x0c\xb1\xba\0\0\0\0\0",
        ]);
        let piece = prop_oneof![
            prop::collection::vec(any::<u8>(), 1..128),
            magics.prop_map(|magic| magic.to_vec()),
        ];
        let pieces = prop::collection::vec((spots, piece), 0..12);
        (pieces, 0usize..200_000).prop_map(|(pieces, length)| {
            let mut image = vec![0; 200_000];
            for (at, bytes) in pieces {
                image[at..at + bytes.len()].copy_from_slice(&bytes);
            }
            image.truncate(length);
            image
        })
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_do_not_panic(image in mutated(), claimed: u64, four_k: bool) {
            let block = if four_k { 4096 } else { 512 };
            in_words(&scan(image.as_slice(), image.len() as u64, block));
            scan(image.as_slice(), claimed, block);
            scan(image.as_slice(), u64::MAX, 0);
        }
    }
}
