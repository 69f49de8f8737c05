//! Tests that the checker finds each kind of damage, including kinds that fsck reports as clean,
//! and that no input makes a parser panic.

use std::os::unix::fs::FileExt as _;

use crate::common::{Dice, Disk, fsck, problems, record, recording};
use fat::{
    DirectoryEntry, FormatParameters, Problem, Recorder, Volume, VolumeKind, VolumeLayout, mkfs,
};

const MIB: u64 = 1 << 20;

/// A clean volume with two files of two clusters each.
fn volume(kind: VolumeKind) -> Disk {
    let (cluster, bytes) =
        if kind == VolumeKind::Exfat { (4096, 8 * MIB) } else { (512, 36 * MIB) };
    let mut disk = Disk::new(512, bytes);
    let mut room = vec![0; 64 << 10];
    let format = FormatParameters { root_bytes: 4096, ..FormatParameters::new(kind, cluster) };
    mkfs(&mut disk, &format, &mut room).expect("made");
    let cluster = u64::from(cluster);
    let mut recorder =
        Recorder::open(&mut disk, recording(2 * cluster, None), &mut room).expect("opened");
    assert!(record(&mut disk, &mut recorder, 4 * cluster, cluster, 0));
    recorder.finish(&mut disk).expect("finished");
    assert_eq!(problems(&mut disk), []);
    disk
}

fn files(disk: &mut Disk) -> Vec<DirectoryEntry> {
    let mut files = Vec::new();
    let volume = Volume::open(disk).expect("a volume");
    volume.list(disk, |entry| files.push(*entry)).expect("a directory");
    files
}

fn layout(disk: &mut Disk) -> VolumeLayout {
    *Volume::open(disk).expect("a volume").layout()
}

/// The first sector of the root directory, and the offset of a file's entry set in it.
fn set_of(disk: &mut Disk, file: usize) -> (u64, usize) {
    let layout = layout(disk);
    let before = if layout.kind == VolumeKind::Exfat { 3 + 3 * file } else { 1 + file };
    (layout.sector_of(layout.root_cluster), before * 32)
}

/// Edits the stream extension of a file and updates the set's checksum.
fn edit_stream(disk: &mut Disk, file: usize, change: impl FnOnce(&mut [u8])) {
    edit_set(disk, file, 3, |set| change(&mut set[32..64]));
}

/// Edits the set of a file, which has this many entries, and updates its checksum.
fn edit_set(disk: &mut Disk, file: usize, entries: usize, change: impl FnOnce(&mut [u8])) {
    let (sector, at) = set_of(disk, file);
    disk.edit(sector, |bytes| {
        let set = &mut bytes[at..at + 32 * entries];
        change(set);
        let counted = set.iter().enumerate().filter(|(i, _)| !matches!(i, 2 | 3));
        let sum = counted.fold(0u16, |sum, (_, b)| sum.rotate_right(1).wrapping_add(u16::from(*b)));
        set[2..4].copy_from_slice(&sum.to_le_bytes());
    });
}

fn set_bits(disk: &mut Disk, clusters: std::ops::Range<u32>, on: bool) {
    let bitmap = layout(disk).sector_of(2);
    for cluster in clusters {
        let at = (cluster - 2) as usize;
        disk.edit(bitmap + (at / 4096) as u64, |bytes| {
            let mask = 1 << (at % 8);
            let byte = &mut bytes[at % 4096 / 8];
            *byte = if on { *byte | mask } else { *byte & !mask };
        });
    }
}

/// Whether fsck reports the image as clean; `None` without fsck.
fn fsck_is_content(disk: &Disk, kind: VolumeKind) -> Option<bool> {
    fsck(kind, &["-n"], disk.image().path()).map(|(code, _)| code == 0)
}

