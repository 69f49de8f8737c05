//! Keeps the operations of several jobs in a fixed ratio.
//!
//! Every job of a flow has a weight. A job may issue while its share of all operations does not
//! exceed its share of the weights. Otherwise it pauses while its operations in flight continue. A
//! job joins with its first operation and leaves when it ends, so that a job that has not begun or
//! has ended never delays the others. The rule is fio's (`flow.c`).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use workload::Pace;

/// Minimum pause, nanoseconds. With a shorter one, the worker would spin and take processor time
/// from the jobs that it waits for.
const REST_NS: u64 = 100_000;

/// The state that the jobs of a flow share.
#[derive(Debug, Default)]
pub struct Flow {
    /// Operations of the current participants.
    operations: AtomicU64,
    /// Sum of their weights.
    weight: AtomicU64,
}

/// A job's part in a flow.
#[derive(Debug)]
pub struct FlowShare {
    flow: Arc<Flow>,
    weight: u64,
    rest_ns: u64,
    operations: u64,
    joined: bool,
    until: Option<u64>,
}

impl FlowShare {
    /// A share with this weight, at least 1, which pauses for `rest_ns` when it is ahead.
    pub fn new(flow: &Arc<Flow>, weight: u64, rest_ns: u64) -> FlowShare {
        let (flow, weight) = (Arc::clone(flow), weight.max(1));
        FlowShare { flow, weight, rest_ns, operations: 0, joined: false, until: None }
    }

    /// Whether the job is ahead of the others. A single job is never ahead.
    fn is_ahead(&self) -> bool {
        let operations = self.flow.operations.load(Ordering::Relaxed) + 1;
        let weight = self.flow.weight.load(Ordering::Relaxed);
        // operations / all operations > weight / sum of weights
        u128::from(self.operations) * u128::from(weight)
            > u128::from(self.weight) * u128::from(operations)
    }
}

impl Pace for FlowShare {
    fn is_open(&self) -> bool {
        false
    }

    fn next_due(&mut self, now: u64) -> Option<u64> {
        if !self.joined {
            self.joined = true;
            self.flow.weight.fetch_add(self.weight, Ordering::Relaxed);
        }
        if self.until.is_some_and(|until| now < until) {
            return None;
        }
        if self.is_ahead() {
            self.until = Some(now + self.rest_ns.max(REST_NS));
            return None;
        }
        self.until = None;
        self.operations += 1;
        self.flow.operations.fetch_add(1, Ordering::Relaxed);
        Some(now)
    }

    fn wake_at(&self) -> Option<u64> {
        self.until
    }
}

/// A share in a flow of a job that also has a schedule: an operation that is due waits for the others.
#[derive(Debug)]
pub struct ScheduledShare<P> {
    share: FlowShare,
    schedule: P,
    /// The due time of an operation that waits for the others.
    due: Option<u64>,
}

impl<P: Pace> ScheduledShare<P> {
    pub fn new(share: FlowShare, schedule: P) -> ScheduledShare<P> {
        ScheduledShare { share, schedule, due: None }
    }
}

impl<P: Pace> Pace for ScheduledShare<P> {
    fn is_open(&self) -> bool {
        self.schedule.is_open()
    }

    fn next_due(&mut self, now: u64) -> Option<u64> {
        self.due = self.due.or_else(|| self.schedule.next_due(now));
        self.due?;
        self.share.next_due(now)?;
        self.due.take()
    }

    fn wake_at(&self) -> Option<u64> {
        if self.due.is_some() { self.share.wake_at() } else { self.schedule.wake_at() }
    }

    fn postpone(&mut self, ns: u64) {
        self.schedule.postpone(ns);
    }
}

impl Drop for FlowShare {
    fn drop(&mut self) {
        if self.joined {
            self.flow.weight.fetch_sub(self.weight, Ordering::Relaxed);
            self.flow.operations.fetch_sub(self.operations, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use workload::{Open, Pacing};

    use super::*;

    #[test]
    fn a_schedule_holds_the_others_back() {
        let flow = Arc::new(Flow::default());
        let rate = Open::new(&Pacing::Fixed { rate: 1000.0 }, 0, 1, 1);
        let mut slow = ScheduledShare::new(FlowShare::new(&flow, 1, 0), rate);
        let (mut fast, mut did) = (FlowShare::new(&flow, 8, 0), (0, 0));
        for now in (0..1_000_000_000).step_by(REST_NS as usize) {
            did.0 += u64::from(slow.next_due(now).is_some());
            while fast.next_due(now).is_some() && did.1 < 100_000 {
                did.1 += 1;
            }
        }
        assert!((990..1010).contains(&did.0) && (7000..9000).contains(&did.1), "{did:?}");
    }

    /// Runs both in turns until one has done `n` operations; returns the operations of each.
    fn run(a: &mut FlowShare, b: &mut FlowShare, n: u64) -> (u64, u64) {
        let (mut now, mut did) = (0, (0, 0));
        while did.0 < n && did.1 < n {
            now += REST_NS;
            while a.next_due(now).is_some() && did.0 < n {
                did.0 += 1;
            }
            while b.next_due(now).is_some() && did.1 < n {
                did.1 += 1;
            }
        }
        did
    }

    #[test]
    fn weights_are_the_ratio_of_operations() {
        let flow = Arc::new(Flow::default());
        let (mut a, mut b) = (FlowShare::new(&flow, 1, 0), FlowShare::new(&flow, 8, 0));
        // Both join before either runs alone for long.
        assert!(b.next_due(0).is_some());
        let (a, b) = run(&mut a, &mut b, 8000);
        let ratio = b as f64 / a as f64;
        assert!((7.5..8.5).contains(&ratio), "{a} and {b}");
    }

    #[test]
    fn a_job_that_ended_holds_up_nobody() {
        let flow = Arc::new(Flow::default());
        let mut a = FlowShare::new(&flow, 1, 0);
        let mut b = FlowShare::new(&flow, 1, 0);
        assert!(b.next_due(0).is_some());
        let ahead = (0..100).filter(|_| a.next_due(0).is_some()).count();
        assert!(ahead < 5, "{ahead} without the other");
        drop(b);
        let alone = (0..100).filter(|_| a.next_due(REST_NS).is_some()).count();
        assert_eq!(alone, 100);
        drop(a);
        let left = [&flow.operations, &flow.weight].map(|n| n.load(Ordering::Relaxed));
        assert_eq!(left, [0, 0]);
    }
}
