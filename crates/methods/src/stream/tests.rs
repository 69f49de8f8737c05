//! Recordings on a fake drive, with figures calculated by hand.

use std::time::Duration;

use fat::Problem;
use record::{FindingKind, Safety, TargetKind};
use rig::RigError;
use workload::Region;

use super::door::{Door, Traffic};
use super::{BUFFER, CHECKPOINT, CLUSTER, FILE_SIZE, FRAME, FS, INFO, LENGTH, RATE};
use script::test_drive::{Fake, Traits, perform};
use script::{MethodError, Options, Outcome, Result, Session};

const MIB: u64 = 1 << 20;

/// A frame of 1 MiB takes 8 ms on each of 8 channels: one frame per millisecond, 1048 MB/s.
fn traits() -> Traits {
    Traits {
        rate: MIB as f64 / 7e-3,
        command_ns: 1_000_000,
        flush_ns: 1_000_000,
        ..Traits::default()
    }
}

const FULL_RATE: f64 = MIB as f64 * 1000.0;

fn ran(fake: &mut Fake, options: &Options) -> (Outcome, Result<()>) {
    let mut out = Outcome::default();
    let result = perform(&INFO, fake, options, &mut out);
    (out, result)
}

fn done(fake: &mut Fake, options: &Options) -> Outcome {
    let (out, result) = ran(fake, options);
    result.expect("nothing is wrong");
    out
}

fn value(out: &Outcome, name: &str) -> Option<f64> {
    out.metrics.iter().find(|m| m.name == name)?.value
}

fn near(value: Option<f64>, truth: f64, share: f64) {
    assert!(value.is_some_and(|v| (v / truth - 1.0).abs() <= share), "{value:?} is not {truth}");
}

fn drive(bytes: u64) -> Fake {
    Fake::confirmed(traits(), bytes)
}

#[test]
fn a_directory_gets_one_file_and_the_camera_its_buffer() {
    let directory = || {
        let mut fake = drive(512 * MIB).that_stalls(&[(32 * MIB, 100_000_000)]);
        (fake.info.target.kind, fake.info.allowed) = (TargetKind::Directory, Safety::Scratch);
        fake
    };
    let options = Options { size: Some(512 * MIB), ..Options::default() };
    let out = done(&mut directory(), &options);
    // 64 frames in a row on each channel, a stall of 100 ms and a flush.
    near(value(&out, "stream-file"), 512.0 * MIB as f64 / (0.512 + 0.1 + 0.001), 0.01);
    near(value(&out, "stream-file.longest-stall"), 107e6, 0.02);
    assert_eq!(value(&out, "stream-raw"), None);
    // With a camera of half the rate, 50 frames arrive during the stall, and 8 are in flight.
    let paced = options.clone().with(&RATE, Some(FULL_RATE / 2.0));
    let out = done(&mut directory(), &paced);
    let buffer = value(&out, "stream-file.buffer").expect("a rate was given");
    near(Some(buffer), 52.0 * MIB as f64, 0.1);
    assert_eq!(value(&out, "stream-file.lost-frames"), Some(0.0), "64 MiB hold them");
    let small = done(&mut directory(), &paced.clone().with(&BUFFER, 20 * MIB));
    near(value(&small, "stream-file.lost-frames"), buffer / MIB as f64 - 20.0, 0.1);
    let exact = done(&mut directory(), &paced.with(&BUFFER, buffer as u64));
    assert_eq!(value(&exact, "stream-file.lost-frames"), Some(0.0));
}

