//! The names and sizes of the workloads that separate causes, as methods issue them and rules find
//! them: the same workload with one thing changed.

use record::Places;
use workload::OpKind;
use workload::OpKind::{Read, Write};

/// Queue depth of the deep cells.
pub const DEPTH: u32 = 32;

/// Queue depth of large blocks in order.
pub const LARGE_DEPTH: u32 = 8;

/// The evidence of how many commands a drive takes at a time.
pub const COMMANDS_AT_A_TIME: &str = "rate at depth 32 / at depth 1";

/// A depth larger than that of any cell.
pub const DEEPER: u32 = 128;

/// Larger blocks, as multiples of the small ones.
pub const LARGER: [u32; 2] = [4, 16];

/// Larger blocks of writes, which may be whole mapping units: 8, 16, 32 and 64 KiB.
pub const UNITS: [u32; 4] = [2, LARGER[0], 8, LARGER[1]];

/// A burst of writes to an idle drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteBurst {
    /// Block size as a multiple of the small blocks; 0: a large block.
    pub blocks: u32,
    /// Number of blocks.
    pub count: u64,
    pub depth: u32,
}

/// The bursts, cheapest first. A slow controller accepts the first block at once, hence several. The
/// first fits the buffer of most cards. The fourth, 256 KiB, fits that of small drives, in a queue, so
/// that commands do not hide the rate. The last, of large blocks, fits that of most drives.
pub const BURSTS: [WriteBurst; 5] = [
    WriteBurst { blocks: LARGER[0], count: 8, depth: 1 },
    WriteBurst { blocks: 1, count: 64, depth: 1 },
    WriteBurst { blocks: 1, count: 128, depth: DEPTH },
    WriteBurst { blocks: LARGER[0], count: 16, depth: DEPTH },
    WriteBurst { blocks: 0, count: 6, depth: 1 },
];

/// The bursts behind a slow link, where large ones take seconds and exceed the buffer of a card. A
/// single transfer fills a block, so that its turn-around does not hide the rate, and the second
/// block shows whether the controller has taken in the first.
pub const SLOW_BURSTS: [WriteBurst; 5] = [
    BURSTS[0],
    BURSTS[1],
    BURSTS[2],
    WriteBurst { blocks: LARGER[1], count: 1, depth: 1 },
    WriteBurst { blocks: LARGER[1], count: 2, depth: 1 },
];

impl WriteBurst {
    /// The workload's name, for blocks of this size in bytes.
    pub fn name(self, block: u32) -> String {
        if self.count <= 2 { first_name(block, self.count) } else { burst_name(block, self.depth) }
    }
}

/// Size of a region of near blocks: one allocation unit of a card, a few parts of a cached map, yet
/// a stripe over all dies of a drive.
pub const NEAR_BYTES: u64 = 4 << 20;

/// Word in the names of cells that read data just written.
pub const JUST_WRITTEN: &str = "just-written";

/// The read after a rest.
pub const AFTER_REST: &str = "check-read-after-rest";

/// Flushes with nothing to flush, each after a read.
pub const EMPTY_FLUSH: &str = "cause-flush-nothing";

/// Name of the test for a limit with blocks of this size, which begins after a rest.
pub fn limit_test_name(block: u32) -> String {
    format!("cause-read-limit-{}", record::size_word(u64::from(block)))
}

/// The rest before each run of a test for a limit, in times that a run lasts. What a bucket that is not
/// full lets pass differs with it.
pub const LIMIT_RESTS: [f64; 2] = [1.0, 2.0];

/// What uses up a bucket before a test for a limit.
pub const BEFORE_LIMIT: &str = "cause-read-before-limit";

/// Name of what follows a test for a limit with blocks of this size at once, with blocks of another.
pub fn other_size_name(tested: u32, block: u32) -> String {
    let [tested, block] = [tested, block].map(|bytes| record::size_word(u64::from(bytes)));
    format!("cause-read-limited-{tested}-{block}")
}

/// Whether a workload of this name follows the test for a limit with blocks of this size.
pub fn is_other_size_of(name: &str, tested: u32) -> bool {
    let tested = record::size_word(u64::from(tested));
    name.strip_prefix("cause-read-limited-")
        .is_some_and(|rest| rest.starts_with(&format!("{tested}-")))
}

/// Whether a workload of this name is a test for a limit.
pub fn is_limit_test(name: &str) -> bool {
    name.starts_with("cause-read-limit-")
}

/// Location of a test's blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addressing {
    Random,
    InOrder,
    /// Random within [`NEAR_BYTES`].
    Near,
    /// The unchanged cell between the tests, to detect drift.
    Again,
    /// The unchanged cell once more.
    After,
}

impl Addressing {
    /// All of them.
    const ALL: [Addressing; 5] = [
        Addressing::Random,
        Addressing::InOrder,
        Addressing::Near,
        Addressing::Again,
        Addressing::After,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Addressing::Random => "random",
            Addressing::InOrder => "in-order",
            Addressing::Near => "near",
            Addressing::Again => "again",
            Addressing::After => "after",
        }
    }
}

/// The kind and location of the test with this name.
pub fn test_named(name: &str) -> Option<(OpKind, Addressing)> {
    let places =
        Places::parse("cause-{read,write}-{random,in-order,near,again,after}-{size}-{n}", name)?;
    let kind = [Read, Write].into_iter().find(|kind| kind.name() == places.word(0))?;
    let place = Addressing::ALL.into_iter().find(|place| place.name() == places.word(1))?;
    Some((kind, place))
}

/// Name of the burst of blocks of this size at this depth.
pub fn burst_name(block: u32, depth: u32) -> String {
    format!("cause-write-burst-{}-{depth}", record::size_word(u64::from(block)))
}

/// Name of the burst of the first one or two blocks of this size.
pub fn first_name(block: u32, count: u64) -> String {
    format!("cause-write-first-{count}-of-{}", record::size_word(u64::from(block)))
}
