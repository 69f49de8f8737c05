//! `zones`: throughput against address, as drawn by h2benchw and HD Tach.
//!
//! On a spinning disk this showed the tracks; on flash it shows how each part was written. Agreement
//! of the ascending and the shuffled pass belongs to the address, the rest to the time.

mod answer;

use record::{
    Finding, FindingKind, Level, Metric, MetricKey, Safety, Series, Statistic, TargetKind, Unit,
};
use rig::Measurement;
use workload::OpKind::{Read, Write};
use workload::{OpKind, Region, Stop, Workload};

use crate::names::{NOTHING_WRITTEN, ZONES_ASCENDING, ZONES_READ};
use script::whole::{DEPTH, FILE_BYTES, Whole};
use script::{Common, MethodInfo, MetricInfo, Options, Result, ScratchUse, Session};

/// Zones of the drive.
const ZONES: u64 = 256;

/// Reading time per zone, seconds.
const EACH_SECONDS: f64 = 0.2;

/// Default duration in seconds, without the write.
const SECONDS: f64 = 110.0;

/// Step from one zone to the next in shuffled order: odd and close to the golden section, so that
/// every zone is visited once and zones adjacent in time are far apart.
const STRIDE: u64 = 159;

/// Parts of the drive, as shares of its addresses, from the experiment with a used drive.
pub(crate) const PARTS: [(Statistic, f64, f64); 3] = [
    (Statistic::FirstThird, 0.0, 1.0 / 3.0),
    (Statistic::Middle, 1.0 / 3.0, 0.9),
    (Statistic::LastTenth, 0.9, 1.0),
];

/// What a file hides.
const HIDDEN: &str = "the file system decides where on the drive its parts lie, and the rest of the \
                      drive was not read";

/// The method.
pub(crate) static INFO: MethodInfo = MethodInfo {
    name: "zones",
    summary: "is the drive equally fast at all addresses",
    about: "Reads 256 zones of the drive for a fifth of a second each (1 MiB blocks at depth 8), \
            in ascending and then in shuffled order. Zones without data (all zeros, answered \
            without access to flash) are reported separately. A drive opened with --destroy is \
            then written once from end to end, which shows the effect of its history: the first \
            third, the middle up to 90% and the last tenth. In a directory, a scratch file is first \
            written once and then read; a file is read like a drive.",
    safety: Safety::Destroys,
    seconds: SECONDS,
    writes: "nothing; the whole drive once with --destroy; in a directory one file, at most 100 GB",
    scratch: ScratchUse::passes(1.0),
    ignores: &[Common::Replicates],
    primary: &[BOTH.name, "zones-{read,write}.{first-third,last-tenth}", SLOWEST.name],
    metrics: &[&[BOTH, THIRDS, SLOWEST, DATA, UNMAPPED_SHARE, AGREEMENT, FILE_BYTES]],
    run,
    answer: answer::answer,
    ..MethodInfo::EMPTY
};

const BOTH: MetricInfo =
    MetricInfo::rate("zones-{read,write}", "all 256 zones, in both orders; one pass of writes");
const THIRDS: MetricInfo = MetricInfo::rate(
    "zones-{read,write}.{first-third,middle,last-tenth}",
    "parts of the addresses: up to 1/3, 1/3 to 9/10, 9/10 to the end",
);
const SLOWEST: MetricInfo = MetricInfo::rate("zones-read.slowest", "the slowest zone");
const DATA: MetricInfo = MetricInfo::rate(
    "zones-read.{mapped,unmapped}",
    "zones that contain data, zones that read as zeros; absent if there are none",
);
const UNMAPPED_SHARE: MetricInfo = MetricInfo::number(
    "zones-read.unmapped-share",
    "share of zones that read as zeros; absent if there are none",
);
const AGREEMENT: MetricInfo = MetricInfo::number(
    "zones-read.agreement",
    "correlation of ascending and shuffled order: near 1 the rate follows the address, near 0 \
         the time",
);
const READ: MetricInfo = BOTH.named(ZONES_READ);
const WRITE: MetricInfo = BOTH.named("zones-write");
const MAPPED: MetricInfo = DATA.named("zones-read.mapped");
const UNMAPPED: MetricInfo = DATA.named("zones-read.unmapped");

