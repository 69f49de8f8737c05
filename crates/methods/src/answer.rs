//! Answers: how the sentence and the main numbers of a method follow from its outcome.
//!
//! Pure: everything comes from the metrics, verdicts and findings of the outcome, so that the answer
//! always agrees with the record it stands in.

use record::{
    Answer, Axis, Better, CellKey, Chart, ChartKind, Confidence, HEADLINE_MAX, Limit, Mark, Metric,
    MetricKey, Order, Stamp, Statistic, Tile, Unit, Verdict, VerdictKind,
};
use workload::OpKind;
use workload::units::{binary, decimal, throughput};

use crate::Outcome;
use crate::names::{SUSTAIN_FRESH as FRESH, SUSTAIN_FULL as FULL};

/// The answer of `quick`: rates of the deepest queues, and what bounds them.
pub(crate) fn quick(out: &Outcome) -> Option<Answer> {
    let cells = [
        ("Sequential reads", Order::Sequential, OpKind::Read),
        ("Sequential writes", Order::Sequential, OpKind::Write),
        ("Random reads", Order::Random, OpKind::Read),
        ("Random writes", Order::Random, OpKind::Write),
    ];
    let found = cells.map(|(label, order, op)| Some((label, deepest(out, order, op)?)));
    let value = |i: usize| found[i].and_then(|(_, metric)| metric.value);
    let rates = [value(0).map(|r| format!("Reads {}", rate(r))), value(1).map(rate)];
    let rates = match rates {
        [Some(reads), Some(writes)] => format!("{reads}, writes {writes}"),
        [Some(reads), None] => reads,
        _ => return None,
    };
    let random: Vec<String> = [value(2), value(3)].into_iter().flatten().map(count).collect();
    let iops = match random.is_empty() {
        true => ".".to_string(),
        false => format!("; {} random IOPS.", random.join("/")),
    };
    let tiles: Vec<Tile> =
        found.iter().flatten().map(|(l, m)| tile(l, m, Better::Higher)).collect();
    let limits: Vec<(&Tile, &Verdict)> = tiles.iter().filter_map(|t| bound(out, t)).collect();
    let heat = out.verdicts.iter().any(|verdict| verdict.kind == VerdictKind::Heat);
    let words = match limits.first() {
        Some((tile, verdict)) => part(&verdict.kind)
            .map(|part| limited_by(part, &tile.label.to_lowercase()))
            .unwrap_or_default(),
        None if heat => vec![" The drive slowed down in heat.".to_string()],
        None => Vec::new(),
    };
    let bars = |title: &str, unit: Unit| Chart {
        title: title.into(),
        kind: ChartKind::Bars,
        x: Axis::Workload,
        y: unit,
        sources: tiles.iter().filter(|t| t.unit == unit).map(|t| t.metric.clone()).collect(),
        marks: Vec::new(),
    };
    let charts = [
        bars("Large blocks in order", Unit::BytesPerSecond),
        bars("Small blocks at random", Unit::Iops),
    ];
    let limits = limits.iter().map(|(tile, verdict)| Limit {
        metric: tile.metric.clone(),
        by: verdict.kind.clone(),
        confidence: Confidence::Measured,
    });
    let limits = limits.collect();
    Some(Answer {
        question: "How fast is the drive, and can the numbers be believed?".into(),
        headline: headline(out, format!("{rates}{iops}"), &words),
        stamp: Stamp::of(&out.warnings, &out.verdicts),
        charts: charts.into_iter().filter(|chart| !chart.sources.is_empty()).collect(),
        limits,
        tiles,
        peers: Vec::new(),
    })
}

