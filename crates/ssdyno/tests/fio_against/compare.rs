//! The differences between two runs of a case, in what does not depend on speed. The worst first:
//! that it ends, exit code, operations and bytes, flushes, offsets, files, fields of the outputs.
//! Amounts that chance decides are in `chance.rs`.

use serde_json::Value;

use crate::case::Case;
use crate::chance;
use crate::contents::{Look, describe};
use crate::tools::{Did, Logged, Pair};

/// A difference of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    pub kind: &'static str,
    pub text: String,
}

/// The largest number that stands for a size of blocks; a range or a split may overshoot by it.
const BLOCK_MAX: u64 = 100 << 10;

/// Bytes below which the share of copies is too random to compare.
const COPIES_BYTES_MIN: usize = 512 << 10;

/// Directions in the JSON, in the order of the log.
const SIDES: [&str; 3] = ["read", "write", "trim"];

/// Which figures of a case both tools must share.
struct Sure {
    /// Whether all operations have one size.
    sizes: bool,
    /// Whether the direction of each operation is certain.
    directions: bool,
    /// Whether each block is visited as often by both.
    blocks: bool,
    /// Whether operations come in order of offset.
    order: bool,
    /// Whether the number of operations is certain, apart from what the others say.
    counts: bool,
    /// Whether there is only one pass over the files.
    is_one_pass: bool,
    /// Whether there is only one file, without zones.
    is_one_place: bool,
    verifies: bool,
}

impl Sure {
    pub fn from_case(case: &Case) -> Sure {
        let jobs = || 0..case.jobs.len();
        let mixed = |job| {
            let percent = case.value(job, "rwmixread").map(|text| text != "0" && text != "100");
            let writes = case.value(job, "rwmixwrite").is_some();
            matches!(case.rw(job), "rw" | "randrw") && (percent.unwrap_or(true) || writes)
        };
        let random = |job| case.rw(job).starts_with("rand");
        // Sequential operations among random ones end the file at its end, wherever they began.
        let may_stop = case.has("percentage_random") && !case.is("percentage_random", "100")
            || case.is("percentage_random", "0")
            || jobs().any(|job| case.value(job, "rw").is_some_and(|rw| rw.contains(':')));
        let jumps = case.has("norandommap")
            || case.is("random_generator", "lfsr")
            || may_stop
            || ["io_size", "io_limit", "number_ios", "filesize"].iter().any(|name| case.has(name))
            || case.has("random_distribution") && !case.is("random_distribution", "random")
            || case.has("ba")
            || case.has("zonesize");
        // Holes of sequential work wrap around at the end, unless it is met exactly.
        let may_wrap = jobs().any(|job| case.value(job, "rw").is_some_and(|rw| rw.contains(':')));
        let deep = case.has("iodepth") && !case.is("iodepth", "1");
        let scattered = ["random", "zipf", "pareto:0.3"];
        let service = scattered.iter().any(|order| case.is("file_service_type", order));
        let sizes = !case.has("bsrange") && !case.has("bssplit");
        // When a zone is left depends on the directions drawn in it.
        let is_zoned_mix = case.has("zonesize") && jobs().any(mixed);
        let any_random = jobs().any(random);
        Sure {
            sizes,
            directions: !jobs().any(mixed),
            blocks: sizes && (!any_random || !jumps) && !service && !is_zoned_mix,
            // fio opens only some files at once, and turns to the others later.
            order: !any_random && !deep && !service && !case.has("openfiles"),
            counts: (!any_random || !jumps) && (sizes || !may_wrap) && !is_zoned_mix,
            is_one_pass: !["loops", "io_size", "io_limit"].iter().any(|name| case.has(name)),
            is_one_place: !case.has("zonesize") && !case.has("nrfiles"),
            verifies: case.has("verify"),
        }
    }
}

