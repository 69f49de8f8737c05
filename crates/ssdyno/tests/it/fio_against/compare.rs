//! The differences between two runs of a case, in what does not depend on speed. The worst first:
//! that it ends, exit code, operations and bytes, flushes, offsets, files, fields of the outputs.
//! Amounts that chance decides are in `chance.rs`.

use serde_json::Value;

use super::case::Case;
use super::chance;
use super::contents::{Look, Share, describe};
use super::formats::{fields, terse};
use super::sure::Sure;
use super::tools::{Did, Logged, Pair};

/// A difference of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    pub kind: &'static str,
    pub text: String,
}

/// What it says if fio repeats more sectors, and nothing else differs.
pub const COPIED: &str = ", copied by fio";

/// Directions in the JSON, in the order of the log.
const SIDES: [&str; 3] = ["read", "write", "trim"];

/// What two runs of a case show.
pub enum Comparison {
    Compared(Vec<Difference>),
    /// Nothing could be compared, for this reason.
    Uncompared(String),
}

/// The words of a message, without its numbers.
pub fn words(text: &str) -> String {
    text.chars().filter(|c| c.is_alphabetic() || *c == ' ').collect()
}

/// Compares two runs; nothing after the exit codes, if they differ.
pub fn compare(case: &Case, pair: &Pair) -> Comparison {
    let message = || words(last_message(&pair.ours.said));
    let uncompared = match (pair.theirs.code, pair.ours.code) {
        _ if pair.theirs.is_killed => Some("fio is killed by a signal".to_string()),
        (None, _) => Some("fio does not end".to_string()),
        (Some(0), _) | (_, Some(0) | None) => None,
        (Some(_), Some(2 | 3)) => Some(format!("both refuse it: {}", message())),
        (Some(_), Some(_)) => {
            return Comparison::Compared(failures(case, pair).into_iter().collect());
        }
    };
    uncompared.map_or_else(|| Comparison::Compared(differences(case, pair)), Comparison::Uncompared)
}

/// A difference between the errors of jobs of which some failed.
fn failures(case: &Case, pair: &Pair) -> Option<Difference> {
    let (mut theirs, ours) = (errors(&pair.theirs), errors(&pair.ours));
    // fio may add results without a name.
    theirs.truncate(ours.len());
    let text = format!("errors: fio {theirs:?}, ssdyno {ours:?}");
    // What verify_only reads of a file that nobody wrote is an error of either kind.
    (theirs != ours && !case.has("verify_only")).then_some(Difference { kind: "errors", text })
}

/// The error of each job.
fn errors(did: &Did) -> Vec<Value> {
    jobs(&did.json).iter().map(|job| job["error"].clone()).collect()
}

fn differences(case: &Case, pair: &Pair) -> Vec<Difference> {
    let (theirs, ours) = (&pair.theirs, &pair.ours);
    let mut list = Vec::new();
    let mut put = |kind: &'static str, text: String| list.push(Difference { kind, text });
    let sure = Sure::from_case(case);
    let is_alike = |did: &Did| did.code.is_some_and(|code| (code == 0) == (theirs.code == Some(0)));
    let by_chance = || !(sure.counts && sure.directions) && chance::can_end(case, is_alike);
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
    for kind in KINDS {
        if let Some(text) = one_kind(case, &sure, (theirs, ours), kind) {
            put(kind, text);
        }
    }
    list
}

/// The kinds of differences between two runs that both succeed.
const KINDS: [&str; 7] = ["operations", "flushes", "offsets", "amounts", "files", "json", "terse"];

/// The difference of one of these kinds between what fio and what ssdyno did.
pub fn one_kind(
    case: &Case,
    sure: &Sure,
    (theirs, ours): (&Did, &Did),
    kind: &str,
) -> Option<String> {
    match kind {
        "operations" => counts(sure, theirs, ours).filter(|text| {
            let may_be_chance = text.starts_with("error:") && !(sure.counts && sure.directions);
            !(may_be_chance && chance::can_end(case, |did| errors(did) == errors(theirs)))
        }),
        "flushes" => flushes(case, sure, theirs, ours),
        "offsets" => offsets(sure, theirs, ours),
        "amounts" if sure.blocks && sure.directions => None,
        "amounts" => chance::difference(case, theirs, ours, !sure.directions),
        "files" => files(case, sure, theirs, ours),
        "json" => fields(&theirs.json, &ours.json, ""),
        _ => {
            let mut lines = theirs.terse.iter().zip(&ours.terse);
            lines.find_map(|(theirs, ours)| terse(theirs, ours))
        }
    }
}

