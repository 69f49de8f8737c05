//! An image as `restore` reads it: checked blocks in ascending order, and the time spent on them.

use workload::{Content, Filler};

use script::Options;

use super::SOURCE_RATE;

/// Bytes of a block.
const BLOCK: usize = 1 << 20;

/// Default size of generated content; less on a smaller target.
const GENERATED: u64 = 64 << 20;

/// A block that was inflated and checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageBlock {
    /// First byte on the target.
    pub offset: u64,
    /// Content.
    pub bytes: Vec<u8>,
}

/// Work done for the blocks so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Bytes of the image read.
    pub image_bytes: u64,
    /// Time spent reading, nanoseconds; 0: nothing is read.
    pub source_ns: u64,
    /// Time spent inflating and checking, nanoseconds; 0: no such work.
    pub processor_ns: u64,
    /// Time from the first read to the end, nanoseconds.
    pub elapsed_ns: u64,
}

/// The blocks of an image, one after the other.
pub trait BlockSource {
    /// The next block; `None` after the last.
    ///
    /// # Errors
    /// The place and the reason, if the image is broken or cannot be read. No block follows.
    fn next_block(&mut self) -> Result<Option<ImageBlock>, String>;

    /// Work done so far.
    fn spent(&self) -> Spent;

    /// Time from the start at which the next block arrives, on the target's clock, nanoseconds; 0:
    /// the source has a clock of its own, or there is no next block.
    fn arrives_ns(&self) -> u64 {
        0
    }
}

/// An image that can be opened.
pub trait ImageFile: Send + Sync {
    /// Its name for messages.
    fn name(&self) -> String;

    /// Bytes of the target that it covers.
    fn bytes(&self) -> u64;

    /// Maximum bytes written.
    fn written(&self) -> u64 {
        self.bytes()
    }

    /// Minimum time until its last block arrives, on the target's clock, nanoseconds.
    fn arrival_ns(&self) -> u64 {
        0
    }

    /// Whether the target must hold its content afterwards; a virtual drive otherwise only takes the
    /// time that the writes take.
    fn is_kept(&self) -> bool {
        true
    }

    /// Starts reading.
    ///
    /// # Errors
    /// The reason why it cannot be read.
    fn open(&self) -> Result<Box<dyn BlockSource>, String>;
}

/// Blocks of random content, generated before they are written. With a rate, each arrives when a
/// source of that rate would have read it.
pub(super) struct Generated {
    bytes: u64,
    seed: u64,
    /// Bytes per second of the source.
    rate: Option<f64>,
}

impl Generated {
    /// Whole blocks of the requested size, by default the smaller of 64 MiB and the target.
    pub fn new(options: &Options, target_bytes: u64) -> Generated {
        let bytes = options.size.unwrap_or(GENERATED.min(target_bytes)) / BLOCK as u64;
        let rate = options.get(&SOURCE_RATE);
        Generated { bytes: bytes.max(1) * BLOCK as u64, seed: options.seed, rate }
    }
}

impl ImageFile for Generated {
    fn name(&self) -> String {
        "generated blocks".into()
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn arrival_ns(&self) -> u64 {
        read_ns(self.bytes, self.rate)
    }

    fn is_kept(&self) -> bool {
        false
    }

    fn open(&self) -> Result<Box<dyn BlockSource>, String> {
        let filler = Filler::new(Content::Random, self.seed);
        Ok(Box::new(Generating { filler, at: 0, bytes: self.bytes, rate: self.rate }))
    }
}

struct Generating {
    filler: Filler,
    at: u64,
    bytes: u64,
    rate: Option<f64>,
}

impl BlockSource for Generating {
    fn next_block(&mut self) -> Result<Option<ImageBlock>, String> {
        if self.at >= self.bytes {
            return Ok(None);
        }
        let (offset, mut bytes) = (self.at, vec![0; BLOCK]);
        self.filler.fill(&mut bytes, offset);
        self.at += BLOCK as u64;
        Ok(Some(ImageBlock { offset, bytes }))
    }

    fn spent(&self) -> Spent {
        Spent { source_ns: read_ns(self.at, self.rate), ..Spent::default() }
    }

    fn arrives_ns(&self) -> u64 {
        if self.at < self.bytes { read_ns(self.at + BLOCK as u64, self.rate) } else { 0 }
    }
}

/// The time that a source needs to read `bytes`; 0 without a rate.
fn read_ns(bytes: u64, rate: Option<f64>) -> u64 {
    rate.map_or(0, |rate| (bytes as f64 / rate * 1e9) as u64)
}
