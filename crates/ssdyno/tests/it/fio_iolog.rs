//! I/O logs, written and repeated by `ssdyno fio` and by an installed fio. Each repeats the log of the
//! other, and logs that are drawn, with the same operations.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

use fuzz::Random;
use serde_json::Value;

use crate::common::{Place, Said};

/// Drawn logs.
const LOGS: u64 = 16;

/// Sizes of the two files that exist, bytes.
const SIZES: [u64; 2] = [64 << 10, 40_000];

fn is_installed() -> bool {
    let is_installed = Command::new("fio").arg("--version").output().is_ok();
    if !is_installed {
        println!("skipped: fio is not installed");
    }
    is_installed
}

fn run(place: &Place, program: &str, words: &[&str]) -> Said {
    let ssdyno = Path::new(env!("CARGO_BIN_EXE_ssdyno"));
    let (binary, own): (_, &[&str]) =
        if program == "fio" { (Path::new("fio"), &[]) } else { (ssdyno, &["fio", "--as-is"]) };
    let mut command = place.command_of(binary, &[own, words].concat());
    command.env("SSDYNO_OVERWRITE", place.work());
    Said::of(command.output().expect("starts"))
}

/// Operations and bytes by direction, and flushes: fio counts those of a log only in their times.
fn counts(record: &Value) -> Vec<u64> {
    let number = |pointer: &str| record.pointer(pointer).and_then(Value::as_u64).unwrap_or(0);
    ["read/total_ios", "read/io_bytes", "write/total_ios", "write/io_bytes", "sync/lat_ns/N"]
        .map(|field| number(&format!("/jobs/0/{field}")))
        .to_vec()
}

/// A log of reads within the files, writes and flushes, with pauses below 100 us.
fn drawn_log(random: &mut Random) -> String {
    let version = 2 + random.below(2);
    let mut time_us = 0;
    let mut line = |text: &mut String, rest: String| {
        time_us += random_pause(version, text.len());
        let time = if version == 3 { format!("{time_us} ") } else { String::new() };
        writeln!(text, "{time}{rest}").expect("a string");
    };
    let mut text = format!("fio version {version} iolog\n");
    for action in ["add", "open"] {
        for file in ["a", "b", "new"] {
            line(&mut text, format!("{file} {action}"));
        }
    }
    // fio creates a file only for a log that writes.
    line(&mut text, "new write 0 512".into());
    for _ in 0..1 + random.below(40) {
        let number = random.below(2);
        let (file, size) = (["a", "b"][number], SIZES[number]);
        let bytes = 512 << random.below(5);
        let offset = 512 * random.below((size - bytes) as usize / 512) as u64;
        let rest = match random.below(8) {
            0 => format!("{file} sync 0 0"),
            1 => format!("{file} datasync 0 0"),
            2 | 3 => format!("{file} write {offset} {bytes}"),
            4 => format!("new write {offset} {bytes}"),
            _ => format!("{file} read {offset} {bytes}"),
        };
        line(&mut text, rest);
    }
    for file in ["a", "b", "new"] {
        line(&mut text, format!("{file} close"));
    }
    text
}

/// A pause that depends on the place in the log, microseconds.
fn random_pause(version: usize, place: usize) -> u64 {
    if version == 3 { place as u64 * 7919 % 97 } else { 0 }
}

#[test]
fn a_drawn_log_is_repeated_as_by_fio() {
    if !is_installed() {
        return;
    }
    for seed in 0..LOGS {
        let mut random = Random::new(seed);
        let text = drawn_log(&mut random);
        let engine = ["psync", "libaio", "io_uring"][random.below(3)];
        let option = format!("--ioengine={engine}");
        let words = ["--name=j", "--read_iolog=log", "--output-format=json", &option];
        let repeated = ["fio", "ssdyno"].map(|program| {
            let place = Place::new();
            fs::write(place.work().join("log"), &text).expect("a log");
            for (file, size) in ["a", "b"].iter().zip(SIZES) {
                fs::write(place.work().join(file), vec![1; size as usize]).expect("a file");
            }
            let said = run(&place, program, &words).good();
            let sizes = ["a", "b", "new"]
                .map(|file| fs::metadata(place.work().join(file)).map_or(0, |about| about.len()));
            (counts(&said.json()), sizes)
        });
        assert_eq!(repeated[0], repeated[1], "seed {seed}, {engine}\n{text}");
    }
}

/// fio 3.33 reads every write back, in a synchronous engine only, and calls one that another overlaps
/// wrong; these logs write each place once.
#[test]
fn what_a_log_writes_is_read_back_as_by_fio() {
    if !is_installed() {
        return;
    }
    for seed in 0..4 {
        let mut random = Random::new(seed);
        let mut text = "fio version 2 iolog\n".to_string();
        for action in ["add", "open"] {
            ["a", "b"].iter().for_each(|file| text += &format!("{file} {action}\n"));
        }
        let mut offset = 0;
        for _ in 0..2 + random.below(30) {
            let (file, bytes) = (["a", "b"][random.below(2)], 512 << random.below(4));
            text += &format!("{file} write {offset} {bytes}\n");
            offset += bytes + 512 * random.below(3);
            if random.below(4) == 0 {
                text += &format!("{file} read {} 512\n", 512 * random.below(8));
            }
        }
        let pattern = ["--verify=pattern", "--verify_pattern=0x5a", "--bs=512"];
        let words = ["--name=j", "--read_iolog=log", "--output-format=json", "--ioengine=psync"];
        let repeated = ["fio", "ssdyno"].map(|program| {
            let place = Place::new();
            fs::write(place.work().join("log"), &text).expect("a log");
            ["a", "b"].iter().for_each(|file| {
                fs::write(place.work().join(file), vec![1; 512 << 10]).expect("a file");
            });
            let said = run(&place, program, &[&words[..], &pattern].concat()).good();
            let files = ["a", "b"].map(|file| fs::read(place.work().join(file)).expect("a file"));
            (counts(&said.json()), files)
        });
        assert_eq!(repeated[0].0, repeated[1].0, "seed {seed}\n{text}");
        assert!(repeated[0].1 == repeated[1].1, "seed {seed}: content\n{text}");
    }
}

