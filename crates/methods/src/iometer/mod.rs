//! `iometer`: IOMeter's access specifications.
//!
//! A configuration comes from an IOMeter file (`icf.rs`; callers read the text, because methods read
//! no files) or from `--access`. A defect found in document 003 is corrected: addresses are aligned
//! to the transfer size unless the specification says otherwise.

mod access;
mod answer;
pub mod icf;

use record::{Finding, FindingKind, LatencyProfile, Level, MetricKey, Safety, Statistic};
use rig::{Measurement, RigError};
use workload::units::binary;
use workload::{BlockSizes, Mix, Pacing, Pattern, Region, Source, Stop, Workload};

use script::{Common, MethodInfo, MetricInfo, Opt, Options, Part, Result, Session, TestRegion};

use access::{Accesses, alignment};
use icf::{AccessLine, AccessSpec, IcfJob, IcfScript};

/// Seconds per specification if the file gives none.
const EACH_SECONDS: f64 = 30.0;

/// Maximum seconds of ramp-up, whose statistics are discarded.
const RAMP_MAX: u64 = 600;

/// Seconds for the fill.
const FILL_SECONDS: f64 = 20.0;

/// Seconds of rest after the fill, at most this share of the time.
const REST_SECONDS: f64 = 10.0;
const REST_SHARE: f64 = 0.1;

/// Default duration in seconds, with one specification.
const SECONDS: f64 = FILL_SECONDS + REST_SECONDS + EACH_SECONDS;

/// Extents begin and end at multiples of this, bytes.
const MIB: u64 = 1 << 20;

/// Writes of a specification end after this many passes over the region.
const PASSES_MAX: u64 = 1;

/// The method.
pub(crate) static INFO: MethodInfo = MethodInfo {
    name: "iometer",
    summary: "IOMeter's access specifications",
    about: "Runs access specifications of IOMeter one after the other: those of a file (--icf \
            FILE), with its workers, outstanding I/Os, run time and ramp, or a single one \
            (--access SIZE,READS,RANDOM, in percent; default 4KiB,67,100) with --workers and \
            --outstanding (3, as in document 003). Reports operations and bytes per second and \
            service times of each, reads and writes separately. Where a specification gives no \
            alignment, addresses are aligned to the transfer size; IOMeter uses 512 bytes there, \
            which can cost a factor of 8 (-m align). The file, or the region of a drive opened \
            with --destroy, is written once first, which changes the state of the drive: IOMeter \
            does the same, and keeps its file.",
    safety: Safety::Scratch,
    seconds: SECONDS,
    writes: "a file of up to 1 GiB, and as much again for each specification that writes",
    ignores: &[Common::Replicates],
    options: &[&ICF, &ACCESS, &WORKERS, &OUTSTANDING],
    primary: &[ACCESSES.name],
    metrics: &[&[
        ACCESSES,
        THROUGHPUT,
        DIRECTION,
        MEAN,
        MetricInfo::ns("iometer-{number}.{p50,p99,p99.9,max}", "service times"),
    ]],
    run,
    answer: answer::answer,
    ..MethodInfo::EMPTY
};

const ACCESSES: MetricInfo =
    MetricInfo::iops("iometer-{number}", "all accesses of the specification with this number");
const THROUGHPUT: MetricInfo = MetricInfo::rate("iometer-{number}.throughput", "their throughput");
const DIRECTION: MetricInfo =
    MetricInfo::iops("iometer-{number}-{read,write}", "its reads, its writes");
const MEAN: MetricInfo =
    MetricInfo::ns("iometer-{number}.mean", "mean service time, as in IOMeter");

/// A configuration, or the name of a file not read yet.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Icf {
    /// None.
    #[default]
    Nothing,
    /// A file.
    File(String),
    /// Its content.
    Script(IcfScript),
}

/// `--icf`: the calling program replaces the name with the configuration.
pub static ICF: Opt<Icf> = Opt::value(
    "icf",
    "FILE",
    "run the access specifications of IOMeter's configuration FILE",
    |words| {
        let text = words.first().map_or("", String::as_str);
        if text.contains('\n') {
            icf::parse(text)
                .map(Icf::Script)
                .map_err(|error| format!("IOMeter configuration: {error}"))
        } else {
            Ok(Icf::File(text.to_string()))
        }
    },
    Icf::default,
);

