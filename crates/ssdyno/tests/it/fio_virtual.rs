//! `ssdyno fio` on virtual drives, in virtual time: the documents' command lines, job files of many
//! kinds, fio's own outputs, and options that virtual drives refuse. No file is created.

use std::fs;

use serde_json::Value;

use crate::common::{MIB, Place, contents};

const DRIVES: [&str; 2] = ["sim:sd-150x", "sim:samsung-980-pro-1t"];

fn json(place: &Place, words: &[&str]) -> Value {
    let usual = ["fio", "--output-format=json"];
    place.ssdyno(&[&usual[..], words].concat()).good().json()
}

/// Operations and bytes of reads, writes and trims of a job.
fn counts(job: &Value) -> [(u64, u64); 3] {
    ["read", "write", "trim"].map(|side| {
        let side = &job[side];
        (side["total_ios"].as_u64().expect("a count"), side["io_bytes"].as_u64().expect("bytes"))
    })
}

fn bytes(job: &Value) -> u64 {
    counts(job).iter().map(|side| side.1).sum()
}

/// Whether no file was created in the directory.
fn no_file(place: &Place) -> bool {
    contents(&place.work()).len() == 1
}

/// The command lines of documents 000 and 002, with typos corrected, other directories and smaller
/// sizes.
#[test]
fn the_documents_command_lines_run() {
    let lines = [
        "--randrepeat=1 --ioengine=libaio --direct=1 --gtod_reduce=1 --name=test \
         --filename=random_read.fio --bs=4k --iodepth=1 --size=16M --readwrite=randrw --rwmixread=80",
        "--randrepeat=1 --ioengine=libaio --direct=1 --gtod_reduce=1 --name=test \
         --filename=random_read.fio --bs=8M --iodepth=1 --size=64M --readwrite=read",
        "--randrepeat=1 --ioengine=libaio --direct=1 --gtod_reduce=1 --name=test \
         --filename=random_read.fio --bs=8M --iodepth=1 --size=64M --readwrite=write",
        "--randrepeat=1 --ioengine=libaio --gtod_reduce=1 --name=io --filename=test.dat --bs=4k \
         --iodepth=64 --size=16M --readwrite=randrw --rwmixread=75",
    ];
    for drive in DRIVES {
        for line in lines {
            let place = Place::new();
            let directory = format!("--directory={drive}");
            let words: Vec<&str> = line.split_whitespace().collect();
            let said = json(&place, &[&[directory.as_str()], &words[..]].concat());
            let job = &said["jobs"][0];
            let size = if line.contains("16M") { 16 } else { 64 };
            assert_eq!(
                (job["error"].as_i64(), bytes(job)),
                (Some(0), size * MIB),
                "{drive} {line}"
            );
            assert!(no_file(&place), "{line}");
            assert_eq!(place.runs().len(), 1, "{line}");
        }
    }
}

/// Ten job files, each with the bytes that its jobs transfer.
const JOB_FILES: [(&str, &[u64]); 10] = [
    // Sequential, then random reads of the same file, in stages.
    (
        "[global]\nfilename=f\nsize=8m\n[w]\nrw=write\nbs=64k\n[r]\nstonewall\nrw=randread\nbs=4k\n",
        &[8, 8],
    ),
    // Clones with their own files.
    ("[a]\nrw=randwrite\nsize=4m\nnumjobs=3\nioengine=libaio\niodepth=8\n", &[4, 4, 4]),
    // A group with one result.
    (
        "[a]\nrw=randread\nsize=4m\nnumjobs=2\ngroup_reporting\nioengine=io_uring\niodepth=16\n",
        &[8],
    ),
    // Several files in turn.
    ("[a]\nrw=write\nnrfiles=4\nsize=8m\nbs=128k\nfile_service_type=roundrobin:4\n", &[8]),
    // Two jobs at once, with rates and a delay.
    (
        "[a]\nrw=randread\nsize=1m\nrate_iops=200\n[b]\nrw=write\nsize=1m\nstartdelay=100ms\nthinktime=1ms\n",
        &[1, 1],
    ),
    // Random block sizes, and a skewed distribution.
    (
        "[a]\nrw=randrw\nsize=8m\nio_size=4m\nbssplit=4k/60:64k/40\nrandom_distribution=zipf:1.1\n\
         norandommap\nioengine=libaio\niodepth=4\n",
        &[4],
    ),
    // A job that waits for another, and flushes.
    (
        "[a]\nrw=write\nsize=2m\nfsync=16\n[b]\nwait_for=a\nrw=randwrite\nsize=2m\nend_fsync=1\n",
        &[2, 2],
    ),
    // Loops, and files that are deleted.
    ("[a]\nrw=write\nsize=1m\nloops=3\nunlink=1\n", &[3]),
    // Zones, and an offset.
    (
        "[a]\nrw=read\nsize=4m\noffset=1m\nbs=16k\nzonemode=strided\nzonesize=64k\nzoneskip=64k\nio_size=2m\n",
        &[2],
    ),
    // A flow: one job does a multiple of the other's operations.
    (
        "[global]\nsize=4m\nrw=randread\nbs=4k\ntime_based\nruntime=100ms\nflow_id=1\n\
         [a]\nflow=1\n[b]\nflow=4\n",
        &[],
    ),
];

