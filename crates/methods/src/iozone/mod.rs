//! `iozone`: its thirteen figures, measured its way, plus trustworthy ones.
//!
//! The legacy figures have the same content in every record and mostly come from memory, as iozone's
//! do. The trustworthy ones are the first read after dropping the cache (the drop is verified) and a
//! rewrite of random content including its flush.

mod answer;
mod latencies;
mod rules;
mod spec;
#[cfg(test)]
mod tests;
mod throughput;

use record::{Finding, FindingKind, Level, MetricKey, Statistic, TargetKind};
use rig::{Measurement, Preparation, Stage, TargetInfo};
use workload::units::binary;
use workload::{Content, Region, Workload};

pub use self::latencies::{Latencies, Trial};
pub use self::spec::{Honest, Iozone, IozoneFigure, Row, metric, throughput_metric};

use self::latencies::Watch;
use self::rules::Seen;
use script::{
    BYTES_MIN, Common, MethodError, MethodInfo, MetricInfo, Opt, Options, Result, Session,
    TestRegion,
};

/// Duration of the default run in seconds, on a drive that commits a record per millisecond.
const SECONDS: f64 = 90.0;

/// Maximum share of the file that may remain in the page cache after dropping it.
const LEFT_MAX: f64 = 0.05;

/// The size of a large block, in which the size of a scratch file is counted, bytes.
const LARGE_BYTES: u64 = 1 << 20;

/// Time after which the figures so far are kept, nanoseconds.
const KEEP_NS: u64 = 1_000_000_000;

/// The method.
pub(crate) static INFO: MethodInfo = MethodInfo {
    name: "iozone",
    summary: "iozone's table, and which figures to trust",
    about: "Writes, rewrites, reads and rereads sequentially, then reads and writes at random, \
            with records of 4 KiB in a file of 100 MiB (or --size), as iozone -e -o -a -s 100M -r \
            4k -i 0 -i 1 -i 2 does: through the page cache, every write durable when it returns. \
            Adds the first read after dropping the cache, sequential and random, and a rewrite of \
            random content. Verdicts say which reads came from memory, and whether the writes \
            measure more than the time of a commit. ssdyno iozone takes iozone's own options and \
            prints its table.",
    safety: record::Safety::Scratch,
    seconds: SECONDS,
    writes: "the file four times",
    ignores: &[Common::Time, Common::Replicates],
    options: &[&IOZONE, &LATENCIES],
    primary: &["iozone-{size}-{size}.{write,rewrite,read,reread,random-read,random-write}"],
    metrics: &[&[
        FIGURES,
        MetricInfo::rate(
            "iozone-{size}-{size}.{cold-read,cold-random-read}",
            "through the cache, after dropping it",
        ),
        CACHED,
        MetricInfo::rate(
            "iozone-{size}-{size}.rewrite-random-content",
            "the rewrite with incompressible content, including its flush",
        ),
        MetricInfo::rate(
            "iozone-{size}-{size}-t{processes}.{write,rewrite,read,reread,random-read,random-write,\
             backward-read,strided-read,fwrite,fread}",
            "several processes at once, each with its own part: the sum of their rates",
        ),
        MetricInfo::rate(
            "iozone-{size}-{size}-t{processes}.{write,rewrite,read,reread,random-read,random-write,\
             backward-read,strided-read,fwrite,fread}.{throughput,lowest,highest}",
            "the rate of all until the last has ended, and of the slowest and the fastest process",
        ),
    ]],
    run,
    answer: answer::answer,
    ..MethodInfo::EMPTY
};

const FIGURES: MetricInfo = MetricInfo::rate(
    "iozone-{size}-{size}.{write,rewrite,read,reread,random-read,random-write,\
             backward-read,record-rewrite,strided-read,fwrite,frewrite,fread,freread}",
    "a column of its table, for this file size and record size; one execution each",
);
const CACHED: MetricInfo = MetricInfo::bytes(
    "iozone-{size}-{size}.{cold-read,cold-random-read}.cached",
    "part of the file still in memory after the drop",
);

/// The run parsed from iozone's own options.
pub static IOZONE: Opt<Option<Iozone>> = Opt::unwritten("iozone", || None);

/// Where the operations of writes, rewrites, reads and rereads go, if they are wanted.
pub static LATENCIES: Opt<Option<Latencies>> = Opt::unwritten("latencies", || None);

fn run(session: &mut Session<'_>, options: &Options) -> Result<()> {
    let run = Run::new(session.target(), options)?;
    let mut seen = Seen::default();
    if !run.test_region.writes {
        let text = "this target may only be read: write tests are skipped";
        session.note(Finding::new(FindingKind::ReadsOnly, Level::Note, text));
    }
    if !run.spec.processes.is_empty() {
        return throughput::run(session, &run);
    }
    let mut kept_ns = session.elapsed_ns();
    for row in &run.spec.rows {
        if run.fills() {
            fill(session, row.file_bytes, run.seed)?;
        }
        for figure in run.figures() {
            if figure.makes() && run.test_region.writes {
                session.apply(Preparation::Empty)?;
            }
            let w = run.spec.workload(*row, figure, run.seed);
            if run.spec.drops {
                drop_caches(session, &w, row.file_bytes)?;
            }
            let m = probe(session, &run, *row, figure, &w)?;
            put(session, &w, &m);
            seen.add(*row, figure, &m);
            conclude_in_time(session, &run, &seen, &mut kept_ns);
        }
        for (honest, w) in run.honest(*row) {
            if !w.mix.changes_data() {
                let left = drop_caches(session, &w, row.file_bytes)?;
                let key = MetricKey::from_workload(&w).with(Statistic::Cached);
                session.put_value(key, CACHED.unit, left);
            }
            let m = session.probe(&w, 0)?;
            put(session, &w, &m);
            seen.add_honest(honest, &m);
            conclude_in_time(session, &run, &seen, &mut kept_ns);
        }
    }
    conclude(session, &run, &seen);
    Ok(())
}

