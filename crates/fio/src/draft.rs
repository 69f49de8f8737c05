//! A job during parsing: fields set directly, and values that depend on other options.
//!
//! An option that is a single field goes into the [`Job`]. Options that fio evaluates together
//! (`bs` with `bsrange`, the queue's batches with its depth) are kept here, and `resolve.rs`
//! derives the rest of the job from them.

use std::time::Duration;

use workload::OpKind;

use super::{
    Criterion, Job, LatencyTarget, PerKind, PriorityShare, Share, Sprandom, Steady, Threshold,
    VerifyKind,
};

/// A job or the `[global]` section, before options are combined.
#[derive(Clone, Debug)]
pub(crate) struct JobDraft {
    /// Receives the options that are evaluated alone.
    pub job: Job,
    /// `kb_base`: 1024 or 1000.
    pub kb: u64,
    pub bs: PerKind<u64>,
    pub range: PerKind<Option<(u64, u64)>>,
    pub split: PerKind<Vec<Share>>,
    /// 0: the smallest block.
    pub align: PerKind<u64>,
    /// 0: the depth.
    pub batch: u32,
    pub complete_max: u32,
    /// 0: the depth.
    pub low: u32,
    /// Whether fio would submit operations from separate threads.
    pub offload: bool,
    pub stonewall: bool,
    pub new_group: bool,
    pub wait_for: Option<String>,
    pub nrfiles: u32,
    pub openfiles: u32,
    /// The value of `refill_buffers`, if given.
    pub refill: Option<bool>,
    pub zone: ZoneWords,
    pub sprandom: SprandomWords,
    pub verify: Option<VerifyKind>,
    pub verify_interval: u64,
    /// With a duration of zero: not requested.
    pub steady: Steady,
    /// With a target of zero: not requested.
    pub latency: LatencyTarget,
    pub priority: PriorityWords,
    pub replay: ReplayWords,
}

/// Options about the I/O log to repeat.
#[derive(Clone, Debug)]
pub(crate) struct ReplayWords {
    /// The logs; empty: none is repeated.
    pub logs: Vec<String>,
    pub no_stall: bool,
    pub time_scale: u32,
    pub redirect: Option<String>,
    pub scale: u32,
    pub align: u64,
    pub skips: Vec<OpKind>,
}

/// Options about zones.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ZoneWords {
    pub strided: bool,
    pub size: u64,
    pub range: u64,
    pub skip: u64,
}

/// Options about `sprandom`, and those that it prescribes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SprandomWords {
    pub is_given: bool,
    pub model: Sprandom,
    /// `norandommap`, if given.
    pub norandommap: Option<bool>,
    /// Whether `random_generator` is `lfsr`, if given.
    pub lfsr: Option<bool>,
}

/// Options about priorities of single operations.
#[derive(Clone, Debug)]
pub(crate) struct PriorityWords {
    pub percent: PerKind<u32>,
    pub class: PerKind<u32>,
    pub level: PerKind<u32>,
    pub hint: PerKind<u32>,
    pub by_size: PerKind<Vec<PriorityShare>>,
}

impl Default for JobDraft {
    fn default() -> JobDraft {
        JobDraft {
            job: Job::default(),
            kb: 1024,
            bs: PerKind::all(4096),
            range: PerKind::default(),
            split: PerKind::default(),
            align: PerKind::default(),
            batch: 1,
            complete_max: 0,
            low: 0,
            offload: false,
            stonewall: false,
            new_group: false,
            wait_for: None,
            nrfiles: 1,
            openfiles: 0,
            refill: None,
            zone: ZoneWords::default(),
            sprandom: SprandomWords {
                is_given: false,
                model: Sprandom { spare: 0.15, regions: 100, cache_bytes: 0 },
                norandommap: None,
                lfsr: None,
            },
            verify: None,
            verify_interval: 0,
            steady: Steady {
                criterion: Criterion::Iops,
                slope: true,
                limit: Threshold::Percent(0.01),
                duration: Duration::ZERO,
                ramp: Duration::ZERO,
                interval: Duration::from_secs(1),
            },
            latency: LatencyTarget {
                target: Duration::ZERO,
                window: Duration::ZERO,
                percentile: 100.0,
                run: false,
            },
            priority: PriorityWords {
                percent: PerKind::all(0),
                // Real time, as in fio.
                class: PerKind::all(1),
                level: PerKind::all(0),
                hint: PerKind::all(0),
                by_size: PerKind::default(),
            },
            replay: ReplayWords {
                logs: Vec::new(),
                no_stall: false,
                time_scale: 100,
                redirect: None,
                scale: 1,
                align: 1,
                skips: Vec::new(),
            },
        }
    }
}
