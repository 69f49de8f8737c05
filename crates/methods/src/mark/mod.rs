//! `mark` (RISCOSMark): whole files of 8 MiB, and byte-at-a-time streams, scored against a RAM
//! disc.
//!
//! The legacy part gives the old tool's number, the honest part one that describes the drive. The
//! same code measures the RAM disc in the same session, alternating with the drive.

mod answer;
mod score;
#[cfg(test)]
mod tests;
mod verdict;

use record::{Covers, Finding, FindingKind, Level, Metric, MetricKey, Statistic, Unit};
use rig::{Measurement, Preparation, TargetInfo};
use workload::{Caching, Calls, Content, Mix, OpKind, Pattern, Region, Stop, Workload};

use self::score::{Column, Score, riscos_call_ns};
use self::verdict::Scores;
use script::{
    MethodError, MethodInfo, MetricInfo, Opt, Options, Result, Round, Session, TestRegion,
    complete, schedule,
};

/// Size of the file that is loaded and saved, bytes.
const FILE: u64 = 8 << 20;

/// Stream buffer, bytes, as in C libraries on most file systems.
const STREAM: u32 = 4096;

/// The old tool ends with the first file completed this long after the start, nanoseconds.
const LEGACY_NS: u64 = 1_000_000_000;

/// Default maximum region, bytes: many files.
const REGION: u64 = 256 << 20;

/// Maximum bytes used on the RAM disc.
const REFERENCE_BYTES: u64 = 64 << 20;

/// Default duration in seconds: 10 s per figure on the drive and on the RAM disc, and one second
/// per figure for the legacy part.
const SECONDS: f64 = 90.0;
const LEGACY_SECONDS: f64 = 9.0;

/// Maximum passes of a write replicate over its region.
const PASSES_MAX: u64 = 8;

/// Indices into the rates.
const RAM: usize = 0;
const DRIVE: usize = 1;

/// Maximum bytes that one legacy measurement writes: one second at memory speed.
const LEGACY_WRITES: u64 = 16 << 30;

/// The method.
pub(crate) static INFO: MethodInfo = MethodInfo {
    name: "mark",
    summary: "RISCOSMark, against a RAM disc",
    about: "Loads and saves a file of 8 MiB (HD), and reads and writes single bytes through a \
            stream with a buffer of 4 KiB (FS), alternating between the drive and a RAM disc of \
            this machine (tmpfs). The legacy part works like the old tool: one file repeatedly \
            through the cache until 1.00 s has passed on a clock of 10 ms; the score is floor(N * \
            8192 * 100 / T) KiB/s, with its range for one tick more or less. The honest part \
            bypasses the page cache, writes random content and makes saved files durable inside \
            the time, 10 s for each figure in four parts, with intervals and the ratio to the RAM \
            disc. --legacy skips the honest part. --reference riscos-ramfs compares with the \
            published RAM disc of RISC OS (397433, 1362629, 4928, 5134 KiB/s), which is also used \
            where no RAM disc can be measured. On a virtual drive a stream call takes as long as \
            on RISC OS: 198 ns per byte read, 190 written.",
    safety: record::Safety::Scratch,
    seconds: SECONDS,
    writes: "the scratch file once, then writes for half a minute",
    options: &[&LEGACY, &REFERENCE],
    primary: &[MARK.name],
    metrics: &[&[
        LEGACY_SCORE,
        MetricInfo::rate(
            "legacy-{hd,fs}-{read,write}.ram",
            "the same on a RAM disc of this machine",
        ),
        MARK,
        MetricInfo::rate(
            "mark-{hd,fs}-{read,write}.ram",
            "the same on a RAM disc of this machine, alternating with the drive",
        ),
        MetricInfo::number("mark-{hd,fs}-{read,write}.ratio", "drive over RAM disc"),
    ]],
    wants_reference: true,
    run,
    answer: answer::answer,
    ..MethodInfo::EMPTY
};

const LEGACY_SCORE: MetricInfo = MetricInfo::rate(
    "legacy-{hd,fs}-{read,write}",
    "the score of the old tool: floor(N * 8192 * 100 / T) KiB/s, T ticks of 10 ms, N the files \
         completed when 1.00 s has passed, through the cache; its interval is one tick more or \
         less",
);
const MARK: MetricInfo = MetricInfo::rate(
    "mark-{hd,fs}-{read,write}",
    "bypassing the cache, random content; a saved file is durable before the next",
);

