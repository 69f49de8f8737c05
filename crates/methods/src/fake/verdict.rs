//! The verdict of `fake`: whether the capacity is real, and what is not.

use super::CAPACITY;
use super::found::{Capacity, Found};
use super::layout::Layout;
use record::{Evidence, Unit, Verdict, VerdictKind};
use workload::units::{binary, decimal};

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
        .explaining(CAPACITY);
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
