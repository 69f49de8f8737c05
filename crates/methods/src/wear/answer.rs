//! The answer of `wear`: what is left after so many bytes.

use super::age::{KINDS, key};
use super::cycle::{CYCLE, DISCARD};
use super::found::Class;
use super::verdict::WRITTEN_MIN;
use super::{AGE_SEQUENTIAL, AGE_WRITTEN, DRIVE_WRITES, LIFE, STATIC, WRITE_RATE, WRITTEN, fault};
use analysis::EQUIVALENT_WITHIN;
use record::{Answer, Axis, Better, Chart, Metric, Statistic, Unit, VerdictKind, capitalised};
use script::Outcome;
use script::draft::Draft;
use workload::units::{amount, decimal};

/// The answer: the amount written, and the faults.
pub(super) fn answer(out: &Outcome) -> Option<Answer> {
    let draft = Draft::new(out, "How much can be written before the drive fails?");
    let amount_written = decimal(draft.value(WRITTEN)? as u64);
    let times = amount(draft.value(DRIVE_WRITES)?);
    let bad: f64 = Class::BAD.into_iter().filter_map(|class| draft.value(fault(class))).sum();
    let verdict = out.verdicts.first();
    let least =
        verdict.is_some_and(|verdict| verdict.evidence.iter().any(|e| e.name == WRITTEN_MIN));
    let least = if least { "at least " } else { "" };
    let age = aged(out).into_iter().map(|text| format!(" {text}"));
    let sentence = match verdict.map(|verdict| &verdict.kind) {
        Some(VerdictKind::Wear) => {
            let age = draft
                .value(AGE_WRITTEN)
                .map_or(String::new(), |bytes| format!(", and {} for age", decimal(bytes as u64)));
            format!("The drive died after {least}{amount_written}, {times} times its size{age}.")
        }
        Some(VerdictKind::ContentLost) => {
            let blocks = if bad == 1.0 { "block differs" } else { "blocks differ" };
            format!("After {least}{amount_written}, {times} times the size, {bad:.0} {blocks}.")
        }
        _ if out.errors.iter().any(|error| error.op == DISCARD) => {
            format!("{amount_written} written, {times} times the size; a discard failed.")
        }
        _ => format!("{amount_written} written, {times} times the size, without an error."),
    };
    let mut draft = draft
        .tile("Written", WRITTEN, Better::Higher)
        .tile("Times the size", DRIVE_WRITES, Better::Higher)
        .tile("Write speed", WRITE_RATE, Better::Higher);
    for class in faults(&draft) {
        draft = draft.tile(&heading(class), fault(class), Better::Lower);
    }
    let chart =
        Chart::lines("Write speed as the drive wears", Axis::BytesWritten, Unit::BytesPerSecond);
    let faults = chart_of_faults(&draft);
    draft
        .tile("Static data intact", STATIC, Better::Higher)
        .tile("Rated life used, percent", LIFE, Better::Lower)
        .chart(chart.source(CYCLE, "written"))
        .chart(faults)
        .chart(by_age(out))
        .say(sentence, age)
}

fn heading(class: Class) -> String {
    format!("{} blocks", capitalised(class.name()))
}

/// The faults that occurred.
fn faults(draft: &Draft<'_>) -> Vec<Class> {
    Class::BAD
        .into_iter()
        .filter(|class| draft.value(fault(*class)).is_some_and(|count| count > 0.0))
        .collect()
}

/// Chart of the blocks that differ, by fault.
fn chart_of_faults(draft: &Draft<'_>) -> Chart {
    let sources = faults(draft).into_iter().map(|class| (fault(class), class.name()));
    Chart::bars("Blocks that differ, by fault", Unit::Number).sources(sources)
}

/// Chart of the sequential rates, by the amount written before.
fn by_age(out: &Outcome) -> Chart {
    let title = "Sequential speed by the age of the drive";
    let chart = Chart::points(title, Axis::BytesWritten, Unit::BytesPerSecond);
    let size = out.value(WRITTEN).zip(out.value(DRIVE_WRITES));
    let Some(size) = size.map(|(written, times)| written / times) else { return chart };
    out.family(AGE_SEQUENTIAL).fold(chart, |chart, (metric, at)| {
        let group = if at.word(0) == "read" { "reads" } else { "writes" };
        chart.point(group, metric.name.clone(), f64::from(at.number(1)) * size)
    })
}

/// Whether age changes the speed: `Sequential writes are now 0.82 times as fast.`, then in fewer
/// words; empty if it was not measured. A change is claimed only if its interval is beyond the
/// range that counts as equivalent.
fn aged(out: &Outcome) -> Vec<String> {
    // An unknown ratio also counts: age was measured.
    let ratios = KINDS.iter().filter_map(|(kind, ..)| {
        let key = key(kind).with(Statistic::Ratio);
        Some((*kind, out.metrics.iter().find(|metric| metric.key() == key)?))
    });
    let ratios: Vec<(&str, &Metric)> = ratios.collect();
    let changed = ratios.iter().filter_map(|(kind, metric)| {
        let (low, high) = metric.low.zip(metric.high)?;
        let is_beyond = high < 1.0 - EQUIVALENT_WITHIN || low > 1.0 + EQUIVALENT_WITHIN;
        Some((*kind, metric.value?)).filter(|_| is_beyond)
    });
    let changed: Vec<(&str, f64)> = changed.collect();
    let is_same = ratios.iter().all(|(_, metric)| {
        let range = metric.low.zip(metric.high);
        range.is_some_and(|(low, high)| {
            low > 1.0 - EQUIVALENT_WITHIN && high < 1.0 + EQUIVALENT_WITHIN
        })
    });
    match changed.first() {
        None if ratios.is_empty() => Vec::new(),
        None if is_same => vec!["Age did not change its speed.".into()],
        None => vec!["The effect of age is undetermined.".into()],
        Some((kind, ratio)) => {
            let kind = kind.replace("seq-", "Sequential ").replace("rand-", "Random ");
            vec![
                format!("{kind}s are now {ratio:.2} times as fast."),
                format!("{kind}s now at {:.0}% speed.", 100.0 * ratio),
            ]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chart_of_faults_has_the_classes_that_occurred() {
        let mut out = Outcome::default();
        for (class, count) in [(Class::Flipped, 3.0), (Class::Torn, 0.0), (Class::Lost, 1.0)] {
            let name = format!("wear-{}", class.name());
            out.metrics.push(Metric::single(name, Unit::Number, count));
        }
        let chart = chart_of_faults(&Draft::new(&out, "?"));
        let named = |class: Class| {
            serde_json::to_string(&chart).expect("plain data").contains(class.name())
        };
        assert_eq!([Class::Flipped, Class::Torn, Class::Lost].map(named), [true, false, true]);
    }
}