/// Names of the two orders.
const ORDERS: [&str; 2] = [ZONES_ASCENDING, "zones-read-shuffled"];

/// Name of the time series of an order.
fn profile_name(order: &str) -> String {
    format!("{order}-profile")
}

fn run(session: &mut Session<'_>, options: &Options) -> Result<()> {
    let whole = Whole::unguarded(&INFO, session.target(), options)?;
    session.note_file(&whole, HIDDEN);
    // A scratch file has no content to read before it is written.
    let is_scratch = session.target().target.kind == TargetKind::Directory;
    if is_scratch {
        write(session, &whole)?;
    }
    let mut zones = vec![Zone::default(); ZONES as usize];
    for (name, stride) in ORDERS.into_iter().zip([1, STRIDE]) {
        let start_ns = session.elapsed_ns();
        for at in 0..ZONES {
            let index = at * stride % ZONES;
            let m = session.moment(&zone(&whole, name, index), at as u32)?;
            zones[index as usize].add(&m);
        }
        put_reads(session, &zones);
        session.put_series(series(&whole, &profile_name(name), start_ns, &zones));
        session.checkpoint();
    }
    let kind = session.target().target.kind;
    for finding in unread(&zones).into_iter().chain(unwritten(&zones, &kind)) {
        session.note(finding);
    }
    if session.target().allowed >= Safety::Destroys && !is_scratch {
        write(session, &whole)?;
    }
    Ok(())
}

/// Writes everything once, from end to end.
fn write(session: &mut Session<'_>, whole: &Whole) -> Result<()> {
    let series = session.measure_over_time(&whole.pass(WRITE.name, Write, 4), 0)?;
    let rate = |from: f64, to: f64| series.rate_between(from * series.bytes(), to * series.bytes());
    put(session, WRITE, rate(0.0, 1.0));
    for (part, from, to) in PARTS {
        put(session, WRITE.with(part), rate(from, to));
    }
    Ok(())
}

/// The rates of one zone, in both orders.
#[derive(Clone, Debug, Default)]
struct Zone {
    /// `None` if no read of that order completed, which is not a rate of 0.
    rates: Vec<Option<f64>>,
    /// All of its reads returned zeros.
    unmapped: bool,
}

impl Zone {
    fn add(&mut self, m: &Measurement) {
        self.rates.push(m.throughput(Some(OpKind::Read)).filter(|rate| *rate > 0.0));
        self.unmapped |= m.findings.iter().any(|f| f.kind == FindingKind::UnwrittenBlocksRead);
    }

    fn rate(&self) -> Option<f64> {
        let (sum, count) = self.rates.iter().flatten().fold((0.0, 0), |(s, n), r| (s + r, n + 1));
        (count > 0).then(|| sum / f64::from(count))
    }
}

/// A note on zones without data.
fn unread(zones: &[Zone]) -> Option<Finding> {
    let count = zones.iter().filter(|zone| zone.rate().is_none()).count();
    let text = format!("no read completed in {count} of {ZONES} zones: their rate is unknown");
    (count > 0).then(|| Finding::new(FindingKind::ZonesUnread, Level::Warn, text))
}

/// A finding for a drive without data, whose reads show no speed at any address.
fn unwritten(zones: &[Zone], kind: &TargetKind) -> Option<Finding> {
    let count = zones.iter().filter(|zone| zone.unmapped).count();
    let text = format!(
        "all reads of {count} of {} zones were zeros, without access to flash",
        zones.len()
    );
    let finding = Finding::new(FindingKind::UnwrittenBlocksRead, Level::Bad, text);
    let nothing = count as f64 > NOTHING_WRITTEN * zones.len() as f64;
    nothing.then(|| finding.advise(kind.advice_if_unwritten()))
}

