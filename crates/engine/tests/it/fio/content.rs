//! Compares the bytes written by ssdyno and by an installed fio with the same command line:
//! patterns byte by byte, compressible parts by position, and copies by their share. Without fio,
//! only ssdyno's bytes are checked.

use std::collections::HashSet;
use std::process::Command;

use super::common::{perform, plan};

/// Content of the files `a.0.0`, ... written by ssdyno and, if installed, by fio.
struct Wrote {
    ours: Vec<Vec<u8>>,
    fios: Option<Vec<Vec<u8>>>,
}

fn wrote(words: &str, files: &[&str]) -> Wrote {
    let words: Vec<&str> = words.split_whitespace().collect();
    let in_directory = |by: &dyn Fn(&[String]) -> bool| {
        let directory = tempfile::tempdir().expect("a directory");
        let place = format!("--directory={}", directory.path().display());
        let all: Vec<String> =
            std::iter::once(place.as_str()).chain(words.clone()).map(String::from).collect();
        let read = |name: &&str| std::fs::read(directory.path().join(name)).expect("written");
        by(&all).then(|| files.iter().map(read).collect())
    };
    Wrote { ours: in_directory(&by_ssdyno).expect("runs"), fios: in_directory(&by_fio) }
}

fn by_ssdyno(words: &[String]) -> bool {
    let plan = plan(words);
    let ran = perform(&plan, &[]).unwrap_or_else(|e| panic!("{words:?}: {e}"));
    ran.jobs.iter().all(|job| job.error() == 0)
}

fn by_fio(words: &[String]) -> bool {
    match Command::new("fio").args(words).output() {
        Ok(said) => {
            assert!(said.status.success(), "fio: {}", String::from_utf8_lossy(&said.stderr));
            true
        }
        Err(_) => {
            println!("not compared with fio: it is not installed");
            false
        }
    }
}

/// Share of 4 KiB blocks that are duplicates.
fn copies(content: &[u8]) -> f64 {
    let blocks: Vec<&[u8]> = content.chunks(4096).collect();
    let different = blocks.iter().collect::<HashSet<_>>().len();
    1.0 - different as f64 / blocks.len() as f64
}

#[test]
fn patterns_are_fios_to_the_byte() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), "from a file\n").expect("written");
    let named = format!("'{}'", file.path().display());
    for pattern in ["0xdeadbeef", "\"abc\"", "-1024", "66", "0xFF0X1", "\"12\"0xFFeeCC7", &named] {
        for (how, block) in [("--rw=write --bs=4k", 4096), ("--rw=randwrite --bs=1000", 1000)] {
            let words = format!("--name=a --size=512000 --buffer_pattern={pattern} {how}");
            let Wrote { ours, fios } = wrote(&words, &["a.0.0"]);
            let (first, rest) = ours[0].split_at(block);
            assert!(rest.chunks(block).all(|write| first == write), "{words}");
            if let Some(fios) = fios {
                let differs = ours[0].iter().zip(&fios[0]).position(|(a, b)| a != b);
                assert_eq!((differs, ours[0].len()), (None, fios[0].len()), "{words}");
            }
        }
    }
}

/// In a mix, reads overwrite the buffers, but writes must still carry the pattern.
#[test]
fn a_pattern_survives_reads_into_its_buffer() {
    let words = "--name=a --size=1m --bs=4k --rw=randrw --buffer_pattern=0xa5 --ioengine=libaio \
                 --iodepth=8 --loops=8";
    let patterned = |content: &[u8]| {
        let is = |block: &&[u8]| block.iter().all(|byte| *byte == 0xa5);
        content.chunks(4096).filter(is).count()
    };
    let Wrote { ours, .. } = wrote(words, &["a.0.0"]);
    let whole = patterned(&ours[0]);
    // Each of 256 blocks is written in about half of 8 rounds, so about 255 are written. The others
    // contain the layout.
    assert!((240..=256).contains(&whole), "{whole}");
    let partly = ours[0].chunks(4096).filter(|b| b.iter().filter(|x| **x == 0xa5).count() > 256);
    assert_eq!(partly.count(), whole, "a block is the pattern or it is not");
}

