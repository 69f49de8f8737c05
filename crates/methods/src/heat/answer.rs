//! The answer of `heat`: whether and when the drive slows down because of its temperature.

use super::{COLD, COOLED, HOT, HOTTEST, LOAD, START, TIME_TO_THROTTLE};
use record::{Answer, Axis, Better, Chart, FindingKind, Unit, VerdictKind};
use script::Outcome;
use script::draft::{Draft, rate};
use script::whole::FILE_BYTES;
use workload::units::duration;

/// The answer of `heat`: whether and when the drive slowed down because of its temperature.
pub(super) fn answer(out: &Outcome) -> Option<Answer> {
    let draft = Draft::new(out, "How warm does it get, and does it slow down?");
    let average = draft.value(LOAD)?;
    let [cold, hot] = [COLD, HOT].map(|metric| draft.value(metric));
    let hottest = draft.value(HOTTEST);
    let throttled = draft.value(TIME_TO_THROTTLE).map(|ns| ns / 1e9);
    let heat = draft.concluded(&VerdictKind::Heat);
    let in_file = draft.value(FILE_BYTES).is_some();
    let unsettled = out.warnings.iter().any(|finding| finding.kind == FindingKind::NotSettled);
    let peak = hottest.map(|c| format!(" (peak {c:.0} C)")).unwrap_or_default();
    let sentence = match (throttled, cold.zip(hot)) {
        (Some(seconds), Some((cold, hot))) if heat => format!(
            "Throttles after {}, from {} to {}{peak}",
            duration(seconds),
            rate(cold),
            rate(hot)
        ),
        (Some(seconds), Some((cold, hot))) => {
            format!("Slows down after {}, from {} to {}", duration(seconds), rate(cold), rate(hot))
        }
        // The rule on the load could not tell, that on temperatures could.
        _ if heat && !draft.concluded(&VerdictKind::Cool) => {
            let celsius = draft.value(START).zip(hottest);
            let celsius = celsius
                .map_or(String::new(), |(start, most)| format!(", {start:.0} to {most:.0} C"));
            format!("Hot from the start, perhaps throttled: {} sustained{celsius}", rate(average))
        }
        _ if in_file && unsettled => {
            let highest =
                hottest.map_or("temperature unknown".into(), |c| format!("{c:.0} C at most"));
            format!("No slowdown, in a load too short to settle: {}, {highest}", rate(average))
        }
        _ => match hottest {
            Some(c) => format!("No throttling: {} sustained, {c:.0} C at most", rate(average)),
            None => format!("No slowdown: {} sustained, temperature unknown", rate(average)),
        },
    };
    let continuation = draft.value(COOLED).map(|cooled| format!("; {} once cooled.", rate(cooled)));
    let work = |title: &str, unit| {
        let chart = Chart::lines(title, Axis::Time, unit);
        let chart = chart.source(LOAD, "sustained load").source(COOLED, "after cooling");
        match throttled {
            Some(at) => chart.mark(if heat { "throttled" } else { "slows down" }, at),
            None => chart,
        }
    };
    let draft = draft
        .tile("Sustained load", LOAD, Better::Higher)
        .tile("Cold", COLD, Better::Higher)
        .tile("Hot", HOT, Better::Higher)
        .tile("Hottest", HOTTEST, Better::Lower)
        .tile("Time to slow down", TIME_TO_THROTTLE, Better::Higher)
        .tile("Once cooled", COOLED, Better::Higher);
    draft
        .chart(work("Write speed under sustained load", Unit::BytesPerSecond))
        .chart_of_column(work("Temperature under sustained load", Unit::Celsius))
        .limit(HOT, VerdictKind::Heat)
        .say(sentence, continuation)
}
