//! `stream`: can a camera of this rate be recorded, and how large a buffer does it need?
//!
//! On a drive the file system is this program's own (`crates/fat`), and the drive is also recorded
//! without one, in the same state; in a directory, the mounted file system is used. The longest
//! stall, the buffer and the lost frames are computed from the completion time of every frame
//! (`camera.rs`).

mod answer;
mod camera;
mod cameras;
mod door;
mod options;
mod pass;
#[cfg(test)]
mod tests;

use fat::{FormatParameters, Recorder, Recording, SurvivingPart, VolumeKind};
use record::{
    Evidence, Finding, FindingKind, Level, MetricKey, Safety, Series, State, Statistic, TargetKind,
    Unit,
};
use rig::{BlockWay, KindStats, Measurement, RigError, TargetInfo};
use workload::units::{binary, binary_tight, decimal};
use workload::{OpKind, Region};

use self::camera::Camera;
use self::door::{Door, Traffic};
pub(crate) use self::options::FS;
use self::options::{BUFFER, CAMERA, CHECKPOINT, CLUSTER, FILE_SIZE, FRAME, LENGTH, RATE};
use self::pass::{Plain, Sink, of_fat};
pub(crate) use self::pass::{Take, Taken};
use rules::time_series::{BINS, TimeSeries};
use script::whole::Whole;
use script::{
    Bulk, Common, Conclusion, MethodError, MethodInfo, MetricInfo, Options, Result, Session,
    TestRegion,
};

/// Nominal duration in seconds; the four passes over a drive determine the real one.
const SECONDS: f64 = 300.0;

/// Maximum rows of the time series from which the stored series is made.
const ROWS: usize = 2000;

/// A GiB, bytes.
const GIB: f64 = (1u64 << 30) as f64;

/// Limit of the bytes written for the tables and metadata of a new file system, beyond the region
/// itself: 1/n of the region, or the minimum in bytes. A recording ends before it exceeds the
/// limit.
const METADATA_SHARE: u64 = 16;
const METADATA_MIN: u64 = 4 << 20;

/// Small durable writes that a plan counts for each file, which is opened in two stages: each leaves
/// the place of the data, waits for a flush, and returns.
const COMMITS_PER_FILE: u64 = 4;

