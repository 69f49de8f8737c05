//! `cluster`: which allocation unit suits the files?
//!
//! A larger unit wastes the end of every file and is faster where a file system moves a unit at a
//! time, as RISC OS does (LFAU). Both are measured: files recorded through a file system of each
//! unit, the same bytes moved unit by unit with one in flight, and beside them the slack of the
//! user's own files.
//!
//! All units must meet the same drive. The region is filled first: the unit that came first would
//! find blocks without data, which need no copying. And the files end in the middle of a power of
//! two, so that they begin at every place that their unit permits. Files of whole MiB would all
//! begin as the first does, which on some units is by chance a whole page of the drive.

mod answer;

use fat::VolumeKind;
use record::{CellKey, MetricKey, Order, Safety};
use rig::TargetInfo;
use workload::OpKind::{self, Read, Write};
use workload::units::{binary_tight, parse_bytes};
use workload::{BlockSizes, Mix, Pattern, Region};

use crate::stream::{FS, Script, recorded};
use script::whole::{FILE_BYTES, Whole};
use script::{
    Common, MethodError, MethodInfo, MetricInfo, Opt, Options, Result, ScratchUse, Session,
};

/// Default duration in seconds.
const SECONDS: f64 = 120.0;

/// Units as powers of two: 2 KiB to 1 MiB.
const UNITS: std::ops::RangeInclusive<u32> = 11..=20;

/// The largest unit of FAT32, bytes.
const FAT32_MOST: u32 = 64 << 10;

/// Default region of exFAT, bytes, and the bytes recorded by default.
const REGION: u64 = 256 << 20;

/// Default region of FAT32, bytes: its minimum of 65,525 clusters at 64 KiB, and 6% for its tables.
const FAT32_REGION: u64 = 4352 << 20;

/// The largest region moved unit by unit, bytes.
const BY_UNIT: u64 = 64 << 20;

/// Maximum duration of one measurement unit by unit, seconds.
const EACH_SECONDS: f64 = 4.0;

/// Bytes of a file, as in `mark`, without its last unit; at most a quarter of the region.
const FILE: u64 = 8 << 20;

/// The knee: the smallest unit with this share of the best rate; of files, whose lengths differ by
/// their unit, a smaller share.
const KNEE: f64 = 0.95;
const KNEE_OF_FILES: f64 = 0.9;

/// What a file hides.
const HIDDEN: &str = "the file system places and moves its blocks by its own unit, so no volumes of \
                      other units were recorded into";

/// The method.
pub(crate) static INFO: MethodInfo = MethodInfo {
    name: "cluster",
    summary: "which allocation unit suits the files",
    about: "For every allocation unit from 2 KiB to 1 MiB (FAT32 to 64 KiB), on 256 MiB (FAT32 \
            on 4.25 GiB, which its larger clusters need) or --size of a drive opened with \
            --destroy, which is filled first: makes an exFAT (--fs) with clusters of that size and \
            records 256 MiB or --size into it in files of 8 MiB and one unit, so that they begin at \
            every place the unit permits; then writes and reads up to 64 MiB in order, a unit at \
            a time and one in flight, as a file system does that moves a unit at a time. The \
            results are each rate, the knees (the smallest unit with 95% of the best rate, of files \
            with 90%), and \
            with --like DIR the share of space that files of these sizes waste. In a directory, \
            only the transfers of a unit at a time are measured, in a scratch file, beside the unit \
            of the file system there.",
    safety: Safety::Destroys,
    seconds: SECONDS,
    writes: "256 MiB or --size once, and again with up to 64 MiB for each of ten units; in a \
             directory only these 64 MiB",
    // Each of the ten units writes the file once.
    scratch: ScratchUse::passes(10.0),
    ignores: &[Common::Time, Common::Replicates],
    options: &[&FS, &LIKE],
    metrics: &[&[FILES, UNIT_RATE, KNEE_UNIT, FILES_UNIT, SLACK, MOUNTED_UNIT, FILE_BYTES]],
    primary: &["seq-{read,write}-unit-{4KiB,64KiB,1MiB}-q1", KNEE_UNIT.name],
    run,
    answer: answer::answer,
    ..MethodInfo::EMPTY
};

const FILES: MetricInfo = MetricInfo::rate(
    "cluster-{exfat,fat32}-{size}",
    "files of 8 MiB and a unit recorded into a file system with that unit",
);
const UNIT_RATE: MetricInfo = MetricInfo::rate(
    "seq-{read,write}-unit-{size}-q1",
    "the same drive without it, a unit at a time",
);
const KNEE_UNIT: MetricInfo = MetricInfo::bytes(
    "cluster-knee-{read,write}",
    "the smallest unit with 95% of the best rate, a unit at a time; absent with a single unit",
);
const FILES_UNIT: MetricInfo = MetricInfo::bytes(
    "cluster-knee-files",
    "the smallest unit with 90% of the best rate of recorded files; absent with a single unit",
);
const SLACK: MetricInfo = MetricInfo::number(
    "cluster-slack-{size}",
    "share of the space that files of these sizes (--like) would waste",
);

