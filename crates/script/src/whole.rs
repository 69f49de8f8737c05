//! A drive opened with `--destroy`: the basis of tests that precondition a whole drive.
//!
//! These tests are refused before the first byte if the target is not opened with `--destroy`. Some
//! of them also accept a file in place of a drive, which in a directory is a scratch file
//! ([`crate::ScratchUse`]); the others refuse it. This file holds their common parts: the region,
//! the standard workloads, and the scaling by `--time`. Its preparations are in
//! `session/preparation.rs`.

use record::{MetricInfo, Safety, TargetKind};
use rig::{RigError, TargetInfo};
use workload::{Mix, OpKind, Pattern, Region, Stop, Workload};

use crate::{BYTES_MIN, MethodInfo, Options, Result, TestRegion};

/// Queue depth for maximum performance: enough for any drive, as in `quick`.
pub const DEPTH: u32 = 8;

/// The size of a file in place of a drive.
pub const FILE_BYTES: MetricInfo =
    MetricInfo::bytes("file-bytes", "size of the file in place of a drive; absent on a drive");

/// A drive, or a file in its place, and the permitted operations.
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
    /// Whether it is a file.
    pub in_file: bool,
    /// The user's time divided by the default time; `None` leaves the time to the method.
    scale: Option<f64>,
    /// Whether the user gave a size, so that only part of the drive is used.
    part: bool,
}

impl Whole {
    /// The target of `method`, which is refused unless it was opened with `--destroy` or is a
    /// scratch file.
    pub fn new(method: &MethodInfo, target: &TargetInfo, options: &Options) -> Result<Whole> {
        let whole = Whole::unguarded(method, target, options)?;
        if target.allowed < Safety::Destroys && !is_scratch(target) {
            return Err(RigError::Refused(format!(
                "{} overwrites all of {}, which was not opened with --destroy and {}",
                method.name,
                target.target.spec,
                if whole.in_file { "its size in bytes" } else { "the drive's serial number" },
            ))
            .into());
        }
        Ok(whole)
    }

    /// The same without requiring `--destroy`, for methods that only read.
    pub fn unguarded(method: &MethodInfo, target: &TargetInfo, options: &Options) -> Result<Whole> {
        let in_file = is_scratch(target) || target.target.kind == TargetKind::File;
        if in_file {
            admit_file(method, target)?;
        }
        let size = options.size.unwrap_or(target.bytes.max(BYTES_MIN));
        let test_region = TestRegion::new(target, &options.sized(size), method.seconds)?;
        let everything = if options.size.is_some() { test_region.bytes } else { target.bytes };
        Ok(Whole {
            block: target.logical_block_bytes.max(1),
            discard: target.discard || in_file,
            in_file,
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

/// Whether the target is a scratch file in a directory.
fn is_scratch(target: &TargetInfo) -> bool {
    target.target.kind == TargetKind::Directory
}

/// Refuses a file for a method that needs a drive, and a file in memory for all.
fn admit_file(method: &MethodInfo, target: &TargetInfo) -> Result<(), RigError> {
    let (name, spec) = (method.name, &target.target.spec);
    if method.scratch.passes.is_none() {
        let kind = if is_scratch(target) { "directory" } else { "file" };
        return Err(RigError::Refused(format!(
            "{name} needs a whole drive, and {spec} is a {kind}; name a block device that \
             may be overwritten, or a virtual drive such as sim:samsung-980-pro-2t"
        )));
    }
    if target.ram {
        return Err(RigError::Refused(format!(
            "{spec} is in memory, so {name} would measure no drive; name a directory on a drive"
        )));
    }
    Ok(())
}
