//! Answers about sustained workloads: `sustain`, `heat`, `stream`.

use record::Statistic::{
    After, Average, Buffer, Cache, Cold, Hot, Hottest, Inside, LongestStall, LosslessRate,
    LostFrames, MetadataWrites, Ratio, TimeToThrottle, WorstPercent,
};
use record::{Answer, Axis, Better, Chart, Mark, Metric, Statistic, Unit, VerdictKind};
use workload::units::{binary, decimal, duration};

use crate::names::{STREAM_BUFFER, SUSTAIN_FRESH as FRESH, SUSTAIN_FULL as FULL};
use script::Outcome;
use script::draft::{Draft, name_of, rate};

/// The answer of `sustain`: the cache size, the throughput inside and after the cache, and that of
/// the full drive.
pub(crate) fn sustain(out: &Outcome) -> Option<Answer> {
    let draft = Draft::new(out, "How long does the speed last?");
    let average = draft.part(FRESH, Average)?;
    let cache = draft.find(&name_of(FRESH, Cache));
    let levels = [draft.part(FRESH, Inside), draft.part(FRESH, After)];
    let first = match (cache.and_then(|m| m.value), levels) {
        (Some(bytes), [Some(inside), Some(after)]) => {
            format!("{} at {}, then {}", decimal(bytes as u64), rate(inside), rate(after))
        }
        _ => format!("{} throughout, no cache end found", rate(average)),
    };
    let full = draft.part(FULL, Average);
    let full = full.map(|r| format!("; {} when the drive is full.", rate(r)));
    let tiles = [
        ("Cache", FRESH, Cache),
        ("Inside the cache", FRESH, Inside),
        ("After the cache", FRESH, After),
        ("Fresh drive, average", FRESH, Average),
        ("Full drive, average", FULL, Average),
        ("Slowest 1%", FRESH, WorstPercent),
        ("Slowest 1%, full", FULL, WorstPercent),
        ("Hottest", FULL, Hottest),
    ];
    let draft = tiles.into_iter().fold(draft, |draft, (label, pass, statistic)| {
        let better = if statistic == Hottest { Better::Lower } else { Better::Higher };
        draft.tile(label, &name_of(pass, statistic), better)
    });
    let rests = out.family("sustain-idle-{time}").map(|(m, at)| (m, at.seconds(0)));
    let draft = rests.fold(draft, |draft, (metric, seconds)| {
        draft.tile(&format!("After {seconds:.0} s idle"), &metric.name, Better::Higher)
    });
    let passes = |title: &str, unit| {
        let chart = Chart::lines(title, Axis::BytesWritten, unit);
        chart.source(FRESH, "fresh drive").source(FULL, "full drive")
    };
    let mut speed = passes("Write speed while the drive fills", Unit::BytesPerSecond);
    if let Some((cache, at)) = cache.and_then(|m| Some((m, m.value?))) {
        let label = "end of the cache".into();
        speed.marks.push(Mark { label, at, low: cache.low, high: cache.high });
        let [inside, after] = levels;
        if let Some(inside) = inside {
            speed = speed.level(rate(inside), inside, Some([0.0, at]));
        }
        if let Some(after) = after {
            speed = speed.level(rate(after), after, Some([at, 2.0 * at]));
        }
    }
    let recovered = out.family("sustain-idle-{time}.cache");
    let recovered = Chart::points("Cache recovered by idle time", Axis::Rest, Unit::Bytes)
        .joined("", recovered.map(|(metric, at)| (&metric.name, at.seconds(0))));
    draft
        .chart(speed)
        .chart_of_column(passes("Temperature while the drive fills", Unit::Celsius))
        .chart(recovered)
        .limit(&name_of(FRESH, After), VerdictKind::CacheEnd)
        .say(first, full)
}

/// The sustained load of `heat`, and the minute after the drive has cooled.
const LOAD: &str = "heat-load";
const COOLED: &str = "heat-cooled";

/// The answer of `heat`: whether and when the drive slowed down because of its temperature.
pub(crate) fn heat(out: &Outcome) -> Option<Answer> {
    let draft = Draft::new(out, "How warm does it get, and does it slow down?");
    let average = draft.value(LOAD)?;
    let [cold, hot] = [Cold, Hot].map(|statistic| draft.part(LOAD, statistic));
    let hottest = draft.part(LOAD, Hottest);
    let throttled = draft.part(LOAD, TimeToThrottle).map(|ns| ns / 1e9);
    let heat = draft.concluded(&VerdictKind::Heat);
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
        _ => match hottest {
            Some(c) => format!("No throttling: {} sustained, {c:.0} C at most", rate(average)),
            None => format!("No slowdown: {} sustained, temperature unknown", rate(average)),
        },
    };
    let again = draft.value(COOLED).map(|cooled| format!("; {} once cooled.", rate(cooled)));
    let work = |title: &str, unit| {
        let chart = Chart::lines(title, Axis::Time, unit);
        chart.source(LOAD, "sustained load").source(COOLED, "after cooling")
    };
    let mark = |chart: Chart| match throttled {
        Some(at) => chart.mark(if heat { "throttled" } else { "slows down" }, at),
        None => chart,
    };
    let draft = draft
        .tile("Sustained load", LOAD, Better::Higher)
        .tile("Cold", &name_of(LOAD, Cold), Better::Higher)
        .tile("Hot", &name_of(LOAD, Hot), Better::Higher)
        .tile("Hottest", &name_of(LOAD, Hottest), Better::Lower)
        .tile("Time to slow down", &name_of(LOAD, TimeToThrottle), Better::Higher)
        .tile("Once cooled", COOLED, Better::Higher);
    draft
        .chart(mark(work("Write speed under sustained load", Unit::BytesPerSecond)))
        .chart_of_column(mark(work("Temperature under sustained load", Unit::Celsius)))
        .limit(&name_of(LOAD, Hot), VerdictKind::Heat)
        .say(sentence, again)
}

