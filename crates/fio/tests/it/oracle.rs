//! Compares the parser with an installed fio on the same options. Skipped if fio is missing.

use std::process::{Command, Output};

use fio::{CommandLine, Here, Job, World, parse};

/// Runs fio in a separate directory; `None` if it is not installed.
fn fio(directory: &std::path::Path, words: &[&str]) -> Option<Output> {
    Command::new("fio").args(words).current_dir(directory).output().ok()
}

fn ours(words: &[&str]) -> Result<Vec<Job>, String> {
    let words: Vec<String> = words.iter().map(ToString::to_string).collect();
    match parse(&words, &Here as &dyn World) {
        Ok(CommandLine::Run(plan)) => Ok(plan.jobs),
        Ok(CommandLine::Answer(_) | CommandLine::Inflate(_)) => Ok(Vec::new()),
        Err(error) => Err(error.to_string()),
    }
}

fn scratch() -> tempfile::TempDir {
    tempfile::tempdir().expect("a directory")
}

/// A size as printed in fio's announcement of a job.
fn size(bytes: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB"];
    let mut unit = 0;
    let mut value = bytes as f64;
    while value >= 10_000.0 && unit + 1 < units.len() {
        (value, unit) = (value / 1024.0, unit + 1);
    }
    let digits = usize::from(unit > 0 && value < 100.0);
    format!("{value:.digits$}{}", units[unit])
}

/// fio's announcement line for this job.
fn announced(job: &Job) -> String {
    let [read, write, trim] =
        job.access.blocks.each().map(|b| format!("{}-{}", size(b.min()), size(b.max())));
    format!(
        "{}: (g={}): rw={}, bs=(R) {read}, (W) {write}, (T) {trim}, ioengine={}, iodepth={}",
        job.name,
        job.group,
        job.access.rw.name(),
        job.engine.name(),
        job.queue.depth
    )
}

#[test]
fn every_option_fio_lists_is_in_the_table() {
    let Some(said) = fio(scratch().path(), &["--cmdhelp=all"]) else {
        println!("skipped: fio is not installed");
        return;
    };
    let list = String::from_utf8_lossy(&said.stdout).into_owned();
    let names = list.lines().filter_map(|line| Some(line.split_once(':')?.0.trim()));
    let unknown: Vec<_> = names
        .filter(|name| !name.is_empty() && !name.contains(' '))
        .filter(|name| ours(&[&format!("--cmdhelp={name}")]).is_err())
        .collect();
    assert!(unknown.is_empty(), "{unknown:?}");
    assert!(list.lines().count() > 150);
}

/// Jobs with hardly any I/O, compared by fio's announcement of each.
const ANNOUNCED: &[&[&str]] = &[
    &["--bs=8k"],
    &["--bs=4k,8k"],
    &["--bs=4k,8k,16k"],
    &["--bs=,8k"],
    &["--bs=8k,"],
    &["--bs=4k-8k"],
    &["--bs=4k:8k"],
    &["--bs=4KiB"],
    &["--kb_base=1000", "--bs=4k"],
    &["--kb_base=1000", "--bs=4KiB"],
    &["--bs=0x2000"],
    &["--bs=512B"],
    &["--bs=1kb"],
    &["--bsrange=1k-4k"],
    &["--bsrange=4k-1k"],
    &["--bsrange=1k-4k,2k-8k"],
    &["--bsrange=1k-4k,2k-8k,4k-16k"],
    &["--bs=2k", "--bsrange=1k-4k"],
    &["--bsrange=1k-4k", "--bs=2k"],
    &["--bssplit=4k/60:64k/40"],
    &["--bssplit=4k/60:64k/40,8k"],
    &["--bssplit=4k/60:64k/40,8k,512"],
    &["--bssplit=4k/50:8k/:16k/"],
    &["--bsrange=1k-4k", "--bssplit=8k/50:16k/50"],
    &["--rw=randread:8"],
    &["--rw=readwrite"],
    &["--rw=randrw", "--rwmixread=75"],
    &["--readwrite=randwrite"],
    &["--iodepth=32"],
    &["--iodepth=0x20"],
    &["--name=y", "--new_group", "--name=z"],
    &["--name=y", "--stonewall", "--name=z", "--new_group"],
    &["--description=a,b:c-d"],
    &["-bs=2k"],
    &["-iodepth", "4"],
];

