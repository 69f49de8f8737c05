//! `ssdyno io`: one workload by hand.

use methods::MethodError;
use record::{Plan, Safety, Step, TargetKind};
use rig::{Event, Preparation, Rig, TargetInfo};
use workload::{BlockSizes, Caching, Content, Mix, Pacing, Pattern, Region, Stop, Workload, units};

use super::session::{self, Job};
use crate::cli::{IoArgs, Rw};
use crate::failure::{Failure, Result, USAGE};
use crate::interrupt;

/// How long a workload lasts that nothing else ends, nanoseconds.
const TIME_NS: u64 = 10_000_000_000;

/// What the fastest link of today moves, for the bound on bytes written of a workload that only
/// time ends: PCIe 5.0 x4, bytes per second.
const FASTEST: f64 = 15.8e9;

/// Runs the workload and shows its record.
pub fn run(args: &IoArgs) -> Result {
    // Before anything is opened, so that a wrong word costs nothing.
    let draft = draft(args)?;
    let interrupt = interrupt::flag()?;
    let workload = |info: &TargetInfo| place(args, &draft, info);
    let job = Job {
        method: "io",
        plan: &|info| plan(&workload(info)?, info),
        act: &|rig, out| {
            let workload = workload(rig.target())?;
            lay_out(rig, &workload)?;
            methods::by_hand(rig, &workload, out)
        },
    };
    session::run(&args.on, &job, &interrupt)
}

/// The workload as far as the arguments say, without a region.
fn draft(args: &IoArgs) -> Result<Workload> {
    let pacing = pacing(args)?;
    let blocks = blocks(&args.bs)?;
    let mix = match args.rw {
        Rw::Read | Rw::Randread => Mix::READ,
        Rw::Write | Rw::Randwrite => Mix::WRITE,
        Rw::Rw | Rw::Randrw => Mix::read_percent(args.mix),
    };
    let unbounded = args.time.is_none() && args.coverage.is_none() && args.ops.is_none();
    let time_ns = args.time.map(|t| t.as_nanos() as u64);
    let stop = Stop {
        time_ns: if unbounded { Some(TIME_NS) } else { time_ns },
        ops: args.ops,
        coverage: args.coverage,
        bytes: None,
    };
    let named = Workload::new("io", pattern(args)?, mix, blocks.max(), Region::first(0));
    Ok(Workload {
        blocks,
        shift_bytes: args.shift,
        content: args.content,
        pacing,
        depth: args.depth,
        batch: args.batch.min(args.depth),
        jobs: args.jobs,
        stop,
        flush_every: args.flush_every,
        flush_at_end: mix.write > 0 && !args.no_flush,
        caching: if args.buffered { Caching::Buffered } else { Caching::Bypass },
        verify: args.verify,
        seed: args.on.seed,
        ..named
    })
}

/// The workload on a target: its region is what the target has.
fn place(
    args: &IoArgs,
    draft: &Workload,
    info: &TargetInfo,
) -> std::result::Result<Workload, MethodError> {
    let room = info.bytes.saturating_sub(args.offset);
    let region = Region { start: args.offset, bytes: args.on.size.unwrap_or(room).min(room) };
    let workload = Workload { region, ..draft.clone() };
    workload.check().map_err(|e| MethodError::Rig(e.into()))?;
    Ok(workload)
}

/// Writes a scratch file before it is read or overwritten at random: blocks that were never written
/// are not the drive's to read, and writing them costs the file system more than writing them again.
fn lay_out(rig: &mut dyn Rig, workload: &Workload) -> std::result::Result<(), MethodError> {
    let scratch = rig.target().target.kind == TargetKind::Directory;
    if !scratch || workload.mix == Mix::WRITE && !workload.pattern.is_random() {
        return Ok(());
    }
    rig.note(Event::Step { name: "fill".into(), replicate: 0 });
    let region = Region::first(workload.region.end());
    rig.prepare(Preparation::Fill { region, content: Content::Random, seed: workload.seed })?;
    Ok(())
}