static LEGACY: Opt<bool> =
    Opt::switch("legacy", "only the figures of the old tool, one second each");

static REFERENCE: Opt<Reference> = Opt::value(
    "reference",
    "DISC",
    "reference for the scores: ram, a RAM disc of this machine alternating with the drive, or \
     riscos-ramfs, the published one of RISC OS",
    |words| match words {
        [disc] if disc == "ram" => Ok(Reference::Ram),
        [disc] if disc == "riscos-ramfs" => Ok(Reference::RiscOsRamFs),
        _ => Err("ram or riscos-ramfs".into()),
    },
    Reference::default,
);

/// The reference for the scores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Reference {
    /// A RAM disc of this machine, measured in alternation with the drive.
    #[default]
    Ram,
    /// The published RAM disc of RISC OS (document 000).
    RiscOsRamFs,
}

fn run(session: &mut Session<'_>, options: &Options) -> Result<()> {
    let mut marks = Marks::new(session.target(), options)?;
    let bytes = session.begin(&marks.test_region, f64::INFINITY)?;
    marks.test_region.bytes = bytes - bytes % FILE;
    marks.reference = open_reference(session, &marks)?;
    let mut scores = Scores::new(marks.published, marks.reference > 0);
    legacy(session, &marks, &mut scores)?;
    if marks.legacy_only { Ok(()) } else { honest(session, &marks, &mut scores) }
}

/// The figures to measure, and their region.
struct Marks {
    test_region: TestRegion,
    /// Bytes used on the RAM disc; 0 if none is measured.
    reference: u64,
    legacy_only: bool,
    published: bool,
}

impl Marks {
    fn new(target: &TargetInfo, options: &Options) -> Result<Marks> {
        let part = options.sized(options.size.unwrap_or(REGION));
        let mut test_region = TestRegion::new(target, &part, SECONDS)?;
        test_region.bytes -= test_region.bytes % FILE;
        if test_region.bytes < FILE {
            return Err(MethodError::TooSmall { bytes: target.bytes, least: FILE });
        }
        test_region.size_given = options.size.is_some();
        let published = options.get(&REFERENCE) == Reference::RiscOsRamFs;
        Ok(Marks { test_region, reference: 0, legacy_only: options.get(&LEGACY), published })
    }

    fn columns(&self) -> impl Iterator<Item = Column> + '_ {
        Column::ALL.into_iter().filter(|column| self.test_region.writes || !column.writes())
    }

    fn region(&self) -> Region {
        self.test_region.region()
    }

    /// Seconds per replicate of an honest figure, equal for drive and RAM disc.
    fn each(&self) -> f64 {
        let parts = (2 * Column::ALL.len()) as f64 * f64::from(self.test_region.rounds);
        ((self.test_region.seconds - LEGACY_SECONDS) / parts).max(0.25)
    }

    /// The workload of the old tool, in the first 8 MiB.
    fn legacy(&self, column: Column) -> Workload {
        let mut w = self.workload(column, "legacy", Region::first(FILE));
        (w.caching, w.content) = (Caching::Buffered, Content::Repeated);
        w.stop = Stop::after_ns(LEGACY_NS);
        w.stop.bytes = column.writes().then_some(LEGACY_WRITES);
        w
    }

    fn honest(&self, column: Column, region: Region) -> Workload {
        let mut w = self.workload(column, "mark", region);
        w.stop = Stop::after_seconds(self.each());
        if column.writes() {
            w.stop.bytes = Some(PASSES_MAX * region.bytes);
            // Every saved file is durable before the next one.
            w.flush_every = column.whole_files().then_some(1);
            w.flush_at_end = true;
        }
        w
    }

    fn workload(&self, column: Column, kind: &str, region: Region) -> Workload {
        let mix = if column.writes() { Mix::WRITE } else { Mix::READ };
        let block = if column.whole_files() { FILE as u32 } else { STREAM };
        let block = block.next_multiple_of(self.test_region.small.min(FILE as u32));
        let name = MetricKey::of_words(&[&kind, &column.name()]).to_string();
        let mut w = Workload::new(name, Pattern::Sequential, mix, block, region);
        w.seed = self.test_region.seed_of(column as u32);
        w.calls = if column.whole_files() {
            Calls::Plain
        } else {
            Calls::Bytes { host_ns: riscos_call_ns(column) }
        };
        w
    }
}

