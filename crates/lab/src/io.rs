//! Workloads of `ssdyno io`: from options to a workload on a target.
//!
//! Options are checked and turned into a draft before the target is inspected; the target then
//! determines the region. A scratch file is laid out first, so that reads reach the drive.

use std::collections::BTreeMap;

use methods::BY_HAND;
use record::{Safety, TargetKind};
use rig::{Preparation, TargetInfo};
use script::Session;
use workload::units::binary;
use workload::{BlockSizes, Caching, Content, Mix, Pacing, Pattern, Region, Stop, Workload};

use crate::error::{ErrorKind, LabError, Result};
use crate::work::Work;

/// Default duration of a workload without another limit, nanoseconds.
const TIME_NS: u64 = 10_000_000_000;

/// Direction and order of a workload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// Sequential reads.
    Read,
    /// Sequential writes.
    Write,
    /// Random reads.
    #[default]
    RandRead,
    /// Random writes.
    RandWrite,
    /// Sequential reads and writes.
    Rw,
    /// Random reads and writes.
    RandRw,
}

/// Bursts of I/O separated by pauses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Burst {
    /// Length of a burst, nanoseconds.
    pub on_ns: u64,
    /// Length of a pause, nanoseconds.
    pub off_ns: u64,
}

/// The options of `ssdyno io`.
#[derive(Clone, Debug)]
pub struct Io {
    /// Direction and order.
    pub rw: Access,
    /// Share of reads in a mixed workload, percent, 0 to 100.
    pub mix: u32,
    /// Block sizes with their weights.
    pub blocks: BlockSizes,
    /// Content of writes.
    pub content: Content,
    /// Stamp every sector written and check every sector read.
    pub verify: bool,
    /// Go through the page cache.
    pub buffered: bool,
    /// Flush after this many writes.
    pub flush_every: Option<u32>,
    /// Exclude the final flush from the time of writes.
    pub no_flush: bool,
    /// Operations in flight per job; at least 1.
    pub depth: u32,
    /// Operations per submission; at least 1.
    pub batch: u32,
    /// Concurrent jobs, which divide the region.
    pub jobs: u32,
    /// Arrivals per second; `None`: a closed loop.
    pub rate: Option<f64>,
    /// Poisson arrivals at this rate.
    pub poisson: bool,
    pub burst: Option<Burst>,
    /// Stop after this time, nanoseconds.
    pub time_ns: Option<u64>,
    /// Stop after covering the region this many times.
    pub coverage: Option<f64>,
    /// Stop after this many operations.
    pub ops: Option<u64>,
    /// Start of the region, bytes.
    pub offset: u64,
    /// Length of the region, bytes; `None`: to the end of the target.
    pub size: Option<u64>,
    /// Added to every address, bytes.
    pub shift: u64,
    /// Sequential: distance between starts, bytes.
    pub stride: Option<u64>,
    /// Sequential: descending addresses.
    pub backwards: bool,
    /// Random: allow an address to repeat before all have been visited.
    pub repeats: bool,
    /// Random: exponent of a Zipf distribution.
    pub zipf: Option<f64>,
    /// Random: hot and cold zones.
    pub hot: Option<Pattern>,
    /// Seed for everything random.
    pub seed: u64,
}

impl Access {
    fn is_random(self) -> bool {
        matches!(self, Access::RandRead | Access::RandWrite | Access::RandRw)
    }
}

impl Io {
    /// The options that its workload does not show: a region without a size ends with the target.
    fn given(&self) -> BTreeMap<String, String> {
        let size = self.size.map(|bytes| ("size".to_string(), binary(bytes)));
        size.into_iter().collect()
    }

    /// Checks the options against each other, before the target is inspected.
    pub fn check(&self) -> Result<()> {
        self.draft().map(drop)
    }

    /// The workload on a target, if the target allows and supports it.
    pub(crate) fn workload(&self, info: &TargetInfo) -> Result<Workload> {
        let start = self.offset;
        if start >= info.bytes {
            let text =
                format!("--offset {start} is past the end: the target has {} bytes", info.bytes);
            return Err(LabError::usage(text));
        }
        let room = info.bytes - start;
        let region = Region { start, bytes: self.size.unwrap_or(room).min(room) };
        let workload = Workload { region, ..self.draft()? };
        if workload.mix.changes_data() && info.allowed < Safety::Scratch {
            let text =
                format!("{} may only be read, and this would overwrite it", info.target.spec);
            let advice = "--destroy with its serial number, or its size in bytes if it has none";
            return Err(LabError::new(ErrorKind::Refused, text).advise(advice));
        }
        engine::admit(&workload, info)?;
        Ok(workload)
    }

