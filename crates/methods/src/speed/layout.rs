//! The layout of `speed`: locations, chunk sizes and repeats.

use record::{MetricKey, Safety, TargetKind, size_word};
use rig::TargetInfo;
use workload::{Content, Mix, OpKind, Pattern, Region, Stop, Workload};

use super::{CHUNK, PASS, PLACE};
use script::{Options, Result, TestRegion};

/// Bytes read and written back at each location, as in the old tool.
const LENGTH: u64 = 32 << 20;

const MIB: u64 = 1 << 20;

/// Maximum chunk, bytes; most hosts split larger ones.
const CHUNK_MAX: u64 = MIB;

/// Minimum chunk of the sweep, bytes.
const CHUNK_MIN: u32 = 4 << 10;

/// Maximum number of sizes in the sweep; more would leave less time for each.
const SIZES_MAX: usize = 6;

/// A drive of at least this many bytes per second reads and writes the whole location in chunks of
/// every size; a slower one divides the location among the sizes.
const WHOLE_PLACE: f64 = 64e6;

/// Label of the location that the old tool reads.
const START: &str = "start";

/// A location on the drive.
#[derive(Clone, Debug)]
pub(super) struct LabelledRegion {
    /// `start`, `middle` or `end`.
    pub label: &'static str,
    pub region: Region,
}

impl LabelledRegion {
    /// The metric of a pass over the location; at the start, it is that of the old tool.
    pub fn key(&self, kind: OpKind) -> MetricKey {
        match self.label {
            START => PASS.member(&[&kind.name()]),
            label => PLACE.member(&[&kind.name(), &label]),
        }
    }
}

/// The parameters derived from target and options.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub places: Vec<LabelledRegion>,
    /// Maximum transfer, bytes.
    pub chunk: u32,
    /// Sizes of the sweep, ascending, bytes.
    pub sizes: Vec<u32>,
    /// Whether data can be written back.
    pub writes: bool,
    /// Whether the drive has no user data, so that the locations are filled first to avoid holes.
    pub fills: bool,
    pub rounds: u32,
    pub rounds_given: bool,
    pub seconds: f64,
    pub seed: u64,
}

impl Layout {
    pub fn new(target: &TargetInfo, options: &Options, seconds: f64) -> Result<Layout> {
        let size = options.size.unwrap_or(target.bytes.max(script::BYTES_MIN));
        let test_region = TestRegion::new(target, &options.sized(size), seconds)?;
        let kind = target.target.kind;
        let chunk = largest_transfer(target).min(test_region.bytes / 4);
        let chunk = previous_power_of_two(chunk).max(u64::from(target.logical_block_bytes));
        Ok(Layout {
            places: places(kind, test_region.bytes, chunk),
            chunk: chunk as u32,
            sizes: sizes(chunk as u32, target.logical_block_bytes),
            writes: target.allowed
                >= if target.is_user_data() { Safety::Borrows } else { Safety::Scratch },
            fills: matches!(kind, TargetKind::Directory | TargetKind::Virtual),
            rounds: test_region.rounds,
            rounds_given: test_region.rounds_given,
            seconds: test_region.seconds,
            seed: test_region.seed,
        })
    }

    /// The operations: reads, and writes if allowed.
    pub fn kinds(&self) -> Vec<OpKind> {
        if self.writes { vec![OpKind::Read, OpKind::Write] } else { vec![OpKind::Read] }
    }

    /// One pass over a location.
    pub fn pass(&self, place: &LabelledRegion, kind: OpKind) -> Workload {
        self.in_order(place.key(kind), kind, self.chunk, place.region)
    }

    /// A run in chunks of this size, at the start. On a slow drive, the sizes other than that of
    /// the passes take turns: each uses the next part of the location, and the last turn ends with
    /// it. Parts are powers of two, because a card that is rewritten before an erase block is full
    /// copies the rest of the block, a cost of the sweep rather than of a chunk.
    pub fn chunk(&self, kind: OpKind, size: u32, turn: usize, rate: f64) -> Workload {
        let place = self.places[0].region;
        let whole = rate >= WHOLE_PLACE || size == self.chunk || self.sizes.len() <= 2;
        let region = if whole { place } else { self.part(place, turn) };
        self.in_order(chunk_key(kind, size), kind, size, region)
    }

