//! The verdict of `restore`: which part is the limit.

use super::{PROCESSOR, RATE, SOURCE, WRITE};
use record::{Evidence, MetricInfo, Unit, Verdict, VerdictKind};
use script::Outcome;
use script::draft::rate;

/// A part within this factor of the slowest may also be the limit.
const CLEAR: f64 = 1.1;

/// A part: its metric, its name in a sentence, the conclusion.
const PARTS: [(MetricInfo, &str, VerdictKind); 3] = [
    (SOURCE, "source", VerdictKind::Source),
    (PROCESSOR, "processor", VerdictKind::Cpu),
    (WRITE, "drive", VerdictKind::Writes),
];

/// The known rates, slowest first.
fn rates(out: &Outcome) -> Vec<(f64, usize)> {
    let rates_and_parts =
        PARTS.iter().enumerate().filter_map(|(i, part)| Some((out.value(part.0)?, i)));
    let mut rates: Vec<(f64, usize)> = rates_and_parts.collect();
    rates.sort_by(|a, b| a.0.total_cmp(&b.0));
    rates
}

/// SOURCE, CPU or WRITES: the slowest part, if the others are at least a tenth faster.
pub(super) fn verdict(out: &Outcome) -> Verdict {
    let rates = rates(out);
    let words: Vec<String> =
        rates.iter().map(|(value, part)| format!("{} {}", PARTS[*part].1, rate(*value))).collect();
    let words = words.join(", ");
    let (kind, text) = match &rates[..] {
        [] => (VerdictKind::Undetermined, "Nothing was written.".to_string()),
        [(slowest, part), (next, other), ..] if *next < CLEAR * slowest => {
            let [part, other] = [part, other].map(|part| PARTS[*part].1);
            let text = format!("The {part} and the {other} are about equally slow: {words}.");
            (VerdictKind::Undetermined, text)
        }
        [(_, part), ..] => {
            (PARTS[*part].2.clone(), format!("The {} is the limit: {words}.", PARTS[*part].1))
        }
    };
    let evidence = rates
        .iter()
        .map(|(value, part)| Evidence::new(PARTS[*part].1, *value, Unit::BytesPerSecond));
    Verdict::new(kind, text).with_evidence(evidence).explaining(RATE)
}