#[test]
fn exfat_damage_is_found_also_where_fsck_finds_none() {
    let kind = VolumeKind::Exfat;
    let clean = volume(kind);
    let all = files(&mut clean.clone());
    let (one, two) = (all[0], all[1]);
    let end = two.first + 2;
    let one_valid = move |valid: u64| {
        move |disk: &mut Disk| {
            edit_stream(disk, 0, |entry| entry[8..16].copy_from_slice(&valid.to_le_bytes()));
        }
    };
    type Damage = Box<dyn Fn(&mut Disk)>;
    let stale = |found: &[Problem]| {
        let stale = |problem: &Problem| matches!(problem, Problem::StaleCount { .. });
        found.iter().filter(|problem| !stale(problem)).copied().collect::<Vec<_>>()
    };
    let lost = end + 100;
    let rows: Vec<(&str, Damage, Vec<Problem>, bool)> = vec![
        (
            "1000 clusters in the bitmap without an entry",
            Box::new(move |disk| set_bits(disk, lost..lost + 1000, true)),
            vec![Problem::Lost { cluster: lost, count: 1000 }],
            true,
        ),
        (
            "a bitmap longer than its file",
            Box::new(move |disk| set_bits(disk, end..end + 5, true)),
            vec![Problem::LongerThanFile { cluster: end, count: 5 }],
            true,
        ),
        (
            "the dirty flag",
            Box::new(|disk| disk.edit(0, |boot| boot[106] |= 2)),
            vec![Problem::Dirty],
            true,
        ),
        (
            "a valid length below the size",
            Box::new(one_valid(512)),
            vec![Problem::ValidBelowSize { first: one.first, bytes: 8192 - 512 }],
            true,
        ),
        (
            "an entry without its bits",
            Box::new(move |disk| set_bits(disk, one.first..one.first + 2, false)),
            vec![Problem::NotAllocated { first: one.first, count: 2 }],
            false,
        ),
        (
            "a valid length over the size",
            Box::new(one_valid(8193)),
            vec![Problem::ValidOverSize { first: one.first }],
            false,
        ),
        (
            "shared clusters",
            Box::new(move |disk| {
                edit_stream(disk, 1, |entry| {
                    entry[20..24].copy_from_slice(&(one.first + 1).to_le_bytes());
                });
            }),
            vec![
                Problem::Shared { cluster: one.first + 1 },
                Problem::LongerThanFile { cluster: two.first + 1, count: 1 },
            ],
            false,
        ),
        (
            "a file past the last cluster",
            Box::new(|disk| {
                edit_stream(disk, 1, |entry| entry[20..24].copy_from_slice(&[0xff, 0xff, 0, 0]));
            }),
            vec![
                Problem::BadChain { first: 0xffff },
                Problem::LongerThanFile { cluster: two.first, count: 2 },
            ],
            false,
        ),
    ];
    for (name, damage, expected, fsck_calls_it_clean) in rows {
        let mut disk = clean.clone();
        damage(&mut disk);
        assert_eq!(stale(&problems(&mut disk)), expected, "{name}");
        // Versions of fsck differ in the damage expected to be clean, but none may miss the rest.
        match fsck_is_content(&disk, kind) {
            Some(content) if !fsck_calls_it_clean => assert!(!content, "{name}"),
            Some(content) => println!("{name}: fsck.exfat reports clean: {content}"),
            None => {}
        }
    }
}