/// The answer of `sustain`: the cache, the rates inside and after it, and over a full drive.
pub(crate) fn sustain(out: &Outcome) -> Option<Answer> {
    use Statistic::{After, Average, Cache, Inside, WorstPercent};
    let of = |pass: &str, statistic| MetricKey::parse(pass).with(statistic).to_string();
    let metric = |name: String| out.metrics.iter().find(|m| m.name == name);
    let fresh = |statistic| metric(of(FRESH, statistic)).and_then(|m| m.value);
    let average = fresh(Average)?;
    let cache = fresh(Cache);
    let first = match (cache, fresh(Inside), fresh(After)) {
        (Some(bytes), Some(inside), Some(after)) => {
            format!("{} at {}, then {}", decimal(bytes as u64), rate(inside), rate(after))
        }
        _ => format!("{} from end to end, no cache ended", rate(average)),
    };
    let full = metric(of(FULL, Average)).and_then(|m| m.value);
    let full = full.map(|r| format!("; {} over the full drive", rate(r)));
    let labels = [
        ("Cache", FRESH, Cache),
        ("Inside the cache", FRESH, Inside),
        ("After the cache", FRESH, After),
        ("Fresh drive, all of it", FRESH, Average),
        ("Full drive, all of it", FULL, Average),
        ("Slowest hundredth", FRESH, WorstPercent),
    ];
    let tiles = labels.into_iter().filter_map(|(label, pass, statistic)| {
        Some(tile(label, metric(of(pass, statistic))?, Better::Higher))
    });
    let sources = [FRESH, FULL].map(String::from);
    let mark = cache.map(|at| Mark { label: "end of the cache".into(), at });
    let chart = Chart {
        title: "Write speed while the drive fills".into(),
        kind: ChartKind::Lines,
        x: Axis::BytesWritten,
        y: Unit::BytesPerSecond,
        sources: sources.into_iter().filter(|s| out.series.iter().any(|c| c.name == *s)).collect(),
        marks: mark.into_iter().collect(),
    };
    let ended = out.verdicts.iter().any(|v| v.kind == VerdictKind::CacheEnd);
    let limit = ended.then(|| Limit {
        metric: of(FRESH, After),
        by: VerdictKind::CacheEnd,
        confidence: Confidence::Measured,
    });
    Some(Answer {
        question: "How long does the speed last?".into(),
        headline: headline(out, first, &[full.unwrap_or_default() + ".", ".".to_string()]),
        stamp: Stamp::of(&out.warnings, &out.verdicts),
        tiles: tiles.collect(),
        charts: vec![chart],
        limits: limit.into_iter().collect(),
        peers: Vec::new(),
    })
}

/// The answer of `stream`: the rate, and the camera that a buffer carries or the buffer a camera
/// needs.
pub(crate) fn stream(out: &Outcome) -> Option<Answer> {
    use Statistic::{Buffer, LongestStall, LosslessRate, LostFrames, MetadataWrites, Ratio};
    let find = |name: &str| out.metrics.iter().find(|m| m.name == name && m.value.is_some());
    let passes = ["stream-exfat-full", "stream-fat32-full", "stream-exfat", "stream-fat32"];
    let passes = passes.into_iter().chain(["stream-file", "stream-raw"]);
    let shown: Vec<&str> = passes.filter(|pass| find(pass).is_some()).collect();
    let metric = |pass: &str, statistic| find(&MetricKey::parse(pass).with(statistic).to_string());
    // The figure of the worst state decides whether a camera can rely on the drive.
    let worst = |statistic, sign: f64| {
        let found = shown.iter().filter(|pass| **pass != "stream-raw");
        let found = found.filter_map(|pass| metric(pass, statistic));
        let rank = |m: &&Metric| m.value.map_or(f64::NEG_INFINITY, |value| sign * value);
        found.max_by(|a, b| rank(a).total_cmp(&rank(b)))
    };
    let first = shown.iter().rev().find(|pass| **pass != "stream-raw").or(shown.first())?;
    let sustained = find(first)?;
    let sentence = format!("Records {} on average", rate(sustained.value?));
    let buffer = worst(Buffer, 1.0).and_then(|m| m.value);
    let lossless = worst(LosslessRate, -1.0).and_then(|m| m.value);
    let more = match (buffer, lossless) {
        (Some(bytes), _) => format!("; that camera needs a buffer of {}.", decimal(bytes as u64)),
        (None, Some(r)) => format!("; no frame is lost up to {} with that buffer.", rate(r)),
        (None, None) => ".".into(),
    };
    let labels = [
        ("Recorded", Some(sustained), Better::Higher),
        ("Longest stall", worst(LongestStall, 1.0), Better::Lower),
        ("Lossless rate", worst(LosslessRate, -1.0), Better::Higher),
        ("Buffer needed", worst(Buffer, 1.0), Better::Lower),
        ("Frames lost", worst(LostFrames, 1.0), Better::Lower),
        ("Share of raw", worst(Ratio, -1.0), Better::Higher),
        ("Metadata writes per GiB", worst(MetadataWrites, 1.0), Better::Lower),
    ];
    let tiles = labels.into_iter().filter_map(|(label, m, better)| Some(tile(label, m?, better)));
    let chart = Chart {
        title: "Recording speed while the drive fills".into(),
        kind: ChartKind::Lines,
        x: Axis::BytesWritten,
        y: Unit::BytesPerSecond,
        sources: shown.iter().rev().map(|pass| pass.to_string()).collect(),
        marks: Vec::new(),
    };
    Some(Answer {
        question: "Can a camera be recorded, and which buffer does it need?".into(),
        headline: headline(out, sentence, &[more, ".".into()]),
        stamp: Stamp::of(&out.warnings, &out.verdicts),
        tiles: tiles.take(6).collect(),
        charts: vec![chart],
        limits: Vec::new(),
        peers: Vec::new(),
    })
}

