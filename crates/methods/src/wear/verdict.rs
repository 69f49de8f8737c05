//! The verdict of `wear`: ENDURED, WEAR or CONTENT LOST.

use super::WRITTEN;
use super::cycle::Test;
use super::found::Class;
use super::layout::BLOCK;
use record::{Evidence, TargetKind, Unit, Verdict, VerdictKind};
use rig::TargetInfo;
use workload::units::{amount, decimal};

/// The evidence of an amount that is known only as a minimum.
pub(super) const WRITTEN_MIN: &str = "written, at least";

/// Returns ENDURED, WEAR or CONTENT LOST.
pub(super) fn verdicts(test: &Test, target: &TargetInfo) -> Vec<Verdict> {
    let total = test.total() * BLOCK;
    let times = test.total() as f64 / test.layout.blocks as f64;
    let least = if test.earlier_at_least { "at least " } else { "" };
    let amount_written = format!("{least}{} ({} times the size)", decimal(total), amount(times));
    let with_age = match test.age_bytes() {
        0 => String::new(),
        bytes => format!(" and {} for age", decimal(bytes)),
    };
    let fixed = static_words(test);
    let bad = test.cycled.bad() + test.fixed.bad();
    let (kind, text) = match &test.refused {
        Some(refused) => {
            let place = refused.offset.map_or(String::new(), |offset| format!(" at {offset}"));
            let text = format!(
                "The drive refused a {} after {amount_written}{with_age}: {}{place}. {fixed}",
                refused.op, refused.error
            );
            (VerdictKind::Wear, text)
        }
        None if bad > 0 => {
            let mut parts = Vec::new();
            if test.cycled.bad() > 0 {
                parts.push(format!("of the cycled blocks, {}", test.cycled.words()));
            }
            let text =
                format!("After {amount_written}, content differs{}. {fixed}", joined(&parts));
            (VerdictKind::ContentLost, text)
        }
        None => {
            let text = format!("{amount_written} were written, and every block came back. {fixed}");
            (VerdictKind::Endured, text)
        }
    };
    let name = if test.earlier_at_least { WRITTEN_MIN } else { "written" };
    let evidence = [(name, total), ("static data, good", test.fixed.good() * BLOCK)];
    let evidence = evidence.map(|(name, bytes)| Evidence::new(name, bytes as f64, Unit::Bytes));
    let bad_ones = Class::BAD.into_iter().map(|class| {
        let count = test.cycled.count(class) + test.fixed.count(class);
        Evidence::new(class.name(), count as f64, Unit::Number)
    });
    let next = match (target.target.kind, bad, &test.refused) {
        (TargetKind::Directory, 0, None) => {
            "a whole drive, with --destroy: a file system moves the blocks of a file"
        }
        (_, 0, None) => "a larger --amount with --resume, which continues from here",
        _ => "the same on another drive of this model: one drive is one sample",
    };
    let verdict = Verdict::new(kind, text).with_evidence(evidence.into_iter().chain(bad_ones));
    vec![verdict.explaining(WRITTEN).next_test(next)]
}

fn joined(parts: &[String]) -> String {
    if parts.is_empty() { String::new() } else { format!(": {}", parts.join("; ")) }
}

fn static_words(test: &Test) -> String {
    let (good, bad) = (test.fixed.good(), test.fixed.bad());
    let total = decimal((good + bad) * BLOCK);
    match bad {
        0 => format!("All {total} of static data are intact."),
        _ => format!(
            "Of {total} of static data, {} differ: {}.",
            decimal(bad * BLOCK),
            test.fixed.words()
        ),
    }
}
