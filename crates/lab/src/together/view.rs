//! Several drives as they are shown: the sentence, and the types of `report` filled.

use record::capitalised;
use report::together::{DeviationRow, QuantityRow, SetTable};

use super::conclude::{DriveSet, Loss, SetQuantity};

/// A threshold of outliers beyond this tells nothing.
const TELLING: f64 = 0.5;

/// The conclusion: what the host costs, then which drive differs.
pub(super) fn sentence(set: &DriveSet) -> String {
    if set.quantities.is_empty() {
        return "These drives have no figure in common.".into();
    }
    [cost(set), Some(difference(set))].into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// What is lost at the same time; `None` if they were not measured so.
fn cost(set: &DriveSet) -> Option<String> {
    let count = set.drives.len();
    let figures = |loss: Loss| set.quantities.iter().filter(move |q| q.loss == loss);
    let share = |quantity: &&SetQuantity| quantity.share().unwrap_or(1.0);
    let worst = |loss| figures(loss).min_by(|a, b| share(a).total_cmp(&share(b)));
    if let Some(quantity) = worst(Loss::Host) {
        let shared = if set.on_one_drive {
            "they are on one drive, and what they share is the limit"
        } else {
            "what they share is the limit"
        };
        let sums = quantity.sums?.map(|sum| report::quantity(quantity.unit, sum));
        let [alone, together] = sums;
        return Some(format!(
            "HOST CEILING: together, {} reach {together} of {}{}, {} of the {alone} that they add \
             up to alone; {shared}.",
            members(quantity, count),
            quantity.label,
            more(figures(Loss::Host).count()),
            percent(share(&quantity)),
        ));
    }
    if let Some(quantity) = worst(Loss::Drives) {
        return Some(format!(
            "Together, {} keep {} of {}{}, but a drive alone again is as slow: the drives have \
             changed, the host is not the limit.",
            members(quantity, count),
            percent(share(&quantity)),
            quantity.label,
            more(figures(Loss::Drives).count()),
        ));
    }
    if let Some(quantity) = worst(Loss::OneDrive) {
        let drive = &set.drives[quantity.slowest()?];
        return Some(format!(
            "Beside the others, only {} loses {}{}; the others keep their rates.",
            name(&drive.target),
            quantity.label,
            more(figures(Loss::OneDrive).count()),
        ));
    }
    if let Some(quantity) = worst(Loss::Fastest) {
        let drive = &set.drives[quantity.slowest()?];
        return Some(format!(
            "Beside the others, only {} loses {}{}; it is still the fastest, so that it or what they \
             share is the limit.",
            name(&drive.target),
            quantity.label,
            more(figures(Loss::Fastest).count()),
        ));
    }
    let widest = figures(Loss::None).map(|q| q.loss_threshold).fold(0.0, f64::max);
    (widest > 0.0).then(|| {
        format!("Together, the {count} drives lose no more than runs vary by, {}.", percent(widest))
    })
}

/// The drives whose values add up to a sum: a run that was cut short has none.
fn members(quantity: &SetQuantity, count: usize) -> String {
    match quantity.pairs().count() {
        pairs if pairs < count => format!("{pairs} of the {count} drives"),
        _ => format!("the {count} drives"),
    }
}

/// Which drive differs, or how small a difference would have been found.
fn difference(set: &DriveSet) -> String {
    let count = set.drives.len();
    if !set.can_tell_outliers() {
        return format!("With {count} drives, nothing tells which of them is the odd one.");
    }
    let outliers = set.quantities.iter().flat_map(|quantity| {
        quantity.outliers.iter().map(move |outlier| (outlier.drive, outlier.ratio, quantity))
    });
    let mut outliers: Vec<_> = outliers.collect();
    outliers.sort_by_key(|(drive, _, _)| *drive);
    let drives: Vec<_> = outliers.chunk_by(|a, b| a.0 == b.0).collect();
    if drives.is_empty() {
        return match set.quantities.iter().filter_map(|q| q.outlier_threshold).reduce(f64::min) {
            Some(least) if least > TELLING => {
                "The drives differ too much among each other to tell an odd one.".into()
            }
            Some(least) => format!(
                "No drive stands out; one that differs by {} or more would.",
                percent(least)
            ),
            None => "Which drive differs is not known: a value is missing.".into(),
        };
    }
    let sentences = drives.into_iter().filter_map(|own| {
        let distance = |ratio: f64| libm::log(ratio).abs();
        let (drive, ratio, quantity) =
            own.iter().max_by(|a, b| distance(a.1).total_cmp(&distance(b.1)))?;
        Some(format!(
            "{} stands out: its {}{} are {} {} than those of the others.",
            capitalised(&name(&set.drives[*drive].target)),
            quantity.label.to_lowercase(),
            more(own.len()),
            percent((ratio - 1.0).abs()),
            direction(quantity, *ratio),
        ))
    });
    sentences.collect::<Vec<_>>().join(" ")
}

fn direction(quantity: &SetQuantity, ratio: f64) -> &'static str {
    let is_rate = matches!(quantity.unit, record::Unit::BytesPerSecond | record::Unit::Iops);
    match (is_rate, ratio < 1.0) {
        (true, true) => "slower",
        (true, false) => "faster",
        (false, true) => "lower",
        (false, false) => "higher",
    }
}