/// The answer of `cluster`: the knee, and the cost of the smallest unit.
pub(crate) fn cluster(out: &Outcome) -> Option<Answer> {
    let find = |name: &str| out.metrics.iter().find(|m| m.name == name && m.value.is_some());
    let knee = find("cluster-knee-write")?;
    let rates: Vec<&Metric> =
        out.metrics.iter().filter(|m| m.name.starts_with("seq-write-unit-")).collect();
    let best = rates.iter().filter_map(|m| m.value).reduce(f64::max)?;
    let smallest = rates.first()?;
    let unit = binary(knee.value? as u64);
    let size = smallest.key().as_cell().map(|cell| binary(cell.block_bytes))?;
    let sentence = format!("Units of {unit} write {} or nearly that", rate(best));
    let more = format!("; {size} reach {:.0}% of it.", smallest.value? / best * 100.0);
    let tiles = [
        ("Unit for writes", find("cluster-knee-write"), Better::Lower),
        ("Unit for reads", find("cluster-knee-read"), Better::Lower),
        ("Smallest unit, writes", Some(*smallest), Better::Higher),
        ("Largest unit, writes", rates.last().copied(), Better::Higher),
    ];
    let chart = Chart {
        title: "Writes a unit at a time".into(),
        kind: ChartKind::Bars,
        x: Axis::Workload,
        y: Unit::BytesPerSecond,
        sources: rates.iter().map(|m| m.name.clone()).collect(),
        marks: Vec::new(),
    };
    let tiles = tiles.into_iter().filter_map(|(label, m, better)| Some(tile(label, m?, better)));
    Some(Answer {
        question: "Which allocation unit should a file system have?".into(),
        headline: headline(out, sentence, &[more, ".".into()]),
        stamp: Stamp::of(&out.warnings, &out.verdicts),
        tiles: tiles.collect(),
        charts: vec![chart],
        limits: Vec::new(),
        peers: Vec::new(),
    })
}

/// The sentences about a limit, the most exact first.
fn limited_by(part: &str, which: &str) -> Vec<String> {
    vec![format!(" The {part} limits {which}."), format!(" The {part} is one limit.")]
}

