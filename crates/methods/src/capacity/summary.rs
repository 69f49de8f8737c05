//! The conclusion and the answer of `fake`.

use record::{
    Answer, Axis, Better, Chart, ChartKind, Evidence, Explained, Metric, Stamp, Unit, Verdict,
    VerdictKind,
};
use workload::units::{binary, decimal};

use super::found::{Capacity, Found};
use super::layout::{Layout, TOP};
use crate::Outcome;
use crate::answer::{headline, tile};

/// CAPACITY REAL, ALIASING or CONTENT LOST, with what escapes this test.
pub(super) fn verdict(layout: &Layout, found: &Found, capacity: Capacity) -> Verdict {
    let announced = decimal(layout.bytes);
    let (places, bad) = found.counts();
    let (kind, text) = match capacity {
        Capacity::Real if layout.whole => {
            let text = format!(
                "All {announced} of the file came back as written. The rest of the file system was not \
                 tested."
            );
            (VerdictKind::CapacityReal, text)
        }
        Capacity::Real => (VerdictKind::CapacityReal, real(layout, places)),
        Capacity::Wrapped(Some(real)) => {
            let text = format!(
                "Addresses repeat after {}: the drive has that much, not {announced}. Whatever is \
                 written beyond overwrites what was written before.",
                decimal(real)
            );
            (VerdictKind::Aliasing, text)
        }
        Capacity::Wrapped(None) => {
            let text = format!(
                "Content comes back at other addresses: {bad} of {places} places hold what was \
                 written elsewhere."
            );
            (VerdictKind::Aliasing, text)
        }
        Capacity::Ends(low, high) => {
            let text = format!(
                "Nothing is kept beyond {} to {}: the drive has that much, not {announced}.",
                decimal(low),
                decimal(high)
            );
            (VerdictKind::Aliasing, text)
        }
        Capacity::Holes => {
            let text = format!(
                "{bad} of {places} places lost their content, among others that kept it: bad memory \
                 rather than a false capacity."
            );
            (VerdictKind::ContentLost, text)
        }
    };
    let mut verdict = Verdict::new(kind, text);
    let sum = found.sum();
    let evidence = [("kept", sum.kept), ("misplaced", sum.misplaced), ("lost", sum.lost)];
    for (name, bytes) in evidence {
        verdict.evidence.push(Evidence::new(name, bytes as f64, Unit::Bytes));
    }
    verdict.evidence.push(Evidence::new("certainty", layout.certainty(), Unit::Number));
    verdict.explains.push(Explained { metric: "fake-capacity".into(), share: None });
    if capacity != Capacity::Real || layout.whole {
        return verdict;
    }
    let next = "a file as large as the drive, written and read again, finds bad memory anywhere";
    Verdict { next_test: Some(next.into()), ..verdict }
}

/// What the test excludes, and what could still be wrong.
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
        binary(TOP),
        layout.detects(0.01) * 100.0
    )
}

/// The answer: whether the announced bytes are there.
pub(super) fn answer(out: &Outcome) -> Option<Answer> {
    let find = |name: &str| out.metrics.iter().find(|m: &&Metric| m.name == name);
    let tested = find("fake-tested")?;
    let capacity = find("fake-capacity");
    let verdict = out.verdicts.first()?;
    let bytes = capacity.and_then(|m| m.value).map(|bytes| decimal(bytes as u64));
    let only = if capacity.is_some_and(|m| m.low.is_some()) { "about" } else { "only" };
    let sentence = match (&verdict.kind, bytes) {
        (VerdictKind::CapacityReal, Some(bytes)) => format!("The capacity of {bytes} is real."),
        (VerdictKind::Aliasing, Some(bytes)) => format!("Counterfeit: {only} {bytes} are real."),
        (VerdictKind::Aliasing, None) => "Counterfeit: addresses share their memory.".to_string(),
        _ => "The drive loses content.".to_string(),
    };
    let tiles = [
        ("Real capacity", capacity, Better::Higher),
        ("Tested", Some(tested), Better::Neither),
        ("Lost", find("fake-lost"), Better::Lower),
        ("Misplaced", find("fake-misplaced"), Better::Lower),
        ("Finds 1% of bad places", find("fake-detection"), Better::Higher),
    ];
    let tiles = tiles.into_iter().filter_map(|(label, m, better)| Some(tile(label, m?, better)));
    let chart = Chart {
        title: "What came back of the bytes written".into(),
        kind: ChartKind::Bars,
        x: Axis::Workload,
        y: Unit::Bytes,
        sources: ["fake-tested", "fake-lost", "fake-misplaced"].map(String::from).into(),
        marks: Vec::new(),
    };
    Some(Answer {
        question: "Is the capacity real?".into(),
        headline: headline(out, sentence, &[]),
        stamp: Stamp::of(&out.warnings, &out.verdicts),
        tiles: tiles.collect(),
        charts: vec![chart],
        limits: Vec::new(),
        peers: Vec::new(),
    })
}