/// The method.
pub(crate) static INFO: MethodInfo = MethodInfo {
    name: "stream",
    summary: "can it keep up with a camera",
    about: "Records frames of 1 MiB (--frame), 8 in flight. On a drive opened with --destroy: over \
            the full drive through a new exFAT with clusters of 1 MiB (--fs, --cluster) in files \
            of 16 GiB (--file), each allocated in one piece before its data; then over the \
            discarded drive without a file system (not with --rate); then over the discarded drive \
            through the file system again, which stays there. In a directory: into one \
            preallocated file. Frames are written at the maximum rate, or at the rate of a camera \
            (--rate 2GB/s, --camera 4k24-prores-hq), whose frames arrive whether or not the drive \
            is ready, until the drive is full or for the time of --for. The results are the rate, \
            the longest stall, and a rate that a buffer (--buffer, 64 MiB) is certain to carry \
            without a lost frame; for a camera, whether it can be recorded, the buffer that it \
            needs and the frames that the buffer loses; and the cost of the metadata. --checkpoint \
            64MiB makes the recording durable that often. The file system is checked at the end.",
    safety: Safety::Destroys,
    seconds: SECONDS,
    writes: "the drive four times, for a camera three times; in a directory the file once",
    ignores: &[Common::Time, Common::Replicates],
    options: &[&RATE, &CAMERA, &LENGTH, &BUFFER, &FRAME, &FS, &CLUSTER, &FILE_SIZE, &CHECKPOINT],
    metrics: &[&[
        RECORDED,
        MetricInfo::ns(
            "stream-{raw,exfat,exfat-full,fat32,fat32-full,file}.longest-stall",
            "the longest time without a completed frame while one waited",
        ),
        MetricInfo::rate(
            "stream-{raw,exfat,exfat-full,fat32,fat32-full,file}.lossless-rate",
            "a rate at which a camera with that buffer is certain to lose no frame: the highest that \
         follows from the recording, at most --rate; absent if the recording was shorter than four \
         buffers",
        ),
        BUFFER_GIVEN,
        CAMERA_RATE,
        ASKED,
        FRAME_BYTES,
        MetricInfo::number(
            "stream-{exfat,exfat-full,fat32,fat32-full,file}.frames",
            "frames of the recording, with a camera",
        ),
        MetricInfo::bytes(
            "stream-{exfat,exfat-full,fat32,fat32-full,file}.buffer",
            "the buffer that a camera of --rate needs",
        ),
        MetricInfo::number(
            "stream-{exfat,exfat-full,fat32,fat32-full,file}.lost-frames",
            "frames that a camera of --rate loses with that buffer",
        ),
        MetricInfo::number(
            "stream-{exfat,fat32}.ratio",
            "the rate through the file system divided by the rate without it; absent with --rate",
        ),
        MetricInfo::number(
            "stream-{exfat,exfat-full,fat32,fat32-full}.{metadata-reads,metadata-writes}",
            "commands for metadata per GiB recorded, except those that make and close the volume",
        ),
        MetricInfo::bytes(
            "stream-{exfat,exfat-full,fat32,fat32-full}.metadata-bytes",
            "bytes of metadata per GiB recorded",
        ),
        MetricInfo::number(
            "stream-{exfat,exfat-full,fat32,fat32-full}.flushes",
            "flushes per GiB recorded",
        ),
        MetricInfo::number(
            "stream-{exfat,exfat-full,fat32,fat32-full}.metadata-waits",
            "times per GiB that the next frame waited for metadata, except for the first file",
        ),
    ]],
    primary: &["stream-{raw,exfat,fat32,file}", "stream-{exfat,fat32,file}.longest-stall"],
    run,
    answer: answer::answer,
    conclusion: Conclusion::Script,
    ..MethodInfo::EMPTY
};

const RECORDED: MetricInfo = MetricInfo::rate(
    "stream-{raw,exfat,exfat-full,fat32,fat32-full,file}",
    "rate of the frames until they are durable: without a file system; through a new one on \
         the discarded drive, and on the full one; into a file",
);
const BUFFER_GIVEN: MetricInfo = MetricInfo::bytes(
    "stream-buffer",
    "the camera's buffer (--buffer), which the lossless rates and the lost frames assume",
);
const CAMERA_RATE: MetricInfo =
    MetricInfo::rate("stream-camera", "the camera's rate (--rate or --camera)");
const ASKED: MetricInfo = MetricInfo::bytes("stream-asked", "bytes that the camera makes in --for");
const FRAME_BYTES: MetricInfo = MetricInfo::bytes("stream-frame", "size of the camera's frames");
const RAW: MetricInfo = RECORDED.named("stream-raw");
const FILE: MetricInfo = RECORDED.named("stream-file");

fn run(session: &mut Session<'_>, options: &Options) -> Result<()> {
    let target = &session.target().target;
    match target.kind {
        TargetKind::Directory => in_directory(session, options),
        TargetKind::File => Err(RigError::Refused(format!(
            "stream needs a whole drive or a directory, and {} is a file",
            target.spec
        ))
        .into()),
        _ => on_drive(session, options),
    }
}

/// The camera and the volume, from the options.
pub(crate) struct Script {
    pub frame_bytes: u64,
    /// The camera's rate, bytes per second.
    pub rate: Option<f64>,
    /// Bytes of a recording of the length asked for.
    pub asked_bytes: Option<u64>,
    pub buffer: u64,
    pub checkpoint: Option<u64>,
    pub kind: VolumeKind,
    pub cluster: u32,
    pub file_bytes: u64,
    /// Sector size and bytes of the region.
    pub volume: (u32, u64),
    /// Maximum bytes of the frames of a pass.
    pub recorded_bytes: u64,
    /// Seed of the content.
    pub seed: u64,
}

