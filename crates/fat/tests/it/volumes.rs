//! Tests that file systems are made, recorded to and read back correctly, and that independent
//! checkers agree.

use crate::common::{Disk, clip, find, fsck, problems, record, recording, verify};
use fat::{
    Error, FormatParameters, Name, Recorder, RecorderStep, Volume, VolumeKind, VolumeLayout, mkfs,
};

const MIB: u64 = 1 << 20;

fn made(kind: VolumeKind, sector: u32, cluster: u32, bytes: u64) -> Disk {
    let mut disk = Disk::new(sector, bytes);
    let mut room = vec![0; 64 << 10];
    let format = FormatParameters { root_bytes: 8 << 10, ..FormatParameters::new(kind, cluster) };
    mkfs(&mut disk, &format, &mut room).expect("made");
    disk.clear_counts();
    disk
}

/// Both kinds and sector sizes with several cluster sizes, each with a sufficient drive size.
fn shapes() -> Vec<(VolumeKind, u32, u32, u64)> {
    let mut shapes = Vec::new();
    for sector in [512, 4096] {
        for cluster in [4096, 32 << 10, 128 << 10, 1 << 20] {
            shapes.push((VolumeKind::Exfat, sector, cluster, 64 * MIB));
        }
    }
    shapes.push((VolumeKind::Exfat, 512, 2048, 16 * MIB));
    shapes.push((VolumeKind::Exfat, 512, 32 << 20, 1024 * MIB));
    shapes.push((VolumeKind::Fat32, 512, 512, 40 * MIB));
    shapes.push((VolumeKind::Fat32, 512, 64 << 10, 5000 * MIB));
    shapes.push((VolumeKind::Fat32, 4096, 4096, 300 * MIB));
    shapes.push((VolumeKind::Fat32, 4096, 64 << 10, 5000 * MIB));
    shapes
}

#[test]
fn a_new_volume_passes_every_checker() {
    for (kind, sector, cluster, bytes) in shapes() {
        let mut disk = made(kind, sector, cluster, bytes);
        assert_eq!(problems(&mut disk), [], "{kind:?} {sector} {cluster}");
        let layout = *Volume::open(&mut disk).expect("a volume").layout();
        assert_eq!((layout.sector_bytes, layout.cluster_bytes), (sector, cluster));
        if let Some((code, text)) = fsck(kind, &["-n"], disk.image().path()) {
            assert_eq!(code, 0, "{kind:?} {sector} {cluster}: {text}");
        }
    }
}

#[test]
fn recordings_are_read_back_and_pass_every_checker() {
    for (kind, sector, cluster, bytes) in shapes() {
        let mut disk = made(kind, sector, cluster, bytes);
        let mut room = vec![0; 64 << 10];
        let (unit, frame) = (u64::from(cluster).max(64 << 10), 24 << 10);
        for (session, checkpoint) in [(0, None), (1, Some(100 << 10))] {
            let wanted = recording(3 * unit, checkpoint);
            let mut recorder = Recorder::open(&mut disk, wanted, &mut room).expect("opened");
            // Two whole files and part of a third.
            let amount = 7 * unit + 8192;
            assert!(record(&mut disk, &mut recorder, amount, frame, 3 * session), "{kind:?}");
            recorder.finish(&mut disk).expect("finished");
        }
        let whole = 3 * unit / u64::from(cluster) * u64::from(cluster);
        let rest = 7 * unit + 8192 - 2 * whole;
        let sizes = [whole, whole, rest, whole, whole, rest];
        let expected: Vec<_> = (1..).zip(sizes).map(|(n, bytes)| (n, bytes, bytes)).collect();
        assert_eq!(verify(&mut disk), expected, "{kind:?} {sector} {cluster}");
        assert_eq!(problems(&mut disk), [], "{kind:?} {sector} {cluster}");
        if let Some((code, text)) = fsck(kind, &["-n"], disk.image().path()) {
            assert_eq!(code, 0, "{kind:?} {sector} {cluster}: {text}");
        }
    }
}

