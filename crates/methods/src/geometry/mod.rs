//! `geometry`: pages, erase blocks and open erase blocks, found as flashbench finds them, but
//! without a person who reads tables.
//!
//! Boundaries: a read of two blocks that crosses a boundary of the flash takes longer than the same
//! read next to it. The boundaries tested are odd multiples of 2^k that are not multiples of 3, and
//! odd multiples of 3 * 2^k, so that erase blocks of both forms are found. `levels.rs` decides
//! which classes are on a higher level. `period.rs` finds the period of slow writes in a stream.
//! `fat.rs` finds erase blocks intended for FAT tables, which take small random writes. `open.rs`
//! counts the erase blocks that stay open: writing to one more costs the copy of a whole block.
//! `declared.rs` compares the device's own claims. Results that are not significant are not
//! reported.

mod answer;
mod declared;
mod fat;
mod levels;
mod open;
mod period;
mod verdict;

use record::{MetricKey, TargetKind};
use rig::RigError;
use workload::units::binary_tight;
use workload::{Permutation, Region};

use script::whole::Whole;
use script::{
    Common, Conclusion, MethodInfo, MetricInfo, Options, Result, Round, Session, timed_read,
};

use fat::Small;
use levels::{Level, steps};
pub(crate) use open::Open;
use period::Writes;

/// Default duration on a Class 4 card, seconds.
const SECONDS: f64 = 700.0;

/// Largest region: it contains 21 boundaries of 16 MiB.
const REGION_MAX: u64 = 1 << 30;

/// Boundaries of a class in each round, and the minimum for a class to be measured.
const BOUNDARIES: usize = 32;
const BOUNDARIES_MIN: usize = 8;

/// Rounds of reads.
const ROUNDS: u32 = 2;

/// Exponents of the classes: 2^k and 3 * 2^(k-1) bytes. The smallest is the level below a page of
/// 8 KiB.
const POWERS: std::ops::RangeInclusive<u32> = 12..=24;
const TRIPLES: std::ops::RangeInclusive<u32> = 15..=24;

/// Minimum size of an erase block; pages are smaller.
const ERASE_MIN: u64 = 128 << 10;

/// The method.
pub(crate) static INFO: MethodInfo = MethodInfo {
    name: "geometry",
    summary: "how large are pages and erase blocks",
    about: "Writes the first GiB, so that no empty flash is read. Then times reads of two blocks \
            across up to 32 boundaries each of 2^k and of 3*2^k bytes, from 4 KiB to 24 MiB, and \
            next to them, in shuffled order. Where the cost of crossing rises with the size of the \
            boundary and stays high, a page, a group of planes or an erase block ends. Small \
            random writes in single erase blocks show whether the first ones are a zone for FAT \
            tables. Writes of 64 KiB \
            go to more and more erase blocks in turn, sequentially and at random within each, \
            until a write takes more than twice as long as with one block: fewer than that many \
            stay open at once. Two streams of 64 KiB writes show whether slow writes have a fixed \
            period in bytes; a card with enough unwritten blocks may show none. The sizes that the \
            device declares are printed with those found. Results that are not significant are \
            reported as undetermined. Without --destroy, the device is only read.",
    safety: record::Safety::Destroys,
    seconds: SECONDS,
    writes: "the first GiB, 128 MiB in two streams, and up to 192 MiB to search for open blocks",
    ignores: &[Common::Time],
    primary: &[PAGE.name, ERASE_BLOCK.name, OPEN.name],
    metrics: &[&[
        READ,
        BOUNDARY,
        PAGE,
        PLANE,
        ERASE_BLOCK,
        OPEN,
        WRITE,
        WRITE_PERIOD,
        WRITE_EXTRA,
        SMALL_WRITE,
        FAT_ZONE,
        SMALL_WRITE_IN_ZONE,
        DECLARED_ERASE,
        DECLARED_OTHER,
    ]],
    run,
    answer: answer::answer,
    conclusion: Conclusion::Script,
    ..MethodInfo::EMPTY
};

const READ: MetricInfo =
    MetricInfo::ns("geometry-read", "a read of two blocks that crosses no boundary");
