//! `sdclass`: Speed Class, UHS and Video Speed Class, and A1/A2, as the SD specification measures
//! them.
//!
//! This host determines the bus clock and the state of the card, so the grade belongs to card and
//! host together. The classes are in `classes.rs`.

mod answer;
mod classes;
mod verdict;

use record::{MetricKey, Safety, State, TargetKind};
use rig::{BlockRequest, BlockWay, RigError};
use workload::{Content, Filler, Mix, OpKind, Pattern, Region, Stop, Workload};

use script::{
    Common, Conclusion, MethodError, MethodInfo, MetricInfo, Options, Result, Session, TestRegion,
};

pub(crate) use classes::Measured;
use classes::{LARGE_UNIT, SMALL_UNIT};

/// Default duration in seconds, on a card of Class 4.
const SECONDS: f64 = 150.0;

/// Area of random access, bytes, as for A1 and A2.
const AREA: u64 = 256 << 20;

/// The allocation unit, or the part of a larger one, over which the specification averages, bytes.
const WINDOW: u64 = 4 << 20;

/// Number of reads of recording units.
const READS: u64 = 256;

/// Seconds of each random workload, with the default time.
const RANDOM_SECONDS: f64 = 10.0;

/// Random writes end after 1/n of the area: on a drive other than a card, more would measure
/// garbage collection.
const RANDOM_SHARE: u64 = 4;

/// Queue depths of A1, and of A2 with its command queue of 32.
const DEPTHS: [u32; 2] = [1, 32];

/// The method.
pub(crate) static INFO: MethodInfo = MethodInfo {
    name: "sdclass",
    summary: "which SD speed class does the card meet",
    about: "Writes 128 MiB sequentially in recording units of 64 KiB, then the next 128 MiB in \
            units of 512 KiB, one at a time. The slowest 4 MiB of each count, except the first, \
            for which the specification allows preparation. Then it runs 256 random reads of 512 \
            KiB, and random 4 KiB reads and writes over these 256 MiB, at queue depths 1 and 32. \
            The results are the highest Speed Class (2 to 10), UHS class (U1, U3), Video class (V6 \
            to V90) and application class (A1, A2) that the card meets on this host. The \
            specification defines classes for a card in a specified state and at a specified bus \
            clock; in a slow reader, or after use, a card can fail a class that is printed on it.",
    safety: Safety::Scratch,
    seconds: SECONDS,
    writes: "256 MiB, and up to half of that at random",
    ignores: &[Common::Replicates],
    primary: &[WRITE.name, READ.name, RANDOM.name],
    metrics: &[&[WRITE, LONGEST_WRITE, READ, RANDOM, CLASS]],
    run,
    answer: answer::answer,
    conclusion: Conclusion::Script,
    ..MethodInfo::EMPTY
};

const WRITE: MetricInfo = MetricInfo::rate(
    "sdclass-write-{64KiB,512KiB}",
    "the slowest 4 MiB written sequentially in units of this size",
);
const LONGEST_WRITE: MetricInfo =
    MetricInfo::ns("sdclass-write-{64KiB,512KiB}.max", "the slowest of these units");
const READ: MetricInfo = MetricInfo::rate("sdclass-read", "256 random reads of 512 KiB");
const RANDOM: MetricInfo = MetricInfo::iops(
    "sdclass-rand-{read,write}-q{1,32}",
    "random 4 KiB over 256 MiB, at this queue depth",
);
const CLASS: MetricInfo = MetricInfo::number(
    "sdclass-{speed,uhs,video,application}",
    "number of the highest class met (10 for C10, 3 for U3, 30 for V30, 1 for A1); 0 for none",
);

fn run(session: &mut Session<'_>, options: &Options) -> Result<()> {
    let size = options.size.unwrap_or(AREA).min(AREA);
    let test_region = TestRegion::new(session.target(), &options.sized(size), SECONDS)?;
    if !test_region.writes {
        let spec = &session.target().target.spec;
        let text = format!("sdclass writes to {spec}, which was not opened with --destroy");
        let advice = "--destroy with the card's serial number, or a directory on it";
        return Err(RigError::refused(text, advice).into());
    }
    measure(session, &test_region, options)
}

