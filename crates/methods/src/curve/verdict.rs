//! The verdicts of `curve`: where its knees are.

use super::{KNEE, response};
use record::{Evidence, Statistic, Unit, Verdict, VerdictKind};
use script::Outcome;
use script::draft::count;
use workload::units::latency;

/// KNEE: the highest load that the drive keeps up with, and response times below it.
pub(super) fn verdicts(out: &Outcome) -> Vec<Verdict> {
    let Some(knee) = out.metric(KNEE) else {
        let text = "No knee was found: the drive kept up with every load, or with none.";
        let next = "a longer run, for more operations at every load";
        return vec![Verdict::new(VerdictKind::Undetermined, text).next_test(next)];
    };
    let value = knee.value.unwrap_or(0.0);
    let rest = [50, 90].map(|percent| out.value(response(percent, Statistic::P99)));
    let on_the_way = match rest {
        [Some(half), Some(near)] => format!(
            " At half the load 99 of 100 operations take less than {}; at nine tenths, {}.",
            latency(half),
            latency(near)
        ),
        _ => String::new(),
    };
    let text = format!("The drive keeps up with {} IOPS.{on_the_way}", count(value));
    let ends = [("kept up with", knee.low), ("no longer", knee.high)];
    let evidence =
        ends.into_iter().filter_map(|(name, end)| Some(Evidence::new(name, end?, Unit::Iops)));
    let verdict = Verdict::new(VerdictKind::Knee, text).with_evidence(evidence);
    vec![verdict.explaining(knee.name.as_str())]
}