fn last_message(said: &str) -> &str {
    // Notes come before the error.
    said.lines().rfind(|line| line.contains("ssdyno:") || line.contains("fio:")).unwrap_or_default()
}

pub fn jobs(json: &Value) -> &[Value] {
    json["jobs"].as_array().map_or(&[], Vec::as_slice)
}

pub fn jobs_mut(json: &mut Value) -> &mut [Value] {
    json["jobs"].as_array_mut().map_or(&mut [], Vec::as_mut_slice)
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
        let sides = if theirs.get("read").is_some() { &SIDES } else { &["mixed"][..] };
        let all = |job: &Value| sides.iter().map(|side| count(job, side)).collect::<Vec<_>>();
        let (theirs, ours) = (all(theirs), all(ours));
        let equal = !sure.counts || are_like(sure, &theirs, &ours);
        (!equal)
            .then(|| format!("(operations, bytes) of {sides:?}: fio {theirs:?}, ssdyno {ours:?}"))
    })
}

/// Operations and bytes of each direction.
type Counts = [(u64, u64)];

/// Whether the operations and bytes of each direction are equal, apart from what chance decides.
fn are_like(sure: &Sure, theirs: &Counts, ours: &Counts) -> bool {
    // A unified result holds what is written, and what is read back.
    let is_unified = theirs.len() == 1;
    if is_unified && sure.may_overlap {
        return true;
    }
    if sure.sizes && sure.directions {
        let certain = if sure.may_overlap { 1.. } else { 0.. };
        return theirs[certain.clone()] == ours[certain];
    }
    let is_unsure = !sure.is_one_pass || sure.verifies && !sure.reads_back;
    // Each block of a mix is read once, if those that are written are read back. How many are written
    // is random, and so is a sum that counts them twice.
    let is_read = sure.verifies && !sure.directions;
    if is_unsure && !sure.directions || is_unified && is_read {
        return true;
    }
    let sum = |list: &Counts| {
        let sides = if is_read { &list[..1] } else { list };
        sides.iter().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    };
    let (theirs, ours) = (sum(theirs), sum(ours));
    // One direction may be the first at a rest below a block, which ends the file.
    let few = 2 + if sure.is_one_pass { 0 } else { theirs.0 / 10 };
    let is_like = theirs.1.abs_diff(ours.1) <= few * sure.block_max;
    is_like && (!sure.sizes || theirs.0.abs_diff(ours.0) <= few)
}

fn flushes(case: &Case, sure: &Sure, theirs: &Did, ours: &Did) -> Option<String> {
    // With `offload`, fio counts the flush before reading back, too.
    let is_offloaded = case.is("io_submit_mode", "offload") && sure.verifies;
    // With a queue, fio flushes again until it has seen a flush complete, and not again until it has
    // seen a write complete: speed decides.
    let engines = ["libaio", "io_uring"];
    let is_deep = case.has("iodepth") && !case.is("iodepth", "1");
    let is_queued = is_deep && engines.iter().any(|engine| case.is("ioengine", engine));
    let is_sure = sure.sizes && sure.directions && sure.counts && !is_offloaded && !is_queued;
    if !is_sure || case.is("stats", "0") {
        return None;
    }
    if case.has("fdatasync") {
        // fio's log has flushes at the end and those that waited, too.
        let at_end = ["end_fsync", "fsync_on_close", "verify"].iter().any(|name| case.has(name));
        let is_hidden = theirs.flushes.is_none();
        if case.clones(0) > 1 || at_end || is_hidden || !sure.order {
            return None;
        }
    }
    let (theirs, ours) = (flush_counts(case, theirs), flush_counts(case, ours));
    let mut pairs = theirs.into_iter().zip(ours).filter_map(|(theirs, ours)| theirs.zip(ours));
    let (theirs, ours) = pairs.find(|(theirs, ours)| theirs != ours)?;
    Some(format!("fio {theirs}, ssdyno {ours}"))
}

/// The flushes of each job, as far as they are known: fio's mixed results have none.
fn flush_counts(case: &Case, did: &Did) -> Vec<Option<u64>> {
    let number = |job: &Value| job["sync"]["total_ios"].as_u64();
    let jobs = jobs(&did.json);
    if case.has("fdatasync") {
        // fio counts fdatasync only in its log, which only it has.
        let first = jobs.first().and_then(number);
        return vec![did.flushes.or(first)];
    }
    jobs.iter().map(number).collect()
}

