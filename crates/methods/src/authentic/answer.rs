//! The answer of `authentic`: whether a cache, compression or an ineffective flush makes the
//! numbers differ from the drive's speed.

use super::{
    CACHED, COMPRESSED, COMPRESSIBLE, DEDUPED, DIRECT, DUPLICATE, FLUSH, HALF, HELD, MISS, RANDOM,
    RANDOM_READS, REPEATED, WITHIN, WITHIN_SPAN, ZEROS, savings,
};
use record::{Answer, Axis, Better, Chart, Metric, MetricInfo, Places, Unit, VerdictKind};
use script::Outcome;
use script::draft::{Draft, rate, times};
use workload::units::{binary, latency};

/// See [`script::MethodInfo`].
pub(super) fn answer(out: &Outcome) -> Option<Answer> {
    let draft = Draft::new(out, "Do the numbers come from the drive?");
    if out.metrics.is_empty() {
        return None;
    }
    let [random, zeros, direct] = [RANDOM, ZEROS, DIRECT].map(|metric| draft.value(metric));
    let flush = out.family(FLUSH.named("check-flush-{size}.p50")).next();
    let flush = flush.and_then(|(m, _)| Some((m, m.value?)));
    let dedupes = draft.find(DEDUPED).is_some() && draft.find(COMPRESSED).is_none();
    let sentence = if dedupes {
        match random.zip(draft.value(REPEATED)) {
            Some((random, repeated)) => {
                let gain = times(repeated / random);
                format!("Writes are deduplicated: repeated data is {gain} as fast.")
            }
            None => "Writes are deduplicated.".into(),
        }
    } else if draft.concluded(&VerdictKind::Compressible) {
        let also = if draft.find(DEDUPED).is_some() { " and deduplicated" } else { "" };
        match random.zip(zeros) {
            Some((random, zeros)) if zeros > random => {
                let gain = times(zeros / random);
                format!("Writes are compressed{also}: zeros are {gain} as fast.")
            }
            _ => format!("Writes are compressed{also}: content changes their speed."),
        }
    } else if draft.concluded(&VerdictKind::Flush) {
        match flush {
            Some((_, ns)) => format!("A flush takes {}: too fast to be real.", latency(ns)),
            None => "Flushes are too fast to be real.".into(),
        }
    } else if draft.concluded(&VerdictKind::MapCache) {
        let covered = binary(draft.value(HELD).unwrap_or_default() as u64);
        let miss = latency(draft.value(MISS).unwrap_or_default());
        format!("The map cache covers {covered}: wider random reads may take {miss} longer.")
    } else if draft.concluded(&VerdictKind::DeviceCache) {
        "The drive serves small working sets from its own cache.".into()
    } else {
        match (random, direct) {
            (Some(_), _) => no_tricks(out),
            (None, Some(r)) => format!("No tricks found in reads ({} direct).", rate(r)),
            (None, None) => "No tricks found in reads.".into(),
        }
    };
    let checked = [
        (direct.is_some(), "memory"),
        (largest_gain(out).is_some(), "compression"),
        (flush.is_some(), "flush"),
        (out.family(WITHIN).next().is_some(), "read cache"),
        (out.family(WITHIN_SPAN).next().is_some(), "map"),
    ];
    let checked = [(true, "Checked"), (false, "Not checked")].map(|(is_checked, word)| {
        let names: Vec<&str> = checked.iter().filter(|c| c.0 == is_checked).map(|c| c.1).collect();
        if names.is_empty() { String::new() } else { format!(" {word}: {}.", names.join(", ")) }
    });
    // What was not checked is the last to be left out.
    let checked = [checked.concat(), checked[1].clone()];
    let kinds = [(COMPRESSED, "compressible"), (DEDUPED, "repeated")];
    let savings: String = kinds
        .into_iter()
        .filter_map(|(saved, kind)| {
            let m = draft.find(saved)?;
            let bound = if m.covers.is_some() { "At least " } else { "" };
            Some(format!(" {bound}{:.0}% of {kind} data is saved.", 100.0 * m.value?))
        })
        .collect();
    let savings = Some(savings).filter(|savings| !savings.is_empty());
    let contents = Chart::bars("Writes of different content", Unit::BytesPerSecond)
        .source(RANDOM, "random")
        .source(HALF, "half compressible")
        .source(REPEATED, "repeated")
        .source(ZEROS, "zeros");
    let memory = Chart::bars("Direct and cached reads", Unit::BytesPerSecond)
        .source(DIRECT, "direct")
        .source(CACHED, "via the page cache");
    let title = "Latency of a single read by working-set size";
    let sets = Chart::points(title, Axis::WorkingSet, Unit::Nanoseconds)
        .joined("", out.family(WITHIN).map(point));
    let title = "Random reads that wait for part of the map";
    let map = Chart::points(title, Axis::WorkingSet, Unit::Share)
        .joined("", out.family(WITHIN_SPAN).map(point));
    let mut draft = draft
        .tile("Writes, random content", RANDOM, Better::Higher)
        .tile("Writes of zeros", ZEROS, Better::Neither)
        .tile("Direct reads", DIRECT, Better::Higher)
        .tile("Reads via the page cache", CACHED, Better::Neither);
    if let Some((metric, _)) = flush {
        draft = draft.tile("Flush", metric, Better::Lower);
    }
    if let Some((metric, _)) = out.family(RANDOM_READS).next() {
        draft = draft.tile("Random reads", metric, Better::Higher);
    }
    draft
        .chart(contents)
        .chart(levels("Writes by share of zeros", COMPRESSIBLE))
        .chart(levels("Writes by share of repeated data", DUPLICATE))
        .chart(memory)
        .chart(sets)
        .chart(map)
        .say(sentence, savings.into_iter().chain(checked))
}

/// The sentence if no rule found a trick. It says how small an effect of content would have been
/// seen, or that none could be.
fn no_tricks(out: &Outcome) -> String {
    match largest_gain(out) {
        Some(gain) if gain < 0.005 => "No tricks found. Content gains nothing.".into(),
        Some(gain) => format!("No tricks found. Content gains {:.0}% at most.", 100.0 * gain),
        None => "Undetermined: the writes scatter too much to reveal compression.".into(),
    }
}

/// The largest gain that the measurement of contents permits, as a fraction; `None` if it could
/// not tell.
fn largest_gain(out: &Outcome) -> Option<f64> {
    let verdict = out.verdicts.iter().find(|v| v.kind == VerdictKind::Incompressible)?;
    let ends = verdict.evidence.iter().filter(|evidence| evidence.name.ends_with(", high"));
    ends.map(|evidence| evidence.value - 1.0).reduce(f64::max).map(|gain| gain.max(0.0))
}

/// A source at the position of its size.
fn point<'o>((metric, at): (&'o Metric, Places<'o>)) -> (&'o str, f64) {
    (&metric.name, at.bytes(0) as f64)
}

/// A chart of writes by their share of one kind of redundant content.
fn levels(title: &str, writes: MetricInfo) -> Chart {
    Chart::bars(title, Unit::BytesPerSecond)
        .sources(savings::LEVELS.map(|percent| (writes.member(&[&percent]), format!("{percent}%"))))
}
