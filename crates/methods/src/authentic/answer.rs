//! The answer of `authentic`: whether a cache, compression or an ineffective flush makes the
//! numbers differ from the drive's speed.

use record::{Answer, Axis, Better, Chart, Metric, Places, Unit, VerdictKind};
use script::Outcome;
use script::draft::{Draft, rate, times};
use workload::units::{binary, latency};

/// See [`script::MethodInfo`].
pub(super) fn answer(out: &Outcome) -> Option<Answer> {
    let draft = Draft::new(out, "Do the numbers come from the drive?");
    if out.metrics.is_empty() {
        return None;
    }
    let [random, zeros, direct] =
        ["check-write-random", "check-write-zeros", "check-read-direct"].map(|k| draft.value(k));
    let flush = out.family("check-flush-{size}.p50").next();
    let flush = flush.and_then(|(m, _)| Some((m.name.clone(), m.value?)));
    let dedupes = draft.find("check-dedupe").is_some() && draft.find("check-compression").is_none();
    let sentence = match () {
        () if dedupes => match random.zip(draft.value("check-write-repeated")) {
            Some((random, repeated)) => {
                format!(
                    "Writes are deduplicated: repeated data is {} as fast.",
                    times(repeated / random)
                )
            }
            None => "Writes are deduplicated.".into(),
        },
        () if draft.concluded(&VerdictKind::Compressible) => {
            let dedupes = draft.find("check-dedupe").is_some();
            let also = if dedupes { " and deduplicated" } else { "" };
            match random.zip(zeros) {
                Some((random, zeros)) if zeros > random => {
                    let gain = times(zeros / random);
                    format!("Writes are compressed{also}: zeros are {gain} as fast.")
                }
                _ => format!("Writes are compressed{also}: content changes their speed."),
            }
        }
        () if draft.concluded(&VerdictKind::Flush) => match &flush {
            Some((_, ns)) => format!("A flush takes {}: too fast to be real.", latency(*ns)),
            None => "Flushes are too fast to be real.".into(),
        },
        () if draft.concluded(&VerdictKind::MapCache) => {
            let held = draft.value("check-map-held").unwrap_or_default() as u64;
            let miss = draft.value("check-map-miss").unwrap_or_default();
            let (held, miss) = (binary(held), latency(miss));
            format!("The map cache covers {held}: wider random reads may take {miss} longer.")
        }
        () if draft.concluded(&VerdictKind::DeviceCache) => {
            "The drive serves small working sets from its own cache.".into()
        }
        () if random.is_none() => match direct {
            Some(r) => format!("No tricks found in reads ({} direct).", rate(r)),
            None => "No tricks found in reads.".into(),
        },
        () => "No tricks found.".to_string(),
    };
    let checked = [
        (direct.is_some(), "memory"),
        (random.is_some(), "compression"),
        (flush.is_some(), "flush"),
        (out.family("check-read-within-{size}.p50").next().is_some(), "read cache"),
        (out.family("check-map-within-{size}").next().is_some(), "map"),
    ];
    let checked = [(true, "Checked"), (false, "Not checked")].map(|(done, word)| {
        let names: Vec<&str> = checked.iter().filter(|c| c.0 == done).map(|c| c.1).collect();
        if names.is_empty() { String::new() } else { format!(" {word}: {}.", names.join(", ")) }
    });
    let checked = Some(checked.concat());
    let kinds = [("check-compression", "compressible"), ("check-dedupe", "repeated")];
    let saved: String = kinds
        .into_iter()
        .filter_map(|(key, kind)| {
            let m = draft.find(key)?;
            let bound = if m.covers.is_some() { "At least " } else { "" };
            Some(format!(" {bound}{:.0}% of {kind} data is saved.", 100.0 * m.value?))
        })
        .collect();
    let saved = Some(saved).filter(|saved| !saved.is_empty());
    let contents = Chart::bars("Writes of different content", Unit::BytesPerSecond)
        .source("check-write-random", "random")
        .source("check-write-half", "half compressible")
        .source("check-write-repeated", "repeated")
        .source("check-write-zeros", "zeros");
    let memory = Chart::bars("Direct and cached reads", Unit::BytesPerSecond)
        .source("check-read-direct", "direct")
        .source("check-read-cached", "via the page cache");
    let title = "Latency of a single read by working-set size";
    let sets = Chart::points(title, Axis::WorkingSet, Unit::Nanoseconds)
        .joined("", out.family("check-read-within-{size}.p50").map(point));
    let title = "Random reads that wait for part of the map";
    let map = Chart::points(title, Axis::WorkingSet, Unit::Share)
        .joined("", out.family("check-map-within-{size}").map(point));
    let mut draft = draft
        .tile("Writes, random content", "check-write-random", Better::Higher)
        .tile("Writes of zeros", "check-write-zeros", Better::Neither)
        .tile("Direct reads", "check-read-direct", Better::Higher)
        .tile("Reads via the page cache", "check-read-cached", Better::Neither);
    if let Some((name, _)) = &flush {
        draft = draft.tile("Flush", name, Better::Lower);
    }
    if let Some((metric, _)) = out.family("rand-read-{size}-q32").next() {
        draft = draft.tile("Random reads", &metric.name, Better::Higher);
    }
    draft
        .chart(contents)
        .chart(levels("Writes by share of zeros", "compressible"))
        .chart(levels("Writes by share of repeated data", "duplicate"))
        .chart(memory)
        .chart(sets)
        .chart(map)
        .say(sentence, saved.or(checked))
}

/// A source at the position of its size.
fn point<'o>((metric, at): (&'o Metric, Places<'o>)) -> (&'o str, f64) {
    (&metric.name, at.bytes(0) as f64)
}

/// A chart of writes by their share of one kind of redundant content.
fn levels(title: &str, word: &str) -> Chart {
    let name = |percent| (format!("check-write-{word}-{percent}"), format!("{percent}%"));
    Chart::bars(title, Unit::BytesPerSecond).sources([0, 25, 50, 75, 100].map(name))
}
