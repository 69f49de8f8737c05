//! Tests power cuts before and during every write of a recording, with and without a volatile
//! cache.
//!
//! After each cut, the only problems are the dirty flag, lost clusters, an unfinished last file
//! and, on FAT32, two FATs that differ; earlier files are intact. A cut loses at most the distance
//! of checkpoints on exFAT and one file on FAT32.

use crate::common::{
    Dice, Disk, Event, Sectors, fsck, problems, put, record, record_counted, recording, verify,
};
use fat::{FormatParameters, Problem, Recorder, SurvivingPart, VolumeKind, mkfs};

const KIB: u64 = 1 << 10;

/// Size of a file, size of a frame, and distance of checkpoints, in bytes.
const FILE: u64 = 256 * KIB;
const FRAME: u64 = 16 * KIB;
const CHECKPOINT: u64 = 64 * KIB;

/// A recording after two earlier files: the drive with its log, and the content before the
/// recording.
struct Session {
    disk: Disk,
    before: Sectors,
}

fn session(kind: VolumeKind, checkpoint: Option<u64>, lies: bool) -> Session {
    let (cluster, bytes) =
        if kind == VolumeKind::Exfat { (4096, 4 << 20) } else { (512, 36 << 20) };
    let mut disk = Disk::new(512, bytes);
    let mut room = vec![0; 64 << 10];
    let format = FormatParameters { root_bytes: 4096, ..FormatParameters::new(kind, cluster) };
    mkfs(&mut disk, &format, &mut room).expect("made");
    let wanted = recording(FILE, checkpoint);
    let mut recorder = Recorder::open(&mut disk, wanted, &mut room).expect("opened");
    assert!(record(&mut disk, &mut recorder, FILE + 100 * KIB, FRAME, 0));
    recorder.finish(&mut disk).expect("finished");
    let before = disk.sectors.clone();
    disk.clear_counts();
    disk.lies = lies;
    let mut recorder = Recorder::open(&mut disk, wanted, &mut room).expect("opened");
    assert!(record(&mut disk, &mut recorder, 3 * FILE + 72 * KIB, FRAME, 2));
    let kept = recorder.finish(&mut disk).expect("finished");
    disk.log.push(Event::Kept(kept));
    Session { disk, before }
}

/// Number of data bytes submitted to the drive in this part of the log.
fn accepted(log: &[Event]) -> u64 {
    let bytes = log.iter().map(|event| match event {
        Event::Write { bytes, data: true, .. } => bytes.len() as u64,
        _ => 0,
    });
    bytes.sum()
}

/// Judges an image. The error describes the violation.
fn judge(kind: VolumeKind, image: &mut Disk, accepted: u64) -> Result<(), String> {
    let allowed = |problem: &Problem| match problem {
        Problem::Dirty | Problem::Lost { .. } | Problem::LongerThanFile { .. } => true,
        Problem::ValidBelowSize { .. } => kind == VolumeKind::Exfat,
        Problem::FatsDiffer { .. } => kind == VolumeKind::Fat32,
        _ => false,
    };
    let found = problems(image);
    let bad: Vec<_> = found.iter().filter(|problem| !allowed(problem)).collect();
    let files = verify(image);
    let earlier: Vec<_> = files.iter().filter(|(n, ..)| *n <= 2).copied().collect();
    let rest = 100 * KIB;
    if !bad.is_empty() || earlier != [(1, FILE, FILE), (2, rest, rest)] {
        return Err(format!("{bad:?} in {files:?}"));
    }
    let kept: u64 = files.iter().filter(|(n, ..)| *n > 2).map(|(_, valid, _)| valid).sum();
    let most = if kind == VolumeKind::Exfat { CHECKPOINT } else { FILE };
    let lost = accepted.saturating_sub(kept);
    if lost > most { Err(format!("{lost} bytes lost: {files:?}")) } else { Ok(()) }
}

