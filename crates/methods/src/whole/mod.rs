//! A drive that was given away: the ground of the tests that bring a whole drive into states.
//!
//! They are refused before the first byte where there is no drive (a directory, a file), or where it
//! was not given away. What they share stands here: the region, the usual workloads, how the user's
//! `--time` stretches or shortens them, and the plan. Preparations are in `prepare.rs`, the course of
//! a long workload is in `course.rs`.

pub(crate) mod course;
mod prepare;
#[cfg(test)]
mod tests;

use record::{Plan, Safety, Step, TargetKind};
use rig::{RigError, TargetInfo};
use workload::units::binary;
use workload::{Mix, OpKind, Pattern, Region, Stop, Workload};

use crate::ground::{Ground, LEAST_BYTES};
use crate::{MethodError, MethodInfo, Options};

/// In flight where the drive is to show what it can: enough for any, as in `quick`.
pub(crate) const DEPTH: u32 = 8;

/// No drive writes more; it bounds a plan where a workload ends by time, bytes per second.
const WRITES_MOST: f64 = 16e9;

/// A link's ceiling is a calculation: that much more is not excluded.
const OVER_CEILING: f64 = 1.2;

/// What a drive is taken to write where nothing is known of its link, bytes per second.
const USUAL_RATE: f64 = 500e6;

/// The share of a link that drives fill on average.
const USUAL_SHARE: f64 = 0.6;

/// A drive and what may be done with it.
#[derive(Clone, Debug)]
pub(crate) struct Whole {
    /// Region, block sizes and seeds.
    pub ground: Ground,
    /// Smallest block, bytes.
    pub block: u32,
    /// It takes discards.
    pub discard: bool,
    /// What a discard of everything is about.
    pub everything: Region,
    /// The user's time over the usual one; `None` where all is left to the method.
    scale: Option<f64>,
    /// The user named a size: only a part of the drive is worked on.
    part: bool,
    spec: String,
    rate: f64,
    /// No faster than this, bytes per second.
    writes_most: f64,
}

impl Whole {
    /// The drive that was given away to `method`; refused where there is none.
    pub fn new(
        method: &MethodInfo,
        target: &TargetInfo,
        options: &Options,
    ) -> Result<Whole, MethodError> {
        if target.allowed < Safety::Destroys || !is_drive(target) {
            return Err(refused(method.name, target).into());
        }
        Whole::unguarded(method, target, options)
    }

    /// The same without asking whether it was given away: for what only reads.
    pub fn unguarded(
        method: &MethodInfo,
        target: &TargetInfo,
        options: &Options,
    ) -> Result<Whole, MethodError> {
        if !is_drive(target) {
            return Err(refused(method.name, target).into());
        }
        let size = Some(options.size.unwrap_or(target.bytes.max(LEAST_BYTES)));
        let ground = Ground::new(target, &Options { size, ..options.clone() }, method.seconds)?;
        let everything = if options.size.is_some() { ground.bytes } else { target.bytes };
        let link = target.target.drive.as_ref().and_then(|d| d.link.as_ref());
        let ceiling = link.and_then(|l| l.ceiling_bytes_per_s);
        Ok(Whole {
            block: target.logical_block_bytes.max(1),
            discard: target.discard,
            writes_most: ceiling.map_or(WRITES_MOST, |c| c * OVER_CEILING),
            everything: Region::first(everything),
            scale: options.time.map(|t| t.as_secs_f64() / method.seconds),
            part: options.size.is_some(),
            spec: target.target.spec.clone(),
            rate: ceiling.map_or(USUAL_RATE, |c| USUAL_SHARE * c),
            ground,
        })
    }

    /// Only a part of the drive is worked on (`--size`).
    pub fn is_part(&self) -> bool {
        self.part
    }

    /// Bytes that are worked on.
    pub fn bytes(&self) -> u64 {
        self.ground.bytes
    }

    /// How long something takes that usually takes `usual` seconds.
    pub fn seconds(&self, usual: f64) -> f64 {
        usual * self.scale.unwrap_or(1.0)
    }

    /// Repetitions, where `usual` are usual.
    pub fn rounds(&self, usual: u32) -> u32 {
        if self.ground.rounds_given { self.ground.rounds } else { usual }
    }