/// The sentence, with the first continuation that fits. Figures of memory are said to be none of the
/// drive's.
pub(crate) fn headline(out: &Outcome, sentence: String, more: &[String]) -> String {
    if let Stamp::NotTheDrive(_) = Stamp::of(&out.warnings, &out.verdicts) {
        return "These are not figures of the drive: see the first reason to distrust them.".into();
    }
    let room = HEADLINE_MAX.saturating_sub(sentence.chars().count());
    let fits = more.iter().find(|more| more.chars().count() <= room);
    sentence + fits.map_or("", String::as_str)
}

/// The rate of the cell with the most operations in flight.
fn deepest(out: &Outcome, order: Order, op: OpKind) -> Option<&Metric> {
    let depth = |metric: &&Metric| {
        let key = metric.key();
        let primary = |c: &&CellKey| c.order == order && c.op == Some(op) && c.words.is_empty();
        let cell = key.as_cell().filter(primary)?;
        key.statistic.is_none().then_some(cell.depth)
    };
    out.metrics.iter().filter(|m| depth(m).is_some()).max_by_key(depth)
}

/// The first cause that explains a tile.
fn bound<'t, 'o>(out: &'o Outcome, tile: &'t Tile) -> Option<(&'t Tile, &'o Verdict)> {
    let verdict = out.verdicts.iter().find(|verdict| verdict.explains(&tile.metric))?;
    Some((tile, verdict))
}

/// The part of the set-up that a cause is, as it stands in a sentence.
fn part(cause: &VerdictKind) -> Option<&'static str> {
    match cause {
        VerdictKind::Link => Some("link"),
        VerdictKind::Cpu => Some("processor"),
        VerdictKind::Heat => Some("drive's heat"),
        _ => None,
    }
}

pub(crate) fn tile(label: &str, metric: &Metric, better: Better) -> Tile {
    Tile {
        label: label.into(),
        metric: metric.name.clone(),
        unit: metric.unit,
        value: metric.value,
        low: metric.low,
        high: metric.high,
        better,
    }
}

/// `3.4 GB/s`, `12.6 MB/s`.
pub(crate) fn rate(bytes_per_s: f64) -> String {
    match bytes_per_s {
        r if r >= 9.95e9 => format!("{:.1} GB/s", r / 1e9),
        r if r >= 0.9995e9 => format!("{:.2} GB/s", r / 1e9),
        r => throughput(r),
    }
}

