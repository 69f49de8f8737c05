//! `speed`: Open Firmware's `.speed`, and the questions it left open.
//!
//! The old tool measured once, at block 0, and left open whether other blocks or another time would
//! give other numbers. So the middle and the end are also measured, repeatedly and in alternating
//! order, and chunks of several sizes show the cost of a command without its data. The layout is in
//! `layout.rs`.

mod answer;
mod layout;
#[cfg(test)]
mod tests;

use record::{Finding, FindingKind, IoErrors, Level, Statistic};
use rig::{Measurement, Preparation};
use workload::units::decimal;
use workload::{Content, OpKind};

use rules::{CommandTimes, Legacy, PlaceRates};
use script::{
    MethodInfo, MetricInfo, Options, Patience, Result, Round, Session, TestRegion, schedule,
};

use layout::Layout;

/// Default duration in seconds on a drive of at least 20 MB/s; a slower one gets fewer passes.
const SECONDS: f64 = 90.0;

/// No round starts if it would end later than this multiple of the time.
const PATIENCE: f64 = 1.5;

/// Unit of the old tool's numbers: 0.1 MB/s.
const TENTH_MB: f64 = 1e5;

/// The method.
pub(crate) static INFO: MethodInfo = MethodInfo {
    name: "speed",
    summary: "what does .speed say, and what is true",
    about: "Reads the first 32 MiB in chunks of the largest transfer, one at a time, and writes \
            the same bytes back, flush included. It does the same in the middle and at the end of \
            a drive, four times in alternating order. After each time, chunks from 4 KiB up to the largest \
            transfer are read and written, with their flush (below 64 MB/s, each smaller size \
            gets a part of the 32 MiB in turn): a fit of T = t0 + size/B gives the cost of a command without \
            its data. The results are the number as .speed printed it, in decimal MB/s, as a range \
            if passes differ, and the rate with flush and interval. In a directory, a scratch file \
            is used. A device is only read, unless it is opened with --borrow (or --destroy): then \
            its blocks are overwritten with their own content, after a journal of them was synced \
            to another drive (--journal DIR), and compared at the end. After a kill or a loss of \
            power, 'ssdyno recover' compares them and restores those that differ.",
    safety: record::Safety::Borrows,
    protocol: 3,
    seconds: SECONDS,
    writes: "32 MiB at three locations, and at the first again in up to six chunk sizes; all of it \
             four times, with their own content",
    primary: &[PASS.name],
    metrics: &[&[
        PASS,
        LEGACY,
        PLACE,
        CHUNK,
        COMMAND_TIME,
        MetricInfo::rate(
            "speed-{read,write}.transfer-rate",
            "B of the same formula: rate of the data alone",
        ),
    ]],
    run,
    answer: answer::answer,
    ..MethodInfo::EMPTY
};

const PASS: MetricInfo =
    MetricInfo::rate("speed-{read,write}", "the first 32 MiB; a write includes its last flush");
const LEGACY: MetricInfo = MetricInfo::rate(
    "speed-{read,write}.legacy",
    "the same as counted by the old tool: without the flush, in tenths of a MB/s",
);
const PLACE: MetricInfo = MetricInfo::rate(
    "speed-{read,write}-{middle,end}",
    "32 MiB in the middle of the drive; at its end",
);
const CHUNK: MetricInfo = MetricInfo::rate(
    "speed-{read,write}-{size}",
    "chunks of this size at the start: total bytes over the time of all chunks and the flush",
);
const COMMAND_TIME: MetricInfo = MetricInfo::ns(
    "speed-{read,write}.command-time",
    "t0 of T = t0 + size/B: time of a command without its data",
);
const READ: MetricInfo = PASS.named("speed-read");
const WRITE: MetricInfo = PASS.named("speed-write");

fn run(session: &mut Session<'_>, options: &Options) -> Result<()> {
    let layout = Layout::new(session.target(), options, SECONDS)?;
    let result = measure(session, &layout);
    // Restore in any case. A failure to restore data outweighs any earlier error.
    let restored = if layout.writes { restore(session) } else { Ok(()) };
    restored.and(result)
}

