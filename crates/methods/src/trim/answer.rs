//! The answer of `trim`: what a discard does to reads and later writes.

use record::{Answer, Better, Chart, Statistic, Unit, VerdictKind};
use script::Outcome;
use script::draft::{Draft, name_of, times};

/// Differences below this share count as none in a sentence: three random passes over the same
/// drive differ by that much (guess).
const SAME: f64 = 0.1;

/// The answer of `trim`: whether a discard has effects, and which ones.
pub(super) fn answer(out: &Outcome) -> Option<Answer> {
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