static ACCESS: Opt<AccessLine> = Opt::value(
    "access",
    "SPEC",
    "SIZE,READS,RANDOM[,ALIGN]: bytes per transfer, percent, percent (default 4KiB,67,100)",
    |words| access_line(words.first().map_or("", String::as_str)),
    || ACCESS_DEFAULT,
);

/// The default of `--access`.
const ACCESS_DEFAULT: AccessLine =
    AccessLine { size: 4096, share: 100, reads: 67, random: 100, delay_ms: 0, burst: 1, align: 0 };

static WORKERS: Opt<u32> =
    Opt::value("workers", "N", "concurrent workers (default 1)", |words| number(words, 256), || 1);

static OUTSTANDING: Opt<u32> = Opt::value(
    "outstanding",
    "N",
    "outstanding I/Os per worker (default 3)",
    |words| number(words, 4096),
    || 3,
);

fn number(words: &[String], most: u32) -> Result<u32, String> {
    let number = words.first().and_then(|text| text.parse().ok());
    number.filter(|n| (1..=most).contains(n)).ok_or_else(|| format!("1 to {most}"))
}

fn access_line(text: &str) -> Result<AccessLine, String> {
    let fields: Vec<&str> = text.split(',').map(str::trim).collect();
    parsed_line(&fields).ok_or_else(|| "SIZE,READS,RANDOM[,ALIGN] such as 4KiB,67,100".into())
}

fn parsed_line(fields: &[&str]) -> Option<AccessLine> {
    let (size, reads, random, align) = match fields {
        [size, reads, random] => (size, reads, random, 0),
        [size, reads, random, align] => (size, reads, random, transfer_bytes(align)?),
        _ => return None,
    };
    let (size, reads, random) = (transfer_bytes(size)?, percent(reads)?, percent(random)?);
    Some(AccessLine { size, reads, random, align, ..ACCESS_DEFAULT })
}

fn transfer_bytes(text: &str) -> Option<u32> {
    let bytes = workload::units::parse_bytes(text).ok()?;
    (1..=1 << 30).contains(&bytes).then_some(bytes as u32)
}

fn percent(text: &str) -> Option<u32> {
    text.trim_end_matches('%').parse().ok().filter(|percent| *percent <= 100)
}

fn run(session: &mut Session<'_>, options: &Options) -> Result<()> {
    let script = script(options)?;
    admit(session, &script)?;
    let size = options.size.or(extent(&script));
    let options = Options { size, ..options.clone() };
    let mut test_region = TestRegion::new(session.target(), &options, SECONDS)?;
    test_region.bytes = session.begin(&test_region, FILL_SECONDS)?;
    // Newly written data reads faster than data at rest.
    session.rest("rest", REST_SECONDS.min(REST_SHARE * test_region.seconds))?;
    if test_region.writes {
        let text = "the region was written before the first access: the drive is no longer in \
                    the state it was in";
        session.note(Finding::new(FindingKind::LaidOut, Level::Note, text));
    }
    note_alignment(session, &script);
    let given_seconds = options.time.map(|_| {
        (test_region.seconds - FILL_SECONDS - REST_SECONDS).max(1.0) / script.runs.len() as f64
    });
    let seconds = given_seconds.or(script.seconds.map(|s| s as f64)).unwrap_or(EACH_SECONDS);
    let ramp_seconds = script.ramp_seconds.min(RAMP_MAX);
    for (index, jobs) in script.runs.iter().enumerate() {
        run_jobs(session, &test_region, (index, jobs), [ramp_seconds as f64, seconds])?;
    }
    Ok(())
}

/// The end of the last extent in bytes; `None` if a job uses the whole disk.
fn extent(script: &IcfScript) -> Option<u64> {
    let ends = script.jobs().map(|job| (job.bytes > 0).then_some(job.start + job.bytes));
    ends.collect::<Option<Vec<u64>>>()?.into_iter().max()
}

