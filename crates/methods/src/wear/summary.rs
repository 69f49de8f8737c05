//! The conclusion and the answer of `wear`.

use analysis::EQUIVALENT_WITHIN;
use record::{
    Answer, Axis, Better, Chart, Evidence, Metric, Statistic, TargetKind, Unit, Verdict,
    VerdictKind, capitalised,
};
use rig::TargetInfo;
use workload::units::{amount, decimal};

use super::age::{KINDS, key};
use super::cycle::{CYCLE, DISCARD, Test};
use super::found::Class;
use super::layout::BLOCK;
use script::Outcome;
use script::draft::{Draft, name_of};

/// The evidence of an amount that is known only as a minimum.
const WRITTEN_MIN: &str = "written, at least";

/// Returns ENDURED, WEAR or CONTENT LOST.
pub(super) fn verdicts(test: &Test, target: &TargetInfo) -> Vec<Verdict> {
    let total = test.total() * BLOCK;
    let times = test.total() as f64 / test.layout.blocks as f64;
    let least = if test.earlier_at_least { "at least " } else { "" };
    let written = format!("{least}{} ({} times the size)", decimal(total), amount(times));
    let with_age = match test.age_bytes() {
        0 => String::new(),
        bytes => format!(" and {} for age", decimal(bytes)),
    };
    let fixed = static_words(test);
    let bad = test.cycled.bad() + test.fixed.bad();
    let (kind, text) = match &test.refused {
        Some(refused) => {
            let place = refused.offset.map_or(String::new(), |offset| format!(" at {offset}"));
            let text = format!(
                "The drive refused a {} after {written}{with_age}: {}{place}. {fixed}",
                refused.op, refused.error
            );
            (VerdictKind::Wear, text)
        }
        None if bad > 0 => {
            let mut parts = Vec::new();
            if test.cycled.bad() > 0 {
                parts.push(format!("of the cycled blocks, {}", test.cycled.words()));
            }
            let text = format!("After {written}, content differs{}. {fixed}", joined(&parts));
            (VerdictKind::ContentLost, text)
        }
        None => {
            let text = format!("{written} were written, and every block came back. {fixed}");
            (VerdictKind::Endured, text)
        }
    };
    let name = if test.earlier_at_least { WRITTEN_MIN } else { "written" };
    let evidence = [(name, total), ("static data, good", test.fixed.good() * BLOCK)];
    let evidence = evidence.map(|(name, bytes)| Evidence::new(name, bytes as f64, Unit::Bytes));
    let bad_ones = Class::BAD.into_iter().map(|class| {
        let count = test.cycled.of(class) + test.fixed.of(class);
        Evidence::new(class.name(), count as f64, Unit::Number)
    });
    let next = match (target.target.kind, bad, &test.refused) {
        (TargetKind::Directory, 0, None) => {
            "a whole drive, with --destroy: a file system moves the blocks of a file"
        }
        (_, 0, None) => "a larger --amount with --resume, which continues from here",
        _ => "the same on another drive of this model: one drive is one sample",
    };
    let verdict = Verdict::new(kind, text).with_evidence(evidence.into_iter().chain(bad_ones));
    vec![verdict.explaining("wear-written").next_test(next)]
}

fn joined(parts: &[String]) -> String {
    if parts.is_empty() { String::new() } else { format!(": {}", parts.join("; ")) }
}

fn static_words(test: &Test) -> String {
    let (good, bad) = (test.fixed.good(), test.fixed.bad());
    let all = decimal((good + bad) * BLOCK);
    match bad {
        0 => format!("All {all} of static data are intact."),
        _ => format!(
            "Of {all} of static data, {} differ: {}.",
            decimal(bad * BLOCK),
            test.fixed.words()
        ),
    }
}

