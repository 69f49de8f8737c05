//! The answer of `align`: the cost of the worst misalignment.

use super::{BLOCK, RATIO, key};
use record::{Answer, Better, Chart, Metric, Unit, VerdictKind};
use script::Outcome;
use script::draft::{Draft, rate, times};
use script::whole::FILE_BYTES;
use workload::units::binary;

/// The answer of `align`: the cost of the worst misalignment, as its verdict says.
pub(super) fn answer(out: &Outcome) -> Option<Answer> {
    let draft = Draft::new(out, "What do misaligned writes cost?");
    let aligned = draft.value(key(0))?;
    let in_file = draft.value(FILE_BYTES).is_some();
    let offsets = out.family(RATIO);
    let offsets = offsets.filter_map(|(m, at)| Some((u64::from(at.number(0)), m.value?, m)));
    let offsets: Vec<(u64, f64, &Metric)> = offsets.collect();
    let shifted = offsets.iter().filter(|(bytes, ..)| !bytes.is_multiple_of(BLOCK));
    let shifted: Vec<&(u64, f64, &Metric)> = shifted.collect();
    let least = shifted.iter().map(|(_, ratio, _)| *ratio).fold(f64::INFINITY, f64::min);
    let mut alike = shifted.iter().filter(|(_, ratio, _)| *ratio <= rules::ALIKE * least);
    let worst = alike.next().map(|(bytes, ratio, _)| (*bytes, *ratio));
    // The largest difference that the measurement permits.
    let ends = shifted.iter().flat_map(|(_, ratio, m)| [m.low, Some(*ratio), m.high]).flatten();
    let spread = ends.fold(0.0f64, |most, end| most.max((1.0 - end).abs()));
    let percent = (100.0 * spread).round().max(1.0);
    let costly = worst.filter(|_| draft.concluded(&VerdictKind::Misaligned));
    let sentence = match (costly, worst) {
        (Some((_, ratio)), _) => {
            let to_file = if in_file { " to a file" } else { "" };
            format!("Misaligned 4 KiB writes{to_file} are {} slower", times(1.0 / ratio))
        }
        (None, Some(_)) if draft.concluded(&VerdictKind::AlignmentIsFree) => {
            format!("Alignment makes no visible difference to 4 KiB writes (within {percent}%)")
        }
        (None, Some(_)) => {
            let ends = shifted.iter().map(|(_, ratio, m)| m.low.unwrap_or(*ratio).min(*ratio));
            let cost = 100.0 * (1.0 - ends.fold(1.0, f64::min)).min(1.0);
            format!("Undetermined: a cost of misalignment of up to {cost:.0}% could go unseen")
        }
        (None, None) => format!("Aligned 4 KiB writes reach {}", rate(aligned)),
    };
    let place = costly.map(|(bytes, _)| format!(", at an offset of {}.", binary(bytes)));
    let chart = Chart::bars("Write speed at each offset, aligned = 1", Unit::Number)
        .level("aligned", 1.0, None)
        .sources(offsets.iter().map(|(bytes, ..)| (RATIO.member(&[bytes]), binary(*bytes))));
    let rates = Chart::bars("Aligned writes", Unit::BytesPerSecond).source(key(0), "aligned");
    let mut draft = draft.tile("Aligned", key(0), Better::Higher);
    let mut shown_offsets = vec![512, 2048, 4096];
    shown_offsets
        .extend(worst.map(|(bytes, _)| bytes).filter(|bytes| !shown_offsets.contains(bytes)));
    for bytes in shown_offsets {
        let label = format!("Offset {}", binary(bytes));
        draft = draft.tile(&label, key(bytes), Better::Higher);
    }
    if let Some((bytes, _)) = worst {
        let name = "Worst, relative to aligned";
        draft = draft.tile(name, RATIO.member(&[&bytes]), Better::Higher);
        draft = draft.limit(key(bytes), VerdictKind::Misaligned);
    }
    let chart = if chart.is_empty() { rates } else { chart };
    draft.chart(chart).say(sentence, place)
}

#[cfg(test)]
mod tests {
    use record::Verdict;

    use super::*;
    use crate::testing::outcome;

    #[test]
    fn align_answers_only_what_its_verdict_says() {
        let headline = |kind: VerdictKind, ratios: [(f64, f64); 2]| {
            let mut out = outcome(&[("align-0", Unit::BytesPerSecond, 14.2e3)]);
            for (name, (ratio, high)) in ["align-512.ratio", "align-3584.ratio"].iter().zip(ratios)
            {
                let metric = Metric::single(*name, Unit::Number, ratio);
                out.metrics.push(metric.between(2.0 * ratio - high, high, record::Covers::Mean));
            }
            // A whole block further on, writes are as aligned as before.
            out.metrics.push(Metric::single("align-65536.ratio", Unit::Number, 0.1));
            out.verdicts = vec![Verdict::new(kind, "")];
            answer(&out).expect("measured").headline
        };
        assert_eq!(
            headline(VerdictKind::Misaligned, [(0.5, 0.6), (0.8, 1.2)]),
            "Misaligned 4 KiB writes are 2.0 times slower, at an offset of 512 B."
        );
        assert_eq!(
            headline(VerdictKind::Undetermined, [(0.5, 0.6), (0.8, 1.2)]),
            "Undetermined: a cost of misalignment of up to 60% could go unseen."
        );
        // The wider interval is 0.70 to 1.20.
        assert_eq!(
            headline(VerdictKind::AlignmentIsFree, [(0.97, 1.1), (0.95, 1.2)]),
            "Alignment makes no visible difference to 4 KiB writes (within 30%)."
        );
    }
}