    /// The workload without a region.
    fn draft(&self) -> Result<Workload> {
        let mix = match self.rw {
            Access::Read | Access::RandRead => Mix::READ,
            Access::Write | Access::RandWrite => Mix::WRITE,
            Access::Rw | Access::RandRw => Mix::read_percent(self.mix),
        };
        let unbounded = self.time_ns.is_none() && self.coverage.is_none() && self.ops.is_none();
        let stop = Stop {
            time_ns: if unbounded { Some(TIME_NS) } else { self.time_ns },
            ops: self.ops,
            coverage: self.coverage,
            bytes: None,
        };
        let pattern = self.pattern()?;
        let defaults = Workload::new("io", pattern, mix, self.blocks.max(), Region::first(0));
        Ok(Workload {
            blocks: self.blocks.clone(),
            shift_bytes: self.shift,
            content: self.content.clone(),
            pacing: self.pacing(),
            depth: self.depth,
            batch: self.batch.min(self.depth),
            jobs: self.jobs,
            stop,
            flush_every: self.flush_every,
            flush_at_end: mix.write > 0 && !self.no_flush,
            caching: if self.buffered { Caching::Buffered } else { Caching::Bypass },
            verify: self.verify,
            seed: self.seed,
            ..defaults
        })
    }

    fn pattern(&self) -> Result<Pattern> {
        let Io { stride, backwards, repeats, zipf, hot, .. } = self;
        if self.rw.is_random() {
            if stride.is_some() || *backwards {
                let text = "--stride and --backwards require --rw read, write or rw";
                return Err(LabError::usage(text));
            }
            return Ok(match (zipf, hot) {
                (Some(theta), _) => Pattern::Zipf { theta: *theta },
                (_, Some(zones)) => zones.clone(),
                _ if *repeats => Pattern::Uniform,
                _ => Pattern::UniformOnce,
            });
        }
        if *repeats || zipf.is_some() || hot.is_some() {
            let text = "--repeats, --zipf and --hot require --rw randread, randwrite or randrw";
            return Err(LabError::usage(text));
        }
        Ok(match stride {
            Some(stride_bytes) => Pattern::Strided { stride_bytes: *stride_bytes },
            None if *backwards => Pattern::Backwards,
            None => Pattern::Sequential,
        })
    }

    fn pacing(&self) -> Pacing {
        match (self.burst, self.rate) {
            (Some(Burst { on_ns, off_ns }), rate) => Pacing::OnOff { on_ns, off_ns, rate },
            (None, None) => Pacing::Closed,
            (None, Some(rate)) if self.poisson => Pacing::Poisson { rate },
            (None, Some(rate)) => Pacing::Fixed { rate },
        }
    }
}

/// Parses the options of `ssdyno io`, which belong to the command.
pub type ReadIo<'a> = &'a dyn Fn(&str) -> std::result::Result<Io, String>;

impl<'a> Work<'a> {
    /// Work with an `ssdyno io` workload.
    pub fn io(io: &'a Io) -> Work<'a> {
        Work::new(&BY_HAND, move |session| run(io, session)).with_options(io.given())
    }

    pub(crate) fn of_io(io: Io) -> Work<'a> {
        let options = io.given();
        Work::new(&BY_HAND, move |session| run(&io, session)).with_options(options)
    }
}

fn run(io: &Io, session: &mut Session<'_>) -> Result<()> {
    let workload = io.workload(session.target())?;
    if is_laid_out(&workload, session.target()) {
        let (region, seed) = (Region::first(workload.region.end()), workload.seed);
        session.prepare("fill", Preparation::Fill { region, content: Content::Random, seed })?;
    }
    Ok(methods::by_hand(session, &workload)?)
}

/// Whether a scratch file is written before the workload. Reads of unwritten blocks never reach the
/// drive, and a first write costs the file system more than an overwrite.
fn is_laid_out(workload: &Workload, info: &TargetInfo) -> bool {
    let in_order = workload.mix == Mix::WRITE && !workload.pattern.is_random();
    info.target.kind == TargetKind::Directory && !in_order
}

#[cfg(test)]
mod tests {
    use record::Plan;

    use super::*;

    fn io(rw: Access) -> Io {
        Io {
            rw,
            mix: 70,
            blocks: BlockSizes::Fixed(4096),
            content: Content::Random,
            verify: false,
            buffered: false,
            flush_every: None,
            no_flush: false,
            depth: 1,
            batch: 1,
            jobs: 1,
            rate: None,
            poisson: false,
            burst: None,
            time_ns: None,
            coverage: None,
            ops: None,
            offset: 0,
            size: None,
            shift: 0,
            stride: None,
            backwards: false,
            repeats: false,
            zipf: None,
            hot: None,
            seed: 1,
        }
    }

    fn target(kind: TargetKind, allowed: Safety) -> TargetInfo {
        let mut info = TargetInfo::null(1 << 30);
        info.target.spec = "t".into();
        info.target.kind = kind;
        (info.logical_block_bytes, info.allowed) = (4096, allowed);
        info
    }

    fn planned(io: &Io, info: &TargetInfo) -> Result<Plan> {
        Session::plan(info, |session| run(io, session))
    }

