//! The bytes of an image: a header, then a record for each block in ascending order.
//!
//! All numbers are little-endian. The header is 40 bytes: the magic, the block length (4), zero
//! (4), the source length (8), and xxh3 of these (8). A record has a head of 24 bytes: the block
//! number (8), the kind (4), the number of stored bytes (4), and xxh3 of the content with the block
//! number as its seed (8). The stored bytes follow: deflated, plain, or none for a block of zeros.
//! Every block of the source has a record, so a missing one is detected. Parsing allocates at most
//! one block and never panics.

use miniz_oxide::deflate::compress_to_vec;
use miniz_oxide::inflate::decompress_to_vec_with_limit;
use thiserror::Error;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// Marks an image; its last byte is the version.
pub(super) const MAGIC: [u8; 16] = *b"ssdyno image\0\0\0\x01";

/// Length of the header.
pub const HEADER: usize = 40;

/// Length of the head of a record.
pub const RECORD: usize = 24;

/// Block length used by `make`, bytes.
pub const BLOCK: u32 = 1 << 20;

/// Accepted block lengths.
const BLOCKS: std::ops::RangeInclusive<u32> = 4096..=16 << 20;

/// The largest source, bytes; larger than any drive.
const SOURCE_MAX: u64 = 1 << 50;

/// Compression level; the default of most deflate implementations.
const LEVEL: u8 = 6;

/// A defect of an image.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ImageError {
    /// The magic is missing.
    #[error("not an ssdyno image")]
    NoImage,
    /// The header is damaged, or its values are impossible.
    #[error("the header is damaged")]
    Header,
    /// The file ends too early.
    #[error("it ends within block {block} of {blocks}, at byte {at}")]
    Ends {
        /// The incomplete block, from 0.
        block: u64,
        /// Number of blocks in the image.
        blocks: u64,
        /// Byte offset in the image.
        at: u64,
    },
    /// A block is damaged.
    #[error("block {block} of {blocks} at byte {at} is damaged: {why}")]
    Block {
        block: u64,
        /// Number of blocks in the image.
        blocks: u64,
        /// Offset of its record in the image.
        at: u64,
        /// The defect.
        why: &'static str,
    },
}

/// The header of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Bytes per block; the last one can be shorter.
    pub block_bytes: u32,
    /// Bytes of the source.
    pub bytes: u64,
}

impl Head {
    pub fn blocks(&self) -> u64 {
        self.bytes.div_ceil(u64::from(self.block_bytes))
    }

    /// The offset of a block on the target, and its length.
    pub fn place(&self, block: u64) -> (u64, usize) {
        let offset = block * u64::from(self.block_bytes);
        (offset, u64::from(self.block_bytes).min(self.bytes - offset) as usize)
    }

    /// Encodes the header.
    pub fn to_bytes(self) -> [u8; HEADER] {
        let mut header = [0; HEADER];
        header[..16].copy_from_slice(&MAGIC);
        header[16..20].copy_from_slice(&self.block_bytes.to_le_bytes());
        header[24..32].copy_from_slice(&self.bytes.to_le_bytes());
        let sum = xxh3_64(&header[..32]);
        header[32..].copy_from_slice(&sum.to_le_bytes());
        header
    }
}

/// Parses the header.
pub fn head(bytes: &[u8]) -> Result<Head, ImageError> {
    if !bytes.starts_with(&MAGIC) {
        return Err(ImageError::NoImage);
    }
    let (Some(block_bytes), Some(source), Some(sum), Some(summed)) =
        (u32_at(bytes, 16), u64_at(bytes, 24), u64_at(bytes, 32), bytes.get(..32))
    else {
        return Err(ImageError::Header);
    };
    let possible = BLOCKS.contains(&block_bytes)
        && block_bytes.is_power_of_two()
        && (1..=SOURCE_MAX).contains(&source)
        && source.is_multiple_of(512);
    if possible && sum == xxh3_64(summed) {
        Ok(Head { block_bytes, bytes: source })
    } else {
        Err(ImageError::Header)
    }
}

/// How the content of a block is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Deflated,
    Plain,
    Zeros,
}

/// The head of a record, checked against the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    block: u64,
    kind: Kind,
    /// Number of stored bytes that follow.
    pub stored: u32,
    /// Length of the content.
    bytes: usize,
    sum: u64,
    blocks: u64,
    at: u64,
}

/// Parses the head of a block's record, at byte `at` of the image.
pub fn record(bytes: &[u8], head: &Head, block: u64, at: u64) -> Result<Record, ImageError> {
    let blocks = head.blocks();
    let wrong = |why| Err(ImageError::Block { block, blocks, at, why });
    let (Some(number), Some(kind), Some(stored), Some(sum)) =
        (u64_at(bytes, 0), u32_at(bytes, 8), u32_at(bytes, 12), u64_at(bytes, 16))
    else {
        return Err(ImageError::Ends { block, blocks, at });
    };
    if number != block || block >= blocks {
        return wrong("the record belongs to another block");
    }
    let length = head.place(block).1;
    let kind = match (kind, stored as usize) {
        (1, 1..) if (stored as usize) < length => Kind::Deflated,
        (2, plain) if plain == length => Kind::Plain,
        (3, 0) => Kind::Zeros,
        _ => return wrong("invalid kind or length"),
    };
    Ok(Record { block, kind, stored, bytes: length, sum, blocks, at })
}

impl Record {
    /// Decodes the content from the stored bytes.
    pub fn content(&self, stored: &[u8]) -> Result<Vec<u8>, ImageError> {
        let Record { block, blocks, at, .. } = *self;
        let wrong = |why| Err(ImageError::Block { block, blocks, at, why });
        let content = match self.kind {
            Kind::Zeros => vec![0; self.bytes],
            Kind::Plain => stored.to_vec(),
            Kind::Deflated => match decompress_to_vec_with_limit(stored, self.bytes) {
                Ok(content) => content,
                Err(_) => return wrong("decompression failed"),
            },
        };
        if content.len() == self.bytes && xxh3_64_with_seed(&content, block) == self.sum {
            Ok(content)
        } else {
            wrong("wrong checksum")
        }
    }
}

/// Encodes the record of a block, with its stored bytes.
pub fn stored(block: u64, content: &[u8]) -> Vec<u8> {
    let zeros = content.iter().all(|byte| *byte == 0);
    let deflated = if zeros { Vec::new() } else { compress_to_vec(content, LEVEL) };
    let (kind, stored): (u32, &[u8]) = if zeros {
        (3, &[])
    } else if deflated.len() < content.len() {
        (1, &deflated)
    } else {
        (2, content)
    };
    let mut record = Vec::with_capacity(RECORD + stored.len());
    record.extend(block.to_le_bytes());
    record.extend(kind.to_le_bytes());
    record.extend((stored.len() as u32).to_le_bytes());
    record.extend(xxh3_64_with_seed(content, block).to_le_bytes());
    record.extend(stored);
    record
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}