fn measure(session: &mut Session<'_>, layout: &Layout) -> Result<()> {
    if !layout.writes {
        let text = "no write access: nothing was written back";
        let note = Finding::new(FindingKind::ReadsOnly, Level::Note, text);
        session.note(note.advise("--borrow overwrites blocks with their own content"));
    }
    if layout.fills {
        session.step("fill", 0);
        for place in &layout.places {
            let (region, seed) = (place.region, layout.seed.wrapping_sub(1 + place.region.start));
            session.apply(Preparation::Fill { region, content: Content::Random, seed })?;
        }
    }
    let (mut passes, mut chunks) = (AllPasses::new(layout), Chunks::new(layout));
    let patience = Patience { rounds_min: 1, seconds: PATIENCE * layout.seconds };
    // The passes and the sweep of a round meet the drive in the same state: a card takes longer
    // once it has no erased blocks left.
    let run = session.rounds(
        layout.rounds,
        (!layout.rounds_given).then_some(patience),
        |session, round| {
            passes.round(session, layout, round)?;
            chunks.round(session, layout, round, passes.slowest())?;
            session.checkpoint();
            Ok(Round::Again)
        },
    )?;
    if run < layout.rounds {
        let text = format!("the drive is slow: only {run} of {} passes ran", layout.rounds);
        session.note(Finding::new(FindingKind::RoundsCut, Level::Note, text));
    }
    Ok(())
}

/// Rates of one direction at one location.
#[derive(Clone, Default)]
struct Passes {
    /// Rates by the old tool's rule, without the flush.
    legacy: Vec<f64>,
    honest: Vec<f64>,
}

impl Passes {
    fn add(&mut self, kind: OpKind, m: &Measurement) {
        let Some(times) = Times::from_measurement(kind, m) else { return };
        self.legacy.push(times.bytes * 1e9 / times.commands_ns.max(1.0));
        self.honest.push(times.bytes * 1e9 / times.whole_ns());
    }
}

/// The time of all commands of a measurement, and of its flush. At depth 1, the sum of the
/// operation times is the drive's total time; the processor time between operations is not the
/// drive's.
struct Times {
    bytes: f64,
    ops: f64,
    commands_ns: f64,
    flush_ns: f64,
}

impl Times {
    fn from_measurement(kind: OpKind, m: &Measurement) -> Option<Times> {
        let data = m.kind(kind).filter(|moved| moved.ops > 0)?;
        let flush_ns = m.kind(OpKind::Flush).map_or(0, |flush| flush.service.sum()) as f64;
        let (bytes, ops) = (data.bytes as f64, data.ops as f64);
        Some(Times { bytes, ops, commands_ns: data.service.sum() as f64, flush_ns })
    }

    /// Total time in nanoseconds, at least 1.
    fn whole_ns(&self) -> f64 {
        (self.commands_ns + self.flush_ns).max(1.0)
    }
}

/// The passes over all locations, in both directions.
struct AllPasses(Vec<[Passes; 2]>);

impl AllPasses {
    fn new(layout: &Layout) -> AllPasses {
        AllPasses(vec![[Passes::default(), Passes::default()]; layout.places.len()])
    }

    fn round(&mut self, session: &mut Session<'_>, layout: &Layout, round: u32) -> Result<()> {
        for index in schedule::order(layout.places.len(), round) {
            let place = &layout.places[index];
            for kind in layout.kinds() {
                if kind == OpKind::Write && round == 0 {
                    session.step("borrow", index as u32);
                    session.apply(Preparation::Borrow { region: place.region })?;
                }
                let w = TestRegion::replicate(&layout.pass(place, kind), round);
                let m = session.measure(&w, round)?;
                self.0[index][kind as usize].add(kind, &m);
            }
        }
        put_passes(session, layout, &self.0);
        session.checkpoint();
        Ok(())
    }

    /// The slowest rates of reads and writes at the start.
    fn slowest(&self) -> [f64; 2] {
        [OpKind::Read, OpKind::Write].map(|kind| {
            let rates = self.0[0][kind as usize].honest.iter();
            rates.copied().fold(f64::INFINITY, f64::min)
        })
    }
}

fn put_passes(session: &mut Session<'_>, layout: &Layout, rates: &[[Passes; 2]]) {
    for kind in layout.kinds() {
        for (place, rates) in layout.places.iter().zip(rates) {
            session.put_rates(place.key(kind), &rates[kind as usize].honest);
        }
        let legacy = rates[0][kind as usize].legacy.iter();
        let legacy: Vec<f64> = legacy.map(|rate| (rate / TENTH_MB).round() * TENTH_MB).collect();
        session.put_rates(layout.places[0].key(kind).with(Statistic::Legacy), &legacy);
    }
    session.checks_mut().put(Legacy {
        rates: [OpKind::Read, OpKind::Write].map(|kind| rates[0][kind as usize].legacy.clone()),
        bytes: layout.places[0].region.bytes,
        chunk: layout.chunk,
    });
    let places = layout.kinds().into_iter().map(|kind| PlaceRates {
        kind,
        places: layout.places.iter().map(|place| place.label).collect(),
        rates: rates.iter().map(|rates| rates[kind as usize].honest.clone()).collect(),
    });
    session.checks_mut().put(places.collect::<Vec<_>>());
}

