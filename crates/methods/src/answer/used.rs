//! Answers about use and discard: `states`, `trim`.

use record::{Answer, Axis, Better, Chart, Statistic, Unit, VerdictKind};

use script::Outcome;
use script::draft::{Draft, name_of, rate, times};

/// Differences below this share count as none in a sentence: three random passes over the same
/// drive differ by that much (guess).
const SAME: f64 = 0.1;

/// States, in the order of the experiment (`states.rs`).
const STATES: [(&str, &str); 6] = [
    ("states-fresh", "fresh"),
    ("states-filled", "full"),
    ("states-partition-deleted", "partition deleted"),
    ("states-file-deleted", "file deleted"),
    ("states-formatted", "formatted"),
    ("states-used-discarded", "used, discarded"),
];

/// The answer of `states`: the slowdown from use, and the share of it that a discard reverses.
pub(crate) fn states(out: &Outcome) -> Option<Answer> {
    let draft = Draft::new(out, "How does use slow the drive, and what does a discard restore?");
    let [fresh, full, back] =
        ["states-fresh", "states-filled", "states-used-discarded"].map(|key| draft.value(key));
    let written = draft.value("states-write-fresh");
    let sentence = match (fresh, full, written) {
        (Some(fresh), Some(full), _) if full < (1.0 - SAME) * fresh => {
            format!("When full, random writes fall from {} to {}", rate(fresh), rate(full))
        }
        (Some(_), Some(full), _) => format!("Random writes reach {}, full or fresh", rate(full)),
        (None, Some(full), _) => format!("When full, random writes reach {}", rate(full)),
        (.., Some(written)) => format!("When fresh, sequential writes reach {}", rate(written)),
        _ => return None,
    };
    let restored = fresh.zip(full).zip(back).and_then(|((fresh, full), back)| {
        let lost = fresh - full;
        let share = (back - full) / lost;
        let words = match share {
            _ if lost < SAME * fresh => return None,
            s if s > 1.0 - SAME => "; a discard restores all of it.".to_string(),
            s if s < SAME => "; a discard restores nothing.".to_string(),
            s => format!("; a discard restores {:.0}% of it.", 100.0 * s),
        };
        Some(words)
    });
    let bars = Chart::bars("Random writes from each state", Unit::BytesPerSecond).sources(STATES);
    let profile = |title: &str, op: &str| {
        let states = ["fresh", "used", "restored"];
        Chart::lines(title, Axis::Address, Unit::BytesPerSecond)
            .sources(states.map(|state| (format!("states-{op}-{state}"), state)))
    };
    let draft = draft
        .tile("Fresh", "states-fresh", Better::Higher)
        .tile("Full", "states-filled", Better::Higher)
        .tile("Used, then discarded", "states-used-discarded", Better::Higher)
        .tile("Sequential reads, fresh", "states-read-fresh", Better::Higher)
        .tile("Sequential reads, used", "states-read-used", Better::Higher)
        .tile("Sequential writes, fresh", "states-write-fresh", Better::Higher);
    draft
        .chart(bars)
        .chart_of_column(profile("Sequential writes by address", "write"))
        .chart_of_column(profile("Sequential reads by address", "read"))
        .say(sentence, restored)
}

/// The answer of `trim`: whether a discard has effects, and which ones.
pub(crate) fn trim(out: &Outcome) -> Option<Answer> {
    let draft = Draft::new(out, "Does TRIM reach the drive, and what does it do there?");
    let ratio = |a: &str, b: &str| draft.value(a).zip(draft.value(b)).map(|(a, b)| a / b);
    // Records of earlier versions lack the ratio before the discard.
    let reads = draft
        .part("trim-read-discarded", Statistic::Ratio)
        .or_else(|| ratio("trim-read-discarded", "trim-read-mapped"));
    let writes = ratio("trim-write-restored", "trim-write-used");
    let zeros = draft.part("trim-canary", Statistic::Zeros);
    let works = draft.concluded(&VerdictKind::TrimWorks);
    let refused = draft.concluded(&VerdictKind::NoTrim);
    let sentence = match (works, refused) {
        (true, _) => "TRIM works",
        (_, true) if zeros.is_none() && reads.is_none() => "TRIM is refused",
        (_, true) => "TRIM is accepted and does nothing",
        _ if out.metrics.is_empty() && out.verdicts.is_empty() => return None,
        _ => "Whether TRIM works could not be determined",
    };
    let effects = [
        writes
            .filter(|r| *r > 1.0 + SAME)
            .map(|r| format!("it makes a used drive write {} as fast", times(r))),
        reads
            .filter(|r| *r > 1.0 + SAME)
            .map(|r| format!("discarded blocks are read {} as fast", times(r))),
        zeros.filter(|share| *share > 1.0 - SAME).map(|_| "discarded blocks read as zeros".into()),
    ];
    let more = effects.into_iter().flatten().filter(|_| works).map(|effect| format!(": {effect}."));
    let pairs = |title: &str, sides: [(&str, &str); 2]| {
        Chart::bars(title, Unit::BytesPerSecond).sources(sides)
    };
    let blocks = Chart::bars("Discarded blocks", Unit::Share)
        .source(name_of("trim-canary", Statistic::Zeros), "read as zeros")
        .source(name_of("trim-canary", Statistic::Kept), "keep their data");
    let draft = draft
        .tile("Discarded, read as zeros", "trim-canary.zeros", Better::Neither)
        .tile("Reads of data", "trim-read-mapped", Better::Neither)
        .tile("Reads of discarded blocks", "trim-read-discarded", Better::Neither)
        .tile("Random writes, used", "trim-write-used", Better::Higher)
        .tile("Random writes, restored", "trim-write-restored", Better::Higher)
        .tile("Discarded, data kept", "trim-canary.kept", Better::Neither);
    let reads = [("trim-read-mapped", "blocks with data"), ("trim-read-discarded", "discarded")];
    let writes = [("trim-write-used", "used drive"), ("trim-write-restored", "after discarding")];
    draft
        .chart(pairs("Random writes, used and restored", writes))
        .chart(pairs("Random reads of data and of discarded blocks", reads))
        .chart(blocks)
        .say(sentence, more)
}