#[test]
fn job_files_of_many_kinds_run() {
    for drive in DRIVES {
        for (number, (text, megabytes)) in JOB_FILES.iter().enumerate() {
            let place = Place::new();
            let text = match text.strip_prefix("[global]\n") {
                Some(rest) => format!("[global]\ndirectory={drive}\n{rest}"),
                None => format!("[global]\ndirectory={drive}\n{text}"),
            };
            fs::write(place.path("a.fio"), &text).expect("a job file");
            let said = json(&place, &[&place.text("a.fio")]);
            let jobs = said["jobs"].as_array().expect("jobs");
            let moved: Vec<u64> = jobs.iter().map(|job| bytes(job) / MIB).collect();
            assert!(jobs.iter().all(|job| job["error"] == 0), "{drive} {number}: {said}");
            if megabytes.is_empty() {
                let ops = [0, 1].map(|job| counts(&jobs[job])[0].0 as f64);
                assert!((3.0..5.0).contains(&(ops[1] / ops[0])), "{drive} {number}: {ops:?}");
            } else {
                assert_eq!(moved, *megabytes, "{drive} {number}");
            }
            assert!(no_file(&place), "{drive} {number}");
        }
    }
}

#[test]
fn filename_names_the_whole_drive_and_time_is_virtual() {
    let place = Place::new();
    let words = ["--name=a", "--filename=sim:sd-150x", "--rw=randread", "--bs=4k", "--size=64m"];
    let long = ["--time_based", "--runtime=600"];
    let began = std::time::Instant::now();
    let said = json(&place, &[&words[..], &long].concat());
    let job = &said["jobs"][0];
    assert!((599_000..=601_000).contains(&job["job_runtime"].as_u64().expect("a time")), "{job}");
    assert!(began.elapsed().as_secs() < 300, "ten virtual minutes take no real time");
    // The card was filled before it was read, because reads of unwritten blocks would be faster
    // than its flash.
    let iops = job["read"]["iops"].as_f64().expect("a rate");
    let written =
        json(&place, &["--name=a", "--filename=sim:sd-150x", "--rw=trim", "--size=8m", "--bs=1m"]);
    assert_eq!(counts(&written["jobs"][0])[2], (8, 8 * MIB));
    assert!(iops > 10.0 && iops < 20_000.0, "{iops}");
    assert!(no_file(&place));
}

#[test]
fn results_are_the_same_in_every_run() {
    let place = Place::new();
    let words =
        ["--name=a", "--directory=sim:sd-150x", "--rw=randrw", "--size=8m", "--ioengine=libaio"];
    let words = [&words[..], &["--iodepth=8", "--numjobs=2"]].concat();
    let results = || {
        let said = json(&place, &words);
        ["read", "write"].map(|side| said["jobs"][0][side].clone())
    };
    assert_eq!(results(), results());
}

