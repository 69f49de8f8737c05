//! The test region: the part of the target a method may use, and the time it has.

use record::{Safety, TargetKind};
use rig::{RigError, TargetInfo};
use workload::{Region, Workload};

use crate::{BYTES_MIN, MethodError, Options, Result};

/// Large transfers, as in a file copy.
const LARGE: u32 = 1 << 20;

/// Small transfers: a page, as in databases and programs.
const SMALL: u32 = 4096;

/// Default region for writes: larger than the caches of most controllers, and written in a few
/// seconds by most drives.
const WRITE_BYTES: u64 = 1 << 30;

/// Default number of rounds: even, because their order alternates, and each round forwards is
/// paired with one backwards.
pub const ROUNDS: u32 = 4;

/// Rate of a link, bytes per second, below which random writes are few: SD cards, USB 2.
const SLOW_LINK: f64 = 150e6;

/// Divisor of the cap on random writes over a slow link.
const SLOW_DIVISOR: u64 = 8;

/// Maximum bytes of a timed workload of random writes: `1/share` of its region, to limit wear on a
/// fast drive. A card has a lower cap: it completes far fewer in the time, and with a cap that it
/// never reaches the plan would promise many times the bytes written.
pub fn random_writes_max(target: &TargetInfo, region_bytes: u64, share: u64) -> u64 {
    region_bytes / share / if has_slow_link(target) { SLOW_DIVISOR } else { 1 }
}

/// Whether the target is behind a slow link: an SD card, USB 2.
pub fn has_slow_link(target: &TargetInfo) -> bool {
    target.limits.link_bytes_per_s.is_some_and(|rate| rate < SLOW_LINK)
}

/// The resources of a method.
#[derive(Clone, Debug)]
pub struct TestRegion {
    /// Bytes at the start of the target, in whole large blocks.
    pub bytes: u64,
    /// Bytes requested before the fill; a slow drive fills only some of them in time.
    pub asked: u64,
    /// The user gave the size, so it is kept regardless of the time.
    pub size_given: bool,
    /// Size of large transfers, bytes.
    pub large: u32,
    /// Size of small transfers, bytes.
    pub small: u32,
    /// Whether writes are allowed.
    pub writes: bool,
    /// Total time, seconds.
    pub seconds: f64,
    /// Replicates of every workload.
    pub rounds: u32,
    /// The user gave the number of replicates, so it is kept regardless of the time.
    pub rounds_given: bool,
    /// Seed of all random choices.
    pub seed: u64,
}

impl TestRegion {
    /// Combines target and options; `seconds` is the method's default duration.
    pub fn new(target: &TargetInfo, options: &Options, seconds: f64) -> Result<TestRegion> {
        let (large, small) = (blocks_of(LARGE, target), blocks_of(SMALL, target));
        let writes = may_write(target);
        let size = options.size.unwrap_or(if writes { WRITE_BYTES } else { u64::MAX });
        let bytes = size.min(target.bytes) / u64::from(large) * u64::from(large);
        if bytes < BYTES_MIN {
            return Err(MethodError::TooSmall { bytes: target.bytes, least: BYTES_MIN });
        }
        Ok(TestRegion {
            bytes,
            asked: bytes,
            size_given: options.size.is_some(),
            large,
            small,
            writes,
            seconds: options.time.map_or(seconds, |t| t.as_secs_f64()),
            rounds: options.replicates.unwrap_or(ROUNDS),
            rounds_given: options.replicates.is_some(),
            seed: options.seed,
        })
    }

    /// The region of the target.
    pub fn region(&self) -> Region {
        Region::first(self.bytes)
    }

    /// Seed of a workload, far from those of other `index` values.
    pub fn seed_of(&self, index: u32) -> u64 {
        self.seed.wrapping_add(u64::from(index) << 32)
    }

    /// The replicate of a workload in `round`.
    pub fn replicate(workload: &Workload, round: u32) -> Workload {
        Workload { seed: workload.seed.wrapping_add(u64::from(round)), ..workload.clone() }
    }
}

/// `bytes` rounded up to whole logical blocks.
fn blocks_of(bytes: u32, target: &TargetInfo) -> u32 {
    bytes.next_multiple_of(target.logical_block_bytes.max(1))
}

/// Refuses a user's file or device opened with less than `least`. The error's text begins with
/// `writes`, for instance `restore overwrites`.
pub fn admit(target: &TargetInfo, least: Safety, writes: &str, advice: &str) -> Result<()> {
    if target.is_user_data() && target.allowed < least {
        let borrows = least == Safety::Borrows;
        let opened = if borrows { "opened read-only" } else { "not opened with --destroy" };
        let text = format!("{writes} {}, which was {opened}", target.target.spec);
        return Err(RigError::refused(text, advice).into());
    }
    Ok(())
}

/// Whether writes are allowed: a user's file or drive requires `--destroy`.
fn may_write(target: &TargetInfo) -> bool {
    match target.target.kind {
        TargetKind::File | TargetKind::Device => target.allowed >= Safety::Destroys,
        TargetKind::Other(_) => false,
        TargetKind::Directory | TargetKind::Virtual | TargetKind::Null | TargetKind::Unknown => {
            target.allowed >= Safety::Scratch
        }
    }
}