/// The answer: the amount written, and the faults.
pub(super) fn answer(out: &Outcome) -> Option<Answer> {
    let draft = Draft::new(out, "How much can be written before the drive fails?");
    let written = decimal(draft.value("wear-written")? as u64);
    let times = amount(draft.value("wear-drive-writes")?);
    let bad: f64 =
        Class::BAD.iter().filter_map(|c| draft.value(&format!("wear-{}", c.name()))).sum();
    let verdict = out.verdicts.first();
    let is_least = |e: &Evidence| e.name == WRITTEN_MIN;
    let least = verdict.is_some_and(|verdict| verdict.evidence.iter().any(is_least));
    let least = if least { "at least " } else { "" };
    let age = aged(out).into_iter().map(|text| format!(" {text}"));
    let sentence = match verdict.map(|verdict| &verdict.kind) {
        Some(VerdictKind::Wear) => {
            let age = draft
                .value("wear-age-written")
                .map_or(String::new(), |bytes| format!(", and {} for age", decimal(bytes as u64)));
            format!("The drive died after {least}{written}, {times} times its size{age}.")
        }
        Some(VerdictKind::ContentLost) => {
            let blocks = if bad == 1.0 { "block differs" } else { "blocks differ" };
            format!("After {least}{written}, {times} times the size, {bad:.0} {blocks}.")
        }
        _ if out.errors.iter().any(|error| error.op == DISCARD) => {
            format!("{written} written, {times} times the size; a discard failed.")
        }
        _ => format!("{written} written, {times} times the size, without an error."),
    };
    let mut draft = draft
        .tile("Written", "wear-written", Better::Higher)
        .tile("Times the size", "wear-drive-writes", Better::Higher)
        .tile("Write speed", "wear-write", Better::Higher);
    let worst = Class::BAD.iter().filter(|class| {
        draft.value(&format!("wear-{}", class.name())).is_some_and(|count| count > 0.0)
    });
    for class in worst.copied().collect::<Vec<_>>() {
        draft = draft.tile(&heading(class), &format!("wear-{}", class.name()), Better::Lower);
    }
    let chart =
        Chart::lines("Write speed as the drive wears", Axis::BytesWritten, Unit::BytesPerSecond);
    let faults = faults(&draft);
    draft
        .tile("Static data intact", "wear-static", Better::Higher)
        .tile("Rated life used, percent", "wear-life", Better::Lower)
        .chart(chart.source(CYCLE, "written"))
        .chart(faults)
        .chart(by_age(out))
        .say(sentence, age)
}

fn heading(class: Class) -> String {
    format!("{} blocks", capitalised(class.name()))
}

/// Chart of the blocks that differ, by fault.
fn faults(draft: &Draft<'_>) -> Chart {
    let chart = Chart::bars("Blocks that differ, by fault", Unit::Number);
    Class::BAD.into_iter().fold(chart, |chart, class| {
        let name = format!("wear-{}", class.name());
        match draft.value(&name).is_some_and(|count| count > 0.0) {
            true => chart.source(name, class.name()),
            false => chart,
        }
    })
}

/// Chart of the sequential rates, by the amount written before.
fn by_age(out: &Outcome) -> Chart {
    let title = "Sequential speed by the age of the drive";
    let chart = Chart::points(title, Axis::BytesWritten, Unit::BytesPerSecond);
    let size = out.value("wear-written").zip(out.value("wear-drive-writes"));
    let Some(size) = size.map(|(written, times)| written / times) else { return chart };
    out.family("wear-age-seq-{read,write}-{writes}").fold(chart, |chart, (metric, at)| {
        let group = if at.word(0) == "read" { "reads" } else { "writes" };
        chart.point(group, metric.name.clone(), f64::from(at.number(1)) * size)
    })
}

/// Whether age changes the speed: `Sequential writes are now 0.82 times as fast.`, then in fewer
/// words; empty if it was not measured. A change is claimed only if its interval is beyond the
/// range that counts as equivalent.
fn aged(out: &Outcome) -> Vec<String> {
    // An unknown ratio also counts: age was measured.
    let find = |name: String| out.metrics.iter().find(|metric| metric.name == name);
    let ratios: Vec<(&str, &Metric)> = KINDS
        .iter()
        .filter_map(|(kind, ..)| Some((*kind, find(name_of(&key(kind), Statistic::Ratio))?)))
        .collect();
    let changed = ratios.iter().filter_map(|(kind, metric)| {
        let (low, high) = metric.low.zip(metric.high)?;
        let beyond = high < 1.0 - EQUIVALENT_WITHIN || low > 1.0 + EQUIVALENT_WITHIN;
        Some((*kind, metric.value?)).filter(|_| beyond)
    });
    let changed: Vec<(&str, f64)> = changed.collect();
    let same = |metric: &&Metric| {
        let range = metric.low.zip(metric.high);
        range.is_some_and(|(low, high)| {
            low > 1.0 - EQUIVALENT_WITHIN && high < 1.0 + EQUIVALENT_WITHIN
        })
    };
    match changed.first() {
        None if ratios.is_empty() => Vec::new(),
        None if ratios.iter().all(|(_, metric)| same(metric)) => {
            vec!["Age did not change its speed.".into()]
        }
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
        let chart = faults(&Draft::new(&out, "?"));
        let named = |class: Class| {
            serde_json::to_string(&chart).expect("plain data").contains(class.name())
        };
        assert_eq!([Class::Flipped, Class::Torn, Class::Lost].map(named), [true, false, true]);
    }
}