#[test]
fn a_drive_is_recorded_raw_and_through_a_file_system_fresh_and_full() {
    let mut fake = drive(1024 * MIB);
    let out = done(&mut fake, &Options::default());
    near(value(&out, "stream-raw"), FULL_RATE, 0.02);
    let ratio = value(&out, "stream-exfat.ratio").expect("both were measured");
    assert!(ratio > 0.98 && ratio < 1.02, "{ratio}");
    for pass in ["stream-exfat", "stream-exfat-full"] {
        assert_eq!(value(&out, &format!("{pass}.metadata-reads")), Some(0.0));
        let writes = value(&out, &format!("{pass}.metadata-writes")).expect("counted");
        assert!((2.9..3.1).contains(&writes), "a bitmap, an entry, its end: {writes}");
        assert_eq!(value(&out, &format!("{pass}.metadata-waits")), Some(0.0));
    }
    let answer = out.answer.expect("declared");
    assert!(answer.headline.starts_with("Records 1.04 GB/s on average; no frame is lost up to "));
    assert!(out.warnings.is_empty(), "{:?}", out.warnings);
    assert!(answer.headline.ends_with(" with a buffer of 64 MiB."), "{}", answer.headline);
    let labels: Vec<_> = answer.tiles.iter().map(|tile| tile.label.as_str()).collect();
    assert_eq!(labels[..2], ["Recorded", "Recorded, full drive"]);
    let names: Vec<_> = out.series.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["stream-exfat-full", "stream-raw", "stream-exfat"]);
    for series in &out.series {
        let written = series.column("write").expect("a rate");
        let rates: Vec<f64> = written.values.iter().copied().flatten().collect();
        assert!(rates.len() > 4 && rates.iter().all(|rate| *rate > 0.3 * FULL_RATE), "{rates:?}");
    }
}

#[test]
fn a_camera_gets_its_buffer_on_the_fresh_and_on_the_full_drive() {
    let options = Options::default().with(&RATE, Some(FULL_RATE / 2.0));
    let out = done(&mut drive(256 * MIB), &options);
    assert_eq!(value(&out, "stream-raw"), None, "a camera asks nothing of it");
    let answer = out.answer.clone().expect("declared");
    let labels: Vec<_> = answer.tiles.iter().map(|tile| tile.label.as_str()).collect();
    assert_eq!(labels[1..3], ["Buffer needed, fresh drive", "Buffer needed, full drive"]);
    let said = "Yes: 524 MB/s for 0.5 s with a buffer of 64 MiB, fresh and full";
    assert!(answer.headline.starts_with(said), "{}", answer.headline);
    // The line that decides is in both charts.
    let lines = answer.charts.iter().map(|chart| chart.bands[0].label.as_str());
    assert_eq!(lines.collect::<Vec<_>>(), ["buffer 64 MiB", "camera 524 MB/s"]);
    assert_eq!(value(&out, "stream-exfat.lossless-rate"), None, "shorter than four buffers");
}

#[test]
fn a_camera_that_is_too_fast_loses_frames_and_the_sentence_says_no() {
    let options = Options::default().with(&RATE, Some(FULL_RATE * 2.0));
    let out = done(&mut drive(512 * MIB), &options);
    let headline = &out.answer.as_ref().expect("declared").headline;
    assert!(headline.starts_with("No: 2.10 GB/s loses "), "{headline}");
    assert!(
        headline.contains(" of 507 frames") && headline.ends_with(" loses none."),
        "{headline}"
    );
    let lossless = value(&out, "stream-exfat.lossless-rate").expect("long enough");
    assert!(lossless < FULL_RATE * 1.02, "{lossless}");
    // A stall, which a larger buffer bridges.
    let stalls = [(100 * MIB, 300_000_000)];
    let options = Options::default().with(&RATE, Some(FULL_RATE / 2.0));
    let out = done(&mut drive(512 * MIB).that_stalls(&stalls), &options);
    let headline = &out.answer.as_ref().expect("declared").headline;
    assert!(headline.starts_with("No: 524 MB/s loses "), "{headline}");
    assert!(headline.ends_with(" MB would lose none."), "{headline}");
}