/// The answer of `stream`: the recording rate, and the buffer that a camera needs or the camera
/// rate that a given buffer allows.
pub(crate) fn stream(out: &Outcome) -> Option<Answer> {
    let passes = [
        ("stream-exfat-full", "exFAT, full drive"),
        ("stream-fat32-full", "FAT32, full drive"),
        ("stream-exfat", "exFAT"),
        ("stream-fat32", "FAT32"),
        ("stream-file", "file"),
        ("stream-raw", "no file system"),
    ];
    let shown: Vec<_> = passes.into_iter().filter(|(pass, _)| out.metric(pass).is_some()).collect();
    let metric = |pass: &str, statistic| out.metric(&name_of(pass, statistic));
    // The worst state decides whether a camera can rely on the drive.
    let worst = |statistic: Statistic, sign: f64| {
        let found = shown.iter().filter(|(pass, _)| *pass != "stream-raw");
        let found = found.filter_map(|(pass, _)| metric(pass, statistic));
        let rank = |m: &&Metric| m.value.map_or(f64::NEG_INFINITY, |value| sign * value);
        found.max_by(|a, b| rank(a).total_cmp(&rank(b)))
    };
    let first = shown.iter().rev().find(|(pass, _)| *pass != "stream-raw").or(shown.first())?;
    let sustained = out.metric(first.0)?;
    let sentence = format!("Records {} on average", rate(sustained.value?));
    let (fresh, full): (Vec<_>, Vec<_>) =
        shown.iter().map(|(pass, _)| *pass).partition(|pass| !pass.ends_with("-full"));
    let buffer = |passes: &[&str]| passes.iter().find_map(|pass| metric(pass, Buffer));
    let [fresh_buffer, full_buffer] = [buffer(&fresh), buffer(&full)];
    let lossless = worst(LosslessRate, -1.0).and_then(|m| m.value);
    let bytes = |m: &Metric| m.value.map(|bytes| decimal(bytes as u64));
    let most = worst(Buffer, 1.0).and_then(bytes);
    let most = most.map(|most| format!("; the camera must buffer {most}."));
    let both = fresh_buffer.and_then(bytes).zip(full_buffer.and_then(bytes));
    let both = both.map(|(fresh, full)| {
        format!("; the camera must buffer {fresh}, or {full} on a full drive.")
    });
    let with = out.value(STREAM_BUFFER).map(|bytes| binary(bytes as u64));
    let with = with.map_or("the given".into(), |bytes| format!("a {bytes}"));
    let lossless =
        lossless.map(|r| format!("; no frame is lost up to {} with {with} buffer.", rate(r)));
    let more: Vec<String> = match most {
        Some(most) => both.into_iter().chain([most]).collect(),
        None => lossless.into_iter().collect(),
    };
    let full_rate = full.iter().find_map(|pass| out.metric(pass)).filter(|_| full_buffer.is_none());
    let buffer_label = if full_buffer.is_some() { "Buffer, fresh drive" } else { "Buffer needed" };
    let tiles = [
        ("Recorded", Some(sustained), Better::Higher),
        ("Recorded, full drive", full_rate, Better::Higher),
        ("Longest stall", worst(LongestStall, 1.0), Better::Lower),
        ("Lossless rate", worst(LosslessRate, -1.0), Better::Higher),
        (buffer_label, fresh_buffer, Better::Lower),
        ("Buffer, full drive", full_buffer, Better::Lower),
        ("Frames lost", worst(LostFrames, 1.0), Better::Lower),
        ("Share of raw speed", worst(Ratio, -1.0), Better::Higher),
        ("Metadata writes per GiB", worst(MetadataWrites, 1.0), Better::Lower),
    ];
    let question =
        "Can the drive keep up with a camera, and how large a buffer does the camera need?";
    let draft = Draft::new(out, question);
    let draft = tiles.into_iter().fold(draft, |draft, (label, metric, better)| match metric {
        Some(metric) => draft.tile(label, &metric.name, better),
        None => draft,
    });
    let title = "Recording speed while the drive fills";
    let chart = Chart::lines(title, Axis::BytesWritten, Unit::BytesPerSecond);
    let chart = chart.sources(shown.iter().rev().copied());
    let title = "Speed of each recording";
    let bars = Chart::bars(title, Unit::BytesPerSecond);
    let bars = bars.sources(shown.iter().rev().copied());
    let draft = match shown.iter().any(|(pass, _)| draft.series(pass).is_some()) {
        true => draft.chart_of_column(chart),
        false => draft.chart(bars),
    };
    draft.say(sentence, more)
}