fn plan(workload: &Workload, info: &TargetInfo) -> std::result::Result<Plan, MethodError> {
    let scratch = info.target.kind == TargetKind::Directory;
    let seconds = workload.stop.time_ns.map_or(0.0, |ns| ns as f64 / 1e9);
    let link = info.target.drive.as_ref().and_then(|d| d.link.as_ref()?.ceiling_bytes_per_s);
    let by_time = seconds * link.unwrap_or(FASTEST);
    let block = f64::from(workload.blocks.max());
    let bounds = [
        workload.stop.bytes_bound(workload.region.bytes).map(|b| b as f64),
        workload.stop.ops.map(|n| n as f64 * block),
        workload.stop.time_ns.map(|_| by_time),
    ];
    let most = bounds.into_iter().flatten().fold(f64::INFINITY, f64::min);
    let share = f64::from(workload.mix.write) / f64::from(workload.mix.total());
    let fill = if scratch { workload.region.end() } else { 0 };
    let write_bytes_max = (most * share) as u64 + fill;
    let safety = match (workload.mix.changes_data(), scratch) {
        (_, true) => Safety::Scratch,
        (false, _) => Safety::Reads,
        (true, _) => Safety::Destroys,
    };
    let region = units::decimal(workload.region.bytes);
    Ok(Plan {
        safety,
        seconds,
        write_bytes_max,
        region_bytes: workload.region.bytes,
        destroys: (safety == Safety::Destroys).then(|| format!("{region} of {}", info.target.spec)),
        steps: vec![Step { name: workload.name.clone(), seconds, repeats: 1, write_bytes_max }],
        workloads: Vec::new(),
        command: Vec::new(),
    })
}

fn pattern(args: &IoArgs) -> Result<Pattern> {
    let random = matches!(args.rw, Rw::Randread | Rw::Randwrite | Rw::Randrw);
    let ordered = args.stride.is_some() || args.backwards;
    let shaped = args.repeats || args.zipf.is_some() || args.hot.is_some();
    if random && ordered {
        return Err(Failure::new(USAGE, "--stride and --backwards go with --rw read, write or rw"));
    }
    if !random && shaped {
        let text = "--repeats, --zipf and --hot go with --rw randread, randwrite or randrw";
        return Err(Failure::new(USAGE, text));
    }
    Ok(match (random, args.stride, args.zipf, &args.hot) {
        (false, Some(stride_bytes), ..) => Pattern::Strided { stride_bytes },
        (false, None, ..) if args.backwards => Pattern::Backwards,
        (false, ..) => Pattern::Sequential,
        (true, _, Some(theta), _) => Pattern::Zipf { theta },
        (true, _, _, Some(hot)) => hot_cold(hot)?,
        (true, ..) if args.repeats => Pattern::Uniform,
        (true, ..) => Pattern::UniformOnce,
    })
}

fn hot_cold(text: &str) -> Result<Pattern> {
    let share = |part: &str| part.trim_end_matches('%').parse::<f64>().ok().map(|p| p / 100.0);
    let parts = text.split_once('/').and_then(|(a, b)| Some((share(a)?, share(b)?)));
    let inside = |share: f64| share > 0.0 && share < 1.0;
    match parts {
        Some((space, access)) if inside(space) && inside(access) => {
            Ok(Pattern::hot_cold(space, access))
        }
        _ => Err(Failure::new(USAGE, format!("--hot {text}: write percents such as 20/80"))),
    }
}

fn pacing(args: &IoArgs) -> Result<Pacing> {
    if let Some(text) = &args.burst {
        let wrong = || Failure::new(USAGE, format!("--burst {text}: write times such as 1s/9s"));
        let (on, off) = text.split_once('/').ok_or_else(wrong)?;
        let ns = |part| units::parse_duration(part).map(|t| t.as_nanos() as u64);
        let (on_ns, off_ns) = ns(on).and_then(|on| Ok((on, ns(off)?))).map_err(|_| wrong())?;
        return Ok(Pacing::OnOff { on_ns, off_ns, rate: args.rate });
    }
    Ok(match args.rate {
        None => Pacing::Closed,
        Some(rate) if args.poisson => Pacing::Poisson { rate },
        Some(rate) => Pacing::Fixed { rate },
    })
}

fn blocks(text: &str) -> Result<BlockSizes> {
    let size = |text: &str| {
        let bytes =
            units::parse_bytes(text).map_err(|e| Failure::new(USAGE, format!("--bs: {e}")))?;
        let whole = u32::try_from(bytes).ok().filter(|b| (1..=1 << 30).contains(b));
        whole.ok_or_else(|| Failure::new(USAGE, format!("--bs {text}: must be 1 byte to 1GiB")))
    };
    if !text.contains(':') {
        return Ok(BlockSizes::Fixed(size(text)?));
    }
    let part = |part: &str| {
        let (bytes, weight) = part.split_once(':').unwrap_or((part, "1"));
        let weight = weight.parse::<u32>().map_err(|_| {
            Failure::new(USAGE, format!("--bs {part}: the weight after ':' is no number"))
        })?;
        Ok((size(bytes)?, weight))
    };
    Ok(BlockSizes::Split(text.split(',').map(part).collect::<Result<Vec<_>>>()?))
}