const BOUNDARY: MetricInfo = MetricInfo::ns(
    "geometry-boundary-{size}",
    "time added by crossing a boundary of that size, trimmed mean",
);
const PAGE: MetricInfo = MetricInfo::bytes(
    "geometry-page",
    "page: the smallest boundary that costs time; absent if undetermined",
);
const PLANE: MetricInfo = MetricInfo::bytes(
    "geometry-plane",
    "pages that all planes read at once: the largest such boundary below the erase block; absent \
         if it is that of the page, or undetermined",
);
const ERASE_BLOCK: MetricInfo =
    MetricInfo::bytes("geometry-erase-block", "erase block; absent if undetermined");
const OPEN: MetricInfo = MetricInfo::number(
    "geometry-open-{linear,random}",
    "erase blocks that take turns at sequential or random writes without being copied",
);
const WRITE: MetricInfo = MetricInfo::ns("geometry-write", "median of sequential writes of 64 KiB");
const WRITE_PERIOD: MetricInfo = MetricInfo::bytes(
    "geometry-write-period",
    "bytes from one slow write to the next in a stream; absent if undetermined",
);
const WRITE_EXTRA: MetricInfo = MetricInfo::ns(
    "geometry-write-extra",
    "additional time of three in four of these, at least, over the writes around them",
);
const SMALL_WRITE: MetricInfo = MetricInfo::ns(
    "geometry-small-write",
    "small random writes within an erase block outside a FAT zone, mean",
);
const FAT_ZONE: MetricInfo = MetricInfo::bytes(
    "geometry-fat-zone",
    "size of the FAT zone at the start, in whole erase blocks; absent if undetermined",
);
const SMALL_WRITE_IN_ZONE: MetricInfo =
    MetricInfo::ns("geometry-small-write-in-zone", "small random writes in the FAT zone, mean");
const DECLARED_ERASE: MetricInfo = MetricInfo::bytes(
    "geometry-declared-{allocation-unit,preferred-erase}",
    "declared by the device: allocation unit of an SD card; Linux's preferred erase size",
);
const DECLARED_OTHER: MetricInfo = MetricInfo::bytes(
    "geometry-declared-{write-granularity,optimal-write,discard-granularity,discard-alignment}",
    "declared by the device: NPWG and NOWS of NVMe, unit and start of discards",
);
const OPEN_LINEAR: MetricInfo = OPEN.named("geometry-open-linear");
const OPEN_RANDOM: MetricInfo = OPEN.named("geometry-open-random");

fn run(session: &mut Session<'_>, options: &Options) -> Result<()> {
    let target = &session.target().target;
    if matches!(target.kind, TargetKind::Directory | TargetKind::File) {
        return Err(RigError::Refused(format!(
            "geometry needs a whole drive: {} is in a file system, which places a file's blocks \
             anywhere, so a file shows no boundaries of the flash; name the drive, which without \
             --destroy is only read",
            target.spec
        ))
        .into());
    }
    let size = options.size.unwrap_or(REGION_MAX).min(session.target().bytes);
    let part = options.sized(size.max(script::BYTES_MIN));
    let whole = Whole::unguarded(&INFO, session.target(), &part)?;
    let region = Region::first(whole.bytes());
    if whole.test_region.writes {
        session.fill_region(&whole, "fill", region)?;
    }
    let mut results = Found::new(&whole);
    results.read(session, &whole)?;
    let writes = whole.test_region.writes;
    let erase = results.erase_block();
    if writes {
        results.small = fat::search(session, &whole, erase)?;
        open::search(session, &whole, erase, &mut results)?;
        // Last, because a drive with blocks that were never written does not need to erase any.
        results.writes = period::measure(session, &whole)?;
    }
    results.publish(session, writes);
    Ok(())
}

/// A class of boundaries, and the time added by crossing each, nanoseconds.
struct Class {
    bytes: u64,
    triple: bool,
    boundaries: Vec<u64>,
    differences: Vec<f64>,
}

/// All results.
pub(super) struct Found {
    classes: Vec<Class>,
    /// Times of reads that cross no boundary.
    plain: Vec<f64>,
    /// Bytes of a block; each read has two.
    block: u64,
    writes: Option<Writes>,
    small: Option<Small>,
    pub open: [Option<Open>; 2],
}

