//! fio's own example job files, scaled down in size and time, on a file of the test. They succeed,
//! and their counts are consistent.
//!
//! `SSDYNO_FIO_EXAMPLES` names their directory if packages do not install it in the usual place;
//! `cargo xtask test` sets it.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::common::{Place, root};

/// Size of each file, and bytes transferred by each job. Every section gets it, because examples
/// for devices have none.
const SIZE: &str = "2m";

const NAMES: &[&str] = &[
    "aio-read",
    "backwards-read",
    "basic-verify",
    "butterfly",
    "cmdprio-bssplit",
    "cmdprio-percentage",
    "dedupe-global",
    "disk-zone-profile",
    "fio-rand-RW",
    "fio-rand-read",
    "fio-rand-write",
    "fio-seq-RW",
    "fio-seq-read",
    "fio-seq-write",
    "example_latency_steadystate",
    "exitwhat",
    "fixed-rate-submission",
    "fsx",
    "iometer-file-access-server",
    "jesd219",
    "latency-profile",
    "null",
    "rand-zones",
    "sequence-distribution",
    "ssd-test",
    "tiobench-example",
    "waitfor",
    "zipf",
];

fn example(name: &str) -> Option<String> {
    let named = std::env::var_os("SSDYNO_FIO_EXAMPLES").map(PathBuf::from);
    let usual = PathBuf::from("/usr/share/doc/fio/examples");
    let directories = named.into_iter().chain([usual]);
    directories.filter_map(|dir| fs::read_to_string(dir.join(format!("{name}.fio"))).ok()).next()
}

/// The same job file, scaled down and with its own file.
fn scaled_down(text: &str) -> String {
    let mut lines = Vec::new();
    for line in text.lines() {
        let (name, value) = line.split_once('=').unwrap_or((line, ""));
        lines.push(match name.trim() {
            "size" | "io_size" | "filesize" | "zonesize" | "zonerange" if !value.contains('%') => {
                format!("{name}={SIZE}")
            }
            "runtime" | "timeout" => format!("{name}=1"),
            "loops" => format!("{name}=1"),
            "ramp_time" | "startdelay" | "directory" | "zoneskip" | "create_serialize" => continue,
            "filename" => "filename=file".to_string(),
            _ => line.to_string(),
        });
        if line.trim_start().starts_with('[') {
            lines.push(format!("size={SIZE}"));
        }
    }
    lines.join("\n") + "\n"
}

/// Runs a job file in its own place. Returns the jobs of its results.
fn run(name: &str, text: &str) -> Result<Vec<Value>, String> {
    let place = Place::new();
    let file = place.work().join("job.fio");
    fs::write(&file, text).expect("written");
    let said = place.ssdyno(&["fio", "--output-format=json", "--eta=never", "job.fio"]);
    if said.err.contains("refuses direct=1") {
        return Err(format!("{name}: {}", said.err));
    }
    assert_eq!(said.code, 0, "{name}: {}\n{text}", said.err);
    let jobs = said.json()["jobs"].as_array().expect("jobs").clone();
    assert!(!jobs.is_empty(), "{name}");
    Ok(jobs)
}

fn count(job: &Value, side: &str) -> u64 {
    job[side]["total_ios"].as_u64().expect("a count")
}

/// Asserts that the job did something, in blocks of plausible size.
fn is_sane(name: &str, job: &Value) {
    let sides = ["read", "write", "trim"];
    assert_eq!(job["error"], 0, "{name}: {job}");
    assert!(sides.iter().any(|side| count(job, side) > 0), "{name}: {job}");
    for side in sides {
        let (ios, bytes) = (count(job, side), job[side]["io_bytes"].as_u64().expect("bytes"));
        assert!(bytes >= 512 * ios && bytes <= (2 << 20) * ios, "{name}, {side}: {bytes} in {ios}");
    }
}

#[test]
fn examples_run_scaled_down() {
    if example(NAMES[0]).is_none() {
        println!("skipped: fio's examples are not installed: apt-get download fio-examples");
        return;
    }
    let mut ran = 0;
    for name in NAMES {
        let Some(text) = example(name) else { continue };
        if name.starts_with("cmdprio") && root().is_err() {
            continue;
        }
        match run(name, &scaled_down(&text)) {
            Ok(jobs) => {
                jobs.iter().for_each(|job| is_sane(name, job));
                ran += 1;
            }
            Err(why) => println!("not run: {why}"),
        }
    }
    assert!(ran >= 12, "only {ran} examples ran");
}