#[test]
fn a_job_name_is_unchanged_wherever_its_record_is_shown() {
    let place = Place::new();
    let job = ["--filename=sim:sd-150x", "--rw=randread", "--size=1m", "--bs=4k"];
    for _ in 0..2 {
        place.ssdyno(&[&["fio", "--name=my-read-job"], &job[..]].concat()).good();
    }
    let forms: [&[&str]; 5] = [
        &["show", "1"],
        &["show", "1", "--verbose"],
        &["show", "1", "--markdown"],
        &["runs"],
        &["compare", "1", "2", "--json"],
    ];
    for words in forms {
        let said = place.ssdyno(words).good().out;
        assert!(said.contains("my-read-job"), "{words:?}: {said}");
        assert!(!said.to_lowercase().contains("my read job"), "{words:?}: {said}");
    }
    let shown = place.ssdyno(&["show", "1"]).good().out;
    assert!(shown.contains("my-read-job: reads ") && shown.contains(" IOPS."), "{shown}");
    assert!(place.ssdyno(&["runs"]).good().out.contains("my-read-job: reads "));
}

#[test]
fn fio_outputs_are_complete() {
    let place = Place::new();
    let words = [
        "fio",
        "--name=a",
        "--directory=sim:samsung-980-pro-1t",
        "--rw=randwrite",
        "--size=4m",
        "--write_bw_log=log",
        "--log_avg_msec=1",
        "--write_lat_log=log",
    ];
    let said = place.ssdyno(&words).good();
    for line in ["a: (g=0): rw=randwrite", "  write: IOPS=", "IO depths", "WRITE: bw="] {
        assert!(said.out.contains(line), "{line}: {}", said.out);
    }
    for real in ["Disk stats", "fiction", "Files kept"] {
        assert!(!said.out.contains(real), "{real}: {}", said.out);
    }
    // One note about options without effect.
    assert_eq!(said.err.matches("no host around it: no page cache").count(), 1, "{}", said.err);
    for log in ["log_bw.1.log", "log_lat.1.log", "log_clat.1.log"] {
        let text = fs::read_to_string(place.work().join(log)).expect("a log");
        assert!(text.lines().count() > 1, "{log}");
    }
}

#[test]
fn unsupported_options_are_refused_in_one_line() {
    let place = Place::new();
    let refused = |words: &[&str], why: &str| {
        place
            .ssdyno(&[&["fio", "--name=a", "--size=1m", "--rw=write"], words].concat())
            .refuses(2, why);
    };
    let card = "--filename=sim:sd-150x";
    refused(&[card, "--verify=crc32c"], "verify on a virtual drive");
    refused(&[card, "--ioengine=mmap"], "ioengine=mmap on this drive");
    refused(&[card, "--name=b", "--filename=sim:samsung-980-pro-1t"], "in one plan");
    refused(&[card, "--name=b", "--filename=f", "--size=1m"], "in one plan");
    refused(&["--filename=sim:no-such-drive"], "no such drive");
    refused(&["--filename=pci:0000:01:00.0"], "pci:0000:01:00.0");
    refused(&["--directory=sim:sd-150x", "--size=1t"], "virtual drive");
    assert!(place.is_untouched());
    // A file with such a name needs its directory.
    let file = ["fio", "--name=a", "--size=64k", "--rw=write", "--filename=./sim\\:x"];
    place.ssdyno(&file).good();
    assert!(place.work().join("sim:x").exists());
}

/// A job that only its time ends is bounded by the link and by its own limits.
#[test]
fn a_plan_bounds_the_bytes_that_jobs_write() {
    let own = ["", "--rate=1m", "--rate_iops=100", "--number_ios=10", "--loops=3 --time_based=0"];
    for own in own {
        let place = Place::new();
        let line = "fio --name=a --rw=write --bs=64k --size=1m --time_based --runtime=2 \
                    --filename=sim:sd-150x";
        let words: Vec<&str> = line.split_whitespace().chain(own.split_whitespace()).collect();
        let plan = place.ssdyno(&[&words[..], &["--dry-run"]].concat()).good().out;
        let said = plan.split_once("writes at most ").expect("a bound").1;
        let said = said.lines().next().expect("a line").replace(' ', "");
        let most = workload::units::parse_bytes(&said).expect("a size");
        let job = &json(&place, &words[1..])["jobs"][0];
        let [_, (_, written), _] = counts(job);
        // The text has three digits.
        let rounded = most + most / 100;
        assert!(written <= rounded && most <= 3 * written, "{own}: {written} of at most {most}");
    }
}