    fn part(&self, place: Region, turn: usize) -> Region {
        let parts = self.sizes.len() as u64 - 1;
        let part = previous_power_of_two(place.bytes / parts).max(u64::from(self.chunk));
        let (turn, last) = (turn as u64 % parts, parts - 1);
        let start = (turn * part).min(place.bytes - part);
        let bytes = if turn == last { place.bytes - start } else { part };
        Region { start: place.start + start, bytes }
    }

    fn in_order(&self, key: MetricKey, kind: OpKind, block: u32, region: Region) -> Workload {
        let mix = if kind == OpKind::Write { Mix::WRITE } else { Mix::READ };
        let mut w = Workload::new(key, Pattern::Sequential, mix, block, region);
        w.stop = Stop { bytes: Some(region.bytes), coverage: Some(1.0), ..Stop::default() };
        w.seed = self.seed;
        if kind == OpKind::Write {
            (w.content, w.flush_at_end) = (Content::Original, true);
        }
        w
    }
}

/// The metric of a chunk size: `speed-read-16KiB`.
pub(super) fn chunk_key(kind: OpKind, size: u32) -> MetricKey {
    CHUNK.member(&[&kind.name(), &size_word(u64::from(size))])
}

/// Maximum transfer of one command, as far as known, bytes.
fn largest_transfer(target: &TargetInfo) -> u64 {
    let drive = target.target.drive.as_ref();
    let most = drive.and_then(|d| d.transfer_max_bytes).filter(|most| *most > 0);
    most.unwrap_or(CHUNK_MAX).min(CHUNK_MAX)
}

fn previous_power_of_two(n: u64) -> u64 {
    1 << n.max(1).ilog2()
}

/// Start, middle and end of a drive. The position of a file on its drive is unknown, so locations
/// within it are meaningless.
fn places(kind: TargetKind, bytes: u64, chunk: u64) -> Vec<LabelledRegion> {
    let whole = matches!(kind, TargetKind::Device | TargetKind::Virtual | TargetKind::Null);
    let length = LENGTH.min(bytes / if whole { 3 } else { 1 });
    // Multiples of 1 MiB if possible, for alignment. On a common grid, the locations do not
    // overlap.
    let grid = if length >= MIB { MIB.max(chunk) } else { chunk };
    let length = length / grid * grid;
    let labelled = |label, start: u64| LabelledRegion {
        label,
        region: Region { start: start / grid * grid, bytes: length },
    };
    let start = labelled(START, 0);
    if whole {
        vec![start, labelled("middle", (bytes - length) / 2), labelled("end", bytes - length)]
    } else {
        vec![start]
    }
}

/// Powers of two up to the maximum transfer: all of them if few, otherwise every second one.
fn sizes(chunk: u32, block: u32) -> Vec<u32> {
    let least = CHUNK_MIN.max(block);
    let powers =
        std::iter::successors(Some(chunk), |size| Some(size / 2)).take_while(|s| *s >= least);
    let powers: Vec<u32> = powers.collect();
    let step = if powers.len() > SIZES_MAX { 2 } else { 1 };
    let mut sizes: Vec<u32> = powers.into_iter().step_by(step).collect();
    sizes.reverse();
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_end_with_the_largest_transfer() {
        const K: u32 = 1 << 10;
        assert_eq!(sizes(16 * K, 512), [4 * K, 8 * K, 16 * K]);
        assert_eq!(sizes(128 * K, 512), [4 * K, 8 * K, 16 * K, 32 * K, 64 * K, 128 * K]);
        assert_eq!(sizes(1024 * K, 512), [4 * K, 16 * K, 64 * K, 256 * K, 1024 * K]);
        assert_eq!(sizes(4 * K, 4096), [4 * K]);
    }

    #[test]
    fn places_do_not_touch_and_stay_inside() {
        for bytes in [4 << 20, 8 << 20, 64 << 20, 96 << 20, 100_000_000_000, (4 << 20) + 512] {
            for chunk in [16 << 10, 128 << 10, 1 << 20] {
                let places = places(TargetKind::Device, bytes, chunk);
                let regions: Vec<Region> = places.iter().map(|p| p.region).collect();
                for pair in regions.windows(2) {
                    assert!(pair[0].end() <= pair[1].start, "{bytes} {chunk} {regions:?}");
                }
                assert!(regions[2].end() <= bytes && regions[0].bytes >= chunk, "{regions:?}");
                assert!(regions.iter().all(|r| r.start % chunk == 0 && r.bytes % chunk == 0));
            }
        }
    }
}