/// `640`, `88k`, `1.2M`.
pub(crate) fn count(value: f64) -> String {
    match value {
        v if v >= 999_500.0 => format!("{:.1}M", v / 1e6),
        v if v >= 9_950.0 => format!("{:.0}k", v / 1e3),
        v if v >= 999.5 => format!("{:.1}k", v / 1e3),
        v => format!("{v:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use record::{Explained, Finding, FindingKind, Level};

    use super::*;

    fn outcome(metrics: &[(&str, Unit, f64)]) -> Outcome {
        let metrics = metrics.iter().map(|(name, unit, v)| Metric::single(*name, *unit, *v));
        let mut out = Outcome::default();
        out.metrics = metrics.collect();
        out
    }

    fn verdict(kind: VerdictKind, workload: Option<&str>) -> Verdict {
        let explained = |name: &str| Explained { metric: name.into(), share: None };
        Verdict {
            explains: workload.map(explained).into_iter().collect(),
            ..Verdict::new(kind, "")
        }
    }

    fn measured() -> Outcome {
        outcome(&[
            ("seq-read-1MiB-q1", Unit::BytesPerSecond, 9e9),
            ("seq-read-1MiB-q8", Unit::BytesPerSecond, 3.4e9),
            ("seq-read-1MiB-q8.p50", Unit::Nanoseconds, 9e9),
            ("seq-write-1MiB-q8", Unit::BytesPerSecond, 12.6e6),
            ("rand-read-4KiB-q32", Unit::Iops, 88_400.0),
            ("rand-write-4KiB-q32", Unit::Iops, 1_240.0),
        ])
    }

    #[test]
    fn quick_reports_the_deepest_queues_and_the_bound_of_its_workload() {
        let mut out = measured();
        let answer = quick(&out).expect("measured");
        assert_eq!(answer.headline, "Reads 3.40 GB/s, writes 12.6 MB/s; 88k/1.2k random IOPS.");
        assert_eq!((answer.tiles.len(), answer.limits.len()), (4, 0));
        let limited = |out: &mut Outcome, kind, workload| {
            out.verdicts = vec![verdict(VerdictKind::Drive, None), verdict(kind, workload)];
            let answer = quick(out).expect("measured");
            let limits: Vec<_> = answer.limits.into_iter().map(|l| (l.metric, l.by)).collect();
            (answer.headline.split_once("IOPS.").expect("rates").1.to_string(), limits)
        };
        let table = [
            (VerdictKind::Link, "seq-read-1MiB-q8", " The link limits sequential reads."),
            // The exact sentence is one character too long.
            (VerdictKind::Link, "seq-write-1MiB-q8", " The link is one limit."),
            (VerdictKind::Cpu, "rand-read-4KiB-q32", " The processor is one limit."),
            (VerdictKind::Depth, "rand-write-4KiB-q32", ""),
        ];
        for (kind, name, words) in table {
            let limits = vec![(name.to_string(), kind.clone())];
            assert_eq!(limited(&mut out, kind, Some(name)), (words.to_string(), limits));
        }
        // The bound of a workload without a tile is none of the tiles' bounds.
        let none = (String::new(), Vec::new());
        assert_eq!(limited(&mut out, VerdictKind::Cpu, Some("mixed-4KiB-q32")), none);
        let heat = limited(&mut out, VerdictKind::Heat, None);
        assert_eq!(heat, (" The drive slowed down in heat.".to_string(), Vec::new()));
    }

    #[test]
    fn a_device_that_is_only_read_has_an_answer_about_reads() {
        let out = outcome(&[
            ("seq-read-1MiB-q8", Unit::BytesPerSecond, 5.2e8),
            ("rand-read-4KiB-q32", Unit::Iops, 640.0),
        ]);
        assert_eq!(quick(&out).expect("measured").headline, "Reads 520 MB/s; 640 random IOPS.");
        assert!(quick(&Outcome::default()).is_none() && sustain(&Outcome::default()).is_none());
    }

    #[test]
    fn memory_is_not_praised() {
        let mut out = measured();
        out.warnings = vec![Finding::new(FindingKind::ServedFromRam, Level::Bad, "")];
        let answer = quick(&out).expect("measured");
        assert_eq!(answer.stamp, Stamp::NotTheDrive(FindingKind::ServedFromRam));
        assert!(answer.headline.starts_with("These are not figures of the drive"));
        let mut out = measured();
        out.verdicts = vec![verdict(VerdictKind::Ram, None)];
        assert!(!quick(&out).expect("measured").headline.contains("GB/s"));
    }

    #[test]
    fn sustain_reports_the_cache_and_both_rates() {
        let all = [
            ("sustain-fresh.cache", Unit::Bytes, 170e9),
            ("sustain-fresh.inside", Unit::BytesPerSecond, 5.0e9),
            ("sustain-fresh.after", Unit::BytesPerSecond, 1.45e9),
            ("sustain-fresh.average", Unit::BytesPerSecond, 1.9e9),
            ("sustain-full.average", Unit::BytesPerSecond, 1.9e9),
        ];
        let answer = sustain(&outcome(&all)).expect("measured");
        let expected = "170 GB at 5.00 GB/s, then 1.45 GB/s; 1.90 GB/s over the full drive.";
        assert_eq!(answer.headline, expected);
        assert_eq!(answer.charts[0].marks[0].at, 170e9);
        let level = sustain(&outcome(&all[3..4])).expect("measured").headline;
        assert_eq!(level, "1.90 GB/s from end to end, no cache ended.");
        let longest = all.map(|(name, unit, v)| (name, unit, v * 1.234e4));
        let answer = sustain(&outcome(&longest)).expect("measured");
        assert!(answer.headline.chars().count() <= HEADLINE_MAX, "{}", answer.headline);
    }
}
