//! Files that grow, by appending or by filling a file system up to its reserve, and a job that
//! takes its file size from the previous job.

use std::path::Path;
use std::process::Command;

use fio::Plan;
use fio::run::JobRun;
use rig::TargetInfo;

use super::common::{check, perform};

fn plan(directory: &Path, words: &str) -> Plan {
    let place = format!("--directory={}", directory.display());
    let words = std::iter::once(place.as_str()).chain(words.split_whitespace());
    let words: Vec<String> = words.map(String::from).collect();
    super::common::plan(&words)
}

/// Error number and bytes checked of each job.
fn ran(directory: &Path, words: &str) -> Vec<(i32, u64)> {
    let plan = plan(directory, words);
    let ran = perform(&plan, &[]).unwrap_or_else(|e| panic!("{words}: {e}"));
    let checked = |job: &JobRun<'_>| job.did.measurement.verified_sectors * 512;
    ran.jobs.iter().map(|job| (job.error(), checked(job))).collect()
}

#[test]
fn appending_leaves_what_was_there() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("f");
    let append = "--name=a --filename=f --rw=write --bs=4k --size=64k --file_append=1 \
                  --buffer_pattern=0xbb";
    ran(
        directory.path(),
        "--name=a --filename=f --rw=write --bs=4k --size=40k --buffer_pattern=0xaa",
    );
    for rounds in 1..3 {
        assert_eq!(ran(directory.path(), append), [(0, 0)]);
        let content = std::fs::read(&file).expect("the file");
        let (before, after) = content.split_at(40 << 10);
        assert!(before.iter().all(|byte| *byte == 0xaa), "the old content was overwritten");
        assert_eq!((after.len(), after.iter().any(|b| *b != 0xbb)), (rounds * 65_536, false));
    }
    // With the same command line, ssdyno's file is as long as fio's.
    let length = || std::fs::metadata(&file).expect("the file").len();
    let before = length();
    let words = append.split_whitespace();
    match Command::new("fio").args(words).current_dir(directory.path()).output() {
        Ok(_) => assert_eq!(length() - before, 64 << 10),
        Err(_) => println!("not compared with fio: it is not installed"),
    }
}

#[test]
fn what_is_filled_leaves_the_reserve() {
    let directory = tempfile::tempdir().expect("a directory");
    let room = drive::room(directory.path()).expect("room");
    if room < 1 << 30 {
        println!("skipped: {room} bytes of room for temporary files");
        return;
    }
    // Only planned, so that the machine's file system stays unchanged.
    let bytes = |words: &str| {
        let plan = plan(directory.path(), words);
        check(&plan, &[]).expect("admitted").write_bytes_max(&TargetInfo::null(0))
    };
    // Other programs write to the file system meanwhile.
    let near = |bytes: u64| bytes.abs_diff(room) < room / 4;
    assert!(near(bytes("--name=a --rw=write --bs=1m --fill_device=1")));
    let several = "--rw=write --bs=1m --fill_fs=1 --nrfiles=2 --name=a --numjobs=2 --name=b";
    assert!(near(bytes(several)), "they share the room");
    // size= takes precedence, as in fio.
    assert_eq!(bytes("--name=a --rw=write --size=1m --fill_device=1"), 1 << 20);
    assert_eq!(
        ran(
            directory.path(),
            "--name=a --rw=write --fill_device=1 --fallocate=none --number_ios=3"
        ),
        [(0, 0)]
    );
    assert_eq!(std::fs::metadata(directory.path().join("a.0.0")).expect("a file").len(), 3 * 4096);
}

/// fio's example surface-scan, with size= in place of fill_device=1.
#[test]
fn a_scan_reads_what_the_job_before_wrote() {
    let directory = tempfile::tempdir().expect("a directory");
    let words = "--bs=64k --verify=meta --verify_pattern=0xaa555aa5 --verify_interval=512 --filename=f \
                 --name=write-phase --rw=write --size=2m --do_verify=0 \
                 --name=verify-phase --stonewall --rw=read";
    assert_eq!(ran(directory.path(), words), [(0, 0), (0, 2 << 20)]);
}