#[test]
fn dump_exfat_reads_the_label_and_the_geometry() {
    let Some(program) = find("dump.exfat") else {
        return println!("skipped: dump.exfat is not installed");
    };
    let disk = made(VolumeKind::Exfat, 512, 1 << 20, 256 * MIB);
    let image = disk.image();
    let run = std::process::Command::new(program).arg(image.path()).output().expect("runs");
    let text = String::from_utf8_lossy(&run.stdout).into_owned();
    let number = |words: &str| {
        let line = text.lines().find(|line| line.starts_with(words));
        let line = line.unwrap_or_else(|| panic!("{words} in {text}"));
        line.rsplit([' ', '\t']).next().unwrap_or_default().to_string()
    };
    assert_eq!(number("Volume label:"), "RECORDER");
    assert_eq!(number("Cluster size"), (1 << 20).to_string());
    assert_eq!(number("Sector Size Bits:"), "9");
}

#[test]
fn a_full_volume_ends_the_recording_and_keeps_it() {
    for (kind, cluster, bytes) in
        [(VolumeKind::Exfat, 4096, 4 * MIB), (VolumeKind::Fat32, 512, 40 * MIB)]
    {
        let mut disk = made(kind, 512, cluster, bytes);
        let mut room = vec![0; 64 << 10];
        let wanted = recording(MIB, Some(256 << 10));
        let mut recorder = Recorder::open(&mut disk, wanted, &mut room).expect("opened");
        let left = recorder.left();
        assert!(left > 3 * bytes / 4 && left < bytes);
        assert!(!record(&mut disk, &mut recorder, bytes, 64 << 10, 0));
        assert_eq!((recorder.place(512), recorder.left()), (RecorderStep::Sync, 0));
        assert_eq!(recorder.sync(&mut disk, &mut room), Err(Error::Full));
        recorder.finish(&mut disk).expect("finished");
        let files = verify(&mut disk);
        assert_eq!(files.iter().map(|(_, valid, _)| valid).sum::<u64>(), left);
        assert_eq!(problems(&mut disk), []);
    }
}

#[test]
fn a_full_directory_is_reported_and_everything_before_it_is_kept() {
    let mut disk = Disk::new(512, 16 * MIB);
    let mut room = vec![0; 4096];
    let format =
        FormatParameters { root_bytes: 2048, ..FormatParameters::new(VolumeKind::Exfat, 2048) };
    mkfs(&mut disk, &format, &mut room).expect("made");
    let mut recorder = Recorder::open(&mut disk, recording(4096, None), &mut room).expect("opened");
    assert!(!record(&mut disk, &mut recorder, MIB, 2048, 0));
    assert_eq!(recorder.files(), 4 + 3 * 5, "the first sector has three entries of the volume");
    assert_eq!(recorder.sync(&mut disk, &mut room), Err(Error::DirectoryFull));
    recorder.finish(&mut disk).expect("finished");
    assert_eq!(verify(&mut disk).len(), 19);
    assert_eq!(problems(&mut disk), []);
}

#[test]
fn the_last_file_number_ends_the_recording_and_keeps_it() {
    let mut disk = made(VolumeKind::Fat32, 512, 512, 40 * MIB);
    let mut room = vec![0; 64 << 10];
    let wanted = recording(64 << 10, None);
    let mut recorder = Recorder::open(&mut disk, wanted, &mut room).expect("opened");
    assert!(record(&mut disk, &mut recorder, 64 << 10, 64 << 10, 0));
    recorder.finish(&mut disk).expect("finished");
    let layout = VolumeLayout::read(&mut disk).expect("a volume");
    disk.edit(layout.sector_of(layout.root_cluster), |bytes| {
        let at = bytes.windows(8).position(|name| name == b"CLIP0001").expect("the file");
        bytes[at..at + 8].copy_from_slice(b"CLIP9998");
    });
    let mut recorder = Recorder::open(&mut disk, wanted, &mut room).expect("opened");
    assert!(!record(&mut disk, &mut recorder, MIB, 64 << 10, 0));
    assert_eq!(recorder.sync(&mut disk, &mut room), Err(Error::DirectoryFull));
    assert_eq!((recorder.files(), recorder.kept().files), (1, 1));
    recorder.finish(&mut disk).expect("finished");
    assert_eq!(problems(&mut disk), [], "no cluster is lost");
}