fn measure(session: &mut Session<'_>, test_region: &TestRegion, options: &Options) -> Result<()> {
    let half = (test_region.bytes / 2 / WINDOW).max(1) * WINDOW;
    if half < 2 * WINDOW || 2 * half > session.target().bytes {
        let (bytes, least) = (session.target().bytes, 4 * WINDOW);
        return Err(MethodError::TooSmall { bytes, least });
    }
    if session.target().target.kind != TargetKind::Directory {
        session.set_state(State::Used);
    }
    let mut measured = Measured::default();
    for (i, unit) in [SMALL_UNIT, LARGE_UNIT].into_iter().enumerate() {
        let region = Region { start: i as u64 * half, bytes: half };
        let key = WRITE.member(&[&record::size_word(unit)]);
        let writes = in_order(session, &key, region, unit, options.seed)?;
        measured.write[i] = writes.slowest_window;
        measured.busy_ns[i] = writes.slowest_unit_ns;
        session.put_value(key.clone(), WRITE.unit, Some(writes.slowest_window));
        let longest = Some(writes.slowest_unit_ns as f64);
        session.put_value(key.with(record::Statistic::Max), LONGEST_WRITE.unit, longest);
    }
    let area = Region::first(2 * half);
    let mut reads = Workload::new(READ, Pattern::Uniform, Mix::READ, LARGE_UNIT as u32, area);
    (reads.stop.ops, reads.seed) = (Some(READS), test_region.seed_of(1));
    reads.stop.bytes = Some(READS * LARGE_UNIT);
    let m = session.probe(&reads, 0)?;
    measured.read = m.throughput(None).unwrap_or(0.0);
    session.put(READ, Some(measured.read));
    let seconds = RANDOM_SECONDS * test_region.seconds / SECONDS;
    for (i, depth) in DEPTHS.into_iter().enumerate() {
        for kind in [OpKind::Read, OpKind::Write] {
            let w = random(kind, depth, area, seconds, test_region.seed_of(2 + i as u32));
            let m = session.probe(&w, 0)?;
            let iops = m.iops(Some(kind)).unwrap_or(0.0);
            measured.random[i][usize::from(kind == OpKind::Write)] = iops;
            session.put_member(RANDOM, &[&kind.name(), &depth], Some(iops));
        }
    }
    for (name, number) in measured.classes() {
        session.put_member(CLASS, &[&name], Some(f64::from(number)));
    }
    session.conclude(vec![verdict::verdict(&measured)]);
    session.checkpoint();
    Ok(())
}

fn random(kind: OpKind, depth: u32, area: Region, seconds: f64, seed: u64) -> Workload {
    let key = RANDOM.member(&[&kind.name(), &depth]);
    let mut w = Workload::new(key, Pattern::Uniform, Mix::from_kind(kind), 4096, area);
    (w.depth, w.seed) = (depth, seed);
    w.stop = Stop::after_seconds(seconds);
    if kind == OpKind::Write {
        w.stop.bytes = Some(area.bytes / RANDOM_SHARE);
        w.flush_at_end = true;
    }
    w
}

/// The result of writing a region sequentially.
struct Written {
    /// Bytes per second over the slowest window, except the first.
    slowest_window: f64,
    slowest_unit_ns: u64,
}

/// Writes a region sequentially, one unit at a time.
fn in_order(
    session: &mut Session<'_>,
    key: &MetricKey,
    region: Region,
    unit: u64,
    seed: u64,
) -> Result<Written> {
    session.step(&key.to_string(), 0);
    let mut filler = Filler::new(Content::Random, seed);
    let mut bytes = vec![0; unit as usize];
    if !session.plans() {
        filler.fill(&mut bytes, unit);
    }
    let mut before = session.elapsed_ns();
    let (mut window_began, mut slowest_unit_ns) = (before, 0);
    let (mut windows, mut completed) = (Vec::new(), Vec::new());
    for offset in (region.start..region.end()).step_by(unit as usize) {
        let request = BlockRequest { tag: offset, way: BlockWay::Write, offset, bytes };
        session.submit_unique(request, &mut filler)?;
        session.poll(true, &mut completed)?;
        let Some(write) = completed.pop() else {
            return Err(MethodError::Unfinished { part: key.to_string() });
        };
        write
            .result
            .map_err(|source| RigError::Io { context: format!("write at {offset}"), source })?;
        slowest_unit_ns = slowest_unit_ns.max(write.done_ns.saturating_sub(before));
        before = write.done_ns;
        bytes = write.request.bytes;
        if (offset + unit - region.start).is_multiple_of(WINDOW) {
            windows.push(before.saturating_sub(window_began));
            window_began = before;
        }
    }
    session.flush()?;
    // Data in a buffer do not count as written until the flush.
    let flushed = session.elapsed_ns().saturating_sub(before);
    windows.last_mut().into_iter().for_each(|last| *last += flushed);
    let slowest = windows.iter().skip(1).copied().max().unwrap_or(0).max(1);
    Ok(Written { slowest_window: WINDOW as f64 * 1e9 / slowest as f64, slowest_unit_ns })
}