const MOUNTED_UNIT: MetricInfo = MetricInfo::bytes(
    "cluster-mounted",
    "allocation unit of the file system in whose directory the file lies",
);

/// Files that the slack is computed for.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Like {
    /// None.
    #[default]
    Nothing,
    /// A directory that was not read yet.
    Directory(String),
    /// Sizes in bytes and how many files have them.
    Sizes(Vec<(u64, u64)>),
}

/// `--like`: the calling program replaces a directory with the sizes of its files.
pub static LIKE: Opt<Like> = Opt::value(
    "like",
    "DIR",
    "waste of space by files as they are below DIR; or sizes: 4k:1000,2M:50",
    |words| Ok(like(words.first().map_or("", String::as_str))),
    Like::default,
);

/// Sizes as `SIZE:COUNT,...`; anything else is the name of a directory, which a method cannot read.
fn like(text: &str) -> Like {
    let sizes = text.split(',').map(|pair| {
        let (bytes, count) = pair.rsplit_once(':')?;
        Some((parse_bytes(bytes).ok()?, count.parse().ok()?))
    });
    match sizes.collect() {
        Some(sizes) => Like::Sizes(sizes),
        None => Like::Directory(text.to_string()),
    }
}

fn run(session: &mut Session<'_>, options: &Options) -> Result<()> {
    let usual = if options.get(&FS) == VolumeKind::Fat32 { FAT32_REGION } else { REGION };
    let size = options.size.unwrap_or(usual).min(session.target().bytes);
    let part = options.sized(size);
    let mut whole = Whole::new(&INFO, session.target(), &part)?;
    let sizes = match options.get(&LIKE) {
        Like::Nothing => Vec::new(),
        Like::Sizes(sizes) => sizes,
        Like::Directory(value) => {
            let range = "a readable directory, or sizes and counts such as 4k:1000,2M:50".into();
            let value = format!("'{value}'");
            return Err(MethodError::Option { option: "like", value, range });
        }
    };
    session.note_file(&whole, HIDDEN);
    let filesystem = session.target().target.filesystem.as_ref();
    let mounted = filesystem.and_then(|system| system.unit_bytes).filter(|_| whole.in_file);
    session.put(MOUNTED_UNIT, mounted.map(|bytes| bytes as f64));
    // A file system reads a block before it writes a part of it; within a cluster it does not.
    whole.block = whole.block.max(mounted.map_or(0, |unit| unit.min(4096) as u32));
    let script = recording(session.target(), options, whole.bytes())?;
    measure(session, &whole, script, &sizes)
}

/// Files of 8 MiB at the maximum rate, on a region of the target.
fn recording(target: &TargetInfo, options: &Options, region: u64) -> Result<Script> {
    Ok(Script {
        rate: None,
        checkpoint: None,
        file_bytes: FILE.min(region / 4),
        recorded_bytes: options.size.unwrap_or(REGION).min(region),
        ..Script::new(target, options, region)?
    })
}

/// The units that a file system of this kind may have here. Fewer than 64 hold no recording.
fn units(script: &Script, region: u64, block: u32) -> Vec<u32> {
    let unit_max = if script.kind == VolumeKind::Fat32 { FAT32_MOST } else { u32::MAX };
    let possible = UNITS.map(|bits| 1 << bits).filter(|unit| {
        (block..=unit_max).contains(unit) && region / u64::from(*unit) >= 64 && script.holds(*unit)
    });
    possible.collect()
}