#[test]
fn jobs_are_announced_alike() {
    let directory = scratch();
    // All in one run of fio, which is slow to start.
    let mut words = vec!["--ioengine=null", "--size=1m"];
    for job in ANNOUNCED {
        words.push("--name=x");
        words.extend(*job);
    }
    let Some(said) = fio(directory.path(), &words) else {
        println!("skipped: fio is not installed");
        return;
    };
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    let theirs: Vec<_> =
        said.lines().filter(|l| l.contains(": (g=") && l.contains("rw=")).collect();
    let jobs = ours(&words).expect("a plan");
    assert_eq!(jobs.len(), theirs.len(), "{said}");
    for (job, theirs) in jobs.iter().zip(theirs) {
        assert_eq!(announced(job), theirs);
    }
}

/// Words that fio accepts.
const TAKEN: &[&str] = &[
    "--size=10%",
    "--offset=25%",
    "--offset_increment=5%",
    "--io_size=50%",
    "--filesize=4k-16k",
    "--startdelay=2-5",
    "--runtime=10",
    "--runtime=500ms",
    "--runtime=2m",
    "--thinktime=10ms",
    "--rate=1m,500k",
    "--rate_iops=100,200",
    "--rate=,500k",
    "--rate_process=poisson",
    "--random_distribution=zipf:1.2",
    "--random_distribution=zipf:1.2:0.3",
    "--random_distribution=pareto:0.3",
    "--random_distribution=normal:10",
    "--random_distribution=zoned:60/10:30/20:8/30:2/40",
    "--random_distribution=zoned_abs:60/20G:40/0",
    "--percentage_random=50,60",
    "--verify_pattern=0xdeadbeef",
    "--verify_pattern=\"abc\"%o",
    "--buffer_pattern=0x12\"a\"-5",
    "--percentile_list=50:99:99.9",
    "--cpus_allowed=0",
    "--file_service_type=random:4",
    "--ignore_error=EIO:84",
    "--continue_on_error=io",
    "--ss=iops_slope:0.1%",
    "--ss_dur=10",
    "--fallocate=posix",
    "--fadvise_hint=sequential",
    "--unified_rw_reporting=mixed",
    "--group_reporting",
    "--thread=1",
    "--norandommap=1",
    "--nice=-5",
    "--zonemode=none",
    "--exit_what=all",
    "--log_avg_msec=500",
    "--write_bw_log=p",
    "--rw=write:4k",
    "--blockalign=8k,16k",
];

/// Words that fio refuses.
const NOT_TAKEN: &[&str] = &[
    "--rw=rand",
    "--bs=0",
    "--iodepth=0",
    "--direct=yes",
    "--nosuch=1",
    "--ioengine=nosuch",
    "--rwmixread=101",
    "--percentile_list=101",
    "--random_distribution=zoned:60/10",
    "--random_distribution=zipf:1.0",
    "--random_distribution=pareto:1",
    "--nice=20",
    "--verify=nosuch",
    "--buffer_pattern=\"a",
    "--significant_figures=11",
    "--bs=x",
    "--continue_on_error=maybe",
    "--ignore_error=ENOSUCH",
    "--ss=iops",
    "--bsrange=4k",
    "--direc=/d",
    "--dedupe_percentage=101",
    "--fallocate=maybe",
];

#[test]
fn words_accepted_by_fio_are_accepted() {
    let each: Vec<_> = TAKEN.iter().flat_map(|word| ["--name=x", word]).collect();
    let words: Vec<_> = ["--parse-only", "--size=1m"].into_iter().chain(each).collect();
    let Some(said) = fio(scratch().path(), &words) else {
        println!("skipped: fio is not installed");
        return;
    };
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    for word in TAKEN {
        let jobs = ours(&["--name=x", "--size=1m", word]);
        assert!(jobs.is_ok(), "{word}: {jobs:?}");
    }
}

#[test]
fn words_refused_by_fio_are_refused() {
    let directory = scratch();
    for word in NOT_TAKEN {
        // fio checks some of them only when it adds the job.
        let words = ["--ioengine=null", "--name=x", "--size=1m", word];
        let Some(said) = fio(directory.path(), &words) else {
            println!("skipped: fio is not installed");
            return;
        };
        assert!(!said.status.success(), "fio accepts {word}");
        let jobs = ours(&words);
        assert!(jobs.is_err(), "{word}: {jobs:?}");
    }
}
