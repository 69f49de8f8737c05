//! The time it takes to make small writes durable: each is followed by a flush.

use analysis::LatencyReplicates;
use record::{LatencyProfile, MetricKey, size_word};
use workload::{Mix, OpKind, Pattern, Stop, Workload};

use super::Check;
use rules::FlushTimes;
use script::{Result, Round, Session, TestRegion};

/// Maximum writes per round. A flush without effect takes almost no time; this many writes suffice
/// to show that.
const WRITES_MAX: u64 = 4096;

pub(super) static CHECK: Check = Check { share: 0.1, writes: true, run };

fn run(session: &mut Session<'_>, test_region: &TestRegion, seconds: f64) -> Result<()> {
    let mut times = LatencyReplicates::default();
    session.checks_mut().put(FlushTimes::default());
    for w in workloads(test_region, seconds) {
        session.rounds(test_region.rounds, None, |session, round| {
            let m = session.probe(&TestRegion::replicate(&w, round), round)?;
            if let Some(flushes) = m.kind(OpKind::Flush) {
                times.add(&flushes.service);
            }
            let service = times.merged().clone();
            session.checks_mut().put(FlushTimes { service: service.clone() });
            session.put_metrics(&w.name, times.metrics(&MetricKey::from_workload(&w)));
            let flush = OpKind::Flush.name();
            session.put_latency(LatencyProfile::new(w.name.as_str(), flush, service));
            Ok(Round::Again)
        })?;
    }
    Ok(())
}

fn workloads(test_region: &TestRegion, seconds: f64) -> Vec<Workload> {
    let round_seconds = seconds / f64::from(test_region.rounds);
    let small = test_region.small;
    let name = MetricKey::of_words(&[&"check-flush", &size_word(u64::from(small))]).to_string();
    let mut w = Workload::new(name, Pattern::UniformOnce, Mix::WRITE, small, test_region.region());
    (w.flush_every, w.seed) = (Some(1), test_region.seed_of(22));
    w.stop = Stop::after_seconds(round_seconds);
    w.stop.bytes = Some(WRITES_MAX * u64::from(small));
    vec![w]
}