/// ` (and of 3 more figures)`, if there are more than one.
fn more(figures: usize) -> String {
    match figures {
        0 | 1 => String::new(),
        2 => " (and of one more figure)".into(),
        n => format!(" (and of {} more figures)", n - 1),
    }
}

fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent < 9.95 { format!("{percent:.1}%") } else { format!("{percent:.0}%") }
}

fn name(target: &str) -> String {
    emit::plain(target).to_string()
}

/// The set for display.
pub fn view(set: &DriveSet) -> SetTable {
    SetTable {
        sentence: set.sentence.clone(),
        is_limited: set.verdict.is_some(),
        method: set.method.clone(),
        quantities: set.quantities.iter().map(quantity_row).collect(),
        drives: (0..set.drives.len()).map(|drive| deviation_row(set, drive)).collect(),
        caveat: caveat(set),
    }
}

fn caveat(set: &DriveSet) -> String {
    let mut notes = Vec::new();
    if set.quantities.iter().all(|quantity| quantity.sums.is_none()) {
        notes.push("measured one after the other only".to_string());
    }
    match set.not_of_the_drive.len() {
        0 => {}
        1 => notes.push("in one run, some figures are not the drive's and do not count".into()),
        runs => {
            notes.push(format!("in {runs} runs, some figures are not the drive's and do not count"))
        }
    }
    if set.can_tell_outliers() {
        notes.push(format!(
            "among equal drives, one would stand out in {} of 100 such sets at most",
            100.0 * set.false_alarms
        ));
    }
    notes.join("; ")
}

fn quantity_row(quantity: &SetQuantity) -> QuantityRow {
    let values: Vec<f64> = quantity.alone.iter().flatten().copied().collect();
    let in_words = |value: f64| report::quantity(quantity.unit, value);
    let lowest = values.iter().copied().reduce(f64::min).map(in_words).unwrap_or_default();
    let highest = values.iter().copied().reduce(f64::max).map(in_words).unwrap_or_default();
    let loss = match quantity.loss {
        Loss::Unknown => "",
        Loss::None => "within chance",
        Loss::Host => "HOST CEILING",
        Loss::OneDrive => "one drive",
        Loss::Fastest => "the fastest",
        Loss::Drives => "drives changed",
    };
    QuantityRow {
        name: quantity.label.clone(),
        lowest,
        highest,
        sums: quantity.sums.map(|sums| sums.map(in_words)),
        share: quantity.share(),
        loss: loss.into(),
    }
}

fn deviation_row(set: &DriveSet, drive: usize) -> DeviationRow {
    let identity = &set.drives[drive];
    let model = identity.model.as_deref().filter(|model| !model.is_empty());
    let words = [Some(identity.target.as_str()), model].into_iter().flatten();
    let runs: Vec<String> = identity.numbers.iter().map(i64::to_string).collect();
    DeviationRow {
        name: words.map(|word| emit::plain(word).to_string()).collect::<Vec<_>>().join("  "),
        runs: runs.join(", "),
        deviations: set.quantities.iter().map(|q| q.deviation(drive)).collect(),
        stands_out: set
            .quantities
            .iter()
            .map(|q| q.outliers.iter().any(|outlier| outlier.drive == drive))
            .collect(),
    }
}

impl SetQuantity {
    /// The deviation of a drive's value alone from the geometric mean of the others, as a fraction.
    fn deviation(&self, drive: usize) -> Option<f64> {
        let value = self.alone[drive].filter(|value| *value > 0.0)?;
        let values = self.alone.iter().enumerate().filter(|(other, _)| *other != drive);
        let values: Vec<f64> =
            values.filter_map(|(_, value)| value.filter(|value| *value > 0.0)).collect();
        let sum: f64 = values.iter().map(|value| libm::log(*value)).sum();
        let mean = libm::exp(sum / values.len().max(1) as f64);
        (!values.is_empty()).then_some(value / mean - 1.0)
    }
}
