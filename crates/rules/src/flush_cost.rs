//! FLUSH as a cost: does the flush that makes writes durable take a noticeable part of their time?
//!
//! A cell of writes ends with a flush. Its cost without the data that it drains is that of a flush
//! with nothing to flush, which is measured after reads: a flush after a single write can take a
//! program, or the copy of a card's block. Flushes between writes, as `--flush-every` asks for them,
//! are counted with their data: without them, the writes would not wait for these.

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
    judge: |facts| flush_cost(facts.seen).or_else(|| own_flushes(facts.seen)).into_iter().collect(),
};

/// The flushes that a workload of `io` asks for between its writes, by their own time.
fn own_flushes(seen: &[Digest]) -> Option<Ruling> {
    let subjects = Subject::reported(seen);
    let run = subjects.iter().find(|subject| subject.first().is_run())?;
    let (flushes, flush_s) = (run.sum(|run| run.flushes as f64), run.sum(|run| run.flush_s));
    // The last flush of each job is not between writes.
    let is_between = flushes > run.sum(|run| f64::from(run.depth_nominal.unwrap_or(1)));
    // Operations in flight at the same time share the elapsed time.
    let transfers_s = run.sum(|run| run.depth * (run.seconds - run.flush_s).max(0.0));
    let share = flush_s / (flush_s + transfers_s).max(1e-9);
    if !is_between || share < SHARE_MIN {
        return None;
    }
    let text = format!(
        "The flushes between the writes take {} of their time, {} each.",
        percent(share),
        latency(flush_s * 1e9 / flushes)
    );
    let ruling = Ruling::yes(VerdictKind::Flush, text)
        .next_test("the same with fewer flushes (--flush-every)")
        .with("share of the time", share, Unit::Number);
    Some(ruling.explaining_each([(run, share)]))
}

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