#[test]
fn jobs_of_a_flow_keep_their_ratio() {
    let Some(text) = example("flow") else {
        println!("skipped: fio's examples are not installed: apt-get download fio-examples");
        return;
    };
    match run("flow", &scaled_down(&text)) {
        Ok(jobs) => {
            let [writes, reads] = &jobs[..] else { panic!("{jobs:?}") };
            let ratio = count(reads, "read") as f64 / count(writes, "write") as f64;
            assert!((7.0..9.0).contains(&ratio), "{ratio}");
        }
        Err(why) => println!("skipped: {why}"),
    }
}

/// fio's example of sequences, which only newer versions include.
#[test]
fn offsets_follow_a_sequence() {
    let text = "[global]\nioengine=null\nrw=randread\nbs=4k\nsize=48k\nio_size=24k\n\
                write_lat_log=s\nlog_offset=1\n\
                [a]\nrandom_distribution=sequence:2,0,1\n\
                [b]\nstonewall\nrandom_distribution=sequence:2,0,1\nrandom_sequence_stride=1\n";
    let place = Place::new();
    fs::write(place.work().join("job.fio"), text).expect("written");
    place.ssdyno(&["fio", "--output-format=json", "job.fio"]).good();
    let blocks = |number: u32| -> Vec<u64> {
        let log = fs::read_to_string(place.work().join(format!("s_clat.{number}.log")));
        let log = log.expect("a log");
        let offset = |line: &str| line.split(", ").nth(4)?.parse::<u64>().ok();
        log.lines().filter_map(offset).map(|offset| offset / 4096).collect()
    };
    assert_eq!(blocks(1), [2, 0, 1, 2, 0, 1]);
    assert_eq!(blocks(2), [2, 0, 1, 5, 3, 4]);
    let words =
        "fio --name=x --ioengine=null --rw=randread --bs=4k --size=8k --time_based --runtime=1";
    let words: Vec<&str> = words.split(' ').collect();
    let short = [&words[..], &["--random_distribution=sequence:2,0,1"]].concat();
    place.ssdyno(&short).refuses(2, "block 2 of the sequence is beyond the end");
    // A sequence that fits repeats for as long as requested.
    let strided = ["--random_distribution=sequence:1,0", "--random_sequence_stride=1"];
    place.ssdyno(&[&words[..], &strided, &["--output-format=json"]].concat()).good();
}

#[test]
fn operations_have_their_own_priorities() {
    if let Err(why) = root() {
        println!("skipped: {why}");
        return;
    }
    for engine in ["libaio", "io_uring"] {
        let text = format!(
            "[p]\nfilename=file\nsize=4m\nbssplit=4k/50:64k/50\nrw=randread\niodepth=8\n\
             norandommap\nnumber_ios=400\nio_size=64m\n\
             ioengine={engine}\nwrite_lat_log=p\nlog_prio=1\nprioclass=2\nprio=7\n\
             cmdprio_bssplit=64k/25/1/1:64k/75/3/2\n"
        );
        let place = Place::new();
        fs::write(place.work().join("job.fio"), text).expect("written");
        let said = place.ssdyno(&["fio", "--output-format=json", "job.fio"]);
        assert_eq!(said.code, 0, "{engine}: {}", said.err);
        let log = fs::read_to_string(place.work().join("p_clat.1.log")).expect("a log");
        let mut counts = std::collections::BTreeMap::new();
        for line in log.lines() {
            let fields: Vec<&str> = line.split(", ").collect();
            *counts.entry((fields[3].to_string(), fields[4].to_string())).or_insert(0) += 1;
        }
        let large = |priority: &str| counts.get(&("65536".into(), priority.into())).copied();
        assert!(large("0x2001") > Some(0) && large("0x6002") > large("0x2001"), "{counts:?}");
        assert!(counts.keys().all(|(b, p)| (b == "65536") != (p == "0x4007")), "{counts:?}");
    }
}

#[test]
fn a_missing_numa_node_is_named() {
    let place = Place::new();
    let words = ["fio", "--name=x", "--size=1m", "--rw=write", "--numa_cpu_nodes=1000"];
    place.ssdyno(&words).refuses(2, "no NUMA node 1000");
    let there = std::path::Path::new("/sys/devices/system/node/node0").exists();
    if !there {
        println!("skipped: no NUMA nodes in this kernel");
        return;
    }
    let words = ["fio", "--name=x", "--size=1m", "--rw=write", "--numa_mem_policy=bind:0"];
    place.ssdyno(&[&words[..], &["--numa_cpu_nodes=0"]].concat()).good();
}