#[test]
fn a_recording_has_the_length_asked_for_or_the_answer_says_how_much_fits() {
    let paced = Options::default().with(&RATE, Some(FULL_RATE / 4.0));
    let seconds = |seconds| paced.clone().with(&LENGTH, Some(Duration::from_secs(seconds)));
    let out = done(&mut drive(1024 * MIB), &seconds(2));
    assert_eq!(value(&out, "stream-exfat.frames"), Some(500.0));
    let headline = &out.answer.as_ref().expect("declared").headline;
    assert!(headline.starts_with("Yes: 262 MB/s for 2.0 s with "), "{headline}");
    let out = done(&mut drive(1024 * MIB), &seconds(60));
    let headline = &out.answer.as_ref().expect("declared").headline;
    let said = "No: there is room for 4.1 s of 60 s at 262 MB/s; until then no frame is lost.";
    assert_eq!(headline, said);
    // A length without a rate has no size.
    let length = Options::default().with(&LENGTH, Some(Duration::from_secs(60)));
    let (_, result) = ran(&mut drive(256 * MIB), &length);
    let text = result.expect_err("refused").to_string();
    assert!(text.ends_with("with --rate or --camera, whose recording it ends"), "{text}");
    // A file has no end of its own: it gets the size that is asked for.
    let mut directory = drive(256 * MIB);
    (directory.info.target.kind, directory.info.allowed) = (TargetKind::Directory, Safety::Scratch);
    let (_, result) = ran(&mut directory, &seconds(60));
    let text = result.expect_err("refused").to_string();
    assert!(
        text.ends_with("must be at most the file's 256 MiB; --size 15GiB gives it room"),
        "{text}"
    );
    // Only as much is planned as the camera makes.
    let short = script::plan(&INFO, &drive(1024 * MIB).info, &seconds(2)).expect("permitted");
    let whole = script::plan(&INFO, &drive(1024 * MIB).info, &paced).expect("permitted");
    assert!(short.seconds > 4.0 && short.seconds < whole.seconds, "{}", short.seconds);
    assert!(short.write_bytes_max < whole.write_bytes_max);
}

#[test]
fn a_file_is_refused_with_the_targets_that_would_do() {
    let mut fake = drive(256 * MIB);
    (fake.info.target.kind, fake.info.target.spec) = (TargetKind::File, "t.img".into());
    let (_, result) = ran(&mut fake, &Options::default());
    let text = result.expect_err("refused").to_string();
    assert!(text.ends_with("needs a whole drive or a directory, and t.img is a file"), "{text}");
}

#[test]
fn options_choose_file_system_frames_files_and_checkpoints() {
    let mut fake = drive(600 * MIB);
    let options = Options::default()
        .with(&FS, fat::VolumeKind::Fat32)
        .with(&CLUSTER, Some(8192))
        .with(&FRAME, 3 * MIB / 2)
        .with(&FILE_SIZE, 100 * MIB);
    let out = done(&mut fake, &options);
    // Two FATs and an entry for each file.
    let writes = value(&out, "stream-fat32.metadata-writes").expect("counted");
    near(Some(writes), 3.0 * 1024.0 / 100.0, 0.1);
    let plain = Options::default().with(&FILE_SIZE, 100 * MIB);
    let often = plain.clone().with(&CHECKPOINT, Some(40 * MIB));
    let writes = |options: &Options| {
        let out = done(&mut drive(600 * MIB), options);
        assert!(out.warnings.is_empty(), "{:?}", out.warnings);
        value(&out, "stream-exfat.metadata-writes").expect("counted")
    };
    let (few, many) = (writes(&plain), writes(&often));
    // Checkpoints begin after three quarters of a file, or of their distance.
    near(Some(many - few), 1024.0 / 30.0 - 1024.0 / 75.0, 0.25);
}

#[test]
fn a_card_that_is_pulled_out_is_an_error_and_what_was_measured_is_kept() {
    let mut fake = drive(512 * MIB);
    // In the middle of the last recording, after the fill and two other recordings.
    fake.traits.vanishes_at_ns = Some(4_900_000_000);
    let (out, result) = ran(&mut fake, &Options::default());
    let error = result.expect_err("gone").to_string();
    assert!(error.contains("write ") && error.contains("error"), "{error}");
    assert!(value(&out, "stream-exfat-full").is_some() && value(&out, "stream-exfat").is_none());
    let [warning] = &out.warnings[..] else { panic!("{:?}", out.warnings) };
    assert_eq!(warning.kind, FindingKind::RecordingCut);
    assert_eq!(warning.text, "the recording to exFAT broke off; no file is certain to be kept");
    assert!(warning.advice.as_ref().is_some_and(|advice| advice.starts_with("--checkpoint ")));
}

/// The part kept according to the finding: whole files, and bytes of the next.
fn kept(out: &Outcome) -> (u64, u64) {
    let cut = out.warnings.iter().find(|w| w.kind == FindingKind::RecordingCut).expect("a finding");
    let of = |name: &str| cut.evidence.iter().find(|e| e.name == name).expect("evidence").value;
    (of("files kept") as u64, of("bytes of the next") as u64)
}