#[test]
fn impossible_volumes_are_refused() {
    let refused = |sector: u32, bytes: u64, kind, cluster| {
        let mut disk = Disk::new(sector, bytes);
        let format = FormatParameters::new(kind, cluster);
        let error = mkfs(&mut disk, &format, &mut [0; 4096]).expect_err("refused");
        let why = format.fits(sector, bytes / u64::from(sector)).expect_err("known in advance");
        assert_eq!(error, Error::Geometry(why));
        error
    };
    for error in [
        refused(512, 64 * MIB, VolumeKind::Exfat, 3000),
        refused(4096, 64 * MIB, VolumeKind::Exfat, 512),
        refused(512, 64 * MIB, VolumeKind::Exfat, 64 << 20),
        refused(512, 64 * MIB, VolumeKind::Fat32, 128 << 10),
        refused(512, 20 * MIB, VolumeKind::Fat32, 512),
        refused(512, 3 << 40, VolumeKind::Fat32, 64 << 10),
        refused(512, 256 << 10, VolumeKind::Exfat, 4096),
    ] {
        assert!(matches!(error, Error::Geometry(_)), "{error}");
    }
    let range =
        |kind, bytes: u64| FormatParameters::new(kind, 512).cluster_bytes_range(512, bytes / 512);
    assert_eq!(range(VolumeKind::Exfat, 128 * MIB), Some((512, 8 << 20)));
    assert_eq!(range(VolumeKind::Fat32, 128 * MIB), Some((512, 1024)));
    assert_eq!(range(VolumeKind::Fat32, 20 * MIB), None);
    for (kind, bytes) in [(VolumeKind::Exfat, 128 * MIB), (VolumeKind::Fat32, 128 * MIB)] {
        let (least, most) = range(kind, bytes).expect("it has a range");
        for cluster in [least, most] {
            let mut disk = Disk::new(512, bytes);
            mkfs(&mut disk, &FormatParameters::new(kind, cluster), &mut [0; 4096]).expect("made");
        }
    }
    let mut small = Disk::new(4096, 64 * MIB);
    let format = FormatParameters::new(VolumeKind::Exfat, 4096);
    assert_eq!(mkfs(&mut small, &format, &mut [0; 512]).err(), Some(Error::Room));
}

#[test]
fn names_are_short_and_uppercase() {
    assert_eq!(Name::new("CLIP", "mov"), None);
    assert_eq!(Name::new("RECORDING", "MOV"), None);
    assert_eq!(Name::new("", "MOV"), None);
    assert_ne!(clip(), Name::new("CLIP", "RAW").expect("a name"));
}

/// Counts the metadata commands (reads, writes, flushes) per GiB when filling a drive with files of
/// `file` bytes. The recorder waits only for the first file and at the end of the space.
fn commands(kind: VolumeKind, cluster: u32, file: u64, checkpoint: Option<u64>) -> [f64; 3] {
    let mut disk = Disk::new(512, 2_000_398_934_016);
    let mut room = vec![0; 512 << 10];
    mkfs(&mut disk, &FormatParameters::new(kind, cluster), &mut room).expect("made");
    let mut recorder =
        Recorder::open(&mut disk, recording(file, checkpoint), &mut room).expect("opened");
    disk.clear_counts();
    let (mut placed, mut waits) = (0u64, 0);
    loop {
        match recorder.place(MIB) {
            RecorderStep::Write { bytes, .. } => {
                placed += bytes;
                recorder.advance(&mut disk, &mut room).expect("advances");
            }
            RecorderStep::Sync => {
                waits += 1;
                if recorder.sync(&mut disk, &mut room).is_err() {
                    break;
                }
            }
        }
    }
    assert_eq!(waits, 2, "{kind:?}");
    assert!(placed > 1_999_000_000_000, "{kind:?}: {placed} of the whole drive");
    let each = |count: u64| count as f64 / (placed as f64 / (1u64 << 30) as f64);
    [each(disk.reads), each(disk.writes), each(disk.flushes)]
}

#[test]
fn a_gibibyte_costs_few_metadata_commands() {
    let gib = 1 << 30;
    let [reads, writes, flushes] = commands(VolumeKind::Exfat, 1 << 20, 16 * gib, None);
    assert_eq!(reads, 0.0);
    assert!(writes <= 0.19, "{writes}");
    assert!(flushes <= 0.14, "{flushes}");
    let [reads, writes, _] = commands(VolumeKind::Fat32, 64 << 10, 4 * gib, None);
    assert_eq!(reads, 0.0);
    assert!(writes <= 1.25, "{writes}");
    // A checkpoint takes one write and begins after three quarters of the interval.
    let [reads, writes, _] = commands(VolumeKind::Exfat, 1 << 20, 16 * gib, Some(64 * MIB));
    assert_eq!(reads, 0.0);
    assert!(writes <= 16.0 * 4.0 / 3.0 + 0.19, "{writes}");
}