/// The configuration from a file, or from `--access`.
fn script(options: &Options) -> Result<IcfScript> {
    match options.get(&ICF) {
        Icf::Script(script) => Ok(script),
        Icf::File(name) => {
            let text = format!("the file {name} cannot be read");
            Err(RigError::usage(text, "a configuration that IOMeter saved (.icf)").into())
        }
        Icf::Nothing => {
            let line = options.get(&ACCESS);
            let name = describe(&line);
            let job = IcfJob {
                spec: AccessSpec { name, lines: vec![line] },
                workers: options.get(&WORKERS),
                outstanding: options.get(&OUTSTANDING),
                start: 0,
                bytes: 0,
            };
            Ok(IcfScript { runs: vec![vec![job]], seconds: None, ramp_seconds: 0 })
        }
    }
}

/// `4 KiB, 67% reads, 100% random`.
fn describe(line: &AccessLine) -> String {
    format!("{}, {}% reads, {}% random", binary(line.size.into()), line.reads, line.random)
}

/// Checks that the target supports the sizes, the alignment and the writes.
fn admit(session: &Session<'_>, script: &IcfScript) -> Result<()> {
    let target = session.target();
    let block = u64::from(target.logical_block_bytes.max(1));
    let specs = script.jobs().map(|job| &job.spec);
    let lines = specs.flat_map(|spec| spec.lines.iter().map(move |line| (spec, line)));
    let lines: Vec<(&AccessSpec, &AccessLine)> = lines.collect();
    let misaligned = lines.iter().find(|(_, line)| {
        !u64::from(line.size).is_multiple_of(block) || !alignment(line).is_multiple_of(block)
    });
    if let Some((spec, line)) = misaligned {
        let (size, align) = (line.size, alignment(line));
        let name = &spec.name;
        let text = format!(
            "'{name}' needs transfers of {size} bytes aligned to {align}; the drive has blocks of \
             {block}"
        );
        return Err(RigError::Unsupported(text).into());
    }
    let may = if target.is_user_data() { Safety::Destroys } else { Safety::Scratch };
    match lines.iter().find(|(_, line)| line.reads < 100) {
        Some((spec, _)) if target.allowed < may => {
            let (name, target) = (&spec.name, &target.target.spec);
            let text = format!("'{name}' writes to {target}, which was opened read-only");
            let advice = "--access 4KiB,100,100 only reads; --destroy allows writes";
            Err(RigError::refused(text, advice).into())
        }
        _ => Ok(()),
    }
}

/// Notes specifications that IOMeter would align to 512 bytes.
fn note_alignment(session: &mut Session<'_>, script: &IcfScript) {
    let mut lines = script.jobs().flat_map(|job| &job.spec.lines);
    if lines.any(|line| line.align == 0 && line.random > 0) {
        let text = "addresses are aligned to the transfer size; IOMeter aligns them to 512 bytes";
        let finding = Finding::new(FindingKind::AlignmentForced, Level::Note, text);
        session
            .note(finding.advise("set an alignment of 512 in the specification to match IOMeter"));
    }
}

/// Runs jobs concurrently, after a ramp-up whose statistics are discarded.
fn run_jobs(
    session: &mut Session<'_>,
    test_region: &TestRegion,
    (index, jobs): (usize, &[IcfJob]),
    [ramp_seconds, seconds]: [f64; 2],
) -> Result<()> {
    let key = ACCESSES.member(&[&(index + 1)]);
    let block = session.target().logical_block_bytes;
    let seed = test_region.seed_of(index as u32);
    let parts = |name: &str, seconds: f64, seed: u64| -> Vec<Part> {
        let parts = jobs.iter().enumerate().map(|(number, job)| {
            let name = match number {
                0 => name.to_string(),
                number => format!("{name}-job-{}", number + 1),
            };
            let mut w = workload(test_region, job, &name, seconds);
            w.seed = seed;
            let sources = (0..job.workers).map(|worker| {
                let seed = seed.wrapping_add(u64::from(worker) << 8 | (number as u64) << 24);
                let accesses = Accesses::new(&job.spec.lines, w.region, block, seed);
                match w.pacing {
                    Pacing::Source => Box::new(accesses.with_pauses()) as Box<dyn Source>,
                    _ => Box::new(accesses),
                }
            });
            let sources = sources.collect();
            (w, sources)
        });
        parts.collect()
    };
    if ramp_seconds > 0.0 {
        session.play(parts(&format!("{key}-ramp"), ramp_seconds, seed ^ 1), 0)?;
    }
    let m = session.play(parts(&key.to_string(), seconds, seed), 0)?;
    publish(session, &key, &m);
    session.checkpoint();
    Ok(())
}

