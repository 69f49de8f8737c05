//! DEPTH: was the workload's queue depth achieved?
//!
//! A synchronous path, a scheduler or a lock can reduce it; a figure "at depth 32" then belongs to
//! a smaller depth. The achieved depth is determined in two ways: from the operations' latencies
//! (Little's law) and, for random reads, from the number of requests in the device.

use record::{Unit, VerdictKind, capitalised};

use super::rule::{Role, Rule};
use super::subject::Subject;
use super::{Ruling, percent};
use crate::Digest;

/// Minimum share of the nominal depth; below it, the figure belongs to a smaller depth.
const OWN_SHARE_MIN: f64 = 0.8;

/// Minimum share in the device, which has each request for only part of its time; kernel and
/// interrupt take the rest.
const DEVICE_SHARE_MIN: f64 = 0.4;

/// Operations per queue slot from which draining the queue at the end is negligible.
const OPS_PER_SLOT_MIN: f64 = 20.0;

/// Reads from memory reveal nothing about the queue of a drive.
pub static RULE: Rule = Rule {
    role: Role::Bound,
    overridden_by: &[&super::ram::RULE],
    judge: |facts| vec![depth(facts.seen)],
};

pub fn depth(seen: &[Digest]) -> Ruling {
    let subjects = Subject::reported(seen);
    let deep = subjects.iter().filter(|s| s.first().depth_nominal.is_some_and(|n| n > 1));
    let depths: Vec<Seen<'_, '_>> = deep.map(Seen::new).filter(Seen::enough).collect();
    let Some(worst) = depths.iter().min_by(|a, b| a.share().total_cmp(&b.share())) else {
        return Ruling::unknown("queue depth (too few operations at a depth above 1)");
    };
    let (nominal, effective) = (worst.nominal(), worst.effective());
    let ruling = if worst.share() < OWN_SHARE_MIN {
        Ruling::yes(
            VerdictKind::Depth,
            format!(
                "{} had {effective:.1} operations in flight, not {nominal:.0}: the figures belong \
                 to that depth.",
                capitalised(&worst.of.in_words())
            ),
        )
        .next_test("--backend aio, or --jobs for more queues")
    } else {
        Ruling::no(
            VerdictKind::DepthKept,
            format!("queue depth {} achieved", percent(worst.share())),
        )
    };
    let short = depths.iter().filter(|seen| seen.share() < OWN_SHARE_MIN);
    let ruling = ruling.explaining_each(short.map(|seen| (seen.of, 1.0 - seen.share())));
    ruling.with("effective depth", effective, Unit::Number).with(
        "nominal depth",
        nominal,
        Unit::Number,
    )
}

/// All replicates of one workload: other activity on the machine easily disturbs a single one of
/// 0.1 s.
struct Seen<'s, 'a> {
    of: &'s Subject<'a>,
    ops: u64,
    seconds: f64,
    /// Operation seconds in the workload.
    own: f64,
    /// Operation seconds in the device, if known.
    device: Option<f64>,
}

impl<'s, 'a> Seen<'s, 'a> {
    fn new(of: &'s Subject<'a>) -> Seen<'s, 'a> {
        let mut means = Seen { of, ops: 0, seconds: 0.0, own: 0.0, device: Some(0.0) };
        of.runs().for_each(|run| means.add(run));
        means
    }

    fn add(&mut self, d: &Digest) {
        self.ops += d.ops[0] + d.ops[1];
        self.seconds += d.seconds;
        self.own += d.depth * d.seconds;
        // Only pure reads: a final flush delays everything and enters the device's mean.
        let device_mean = d
            .device
            .filter(|device| d.random && d.mix.write == 0 && device.read_bytes >= d.bytes[0] / 2);
        self.device = self.device.zip(device_mean).map(|(sum, seen)| sum + seen.depth * d.seconds);
    }

    fn enough(&self) -> bool {
        self.seconds > 0.0 && self.ops as f64 >= OPS_PER_SLOT_MIN * self.nominal()
    }

    fn nominal(&self) -> f64 {
        f64::from(self.of.first().depth_nominal.unwrap_or(1))
    }

    /// The depth achieved: in the device if it is too low there, otherwise in the workload.
    fn effective(&self) -> f64 {
        let own_mean = self.own / self.seconds;
        let device = self.device.map_or(f64::INFINITY, |sum| sum / self.seconds);
        if device < DEVICE_SHARE_MIN * self.nominal() { device.min(own_mean) } else { own_mean }
    }

    fn share(&self) -> f64 {
        self.effective() / self.nominal()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Answer;
    use super::super::testing::{device, digest, named};
    use super::*;
    use rig::DeviceTraffic;

    fn at_32(depth: f64) -> Digest {
        let bytes = [40_960_000, 0];
        Digest { depth_nominal: Some(32), depth, ops: [10_000, 0], bytes, ..digest("rand") }
    }

    #[test]
    fn the_worst_workload_decides() {
        assert_eq!(depth(&[at_32(31.8)]).answer, Answer::No);
        let other = named("other", at_32(1.4));
        let ruling = depth(&[at_32(31.8), other, at_32(31.8)]);
        assert_eq!(ruling.answer, Answer::Yes);
        assert_eq!(ruling.verdict.evidence[0].value, 1.4);
        assert!(ruling.verdict.explains("other") && !ruling.verdict.explains("rand"));
    }

    #[test]
    fn one_replicate_that_was_held_up_is_not_the_workload() {
        let short = Digest { seconds: 0.1, ..at_32(10.0) };
        assert_eq!(depth(&[at_32(31.8), short, at_32(31.8)]).answer, Answer::No);
    }

    #[test]
    fn a_depth_that_never_reaches_the_device_is_a_fiction() {
        let held_back = |read_bytes| {
            let device = DeviceTraffic { depth: 1.5, ..device(read_bytes, 0) };
            depth(&[Digest { device: Some(device), ..at_32(31.9) }]).answer
        };
        assert_eq!(held_back(40_960_000), Answer::Yes);
        // Reads from memory do not reach the device; another rule covers them.
        assert_eq!(held_back(0), Answer::No);
    }
}