#[test]
fn torn_sets_and_damaged_tables_of_exfat_are_found() {
    let clean = volume(VolumeKind::Exfat);
    let (sector, at) = set_of(&mut clean.clone(), 1);
    let found = |damage: &dyn Fn(&mut Disk)| {
        let mut disk = clean.clone();
        damage(&mut disk);
        problems(&mut disk)
    };
    for entry in 0..3 {
        let torn = found(&|disk| disk.edit(sector, |bytes| bytes[at + 32 * entry + 9] ^= 1));
        assert!(torn.contains(&Problem::TornSet { sector }), "{entry}: {torn:?}");
    }
    let short = found(&|disk| disk.edit(sector, |bytes| bytes[at + 64..].fill(0)));
    assert!(short.contains(&Problem::TornSet { sector }), "{short:?}");
    let boot = found(&|disk| disk.edit(0, |bytes| bytes[100] ^= 1));
    assert_eq!(boot, [Problem::BootChecksum { sector: 0 }, Problem::BackupDiffers]);
    let copy = found(&|disk| disk.edit(12, |bytes| bytes[100] ^= 1));
    assert_eq!(copy, [Problem::BootChecksum { sector: 12 }, Problem::BackupDiffers]);
    let layout = layout(&mut clean.clone());
    let upcase = layout.sector_of(3);
    let table = found(&|disk| disk.edit(upcase, |bytes| bytes[8] ^= 1));
    assert_eq!(table, [Problem::Upcase]);
    let past_end = found(&|disk| {
        let last = layout.clusters.div_ceil(8) as usize - 1;
        disk.edit(layout.sector_of(2) + last as u64 / 512, |bytes| bytes[last % 512] |= 0x80);
    });
    let partial = !layout.clusters.is_multiple_of(8);
    assert_eq!(past_end.contains(&Problem::BitsBehindEnd), partial, "{past_end:?}");
    let failed = found(&|disk| disk.edit(0, |boot| boot[106] |= 4));
    assert_eq!(failed, [Problem::MediaFailed]);
}

#[test]
fn a_set_may_end_in_a_vendor_entry_but_not_in_a_second_stream() {
    for (kind, expected) in [(0xe0, 2), (0xe1, 2), (0xc0, 1), (0xa0, 1)] {
        let mut disk = volume(VolumeKind::Exfat);
        edit_set(&mut disk, 1, 4, |set| {
            set[1] = 3;
            set[96] = kind;
        });
        assert_eq!(files(&mut disk).len(), expected, "with an entry of type {kind:#x}");
    }
}

#[test]
fn fat32_damage_is_found_by_both() {
    let clean = volume(VolumeKind::Fat32);
    let all = files(&mut clean.clone());
    let layout = layout(&mut clean.clone());
    let link = |disk: &mut Disk, copy: u64, cluster: u32, value: u32| {
        let sector = layout.fat_sector + copy * layout.fat_sectors + u64::from(cluster / 128);
        let at = (cluster % 128) as usize * 4;
        disk.edit(sector, |bytes| bytes[at..at + 4].copy_from_slice(&value.to_le_bytes()));
    };
    let both = |disk: &mut Disk, cluster, value| {
        (0..2).for_each(|copy| link(disk, copy, cluster, value));
    };
    let (one, two) = (all[0].first, all[1].first);
    let free = two + 500;
    let (sector, at) = set_of(&mut clean.clone(), 0);
    type Damage<'a> = Box<dyn Fn(&mut Disk) + 'a>;
    let stated = layout.clusters - 8 - 4;
    let rows: Vec<(&str, Damage<'_>, Vec<Problem>)> = vec![
        (
            "a chain without an entry",
            Box::new(|disk| {
                both(disk, free, free + 1);
                both(disk, free + 1, 0x0fff_ffff);
            }),
            vec![
                Problem::Lost { cluster: free, count: 2 },
                Problem::StaleCount { stated, counted: stated - 2 },
            ],
        ),
        (
            "a size below the chain",
            Box::new(|disk| {
                disk.edit(sector, |bytes| bytes[at + 28..at + 32].copy_from_slice(&[9, 0, 0, 0]))
            }),
            vec![Problem::LongerThanFile { cluster: one + 1, count: 1 }],
        ),
        (
            "stale hints",
            Box::new(|disk| disk.edit(1, |bytes| bytes[488] ^= 1)),
            vec![Problem::StaleCount { stated: stated ^ 1, counted: stated }],
        ),
        (
            "the dirty bit",
            Box::new(|disk| disk.edit(0, |bytes| bytes[65] |= 1)),
            vec![Problem::Dirty],
        ),
        (
            "copies that differ",
            Box::new(|disk| link(disk, 1, free, 0x0fff_ffff)),
            vec![Problem::FatsDiffer { sector: u64::from(free / 128) }],
        ),
        (
            "shared clusters",
            Box::new(|disk| both(disk, one + 1, two)),
            vec![Problem::Shared { cluster: two }],
        ),
        (
            "a chain that ends early",
            Box::new(|disk| both(disk, one, 0)),
            vec![Problem::BadChain { first: one }],
        ),
    ];
    for (name, damage, expected) in rows {
        let mut disk = clean.clone();
        damage(&mut disk);
        let found = problems(&mut disk);
        for problem in expected {
            assert!(found.contains(&problem), "{name}: {problem:?} in {found:?}");
        }
        if let Some(content) = fsck_is_content(&disk, VolumeKind::Fat32) {
            assert!(!content, "{name}: fsck.vfat reports clean");
        }
    }
}