fn measure(
    session: &mut Session<'_>,
    whole: &Whole,
    mut script: Script,
    sizes: &[(u64, u64)],
) -> Result<()> {
    let units = units(&script, whole.bytes(), whole.block);
    if units.is_empty() {
        let least = FAT32_REGION / u64::from(FAT32_MOST) * u64::from(whole.block.max(2048));
        return Err(MethodError::TooSmall { bytes: whole.bytes(), least });
    }
    for unit in &units {
        let share = slack(sizes, u64::from(*unit));
        session.put_member(SLACK, &[&binary_tight(u64::from(*unit))], share);
    }
    if !whole.in_file {
        let bytes = script.written_max().min(whole.bytes());
        session.fill_region(whole, "fill", Region::first(bytes))?;
    }
    let (mut rates, mut files) = ([Vec::new(), Vec::new()], Vec::new());
    let file_bytes = script.file_bytes;
    for unit in &units {
        script.cluster = *unit;
        script.file_bytes = file_bytes + u64::from(*unit);
        if !whole.in_file {
            files.push(record(session, &script)?);
        }
        for (rates, kind) in rates.iter_mut().zip([Write, Read]) {
            let w = by_unit(whole, kind, *unit);
            let m = session.measure(&w, 0)?;
            let rate = m.throughput(Some(kind)).unwrap_or(0.0);
            session.put_value(MetricKey::from_workload(&w), UNIT_RATE.unit, Some(rate));
            rates.push(rate);
        }
        session.checkpoint();
    }
    for (rates, kind) in rates.iter().zip([Write, Read]).filter(|_| units.len() > 1) {
        let knee = knee(&units, rates, KNEE).map(f64::from);
        session.put_member(KNEE_UNIT, &[&kind.name()], knee);
    }
    if units.len() > 1 && !whole.in_file {
        session.put(FILES_UNIT, knee(&units, &files, KNEE_OF_FILES).map(f64::from));
    }
    session.checkpoint();
    Ok(())
}

/// Records the files through a file system, publishes the rate and returns it; 0 if it is unknown.
fn record(session: &mut Session<'_>, script: &Script) -> Result<f64> {
    let size = binary_tight(u64::from(script.cluster));
    let key = FILES.member(&[&script.name(), &size]);
    let step = key.to_string();
    session.step(&step, 0);
    let Some(recording) = recorded(session, script, &step, &script.take(None))? else {
        return Ok(0.0);
    };
    let seconds = recording.elapsed_ns as f64 / 1e9;
    let rate = (seconds > 0.0).then(|| recording.bytes as f64 / seconds);
    session.put_value(key, FILES.unit, rate);
    Ok(rate.unwrap_or(0.0))
}

/// Sequential transfers of one unit each, one in flight.
fn by_unit(whole: &Whole, kind: OpKind, unit: u32) -> workload::Workload {
    let cell = CellKey {
        words: vec!["unit".into()],
        ..CellKey::new(Order::Sequential, Some(kind), u64::from(unit), 1)
    };
    let mut w = whole.random(&cell.to_string(), Mix::from_kind(kind), unit, EACH_SECONDS, unit);
    let bytes = whole.bytes().min(BY_UNIT) / u64::from(unit) * u64::from(unit);
    (w.pattern, w.region, w.blocks) =
        (Pattern::Sequential, Region::first(bytes), BlockSizes::Fixed(unit));
    w.stop.bytes = Some(bytes);
    w
}

/// Share of the space that files of these sizes waste; `None` without files.
fn slack(sizes: &[(u64, u64)], unit: u64) -> Option<f64> {
    let (mut used, mut space) = (0.0, 0.0);
    for (bytes, count) in sizes {
        used += *bytes as f64 * *count as f64;
        space += bytes.div_ceil(unit) as f64 * unit as f64 * *count as f64;
    }
    (space > 0.0).then(|| 1.0 - used / space)
}