#[test]
fn overlapping_writes_of_a_log_are_right_and_a_damaged_one_is_seen() {
    let place = Place::new();
    let log = "fio version 2 iolog\nf add\nf open\nf write 0 8192\nf write 4096 4096\n\
               f write 16384 4096\n";
    fs::write(place.work().join("log"), log).expect("a log");
    let words = ["--name=j", "--read_iolog=log", "--verify=crc32c", "--output-format=json"];
    let record = run(&place, "ssdyno", &words).good().json();
    // Of the two that overlap, the last.
    assert_eq!(record.pointer("/jobs/0/read/total_ios"), Some(&Value::from(2)));
    assert_eq!(record.pointer("/jobs/0/write/total_ios"), Some(&Value::from(3)));
    // A log of reads checks what was written before.
    let reads = "fio version 2 iolog\nf add\nf open\nf read 4096 4096\nf read 16384 4096\n";
    fs::write(place.work().join("log"), reads).expect("a log");
    run(&place, "ssdyno", &words).good();
    let mut content = fs::read(place.work().join("f")).expect("a file");
    content[16400] ^= 1;
    fs::write(place.work().join("f"), content).expect("a file");
    assert_ne!(run(&place, "ssdyno", &words).code, 0);
    let said = run(&place, "ssdyno", &[&words[..], &["--verify_backlog=2"]].concat());
    assert!(said.code != 0 && said.err.contains("read back once"), "{said:?}");
}

#[test]
fn each_repeats_what_the_other_wrote() {
    if !is_installed() {
        return;
    }
    let job = ["--name=j", "--rw=randrw", "--bsrange=4k-16k", "--size=256k", "--nrfiles=2"];
    let job = [&job[..], &["--fdatasync=5", "--iodepth=4", "--ioengine=libaio"]].concat();
    for (writer, reader) in [("ssdyno", "fio"), ("fio", "ssdyno"), ("ssdyno", "ssdyno")] {
        let place = Place::new();
        let format = "--output-format=json";
        let written = run(&place, writer, &[&job[..], &["--write_iolog=log", format]].concat());
        let words = ["--name=again", "--read_iolog=log", "--replay_no_stall=1", format];
        let repeated = run(&place, reader, &words).good().json();
        assert_eq!(counts(&written.good().json()), counts(&repeated), "{writer}, {reader}");
    }
}

#[test]
fn a_log_has_its_own_pace_and_may_go_to_a_virtual_drive() {
    let place = Place::new();
    let log = "fio version 3 iolog\n0 /dev/sdz add\n1 /dev/sdz open\n5 /dev/sdz read 0 4096\n\
               90005 /dev/sdz write 8192 4096\n190005 /dev/sdz trim 0 8192\n";
    fs::write(place.work().join("log"), log).expect("a log");
    let job = ["--name=j", "--read_iolog=log", "--output-format=json"];
    let drive = "--replay_redirect=sim:samsung-980-1t";
    let runtime = |more: &[&str]| {
        let said = run(&place, "ssdyno", &[&job[..], &[drive], more].concat()).good();
        let record = said.json();
        assert_eq!(record.pointer("/jobs/0/trim/total_ios"), Some(&Value::from(1)), "{said:?}");
        record.pointer("/jobs/0/job_runtime").and_then(Value::as_u64).expect("milliseconds")
    };
    assert!((190..200).contains(&runtime(&[])));
    assert!((95..105).contains(&runtime(&["--replay_time_scale=200"])));
    assert!(runtime(&["--replay_no_stall=1"]) < 20);
}

#[test]
fn a_log_that_cannot_be_repeated_is_refused_before_anything_is_touched() {
    let place = Place::new();
    let head = "fio version 2 iolog\nf add\nf open\n";
    for (lines, words) in [
        ("f read 0 4096\n", "f has 0 bytes, but the log reads up to byte 4096"),
        ("f trim 0 4096\n", "only devices can be trimmed"),
        ("f erase 0 4096\n", "read_iolog=log: line 4: unknown action 'erase'"),
    ] {
        fs::write(place.work().join("log"), format!("{head}{lines}")).expect("a log");
        let said = place.ssdyno(&["fio", "--name=j", "--read_iolog=log"]);
        assert!(said.code != 0 && said.err.contains(words), "{said:?}");
        assert!(!place.work().join("f").exists());
    }
    fs::write(place.work().join("log"), b"\x07tae\0\0\0\0").expect("a log");
    let said = place.ssdyno(&["fio", "--name=j", "--read_iolog=log"]);
    assert!(said.code != 0 && said.err.contains("is a binary trace of blktrace"), "{said:?}");
    fs::write(place.work().join("log"), format!("{head}f write 0 4096\n")).expect("a log");
    fs::write(place.work().join("f"), vec![7; 8192]).expect("a file");
    let said = place.ssdyno(&["fio", "--name=j", "--read_iolog=log"]);
    assert!(said.code != 0 && said.err.contains("--destroy"), "{said:?}");
    assert_eq!(fs::read(place.work().join("f")).expect("there"), vec![7; 8192]);
}
