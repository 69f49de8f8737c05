//! The answer of `stream`: for a camera yes or no, without one the recording rate.

use record::Statistic::{
    Buffer, Frames, LongestStall, LosslessRate, LostFrames, MetadataWrites, Ratio,
};
use record::{Answer, Axis, Better, Chart, Metric, MetricKey, Statistic, Unit};
use script::Outcome;
use script::draft::{Draft, grouped, rate};
use workload::units::{binary, decimal, duration, latency};

use super::{ASKED, BUFFER_GIVEN, CAMERA_RATE, FRAME_BYTES, RAW, RECORDED};

/// Passes and their names in charts, the full drive first.
const PASSES: [(&str, &str); 6] = [
    ("exfat-full", "exFAT, full drive"),
    ("fat32-full", "FAT32, full drive"),
    ("exfat", "exFAT"),
    ("fat32", "FAT32"),
    ("file", "file"),
    ("raw", "no file system"),
];

/// The recordings of an outcome.
struct Recordings<'o> {
    out: &'o Outcome,
    /// Key of the rate and name of each.
    passes: Vec<(MetricKey, &'static str)>,
}

/// The answer of `stream`.
pub(super) fn answer(out: &Outcome) -> Option<Answer> {
    let passes = PASSES.map(|(pass, label)| (RECORDED.member(&[&pass]), label));
    let passes = passes.into_iter().filter(|(pass, _)| out.metric(pass).is_some()).collect();
    let recordings = Recordings { out, passes };
    match out.value(CAMERA_RATE) {
        Some(camera_rate) => recordings.of_camera(camera_rate),
        None => recordings.flat_out(),
    }
}

impl<'o> Recordings<'o> {
    /// Yes or no: can a camera of this rate be recorded?
    fn of_camera(&self, camera_rate: f64) -> Option<Answer> {
        let lost_frames = self.worst(LostFrames, 1.0)?;
        let pass = MetricKey::from(lost_frames).without_statistic();
        let frames = self.out.value(pass.clone().with(Frames))?;
        let frame_bytes = self.out.value(FRAME_BYTES)?;
        let bytes = frames * frame_bytes;
        let is_complete = self.out.value(ASKED).is_none_or(|asked| bytes + frame_bytes > asked);
        let (sentence, continuations) = match (lost_frames.value?, is_complete) {
            (0.0, true) => self.yes(camera_rate, bytes),
            (lost, _) if lost > 0.0 => self.no(camera_rate, &pass, lost, frames),
            _ => self.too_long(camera_rate, bytes)?,
        };
        let draft = Draft::new(self.out, "Can the drive keep up with this camera?").tile(
            "Frames lost",
            lost_frames,
            Better::Lower,
        );
        let draft = self.buffer_tiles(draft);
        let draft = self.tiles(
            draft,
            [
                ("Longest stall", self.worst(LongestStall, 1.0), Better::Lower),
                ("Lossless, at least", self.worst(LosslessRate, -1.0), Better::Higher),
                ("Recorded", self.fresh(), Better::Higher),
            ],
        );
        let title = "Data that waits in the camera's buffer";
        let mut chart = Chart::lines(title, Axis::OwnTime, Unit::Bytes);
        for (pass, label) in self.passes.iter().rev() {
            chart = chart.source(pass.clone().with(Buffer).to_string(), *label);
        }
        if let Some(buffer) = self.out.value(BUFFER_GIVEN) {
            chart = chart.level(format!("buffer {}", binary(buffer as u64)), buffer, None);
        }
        let speed = self.speed().level(format!("camera {}", rate(camera_rate)), camera_rate, None);
        draft.chart_of_column(chart).chart_of_column(speed).say(sentence, continuations)
    }

    fn yes(&self, camera_rate: f64, bytes: f64) -> (String, Vec<String>) {
        let length = duration(bytes / camera_rate);
        let buffer = self.buffer_words();
        let sentence = format!("Yes: {} for {length} with {buffer}", rate(camera_rate));
        let stall = self.worst(LongestStall, 1.0).and_then(|stall| stall.value).map(latency);
        let states = if self.has_full() { ", fresh and full" } else { "" };
        let stalls = stall.map(|stall| format!("; longest stall {stall}."));
        let with_states = stalls.as_ref().map(|stalls| format!("{states}{stalls}"));
        (sentence, with_states.into_iter().chain(stalls).collect())
    }

    fn no(
        &self,
        camera_rate: f64,
        pass: &MetricKey,
        lost: f64,
        frames: f64,
    ) -> (String, Vec<String>) {
        let state = if is_full(pass) { " on a full drive" } else { "" };
        let (lost_count, count) = (grouped(lost), grouped(frames));
        let sentence = format!("No: {} loses {lost_count} of {count} frames", rate(camera_rate));
        let buffer = self.worst(Buffer, 1.0).and_then(|buffer| buffer.value);
        let buffer = buffer.filter(|_| self.catches_up(pass)).map(|bytes| decimal(bytes as u64));
        let remedy = buffer.map(|bytes| format!("; a buffer of {bytes} would lose none."));
        let lossless = self.worst(LosslessRate, -1.0).and_then(|lossless| lossless.value);
        let lossless = lossless.map(|keeps| format!("; {} loses none.", rate(keeps)));
        let continuations: Vec<String> = [remedy, lossless].into_iter().flatten().collect();
        let with_state = continuations.iter().map(|more| format!("{state}{more}"));
        (sentence, with_state.chain(continuations.clone()).chain([format!("{state}.")]).collect())
    }

