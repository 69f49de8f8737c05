//! Draws a case from a seed: the options that every case has, then some others from the table.

use fuzz::Random;

use super::case::{Case, FILE, Form, Set, Target};
use super::options::{DRAWN, one};
use super::sure::{self, Sure};
use super::tools;

/// Most options of a case beyond those that every case has.
const EXTRAS_MAX: usize = 10;

/// Sizes of blocks; small, and not only powers of two.
const BLOCKS: [&str; 9] = ["512", "1k", "2300", "3k", "4k", "4k", "10k", "16k", "64k"];

/// Sizes, with and without a rest below a block.
const SIZES: [&str; 10] = ["5k", "10k", "64k", "64k", "100k", "250k", "256k", "300000", "1m", "1m"];

/// Sizes in a file that is there.
const SIZES_THERE: [&str; 6] = ["10k", "64k", "100k", "300000", "50%", "33%"];

const ENGINES: [&str; 8] =
    ["psync", "psync", "sync", "pvsync", "libaio", "io_uring", "io_uring", "mmap"];

const FILE_RW: [&str; 14] = [
    "read",
    "write",
    "randread",
    "randwrite",
    "rw",
    "randrw",
    "write",
    "read",
    "randwrite",
    "randread",
    "read:2",
    "write:4k",
    "randread:4",
    "randwrite:8",
];

const DEVICE_RW: [&str; 8] =
    ["trim", "randtrim", "trimwrite", "randtrimwrite", "read", "write", "randwrite", "rw"];

/// The case of this number. Races, and most of what both tools refuse, are drawn again.
pub fn draw(seed: u64, number: u64) -> Case {
    let random = &mut Random::new(seed.wrapping_mul(0x9e37_79b9).wrapping_add(number << 20));
    loop {
        let case = draw_any(random);
        let is_likely = !is_refused(&case) || random.below(20) == 0;
        if is_likely && !is_race(&case) {
            return case;
        }
    }
}

/// Whether a file is smaller than a block, which both tools refuse.
fn is_refused(case: &Case) -> bool {
    let sure = Sure::from_case(case);
    (0..case.jobs.len()).any(|job| {
        let number = |name| case.value(job, name).and_then(sure::bytes);
        let share = |percent: &str| {
            let (Target::Existing(whole) | Target::Device(whole)) = case.target else {
                return None;
            };
            Some(percent.strip_suffix('%')?.parse::<u64>().ok()? * whole / 100)
        };
        let size = number("size").or_else(|| share(case.value(job, "size")?));
        let size = size.map(|bytes| bytes / number("nrfiles").unwrap_or(1));
        let is_small = |bytes: u64| sure.sizes && bytes < sure.block_max;
        size.is_some_and(is_small) || number("filesize").is_some_and(is_small)
    })
}

/// Whether speed decides what a job reads back, because another one writes to the same file, whether
/// it finds the file, because another one removes it, or how much it does: fio's threads report their
/// operations late to the one that counts them.
fn is_race(case: &Case) -> bool {
    let limits = ["number_ios", "loops", "io_size", "io_limit", "zonesize"];
    let is_late = case.is("io_submit_mode", "offload") && limits.iter().any(|name| case.has(name));
    is_late || case.shares_files() && (case.has("verify") || case.has("unlink"))
}

fn draw_any(random: &mut Random) -> Case {
    let devices = std::sync::LazyLock::force(&HAS_DEVICES);
    let target = match random.below(12) {
        0 if *devices => Target::Device(1 << 20),
        0..=3 => Target::Existing([100_000, 262_144, 1_048_576][random.below(3)]),
        _ => Target::Files,
    };
    let mut case =
        Case { target, global: Vec::new(), jobs: vec![Vec::new()], form: Form::Line, terse: false };
    case.form = match random.below(12) {
        0 => Form::Included,
        1 => Form::Sections,
        2 | 3 => Form::File,
        _ => Form::Line,
    };
    case.terse = random.below(8) == 0;
    let put = |case: &mut Case, name: &'static str, value: Option<String>| {
        case.global.extend(value.map(|value| Set::new(name, value)));
    };
    match target {
        Target::Files => {}
        Target::Existing(_) => put(&mut case, "filename", Some(FILE.into())),
        Target::Device(_) => put(&mut case, "filename", Some("DEVICE".into())),
    }
    let is_device = matches!(target, Target::Device(_));
    let rw = if is_device { one(random, &DEVICE_RW) } else { one(random, &FILE_RW) };
    put(&mut case, "rw", rw);
    put(&mut case, "bs", one(random, &BLOCKS));
    if target == Target::Files || random.below(2) == 0 {
        let sizes = if target == Target::Files { &SIZES[..] } else { &SIZES_THERE };
        put(&mut case, "size", one(random, sizes));
    }
    let engine = one(random, &ENGINES);
    // fio's mmap empties a device before it begins.
    let is_emptied = is_device && engine.as_deref() == Some("mmap");
    put(&mut case, "ioengine", if is_emptied { Some("psync".into()) } else { engine });
    if random.below(10) == 0 {
        put(&mut case, "zonesize", one(random, &["16k", "32k", "10k"]));
        put(&mut case, "zonemode", Some("strided".into()));
        put(&mut case, "zoneskip", one(random, &["0", "4k", "16k"]));
        if random.below(2) == 0 {
            put(&mut case, "zonerange", one(random, &["16k", "64k"]));
        }
    }
    if random.below(8) == 0 {
        case.jobs.push(Vec::new());
        if random.below(6) == 0 {
            case.jobs[1].push(Set::new("wait_for", "j0"));
        }
    }
    for _ in 0..random.below(EXTRAS_MAX + 1) {
        add(random, &mut case);
    }
    // Without data of an earlier job, verify_only ends at the first block, unless it goes on.
    if case.has("verify") && !case.has("verify_only") && random.below(12) == 0 {
        put(&mut case, "verify_only", Some("1".into()));
        put(&mut case, "continue_on_error", Some("verify".into()));
    }
    case
}

/// Adds a drawn option, if it fits, to a job or to all.
fn add(random: &mut Random, case: &mut Case) {
    let option = &DRAWN[random.below(DRAWN.len())];
    let Some(value) = (option.value)(random, case) else { return };
    let sets = case.global.iter().chain(case.jobs.iter().flatten());
    if sets.into_iter().any(|set| set.name == option.name) {
        return;
    }
    let jobs = case.jobs.len();
    let own = jobs > 1 && random.below(2) == 0;
    let list = if own { &mut case.jobs[random.below(jobs)] } else { &mut case.global };
    list.push(Set::new(option.name, value));
}

static HAS_DEVICES: std::sync::LazyLock<bool> = std::sync::LazyLock::new(tools::has_devices);
