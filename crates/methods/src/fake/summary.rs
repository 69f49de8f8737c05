//! The conclusion and the answer of `fake`.

use record::{Answer, Better, Chart, Evidence, Unit, Verdict, VerdictKind};
use workload::units::{binary, decimal};

use super::found::{Capacity, Found};
use super::layout::Layout;
use script::Outcome;
use script::draft::Draft;

/// CAPACITY REAL, ALIASING or CONTENT LOST, with the limits of this test.
pub(super) fn verdict(layout: &Layout, found: &Found, capacity: Capacity) -> Verdict {
    let announced = decimal(layout.bytes);
    let (places, bad) = found.counts();
    let (kind, text) = match capacity {
        Capacity::Real if layout.whole => {
            let text = format!(
                "All {announced} of the file came back as written. The rest of the file system was \
                 not tested."
            );
            (VerdictKind::CapacityReal, text)
        }
        Capacity::Real => (VerdictKind::CapacityReal, real(layout, places)),
        Capacity::Ends(..) | Capacity::Holes if layout.whole => {
            let text = format!(
                "{} of {announced} of the file were lost: a false capacity or bad memory. The file \
                 system decides where a file lies on the drive.",
                decimal(found.sum().lost)
            );
            (VerdictKind::ContentLost, text)
        }
        Capacity::Wrapped(Some(real)) if !layout.whole => {
            let text = format!(
                "Addresses repeat after {}, the real capacity, not after {announced}. Writes \
                 beyond it overwrite earlier content.",
                decimal(real)
            );
            (VerdictKind::Aliasing, text)
        }
        Capacity::Wrapped(_) => {
            let text = format!(
                "Content appears at other addresses: {bad} of {places} places contain data written \
                 elsewhere."
            );
            (VerdictKind::Aliasing, text)
        }
        Capacity::Ends(low, high) => {
            let text = format!(
                "Nothing beyond {} to {} is kept: that is the real capacity, not {announced}.",
                decimal(low),
                decimal(high)
            );
            (VerdictKind::Aliasing, text)
        }
        Capacity::Holes => {
            let text = format!(
                "{bad} of {places} places lost their content, scattered among good ones: bad \
                 memory rather than a false capacity."
            );
            (VerdictKind::ContentLost, text)
        }
    };
    let sum = found.sum();
    let evidence = [("kept", sum.kept), ("misplaced", sum.misplaced), ("lost", sum.lost)];
    let verdict = Verdict::new(kind, text)
        .with_evidence(evidence.map(|(name, sum)| Evidence::new(name, sum as f64, Unit::Bytes)))
        .with_evidence([Evidence::new("certainty", layout.certainty(), Unit::Number)])
        .explaining("fake-capacity");
    match (capacity, layout.whole) {
        (Capacity::Real, false) => verdict.next_test(
            "a file as large as the drive, written and read back, finds bad memory anywhere",
        ),
        (Capacity::Ends(..) | Capacity::Holes, true) => {
            verdict.next_test("fake on the unmounted drive itself, which distinguishes the two")
        }
        _ => verdict,
    }
}

/// The faults that the test excludes and those that it can miss.
fn real(layout: &Layout, places: usize) -> String {
    let wraps = match layout.certainty() {
        share if share >= 1.0 => "any repeated address would have been seen".to_string(),
        share => format!(
            "addresses that repeat after a power of two would have been seen, others with a \
             probability of {:.0}%",
            share * 100.0
        ),
    };
    format!(
        "All {places} places came back as written: {wraps}, and a missing end unless a cache of {} \
         hides it. A drive with 1% of bad places is found with a probability of {:.0}%.",
        binary(layout.top),
        layout.detects(0.01) * 100.0
    )
}

/// The answer: whether the announced capacity is real.
pub(super) fn answer(out: &Outcome) -> Option<Answer> {
    let draft = Draft::new(out, "Is the capacity real?");
    let tested = draft.value("fake-tested")?;
    let capacity = draft.find("fake-capacity");
    let kind = out.verdicts.first().map(|verdict| &verdict.kind);
    let bytes = capacity.and_then(|m| m.value).map(|bytes| decimal(bytes as u64));
    let only = if capacity.is_some_and(|m| m.low.is_some()) { "about" } else { "only" };
    let sentence = match (kind, bytes) {
        (Some(VerdictKind::CapacityReal), Some(bytes)) => {
            format!("The capacity of {bytes} is real.")
        }
        (Some(VerdictKind::CapacityReal), None) => {
            format!("All {} written to the file came back.", decimal(tested as u64))
        }
        (Some(VerdictKind::Aliasing), Some(bytes)) => {
            format!("Counterfeit: {only} {bytes} is real.")
        }
        (Some(VerdictKind::Aliasing), None) => {
            "Counterfeit: addresses share memory or have none.".to_string()
        }
        _ => format!(
            "The drive loses content: {} of {} did not come back.",
            decimal(draft.value("fake-lost").unwrap_or(0.0) as u64),
            decimal(tested as u64)
        ),
    };
    let chart = Chart::bars("Bytes that came back, of those written", Unit::Bytes)
        .source("fake-tested", "written")
        .source("fake-lost", "lost")
        .source("fake-misplaced", "of another address");
    let cache = match kind {
        Some(VerdictKind::CapacityReal) => draft.value("fake-cache"),
        _ => None,
    };
    let cache = cache.map(|bytes| {
        format!(" Only a cache of {} could hide missing capacity.", binary(bytes as u64))
    });
    draft
        .tile("Real capacity", "fake-capacity", Better::Higher)
        .tile("Tested", "fake-tested", Better::Neither)
        .tile("Lost", "fake-lost", Better::Lower)
        .tile("Misplaced", "fake-misplaced", Better::Lower)
        .chart(chart)
        .say(sentence, cache)
}