impl Script {
    pub fn new(target: &TargetInfo, options: &Options, bytes: u64) -> Result<Script> {
        let sector = target.logical_block_bytes.max(512);
        let kind = options.get(&FS);
        let usual = if kind == VolumeKind::Exfat { 1 << 20 } else { 64 << 10 };
        let frame_bytes = options.get(&FRAME).next_multiple_of(u64::from(sector));
        let rate = camera_rate(options)?;
        let asked_bytes = asked_bytes(options)?;
        if bytes < 2 * frame_bytes {
            return Err(MethodError::TooSmall { bytes, least: 2 * frame_bytes });
        }
        Ok(Script {
            frame_bytes,
            rate,
            asked_bytes,
            buffer: options.get(&BUFFER),
            checkpoint: options.get(&CHECKPOINT),
            kind,
            cluster: options.get(&CLUSTER).unwrap_or(usual),
            file_bytes: options.get(&FILE_SIZE),
            volume: (sector, bytes),
            recorded_bytes: asked_bytes
                .map_or(bytes, |asked| bytes.min(asked.max(2 * frame_bytes))),
            seed: options.seed,
        })
    }

    pub fn take(&self, rate: Option<f64>) -> Take {
        let (frame_bytes, frames) = (self.frame_bytes, self.recorded_bytes / self.frame_bytes);
        Take { frame_bytes, frames, rate, volume: self.volume, seed: self.seed }
    }

    pub fn name(&self) -> &'static str {
        match self.kind {
            VolumeKind::Exfat => "exfat",
            VolumeKind::Fat32 => "fat32",
        }
    }

    /// Whether the region can hold the file system with clusters of `cluster_bytes`.
    pub fn holds(&self, cluster_bytes: u32) -> bool {
        let (sector, bytes) = self.volume;
        FormatParameters::new(self.kind, cluster_bytes)
            .fits(sector, bytes / u64::from(sector))
            .is_ok()
    }

    /// Refuses an impossible file system. Must precede the first write.
    fn fits(&self) -> Result<()> {
        let (sector, bytes) = self.volume;
        let (format, sectors) =
            (FormatParameters::new(self.kind, self.cluster), bytes / u64::from(sector));
        let Err(reason) = format.fits(sector, sectors) else { return Ok(()) };
        let Some((least, most)) = format.cluster_bytes_range(sector, sectors) else {
            let text = format!("{} on {}: {reason}", self.name(), binary(bytes));
            return Err(RigError::Unsupported(text).into());
        };
        let range = format!("{} to {}", binary(u64::from(least)), binary(u64::from(most)));
        Err(MethodError::Option {
            option: "cluster",
            value: binary(u64::from(self.cluster)),
            range: format!("{range} for {} on {}", self.name(), binary(bytes)),
        })
    }

    /// Maximum bytes that a pass through the file system writes.
    pub fn written_max(&self) -> u64 {
        self.recorded_bytes + (self.volume.1 / METADATA_SHARE).max(METADATA_MIN)
    }

    fn plain(&self) -> Sink {
        let (unit, end) = (u64::from(self.volume.0), self.volume.1);
        Sink::Plain(Plain { end, unit, flush_every: self.checkpoint, next: 0, flushed: 0 })
    }
}

/// The rate of the camera that is asked about, bytes per second.
fn camera_rate(options: &Options) -> Result<Option<f64>> {
    match (options.get(&RATE), options.get(&CAMERA)) {
        (Some(_), Some(_)) => Err(MethodError::Option {
            option: "camera",
            value: "given beside --rate".into(),
            range: "given alone: both are the camera's rate".into(),
        }),
        (rate, camera) => Ok(rate.or(camera)),
    }
}

/// The bytes that the camera makes in the time asked for.
fn asked_bytes(options: &Options) -> Result<Option<u64>> {
    let Some(length) = options.get(&LENGTH) else { return Ok(None) };
    let Some(rate) = camera_rate(options)? else {
        return Err(MethodError::Option {
            option: "for",
            value: "given alone".into(),
            range: "given with --rate or --camera, whose recording it ends".into(),
        });
    };
    Ok(Some((length.as_secs_f64() * rate) as u64))
}

