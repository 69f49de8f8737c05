//! The conclusion and the answer of `restore`.

use record::{Answer, Better, Chart, Evidence, Unit, Verdict, VerdictKind};
use workload::units::{decimal, duration};

use script::Outcome;
use script::draft::{Draft, rate};

/// A part within this factor of the slowest may also be the limit.
const CLEAR: f64 = 1.1;

/// A part: its metric, its name in a sentence, the conclusion.
const PARTS: [(&str, &str, VerdictKind); 3] = [
    ("restore-source", "source", VerdictKind::Source),
    ("restore-processor", "processor", VerdictKind::Cpu),
    ("restore-write", "drive", VerdictKind::Writes),
];

/// The known rates, slowest first.
fn rates(out: &Outcome) -> Vec<(f64, usize)> {
    let known = PARTS.iter().enumerate().filter_map(|(i, part)| Some((out.value(part.0)?, i)));
    let mut rates: Vec<(f64, usize)> = known.collect();
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
    let of_part =
        |(value, part): &(f64, usize)| Evidence::new(PARTS[*part].1, *value, Unit::BytesPerSecond);
    Verdict::new(kind, text).with_evidence(rates.iter().map(of_part)).explaining("restore-rate")
}

/// The answer: the time, and the slowest part.
pub(super) fn answer(out: &Outcome) -> Option<Answer> {
    let draft = Draft::new(out, "How long does writing the image take?");
    let written = decimal(draft.value("restore-written")? as u64);
    let seconds = duration(draft.value("restore-time")? / 1e9);
    let bound = match out.verdicts.first().map(|verdict| &verdict.kind) {
        Some(VerdictKind::Source) => "; the source is the limit.",
        Some(VerdictKind::Cpu) => "; the processor is the limit.",
        Some(VerdictKind::Writes) => "; the drive is the limit.",
        _ => ".",
    };
    let chart = Chart::bars("Rates of the overlapping parts", Unit::BytesPerSecond)
        .source("restore-source", "source")
        .source("restore-processor", "processor")
        .source("restore-write", "drive");
    draft
        .tile("Time", "restore-time", Better::Lower)
        .tile("Rate", "restore-rate", Better::Higher)
        .tile("Written", "restore-written", Better::Neither)
        .tile("Source", "restore-source", Better::Higher)
        .tile("Processor", "restore-processor", Better::Higher)
        .tile("Drive", "restore-write", Better::Higher)
        .chart(chart)
        .say(format!("{written} in {seconds}{bound}"), None)
}