/// Calls `each` with every image that a power cut can leave: the position in the log, and the
/// content of the drive.
fn cuts(session: &Session, volatile: bool, mut each: impl FnMut(usize, Disk)) {
    let (size, log) = (session.disk.size, &session.disk.log);
    let mut dice = Dice(0x00c0_ffee_1234_5678);
    // Everything before the start of the last flush is durable, and any part of the rest can be.
    let (mut durable, mut cached) = (session.before.clone(), session.before.clone());
    let write = |sectors: &mut Sectors, at: usize| {
        if let Event::Write { sector, bytes, .. } = &log[at] {
            put(sectors, size, *sector, bytes);
        }
    };
    let mut pending: Vec<usize> = Vec::new();
    let image = |sectors: Sectors| Disk::from_sectors(size, session.disk.count, sectors);
    for (at, event) in log.iter().enumerate() {
        each(at, image(cached.clone()));
        match event {
            Event::Flush(start) => {
                let later = pending.split_off(pending.partition_point(|at| at < start));
                pending.iter().for_each(|at| write(&mut durable, *at));
                pending = later;
            }
            Event::Kept(_) => {}
            Event::Write { sector, bytes, data } => {
                let count = bytes.len() / size as usize;
                // A cut during the write keeps its first sectors, or its last.
                let steps = if *data { count / 2 } else { 1 };
                for torn in (1..count).step_by(steps.max(1)) {
                    let mut cut = cached.clone();
                    put(&mut cut, size, *sector, &bytes[..torn * size as usize]);
                    each(at + 1, image(cut));
                    let mut cut = cached.clone();
                    put(&mut cut, size, sector + torn as u64, &bytes[torn * size as usize..]);
                    each(at + 1, image(cut));
                }
                put(&mut cached, size, *sector, bytes);
                pending.push(at);
            }
        }
        for _ in 0..if volatile { 4 } else { 0 } {
            let mut cut = durable.clone();
            for at in &pending {
                let Event::Write { sector, bytes, .. } = &log[*at] else { continue };
                for (number, piece) in (*sector..).zip(bytes.chunks(size as usize)) {
                    if dice.below(2) == 0 {
                        put(&mut cut, size, number, piece);
                    }
                }
            }
            each(at + 1, image(cut));
        }
    }
    each(log.len(), image(cached));
}

fn verdicts(kind: VolumeKind, volatile: bool, lies: bool) -> (usize, Vec<String>) {
    let session = session(kind, Some(CHECKPOINT), lies);
    let (mut images, mut wrong) = (0, Vec::new());
    cuts(&session, volatile, |at, mut image| {
        images += 1;
        if let Err(why) = judge(kind, &mut image, accepted(&session.disk.log[..at])) {
            wrong.push(format!("{kind:?}, cut at {at} of {}: {why}", session.disk.log.len()));
        }
    });
    (images, wrong)
}