/// Fills the part of the RAM disc that is used; returns its size in bytes, or 0 if no RAM disc is
/// measured.
fn open_reference(session: &mut Session<'_>, marks: &Marks) -> Result<u64> {
    if marks.published {
        return Ok(0);
    }
    let bytes = match session.reference() {
        None => 0,
        Some(reference) => {
            let bytes = REFERENCE_BYTES.min(reference.target().bytes) / FILE * FILE;
            if bytes > 0 {
                let (region, seed) = (Region::first(bytes), marks.test_region.seed);
                reference.prepare(Preparation::Fill { region, content: Content::Random, seed })?;
            }
            bytes
        }
    };
    if bytes == 0 {
        let text =
            "no RAM disc could be measured here: the published one of RISC OS is the reference";
        session.note(Finding::new(FindingKind::ReferencePublished, Level::Note, text));
    }
    Ok(bytes)
}

fn legacy(session: &mut Session<'_>, marks: &Marks, scores: &mut Scores) -> Result<()> {
    for column in marks.columns() {
        let w = marks.legacy(column);
        let drive = session.probe(&w, 0)?;
        let ram = match marks.reference {
            0 => None,
            _ => legacy_score(&on_reference(session, &w)?),
        };
        if let Some(score) = legacy_score(&drive) {
            session.put_metric(legacy_metric(MetricKey::from_workload(&w), score));
            scores.put(column, score, ram);
        }
        if let Some(ram) = ram {
            let key = MetricKey::from_workload(&w).with(Statistic::Ram);
            session.put_metric(legacy_metric(key, ram));
        }
        session.checks_mut().put(vec![scores.verdict()]);
        session.checkpoint();
    }
    Ok(())
}

fn legacy_score(m: &Measurement) -> Option<Score> {
    let bytes: u64 = m.kinds.iter().flatten().map(|kind| kind.bytes).sum();
    Score::new(bytes / 1024, m.elapsed_ns)
}

/// The interval comes from the clock, not from replicates.
fn legacy_metric(key: MetricKey, score: Score) -> Metric {
    let [rate, low, high] = [score.kib, score.low, score.high].map(|kib| kib as f64 * 1024.0);
    Metric::single(key, Unit::BytesPerSecond, rate).between(low, high, Covers::Resolution)
}

/// Runs a workload on the RAM disc.
fn on_reference(session: &mut Session<'_>, w: &Workload) -> Result<Measurement> {
    let reference = session.reference().ok_or(MethodError::NoReference)?;
    let measurement = reference.measure(w)?;
    complete(reference, measurement)
}

fn honest(session: &mut Session<'_>, marks: &Marks, scores: &mut Scores) -> Result<()> {
    let columns: Vec<Column> = marks.columns().collect();
    let mut rates = vec![[Vec::new(), Vec::new()]; columns.len()];
    session.rounds(marks.test_region.rounds, None, |session, round| {
        for index in schedule::order(columns.len(), round) {
            let column = columns[index];
            let drive = TestRegion::replicate(&marks.honest(column, marks.region()), round);
            let ram = Workload { region: Region::first(marks.reference), ..drive.clone() };
            // Over two rounds: drive, RAM disc, RAM disc, drive.
            let order = if round % 2 == 0 { [DRIVE, RAM] } else { [RAM, DRIVE] };
            for which in order {
                let m = match which {
                    DRIVE => session.measure(&drive, round)?,
                    _ if marks.reference > 0 => on_reference(session, &ram)?,
                    _ => continue,
                };
                rates[index][which].push(rate(column, &m));
            }
            put(session, column, &rates[index]);
            scores.put_honest(column, &rates[index]);
            session.checks_mut().put(vec![scores.verdict()]);
            session.checkpoint();
        }
        Ok(Round::Again)
    })?;
    Ok(())
}

/// Bytes per second of the data; the time includes flushes.
fn rate(column: Column, m: &Measurement) -> f64 {
    let kind = if column.writes() { OpKind::Write } else { OpKind::Read };
    m.throughput(Some(kind)).unwrap_or(0.0)
}

fn put(session: &mut Session<'_>, column: Column, [ram, drive]: &[Vec<f64>; 2]) {
    let key = MetricKey::of_words(&[&"mark", &column.name()]);
    session.put_rates(&key, drive);
    if !ram.is_empty() {
        session.put_rates(key.clone().with(Statistic::Ram), ram);
    }
    session.put_ratio(key, ram, drive);
}