fn put_reads(session: &mut Session<'_>, zones: &[Zone]) {
    put(session, READ, mean(zones.iter()));
    for (part, from, to) in PARTS {
        let [start, end] = [from, to].map(|share| (share * zones.len() as f64).round() as usize);
        put(session, READ.with(part), mean(zones[start..end].iter()));
    }
    let slowest = zones.iter().filter_map(Zone::rate).reduce(f64::min);
    put(session, SLOWEST, slowest);
    if zones.iter().any(|z| z.unmapped) {
        put(session, MAPPED, mean(zones.iter().filter(|z| !z.unmapped)));
        put(session, UNMAPPED, mean(zones.iter().filter(|z| z.unmapped)));
        let share = zones.iter().filter(|z| z.unmapped).count() as f64 / zones.len() as f64;
        session.put(UNMAPPED_SHARE, Some(share));
    }
    session.put(AGREEMENT, agreement(zones));
}

fn put(session: &mut Session<'_>, key: impl Into<MetricKey>, rate: Option<f64>) {
    let metric = Metric::single(key.into(), Unit::BytesPerSecond, rate.unwrap_or_default());
    session.put_metric(match rate {
        Some(_) => metric,
        None => Metric { value: None, n: 0, samples: Vec::new(), ..metric },
    });
}

/// Total bytes over total time of zones of equal size: the harmonic mean of their rates.
fn mean<'z>(zones: impl Iterator<Item = &'z Zone>) -> Option<f64> {
    let (mut count, mut slowness) = (0.0, 0.0);
    for rate in zones.filter_map(Zone::rate) {
        count += 1.0;
        slowness += 1.0 / rate;
    }
    (count > 0.0).then(|| count / slowness)
}

/// Correlation of both orders: near 1 the pattern belongs to the addresses, near 0 to time or
/// chance. `None` with only one order, or if all zones are equal.
fn agreement(zones: &[Zone]) -> Option<f64> {
    let pairs: Vec<(f64, f64)> =
        zones.iter().filter_map(|z| (*z.rates.first()?).zip(*z.rates.get(1)?)).collect();
    let n = pairs.len() as f64;
    let (a, b) = pairs.iter().fold((0.0, 0.0), |s, p| (s.0 + p.0 / n, s.1 + p.1 / n));
    let sums = pairs.iter().fold((0.0, 0.0, 0.0), |s, p| {
        let (x, y) = (p.0 - a, p.1 - b);
        (s.0 + x * y, s.1 + x * x, s.2 + y * y)
    });
    let scale = (sums.1 * sums.2).sqrt();
    (scale > 0.0).then(|| sums.0 / scale)
}

/// One row per zone in address order, regardless of the read order.
fn series(whole: &Whole, name: &str, start_ns: u64, zones: &[Zone]) -> Series {
    let mut series = Series::new(name, 0, start_ns);
    let each_ns = (whole.seconds(EACH_SECONDS) * 1e9) as u64;
    for (i, zone) in zones.iter().enumerate() {
        let end = (whole.bytes() / ZONES * (i as u64 + 1)) as f64;
        let row = [
            ("read", Unit::BytesPerSecond, zone.rates.last().copied().flatten()),
            ("position", Unit::Bytes, Some(end)),
            ("unmapped", Unit::Number, Some(f64::from(u8::from(zone.unmapped)))),
        ];
        series.push((i as u64 + 1) * each_ns, &row);
    }
    series
}