/// The workload of a job: extent, sizes, mix and pacing. The source supplies the addresses.
fn workload(test_region: &TestRegion, job: &IcfJob, name: &str, seconds: f64) -> Workload {
    let spec = &job.spec;
    let reads = spec.lines.iter().map(|line| line.share * line.reads).sum::<u32>() / 100;
    let random = spec.lines.iter().map(|line| line.share * line.random).sum::<u32>() / 100;
    let pattern = if random >= 50 { Pattern::Uniform } else { Pattern::Sequential };
    let start = job.start.min(test_region.bytes / 2) / MIB * MIB;
    let left = test_region.bytes - start;
    let bytes = if job.bytes > 0 { job.bytes.next_multiple_of(MIB).min(left) } else { left };
    let region = Region { start, bytes };
    let first = &spec.lines[0];
    let mut w = Workload::new(name, pattern, Mix::read_percent(reads), first.size, region);
    if spec.lines.len() > 1 {
        w.blocks = BlockSizes::Split(spec.lines.iter().map(|l| (l.size, l.share.max(1))).collect());
    }
    (w.depth, w.jobs) = (job.outstanding, job.workers);
    w.pacing = pacing(&spec.lines);
    w.stop = Stop::after_seconds(seconds);
    if w.mix.changes_data() {
        w.stop.bytes = Some(PASSES_MAX * region.bytes);
        w.flush_at_end = true;
    }
    w
}

/// The pauses of a specification. Those of several lines depend on the line of each access.
fn pacing(lines: &[AccessLine]) -> Pacing {
    match lines {
        _ if lines.iter().all(|line| line.delay_ms == 0) => Pacing::Closed,
        [line] => {
            let pause_ns = u64::from(line.delay_ms) * 1_000_000;
            Pacing::Pauses { every: line.burst, pause_ns }
        }
        _ => Pacing::Source,
    }
}

fn publish(session: &mut Session<'_>, key: &MetricKey, m: &Measurement) {
    session.put_value(key.clone(), ACCESSES.unit, m.iops(None));
    let throughput = key.clone().with(Statistic::Throughput);
    session.put_value(throughput, THROUGHPUT.unit, m.throughput(None));
    let mut times = record::Histogram::default();
    for (kind, stats) in m.transfers() {
        let side = MetricKey::of_words(&[&key, &kind.name()]);
        session.put_value(side, DIRECTION.unit, m.iops(Some(kind)));
        times.merge(&stats.service);
        let service = stats.service.clone();
        session.put_latency(LatencyProfile::new(key.to_string(), kind.name(), service));
    }
    session.put_value(key.clone().with(Statistic::Mean), MEAN.unit, times.mean());
    let mut replicate = analysis::LatencyReplicates::default();
    replicate.add(&times);
    replicate.metrics(key).into_iter().for_each(|metric| session.put_metric(metric));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_specification_has_three_fields_or_four_within_their_ranges() {
        let line = |text| access_line(text).map(|l| (l.size, l.reads, l.random, l.align)).ok();
        assert_eq!(line("4KiB,67,40"), Some((4096, 67, 40, 0)));
        assert_eq!(line("1MiB, 0%, 100%, 64KiB"), Some((1 << 20, 0, 100, 65536)));
        for wrong in ["", "4KiB,67", "0,67,100", "4KiB,101,0", "4KiB,0,101", "4KiB,1,1,x"] {
            assert_eq!(line(wrong), None, "{wrong}");
        }
        assert_eq!(line("4KiB,67,100,512,1"), None);
    }

    #[test]
    fn workers_and_outstanding_ios_are_one_to_a_limit() {
        let number = |text: &str| number(&[text.to_string()], 4096).ok();
        assert_eq!((number("1"), number("4096")), (Some(1), Some(4096)));
        assert_eq!((number("0"), number("4097"), number("x")), (None, None, None));
    }
}
