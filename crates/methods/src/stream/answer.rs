//! The answer of `stream`: the recording rate, and the buffer that a camera needs.

use super::{BUFFER_GIVEN, RAW, RECORDED};
use record::Statistic::{Buffer, LongestStall, LosslessRate, LostFrames, MetadataWrites, Ratio};
use record::{Answer, Axis, Better, Chart, Metric, MetricKey, Statistic, Unit};
use script::Outcome;
use script::draft::{Draft, rate};
use workload::units::{binary, decimal};

/// The answer of `stream`: the recording rate, and the buffer that a camera needs or the camera
/// rate that a given buffer allows.
pub(super) fn answer(out: &Outcome) -> Option<Answer> {
    let passes = [
        ("exfat-full", "exFAT, full drive"),
        ("fat32-full", "FAT32, full drive"),
        ("exfat", "exFAT"),
        ("fat32", "FAT32"),
        ("file", "file"),
        ("raw", "no file system"),
    ];
    let passes = passes.map(|(pass, label)| (RECORDED.member(&[&pass]), label));
    let recordings: Vec<_> =
        passes.into_iter().filter(|(pass, _)| out.metric(pass).is_some()).collect();
    let raw = MetricKey::from(RAW);
    let metric = |pass: &MetricKey, statistic| out.metric(pass.clone().with(statistic));
    // The worst state decides whether a camera can rely on the drive.
    let worst = |statistic: Statistic, sign: f64| {
        let files = recordings.iter().filter(|(pass, _)| *pass != raw);
        let rank = |m: &&Metric| m.value.map_or(f64::NEG_INFINITY, |value| sign * value);
        let metrics = files.filter_map(|(pass, _)| metric(pass, statistic));
        metrics.max_by(|a, b| rank(a).total_cmp(&rank(b)))
    };
    let first = recordings.iter().rev().find(|(pass, _)| *pass != raw).or(recordings.first())?;
    let sustained = out.metric(&first.0)?;
    let sentence = format!("Records {} on average", rate(sustained.value?));
    let (fresh, full): (Vec<_>, Vec<_>) = recordings
        .iter()
        .map(|(pass, _)| pass)
        .partition(|pass| !pass.to_string().ends_with("-full"));
    let buffer = |passes: &[&MetricKey]| passes.iter().find_map(|pass| metric(pass, Buffer));
    let [fresh_buffer, full_buffer] = [buffer(&fresh), buffer(&full)];
    let lossless = worst(LosslessRate, -1.0).and_then(|m| m.value);
    let bytes = |m: &Metric| m.value.map(|bytes| decimal(bytes as u64));
    let most = worst(Buffer, 1.0).and_then(bytes);
    let most = most.map(|most| format!("; the camera must buffer {most}."));
    let fresh_and_full = fresh_buffer.and_then(bytes).zip(full_buffer.and_then(bytes));
    let by_state = fresh_and_full.map(|(fresh, full)| {
        format!("; the camera must buffer {fresh}, or {full} on a full drive.")
    });
    let given_buffer = out.value(BUFFER_GIVEN).map(|bytes| binary(bytes as u64));
    let buffer_words = given_buffer.map_or("the given".into(), |bytes| format!("a {bytes}"));
    let lossless = lossless
        .map(|r| format!("; no frame is lost up to {} with {buffer_words} buffer.", rate(r)));
    let continuations: Vec<String> = match most {
        Some(most) => by_state.into_iter().chain([most]).collect(),
        None => lossless.into_iter().collect(),
    };
    let full_rate =
        full.iter().find_map(|pass| out.metric(*pass)).filter(|_| full_buffer.is_none());
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
        Some(metric) => draft.tile(label, metric, better),
        None => draft,
    });
    let title = "Recording speed while the drive fills";
    let chart = Chart::lines(title, Axis::BytesWritten, Unit::BytesPerSecond);
    let chart = chart.sources(recordings.iter().rev().cloned());
    let title = "Speed of each recording";
    let bars = Chart::bars(title, Unit::BytesPerSecond);
    let bars = bars.sources(recordings.iter().rev().cloned());
    let draft = if recordings.iter().any(|(pass, _)| draft.series(&pass.to_string()).is_some()) {
        draft.chart_of_column(chart)
    } else {
        draft.chart(bars)
    };
    draft.say(sentence, continuations)
}
