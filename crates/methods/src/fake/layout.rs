//! The test places of `fake`: few, but enough to expose a false capacity.
//!
//! A drive that ignores high address bits maps address x to x mod R. Places at equal distances W
//! therefore hit the first W bytes for any R, and those are written completely at the end. A drive
//! that loses content beyond its real memory may keep the latest writes in a cache, so the end of
//! the drive is written as one piece larger than such a cache.

use record::TargetKind;
use rig::{RigError, TargetInfo};
use workload::Region;

use script::{BYTES_MIN, MethodError, Options, Result};

/// Size of a place in the middle of the drive, bytes.
pub(super) const PLACE: u64 = 128 << 10;

/// Request size for large pieces, bytes.
pub(super) const LARGE: u64 = 1 << 20;

/// The piece at the end, at most a quarter of the drive. f3's author reports caches of counterfeit
/// sticks of about 1 MiB; a cache larger than the piece, and than all places before it, hides a
/// missing end. An amount, not a share: the cache of a small drive is not smaller.
const TOP: u64 = 256 << 20;

/// Maximum bytes written at the start: a journal contains them and all other places.
const LOW_MAX: u64 = 256 << 20;

/// Maximum number of places in the middle.
const PLACES_MAX: u64 = 2048;

/// A place written in requests of `chunk` bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TestPlace {
    pub region: Region,
    pub chunk: u64,
}

/// All places, in write order.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    /// Announced capacity, bytes.
    pub bytes: u64,
    pub places: Vec<TestPlace>,
    /// Distance between places in the middle.
    pub spacing: u64,
    /// Size of the piece at the end, bytes. Only a larger cache can hide a missing end.
    pub top: u64,
    /// Whether everything is written, as for a file.
    pub whole: bool,
    /// Whether the blocks are the user's; their content is restored.
    pub borrows: bool,
}

