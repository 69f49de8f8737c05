//! WEAR: is the drive worn, and are its reads slower as a result?
//!
//! The rule applies to a drive that reports its life as used up, its spares as nearly gone, or
//! media errors. It explains random reads at depth 1 if the drive retries reads. A few retries raise
//! the mean above the median; if most reads are retried, the median is that of a retried read, and
//! only the fastest reads show the time without. Retries of a drive that reports none of these stay
//! unexplained.

use record::{Health, Order, Unit, VerdictKind};
use workload::OpKind::Read;

use super::grid::Grid;
use super::rule::{Role, Rule};
use super::{Ruling, percent};
use crate::Digest;

/// Life used up, percent: the drive's own measure of the end of its rated life.
const WORN_PERCENT: f64 = 100.0;

/// Spare blocks nearly gone, percent: the usual critical level of NVMe drives.
const SPARE_PERCENT: f64 = 10.0;

/// The drive retries reads if their mean is above their median by this share.
const REPEATS_MIN: f64 = 0.1;

/// The drive retries most reads if their mean is above the fastest tenth by this share. Without
/// retries it is above by at most 4% on 55 of the 56 virtual drives; on the other by 74%, because half
/// of the data are in faster cells, which would be mistaken for retries if that drive called itself worn. At
/// 150% of the rated life it is above by 17 to 53% on four drives.
const MOST_REPEAT_MIN: f64 = 0.15;

pub static RULE: Rule = Rule {
    role: Role::Cause,
    overridden_by: &[&super::ram::RULE],
    judge: |facts| {
        let health = facts.target.target.drive.as_ref().map(|drive| &drive.health);
        health.and_then(|health| wear(health, facts.seen)).into_iter().collect()
    },
};

pub fn wear(health: &Health, seen: &[Digest]) -> Option<Ruling> {
    let worn = health.wear_percent.filter(|worn| *worn >= WORN_PERCENT);
    let spare = health.spare_percent.filter(|spare| *spare < SPARE_PERCENT);
    let errors = health.media_errors.filter(|errors| *errors > 0);
    let signs = [
        worn.map(|worn| format!("{worn:.0}% of its rated life is used")),
        spare.map(|spare| format!("{spare:.0}% of its spare blocks are left")),
        errors.map(|errors| format!("it counted {errors} media errors")),
    ];
    let signs: Vec<String> = signs.into_iter().flatten().collect();
    if signs.is_empty() {
        return None;
    }
    let grid = Grid::from_digests(seen);
    let repeats = grid.find(Read, Order::Random, 1, 1).and_then(|subject| {
        let [median, mean] = [0, 1].map(|i| subject.median(|run| run.read_ns[i]));
        let fast = subject.median(|run| run.fast_read_ns);
        let singles = [(median, REPEATS_MIN), (fast, MOST_REPEAT_MIN)];
        let (single_ns, _) = singles
            .into_iter()
            .find(|(single_ns, share)| *single_ns > 0.0 && mean >= (1.0 + share) * single_ns)?;
        Some((subject, 1.0 - single_ns / mean))
    });
    let mut text = format!("The drive is worn: {}.", signs.join(", "));
    if let Some((_, share)) = repeats {
        text += &format!(" Read retries take {} of the time of single reads.", percent(share));
    }
    let ruling = Ruling::yes(VerdictKind::Wear, text)
        .next_test("ssdyno run -m zones: are some regions slower, or unreadable? Back it up first");
    let ruling =
        worn.into_iter().fold(ruling, |r, worn| r.with("life used, percent", worn, Unit::Number));
    Some(match repeats {
        Some((subject, share)) => ruling.explaining(subject, Some(share)),
        None => ruling,
    })
}