/// The sweep of chunk sizes: times of a chunk in nanoseconds and rates, of all chunks with their
/// flush, per cell and round. A drive that buffers takes most chunks at once and the rest late, so
/// that no quantile is the cost of a chunk.
struct Chunks {
    cells: Vec<(OpKind, u32)>,
    times: Vec<Vec<f64>>,
    rates: Vec<Vec<f64>>,
}

impl Chunks {
    fn new(layout: &Layout) -> Chunks {
        let kinds = layout.kinds().into_iter();
        let cells = kinds.flat_map(|kind| layout.sizes.iter().map(move |size| (kind, *size)));
        let cells: Vec<(OpKind, u32)> = cells.collect();
        let none = vec![Vec::new(); cells.len()];
        Chunks { cells, times: none.clone(), rates: none }
    }

    fn round(
        &mut self,
        session: &mut Session<'_>,
        layout: &Layout,
        round: u32,
        speeds: [f64; 2],
    ) -> Result<()> {
        let mut turns = [0; 2];
        for index in schedule::order(self.cells.len(), round) {
            let (kind, size) = self.cells[index];
            let speed = session.assume(speeds[kind as usize], f64::INFINITY);
            let turn = turns[kind as usize];
            let w = layout.chunk(kind, size, turn, speed);
            let pass = layout.pass(&layout.places[0], kind);
            session.expect_at_rate(&pass, |rate| layout.chunk(kind, size, turn, rate));
            turns[kind as usize] += usize::from(size != layout.chunk);
            let m = session.moment(&TestRegion::replicate(&w, round), round)?;
            let sums = Times::from_measurement(kind, &m);
            let command_ns = sums.as_ref().map_or(f64::NAN, |sums| sums.whole_ns() / sums.ops);
            self.times[index].push(command_ns);
            let rate = sums.map_or(f64::NAN, |sums| sums.bytes * 1e9 / sums.whole_ns());
            self.rates[index].push(rate);
        }
        for ((kind, size), rates) in self.cells.iter().zip(&self.rates) {
            session.put_rates(layout::chunk_key(*kind, *size), rates);
        }
        put_costs(session, layout, &self.times);
        Ok(())
    }
}

fn put_costs(session: &mut Session<'_>, layout: &Layout, times: &[Vec<f64>]) {
    let mut commands = Vec::new();
    for (kind, times) in layout.kinds().into_iter().zip(times.chunks(layout.sizes.len())) {
        let rounds = times[0].len();
        let fits = (0..rounds).map(|round| {
            let points = layout.sizes.iter().zip(times).map(|(size, times)| (*size, times[round]));
            analysis::Cost::fit(&points.collect::<Vec<_>>())
        });
        let costs: Vec<analysis::Cost> = fits.flatten().collect();
        if costs.len() == rounds {
            let samples = costs.iter().map(|c| c.command_ns).collect();
            let key = layout.places[0].key(kind).with(Statistic::CommandTime);
            session.put_metric(analysis::metric(key, COMMAND_TIME.unit, samples));
            let samples: Vec<f64> = costs.iter().map(|c| c.bytes_per_s).collect();
            session.put_rates(layout.places[0].key(kind).with(Statistic::TransferRate), &samples);
        }
        commands.push(CommandTimes { kind, chunk: layout.chunk, costs, rounds });
    }
    session.checks_mut().put(commands);
}

/// Compares all borrowed blocks, and reports any difference.
fn restore(session: &mut Session<'_>) -> Result<()> {
    let changed = session.prepare("compare", Preparation::Restore)?.bytes;
    if changed > 0 {
        let text = format!(
            "{} read back with different content than written, and were restored",
            decimal(changed)
        );
        session.note(Finding::new(FindingKind::ContentChanged, Level::Bad, text));
        session.add_errors(&IoErrors::new("verify", "changed", "compare", 1));
    }
    Ok(())
}