/// A run on a target.
struct Run {
    spec: Iozone,
    test_region: TestRegion,
    seed: u64,
    latencies: Option<Latencies>,
}

impl Run {
    fn new(target: &TargetInfo, options: &Options) -> Result<Run> {
        let spec = options.get(&IOZONE).unwrap_or_else(|| {
            let mut spec = Iozone::default();
            if let (Some(bytes), [row]) = (options.size, &mut spec.rows[..]) {
                // A scratch file has whole large blocks.
                let is_rounded = bytes.saturating_sub(target.bytes) < LARGE_BYTES;
                let bytes = if is_rounded { bytes.min(target.bytes) } else { bytes };
                row.file_bytes = (bytes - bytes % 4096).max(BYTES_MIN);
            }
            spec
        });
        let least = spec.file_bytes_max();
        if target.bytes < least {
            return Err(MethodError::TooSmall { bytes: target.bytes, least });
        }
        // A file may be smaller than a region of other methods.
        let target = TargetInfo { bytes: target.bytes.max(BYTES_MIN), ..target.clone() };
        let test_region =
            TestRegion::new(&target, &Options { size: None, ..options.clone() }, SECONDS)?;
        let latencies = options.get(&LATENCIES);
        Ok(Run { spec, seed: test_region.seed_of(9), test_region, latencies })
    }

    /// The figures that the target allows.
    fn figures(&self) -> Vec<IozoneFigure> {
        let figures = self.spec.figures().into_iter();
        figures.filter(|figure| self.test_region.writes || !figure.writes()).collect()
    }

    fn honest(&self, row: Row) -> Vec<(Honest, Workload)> {
        let allowed = |w: &(Honest, Workload)| self.test_region.writes || !w.1.mix.changes_data();
        self.spec.honest(row, self.seed).into_iter().filter(allowed).collect()
    }

    /// Whether the file must be created first.
    fn fills(&self) -> bool {
        self.test_region.writes && !self.spec.tests.contains(&0)
    }
}

/// Measures a figure of the table.
fn probe(
    session: &mut Session<'_>,
    run: &Run,
    row: Row,
    figure: IozoneFigure,
    w: &Workload,
) -> Result<Measurement> {
    let Some(latencies) = run.latencies.as_ref().filter(|_| figure.test() <= 1) else {
        return session.probe(w, 0);
    };
    let mut watch = Watch::new(1);
    let stage = Stage { by_job: true, intervals: Some(&mut watch), ..Stage::default() };
    let performance = session.probe_in(w, 0, stage)?;
    latencies.keep(watch.trials(row, figure, &performance));
    Ok(performance.whole)
}

fn fill(session: &mut Session<'_>, bytes: u64, seed: u64) -> Result<()> {
    let (region, seed) = (Region::first(bytes), seed.wrapping_sub(bytes));
    session.prepare("fill", Preparation::Fill { region, content: Content::Random, seed })?;
    Ok(())
}

/// Drops the file from the page cache before a workload, and reports a failure. Returns the bytes
/// left in memory, if the system knows them.
fn drop_caches(session: &mut Session<'_>, w: &Workload, file_bytes: u64) -> Result<Option<f64>> {
    let dropped = session.apply(Preparation::DropCaches)?;
    let Some(left) = dropped.cached_bytes else { return Ok(None) };
    if left as f64 > LEFT_MAX * file_bytes as f64
        && session.target().target.kind != TargetKind::Virtual
    {
        let left = binary(left);
        let text = format!(
            "{left} of the file stayed in memory: {} is not cold",
            MetricKey::from_workload(w).in_words()
        );
        session.note(Finding::new(FindingKind::CacheNotDropped, Level::Bad, text));
    }
    Ok(Some(left as f64))
}

fn put(session: &mut Session<'_>, w: &Workload, m: &Measurement) {
    session.put_value(MetricKey::from_workload(w), FIGURES.unit, Some(rate(m)));
}

/// Bytes per second, including the final flush.
fn rate(m: &Measurement) -> f64 {
    let bytes: u64 = m.transfers().map(|(_, stats)| stats.bytes).sum();
    bytes as f64 * 1e9 / m.elapsed_ns.max(1) as f64
}

/// Draws the conclusions if the last ones are old: a sweep has hundreds of figures of a millisecond,
/// and keeping each took longer than measuring it.
fn conclude_in_time(session: &mut Session<'_>, run: &Run, seen: &Seen, kept_ns: &mut u64) {
    let now_ns = session.elapsed_ns();
    if now_ns.saturating_sub(*kept_ns) >= KEEP_NS {
        conclude(session, run, seen);
        *kept_ns = now_ns;
    }
}

fn conclude(session: &mut Session<'_>, run: &Run, seen: &Seen) {
    let rulings = seen.rulings(session.target(), run.spec.sync);
    session.checks_mut().put(rulings);
    session.checkpoint();
}
