//! Amounts that chance decides: operations, bytes and the range of offsets of random work that does
//! not visit each block once.
//!
//! Amounts that differ by more than a tolerance are drawn again with other seeds, by both tools. They
//! are equal if the amounts of both overlap. That they never do so by chance alone has a probability
//! of about one in five million.

use super::case::{Case, Set};
use super::tools::{Did, Logged, run_one};

/// Further seeds. Of equal amounts, 13 and 13 lie apart in 2 of 10,400,600 orders.
const SEEDS: u64 = 12;

/// Further seeds for an exit code or an error, which a single operation decides.
const EXIT_SEEDS: u64 = 20;

/// Amounts may differ by this share without further seeds.
const TOLERANCE: f64 = 0.1;

/// The operations of a direction of a mix may differ by this many times the root of their number.
pub const DEVIATIONS: f64 = 4.0;

/// Amounts below this are too few for a share.
const FEW: u64 = 3;

/// The first offset and the end may differ by this many times the mean distance of operations.
const GAPS: u64 = 8;

/// The operations of one direction of one clone.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Amounts {
    operations: u64,
    bytes: u64,
    first: u64,
    end: u64,
}

impl Amounts {
    fn from_log(log: &[Logged], side: u8) -> Amounts {
        let side = || log.iter().filter(|logged| logged.0 == side);
        Amounts {
            operations: side().count() as u64,
            bytes: side().map(|(_, bytes, _)| bytes).sum(),
            first: side().map(|(_, _, offset)| *offset).min().unwrap_or(0),
            end: side().map(|(_, bytes, offset)| offset + bytes).max().unwrap_or(0),
        }
    }

    fn each(&self) -> [u64; 4] {
        [self.operations, self.bytes, self.first, self.end]
    }
}

/// The amounts of every clone and direction.
fn amounts(did: &Did) -> Vec<[u64; 4]> {
    let sides = |log: &Vec<Logged>| [0, 1, 2].map(|side| Amounts::from_log(log, side).each());
    did.logs.iter().flat_map(sides).collect()
}

fn is_near(theirs: u64, ours: u64, tolerance: f64) -> bool {
    let most = theirs.max(ours);
    let difference = theirs.abs_diff(ours);
    difference <= FEW.min(most / 2) || difference as f64 <= most as f64 * tolerance
}

/// The lowest and the highest of each amount.
type Ranges = [(u64, u64); 4];

/// Widens ranges to further amounts.
fn widen(ranges: &mut [Ranges], amounts: &[[u64; 4]]) {
    for (ranges, amounts) in ranges.iter_mut().zip(amounts) {
        for ((low, high), amount) in ranges.iter_mut().zip(amounts) {
            (*low, *high) = ((*low).min(*amount), (*high).max(*amount));
        }
    }
}

/// The first amount whose ranges do not overlap.
fn apart(theirs: &[Ranges], ours: &[Ranges], is_mixed: bool) -> Option<String> {
    let names = ["operations", "bytes", "first offset", "end"];
    let sides = ["read", "write", "trim"];
    theirs.iter().zip(ours).enumerate().find_map(|(number, (theirs, ours))| {
        let (clone, side) = (number / sides.len(), sides[number % sides.len()]);
        (0..names.len()).find_map(|amount| {
            let ((low, high), (our_low, our_high)) = (theirs[amount], ours[amount]);
            let near = |a: u64, b: u64| {
                let operations = theirs[0].1.max(ours[0].1).max(1) as f64;
                let spread = if is_mixed { DEVIATIONS / operations.sqrt() } else { 0.0 };
                let gap = theirs[3].1.max(ours[3].1) / theirs[0].1.min(ours[0].1).max(1);
                let is_place = amount > 1;
                is_place && a.abs_diff(b) <= GAPS * gap
                    || !is_place && is_near(a, b, spread.max(TOLERANCE))
            };
            let is_apart =
                high < our_low && !near(high, our_low) || our_high < low && !near(our_high, low);
            let name = names[amount];
            is_apart.then(|| {
                format!(
                    "{name} of clone {clone}, {side}: fio {low} to {high}, \
                     ssdyno {our_low} to {our_high}"
                )
            })
        })
    })
}

/// The case with another seed. fio's offsets ignore `randseed`, unless they do not repeat at all.
fn reseeded(case: &Case, seed: u64, is_fio: bool) -> Case {
    let mut case = case.clone();
    let keep = |set: &Set| !["randseed", "randrepeat", "allrandrepeat"].contains(&set.name);
    case.global.retain(keep);
    case.jobs.iter_mut().for_each(|job| job.retain(keep));
    case.global.push(if is_fio {
        Set::new("randrepeat", 0)
    } else {
        Set::new("randseed", (seed + 1) * 0x9e37_79b9)
    });
    case
}

/// Whether ssdyno ends so with one of further seeds.
pub fn can_end(case: &Case, ends_so: impl Fn(&Did) -> bool) -> bool {
    (0..EXIT_SEEDS).any(|seed| ends_so(&run_one(&reseeded(case, seed, false), false)))
}

/// An amount that differs by more than chance.
pub fn difference(case: &Case, theirs: &Did, ours: &Did, is_mixed: bool) -> Option<String> {
    // fio then logs nothing.
    if (0..case.jobs.len()).any(|job| case.value(job, "stats") == Some("0")) {
        return None;
    }
    let point = |did: &Did| -> Vec<Ranges> {
        amounts(did).iter().map(|amounts| amounts.map(|amount| (amount, amount))).collect()
    };
    let (mut their_ranges, mut our_ranges) = (point(theirs), point(ours));
    let mut text = apart(&their_ranges, &our_ranges, is_mixed)?;
    for seed in 0..SEEDS {
        for (is_fio, ranges) in [(false, &mut our_ranges), (true, &mut their_ranges)] {
            widen(ranges, &amounts(&run_one(&reseeded(case, seed, is_fio), is_fio)));
        }
        text = apart(&their_ranges, &our_ranges, is_mixed)?;
    }
    Some(text)
}
