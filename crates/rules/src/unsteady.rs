//! READS DIFFER: does a block return the same bytes each time?
//!
//! Not in the list of rules: a method that draws its own conclusions has this one too.

use record::{Evidence, Unit, Verdict, VerdictKind, capitalised};
use rig::Unsteady;

/// The verdict, if blocks returned different bytes.
pub fn reads_differ(seen: Unsteady) -> Option<Verdict> {
    let text = format!("{}.", capitalised(&seen.to_string()));
    let evidence = [("blocks", seen.blocks), ("blocks read twice", seen.of)];
    seen.is_seen().then(|| {
        Verdict::new(VerdictKind::ReadsDiffer, text)
            .with_evidence(evidence.map(|(name, n)| Evidence::new(name, n as f64, Unit::Number)))
            .next_test("the same with another reader, port or cable")
    })
}