impl Layout {
    pub fn new(target: &TargetInfo, options: &Options) -> Result<Layout> {
        let is_directory = target.target.kind == TargetKind::Directory;
        if options.size.is_some() && !is_directory {
            let text = format!(
                "fake tests all of {}: --size sets only the size of a file in a directory",
                target.target.spec
            );
            return Err(RigError::usage(text, "the same without --size").into());
        }
        let size = options.size.unwrap_or(target.bytes).min(target.bytes);
        let bytes = size / LARGE * LARGE;
        if bytes < BYTES_MIN {
            return Err(MethodError::TooSmall { bytes: target.bytes, least: BYTES_MIN });
        }
        let borrows = target.allowed == record::Safety::Borrows;
        if is_directory || target.target.kind == TargetKind::File {
            let file = TestPlace { region: Region::first(bytes), chunk: LARGE };
            let top = TOP.min(bytes);
            return Ok(Layout { bytes, places: vec![file], spacing: 0, top, whole: true, borrows });
        }
        let top = TOP.min(bytes / 4) / LARGE * LARGE;
        // Equal amounts at the start and elsewhere minimize the total.
        let root = ((bytes as f64 * LARGE as f64).sqrt() as u64).next_power_of_two();
        let low = root.min(LOW_MAX).min(bytes / 4) / LARGE * LARGE;
        let spacing = low.max(bytes.div_ceil(PLACES_MAX).next_multiple_of(PLACE));
        // The offset from the grid is the same for all places and differs between runs.
        let rooms = (low - PLACE) / PLACE + 1;
        let shift = options.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) % rooms * PLACE;
        let starts = (1..).map(|k| k * spacing + shift);
        let starts = starts.take_while(|start| start + PLACE <= bytes - top);
        let place = |start, bytes, chunk| TestPlace { region: Region { start, bytes }, chunk };
        let mut places: Vec<TestPlace> = starts.map(|start| place(start, PLACE, PLACE)).collect();
        places.push(place(bytes - top, top, LARGE));
        places.push(place(0, low, LARGE));
        Ok(Layout { bytes, places, spacing, top, whole: false, borrows })
    }

    /// The places between the start and the piece at the end.
    pub fn middle(&self) -> impl Iterator<Item = &TestPlace> {
        self.places.iter().filter(|place| place.region.bytes == PLACE)
    }

    /// The start of the drive, which is written last.
    pub fn low(&self) -> Region {
        self.places.last().map_or(Region::first(0), |place| place.region)
    }

    /// Where the piece at the end starts.
    pub fn top_start(&self) -> u64 {
        self.bytes - self.top
    }

    /// Part of the end that pushes the start out of a cache, and as much before it.
    pub fn pushing_out_low(&self) -> TestPlace {
        let bytes = self.top.min(2 * self.low().bytes);
        TestPlace { region: Region { start: self.top_start(), bytes }, chunk: LARGE }
    }

    /// Bytes written.
    pub fn written(&self) -> u64 {
        self.places.iter().map(|place| place.region.bytes).sum()
    }

    /// Share of evenly distributed false capacities that are certain to be detected.
    pub fn certainty(&self) -> f64 {
        let low = self.low().bytes;
        if self.whole { 1.0 } else { (low as f64 / self.spacing as f64).min(1.0) }
    }

    /// Probability of detecting a drive with this share of bad places anywhere.
    pub fn detects(&self, share: f64) -> f64 {
        1.0 - (1.0 - share).powi((self.written() / PLACE) as i32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rules::testing::target;

    fn layout(bytes: u64, seed: u64) -> Layout {
        let mut info = target();
        (info.bytes, info.target.kind) = (bytes, TargetKind::Device);
        Layout::new(&info, &Options { seed, ..Options::default() }).expect("room")
    }

    #[test]
    fn places_do_not_overlap_and_are_few() {
        for (bytes, most) in [(4 << 20, 3 << 20), (4 << 30, 336 << 20), (1 << 40, 800 << 20)] {
            let layout = layout(bytes, 7);
            let mut regions: Vec<Region> = layout.places.iter().map(|p| p.region).collect();
            regions.sort_by_key(|r| r.start);
            assert!(regions.windows(2).all(|pair| pair[0].end() <= pair[1].start), "{bytes}");
            assert!(regions[regions.len() - 1].end() == layout.bytes);
            assert!(layout.written() <= most, "{bytes}: {}", layout.written());
        }
        assert_eq!(layout(64 << 30, 1).certainty(), 1.0);
        assert!(layout(1 << 40, 1).certainty() < 1.0);
    }

    #[test]
    fn only_the_file_in_a_directory_has_a_size() {
        let mut info = target();
        info.bytes = 4 << 30;
        let options = Options { size: Some(64 << 20), ..Options::default() };
        for kind in [TargetKind::Device, TargetKind::File, TargetKind::Virtual] {
            info.target.kind = kind;
            let error = Layout::new(&info, &options).expect_err("part of it");
            let MethodError::Rig(error) = error else { panic!("{error}") };
            assert_eq!(error.fault(), Some(rig::ErrorClass::Usage));
            assert!(error.to_string().starts_with("fake tests all of "), "{error}");
        }
        info.target.kind = TargetKind::Directory;
        let layout = Layout::new(&info, &options).expect("a file");
        assert_eq!((layout.bytes, layout.whole), (64 << 20, true));
    }

    #[test]
    fn any_wrapped_capacity_hits_the_start() {
        for seed in 1..20 {
            let layout = layout(4 << 30, seed);
            let low = layout.places.last().expect("the start").region;
            for real in (1..1024).map(|i| i * (layout.bytes - low.bytes) / 1024 / 4096 * 4096) {
                // The first bytes of a place beyond the real end.
                let hits = |place: &TestPlace| {
                    let first = place.region.start.max(real);
                    first < place.region.end() && first % real.max(4096) < low.end()
                };
                assert!(layout.places.iter().any(hits) || real < low.bytes, "{seed}: {real}");
            }
        }
    }
}