#[test]
fn compressible_parts_lie_where_fio_has_them() {
    for words in [
        "--name=a --size=256k --bs=4k --rw=write --buffer_compress_percentage=30",
        "--name=a --size=256k --bs=4k --rw=write --buffer_compress_percentage=75 \
         --buffer_compress_chunk=4k",
        "--name=a --size=256k --bs=4k --rw=write --buffer_compress_percentage=60 \
         --buffer_pattern=0x1234",
        "--name=a --size=256k --bs=4k --rw=write --buffer_compress_percentage=100 \
         --buffer_pattern=0x1234",
        "--name=a --size=256k --bs=4k --rw=write --buffer_compress_percentage=100",
    ] {
        let plain = if words.contains("0x1234") { vec![0x12, 0x34] } else { vec![0, 0] };
        // Positions that never contain a random byte.
        let always = |content: &[u8]| -> Vec<bool> {
            let blocks: Vec<&[u8]> = content.chunks(4096).collect();
            let is = |at: usize| {
                let first = blocks[0][at];
                plain.contains(&first) && blocks.iter().all(|block| block[at] == first)
            };
            (0..4096).map(is).collect()
        };
        let Wrote { ours, fios } = wrote(words, &["a.0.0"]);
        let mine = always(&ours[0]);
        assert!(mine.iter().any(|plain| *plain), "{words}");
        if let Some(fios) = fios {
            let differs = mine.iter().zip(always(&fios[0])).position(|(mine, fios)| *mine != fios);
            assert_eq!(differs, None, "{words}: a byte of every block");
        }
    }
}

#[test]
fn copies_have_the_share_that_fio_gives_them() {
    for (percent, more) in [
        (10, ""),
        (50, ""),
        (90, ""),
        (100, ""),
        (40, "--buffer_compress_percentage=50"),
        (50, "--dedupe_mode=working_set --dedupe_working_set_percentage=20"),
        (50, "--ioengine=libaio --iodepth=16"),
    ] {
        let words =
            format!("--name=a --size=16m --bs=4k --rw=write --dedupe_percentage={percent} {more}");
        let Wrote { ours, fios } = wrote(&words, &["a.0.0"]);
        let mine = copies(&ours[0]);
        // Of 4096 writes, five standard deviations.
        let within = |other: f64| (mine - other).abs() < 0.04;
        if more.is_empty() {
            assert!(within(f64::from(percent) / 100.0), "{words}: {mine:.3}");
        }
        if let Some(fios) = fios {
            let theirs = copies(&fios[0]);
            assert!(within(theirs), "{words}: ours {mine:.3}, fio's {theirs:.3}");
        }
    }
}

#[test]
fn jobs_share_copies_only_where_they_are_told_to() {
    let words = |more| {
        format!(
            "--size=8m --bs=4k --rw=write --dedupe_percentage=50 --dedupe_mode=working_set \
             --dedupe_working_set_percentage=50 {more} --name=a --name=b"
        )
    };
    for (more, shares) in [("--dedupe_global=1", true), ("", false)] {
        let Wrote { ours, fios } = wrote(&words(more), &["a.0.0", "b.0.0"]);
        let together = |files: &[Vec<u8>]| copies(&files.concat());
        let alone = |files: &[Vec<u8>]| (copies(&files[0]) + copies(&files[1])) / 2.0;
        let gain = together(&ours) - alone(&ours);
        assert_eq!(gain > 0.05, shares, "{more}: {gain:.3}");
        let Some(fios) = fios.filter(|_| shares) else { continue };
        let off = (together(&ours) - together(&fios)).abs();
        assert!(off < 0.04, "ours {:.3}, fio's {:.3}", together(&ours), together(&fios));
    }
}

#[test]
fn equal_jobs_write_different_bytes() {
    let words = "--size=256k --bs=4k --rw=write --name=a --name=b";
    let Wrote { ours, .. } = wrote(words, &["a.0.0", "b.0.0"]);
    assert_eq!(copies(&ours.concat()), 0.0);
}
