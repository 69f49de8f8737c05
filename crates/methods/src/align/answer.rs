//! The answer of `align`: the cost of the worst misalignment.

use super::{RATIO, key};
use record::{Answer, Better, Chart, Unit, VerdictKind};
use script::Outcome;
use script::draft::{Draft, rate, times};
use workload::units::binary;

/// Address ranges whose speeds differ by less than this share count as equally fast.
const EVEN: f64 = 0.1;

/// The answer of `align`: the cost of the worst misalignment.
pub(super) fn answer(out: &Outcome) -> Option<Answer> {
    let draft = Draft::new(out, "What do misaligned writes cost?");
    let aligned = draft.value(key(0))?;
    let mut spread: f64 = 0.0;
    let offsets = out.family(RATIO);
    let offsets = offsets.filter_map(|(m, at)| {
        let ratio = m.value?;
        let slower = ratio < 1.0 - EVEN && m.high.is_none_or(|high| high < 1.0);
        // The largest difference that the measurement permits.
        let ends = [m.low, Some(ratio), m.high].into_iter().flatten();
        spread = ends.fold(spread, |most, end| most.max((1.0 - end).abs()));
        Some((u64::from(at.number(0)), ratio, slower))
    });
    let offsets: Vec<(u64, f64, bool)> = offsets.collect();
    let least = |certain: bool| {
        let candidates = offsets.iter().filter(|(.., slower)| *slower || !certain);
        candidates.map(|(bytes, ratio, _)| (*bytes, *ratio)).min_by(|a, b| a.1.total_cmp(&b.1))
    };
    let costly = least(true);
    let worst = costly.or_else(|| least(false));
    let sentence = match (costly, worst) {
        (Some((_, ratio)), _) => {
            format!("Misaligned 4 KiB writes are {} slower", times(1.0 / ratio))
        }
        (None, Some((_, ratio))) if ratio < 1.0 - EVEN => {
            let percent = 100.0 * ratio;
            format!("Misaligned 4 KiB writes may be slower ({percent:.0}% of aligned): not certain")
        }
        (None, Some(_)) => {
            let percent = (100.0 * spread).round().max(1.0);
            format!("Alignment makes no visible difference to 4 KiB writes (within {percent}%)")
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
    use record::{Metric, Unit};

    use super::*;
    use crate::testing::outcome;

    #[test]
    fn align_calls_writes_slower_only_if_that_is_certain() {
        let headline = |ratios: [(f64, f64); 2]| {
            let mut out = outcome(&[("align-0", Unit::BytesPerSecond, 14.2e3)]);
            for (name, (ratio, high)) in ["align-512.ratio", "align-4096.ratio"].iter().zip(ratios)
            {
                let metric = Metric::single(*name, Unit::Number, ratio);
                out.metrics.push(metric.between(2.0 * ratio - high, high, record::Covers::Mean));
            }
            answer(&out).expect("measured").headline
        };
        assert_eq!(
            headline([(0.5, 0.6), (0.4, 1.2)]),
            "Misaligned 4 KiB writes are 2.0 times slower, at an offset of 512 B."
        );
        assert_eq!(
            headline([(0.95, 1.1), (0.85, 1.2)]),
            "Misaligned 4 KiB writes may be slower (85% of aligned): not certain."
        );
        // The wider interval is 0.70 to 1.20.
        assert_eq!(
            headline([(0.97, 1.1), (0.95, 1.2)]),
            "Alignment makes no visible difference to 4 KiB writes (within 30%)."
        );
    }
}
