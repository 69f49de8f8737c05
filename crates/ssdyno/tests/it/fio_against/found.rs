//! Differences that were found once, with the lines that people run.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

use super::tools;

/// A directory with a file that holds no data of a verifying job.
fn place() -> TempDir {
    let place = tools::directory();
    fs::write(place.path().join("damaged"), [7; 65536]).expect("a file");
    place
}

fn ssdyno(place: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ssdyno"));
    let store = format!("--store={}", place.join("store").display());
    command.args(["fio", &store, "--name=a", "--output-format=json"]).args(words);
    command.current_dir(place).env("XDG_DATA_HOME", place).output().expect("starts")
}

fn job(output: &Output) -> Value {
    let json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    json["jobs"][0].clone()
}

#[test]
fn the_disk_check_of_etcd_ends() {
    let place = place();
    let words = ["--rw=write", "--ioengine=sync", "--fdatasync=1", "--size=220k", "--bs=2300"];
    let job = job(&ssdyno(place.path(), &words));
    assert_eq!((&job["write"]["total_ios"], &job["sync"]["total_ios"]), (&97.into(), &97.into()));
}

#[test]
fn durable_writes_cost_a_flush_on_a_virtual_drive() {
    let place = place();
    let drive = "--filename=sim:samsung-980-pro-1t";
    let iops = |more: &str| {
        let words = [drive, "--rw=randwrite", "--size=4m", "--bs=4k", "--direct=1", more];
        let job = job(&ssdyno(place.path(), &words));
        job["write"]["iops"].as_f64().expect("a rate")
    };
    let (plain, sync, dsync, fsync) =
        (iops("--sync=0"), iops("--sync=1"), iops("--sync=dsync"), iops("--fsync=1"));
    assert!(plain > 5.0 * sync, "{plain} {sync}");
    assert!(
        (sync / fsync - 1.0).abs() < 0.2 && (dsync / sync - 1.0).abs() < 0.05,
        "{sync} {fsync}"
    );
}

#[test]
fn rates_add_no_reads_to_a_mix_without_reads() {
    let place = place();
    let words = ["--rw=rw", "--rwmixread=0", "--rate=20m", "--size=96k", "--bs=4k"];
    let job = job(&ssdyno(place.path(), &words));
    assert_eq!((&job["read"]["total_ios"], &job["write"]["total_ios"]), (&0.into(), &24.into()));
}

#[test]
fn a_failed_verification_is_named_in_every_format() {
    let place = place();
    for rw in ["--rw=read", "--rw=write"] {
        let words = ["--filename=damaged", rw, "--verify=crc32c", "--verify_only"];
        let output = ssdyno(place.path(), &words);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(4), "{rw}: {said}");
        assert!(said.contains("verify") && said.contains("damaged"), "{rw}: {said}");
        let json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let errors = json["ssdyno"]["errors"].as_array().expect("a list");
        assert!(errors.iter().any(|error| error.to_string().contains("verify")), "{json}");
        let goes_on = [&words[..], &["--continue_on_error=verify"]].concat();
        assert_eq!(ssdyno(place.path(), &goes_on).status.code(), Some(0), "{rw}");
    }
}

#[test]
fn what_is_only_verified_is_not_laid_out() {
    let place = place();
    let words = ["--rw=write", "--size=64k", "--verify_only", "--verify=crc32c"];
    let content = |more: &str, code: i32| {
        let words = [&words[..], &["--continue_on_error=verify", "--filename=new", more]].concat();
        assert_eq!(ssdyno(place.path(), &words).status.code(), Some(code), "{more}");
        let bytes = fs::read(place.path().join("new")).expect("a file");
        fs::remove_file(place.path().join("new")).expect("removed");
        bytes
    };
    assert_eq!(content("--create_on_open=0", 0), vec![0; 65536]);
    assert!(content("--create_on_open=1", 4).is_empty());
    let unchecked = job(&ssdyno(place.path(), &words[..3]));
    assert_eq!(unchecked["read"]["total_ios"], 0);
    let unread = job(&ssdyno(place.path(), &[&words[..], &["--do_verify=0"]].concat()));
    assert_eq!(unread["read"]["total_ios"], 0);
}

#[test]
fn jobs_that_only_create_files_are_in_the_results() {
    let place = place();
    let job = job(&ssdyno(place.path(), &["--size=64k", "--create_only=1"]));
    assert_eq!((&job["jobname"], &job["read"]["total_ios"]), (&"a".into(), &0.into()));
}

