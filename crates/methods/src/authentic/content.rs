//! Whether content affects write speed: the same writes with four kinds of content, in alternation.

use workload::{Mix, Pattern, Region, Stop, Workload};

use super::Check;
use rules::{CONTENTS, Contents};
use script::{Result, Session, TestRegion};

/// Queue depth: enough to keep any drive busy.
const DEPTH: u32 = 8;

pub(super) static CHECK: Check = Check { share: 0.4, writes: true, run };

fn run(session: &mut Session<'_>, test_region: &TestRegion, seconds: f64) -> Result<()> {
    let workloads = workloads(test_region, seconds);
    session.checks_mut().put(Contents::default());
    session.alternate(&workloads, test_region.rounds, |checks, rates| {
        checks.put(Contents { rates: rates.clone() });
    })?;
    Ok(())
}

/// One workload per kind of content. Each writes at most half of the region, to limit wear on a
/// fast drive.
fn workloads(test_region: &TestRegion, seconds: f64) -> [Workload; CONTENTS.len()] {
    let each_seconds = seconds / CONTENTS.len() as f64 / f64::from(test_region.rounds);
    let large = u64::from(test_region.large);
    let region = Region::first(test_region.bytes / 2 / large * large);
    CONTENTS.map(|(name, content)| {
        let key = super::CONTENTS.member(&[&name]);
        let mut w = Workload::new(key, Pattern::Sequential, Mix::WRITE, test_region.large, region);
        (w.content, w.depth, w.flush_at_end) = (content, DEPTH, true);
        w.seed = test_region.seed_of(23);
        w.stop = Stop::after_seconds(each_seconds);
        w.stop.bytes = Some(region.bytes);
        w
    })
}