/// The smallest unit with this share of the best rate.
fn knee(units: &[u32], rates: &[f64], share: f64) -> Option<u32> {
    let best = rates.iter().copied().fold(0.0, f64::max);
    let good = rates.iter().position(|rate| best > 0.0 && *rate >= share * best)?;
    units.get(good).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use script::Outcome;
    use script::test_drive::{Fake, Traits, perform};

    #[test]
    fn slack_is_the_end_of_the_last_unit() {
        assert_eq!(slack(&[(1, 1), (4097, 3)], 4096), Some(1.0 - 12_292.0 / (4096.0 * 7.0)));
        assert_eq!(slack(&[(0, 5)], 4096), None, "empty files take no unit");
        assert_eq!(slack(&[(8192, 2)], 4096), Some(0.0));
    }

    #[test]
    fn sizes_are_read_and_anything_else_is_a_directory() {
        assert_eq!(like("4k:1000,2M:50"), Like::Sizes(vec![(4096, 1000), (2 << 20, 50)]));
        assert_eq!(like("/usr/share"), Like::Directory("/usr/share".into()));
        let mut fake = Fake::confirmed(Traits::default(), 1 << 30);
        let options = Options::default().with(&LIKE, Like::Directory("/usr".into()));
        let result = perform(&INFO, &mut fake, &options, &mut Outcome::default());
        let error = result.expect_err("a method reads no directory").to_string();
        assert!(error.starts_with("like is '/usr', must be a readable directory, or "), "{error}");
        assert_eq!(fake.written, 0);
    }

    #[test]
    fn a_command_of_constant_cost_has_its_knee_where_the_data_take_longer() {
        // 80 us a command and 500 MB/s: 95% of the rate of 1 MiB needs about 512 KiB.
        let options = Options::default().with(&LIKE, Like::Sizes(vec![(3000, 7), (100, 1)]));
        let mut fake = Fake::confirmed(Traits { noise: 0.0, ..Traits::default() }, 1 << 30);
        let mut out = Outcome::default();
        perform(&INFO, &mut fake, &options, &mut out).expect("nothing is wrong");
        let value = |name: &str| out.value(MetricKey::parse(name));
        assert_eq!(value("cluster-knee-write"), Some(f64::from(512 << 10)));
        let unit = |kib: f64| kib * 1024.0 / (80e-6 + kib * 1024.0 / 500e6);
        for (name, kib) in [("seq-write-unit-2KiB-q1", 2.0), ("seq-read-unit-32KiB-q1", 32.0)] {
            let rate = value(name).unwrap_or_else(|| panic!("no {name}"));
            assert!((rate / unit(kib) - 1.0).abs() < 0.02, "{name}: {rate}, {}", unit(kib));
        }
        let slack = value("cluster-slack-4KiB").expect("sizes were given");
        assert!((slack - (1.0 - 21_100.0 / (8.0 * 4096.0))).abs() < 1e-9);
        let answer = out.answer.as_ref().expect("declared");
        assert!(answer.headline.starts_with("512 KiB units write "), "{}", answer.headline);
        let wasted = answer.tiles.iter().find(|tile| tile.label == "Space wasted, 512 KiB units");
        assert!(wasted.is_some(), "{:?}", answer.tiles);
        let bars = answer.charts.iter().find(|chart| chart.title == "Space wasted by your files");
        assert_eq!(bars.map(|chart| chart.sources.len()), Some(10));
        let files = answer.charts.iter().find(|chart| chart.title == "Files of 8 MiB recorded");
        assert_eq!(files.map(|chart| chart.sources.len()), Some(10));
        assert!(value("cluster-exfat-2KiB").is_some() && value("cluster-exfat-1MiB").is_some());
        assert!(out.warnings.is_empty(), "{:?}", out.warnings);
    }

    #[test]
    fn files_have_8_mib_or_a_quarter_of_a_small_region() {
        let mut fake = Fake::confirmed(Traits::default(), 1 << 30);
        let file_bytes = |fake: &mut Fake, mib: u64| {
            let options = Options { size: Some(mib << 20), ..Options::default() };
            let script = recording(&fake.info, &options, mib << 20).expect("room");
            assert_eq!((script.rate, script.checkpoint), (None, None));
            script.file_bytes >> 20
        };
        assert_eq!([1024, 64, 16].map(|mib| file_bytes(&mut fake, mib)), [8, 8, 4]);
    }

    #[test]
    fn fat32_has_the_units_that_its_clusters_allow() {
        let target = Fake::confirmed(Traits::default(), 1 << 30).info;
        let options = Options::default().with(&FS, VolumeKind::Fat32);
        let script = |bytes| Script::new(&target, &options, bytes).expect("room");
        assert_eq!(units(&script(256 << 20), 256 << 20, 512), [2048]);
        assert_eq!(units(&script(1 << 30), 1 << 30, 4096), [4096, 8192]);
        let all: Vec<u32> = (11..=16).map(|bits| 1 << bits).collect();
        assert_eq!(units(&script(FAT32_REGION), FAT32_REGION, 512), all);
    }

    #[test]
    fn fat32_compares_every_unit_on_a_region_that_holds_them_and_one_unit_is_no_choice() {
        let options = Options::default().with(&FS, VolumeKind::Fat32);
        let ran = |bytes: u64, options: &Options| {
            let mut fake = Fake::confirmed(Traits { noise: 0.0, ..Traits::default() }, bytes);
            let mut out = Outcome::default();
            perform(&INFO, &mut fake, options, &mut out).expect("nothing is wrong");
            let answer = out.answer.clone().expect("declared").headline;
            (fake.written, out.metrics.iter().map(|m| m.name.clone()).collect::<Vec<_>>(), answer)
        };
        let (written, names, answer) = ran(8 << 30, &options);
        assert!(names.iter().any(|name| name == "cluster-fat32-64KiB"), "{names:?}");
        assert!(names.iter().any(|name| name == "cluster-knee-write"), "{names:?}");
        assert!(answer.starts_with("64 KiB units write at or near "), "{answer}");
        assert!(written < 3 << 30, "the region is not recorded in full: {written}");
        let (_, names, answer) = ran(256 << 20, &options);
        assert!(names.iter().all(|name| !name.starts_with("cluster-knee")), "{names:?}");
        assert!(answer.starts_with("Only 2 KiB units fit here; they write "), "{answer}");
    }
}