/// The operations of some directions.
fn of_sides(log: &[Logged], sides: &[u8]) -> Vec<(u64, u64)> {
    let of_sides = log.iter().filter(|logged| sides.contains(&logged.0));
    of_sides.map(|(_, bytes, offset)| (*offset, *bytes)).collect()
}

/// How the offsets of one direction, or of a whole mix, are compared.
enum Offsets {
    /// As they come.
    InOrder,
    /// As far as both reach: how many there are is random, their order is not.
    Start,
    /// Each as often.
    Sorted,
}

fn offsets(sure: &Sure, theirs: &Did, ours: &Did) -> Option<String> {
    if theirs.logs.iter().all(Vec::is_empty) {
        return None;
    }
    for (clone, (theirs, ours)) in theirs.logs.iter().zip(&ours.logs).enumerate() {
        let is_one_walk = sure.is_once && sure.is_one_place && !sure.verifies;
        if is_one_walk && has_repeats(ours) && !has_repeats(theirs) {
            return Some(format!("clone {clone}: ssdyno visits a place twice"));
        }
        // fio draws the first pass of a later clone from another seed than the others.
        let repeat = repeats(theirs, sure.loops).zip(repeats(ours, sure.loops));
        if clone == 0 && sure.counts && repeat.is_some_and(|(theirs, ours)| theirs != ours) {
            return Some("only the passes of one repeat".into());
        }
        let (sides, way): (&[&[u8]], _) = match (sure.blocks, sure.directions) {
            (false, _) => continue,
            (true, true) if sure.order && !sure.verifies => (&[&[0], &[1], &[2]], Offsets::InOrder),
            (true, true) => (&[&[0], &[1], &[2]], Offsets::Sorted),
            // Both directions together visit each block once.
            (true, false) if sure.is_once && !sure.verifies => (&[&[0, 1]], Offsets::Sorted),
            (true, false)
                if sure.order && !sure.verifies && sure.is_one_pass && sure.is_one_place =>
            {
                (&[&[0], &[1]], Offsets::Start)
            }
            (true, false) => continue,
        };
        for side in sides {
            let (mut theirs, mut ours) = (of_sides(theirs, side), of_sides(ours, side));
            match way {
                Offsets::InOrder => {}
                Offsets::Start => {
                    let shared = theirs.len().min(ours.len());
                    theirs.truncate(shared);
                    ours.truncate(shared);
                }
                Offsets::Sorted => {
                    theirs.sort_unstable();
                    ours.sort_unstable();
                }
            }
            if let Some(text) = first_difference(&theirs, &ours) {
                let names: Vec<_> = side.iter().map(|side| SIDES[usize::from(*side)]).collect();
                return Some(format!("clone {clone}, {}: {text}", names.join(" and ")));
            }
        }
    }
    None
}

/// Operations by which passes of drawn sizes may differ in length.
const PASS_EXCESS: usize = 2;

/// Operations of the shortest pass that is compared: few have few orders, two of which may be equal.
const PASS_MIN: usize = 16;

/// Whether every pass draws the same; unknown for one pass, and for short ones.
fn repeats(log: &[Logged], loops: usize) -> Option<bool> {
    let pass = log.len() / loops;
    let mut lengths = pass.saturating_sub(PASS_EXCESS)..=pass + PASS_EXCESS;
    (loops > 1 && pass >= PASS_MIN).then(|| {
        lengths.any(|pass| log.iter().skip(pass).zip(log).all(|(later, first)| later == first))
    })
}

/// Whether two operations of a log begin at the same place.
fn has_repeats(log: &[Logged]) -> bool {
    let mut places: Vec<_> = log.iter().map(|(side, _, offset)| (*side, *offset)).collect();
    places.sort_unstable();
    places.windows(2).any(|two| two[0] == two[1])
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
    if case.shares_files() {
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
        // A whole block is a copy or not, and written or not in a mix, by chance.
        let blocks = if case.has("dedupe_percentage") || !sure.directions {
            theirs.bytes() as f64 / sure.block_max as f64
        } else {
            f64::INFINITY
        };
        let differs = theirs.differs_from(&ours, blocks);
        let is_copied = differs == [Share::Distinct] && theirs.copies() > ours.copies();
        // fio repeats its random bytes in each pass.
        let is_repeated = is_copied && !sure.is_one_pass;
        (sure.blocks && !differs.is_empty() && !is_repeated).then(|| {
            let copied = if is_copied { COPIED } else { "" };
            let (theirs, ours) = (describe(&theirs), describe(&ours));
            format!("content of {name}{copied}: fio {theirs}, ssdyno {ours}")
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
