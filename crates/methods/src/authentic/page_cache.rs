//! Compares reads that bypass the page cache with reads of the same bytes from it.
//!
//! The cached reads show the speed of memory on this machine. A result close to it is not the
//! drive's.

use workload::{Caching, Mix, Pattern, Region, Stop, Workload};

use super::{CACHED, Check, DIRECT};
use rules::PageCache;
use script::{Result, Session, TestRegion};

/// Size of the region, which is read repeatedly until the time ends: small enough to stay in the
/// page cache on any machine.
const BYTES: u64 = 16 << 20;

pub(super) static CHECK: Check = Check { share: 0.1, writes: false, run };

fn run(session: &mut Session<'_>, test_region: &TestRegion, seconds: f64) -> Result<()> {
    let workloads = workloads(test_region, seconds);
    // One pass over the region, so that the first round also finds it in the cache.
    let mut warm = workloads[1].clone();
    (warm.name, warm.stop) = ("check-read-warm-up".into(), Stop::coverage(1.0));
    session.probe(&warm, 0)?;
    session.alternate(&workloads, test_region.rounds, |checks, [direct, cached]| {
        // The rule compares pairs.
        if direct.len() == cached.len() {
            let (direct, cached) = (direct.clone(), cached.clone());
            checks.put(PageCache { direct, cached });
        }
    })?;
    Ok(())
}

fn workloads(test_region: &TestRegion, seconds: f64) -> [Workload; 2] {
    let each_seconds = seconds / 2.0 / f64::from(test_region.rounds);
    [(DIRECT, Caching::Bypass), (CACHED, Caching::Buffered)].map(|(metric, caching)| {
        let region = Region::first(test_region.bytes.min(BYTES));
        let mut w =
            Workload::new(metric, Pattern::Sequential, Mix::READ, test_region.large, region);
        (w.caching, w.seed) = (caching, test_region.seed_of(20));
        w.stop = Stop::after_seconds(each_seconds);
        w
    })
}