#[test]
fn no_damage_makes_a_parser_panic_or_run_forever() {
    for kind in [VolumeKind::Exfat, VolumeKind::Fat32] {
        let clean = volume(kind);
        let layout = layout(&mut clean.clone());
        let root = layout.sector_of(layout.root_cluster);
        let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
        let mut kinds = std::collections::HashSet::new();
        for seed in 0..2000 {
            let mut disk = clean.clone();
            for _ in 0..1 + dice.below(4) {
                let places = [0, 0, 1, layout.fat_sector, root, root, layout.sector_of(2)];
                let sector = places[dice.below(places.len() as u64) as usize];
                // Sectors of tables are mostly zeros, so damage their start.
                let most = if sector == 0 { 128 } else { 320 };
                let (at, value) = (dice.below(most) as usize, dice.next() as u8);
                disk.edit(sector, |bytes| bytes[at] = value);
            }
            let mut room = vec![0; 1 << 20];
            let checked = fat::check(&mut disk, &mut room, &mut |problem| {
                kinds.insert(std::mem::discriminant(&problem));
            });
            if let Ok(mut opened) = Volume::open(&mut disk) {
                let mut found = Vec::new();
                // A damaged directory can be unreadable, which is a valid result.
                let listed = opened.list(&mut disk, |entry| found.push(*entry));
                for entry in found {
                    let _ = opened.read(&mut disk, &entry, 0, &mut [0; 4096]);
                }
                assert!(checked.is_err() || listed.is_ok(), "seed {seed}");
            }
            let opened = Recorder::open(&mut disk, recording(8192, None), &mut room);
            if let Ok(mut recorder) = opened {
                record(&mut disk, &mut recorder, 20_480, 4096, 0);
                let _ = recorder.finish(&mut disk);
            }
        }
        assert!(kinds.len() >= 6, "{kind:?}: only {} kinds of problem", kinds.len());
    }
}

#[test]
fn free_clusters_of_a_long_root_directory_are_found() {
    let mut disk = Disk::new(512, 8 * MIB);
    mkfs(&mut disk, &FormatParameters::new(VolumeKind::Exfat, 4096), &mut [0; 64 << 10])
        .expect("made");
    assert_eq!(problems(&mut disk), []);
    let first = layout(&mut disk).root_cluster;
    set_bits(&mut disk, first + 1..first + 3, false);
    assert_eq!(problems(&mut disk), [Problem::NotAllocated { first, count: 2 }]);
}

/// A repair may write to a sector that was all zeros.
#[test]
fn a_reloaded_image_has_what_another_program_wrote() {
    let mut disk = volume(VolumeKind::Exfat);
    let file = disk.image();
    let last = disk.count - 1;
    assert!(!disk.sectors.contains_key(&last), "zeros");
    file.as_file().write_all_at(&[7; 512], last * 512).expect("written");
    disk.reload(file.as_file());
    assert_eq!(disk.sectors.get(&last).map(|bytes| bytes[0]), Some(7));
}
