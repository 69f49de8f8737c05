//! `ssdyno io`: one workload by hand.

use methods::Session;
use record::{Safety, TargetKind};
use rig::{Preparation, TargetInfo};
use workload::{Caching, Content, Mix, Pacing, Pattern, Region, Stop, Workload};

use super::session::{self, Job};
use crate::cli::{Access, FlightArgs, IoArgs, PlaceArgs};
use crate::failure::{Failure, REFUSED, Result, USAGE};
use crate::interrupt;
use crate::words::Burst;

/// How long a workload lasts that nothing else ends, nanoseconds.
const TIME_NS: u64 = 10_000_000_000;

/// Runs the workload and shows its record.
pub fn run(args: &IoArgs) -> Result {
    // Before anything is looked at, so that a wrong word costs nothing.
    let draft = draft(args)?;
    let interrupt = interrupt::flag()?;
    let workload = |info: &TargetInfo| place(args, &draft, info);
    let job = Job { method: "io", act: &|session| act(session, &workload(session.target())?) };
    session::run(&args.on, &job, &interrupt)
}

/// The workload of these arguments on a target, if it may and can run there.
pub fn workload(args: &IoArgs, info: &TargetInfo) -> Result<Workload> {
    place(args, &draft(args)?, info)
}

/// The workload as far as the arguments say, without a region.
fn draft(args: &IoArgs) -> Result<Workload> {
    let IoArgs { ops, flight, end, place, on } = args;
    let mix = match ops.rw {
        Access::Read | Access::Randread => Mix::READ,
        Access::Write | Access::Randwrite => Mix::WRITE,
        Access::Rw | Access::Randrw => Mix::read_percent(ops.mix),
    };
    let unbounded = end.time_ns.is_none() && end.coverage.is_none() && end.ops.is_none();
    let stop = Stop {
        time_ns: if unbounded { Some(TIME_NS) } else { end.time_ns },
        ops: end.ops,
        coverage: end.coverage,
        bytes: None,
    };
    let pattern = pattern(ops.rw, place)?;
    let named = Workload::new("io", pattern, mix, ops.bs.max(), Region::first(0));
    Ok(Workload {
        blocks: ops.bs.clone(),
        shift_bytes: place.shift,
        content: ops.content.clone(),
        pacing: pacing(flight),
        depth: flight.depth,
        batch: flight.batch.min(flight.depth),
        jobs: flight.jobs,
        stop,
        flush_every: ops.flush_every,
        flush_at_end: mix.write > 0 && !ops.no_flush,
        caching: if ops.buffered { Caching::Buffered } else { Caching::Bypass },
        verify: ops.verify,
        seed: on.instrument.seed,
        ..named
    })
}

/// The workload on a target, if it may and can run there: its region is what the target has.
fn place(args: &IoArgs, draft: &Workload, info: &TargetInfo) -> Result<Workload> {
    let start = args.place.offset;
    if start >= info.bytes {
        let text = format!("--offset {start} is behind the end: there are {} bytes", info.bytes);
        return Err(Failure::new(USAGE, text));
    }
    let room = info.bytes - start;
    let region = Region { start, bytes: args.on.size.unwrap_or(room).min(room) };
    let workload = Workload { region, ..draft.clone() };
    if workload.mix.changes_data() && info.allowed < Safety::Scratch {
        let text = format!("{} may only be read, and this would overwrite it", info.target.spec);
        let advice = "--destroy with its serial number, or else its size in bytes, gives it away";
        return Err(Failure::new(REFUSED, text).advise(advice));
    }
    engine::admit(&workload, info)?;
    Ok(workload)
}

/// Whether a scratch file is written before it is read or overwritten at random: blocks that were
/// never written are not the drive's to read, and writing them costs the file system more than
/// writing them again.
fn is_laid_out(workload: &Workload, info: &TargetInfo) -> bool {
    let in_order = workload.mix == Mix::WRITE && !workload.pattern.is_random();
    info.target.kind == TargetKind::Directory && !in_order
}

/// Lays the scratch file out where that is needed, and runs the workload.
fn act(session: &mut Session<'_>, workload: &Workload) -> Result<()> {
    if is_laid_out(workload, session.target()) {
        let (region, seed) = (Region::first(workload.region.end()), workload.seed);
        session.prepare("fill", Preparation::Fill { region, content: Content::Random, seed })?;
    }
    Ok(methods::by_hand(session, workload)?)
}

fn pattern(rw: Access, place: &PlaceArgs) -> Result<Pattern> {
    let PlaceArgs { stride, backwards, repeats, zipf, hot, .. } = place;
    let wrong = |text: &str| Err(Failure::new(USAGE, text));
    if rw.is_random() {
        if stride.is_some() || *backwards {
            return wrong("--stride and --backwards go with --rw read, write or rw");
        }
        return Ok(match (zipf, hot) {
            (Some(theta), _) => Pattern::Zipf { theta: *theta },
            (_, Some(zones)) => zones.clone(),
            _ if *repeats => Pattern::Uniform,
            _ => Pattern::UniformOnce,
        });
    }
    if *repeats || zipf.is_some() || hot.is_some() {
        return wrong("--repeats, --zipf and --hot go with --rw randread, randwrite or randrw");
    }
    Ok(match stride {
        Some(stride_bytes) => Pattern::Strided { stride_bytes: *stride_bytes },
        None if *backwards => Pattern::Backwards,
        None => Pattern::Sequential,
    })
}