/// What two runs of a case show.
pub enum Comparison {
    Compared(Vec<Difference>),
    /// Nothing could be compared, for this reason.
    Uncompared(&'static str),
}

/// Compares two runs; nothing after the exit codes, if they differ.
pub fn compare(case: &Case, pair: &Pair) -> Comparison {
    let uncompared = match (pair.theirs.code, pair.ours.code) {
        (None, _) => Some("fio does not end"),
        (Some(0), _) | (_, Some(0) | None) => None,
        (Some(_), Some(2 | 3)) => Some("both refuse it"),
        (Some(_), Some(_)) => Some("both fail"),
    };
    uncompared.map_or_else(|| Comparison::Compared(differences(case, pair)), Comparison::Uncompared)
}

fn differences(case: &Case, pair: &Pair) -> Vec<Difference> {
    let (theirs, ours) = (&pair.theirs, &pair.ours);
    let mut list = Vec::new();
    let mut put = |kind: &'static str, text: String| list.push(Difference { kind, text });
    let sure = Sure::from_case(case);
    let by_chance = || !(sure.counts && sure.directions) && chance::can_end_with(case, theirs.code);
    match (theirs.code, ours.code) {
        (_, None) => {
            put("ends", "ssdyno does not end".into());
            return list;
        }
        (Some(0), Some(0)) => {}
        (Some(0), Some(4)) | (Some(_), Some(0)) if by_chance() => return list,
        (Some(0), Some(code)) => {
            let kind = if matches!(code, 2 | 3) { "refused" } else { "exit code" };
            put(kind, format!("fio 0, ssdyno {code}: {}", last_message(&ours.said)));
            return list;
        }
        (Some(code), Some(0)) => {
            put("exit code", format!("fio {code}, ssdyno 0: {}", last_message(&theirs.said)));
            return list;
        }
        _ => return list,
    }
    if let Some(text) = counts(&sure, theirs, ours) {
        put("operations", text);
    }
    if let Some(text) = flushes(case, &sure, theirs, ours) {
        put("flushes", text);
    }
    if let Some(text) = offsets(&sure, theirs, ours) {
        put("offsets", text);
    }
    if !sure.blocks
        && let Some(text) = chance::difference(case, theirs, ours)
    {
        put("amounts", text);
    }
    if let Some(text) = files(case, &sure, theirs, ours) {
        put("files", text);
    }
    if let Some(text) = fields(&theirs.json, &ours.json, "") {
        put("json", text);
    }
    if let Some(text) = terse(&theirs.terse, &ours.terse) {
        put("terse", text);
    }
    list
}

fn last_message(said: &str) -> &str {
    // Notes come before the error.
    said.lines().rfind(|line| line.contains("ssdyno:") || line.contains("fio:")).unwrap_or_default()
}

fn jobs(json: &Value) -> &[Value] {
    json["jobs"].as_array().map_or(&[], Vec::as_slice)
}

/// Operations and bytes of a direction.
fn count(job: &Value, side: &str) -> (u64, u64) {
    let number = |name: &str| job[side][name].as_u64().unwrap_or(0);
    (number("total_ios"), number("io_bytes"))
}

fn counts(sure: &Sure, theirs: &Did, ours: &Did) -> Option<String> {
    let (mut theirs, ours) = (jobs(&theirs.json), jobs(&ours.json));
    // If only the later jobs of a group have group_reporting, fio adds results without a name.
    while let [rest @ .., last] = theirs
        && theirs.len() > ours.len()
        && last["jobname"].as_str().is_none_or(str::is_empty)
    {
        theirs = rest;
    }
    if theirs.len() != ours.len() {
        return Some(format!("fio reports {} jobs, ssdyno {}", theirs.len(), ours.len()));
    }
    theirs.iter().zip(ours).find_map(|(theirs, ours)| {
        for name in ["jobname", "error", "groupid"] {
            // fio leaves the job of stats=0 without a name.
            if theirs[name] != ours[name] && theirs.get("jobname").is_some() {
                return Some(format!("{name}: fio {}, ssdyno {}", theirs[name], ours[name]));
            }
        }
        let sides = if theirs.get("mixed").is_some() { &["mixed"][..] } else { &SIDES };
        let all = |job: &Value| sides.iter().map(|side| count(job, side)).collect::<Vec<_>>();
        let (theirs, ours) = (all(theirs), all(ours));
        let sum = |list: &[(u64, u64)]| {
            list.iter().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
        };
        let equal = if !sure.counts {
            true
        } else if !sure.sizes {
            let ((_, theirs), (_, ours)) = (sum(&theirs), sum(&ours));
            theirs.abs_diff(ours) <= 2 * BLOCK_MAX + theirs / 8
        } else if !sure.directions && sure.verifies {
            // The reads that verify are as many as the writes, whose number is random.
            true
        } else if !sure.directions {
            // One direction may be the first at a rest below a block, which ends the file.
            let (theirs, ours) = (sum(&theirs), sum(&ours));
            let (few, passes) = (2, if sure.is_one_pass { 0 } else { theirs.0 / 10 });
            theirs.0.abs_diff(ours.0) <= few + passes
                && theirs.1.abs_diff(ours.1) <= 2 * BLOCK_MAX + theirs.1 / 10
        } else {
            theirs == ours
        };
        (!equal)
            .then(|| format!("(operations, bytes) of {sides:?}: fio {theirs:?}, ssdyno {ours:?}"))
    })
}

fn flushes(case: &Case, sure: &Sure, theirs: &Did, ours: &Did) -> Option<String> {
    // fio logs flushes at the end, too, which are not counted.
    let at_end = ["end_fsync", "fsync_on_close", "verify"].iter().any(|name| case.has(name));
    let at_end = at_end || case.is("stats", "0");
    if !sure.sizes || !sure.directions || !sure.counts || case.clones(0) > 1 || at_end {
        return None;
    }
    let theirs = theirs.flushes?;
    let ours = jobs(&ours.json).first()?["sync"]["total_ios"].as_u64()?;
    (theirs != ours).then(|| format!("fio {theirs}, ssdyno {ours}"))
}

/// The operations of a direction.
fn of_side(log: &[Logged], side: u8) -> Vec<(u64, u64)> {
    let of_side = log.iter().filter(|logged| logged.0 == side);
    of_side.map(|(_, bytes, offset)| (*offset, *bytes)).collect()
}

fn offsets(sure: &Sure, theirs: &Did, ours: &Did) -> Option<String> {
    if !sure.blocks || theirs.logs.iter().all(Vec::is_empty) {
        return None;
    }
    for (clone, (theirs, ours)) in theirs.logs.iter().zip(&ours.logs).enumerate() {
        for (side, name) in (0..).zip(SIDES) {
            let (mut theirs, mut ours) = (of_side(theirs, side), of_side(ours, side));
            if !sure.directions {
                if !sure.order || sure.verifies || !sure.is_one_pass || !sure.is_one_place {
                    continue;
                }
                // How many there are is random, their order is not.
                let shared = theirs.len().min(ours.len());
                theirs.truncate(shared);
                ours.truncate(shared);
            }
            if !sure.order || sure.verifies {
                theirs.sort_unstable();
                ours.sort_unstable();
            }
            if let Some(text) = first_difference(&theirs, &ours) {
                return Some(format!("clone {clone}, {name}: {text}"));
            }
        }
    }
    None
}

fn first_difference(theirs: &[(u64, u64)], ours: &[(u64, u64)]) -> Option<String> {
    let count = theirs.len().max(ours.len());
    let number = (0..count).find(|number| theirs.get(*number) != ours.get(*number))?;
    let at = |list: &[(u64, u64)]| list.get(number).copied();
    Some(format!(
        "(offset, bytes) {number} of {}/{}: fio {:?}, ssdyno {:?}",
        theirs.len(),
        ours.len(),
        at(theirs),
        at(ours)
    ))
}

fn files(case: &Case, sure: &Sure, theirs: &Did, ours: &Did) -> Option<String> {
    let sizes = |did: &Did| -> Vec<(String, usize)> {
        did.files.iter().map(|(name, bytes)| (name.clone(), bytes.len())).collect()
    };
    let (their_sizes, our_sizes) = (sizes(theirs), sizes(ours));
    if their_sizes != our_sizes {
        // Random sizes end a file elsewhere.
        let names = |sizes: &[(String, usize)]| -> Vec<String> {
            sizes.iter().map(|(name, _)| name.clone()).collect()
        };
        let exact = sure.sizes && sure.blocks || names(&their_sizes) != names(&our_sizes);
        return exact.then(|| format!("fio leaves {their_sizes:?}, ssdyno {our_sizes:?}"));
    }
    // Jobs that write to the same places at once leave either's content.
    let jobs: usize = (0..case.jobs.len()).map(|job| case.clones(job)).sum();
    if jobs > 1 && case.has("filename") {
        return None;
    }
    let exact = is_exact(case) && sure.blocks && sure.directions;
    theirs.files.iter().zip(&ours.files).find_map(|((name, theirs), (_, ours))| {
        if exact {
            let place = theirs.iter().zip(ours).position(|(theirs, ours)| theirs != ours)?;
            return Some(format!("content of {name} differs at {place}"));
        }
        if theirs == ours {
            return None;
        }
        let (theirs, ours) = (Look::of_bytes(theirs), Look::of_bytes(ours));
        // fio repeats its random bytes in each loop.
        let is_few = case.has("dedupe_percentage")
            && (theirs.bytes() < COPIES_BYTES_MIN || case.is("bs", "2300"));
        (sure.blocks && sure.is_one_pass && !is_few && !theirs.is_like(&ours)).then(|| {
            format!("content of {name}: fio {}, ssdyno {}", describe(&theirs), describe(&ours))
        })
    })
}

/// Whether every byte written is certain.
fn is_exact(case: &Case) -> bool {
    let fixed = (0..case.jobs.len()).all(|job| {
        ["zero_buffers", "buffer_pattern"].iter().any(|name| case.value(job, name).is_some())
    });
    let varied = [
        "buffer_compress_percentage",
        "dedupe_percentage",
        "verify",
        "refill_buffers",
        "offset",
        "verify_pattern",
    ];
    fixed && !varied.iter().any(|name| case.has(name))
}

/// Objects with keys that depend on the samples or on the machine.
const OPEN_OBJECTS: [&str; 5] =
    ["percentile", "bins", "job options", "global options", "disk_util"];

/// A key or type of fio's JSON that ours lacks.
fn fields(theirs: &Value, ours: &Value, path: &str) -> Option<String> {
    match (theirs, ours) {
        (Value::Object(theirs), Value::Object(ours)) => theirs.iter().find_map(|(key, value)| {
            if OPEN_OBJECTS.contains(&key.as_str()) {
                return None;
            }
            let path = format!("{path}.{key}");
            match ours.get(key) {
                Some(own) => fields(value, own, &path),
                None => Some(format!("{path} is missing")),
            }
        }),
        (Value::Array(theirs), Value::Array(ours)) => {
            let mut pairs = theirs.iter().zip(ours);
            pairs.find_map(|(theirs, ours)| fields(theirs, ours, &format!("{path}[]")))
        }
        (Value::Number(theirs), Value::Number(ours)) => (theirs.is_f64() != ours.is_f64())
            .then(|| format!("{path}: fio {theirs}, ssdyno {ours}")),
        (Value::String(_), Value::String(_)) | (Value::Bool(_), Value::Bool(_)) => None,
        _ => Some(format!("{path}: fio {theirs}, ssdyno {ours}")),
    }
}

/// The form of a terse field: its characters without the digits.
fn form(field: &str) -> String {
    field.chars().filter(|c| !c.is_ascii_digit()).collect()
}

/// A difference in the number of fields of a terse line, or in the form of one.
fn terse(theirs: &str, ours: &str) -> Option<String> {
    let (theirs, ours): (Vec<_>, Vec<_>) = (theirs.split(';').collect(), ours.split(';').collect());
    if theirs.len() != ours.len() {
        return Some(format!("fio {} fields, ssdyno {}", theirs.len(), ours.len()));
    }
    let numbers = |field: &str| form(field).chars().all(|c| ".%=-".contains(c));
    let mut pairs = theirs.iter().zip(&ours).enumerate().skip(2);
    pairs.find_map(|(number, (theirs, ours))| {
        (numbers(theirs) != numbers(ours) && !theirs.contains("nan"))
            .then(|| format!("field {number}: fio {theirs}, ssdyno {ours}"))
    })
}
