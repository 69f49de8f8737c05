//! ssdyno in place of fio or iozone: scripts that read the last lines of the output find the tool's
//! lines.

use std::os::unix::fs::symlink;
use std::path::Path;

use crate::common::{Place, Said};

fn called(place: &Place, name: &str, words: &[&str]) -> Said {
    let link = place.path(name);
    if !link.exists() {
        symlink(env!("CARGO_BIN_EXE_ssdyno"), &link).expect("a link");
    }
    let output = place.command_of(Path::new(&link), words).output().expect("starts");
    Said::of(output)
}

/// Number of lines, without those of the latency distribution: one for each unit that occurred.
fn lines(said: &Said) -> usize {
    said.out.lines().filter(|line| !line.trim_start().starts_with("lat (")).count()
}

#[test]
fn stdout_ends_like_the_tools() {
    let place = Place::new();
    let words = ["--name=a", "--rw=read", "--size=64k", "--ioengine=null", "--disk_util=0"];
    let said = called(&place, "fio", &words).good();
    let last = said.out.lines().rev().find(|line| !line.is_empty()).unwrap_or_default();
    assert!(last.trim_start().starts_with("READ: bw="), "{said:?}");
    assert!(said.err.contains("Kept as run 1"), "{said:?}");
    for own in [&["fio", "--as-is"][..], &["fio"]] {
        let same = place.ssdyno(&[own, &words[..]].concat()).good();
        assert_eq!(lines(&same), lines(&said), "{same:?}");
        assert!(same.err.contains("Kept as run"), "{same:?}");
    }
    let words = ["-s", "256k", "-r", "64k", "-i", "0", "-f", "target"];
    let said = called(&place, "iozone", &words).good();
    assert!(said.out.ends_with("\niozone test complete.\n"), "{said:?}");
    assert!(said.err.contains("Kept as run 4"), "{said:?}");
    // PiBenchmarks takes the columns of the third line from the end.
    let words = [&words[..], &["-i", "1", "-i", "2", "-e", "-a"]].concat();
    let same = place.ssdyno(&[&["iozone"], &words[..]].concat()).good();
    assert!(same.out.ends_with("\niozone test complete.\n"), "{same:?}");
    let figures = same.out.lines().rev().nth(2).unwrap_or_default();
    assert_eq!(figures.split_whitespace().count(), 8, "{same:?}");
    assert!(same.err.contains("cold read") && !same.out.contains("cold read"), "{same:?}");
}

#[test]
fn files_of_other_programs_are_overwritten_only_if_allowed() {
    let place = Place::new();
    let file = place.file("laid-out", 1 << 20);
    let filename = format!("--filename={file}");
    let words = ["fio", "--name=a", "--rw=randwrite", "--bs=4k", "--number_ios=8", &filename];
    let said = place.ssdyno(&words);
    said.refuses(3, "is not a file that ssdyno made");
    assert!(said.err.contains("--overwrite-files"), "{said:?}");
    assert!(std::fs::read(&file).expect("there").iter().all(|byte| *byte == 0));
    place.ssdyno(&[&words[..], &["--overwrite-files"]].concat()).good();
    assert!(std::fs::read(&file).expect("there").iter().any(|byte| *byte != 0));
}
