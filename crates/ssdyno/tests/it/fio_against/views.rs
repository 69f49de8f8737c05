//! What fio did, seen without one of its ways: the content of its files, as if it had kept, left
//! alone or zeroed what ssdyno does. A reason explains a difference only if none is left then.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::chance::DEVIATIONS;
use super::compare::{self, Difference};
use super::sure::Sure;
use super::tools::{Did, Logged, NOISE, Pair};
use super::{case::Case, tools};

/// Runs of equal or different bytes shorter than this may be chance.
const RUN_MIN: usize = 8;

/// A file as fio left it, as ssdyno left it, and the result.
type View = fn(theirs: &[u8], ours: &[u8]) -> Vec<u8>;

/// Whether the difference disappears if fio's files are seen so.
pub fn removes(case: &Case, pair: &Pair, difference: &Difference, view: View) -> bool {
    rest(case, pair, difference, view).is_none()
}

/// What remains of the difference if fio's files are seen so.
pub fn rest(case: &Case, pair: &Pair, difference: &Difference, view: View) -> Option<String> {
    let mut theirs = pair.theirs.clone();
    let files = theirs.files.iter_mut().zip(&pair.ours.files);
    files.for_each(|((_, theirs), (_, ours))| *theirs = view(theirs, ours));
    compare::one_kind(case, &Sure::from_case(case), (&theirs, &pair.ours), difference.kind)
}

/// Whether the difference disappears without the writes and trims of fio, and the reads mixed with
/// them: of a mix, about as many reads remain as fio has writes, which is what it reads back.
pub fn is_of_writes(case: &Case, pair: &Pair, difference: &Difference) -> bool {
    if difference.kind == "amounts" {
        // Without verify, it leaves out the reads of a mix, too.
        let leaves_all = case.mixes() && !case.has("verify");
        return leaves_all || difference.text.contains(", write:");
    }
    let mut theirs = pair.theirs.clone();
    let logs = theirs.logs.iter();
    let writes = |log: &Vec<Logged>| log.iter().filter(|logged| logged.0 == 1).count() as u64;
    let written: Vec<u64> = logs.map(writes).collect();
    let pairs = compare::jobs_mut(&mut theirs.json).iter_mut().zip(compare::jobs(&pair.ours.json));
    for (number, (theirs, ours)) in pairs.enumerate() {
        for side in ["write", "trim"] {
            theirs[side] = ours[side].clone();
        }
        let mixed = if theirs.get("mixed").is_some() { "mixed" } else { "read" };
        let operations = ours[mixed]["total_ios"].as_u64().unwrap_or(0);
        let is_near = |written: u64| {
            written.abs_diff(operations) as f64 <= DEVIATIONS * (written as f64).sqrt()
        };
        if case.mixes() && case.clones(0) == 1 && written.get(number).is_some_and(|n| is_near(*n)) {
            theirs[mixed] = ours[mixed].clone();
        }
    }
    theirs.logs.iter_mut().for_each(|log| log.retain(|logged| logged.0 == 0));
    !remains(case, &theirs, &pair.ours, difference)
}

/// Whether the difference is there between what fio and what ssdyno did.
pub fn remains(case: &Case, theirs: &Did, ours: &Did, difference: &Difference) -> bool {
    compare::one_kind(case, &Sure::from_case(case), (theirs, ours), difference.kind).is_some()
}

/// Takes ours where `takes` says so for the bytes from there on, and at least `RUN_MIN` of them.
fn mixed(theirs: &[u8], ours: &[u8], takes: impl Fn(usize) -> bool) -> Vec<u8> {
    let mut view = theirs.to_vec();
    let (end, mut at) = (theirs.len().min(ours.len()), 0);
    while at < end {
        let bytes = (at..end).take_while(|at| takes(*at)).count();
        if bytes >= RUN_MIN {
            view[at..at + bytes].copy_from_slice(&ours[at..at + bytes]);
        }
        at += bytes.max(1);
    }
    view
}

/// Where ssdyno kept what was there before, so does fio.
pub fn kept(theirs: &[u8], ours: &[u8]) -> Vec<u8> {
    mixed(theirs, ours, |at| NOISE.get(at) == Some(&ours[at]))
}

/// What fio scrambles in a sector, bytes: for each write its offset in 8 and the time in 16, at some
/// place, beside what it scrambled there for the writes before.
const SCRAMBLED_MAX: usize = tools::SECTOR / 4;

/// Where few bytes of a sector differ, they do not.
pub fn unscrambled(theirs: &[u8], ours: &[u8]) -> Vec<u8> {
    let mut view = theirs.to_vec();
    for (theirs, ours) in view.chunks_mut(tools::SECTOR).zip(ours.chunks(tools::SECTOR)) {
        let differing = theirs.iter().zip(ours).filter(|(theirs, ours)| theirs != ours).count();
        // Sectors of a write need not begin at those of the file.
        if differing <= SCRAMBLED_MAX && theirs.len() == ours.len() {
            theirs.copy_from_slice(ours);
        }
    }
    view
}

/// All words of the content that was there before, wherever they begin.
static WORDS: LazyLock<HashSet<&[u8]>> = LazyLock::new(|| NOISE.windows(RUN_MIN).collect());

/// Where ssdyno wrote zeros, what fio had read before is zeros, too.
pub fn zeroed(theirs: &[u8], ours: &[u8]) -> Vec<u8> {
    let read: Vec<bool> = theirs.windows(RUN_MIN).map(|word| WORDS.contains(word)).collect();
    let is_read = |at: usize| {
        let first = at.saturating_sub(RUN_MIN - 1);
        read.iter().take(at + 1).skip(first).any(|is_read| *is_read)
    };
    mixed(theirs, ours, |at| ours[at] == 0 && (theirs[at] == 0 || is_read(at)))
}