    /// Nothing was lost, but the space ended before the recording.
    fn too_long(&self, camera_rate: f64, bytes: f64) -> Option<(String, Vec<String>)> {
        let asked_bytes = self.out.value(ASKED)?;
        let (length, room) = (duration(asked_bytes / camera_rate), duration(bytes / camera_rate));
        let sentence = format!("No: there is room for {room} of {length} at {}", rate(camera_rate));
        Some((sentence, vec!["; until then no frame is lost.".into()]))
    }

    /// Without a camera: how fast does it record?
    fn flat_out(&self) -> Option<Answer> {
        let recorded = self.fresh()?;
        let sentence = format!("Records {} on average", rate(recorded.value?));
        let lossless = self.worst(LosslessRate, -1.0).and_then(|lossless| lossless.value);
        let buffer = self.buffer_words();
        let lossless = lossless
            .map(|keeps| format!("; no frame is lost up to {} with {buffer}.", rate(keeps)));
        let question = "How fast can a camera be that the drive keeps up with?";
        let full = self.passes.iter().find(|(pass, _)| is_full(pass));
        let draft = self.tiles(
            Draft::new(self.out, question),
            [
                ("Recorded", Some(recorded), Better::Higher),
                (
                    "Recorded, full drive",
                    full.and_then(|(pass, _)| self.out.metric(pass)),
                    Better::Higher,
                ),
                ("Longest stall", self.worst(LongestStall, 1.0), Better::Lower),
                ("Lossless, at least", self.worst(LosslessRate, -1.0), Better::Higher),
                ("Share of raw speed", self.worst(Ratio, -1.0), Better::Higher),
                ("Metadata writes per GiB", self.worst(MetadataWrites, 1.0), Better::Lower),
            ],
        );
        let bars = Chart::bars("Speed of each recording", Unit::BytesPerSecond);
        let bars = bars.sources(self.passes.iter().rev().cloned());
        let has_series =
            self.passes.iter().any(|(pass, _)| draft.series(&pass.to_string()).is_some());
        let worst = self.worst(LosslessRate, -1.0).and_then(|lossless| lossless.value);
        let speed = match worst {
            Some(keeps) => self.speed().level(format!("lossless {}", rate(keeps)), keeps, None),
            None => self.speed(),
        };
        let draft = if has_series { draft.chart_of_column(speed) } else { draft.chart(bars) };
        draft.say(sentence, lossless)
    }

    /// The speed of each recording over the bytes written.
    fn speed(&self) -> Chart {
        let title = "Recording speed while the drive fills";
        let chart = Chart::lines(title, Axis::BytesWritten, Unit::BytesPerSecond);
        chart.sources(self.passes.iter().rev().cloned())
    }

    /// The rate of the recording on a fresh drive or into a file.
    fn fresh(&self) -> Option<&'o Metric> {
        let raw = MetricKey::from(RAW);
        let (files, without_files): (Vec<_>, Vec<_>) =
            self.passes.iter().rev().partition(|(pass, _)| *pass != raw);
        let (pass, _) = files.first().or(without_files.first())?;
        self.out.metric(pass)
    }

    /// The metric of the worst recording into files: a camera relies on the drive in every state.
    fn worst(&self, statistic: Statistic, sign: f64) -> Option<&'o Metric> {
        let raw = MetricKey::from(RAW);
        let files = self.passes.iter().filter(|(pass, _)| *pass != raw);
        let metrics = files.filter_map(|(pass, _)| self.out.metric(pass.clone().with(statistic)));
        let rank = |metric: &&Metric| metric.value.map_or(f64::NEG_INFINITY, |value| sign * value);
        metrics.max_by(|a, b| rank(a).total_cmp(&rank(b)))
    }

    /// Whether an unlimited buffer is empty enough at the end for the given one. If not, the drive is
    /// slower than the camera, and a longer recording needs a larger buffer.
    fn catches_up(&self, pass: &MetricKey) -> bool {
        let name = pass.clone().with(Buffer).to_string();
        let series = self.out.series.iter().find(|series| series.name == name);
        let waiting = series.and_then(|series| *series.column("waiting")?.values.last()?);
        waiting.zip(self.out.value(BUFFER_GIVEN)).is_some_and(|(last, buffer)| last <= buffer)
    }

    fn has_full(&self) -> bool {
        self.passes.iter().any(|(pass, _)| is_full(pass))
    }

    fn buffer_words(&self) -> String {
        let buffer = self.out.value(BUFFER_GIVEN);
        buffer.map_or("the given buffer".into(), |b| format!("a buffer of {}", binary(b as u64)))
    }

    /// The buffers that the camera needs, by the drive's state.
    fn buffer_tiles<'d>(&self, draft: Draft<'d>) -> Draft<'d> {
        self.passes.iter().rev().fold(draft, |draft, (pass, _)| {
            let label = match (is_full(pass), self.has_full()) {
                (true, _) => "Buffer needed, full drive",
                (false, true) => "Buffer needed, fresh drive",
                (false, false) => "Buffer needed",
            };
            draft.tile(label, pass.clone().with(Buffer), Better::Lower)
        })
    }

    fn tiles<'d, const N: usize>(
        &self,
        draft: Draft<'d>,
        tiles: [(&str, Option<&Metric>, Better); N],
    ) -> Draft<'d> {
        tiles.into_iter().fold(draft, |draft, (label, metric, better)| match metric {
            Some(metric) => draft.tile(label, metric, better),
            None => draft,
        })
    }
}

fn is_full(pass: &MetricKey) -> bool {
    pass.to_string().ends_with("-full")
}