/// Valid bytes and size of the files on the drive, on which the checker finds only that a recording
/// was cut. Every valid byte was recorded.
fn files(fake: &mut Fake, kind: fat::VolumeKind) -> Vec<(u64, u64)> {
    let mut traffic = Traffic::default();
    let (sector, bytes) = (fake.info.logical_block_bytes, fake.info.bytes);
    let mut session = Session::new(fake);
    let mut door = Door::new(&mut session, (sector, bytes), &mut traffic);
    let layout = fat::VolumeLayout::read(&mut door).expect("a volume");
    let (mut room, mut problems) = (vec![0; fat::check_room(&layout)], Vec::new());
    fat::check(&mut door, &mut room, &mut |problem| problems.push(problem)).expect("readable");
    problems.retain(|problem| match problem {
        Problem::Dirty | Problem::Lost { .. } | Problem::LongerThanFile { .. } => false,
        Problem::ValidBelowSize { .. } => kind == fat::VolumeKind::Fat32,
        Problem::FatsDiffer { .. } => kind == fat::VolumeKind::Exfat,
        _ => true,
    });
    assert_eq!(problems, []);
    let mut entries = Vec::new();
    let volume = fat::Volume::open(&mut door).expect("a volume");
    volume.list(&mut door, |entry| entries.push(*entry)).expect("a directory");
    drop(session);
    for entry in entries.iter().filter(|_| kind == fat::VolumeKind::Exfat) {
        let start = layout.sector_of(entry.first) * u64::from(sector);
        let held = fake.holds_content(Region { start, bytes: entry.valid });
        assert!(held, "{entry:?} has bytes that were never recorded");
    }
    entries.iter().map(|entry| (entry.valid, entry.bytes)).collect()
}

#[test]
fn reading_ahead_ends_with_the_volume() {
    let mut fake = drive(MIB);
    let (sector, mut traffic) = (fake.info.logical_block_bytes, Traffic::default());
    let mut session = Session::new(&mut fake);
    let mut door = Door::new(&mut session, (sector, MIB), &mut traffic).reading_ahead();
    for left in [200, 3, 1] {
        let last = MIB / u64::from(sector) - left;
        fat::SectorDrive::read(&mut door, last, &mut vec![0; sector as usize]).expect("readable");
    }
    drop(session);
    let ends: Vec<u64> = fake.door.reads.iter().map(|read| read.end()).collect();
    assert_eq!(ends, [MIB - 72 * u64::from(sector), MIB], "the last sectors were read ahead");
}

#[test]
fn pulled_out_at_any_request_it_keeps_every_file_up_to_the_last_checkpoint() {
    let exfat = (fat::VolumeKind::Exfat, 64 * MIB, 128 << 10, 5 * MIB, 3);
    // The minimum number of clusters of FAT32 requires this size.
    let fat32 = (fat::VolumeKind::Fat32, 300 * MIB, 4 << 10, 25 * MIB, 40);
    for (kind, bytes, cluster, file_bytes, step) in [exfat, fat32] {
        let options = Options::default()
            .with(&FS, kind)
            .with(&CLUSTER, Some(cluster))
            .with(&FILE_SIZE, file_bytes)
            .with(&CHECKPOINT, Some(2 * MIB));
        let (mut most_files, mut most_open) = (0, 0);
        for pulled_at in (10..).step_by(step) {
            let mut fake = drive(bytes);
            fake.info.logical_block_bytes = 4096;
            fake.door.keeps_frames = true;
            fake.pull_out_in(pulled_at);
            let (out, result) = ran(&mut fake, &options);
            let error = result.expect_err("gone");
            if !out.metrics.is_empty() {
                // After the first recording.
                break;
            }
            assert!(matches!(error, MethodError::Rig(RigError::Io { .. })), "{error}");
            if out.warnings.is_empty() {
                // Before the file system exists.
                continue;
            }
            let kept = kept(&out);
            fake.restart();
            let there = files(&mut fake, kind);
            let (whole, rest) = there.split_at(kept.0 as usize);
            assert!(whole.iter().all(|(valid, bytes)| valid == bytes), "{kept:?} of {there:?}");
            let next = rest.first().map_or(0, |(valid, _)| *valid);
            assert!(next >= kept.1, "{kept:?} of {there:?}");
            (most_files, most_open) = (most_files.max(kept.0), most_open.max(kept.1));
        }
        // FAT32 confirms a file with the checkpoint in the next one.
        let (files, marks) = if kind == fat::VolumeKind::Exfat { (10, 4 * MIB) } else { (9, 0) };
        assert!(most_files >= files && most_open == marks, "{most_files}, {most_open}");
    }
}