fn in_directory(session: &mut Session<'_>, options: &Options) -> Result<()> {
    let test_region = TestRegion::new(session.target(), options, SECONDS)?;
    // Only a drive has an end that the answer can be about; a file is as large as --size says.
    if let Some(bytes) = asked_bytes(options)?.filter(|bytes| *bytes > test_region.bytes) {
        let room = binary(test_region.bytes);
        return Err(MethodError::Option {
            option: "for",
            value: format!("{} at this rate", decimal(bytes)),
            range: format!(
                "at most the file's {room}; --size {} gives it room",
                binary_tight(bytes.div_ceil(1 << 30) << 30)
            ),
        });
    }
    let script = Script::new(session.target(), options, test_region.bytes)?;
    session.step(FILE.name, 0);
    if !session.plans() && session.target().target.direct == Some(false) {
        let text = "the file system refuses O_DIRECT: memory took the frames, not the drive";
        session.note(Finding::new(FindingKind::NotDirect, Level::Warn, text));
    }
    plain(session, &script, FILE.name, script.rate)
}

/// Runs a pass without a file system of its own.
fn plain(session: &mut Session<'_>, script: &Script, pass: &str, rate: Option<f64>) -> Result<()> {
    let take = script.take(rate);
    let bulk = [Bulk::once(BlockWay::Write, Region::first(script.recorded_bytes)).paced(rate)];
    let recording =
        session.transfer(pass, &bulk, |session| take.run(session, &mut script.plain()))?;
    if let Some(recording) = recording {
        publish(session, script, pass, &take, &recording);
        session.checkpoint();
    }
    Ok(())
}

fn on_drive(session: &mut Session<'_>, options: &Options) -> Result<()> {
    let whole = Whole::new(&INFO, session.target(), options)?;
    let script = Script::new(session.target(), options, whole.bytes())?;
    script.fits()?;
    let key = RECORDED.member(&[&script.name()]);
    let name = key.to_string();
    session.fill_region(&whole, "fill", whole.test_region.region())?;
    through_volume(session, &script, &format!("{name}-full"))?;
    // Both of the following passes begin on a drive that was full and then discarded, so that the
    // ratio compares equal histories. The file system comes last and stays.
    session.discard(&whole, "discard", whole.everything)?;
    if script.rate.is_none() {
        session.step(RAW.name, 0);
        session.set_state(State::Used);
        plain(session, &script, RAW.name, None)?;
        session.discard(&whole, "discard", whole.everything)?;
    }
    through_volume(session, &script, &name)?;
    if script.rate.is_none() {
        let rates = session.outcome().value(&key).zip(session.outcome().value(RAW));
        let ratio = rates.map(|(files, raw)| files / raw);
        session.put_value(key.with(Statistic::Ratio), Unit::Number, ratio);
        session.checkpoint();
    }
    Ok(())
}

/// Runs a pass through a new file system.
fn through_volume(session: &mut Session<'_>, script: &Script, pass: &str) -> Result<()> {
    session.step(pass, 0);
    let take = script.take(script.rate);
    if let Some(recording) = recorded(session, script, pass, &take)? {
        publish(session, script, pass, &take, &recording);
        session.checkpoint();
    }
    Ok(())
}

/// Makes a file system, records into it, closes and checks it. An aborted recording leaves a
/// finding that reports the part kept. `None` in a plan.
pub(crate) fn recorded(
    session: &mut Session<'_>,
    script: &Script,
    pass: &str,
    take: &Take,
) -> Result<Option<Taken>> {
    let mut part = None;
    let bytes = script.written_max();
    let region = Region::first(script.recorded_bytes);
    let commits = COMMITS_PER_FILE * script.recorded_bytes.div_ceil(script.file_bytes.max(1));
    let write = Bulk::new(BlockWay::Write, region, bytes).with_commits(commits);
    let bulk = [write.paced(take.rate)];
    let run = |session: &mut Session<'_>| record(session, script, take, &mut part);
    let recording = session.transfer(pass, &bulk, run);
    if let (Err(_), Some(part)) = (&recording, part) {
        session.note(broken_off(script, part));
    }
    recording
}

