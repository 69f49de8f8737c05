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
    assert_eq!(said.err, "");
    for (own, hides) in [(&["fio", "--as-is"][..], true), (&["fio"], false)] {
        let same = place.ssdyno(&[own, &words[..]].concat()).good();
        assert_eq!(lines(&same), lines(&said), "{same:?}");
        assert_eq!(same.err.is_empty(), hides, "{same:?}");
        assert_eq!(same.err.contains("Kept as run 3"), !hides, "{same:?}");
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

/// What `ssdyno fio` says about a run on stderr, and its record, in which `--as-is` changes nothing.
#[test]
fn what_a_script_does_not_see_is_in_the_record() {
    let place = Place::new();
    let words = ["fio", "--name=a", "--rw=randread", "--size=64k", "--iodepth=8"];
    let [hiding, saying] = [&["--as-is"][..], &[]].map(|own| {
        let said = place.ssdyno(&[&words[..], own].concat()).good();
        place.clear();
        said
    });
    assert_eq!(hiding.err, "");
    assert!(saying.err.contains("iodepth=8 is a fiction"), "{saying:?}");
    assert!(saying.out.contains("\nssdyno-") && hiding.out.contains("\nfio-3."), "{hiding:?}");
    let [hiding, saying] = ["1", "2"].map(|number| metric_names(&place, number));
    assert_eq!(hiding, saying);
}

/// The names of a run's metrics.
fn metric_names(place: &Place, number: &str) -> Vec<String> {
    let record = place.ssdyno(&["show", number, "--json"]).good().json();
    let metrics = record["metrics"].as_array().expect("metrics");
    metrics.iter().map(|metric| metric["name"].to_string()).collect()
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
    let elsewhere = place.command(&words).env("SSDYNO_OVERWRITE", place.work()).output();
    Said::of(elsewhere.expect("starts")).refuses(3, "is not a file that ssdyno made");
    let below = place.command(&words).env("SSDYNO_OVERWRITE", place.path(".")).output();
    Said::of(below.expect("starts")).good();
    std::fs::write(&file, vec![0; 1 << 20]).expect("a file");
    place.ssdyno(&[&words[..], &["--overwrite-files"]].concat()).good();
    assert!(std::fs::read(&file).expect("there").iter().any(|byte| *byte != 0));
}