    #[test]
    fn the_plan_bounds_the_bytes_written() {
        let scratch = target(TargetKind::Directory, Safety::Scratch);
        let (kib, mib, gib) = (1u64 << 10, 1u64 << 20, 1u64 << 30);
        let second = Some(1_000_000_000);
        let [read, write] = [Access::RandRead, Access::Write].map(io);
        let blocks = |bytes| BlockSizes::Fixed(bytes);
        let table = [
            // The scratch file is written before the reads.
            (Io { time_ns: second, ..read.clone() }, gib),
            (Io { size: Some(mib), ops: Some(10), ..read }, mib),
            (Io { size: Some(mib), coverage: Some(2.0), ..write.clone() }, 2 * mib),
            (Io { ops: Some(10), blocks: blocks(65_536), ..write.clone() }, 640 * kib),
            (Io { ops: Some(10), coverage: Some(1.0), ..io(Access::RandWrite) }, gib + 10 * 4096),
            (Io { time_ns: second, ..write.clone() }, 16_000_000_000 / 4096 * 4096 + 4096),
            (Io { time_ns: second, rate: Some(100.0), ..write.clone() }, 101 * 4096 + 4096),
            (Io { time_ns: second, ops: Some(1), ..write.clone() }, 4096),
            // A short mixed workload can consist of writes only.
            (Io { size: Some(mib), ops: Some(10), ..io(Access::RandRw) }, mib + 10 * 4096),
            (Io { size: Some(4 * mib), coverage: Some(1.5), jobs: 3, ..write }, 6 * mib + 3 * 4096),
        ];
        for (io, bytes) in table {
            let plan = planned(&io, &scratch).expect("planned");
            assert_eq!((plan.write_bytes_max, plan.safety), (bytes, Safety::Scratch), "{io:?}");
            assert_eq!(plan.destroys, None, "{io:?}");
        }
    }

    #[test]
    fn a_target_is_written_only_with_permission() {
        let read = target(TargetKind::Device, Safety::Reads);
        let plan = planned(&io(Access::RandRead), &read).expect("planned");
        assert_eq!((plan.write_bytes_max, plan.safety), (0, Safety::Reads));
        let refused = planned(&io(Access::RandWrite), &read).expect_err("refused");
        assert_eq!(refused.kind(), ErrorKind::Refused);
        let given = target(TargetKind::Device, Safety::Destroys);
        let write = Io { size: Some(1 << 20), ..io(Access::RandWrite) };
        let plan = planned(&write, &given).expect("planned");
        assert_eq!(plan.safety, Safety::Destroys);
        assert_eq!(plan.destroys.as_deref(), Some("the first 1 MiB of t"));
        let null = target(TargetKind::Null, Safety::Destroys);
        assert_eq!(planned(&io(Access::Write), &null).expect("planned").destroys, None);
    }

    #[test]
    fn impossible_workloads_are_usage_errors() {
        let scratch = target(TargetKind::Directory, Safety::Scratch);
        let [read, write, random] = [Access::Read, Access::Write, Access::RandRead].map(io);
        let blocks = |bytes| BlockSizes::Fixed(bytes);
        let small = Io { size: Some(1 << 20), ..random.clone() };
        let wrong = [
            Io { blocks: blocks(512), ..random.clone() },
            Io { shift: 512, ..random.clone() },
            Io { offset: 1 << 30, ..random.clone() },
            Io { blocks: blocks(2 << 20), ..small.clone() },
            Io { jobs: 512, ..small },
            Io { zipf: Some(1.1), ..read.clone() },
            Io { hot: Some(Pattern::hot_cold(0.2, 0.8)), ..read },
            Io { repeats: true, ..write },
            Io { backwards: true, ..random.clone() },
            Io { stride: Some(1 << 20), ..random.clone() },
            Io { rate: Some(0.0), ..random.clone() },
        ];
        for io in wrong {
            let error = planned(&io, &scratch).expect_err("refused");
            assert_eq!(error.kind(), ErrorKind::Usage, "{io:?}");
        }
        assert!(planned(&Io { blocks: blocks(512), buffered: true, ..random }, &scratch).is_ok());
    }

    #[test]
    fn options_become_the_workload() {
        let draft = |io: Io| io.draft().expect("consistent");
        let [read, write] = [Access::RandRead, Access::Write].map(io);
        assert_eq!(draft(read.clone()).stop, Stop::after_ns(TIME_NS));
        let stop = Stop { ops: Some(5), ..Stop::default() };
        assert_eq!(draft(Io { ops: Some(5), ..read.clone() }).stop, stop);
        assert_eq!(draft(Io { depth: 4, batch: 16, ..read.clone() }).batch, 4);
        assert_eq!(draft(Io { mix: 30, ..io(Access::Rw) }).mix, Mix::read_percent(30));
        assert!(draft(write.clone()).flush_at_end);
        assert!(!draft(Io { no_flush: true, ..write }).flush_at_end);
        let paced = Io { rate: Some(5.0), poisson: true, ..read.clone() };
        assert_eq!(draft(paced).pacing, Pacing::Poisson { rate: 5.0 });
        let burst = Some(Burst { on_ns: 1, off_ns: 9 });
        let bursts = Pacing::OnOff { on_ns: 1, off_ns: 9, rate: None };
        assert_eq!(draft(Io { burst, ..read.clone() }).pacing, bursts);
        let zones = Pattern::hot_cold(0.2, 0.8);
        assert_eq!(draft(Io { hot: Some(zones.clone()), ..read }).pattern, zones);
    }
}