/// Sets `kept` to the part that is certain to be on the drive, as soon as there can be any.
fn record(
    session: &mut Session<'_>,
    script: &Script,
    take: &Take,
    kept: &mut Option<SurvivingPart>,
) -> Result<Taken> {
    session.set_state(State::Used);
    let mut room = vec![0; 1 << 20];
    let mut traffic = Traffic::default();
    let format = FormatParameters::new(script.kind, script.cluster);
    let mut door = Door::new(session, script.volume, &mut traffic);
    fat::mkfs(&mut door, &format, &mut room).map_err(of_fat)?;
    let recording = Recording {
        name: fat::Name::new("CLIP", "MOV")
            .ok_or(MethodError::Unfinished { part: "stream".into() })?,
        file_bytes: script.file_bytes,
        checkpoint_bytes: script.checkpoint,
        // 2026-01-01 00:00.
        time: ((2026 - 1980) << 9 | 1 << 5 | 1) << 16,
    };
    let recorder = Recorder::open(&mut door, recording, &mut room).map_err(of_fat)?;
    let mut sink = Sink::Files(Box::new(recorder));
    let recording = take.run(session, &mut sink);
    if let Sink::Files(recorder) = sink {
        *kept = Some(recorder.kept());
        if recording.is_ok() {
            let mut door = Door::new(session, script.volume, &mut traffic);
            *kept = Some(recorder.finish(&mut door).map_err(of_fat)?);
        }
    }
    let recording = recording?;
    check(session, script)?;
    Ok(recording)
}

/// The finding of an aborted recording: the part kept.
fn broken_off(script: &Script, kept: SurvivingPart) -> Finding {
    let system = if script.kind == VolumeKind::Exfat { "exFAT" } else { "FAT32" };
    let open = binary(kept.open_bytes);
    let kept_text = match (kept.files, kept.open_bytes) {
        (0, 0) => "no file is certain to be kept".to_string(),
        (0, _) => format!("kept: {open} of its first file, up to the last checkpoint"),
        (files, 0) => format!("files kept: the first {files}"),
        (files, _) => {
            format!(
                "files kept: the first {files}, and {open} of the next, up to the last checkpoint"
            )
        }
    };
    let text = format!("the recording to {system} broke off; {kept_text}");
    let finding = Finding::new(FindingKind::RecordingCut, Level::Warn, text)
        .with(Evidence::new("files kept", f64::from(kept.files), Unit::Number))
        .with(Evidence::new("bytes of the next", kept.open_bytes as f64, Unit::Bytes));
    match (script.kind, script.checkpoint) {
        (VolumeKind::Exfat, None) => finding.advise("--checkpoint 64MiB keeps the last file too"),
        _ => finding,
    }
}

/// Reads the volume back and reports inconsistencies.
fn check(session: &mut Session<'_>, script: &Script) -> Result<()> {
    let (mut traffic, mut problems) = (Traffic::default(), Vec::new());
    let mut door = Door::new(session, script.volume, &mut traffic).reading_ahead();
    let layout = fat::VolumeLayout::read(&mut door).map_err(of_fat)?;
    let mut room = vec![0; fat::check_room(&layout)];
    fat::check(&mut door, &mut room, &mut |problem| problems.push(problem)).map_err(of_fat)?;
    if let Some(first) = problems.first() {
        let count = problems.len();
        let text = format!("the recorded volume has {count} inconsistencies: {first:?}");
        session.note(Finding::new(FindingKind::VolumeDamaged, Level::Bad, text));
    }
    Ok(())
}

