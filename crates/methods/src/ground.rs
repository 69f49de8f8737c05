//! Where a method may work on this target, and how long: target and options taken together.

use record::{Safety, TargetKind};
use rig::TargetInfo;
use workload::units::{binary, span};
use workload::{Region, Workload};

use crate::{MethodError, Options};

/// Large transfers: what copying a file does.
const LARGE: u32 = 1 << 20;

/// Small transfers: a page, what databases and programs do.
const SMALL: u32 = 4096;

/// Bytes that writes work on unless the user says otherwise: larger than the caches of most
/// drives' controllers, and written in a few seconds by most.
const WRITE_BYTES: u64 = 1 << 30;

/// Less holds too few large blocks to say anything.
pub(crate) const LEAST_BYTES: u64 = 4 << 20;

/// Even, so that rounds come in pairs forth and back, and the interval is already a third narrower
/// than at three (3.18 / sqrt 4 against 4.30 / sqrt 3).
const ROUNDS: u32 = 4;

/// More would only be a slip of the keys.
const ROUNDS_MAX: u32 = 1000;

/// What a method has to work with.
#[derive(Clone, Debug)]
pub(crate) struct Ground {
    /// Bytes at the start of the target: whole large blocks.
    pub bytes: u64,
    /// The user named the size: it is kept, however long it takes.
    pub size_given: bool,
    /// Size of large transfers, bytes.
    pub large: u32,
    /// Size of small transfers, bytes.
    pub small: u32,
    /// Writes are allowed.
    pub writes: bool,
    /// For everything together.
    pub seconds: f64,
    /// Replicates of every workload.
    pub rounds: u32,
    /// The user named the number of replicates: it is kept, however long it takes.
    pub rounds_given: bool,
    /// Seed of everything random.
    pub seed: u64,
}

impl Ground {
    /// Target and options taken together; `seconds` is what the method takes by default.
    pub fn new(
        target: &TargetInfo,
        options: &Options,
        seconds: f64,
    ) -> Result<Ground, MethodError> {
        check(options)?;
        let (large, small) = (blocks_of(LARGE, target), blocks_of(SMALL, target));
        let writes = may_write(target);
        let wanted = options.size.unwrap_or(if writes { WRITE_BYTES } else { u64::MAX });
        let bytes = wanted.min(target.bytes) / u64::from(large) * u64::from(large);
        if bytes < LEAST_BYTES {
            return Err(MethodError::TooSmall { bytes: target.bytes, least: LEAST_BYTES });
        }
        Ok(Ground {
            bytes,
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

    /// The part of the target that is worked on.
    pub fn region(&self) -> Region {
        Region::first(self.bytes)
    }

    /// The seed of a workload: far from those of others, which have another `index`.
    pub fn seed_of(&self, index: u32) -> u64 {
        self.seed.wrapping_add(u64::from(index) << 32)
    }

    /// The replicate of a workload that runs in `round`.
    pub fn replicate(workload: &Workload, round: u32) -> Workload {
        Workload { seed: workload.seed.wrapping_add(u64::from(round)), ..workload.clone() }
    }
}

fn check(options: &Options) -> Result<(), MethodError> {
    let bad = |option, value, range: String| Err(MethodError::Option { option, value, range });
    if let Some(size) = options.size.filter(|&s| s < LEAST_BYTES) {
        return bad("size", binary(size), format!("{} or more", binary(LEAST_BYTES)));
    }
    if let Some(time) = options.time.filter(|t| t.as_secs_f64() < 1.0) {
        return bad("time", span(time.as_secs_f64()), "1 s or more".into());
    }
    match options.replicates {
        Some(n) if n == 0 || n > ROUNDS_MAX => {
            bad("replicates", n.to_string(), format!("1 to {ROUNDS_MAX}"))
        }
        _ => Ok(()),
    }
}

/// `bytes` rounded up to whole logical blocks.
fn blocks_of(bytes: u32, target: &TargetInfo) -> u32 {
    bytes.next_multiple_of(target.logical_block_bytes.max(1))
}

/// A scratch file is ours to write; a file or drive of the user's only when it was given away.
fn may_write(target: &TargetInfo) -> bool {
    match target.target.kind {
        TargetKind::File | TargetKind::Device => target.allowed >= Safety::Destroys,
        TargetKind::Directory | TargetKind::Virtual | TargetKind::Null | TargetKind::Unknown => {
            target.allowed >= Safety::Scratch
        }
    }
}
