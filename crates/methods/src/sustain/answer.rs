//! The answer of `sustain`: the cache, and the rates inside it, after it and on a full drive.

use super::{AFTER, BURST, CACHE, INSIDE, LAST_TENTH, RECOVERED, key};
use crate::names::{SUSTAIN_FRESH as FRESH, SUSTAIN_FULL as FULL};
use record::Statistic::{Average, Hottest, WorstPercent};
use record::{Answer, Axis, Better, Chart, Mark, Unit, VerdictKind};
use script::Outcome;
use script::draft::{Draft, rate};
use script::whole::FILE_BYTES;
use workload::units::decimal;

/// The rate after the cache lasts to the end of the pass if the last tenth of it is within this share.
const SAME: f64 = 0.1;

/// The answer of `sustain`: the cache size, the throughput inside and after the cache, and that of
/// the full drive.
pub(super) fn answer(out: &Outcome) -> Option<Answer> {
    let draft = Draft::new(out, "How long does the speed last?");
    let in_file = draft.value(FILE_BYTES).is_some();
    let filled = if in_file { "file" } else { "drive" };
    let average = draft.value(key(FRESH, Average))?;
    let cache = draft.find(CACHE);
    let levels = [draft.value(INSIDE), draft.value(AFTER)];
    let first = match (cache.and_then(|m| m.value), levels) {
        (Some(bytes), [Some(inside), Some(after)]) => {
            let least = if in_file { "At least " } else { "" };
            let size = decimal(bytes as u64);
            let last = last_rate(&draft, after);
            let last = last.map_or_else(String::new, |r| format!(", later {}", rate(r)));
            format!("{least}{size} at {}, then {}{last}", rate(inside), rate(after))
        }
        _ => match draft.value(FILE_BYTES).map(|bytes| decimal(bytes as u64)) {
            Some(file) if draft.concluded(&VerdictKind::NoCacheEnd) => {
                format!("At least {file} at {}; no cache ended in that file", rate(average))
            }
            Some(file) => format!("{file} at {} on average, a cache may end later", rate(average)),
            None => format!("{} throughout, no cache end found", rate(average)),
        },
    };
    let full = draft.value(key(FULL, Average));
    let full = full.map(|r| format!("; {} when the drive is full.", rate(r)));
    let draft = draft
        .tile(if in_file { "Cache, at least" } else { "Cache" }, CACHE, Better::Higher)
        .tile("Inside the cache", INSIDE, Better::Higher)
        .tile("After the cache", AFTER, Better::Higher)
        .tile(
            if in_file { "File, average" } else { "Fresh drive, average" },
            key(FRESH, Average),
            Better::Higher,
        )
        .tile("Full drive, average", key(FULL, Average), Better::Higher)
        .tile("Slowest 1%", key(FRESH, WorstPercent), Better::Higher)
        .tile("Slowest 1%, full", key(FULL, WorstPercent), Better::Higher)
        .tile("Hottest", key(FULL, Hottest), Better::Lower);
    let rests = out.family(BURST).map(|(m, at)| (m, at.seconds(0)));
    let draft = rests.fold(draft, |draft, (metric, seconds)| {
        draft.tile(&format!("After {seconds:.0} s idle"), metric, Better::Higher)
    });
    let passes = |title: &str, unit| {
        let chart = Chart::lines(title, Axis::BytesWritten, unit);
        chart
            .source(FRESH, if in_file { "new file" } else { "fresh drive" })
            .source(FULL, "full drive")
    };
    let mut speed = passes(&format!("Write speed while the {filled} fills"), Unit::BytesPerSecond);
    if let Some((cache, cache_bytes)) = cache.and_then(|m| Some((m, m.value?))) {
        let label = "end of the cache".into();
        speed.marks.push(Mark { label, at: cache_bytes, low: cache.low, high: cache.high });
        let [inside, after] = levels;
        if let Some(inside) = inside {
            speed = speed.level(rate(inside), inside, Some([0.0, cache_bytes]));
        }
        if let Some(after) = after {
            let last = last_rate(&draft, after).zip(pass_bytes(out));
            // A second rate follows soon.
            let share = if last.is_some() { 1.1 } else { 2.0 };
            speed = speed.level(rate(after), after, Some([cache_bytes, share * cache_bytes]));
            if let Some((last, bytes)) = last {
                speed = speed.level(rate(last), last, Some([0.9 * bytes, bytes]));
            }
        }
    }
    let recovered = out.family(RECOVERED);
    let recovered = Chart::points("Cache recovered by idle time", Axis::Rest, Unit::Bytes)
        .joined("", recovered.map(|(metric, at)| (&metric.name, at.seconds(0))));
    draft
        .chart(speed)
        .chart_of_column(passes(&format!("Temperature while the {filled} fills"), Unit::Celsius))
        .chart(recovered)
        .limit(AFTER, VerdictKind::CacheEnd)
        .say(first, full)
}

