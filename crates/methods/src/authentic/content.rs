//! Whether content affects write speed: the same writes with four kinds of content, in alternation.

use record::MetricKey;
use workload::{Mix, Pattern, Region, Stop, Workload};

use super::Check;
use crate::schedule;
use crate::session::Session;
use crate::test_region::TestRegion;
use crate::verdict::CONTENTS;
use crate::{MethodError, Round};

/// Queue depth: enough to keep any drive busy.
const DEPTH: u32 = 8;

pub(super) static CHECK: Check = Check { share: 0.4, writes: true, run };

fn run(
    session: &mut Session<'_>,
    test_region: &TestRegion,
    seconds: f64,
) -> Result<(), MethodError> {
    let workloads = workloads(test_region, seconds);
    session.checks.contents.get_or_insert_default();
    session.rounds(test_region.rounds, None, |session, round| {
        for index in schedule::order(workloads.len(), round) {
            let rate = session.rate(&workloads[index], round)?;
            let rates = &mut session.checks.contents.get_or_insert_default().rates[index];
            rates.push(rate);
            let rates = rates.clone();
            session.put_rates(MetricKey::of(&workloads[index]), &rates);
        }
        Ok(Round::Again)
    })?;
    Ok(())
}

/// One workload per kind of content. Each writes at most half of the region, to limit wear on a
/// fast drive.
fn workloads(test_region: &TestRegion, seconds: f64) -> Vec<Workload> {
    let each = seconds / CONTENTS.len() as f64 / f64::from(test_region.rounds);
    let large = u64::from(test_region.large);
    let region = Region::first(test_region.bytes / 2 / large * large);
    let of = |(name, content)| {
        let name = MetricKey::of_words(&[&"check-write", &name]).to_string();
        let mut w = Workload::new(name, Pattern::Sequential, Mix::WRITE, test_region.large, region);
        (w.content, w.depth, w.flush_at_end) = (content, DEPTH, true);
        w.seed = test_region.seed_of(23);
        w.stop = Stop::after_ns((each * 1e9) as u64);
        w.stop.bytes = Some(region.bytes);
        w
    };
    CONTENTS.into_iter().map(of).collect()
}