#[test]
fn no_checkpoint_covers_a_write_that_failed() {
    let mut fake = drive(64 * MIB);
    fake.door.keeps_frames = true;
    // The drive stays connected: a block is bad, and flushes succeed.
    fake.door.dead_from = Some(39 * MIB);
    let options = Options::default().with(&CHECKPOINT, Some(8 * MIB));
    let (out, result) = ran(&mut fake, &options);
    assert!(result.is_err());
    let (whole, open) = kept(&out);
    assert!(whole == 0 && (24 * MIB..=39 * MIB).contains(&open), "{open}");
    assert_eq!(files(&mut fake, fat::VolumeKind::Exfat)[0].0, open);
}

#[test]
fn sectors_of_4096_bytes_are_recorded_alike() {
    let mut fake = drive(256 * MIB);
    fake.info.logical_block_bytes = 4096;
    let out = done(&mut fake, &Options::default());
    assert!(value(&out, "stream-exfat").is_some() && out.warnings.is_empty());
}

#[test]
fn a_drive_that_loses_what_it_acknowledged_is_found_out() {
    let damaged = |out: &Outcome| out.warnings.iter().any(|w| w.kind == FindingKind::VolumeDamaged);
    let one = Options::default().with(&FILE_SIZE, 16 * MIB);
    // 30 writes make a volume; after 40, some files exist, and the volume was never closed.
    // Nothing of the next volume exists, which is an error.
    let (out, result) = ran(&mut drive(256 * MIB).that_keeps(40), &one);
    assert!(damaged(&out) && result.is_err(), "{:?}", out.warnings);
    assert!(!damaged(&done(&mut drive(256 * MIB), &one)));
}

#[test]
fn impossible_options_are_refused_before_anything_is_written() {
    let mut fake = drive(256 * MIB);
    let (_, result) = ran(&mut fake, &Options::default().with(&FRAME, 200 * MIB));
    assert!(matches!(result, Err(MethodError::TooSmall { .. })));
    assert_eq!(fake.written, 0);
    let fat32 = Options::default().with(&FS, fat::VolumeKind::Fat32);
    let impossible = [
        (fat32.clone(), "cluster is 64 KiB, must be 512 B to 2 KiB for fat32 on 256 MiB"),
        (
            fat32.with(&CLUSTER, Some(128 << 10)),
            "cluster is 128 KiB, must be 512 B to 2 KiB for fat32 on 256 MiB",
        ),
        (
            Options::default().with(&CLUSTER, Some(32 << 20)),
            "cluster is 32 MiB, must be 512 B to 16 MiB for exfat on 256 MiB",
        ),
    ];
    for (options, text) in impossible {
        let (_, result) = ran(&mut fake, &options);
        assert_eq!(result.expect_err("refused").to_string(), text);
        let plan = script::plan(&INFO, &fake.info, &options).expect_err("refused in the plan");
        assert_eq!(plan.to_string(), text);
        assert_eq!(fake.written, 0);
    }
    let tiny = Options::default().with(&FS, fat::VolumeKind::Fat32).with(&FRAME, MIB);
    let (_, result) = ran(&mut drive(16 * MIB), &tiny);
    let text = result.expect_err("refused").to_string();
    assert!(text.contains("fat32 on 16 MiB: the drive is too small for"), "{text}");
}

#[test]
fn a_file_has_at_least_16_mib() {
    let file = |text: &str| {
        let mut options = Options::default();
        let parsed = options.parse(&FILE_SIZE, &[text.to_string()]);
        parsed.map(|()| options.get(&FILE_SIZE))
    };
    assert_eq!(file("16MiB"), Ok(16 << 20));
    assert_eq!(file("15MiB"), Err("a size with its unit, from 16MiB to 1024TiB".into()));
    let frame = Options::default().parse(&FRAME, &["512MiB".to_string()]);
    assert_eq!(frame, Err("a size with its unit, from 4KiB to 256MiB".into()));
    assert_eq!(Options::default().get(&FILE_SIZE), 16 << 30, "the default");
}