impl Found {
    fn new(whole: &Whole) -> Found {
        let block = u64::from(whole.block.max(512));
        let (bytes, seed) = (whole.bytes(), whole.test_region.seed);
        let powers = POWERS.map(|k| (1u64 << k, false));
        let triples = TRIPLES.map(|k| (3u64 << (k - 1), true));
        let classes = powers.chain(triples).filter_map(|(size, triple)| {
            let boundaries = boundaries(size, triple, bytes, 4 * block, seed);
            let is_measurable = boundaries.len() >= BOUNDARIES_MIN && size >= 8 * block;
            is_measurable.then(|| Class {
                bytes: size,
                triple,
                boundaries,
                differences: Vec::new(),
            })
        });
        let classes = classes.collect();
        Found { classes, plain: Vec::new(), block, writes: None, small: None, open: [None, None] }
    }

    /// Reads before, across and after every boundary, in shuffled order.
    fn read(&mut self, session: &mut Session<'_>, whole: &Whole) -> Result<()> {
        let places: Vec<(usize, u64)> = self
            .classes
            .iter()
            .enumerate()
            .flat_map(|(i, class)| class.boundaries.iter().map(move |b| (i, *b)))
            .collect();
        let rounds = whole.rounds(ROUNDS);
        session.rounds(rounds, None, |session, round| {
            session.step(READ.name, round);
            let mut times = vec![[0.0; 3]; places.len()];
            let order = Permutation::new(3 * places.len() as u64, whole.test_region.seed_of(round));
            for index in 0..order.len() {
                let index = order.get(index) as usize;
                let (place, position) = (index / 3, index % 3);
                let start = places[place].1 - (2 - position as u64) * self.block;
                times[place][position] = timed_read(session, start, 2 * self.block)?;
            }
            for ((class, _), [before, across, after]) in places.iter().zip(&times) {
                self.plain.extend([*before, *after]);
                self.classes[*class].differences.push(across - (before + after) / 2.0);
            }
            Ok(Round::Again)
        })?;
        Ok(())
    }

    fn levels(&self, triple: bool) -> Vec<Level> {
        let classes = self.classes.iter().filter(|class| class.triple == triple);
        classes.filter_map(|class| Level::find(class.bytes, &class.differences)).collect()
    }

    fn read_ns(&self) -> f64 {
        analysis::quantile(&self.plain, 0.5)
    }

    /// The last step among boundaries of at least the size of an erase block.
    fn erase_block(&self) -> Option<u64> {
        // Erase blocks of 2^k also show at boundaries of 3 * 2^k, but not the other way round.
        [false, true].into_iter().find_map(|triple| {
            let steps = steps(&self.levels(triple), self.read_ns());
            steps.into_iter().map(|step| step.0).rfind(|bytes| *bytes >= ERASE_MIN)
        })
    }

    /// The page and the planes that are read at once: the smallest step below [`ERASE_MIN`], and
    /// the largest if it is another.
    fn pages(&self) -> [Option<u64>; 2] {
        let steps = steps(&self.levels(false), self.read_ns());
        let mut small = steps.into_iter().map(|step| step.0).filter(|bytes| *bytes < ERASE_MIN);
        [small.next(), small.next_back()]
    }

    fn publish(&self, session: &mut Session<'_>, writes: bool) {
        session.put(READ, Some(self.read_ns()));
        for level in self.levels(false).into_iter().chain(self.levels(true)) {
            session.put_value(boundary_key(level.bytes), BOUNDARY.unit, Some(level.mean_ns));
        }
        let erase = self.erase_block();
        // If no erase block was found, a step may also be that of a mapping unit.
        let [page, plane] = self.pages().map(|bytes| bytes.filter(|_| erase.is_some()));
        for (metric, bytes) in [(PAGE, page), (PLANE, plane), (ERASE_BLOCK, erase)] {
            session.put(metric, bytes.map(|bytes| bytes as f64));
        }
        for (metric, open) in [OPEN_LINEAR, OPEN_RANDOM].into_iter().zip(self.open) {
            if let Some(Open::Exactly(count)) = open {
                session.put(metric, Some(f64::from(count)));
            }
        }
        self.publish_writes(session);
        declared::publish(session);
        let declared = declared::read(session);
        session.conclude(vec![verdict::verdict(self, [page, plane, erase], writes, &declared)]);
        session.checkpoint();
    }
}

