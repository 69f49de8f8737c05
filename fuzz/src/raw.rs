//! Targets that take raw bytes: partition tables, responses of drives, NVMe pages, and volumes
//! damaged by the input.

use std::cell::RefCell;
use std::hint::black_box;

use fat::{FormatParameters, Recorder, Volume, VolumeKind, mkfs};
use fuzz::{FuzzTarget, outcome};

use disk::Disk;

#[path = "../../crates/fat/tests/it/common/mod.rs"]
mod disk;

/// The targets with raw bytes.
pub const TARGETS: &[FuzzTarget] = &[
    FuzzTarget { name: "partitions", run: partitions, corpus: &[] },
    FuzzTarget { name: "answers", run: answers, corpus: &[] },
    FuzzTarget { name: "nvme", run: nvme_pages, corpus: &[] },
    FuzzTarget { name: "exfat", run: exfat, corpus: &[] },
    FuzzTarget { name: "fat32", run: fat32, corpus: &[] },
];

/// The first byte selects the block size; the rest is the start of the image.
fn partitions(input: &[u8]) -> u64 {
    let Some((first, image)) = input.split_first() else { return 0 };
    let block_bytes = if first & 1 == 0 { 512 } else { 4096 };
    let mut image = image.to_vec();
    image.resize(image.len().next_multiple_of(4096), 0);
    outcome(&drive::fuzzing::contents(&image, block_bytes))
}

fn answers(input: &[u8]) -> u64 {
    outcome(&drive::fuzzing::answers(input))
}

fn nvme_pages(page: &[u8]) -> u64 {
    use nvme::{health, identify};
    black_box(health::HealthLog::parse(page));
    black_box(health::flash_written(page));
    black_box(health::sanitize_status(page));
    black_box((0..=255).filter(|log| health::has_log(page, *log)).count());
    black_box(health::firmware_slots(page).count());
    black_box(identify::Info::parse(page));
    black_box(identify::namespace_list(page).count());
    let Some(namespace) = identify::Namespace::parse(page) else { return 0 };
    black_box(namespace.format_of(512));
    namespace.formats().count() as u64
}

thread_local! {
    static EXFAT: RefCell<Option<Disk>> = const { RefCell::new(None) };
    static FAT32: RefCell<Option<Disk>> = const { RefCell::new(None) };
}

fn exfat(input: &[u8]) -> u64 {
    EXFAT.with_borrow_mut(|clean| damaged(clean, VolumeKind::Exfat, input))
}

fn fat32(input: &[u8]) -> u64 {
    FAT32.with_borrow_mut(|clean| damaged(clean, VolumeKind::Fat32, input))
}

/// A clean volume with two files.
fn volume(kind: VolumeKind) -> Disk {
    let (cluster, bytes) =
        if kind == VolumeKind::Exfat { (4096, 8 << 20) } else { (512, 36 << 20) };
    let (mut disk, mut room) = (Disk::new(512, bytes), vec![0; 64 << 10]);
    let format = FormatParameters { root_bytes: 4096, ..FormatParameters::new(kind, cluster) };
    mkfs(&mut disk, &format, &mut room).expect("a volume");
    let cluster = u64::from(cluster);
    let recording = disk::recording(2 * cluster, None);
    let mut recorder = Recorder::open(&mut disk, recording, &mut room).expect("a recorder");
    assert!(disk::record(&mut disk, &mut recorder, 4 * cluster, cluster, 0), "room for both");
    recorder.finish(&mut disk).expect("closed");
    disk.clear_counts();
    disk
}

/// Damages a volume, then reads and checks it. The input is a list of damages of 8 bytes: which
/// written sector, the offset in it, the number of bytes, and up to four new bytes.
fn damaged(clean: &mut Option<Disk>, kind: VolumeKind, input: &[u8]) -> u64 {
    let mut disk = clean.get_or_insert_with(|| volume(kind)).clone();
    let sectors: Vec<u64> = disk.sectors.keys().copied().collect();
    for damage in input.chunks_exact(8) {
        let sector = sectors[usize::from(damage[0]) % sectors.len()];
        let offset = usize::from(u16::from_le_bytes([damage[1], damage[2]])) % 509;
        let count = 1 + usize::from(damage[3] & 3);
        disk.edit(sector, |bytes| {
            bytes[offset..offset + count].copy_from_slice(&damage[4..4 + count]);
        });
    }
    let Ok(mut volume) = Volume::open(&mut disk) else { return 1 };
    let mut entries = Vec::new();
    let listed = volume.list(&mut disk, |entry| entries.push(*entry)).is_ok();
    let mut piece = vec![0; 4096];
    for entry in entries.iter().take(8) {
        let middle = entry.bytes / 2 / 4096 * 4096;
        black_box(volume.read(&mut disk, entry, 0, &mut piece).is_ok());
        black_box(volume.read(&mut disk, entry, middle, &mut piece).is_ok());
    }
    let mut problems = 0;
    let mut room = vec![0; fat::check_room(volume.layout()).min(1 << 20)];
    let checked = fat::check(&mut disk, &mut room, &mut |_| problems += 1).is_ok();
    2 + u64::from(listed) + 2 * u64::from(checked) + 4 * problems
}