/// A short run of reads in one zone.
fn zone(whole: &Whole, name: &str, index: u64) -> Workload {
    // Whole blocks of the fill if zones are large enough, otherwise the whole zone.
    let size = whole.bytes() / ZONES;
    let block = u64::from(whole.test_region.large)
        .min(size / u64::from(whole.test_region.small) * u64::from(whole.test_region.small));
    let block = block.max(u64::from(whole.test_region.small));
    let mut w = whole.pass(name, Read, 3);
    let start = (index * size / block * block).min(whole.bytes() - block);
    let bytes = (size / block).max(1) * block;
    w.region = Region { start, bytes: bytes.min(whole.bytes() - start) };
    w.blocks = workload::BlockSizes::Fixed(block as u32);
    w.depth = DEPTH;
    w.stop.bytes = None;
    w.stop.time_ns = Stop::after_seconds(whole.seconds(EACH_SECONDS)).time_ns;
    w
}

#[cfg(test)]
mod tests {
    use record::Stamp;
    use rig::KindStats;

    use super::*;

    fn read(bytes: u64) -> Measurement {
        let mut reads = KindStats { ops: 1, bytes, ..KindStats::default() };
        reads.service.record(1000);
        let mut m = Measurement { elapsed_ns: 1_000_000_000, ..Measurement::default() };
        m.kinds[Read as usize] = (bytes > 0).then_some(reads);
        m
    }

    #[test]
    fn the_agreement_of_both_orders_is_their_correlation() {
        let of = |pairs: &[(f64, f64)]| {
            let zone =
                |p: &(f64, f64)| Zone { rates: vec![Some(p.0), Some(p.1)], ..Zone::default() };
            agreement(&pairs.iter().map(zone).collect::<Vec<_>>())
        };
        let near = |found: Option<f64>, by_hand: f64| {
            assert!(found.is_some_and(|r| (r - by_hand).abs() < 1e-9), "{found:?}, {by_hand}");
        };
        near(of(&[(1.0, 20.0), (2.0, 40.0), (3.0, 60.0)]), 1.0);
        near(of(&[(1.0, 3.0), (2.0, 2.0), (3.0, 1.0)]), -1.0);
        near(of(&[(1.0, 1.0), (2.0, 3.0), (3.0, 2.0)]), 0.5);
        near(of(&[(1.0, 2.0), (2.0, 1.0), (3.0, 2.0)]), 0.0);
        assert_eq!(of(&[(1.0, 2.0), (1.0, 2.0)]), None, "all zones are equal");
        assert_eq!(agreement(&[Zone { rates: vec![Some(1.0)], ..Zone::default() }]), None);
    }

    #[test]
    fn reads_of_a_drive_without_data_are_not_its_speed() {
        let with_data = |n: usize| {
            let zone = |i| Zone { rates: vec![Some(1.0)], unmapped: i >= n };
            (0..ZONES as usize).map(zone).collect::<Vec<_>>()
        };
        let found = unwritten(&with_data(2), &TargetKind::Virtual).expect("2 of 256 contain data");
        assert_eq!(Stamp::new(&[found], &[]), Stamp::NotTheDrive(FindingKind::UnwrittenBlocksRead));
        assert_eq!(unwritten(&with_data(3), &TargetKind::Virtual), None);
    }

    #[test]
    fn a_zone_without_a_read_is_unknown_and_not_slow() {
        let mut zones = vec![Zone::default(); 3];
        for (zone, bytes) in zones.iter_mut().zip([[100, 100], [0, 50], [0, 0]]) {
            bytes.into_iter().for_each(|bytes| zone.add(&read(bytes)));
        }
        assert_eq!(
            zones.iter().map(Zone::rate).collect::<Vec<_>>(),
            [Some(100.0), Some(50.0), None]
        );
        assert_eq!(mean(zones.iter()), Some(2.0 / (1.0 / 100.0 + 1.0 / 50.0)));
        assert_eq!(mean(zones[2..].iter()), None);
        assert!(unread(&zones).is_some_and(|f| f.text.contains("in 1 of ")));
        assert_eq!(unread(&zones[..2]), None);
        assert_eq!(agreement(&zones), None);
    }
}