#[test]
fn exfat_loses_at_most_the_distance_of_checkpoints() {
    let (images, wrong) = verdicts(VolumeKind::Exfat, true, false);
    assert!(images > 500, "{images}");
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn fat32_loses_at_most_a_file() {
    let (images, wrong) = verdicts(VolumeKind::Fat32, false, false);
    assert!(images > 300, "{images}");
    assert_eq!(wrong, Vec::<String>::new());
}

/// On FAT32, the end of a file is durable only after the next flush.
#[test]
fn fat32_on_a_volatile_cache_touches_no_earlier_file() {
    let (_, wrong) = verdicts(VolumeKind::Fat32, true, false);
    assert_eq!(wrong, Vec::<String>::new());
}

/// Returns the most bytes reported as durable, and the number of images that lack a part reported
/// as durable.
fn broken_promises(kind: VolumeKind, checkpoint: Option<u64>, lies: bool) -> (u64, usize) {
    let session = session(kind, checkpoint, lies);
    let (mut most, mut broken) = (0, 0);
    cuts(&session, true, |at, mut image| {
        let said = session.disk.log[..at].iter().rev().find_map(|event| match event {
            Event::Kept(kept) => Some(*kept),
            _ => None,
        });
        let SurvivingPart { files, open_bytes } = said.unwrap_or_default();
        let found: Vec<_> = verify(&mut image).into_iter().filter(|(n, ..)| *n > 2).collect();
        let whole = found.iter().take(files as usize).all(|(_, valid, bytes)| valid == bytes);
        let next = found.get(files as usize).map_or(0, |(_, valid, _)| *valid);
        let there = found.len() >= files as usize && whole && next >= open_bytes;
        broken += usize::from(!there);
        most = most.max(u64::from(files) * FILE + open_bytes);
    });
    (most, broken)
}

#[test]
fn a_recorder_says_truly_what_is_kept() {
    for (kind, checkpoint) in [
        (VolumeKind::Exfat, Some(CHECKPOINT)),
        (VolumeKind::Exfat, None),
        (VolumeKind::Fat32, None),
    ] {
        // Three files of full length and one shortened file.
        let (most, broken) = broken_promises(kind, checkpoint, false);
        assert_eq!((most, broken), (4 * FILE, 0), "{kind:?}, {checkpoint:?}");
    }
    let (_, broken) = broken_promises(VolumeKind::Exfat, Some(CHECKPOINT), true);
    assert!(broken > 0, "the test does not notice ignored flushes");
}

/// Between the first file and the end, nothing waits for metadata, although the flushes of a
/// checkpoint complete up to two frames late.
#[test]
fn frames_do_not_wait_for_the_end_of_a_file_or_a_checkpoint() {
    for (kind, checkpoint) in [
        (VolumeKind::Exfat, None),
        (VolumeKind::Exfat, Some(8 * CHECKPOINT)),
        (VolumeKind::Exfat, Some(16 * CHECKPOINT)),
        (VolumeKind::Fat32, None),
    ] {
        let (cluster, file) = (if kind == VolumeKind::Exfat { 4096 } else { 512 }, 8 * FILE);
        let mut disk = Disk::new(512, 40 << 20);
        let mut room = vec![0; 64 << 10];
        mkfs(&mut disk, &FormatParameters::new(kind, cluster), &mut room).expect("made");
        let wanted = recording(file, checkpoint);
        let mut recorder = Recorder::open(&mut disk, wanted, &mut room).expect("opened");
        let waits = record_counted(&mut disk, &mut recorder, 15 * file + FRAME, FRAME, 0);
        assert_eq!((waits, recorder.files()), (Some(0), 16), "{kind:?}, {checkpoint:?}");
        recorder.finish(&mut disk).expect("finished");
        let files = verify(&mut disk);
        assert!(files[..15].iter().all(|(_, valid, bytes)| valid == bytes && *bytes == file));
        assert_eq!((files.len(), problems(&mut disk)), (16, Vec::new()));
    }
}

#[test]
fn a_drive_that_ignores_flushes_is_noticed() {
    let (_, wrong) = verdicts(VolumeKind::Exfat, true, true);
    assert!(!wrong.is_empty(), "the cuts do not reveal a missing flush");
}

#[test]
fn fsck_keeps_every_earlier_file_and_everything_valid() {
    for kind in [VolumeKind::Exfat, VolumeKind::Fat32] {
        let session = session(kind, Some(CHECKPOINT), false);
        let (mut number, mut asked) = (0, 0);
        cuts(&session, false, |at, mut image| {
            number += 1;
            if number % 13 != 0 {
                return;
            }
            let file = image.image();
            let (check, repair) = match kind {
                VolumeKind::Exfat => ("-n", "-y"),
                VolumeKind::Fat32 => ("-n", "-a"),
            };
            let before = verify(&mut image);
            let Some((code, text)) = fsck(kind, &[check], file.path()) else { return };
            asked += 1;
            if kind == VolumeKind::Exfat {
                assert_eq!(code, 0, "cut at {at}: {text}");
            }
            fsck(kind, &[repair], file.path());
            image.reload(file.as_file());
            let after = verify(&mut image);
            for (n, valid, _) in
                before.iter().filter(|(n, ..)| kind == VolumeKind::Exfat || *n <= 2)
            {
                let kept = after.iter().find(|(m, ..)| m == n).map(|(_, valid, _)| *valid);
                assert_eq!(kept, Some(*valid), "cut at {at}, file {n}");
            }
        });
        println!("{kind:?}: fsck checked {asked} images");
    }
}