/// The results of the streams and the small writes.
impl Found {
    fn publish_writes(&self, session: &mut Session<'_>) {
        if let Some(writes) = self.writes {
            session.put(WRITE, Some(writes.usual_ns));
            session.put(WRITE_PERIOD, writes.period.map(|bytes| bytes as f64));
            session.put(WRITE_EXTRA, writes.extra_ns);
        }
        if let Some(small) = self.small {
            session.put(SMALL_WRITE, Some(small.usual_ns));
            session.put(FAT_ZONE, small.zone.map(|zone| zone.bytes as f64));
            session.put(SMALL_WRITE_IN_ZONE, small.zone.map(|zone| zone.each_ns));
        }
    }
}

fn boundary_key(bytes: u64) -> MetricKey {
    BOUNDARY.member(&[&binary_tight(bytes)])
}

/// The boundaries of a class within the region, drawn at random: odd multiples of its size. Those
/// of 2^k are not multiples of 3.
fn boundaries(size: u64, triple: bool, bytes: u64, margin: u64, seed: u64) -> Vec<u64> {
    let multiples = bytes.saturating_sub(margin) / size;
    if multiples == 0 {
        return Vec::new();
    }
    let order = Permutation::new(multiples, seed ^ size);
    let candidates = (0..order.len()).map(|i| order.get(i) + 1);
    let fitting =
        candidates.filter(|m| m % 2 == 1 && (triple || !m.is_multiple_of(3)) && m * size >= margin);
    fitting.take(BOUNDARIES).map(|m| m * size).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rig::Rig;
    use script::test_drive::{Fake, Traits, perform};
    use script::{Outcome, plan};

    #[test]
    fn each_boundary_is_read_across_and_on_both_sides_in_every_round() {
        let mut fake = Fake::confirmed(Traits::default(), 1 << 30);
        fake.info.allowed = record::Safety::Reads;
        let options = Options { replicates: Some(3), ..Options::default() };
        let planned = plan(&INFO, fake.target(), &options).expect("a plan");
        assert_eq!(planned.write_bytes_max, 0, "it is only read");
        perform(&INFO, &mut fake, &options, &mut Outcome::default()).expect("it can be read");
        let mut reads = fake.door.reads.clone();
        assert!(reads.iter().all(|read| read.bytes == 1024));
        reads.sort_by_key(|read| read.start);
        // Three reads of each boundary of its own, the crossing one in the middle.
        let mut counts = std::collections::BTreeMap::new();
        reads.iter().for_each(|read| *counts.entry(read.start).or_insert(0) += 1);
        let classes = Found::new(&Whole::unguarded(&INFO, fake.target(), &options).expect("room"));
        let boundaries = classes.classes.iter().flat_map(|class| &class.boundaries);
        let mut expected = std::collections::BTreeMap::new();
        for boundary in boundaries {
            for start in [boundary - 1024, boundary - 512, *boundary] {
                *expected.entry(start).or_insert(0) += 3;
            }
        }
        assert_eq!(counts, expected);
    }

    #[test]
    fn boundaries_are_of_their_class_alone() {
        for k in POWERS {
            for boundary in boundaries(1 << k, false, 1 << 30, 4096, 3) {
                assert!(boundary.trailing_zeros() == k && !(boundary >> k).is_multiple_of(3));
            }
        }
        for boundary in boundaries(3 << 19, true, 1 << 30, 4096, 3) {
            assert!(boundary.is_multiple_of(3) && boundary.trailing_zeros() == 19);
        }
        assert_eq!(boundaries(1 << 20, false, 1 << 30, 4096, 3).len(), BOUNDARIES);
        assert!(boundaries(1 << 20, false, 1 << 10, 4096, 3).is_empty());
    }
}