#[test]
fn what_is_created_on_opening_is_not_there_without_it() {
    let place = place();
    let words = ["--size=64k", "--create_on_open=1", "--create_only=1", "--filename=absent"];
    ssdyno(place.path(), &words);
    assert!(!place.path().join("absent").exists());
}

#[test]
fn a_share_of_the_files_below_a_block_is_refused() {
    let place = place();
    let words = ["--size=5k", "--bs=4k", "--io_size=50%"];
    assert_eq!(ssdyno(place.path(), &words).status.code(), Some(2));
}

#[test]
fn a_job_that_only_creates_files_shows_its_steady_state() {
    let place = place();
    let words = ["--size=64k", "--create_only=1", "--steadystate_duration=10"];
    assert!(job(&ssdyno(place.path(), &words))["steadystate"].is_object());
}

#[test]
fn directions_of_a_mix_with_equal_rates_move_equal_bytes() {
    let place = place();
    // In virtual time, because only a drive that keeps up with both rates follows them.
    let drive = "--filename=sim:samsung-980-pro-1t";
    let words = [drive, "--rw=rw", "--rate=40m", "--size=1m", "--bs=64k,8k"];
    let job = job(&ssdyno(place.path(), &words));
    let bytes = |side: &str| job[side]["io_bytes"].as_u64().expect("a number");
    assert!(bytes("read").abs_diff(bytes("write")) <= 72 << 10, "{job}");
}

#[test]
fn nothing_is_laid_out_where_a_job_appends() {
    let place = place();
    let words = ["--rw=write", "--bs=64k", "--size=100k", "--overwrite=1", "--file_append=1"];
    ssdyno(place.path(), &[&words[..], &["--filename=longer"]].concat());
    let bytes = fs::read(place.path().join("longer")).expect("a file");
    assert!(bytes[64 << 10..].iter().all(|byte| *byte == 0));
}

#[test]
fn files_laid_out_before_reads_have_the_content_of_the_job() {
    let place = place();
    let content = |more: &str| {
        ssdyno(place.path(), &["--rw=read", "--size=64k", "--filename=laid", more]);
        let bytes = fs::read(place.path().join("laid")).expect("a file");
        fs::remove_file(place.path().join("laid")).expect("removed");
        bytes
    };
    assert!(content("--zero_buffers").iter().all(|byte| *byte == 0));
    assert!(content("--buffer_pattern=0x5a").iter().all(|byte| *byte == 0x5a));
    let halves = content("--buffer_compress_percentage=50");
    let zeros = halves.iter().filter(|byte| **byte == 0).count();
    assert!((30_000..36_000).contains(&zeros), "{zeros}");
}

#[test]
fn a_file_that_is_appended_to_or_flushed_stays_after_a_last_loop_without_writes() {
    let words = ["--rw=write", "--bs=4k", "--size=16k", "--loops=2", "--unlink_each_loop=1"];
    let size = |more: &[&str]| {
        let place = place();
        let _ = ssdyno(place.path(), &[&words, more].concat());
        fs::metadata(place.path().join("a.0.0")).map(|file| file.len()).ok()
    };
    assert_eq!(size(&["--number_ios=4", "--file_append=1"]), Some(0));
    let zones = ["--zonesize=8k", "--zonemode=strided"];
    assert_eq!(size(&zones), None);
    for flush in ["--end_fsync=1", "--fsync_on_close=1"] {
        assert_eq!(size(&[&zones[..], &[flush]].concat()), Some(0), "{flush}");
    }
}

#[test]
fn rates_in_operations_count_operations_of_the_smallest_size() {
    let place = place();
    let words = ["--rw=rw", "--rate_iops=5000", "--bssplit=4k/30:64k/70,8k/100", "--size=1m"];
    let job = job(&ssdyno(place.path(), &words));
    let writes = job["write"]["total_ios"].as_u64().expect("a number");
    // fio: 67 to 87. Equal numbers of both would be 19.
    assert!((60..95).contains(&writes), "{writes}");
}

#[test]
fn a_block_without_a_header_is_dumped_under_the_name_of_fio() {
    let place = place();
    let words = ["--filename=damaged", "--rw=read", "--verify=crc32c", "--verify_dump=1"];
    assert_eq!(ssdyno(place.path(), &words).status.code(), Some(4));
    assert!(place.path().join("damaged.0.hdr_fail").exists());
}
