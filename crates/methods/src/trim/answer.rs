//! The answer of `trim`: what a discard does to reads and later writes.

use super::{KEPT, RATIO, READS, WRITES, ZEROS};
use record::{Answer, Better, Chart, FindingKind, HEADLINE_MAX, Unit, VerdictKind};
use script::Outcome;
use script::draft::{Draft, times};

/// Differences below this share count as none in a sentence: three random passes over the same
/// drive differ by that much (guess).
const SAME: f64 = 0.1;

/// The answer of `trim`: whether a discard has effects, and which ones.
pub(super) fn answer(out: &Outcome) -> Option<Answer> {
    let draft = Draft::new(out, "Does TRIM reach the drive, and what does it do there?");
    let [reads, writes] = [READS, WRITES].map(|[before, after]| {
        draft.value(after).zip(draft.value(before)).map(|(after, before)| after / before)
    });
    // Records of earlier versions lack the ratio before the discard.
    let reads = draft.value(RATIO).or(reads);
    let zeros = draft.value(ZEROS);
    let works = draft.concluded(&VerdictKind::TrimWorks);
    let refused = draft.concluded(&VerdictKind::NoTrim);
    let sentence = match (works, refused) {
        (true, _) => "TRIM works",
        (_, true) if zeros.is_none() && reads.is_none() => "TRIM is refused",
        (_, true) => "TRIM is accepted and does nothing",
        _ if out.metrics.is_empty() && out.verdicts.is_empty() => return None,
        _ => "Whether TRIM works is unknown",
    };
    let undecided = !works && !refused;
    let unread = out.warnings.iter().find(|f| f.kind == FindingKind::BlocksNotRead && undecided);
    let has_content = draft.value(KEPT).is_some_and(|share| share == 1.0);
    let remedy = unread.and_then(|finding| finding.advice.as_deref());
    let because = unread.map(|finding| format!(": {}", finding.text));
    let remedied =
        because.iter().zip(remedy).map(|(why, remedy)| format!("{why}; {remedy} would tell."));
    let remedied: Option<String> =
        remedied.into_iter().find(|more| sentence.len() + more.len() <= HEADLINE_MAX);
    let rest =
        remedy.filter(|_| remedied.is_none()).map(|remedy| format!("What would tell: {remedy}."));
    let because = remedied.into_iter().chain(because.map(|why| why + "."));
    let old_content = ": the freed blocks still had their content, as on some drives that trim.";
    let because = because.chain((undecided && has_content).then(|| old_content.to_string()));

    let effects = [
        writes
            .filter(|r| *r > 1.0 + SAME)
            .map(|r| format!("it makes a used drive write {} as fast", times(r))),
        reads
            .filter(|r| *r > 1.0 + SAME)
            .map(|r| format!("discarded blocks are read {} as fast", times(r))),
        zeros.filter(|share| *share > 1.0 - SAME).map(|_| "discarded blocks read as zeros".into()),
    ];
    let continuations =
        effects.into_iter().flatten().filter(|_| works).map(|effect| format!(": {effect}."));
    let blocks = Chart::bars("Discarded blocks", Unit::Share)
        .source(ZEROS, "read as zeros")
        .source(KEPT, "keep their data");
    let draft = draft
        .tile("Discarded, read as zeros", ZEROS, Better::Neither)
        .tile("Reads of data", READS[0], Better::Neither)
        .tile("Reads of discarded blocks", READS[1], Better::Neither)
        .tile("Random writes, used", WRITES[0], Better::Higher)
        .tile("Random writes, restored", WRITES[1], Better::Higher)
        .tile("Discarded, data kept", KEPT, Better::Neither);
    let writes = Chart::bars("Random writes, used and restored", Unit::BytesPerSecond)
        .sources(WRITES.into_iter().zip(["used drive", "after discarding"]));
    let reads = Chart::bars("Random reads of data and of discarded blocks", Unit::BytesPerSecond)
        .sources(READS.into_iter().zip(["blocks with data", "discarded"]));
    draft
        .chart(writes)
        .chart(reads)
        .chart(blocks)
        .rest(rest.unwrap_or_default(), None)
        .say(sentence, continuations.chain(because))
}
