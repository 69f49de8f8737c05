//! A drive opened with `--destroy`: the basis of tests that precondition a whole drive.
//!
//! These tests are refused before the first byte if the target is not a drive (a directory, a file)
//! or not opened with `--destroy`. This file holds their common parts: the region, the standard
//! workloads, and the scaling by `--time`. Its preparations are in
//! `session/preparation.rs`.

use record::{Safety, TargetKind};
use rig::{RigError, TargetInfo};
use workload::{Mix, OpKind, Pattern, Region, Stop, Workload};

use crate::{BYTES_MIN, MethodInfo, Options, Result, TestRegion};

/// Queue depth for maximum performance: enough for any drive, as in `quick`.
pub const DEPTH: u32 = 8;

/// A drive and the permitted operations.
#[derive(Clone, Debug)]
pub struct Whole {
    /// Region, block sizes and seeds.
    pub test_region: TestRegion,
    /// Smallest block, bytes.
    pub block: u32,
    /// Whether the drive supports discard.
    pub discard: bool,
    /// The region of a full discard.
    pub everything: Region,
    /// The user's time divided by the default time; `None` leaves the time to the method.
    scale: Option<f64>,
    /// Whether the user gave a size, so that only part of the drive is used.
    part: bool,
}

impl Whole {
    /// The target of `method`, which is refused unless it is a drive opened with `--destroy`.
    pub fn new(method: &MethodInfo, target: &TargetInfo, options: &Options) -> Result<Whole> {
        if target.allowed < Safety::Destroys || !is_drive(target) {
            return Err(refused(method.name, target).into());
        }
        Whole::unguarded(method, target, options)
    }

    /// The same without requiring `--destroy`, for methods that only read.
    pub fn unguarded(method: &MethodInfo, target: &TargetInfo, options: &Options) -> Result<Whole> {
        if !is_drive(target) {
            return Err(refused(method.name, target).into());
        }
        let size = options.size.unwrap_or(target.bytes.max(BYTES_MIN));
        let test_region = TestRegion::new(target, &options.sized(size), method.seconds)?;
        let everything = if options.size.is_some() { test_region.bytes } else { target.bytes };
        Ok(Whole {
            block: target.logical_block_bytes.max(1),
            discard: target.discard,
            everything: Region::first(everything),
            scale: options.time.map(|t| t.as_secs_f64() / method.seconds),
            part: options.size.is_some(),
            test_region,
        })
    }

    /// Whether only part of the drive is used (`--size`).
    pub fn is_part(&self) -> bool {
        self.part
    }

    /// Bytes in use.
    pub fn bytes(&self) -> u64 {
        self.test_region.bytes
    }

    /// The scaled duration of a step that takes `usual` seconds by default.
    pub fn seconds(&self, usual: f64) -> f64 {
        usual * self.scale.unwrap_or(1.0)
    }

    /// Number of repetitions; `usual` by default.
    pub fn rounds(&self, usual: u32) -> u32 {
        if self.test_region.rounds_given { self.test_region.rounds } else { usual }
    }

    /// One sequential pass over the region, in large blocks at [`DEPTH`]. It has no time limit,
    /// because a partly written drive is in an unknown state; `--size` makes it shorter.
    pub fn pass(&self, name: &str, kind: OpKind, index: u32) -> Workload {
        let (mix, large) = (Mix::from_kind(kind), self.test_region.large);
        let mut w = Workload::new(name, Pattern::Sequential, mix, large, self.test_region.region());
        (w.depth, w.seed) = (DEPTH, self.test_region.seed_of(index));
        w.stop = Stop { bytes: Some(self.bytes()), coverage: Some(1.0), ..Stop::default() };
        w.flush_at_end = w.mix.changes_data();
        w
    }

    /// Random blocks over the region for `seconds`, at depth 1.
    pub fn random(&self, name: &str, mix: Mix, block: u32, seconds: f64, index: u32) -> Workload {
        let region = self.test_region.region();
        let mut w = Workload::new(name, Pattern::Uniform, mix, block, region);
        w.seed = self.test_region.seed_of(index);
        self.timed(w, seconds)
    }

    /// The same workload, ended after `seconds`.
    pub fn timed(&self, mut w: Workload, seconds: f64) -> Workload {
        w.stop = Stop::after_seconds(seconds);
        w.flush_at_end = w.mix.changes_data();
        w
    }
}

/// A duration for metric names: `30s`, `300ms`.
pub fn time_tight(seconds: f64) -> String {
    match seconds {
        s if s < 1.0 => format!("{:.0}ms", s * 1e3),
        s => format!("{s:.0}s"),
    }
}

fn is_drive(target: &TargetInfo) -> bool {
    !matches!(target.target.kind, TargetKind::Directory | TargetKind::File)
}

fn refused(method: &str, target: &TargetInfo) -> RigError {
    let spec = &target.target.spec;
    let kind = if target.target.kind == TargetKind::File { "file" } else { "directory" };
    RigError::Refused(if is_drive(target) {
        format!(
            "{method} overwrites all of {spec}, which was not opened with --destroy and the \
             drive's serial number"
        )
    } else {
        format!(
            "{method} needs a whole drive, and {spec} is a {kind}; name a block device that \
             may be overwritten, or a virtual drive such as sim:samsung-980-pro-2t"
        )
    })
}