/// The rate of the last tenth of the pass, if it is not the one after the cache.
fn last_rate(draft: &Draft<'_>, after: f64) -> Option<f64> {
    draft.value(LAST_TENTH).filter(|last| (last / after - 1.0).abs() > SAME)
}

/// Bytes written by the first pass.
fn pass_bytes(out: &Outcome) -> Option<f64> {
    let pass = out.series.iter().find(|series| series.name == FRESH)?;
    *pass.column("position")?.values.last()?
}

#[cfg(test)]
mod tests {
    use record::{HEADLINE_MAX, Unit, Verdict, VerdictKind};

    use crate::testing::outcome;

    #[test]
    fn sustain_reports_the_cache_and_both_rates() {
        let all = [
            ("sustain-fresh.cache", Unit::Bytes, 170e9),
            ("sustain-fresh.inside", Unit::BytesPerSecond, 5.0e9),
            ("sustain-fresh.after", Unit::BytesPerSecond, 1.45e9),
            ("sustain-fresh.average", Unit::BytesPerSecond, 1.9e9),
            ("sustain-full.average", Unit::BytesPerSecond, 1.9e9),
        ];
        let mut out = outcome(&all);
        out.series.push(record::Series::new("sustain-fresh", 0, 0));
        let answer = super::answer(&out).expect("measured");
        let expected = "170 GB at 5.00 GB/s, then 1.45 GB/s; 1.90 GB/s when the drive is full.";
        assert_eq!(answer.headline, expected);
        assert_eq!(answer.charts[0].marks[0].at, 170e9);
        let falling = [&all[..], &[("sustain-fresh.last-tenth", Unit::BytesPerSecond, 0.9e9)]];
        let answer = super::answer(&outcome(&falling.concat())).expect("measured");
        let end = "then 1.45 GB/s, later 900 MB/s; 1.90 GB/s when the drive is full.";
        assert!(answer.headline.ends_with(end), "{}", answer.headline);
        let level = super::answer(&outcome(&all[3..4])).expect("measured").headline;
        assert_eq!(level, "1.90 GB/s throughout, no cache end found.");
        let in_file = |kind: VerdictKind| {
            let file = [("sustain-fresh.average", Unit::BytesPerSecond, 2.1e9)];
            let mut out = outcome(&[&file[..], &[("file-bytes", Unit::Bytes, 60e9)]].concat());
            out.verdicts.push(Verdict::new(kind, ""));
            super::answer(&out).expect("measured").headline
        };
        assert_eq!(
            in_file(VerdictKind::NoCacheEnd),
            "At least 60.0 GB at 2.10 GB/s; no cache ended in that file."
        );
        assert_eq!(
            in_file(VerdictKind::Undetermined),
            "60.0 GB at 2.10 GB/s on average, a cache may end later."
        );
        let longest = all.map(|(name, unit, v)| (name, unit, v * 1.234e4));
        let answer = super::answer(&outcome(&longest)).expect("measured");
        assert!(answer.headline.chars().count() <= HEADLINE_MAX, "{}", answer.headline);
    }
}
