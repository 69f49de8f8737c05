//! FLUSH as a cost: does the flush that makes writes durable take a noticeable part of their time?
//!
//! A cell of writes ends with a flush. Its cost without the data that it drains is that of a flush
//! with nothing to flush, which is measured after reads: a flush after a single write can take a
//! program, or the copy of a card's block.

use record::{Unit, VerdictKind};
use workload::units::latency;

use super::rule::{Role, Rule};
use super::subject::{Subject, listed};
use super::{Ruling, percent};
use crate::Digest;
use crate::changes::EMPTY_FLUSH;

/// Minimum share of the time; a smaller one changes no figure by 10%.
const SHARE_MIN: f64 = 0.1;

pub static RULE: Rule = Rule {
    role: Role::Cause,
    overridden_by: &[&super::ram::RULE],
    judge: |facts| flush_cost(facts.seen).into_iter().collect(),
};

pub fn flush_cost(seen: &[Digest]) -> Option<Ruling> {
    let empty = seen.iter().find(|run| run.name == EMPTY_FLUSH && run.flushes > 0)?;
    let flush_s = empty.flush_s / empty.flushes as f64;
    let subjects = Subject::reported(seen);
    let shares = subjects.iter().map(|s| {
        let flushes = s.sum(|run| run.flushes as f64);
        (s, (flushes * flush_s / s.seconds().max(1e-9)).min(1.0))
    });
    let limited: Vec<_> = shares.filter(|(_, share)| *share >= SHARE_MIN).collect();
    let most = limited.iter().map(|(_, share)| *share).reduce(f64::max)?;
    let text = format!(
        "A flush takes {}: up to {} of the time of {}.",
        latency(flush_s * 1e9),
        percent(most),
        listed(limited.iter().map(|(subject, _)| *subject))
    );
    let ruling = Ruling::yes(VerdictKind::Flush, text)
        .next_test("longer runs (--time 5m): the share of a single flush falls")
        .with("flush of nothing", flush_s * 1e9, Unit::Nanoseconds)
        .with("share of the time", most, Unit::Number);
    Some(ruling.explaining_each(limited))
}