    /// Once over the region in order, in large blocks with [`DEPTH`] in flight. It takes the time it
    /// takes: a drive that is written in part only is in no known state. `--size` makes it shorter.
    pub fn pass(&self, name: &str, kind: OpKind, index: u32) -> Workload {
        let (mix, large) = (mix_of(kind), self.ground.large);
        let mut w = Workload::new(name, Pattern::Sequential, mix, large, self.ground.region());
        (w.depth, w.seed) = (DEPTH, self.ground.seed_of(index));
        w.stop = Stop { bytes: Some(self.bytes()), coverage: Some(1.0), ..Stop::default() };
        w.flush_at_end = w.mix.changes_data();
        w
    }

    /// Blocks at random over the region for `seconds`, one at a time.
    pub fn random(&self, name: &str, mix: Mix, block: u32, seconds: f64, index: u32) -> Workload {
        let region = self.ground.region();
        let mut w = Workload::new(name, Pattern::Uniform, mix, block, region);
        w.seed = self.ground.seed_of(index);
        self.timed(w, seconds)
    }

    /// The same workload, ended after `seconds`; what it may write in that time is bounded.
    pub fn timed(&self, mut w: Workload, seconds: f64) -> Workload {
        w.stop = Stop::after_ns((seconds * 1e9) as u64);
        if w.mix.changes_data() {
            let share = f64::from(w.mix.write) / f64::from(w.mix.total());
            w.stop.bytes = Some((self.writes_most / share * seconds.max(0.001)) as u64);
            w.flush_at_end = true;
        }
        w
    }

    /// What a plan says of a workload that runs `repeats` times.
    pub fn step(&self, w: &Workload, repeats: u32) -> Step {
        let bound = w.stop.bytes_bound(w.region.bytes);
        let by_bytes = bound.unwrap_or(0) as f64 / self.rate;
        let seconds = w.stop.time_ns.map_or(by_bytes, |ns| ns as f64 / 1e9);
        let share = f64::from(w.mix.write) / f64::from(w.mix.total().max(1));
        let written = (bound.unwrap_or(0) as f64 * share) as u64;
        Step {
            name: w.name.clone(),
            seconds: seconds * f64::from(repeats),
            repeats,
            write_bytes_max: written * u64::from(repeats),
        }
    }

    /// What a plan says of a fill.
    pub fn fill_step(&self, name: &str, bytes: u64) -> Step {
        let seconds = bytes as f64 / self.rate;
        Step { name: name.into(), seconds, repeats: 1, write_bytes_max: bytes }
    }

    /// What a plan says of a discard.
    pub fn discard_step(name: &str) -> Step {
        Step { name: name.into(), seconds: 1.0, repeats: 1, write_bytes_max: 0 }
    }

    /// What a plan says of time that passes.
    pub fn idle_step(name: &str, seconds: f64) -> Step {
        Step { name: name.into(), seconds, repeats: 1, write_bytes_max: 0 }
    }

    /// The plan of these steps.
    pub fn plan<'w>(
        &self,
        steps: Vec<Step>,
        workloads: impl IntoIterator<Item = &'w Workload>,
    ) -> Plan {
        let written = steps.iter().map(|s| s.write_bytes_max).sum();
        let lost = match self.part {
            true => format!("the first {} of {}", binary(self.bytes()), self.spec),
            false => format!("everything on {}", self.spec),
        };
        Plan {
            safety: Safety::Destroys,
            seconds: steps.iter().map(|s| s.seconds).sum(),
            write_bytes_max: written,
            region_bytes: self.bytes(),
            destroys: Some(lost),
            steps,
            workloads: workloads.into_iter().flat_map(serde_json::to_value).collect(),
            command: Vec::new(),
        }
    }
}

pub(crate) fn mix_of(kind: OpKind) -> Mix {
    if kind == OpKind::Write { Mix::WRITE } else { Mix::READ }
}

/// A name for a time in a metric: `30s`, `300ms`.
pub(crate) fn time_tight(seconds: f64) -> String {
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
    RigError::Refused(match is_drive(target) {
        false => format!(
            "{method} needs a whole drive, and {spec} is a place on one; name a block device that \
             may be overwritten, or a virtual drive such as sim:samsung-980-pro-2t"
        ),
        true => format!(
            "{method} overwrites all of {spec}, which was not given away; --destroy with the \
             drive's serial number does that"
        ),
    })
}