fn pacing(flight: &FlightArgs) -> Pacing {
    match (flight.burst, flight.rate) {
        (Some(Burst { on_ns, off_ns }), rate) => Pacing::OnOff { on_ns, off_ns, rate },
        (None, None) => Pacing::Closed,
        (None, Some(rate)) if flight.poisson => Pacing::Poisson { rate },
        (None, Some(rate)) => Pacing::Fixed { rate },
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use methods::Planner;
    use record::Plan;

    use super::*;
    use crate::cli::{Cli, Command};

    fn args(line: &str) -> IoArgs {
        let words =
            ["ssdyno", "io", "t"].into_iter().chain(line.split(' ').filter(|w| !w.is_empty()));
        match Cli::try_parse_from(words).expect("understood").command {
            Command::Io(args) => *args,
            _ => panic!("io was typed"),
        }
    }

    fn target(kind: TargetKind, allowed: Safety) -> TargetInfo {
        let target = record::Target {
            spec: "t".into(),
            kind,
            path: None,
            bytes: Some(1 << 30),
            drive: None,
            layers: Vec::new(),
            filesystem: None,
            direct: None,
        };
        TargetInfo {
            target,
            bytes: 1 << 30,
            logical_block_bytes: 4096,
            allowed,
            ram: false,
            formats: Vec::new(),
            discard: false,
            state: record::State::Unknown,
            bus: rig::Bus::Other,
            limits: rig::Limits::default(),
        }
    }

    fn planned(line: &str, info: &TargetInfo) -> Result<Plan> {
        let args = args(line);
        let workload = place(&args, &draft(&args)?, info)?;
        Planner::plan(info, |session| act(session, &workload))
    }

    #[test]
    fn the_plan_bounds_what_is_written() {
        let scratch = target(TargetKind::Directory, Safety::Scratch);
        let gib = 1u64 << 30;
        let table = [
            // The scratch file is written before it is read.
            ("--time 1s", gib),
            ("--size 1MiB --ops 10", 1 << 20),
            ("--size 1MiB --rw write --coverage 2", 2 << 20),
            ("--rw write --ops 10 --bs 64k", 10 << 16),
            ("--rw randwrite --ops 10 --coverage 1", gib + 10 * 4096),
            ("--rw write --time 1s", 16_000_000_000 + 4096),
            ("--rw write --time 1s --rate 100", 101 * 4096 + 4096),
            ("--rw write --time 1s --ops 1", 4096),
            // Of few operations of a mix all may be writes.
            ("--size 1MiB --rw randrw --ops 10", (1 << 20) + 10 * 4096),
            ("--size 4MiB --rw write --coverage 1.5 --jobs 3", (6 << 20) + 3 * 4096),
        ];
        for (line, bytes) in table {
            let plan = planned(line, &scratch).expect("planned");
            assert_eq!((plan.write_bytes_max, plan.safety), (bytes, Safety::Scratch), "{line}");
            assert_eq!(plan.destroys, None, "{line}");
        }
    }

    #[test]
    fn only_what_was_given_away_is_written() {
        let read = target(TargetKind::Device, Safety::Reads);
        let plan = planned("--time 1s", &read).expect("planned");
        assert_eq!((plan.write_bytes_max, plan.safety), (0, Safety::Reads));
        let refused = planned("--rw randwrite", &read).expect_err("refused");
        assert_eq!(refused.code(), REFUSED);
        let given = target(TargetKind::Device, Safety::Destroys);
        let plan = planned("--rw randwrite --size 1MiB", &given).expect("planned");
        assert_eq!(plan.safety, Safety::Destroys);
        assert_eq!(plan.destroys.as_deref(), Some("the first 1 MiB of t"));
        let null = target(TargetKind::Null, Safety::Destroys);
        assert_eq!(planned("--rw write", &null).expect("planned").destroys, None);
    }

    #[test]
    fn what_cannot_be_done_is_said_before_anything_is_done() {
        let scratch = target(TargetKind::Directory, Safety::Scratch);
        for line in [
            "--bs 512",
            "--shift 512",
            "--offset 1GiB",
            "--size 1MiB --bs 2MiB",
            "--size 1MiB --jobs 512",
            "--rw read --zipf 1.1",
            "--rw read --hot 20/80",
            "--rw write --repeats",
            "--backwards",
            "--stride 1MiB",
            "--rate 0",
        ] {
            assert_eq!(planned(line, &scratch).expect_err(line).code(), USAGE, "{line}");
        }
        assert!(planned("--bs 512 --buffered", &scratch).is_ok());
    }

    #[test]
    fn the_words_make_the_workload() {
        let draft = |line: &str| draft(&args(line)).expect("understood");
        assert_eq!(draft("").stop, Stop::after_ns(TIME_NS));
        assert_eq!(draft("--ops 5").stop, Stop { ops: Some(5), ..Stop::default() });
        assert_eq!(draft("--depth 4 --batch 16").batch, 4);
        assert_eq!(draft("--rw rw --mix 30").mix, Mix::read_percent(30));
        assert!(draft("--rw write").flush_at_end && !draft("--rw write --no-flush").flush_at_end);
        assert_eq!(draft("--rate 5 --poisson").pacing, Pacing::Poisson { rate: 5.0 });
        let bursts = Pacing::OnOff { on_ns: 1_000_000_000, off_ns: 9_000_000_000, rate: None };
        assert_eq!(draft("--burst 1s/9s").pacing, bursts);
        assert_eq!(draft("--hot 20/80").pattern, Pattern::hot_cold(0.2, 0.8));
    }
}
