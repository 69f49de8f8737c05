//! Small random reads at depth 1 within working sets, each four times as large as the last.
//!
//! Each set is first read sequentially, as far as time allows, so that a cache can hold it. The
//! sets begin where the region begins, which may be faster than the rest for another reason, such
//! as a write cache that still has its data. So the smallest set is also read at the end of the
//! region.

use record::{MetricKey, Statistic};
use workload::units::binary_tight;
use workload::{Mix, OpKind, Pattern, Region, Stop, Workload};

use super::{Check, WITHIN};
use rules::{WorkingSet, WorkingSets};
use script::{Result, Round, Session, TestRegion, schedule};

/// The smallest set.
const FIRST: u64 = 1 << 20;

/// Factor from one set to the next; 1.5 to 6 from the last but one to the largest.
const FACTOR: u64 = 4;

/// The largest set. A larger one could not be read once in the available time, and no drive has a
/// cache of that size.
const LARGEST: u64 = 16 << 30;

/// The smallest set at the end of the region.
const AT_END: &str = "check-read-at-end";

/// Queue depth of the sequential reads.
const WARM_UP_DEPTH: u32 = 8;

pub(super) static CHECK: Check = Check { share: 0.4, writes: false, run };

fn run(session: &mut Session<'_>, test_region: &TestRegion, seconds: f64) -> Result<()> {
    let mut workloads = workloads(test_region, seconds);
    let far_index = workloads.len();
    workloads.push(at_end(&workloads[0], test_region));
    // The sets are ascending, so those that fit come first.
    let fitting = workloads[..far_index].iter().filter(|w| fits(w, test_region));
    let mut sets = WorkingSets {
        near: fitting.map(unmeasured).collect(),
        far: unmeasured(&workloads[far_index]),
    };
    session.checks_mut().put(sets.clone());
    session.rounds(test_region.rounds, None, |session, round| {
        for index in schedule::order(workloads.len(), round) {
            let w = TestRegion::replicate(&workloads[index], round);
            let warm_up = warm_up(&w, test_region);
            if !fits(&w, test_region) {
                session.skip(&warm_up.name);
                session.skip(&w.name);
                continue;
            }
            session.probe(&warm_up, round)?;
            let m = session.probe(&w, round)?;
            let median = m.kind(OpKind::Read).and_then(|k| k.service.percentile(0.5));
            let set = if index == far_index { &mut sets.far } else { &mut sets.near[index] };
            set.p50_ns.extend(median.map(|ns| ns as f64));
            let samples = set.p50_ns.clone();
            session.checks_mut().put(sets.clone());
            if !samples.is_empty() {
                let key = MetricKey::from_workload(&w).with(Statistic::P50);
                session.put_metric(analysis::metric(key, WITHIN.unit, samples));
            }
        }
        Ok(Round::Again)
    })?;
    Ok(())
}

fn fits(w: &Workload, test_region: &TestRegion) -> bool {
    w.region.bytes <= test_region.bytes
}

fn unmeasured(w: &Workload) -> WorkingSet {
    WorkingSet { bytes: w.region.bytes, p50_ns: Vec::new() }
}

/// The measured reads. They take half of the time; the unreported warm-up takes the other half.
fn workloads(test_region: &TestRegion, seconds: f64) -> Vec<Workload> {
    let sets = sets(test_region);
    let set_seconds = seconds / (sets.len() + 1) as f64 / f64::from(test_region.rounds);
    let workloads = sets.into_iter().map(|bytes| {
        let key = WITHIN.member(&[&binary_tight(bytes)]).without_statistic();
        let region = Region::first(bytes);
        let mut w = Workload::new(key, Pattern::Uniform, Mix::READ, test_region.small, region);
        w.seed = test_region.seed_of(21);
        w.stop = Stop::after_seconds(set_seconds / 2.0);
        w
    });
    workloads.collect()
}

/// The same reads at the end of the region.
fn at_end(smallest: &Workload, test_region: &TestRegion) -> Workload {
    let mut w = smallest.clone();
    w.name = AT_END.to_string();
    w.region.start = test_region.bytes.saturating_sub(w.region.bytes);
    w
}

/// Sizes from [`FIRST`] to the requested region or [`LARGEST`], in steps of [`FACTOR`]. They do not
/// depend on how much of the region a slow drive fills in time.
fn sets(test_region: &TestRegion) -> Vec<u64> {
    let largest = test_region.asked.min(LARGEST);
    let smaller = std::iter::successors(Some(FIRST), |bytes| Some(bytes * FACTOR));
    // The last step is at least a factor of 1.5.
    let mut sets: Vec<u64> = smaller.take_while(|bytes| bytes * 3 / 2 < largest).collect();
    sets.push(largest);
    sets
}

/// The warm-up: one sequential pass over the set, within the time of the measured reads.
fn warm_up(reads: &Workload, test_region: &TestRegion) -> Workload {
    let mut w = reads.clone();
    w.name = format!("{}-warm-up", reads.name);
    (w.pattern, w.depth) = (Pattern::Sequential, WARM_UP_DEPTH);
    w.blocks = workload::BlockSizes::Fixed(test_region.large);
    w.stop.coverage = Some(1.0);
    w
}
