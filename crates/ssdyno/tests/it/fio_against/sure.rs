//! Which figures of a case both tools must share, because chance and speed do not decide them.

use super::case::Case;

/// Which figures of a case both tools must share.
pub struct Sure {
    /// Whether all operations have one size.
    pub sizes: bool,
    /// Whether the direction of each operation is certain.
    pub directions: bool,
    /// Whether each block is visited as often by both, in whichever direction.
    pub blocks: bool,
    /// Whether operations come in order of offset.
    pub order: bool,
    /// Whether random work visits no place twice.
    pub is_once: bool,
    /// Whether the number of operations is certain, apart from what the others say.
    pub counts: bool,
    /// Whether there is only one pass over the files.
    pub is_one_pass: bool,
    /// Passes, unless something else than `loops` decides how many there are.
    pub loops: usize,
    /// Whether there is only one file, without zones.
    pub is_one_place: bool,
    /// Whether the content of the files is checked.
    pub verifies: bool,
    /// Whether what is read back depends on chance, because writes may overlap.
    pub may_overlap: bool,
    /// Whether all that is written is read back, in every job.
    pub reads_back: bool,
    /// The largest operation, bytes.
    pub block_max: u64,
}

/// Options after which a job has more than one pass.
const PASSES: [&str; 3] = ["loops", "io_size", "io_limit"];

impl Sure {
    pub fn from_case(case: &Case) -> Sure {
        let has_any = |names: &[&str]| names.iter().any(|name| case.has(name));
        let any_mixed = (0..case.jobs.len()).any(|job| is_mixed(case, job));
        let any_random = (0..case.jobs.len()).any(|job| case.rw(job).starts_with("rand"));
        let has_steps = (0..case.jobs.len())
            .any(|job| case.value(job, "rw").is_some_and(|rw| rw.contains(':')));
        // Sequential operations among random ones end the file at its end, wherever they began.
        let may_stop = case.has("percentage_random") && !case.is("percentage_random", "100")
            || case.is("percentage_random", "0")
            || has_steps;
        let is_spread =
            case.has("random_distribution") && !case.is("random_distribution", "random");
        let jumps = may_stop || is_spread || has_any(&["ba", "zonesize"]);
        let repeats = case.has("norandommap") || case.is("random_generator", "lfsr");
        let limited = has_any(&PASSES) || has_any(&["number_ios", "filesize"]);
        let deep = case.has("iodepth") && !case.is("iodepth", "1");
        let scattered = ["random", "zipf", "pareto:0.3"];
        let service = scattered.iter().any(|order| case.is("file_service_type", order));
        let sizes = !has_any(&["bsrange", "bssplit"]);
        // When a zone is left depends on the directions drawn in it.
        let is_zoned_mix = case.has("zonesize") && any_mixed;
        // Both directions mark their blocks in one map, each in its own unit; with a comma, the
        // unit of one may differ from the map's.
        let is_apart = ["bs", "bsrange", "bssplit"].iter().any(|name| {
            (0..case.jobs.len()).any(|job| case.value(job, name).is_some_and(|v| v.contains(',')))
        });
        let is_mapped_twice = !sizes && any_random && (any_mixed || is_apart);
        // A number of operations of drawn sizes has no certain sum.
        let is_open = !sizes && case.has("number_ios");
        // What is appended may exceed the file, which ends it.
        let may_exceed = !sizes && any_random && case.has("file_append");
        // Whether the last block of random work is met by one that fits depends on those before.
        let has_rest = (0..case.jobs.len()).any(|job| {
            case.value(job, "size").and_then(bytes).is_some_and(|size| size % block_min(case) > 0)
        });
        let is_ragged = !sizes && any_random && has_rest;
        let is_one_pass = !has_any(&PASSES);
        // Where the file is longer after the first pass, places begin later in it, and the first one
        // that is drawn beyond its end ends a pass.
        let has_share = (0..case.jobs.len())
            .any(|job| case.value(job, "offset").is_some_and(|offset| offset.ends_with('%')));
        let may_move = any_random && !is_one_pass && (has_share || case.has("file_append"));
        // fio's register begins each pass with the last value of the one before.
        let is_register = case.is("random_generator", "lfsr");
        // An asynchronous fio draws again what finds no free place in its queue.
        let is_queued =
            any_mixed && ["libaio", "io_uring"].iter().any(|engine| case.is("ioengine", engine));
        // The operations of a queue complete in any order.
        let is_unordered = deep || is_queued || is_register;
        let is_other = has_any(&PASSES[1..]) || case.has("number_ios") || is_unordered;
        let loops = case.value(0, "loops").filter(|_| !is_other);
        Sure {
            sizes,
            directions: !any_mixed,
            blocks: sizes
                && (!any_random || !jumps && !repeats && !limited)
                && !service
                && !is_zoned_mix,
            order: !any_random && !deep && !service,
            is_once: any_random && sizes && !jumps && !repeats && !service && is_one_pass,
            // Holes of sequential work wrap around at the end, unless it is met exactly; the last
            // operation of each zone exceeds it by its size.
            counts: (!any_random || !jumps)
                && (sizes || !has_steps && !case.has("zonesize"))
                && !is_zoned_mix
                && !is_mapped_twice
                && !is_open
                && !may_exceed
                && !may_move
                && !is_ragged,
            is_one_pass,
            loops: loops.and_then(|loops| loops.parse().ok()).unwrap_or(1),
            is_one_place: !has_any(&["zonesize", "nrfiles"]),
            verifies: case.has("verify"),
            may_overlap: any_random && repeats && case.has("verify"),
            reads_back: (0..case.jobs.len()).all(|job| case.value(job, "verify").is_some())
                && !case.is("do_verify", "0"),
            block_max: block_max(case),
        }
    }
}

fn is_mixed(case: &Case, job: usize) -> bool {
    let percent = case.value(job, "rwmixread").map(|text| text != "0" && text != "100");
    let writes = case.value(job, "rwmixwrite").is_some();
    matches!(case.rw(job), "rw" | "randrw") && (percent.unwrap_or(true) || writes)
}

/// The largest size among the options of blocks, bytes.
fn block_max(case: &Case) -> u64 {
    block_sizes(case).max().unwrap_or(4096)
}

/// The smallest size among the options of blocks, bytes.
fn block_min(case: &Case) -> u64 {
    block_sizes(case).min().unwrap_or(4096)
}

/// The sizes of all jobs. A range or shares of sizes replace a single size.
fn block_sizes(case: &Case) -> impl Iterator<Item = u64> {
    let values = (0..case.jobs.len()).flat_map(|job| {
        let drawn = ["bsrange", "bssplit"].map(|name| case.value(job, name));
        let is_drawn = drawn.iter().any(Option::is_some);
        drawn.into_iter().chain([case.value(job, "bs").filter(|_| !is_drawn)]).flatten()
    });
    let sizes = values.flat_map(|value| value.split([':', ',', '-']));
    sizes.filter_map(|size| bytes(size.split('/').next()?)).filter(|size| *size > 0)
}

/// The bytes of a number with the suffix `k` or `m`, or without.
pub fn bytes(text: &str) -> Option<u64> {
    let units = [('k', 1 << 10), ('m', 1 << 20)];
    let unit = units.iter().find_map(|(suffix, unit)| Some((text.strip_suffix(*suffix)?, *unit)));
    let (digits, unit) = unit.unwrap_or((text, 1));
    Some(digits.parse::<u64>().ok()? * unit)
}