/// Publishes the metrics of a pass.
fn publish(session: &mut Session<'_>, script: &Script, pass: &str, take: &Take, recording: &Taken) {
    if recording.done_ns.is_empty() || recording.elapsed_ns == 0 {
        return;
    }
    let key = MetricKey::parse(pass);
    let figure = |statistic| key.clone().with(statistic);
    let rate = recording.bytes as f64 / (recording.elapsed_ns as f64 / 1e9);
    session.put_value(key.clone(), Unit::BytesPerSecond, Some(rate));
    let camera = Camera::new(take.frame_bytes, &recording.done_ns, |number| take.due_ns(number));
    let stall = camera.longest_stall_ns() as f64;
    session.put_value(figure(Statistic::LongestStall), Unit::Nanoseconds, Some(stall));
    let lossless = camera.lossless_rate(script.buffer, take.rate);
    if session.outcome().metric(BUFFER_GIVEN).is_none() {
        session.put(BUFFER_GIVEN, Some(script.buffer as f64));
    }
    session.put_value(figure(Statistic::LosslessRate), Unit::BytesPerSecond, lossless);
    if let Some(rate) = take.rate {
        if session.outcome().metric(CAMERA_RATE).is_none() {
            session.put(CAMERA_RATE, Some(rate));
            session.put(FRAME_BYTES, Some(script.frame_bytes as f64));
            session.put(ASKED, script.asked_bytes.map(|bytes| bytes as f64));
        }
        let buffer = camera.buffer(rate) as f64;
        session.put_value(figure(Statistic::Buffer), Unit::Bytes, Some(buffer));
        let frames = recording.done_ns.len() as f64;
        session.put_value(figure(Statistic::Frames), Unit::Number, Some(frames));
        let lost_frames = camera.film(rate, script.buffer).lost as f64;
        session.put_value(figure(Statistic::LostFrames), Unit::Number, Some(lost_frames));
        let name = figure(Statistic::Buffer).to_string();
        let mut waiting = Series::new(name, 0, recording.start_ns);
        for (end_ns, bytes) in camera.backlog(rate, BINS) {
            waiting.push(end_ns, &[("waiting", Unit::Bytes, Some(bytes as f64))]);
        }
        session.put_series(waiting);
    }
    if pass != RAW.name && pass != FILE.name {
        let per_gib = |count: u64| Some(count as f64 / (recording.bytes as f64 / GIB));
        let tally = &recording.tally;
        session.put_value(figure(Statistic::MetadataReads), Unit::Number, per_gib(tally.reads));
        session.put_value(figure(Statistic::MetadataWrites), Unit::Number, per_gib(tally.writes));
        session.put_value(figure(Statistic::MetadataBytes), Unit::Bytes, per_gib(tally.bytes));
        session.put_value(figure(Statistic::Flushes), Unit::Number, per_gib(tally.flushes));
        session.put_value(figure(Statistic::MetadataWaits), Unit::Number, per_gib(tally.waits));
    }
    let series = TimeSeries::from_measurement(&measurement(pass, take.frame_bytes, recording));
    if let Some(series) = series.series(pass, 0, recording.start_ns, BINS) {
        session.put_series(series);
    }
}

/// Converts a recording to a measurement with a time series.
fn measurement(pass: &str, frame_bytes: u64, recording: &Taken) -> Measurement {
    let mut m = Measurement { name: pass.into(), ..Measurement::default() };
    let per_row = recording.done_ns.len().div_ceil(ROWS);
    let (mut before, mut frames) = (0, 0);
    for row in recording.done_ns.chunks(per_row) {
        frames += row.len() as u64;
        let end = row.iter().copied().max().unwrap_or(0);
        // Frames completed at the same time as the previous row belong to the next row.
        if end <= before {
            continue;
        }
        let rate = (frames * frame_bytes) as f64 / ((end - before) as f64 / 1e9);
        m.series.push(end, &[("write", Unit::BytesPerSecond, Some(rate))]);
        (before, frames) = (end, 0);
    }
    m.elapsed_ns = recording.elapsed_ns;
    let writes = KindStats {
        ops: recording.done_ns.len() as u64,
        bytes: recording.bytes,
        ..KindStats::default()
    };
    m.kinds[OpKind::Write as usize] = Some(writes);
    m
}
