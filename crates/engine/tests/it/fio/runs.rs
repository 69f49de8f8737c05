//! Runs the same jobs with an installed fio and with ssdyno, and checks that operation and byte
//! counts match, as do the distributions of offsets and sizes. The jobs are small, buffered and
//! short, and no result depends on speed. Skipped if fio is not installed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use fio::output;
use serde_json::Value;
use tempfile::TempDir;

use super::common::{check, json, perform, plan};

/// One line of a log: direction, bytes, offset.
type Line = (u8, u64, u64);

/// The results of one tool for a job.
struct Did {
    json: Value,
    /// Log of the first clone, in completion order.
    log: Vec<Line>,
}

impl Did {
    fn jobs(&self) -> Vec<&Value> {
        self.json["jobs"].as_array().into_iter().flatten().collect()
    }

    /// For each job, operations and bytes of reads, writes and trims, and the number of flushes.
    fn counts(&self) -> Vec<[u64; 7]> {
        let number = |value: &Value| value.as_u64().unwrap_or(0);
        let count = |job: &&Value| {
            let side =
                |name: &str| [number(&job[name]["total_ios"]), number(&job[name]["io_bytes"])];
            let [r, w, t] = ["read", "write", "trim"].map(side);
            [r[0], r[1], w[0], w[1], t[0], t[1], number(&job["sync"]["lat_ns"]["N"])]
        };
        self.jobs().iter().map(count).collect()
    }

    fn offsets(&self) -> Vec<u64> {
        self.log.iter().map(|line| line.2).collect()
    }
}

/// Runs both tools with the same options, each in its own directory; `None` without fio.
fn both(words: &str) -> Option<(Did, Did)> {
    Command::new("fio").arg("--version").output().ok()?;
    let words: Vec<String> = words.split(' ').map(String::from).collect();
    let theirs = tempfile::tempdir().expect("a directory");
    let ours = tempfile::tempdir().expect("a directory");
    Some((by_ssdyno(&words, ours), by_fio(&words, theirs)))
}

/// Options for both tools: the directory, and logs with one line per operation. `directory` comes
/// first, because fio resolves earlier names in the current directory.
fn common(words: &[String], directory: &Path) -> Vec<String> {
    let place = directory.display();
    let mut all = vec![format!("--directory={place}"), format!("--write_lat_log={place}/log")];
    all.extend(["--log_offset=1", "--output-format=json"].map(String::from));
    all.extend(words.iter().cloned());
    all
}

fn by_fio(words: &[String], directory: TempDir) -> Did {
    let said = Command::new("fio")
        .args(common(words, directory.path()))
        .current_dir(directory.path())
        .output()
        .expect("fio runs");
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    let json = text.find('{').map_or("", |at| &text[at..]);
    let json = serde_json::from_str(json).unwrap_or_else(|e| panic!("{e}: fio printed {text}"));
    Did { json, log: read_log(directory.path()) }
}

fn by_ssdyno(words: &[String], directory: TempDir) -> Did {
    let words = common(words, directory.path());
    let plan = plan(&words);
    let ran = perform(&plan, &[]).unwrap_or_else(|e| panic!("{words:?}: {e}"));
    output::write_logs(&ran, Path::new("")).expect("logs");
    Did { json: json(&ran), log: read_log(directory.path()) }
}

fn read_log(directory: &Path) -> Vec<Line> {
    let text = std::fs::read_to_string(directory.join("log_lat.1.log")).unwrap_or_default();
    let line = |line: &str| {
        let fields: Vec<u64> = line.split(',').filter_map(|f| f.trim().parse().ok()).collect();
        (fields[2] as u8, fields[3], fields[4])
    };
    text.lines().map(line).collect()
}

/// Whether a job passes the checks before a run.
fn admitted(words: &[String]) -> bool {
    check(&plan(words), &[]).is_ok()
}

#[test]
fn only_what_is_as_we_left_it_is_written_again() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("f");
    let words = ["--name=a", "--size=64k", "--bs=4k", "--rw=randrw"].map(String::from);
    let words = [vec![format!("--filename={}", path.display())], words.to_vec()].concat();
    std::fs::write(&path, "a letter").expect("written");
    assert!(!admitted(&words), "overwrites a file that ssdyno did not create");
    std::fs::remove_file(&path).expect("removed");
    perform(&plan(&words), &[]).expect("runs");
    if !admitted(&words) {
        println!("skipped: this file system does not support extended attributes");
        return;
    }
    // Overwrite it in place, as an editor or a shell does.
    std::fs::write(&path, vec![b'x'; 65_536]).expect("written");
    assert!(!admitted(&words), "overwrites a file changed since ssdyno wrote it");
}

/// Runs a job and compares the counts exactly; `None` without fio.
#[track_caller]
fn same_counts(words: &str) -> Option<(Did, Did)> {
    let Some((ours, theirs)) = both(words) else {
        println!("skipped: fio is not installed");
        return None;
    };
    assert_eq!(ours.counts(), theirs.counts(), "ours, then fio's: {words}");
    Some((ours, theirs))
}

/// Checks that the counts in a few classes come from the same distribution: a two-sample chi-square
/// test at a significance level of 1e-4.
#[track_caller]
fn same_distribution(ours: &[u64], theirs: &[u64], words: &str) {
    let (n, m) = (ours.iter().sum::<u64>() as f64, theirs.iter().sum::<u64>() as f64);
    let (k1, k2) = ((m / n).sqrt(), (n / m).sqrt());
    let full = ours.iter().zip(theirs).filter(|(a, b)| *a + *b > 0);
    let (mut chi, mut classes) = (0.0, 0);
    for (a, b) in full {
        let (a, b) = (*a as f64, *b as f64);
        chi += (k1 * a - k2 * b).powi(2) / (a + b);
        classes += 1;
    }
    // The Wilson-Hilferty approximation of the quantile.
    let freedom = f64::from(classes - 1);
    let part = 2.0 / (9.0 * freedom);
    let limit = freedom * (1.0 - part + 3.719 * part.sqrt()).powi(3);
    assert!(chi < limit, "{words}: chi-square {chi:.1}, at most {limit:.1}: {ours:?} {theirs:?}");
}

/// Number of occurrences of each class.
fn classes(values: impl IntoIterator<Item = usize>, count: usize) -> Vec<u64> {
    let mut counts = vec![0; count];
    values.into_iter().for_each(|class| counts[class.min(count - 1)] += 1);
    counts
}

#[test]
fn sequential_jobs_visit_the_same_places_in_the_same_order() {
    for words in [
        "--name=a --filename=f --size=1m --bs=8k --rw=write",
        "--name=a --filename=f --size=1m --bs=4k --rw=read --offset=64k",
        "--name=a --filename=f --size=256k --bs=4k --rw=write:4k",
        "--name=a --filename=f --size=256k --bs=4k --rw=read:-8k",
        "--name=a --filename=f --size=100k --bs=16k --rw=write --loops=2",
        "--name=a --filename=f --size=1m --io_size=300k --bs=64k --rw=write",
        "--name=a --filename=f --size=1m --bs=4k --rw=read --zonemode=strided --zonesize=16k \
         --zonerange=64k --zoneskip=64k",
    ] {
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        let Some((ours, theirs)) = same_counts(&words) else { return };
        assert_eq!(ours.log, theirs.log, "ours, then fio's: {words}");
    }
}

#[test]
fn random_maps_visit_every_block_once() {
    for words in [
        "--name=a --filename=f --size=2m --bs=4k --rw=randwrite",
        "--name=a --filename=f --size=2m --bs=4k --rw=randread --ioengine=libaio --iodepth=16",
        "--name=a --filename=f --size=2m --bs=8k --rw=randread --ioengine=io_uring --iodepth=8 \
         --iodepth_batch_submit=4 --iodepth_batch_complete_min=2",
    ] {
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        let Some((ours, theirs)) = same_counts(&words) else { return };
        let visited = |did: &Did| did.offsets().into_iter().collect::<BTreeSet<u64>>();
        assert_eq!(visited(&ours), visited(&theirs), "{words}");
        assert_eq!(visited(&ours).len(), ours.log.len(), "twice: {words}");
        let mut sorted = ours.offsets();
        sorted.sort_unstable();
        assert_ne!(sorted, ours.offsets(), "in order: {words}");
    }
}

#[test]
fn a_map_with_blocks_of_many_sizes_leaves_nothing_out() {
    let words = "--name=a --filename=f --size=8m --bsrange=4k-64k --rw=randwrite";
    let Some((ours, theirs)) = both(words) else { return };
    assert_eq!(ours.counts()[0][3], theirs.counts()[0][3]);
    let mut parts: Vec<_> = ours.log.iter().map(|line| (line.2, line.1)).collect();
    parts.sort_unstable();
    let mut end = 0;
    for (offset, bytes) in parts {
        assert_eq!(offset, end, "a gap or an overlap");
        end = offset + bytes;
    }
    assert_eq!(end, 8 << 20);
}

#[test]
fn mixes_split_and_flush_as_asked() {
    let words = "--name=a --filename=f --size=8m --bs=4k --rw=randrw --rwmixread=70 --fdatasync=64";
    let Some((ours, theirs)) = both(words) else { return };
    let all = |did: &Did| did.counts().iter().map(|c| (c[0] + c[2], c[1] + c[3])).next();
    assert_eq!(all(&ours), all(&theirs));
    let sides = |did: &Did| classes(did.log.iter().map(|line| line.0 as usize), 2);
    same_distribution(&sides(&ours), &sides(&theirs), words);
    // fio flushes after every 64th write and again after each read until the next write: on average
    // 1 + 70/30 times per 64 writes, with the variance of the number of reads.
    for did in [&ours, &theirs] {
        let counts = did.counts()[0];
        let mean = (counts[2] / 64) as f64 * (1.0 + 70.0 / 30.0);
        assert!((counts[6] as f64 - mean).abs() < 5.0 * (mean * 7.8 / 3.3).sqrt(), "{counts:?}");
    }
}

#[test]
fn split_sizes_have_their_shares() {
    let words = "--name=a --filename=f --size=16m --bssplit=4k/50:16k/30:64k/20 --rw=write";
    let Some((ours, theirs)) = both(words) else { return };
    assert_eq!(ours.counts()[0][3], theirs.counts()[0][3]);
    let size = |line: &Line| [4096, 16_384, 65_536].iter().position(|s| *s == line.1);
    let sizes = |did: &Did| classes(did.log.iter().filter_map(size), 3);
    same_distribution(&sizes(&ours), &sizes(&theirs), words);
}

#[test]
fn ranges_of_sizes_are_drawn_alike() {
    let words = "--name=a --filename=f --size=32m --bsrange=4k-32k --rw=write";
    let Some((ours, theirs)) = both(words) else { return };
    let sizes = |did: &Did| classes(did.log.iter().map(|line| (line.1 / 4096) as usize - 1), 8);
    same_distribution(&sizes(&ours), &sizes(&theirs), words);
}

/// Accesses per block, most popular first, summed in rank classes of doubling size.
fn ranks(did: &Did) -> Vec<u64> {
    let mut by_place: BTreeMap<u64, u64> = BTreeMap::new();
    did.offsets().into_iter().for_each(|offset| *by_place.entry(offset).or_default() += 1);
    let mut counts: Vec<u64> = by_place.into_values().collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    let ranks = counts.iter().enumerate();
    ranks.fold(vec![0; 12], |mut sums, (rank, count)| {
        sums[((rank + 1).ilog2() as usize).min(11)] += count;
        sums
    })
}

#[test]
fn popularity_falls_off_alike() {
    for distribution in ["zipf:1.2", "zipf:0.8:0.5", "pareto:0.9", "normal:20"] {
        let words = format!(
            "--name=a --filename=f --size=16m --bs=4k --rw=randread --norandommap \
             --random_distribution={distribution}"
        );
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        let Some((ours, theirs)) = both(&words) else { return };
        let (a, b) = (ranks(&ours), ranks(&theirs));
        let (n, m) = (a.iter().sum::<u64>() as f64, b.iter().sum::<u64>() as f64);
        let (mut x, mut y, mut off) = (0.0, 0.0, 0.0f64);
        for (a, b) in a.iter().zip(&b) {
            (x, y) = (x + *a as f64 / n, y + *b as f64 / m);
            off = off.max((x - y).abs());
        }
        // fio's zipf is an approximation, and its hash maps several ranks to one place. That shifts
        // 3% of the accesses; a different exponent would shift 6%.
        assert!(off < 0.05, "{words}: {off:.3} of the accesses lie elsewhere: {a:?} {b:?}");
    }
}

#[test]
fn zones_get_the_same_shares() {
    let words = "--name=a --filename=f --size=16m --bs=4k --rw=randread --norandommap \
                 --random_distribution=zoned:60/10:30/20:10/70";
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    let Some((ours, theirs)) = both(&words) else { return };
    let place = |did: &Did| {
        classes(did.offsets().into_iter().map(|offset| (offset * 20 / (16 << 20)) as usize), 20)
    };
    same_distribution(&place(&ours), &place(&theirs), &words);
}

#[test]
fn several_files_clones_and_stages_are_counted_alike() {
    for words in [
        "--name=a --nrfiles=3 --size=96k --bs=4k --rw=write",
        "--name=a --nrfiles=4 --size=1m --bs=4k --rw=randread --file_service_type=random",
        "--name=a --filename=f --size=256k --bs=4k --rw=write --name=b --stonewall --filename=f \
         --size=256k --rw=randread --bs=8k --numjobs=2",
        "--name=a --filename=f --size=64k --bs=4k --rw=write --name=b --filename=g --size=64k \
         --rw=write --bs=8k --wait_for=a",
        "--name=a --filename=f --size=512k --bs=4k --rw=randwrite --number_ios=50",
        "--name=a --filename=f --size=256k --bs=4k --rw=randwrite --number_ios=40 --loops=2",
        "--name=a --size=4m --bs=4k --rw=randwrite --ioengine=null --iodepth=16",
        "--name=a --filename=f --size=1m --bs=4k --rw=write --ioengine=mmap --fsync=16",
        "--name=a --filename=f --size=1m --bs=8k --rw=randread --ioengine=mmap --direct=1",
        "--name=a --filename=f --size=64k --io_size=1m --bs=4k --rw=randwrite --norandommap \
         --ioengine=libaio --iodepth=8 --serialize_overlap=1",
        "--name=a --nrfiles=3 --size=768k --bs=4k --rw=randwrite --ioengine=mmap --fallocate=none",
    ] {
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        if same_counts(&words).is_none() {
            return;
        }
    }
}

#[test]
fn flushes_and_reading_back_are_counted_alike() {
    for words in [
        "--name=a --filename=f --size=256k --bs=4k --rw=write --fsync=4 --end_fsync=1",
        "--name=a --filename=f --size=256k --bs=4k --rw=write --verify=crc32c",
        "--name=a --filename=f --size=256k --bs=4k --rw=randwrite --verify=md5 --do_verify=0",
        "--name=a --filename=f --size=256k --bs=4k --rw=randwrite --verify=md5 --ioengine=mmap",
    ] {
        let Some((ours, _)) = same_counts(words) else { return };
        assert_eq!(ours.jobs()[0]["error"], 0, "{words}");
    }
}

#[test]
fn rates_pauses_and_times_are_kept_alike() {
    let words = "--name=a --filename=f --size=1m --bs=4k --rw=randread --rate_iops=500 --time_based \
                 --runtime=1";
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    let Some((ours, theirs)) = both(&words) else { return };
    let [ours_n, theirs_n] = [&ours, &theirs].map(|did| did.counts()[0][0]);
    // Operations that become due at the end of the second, while this thread is off the CPU, are
    // not issued.
    assert!((400..=501).contains(&ours_n), "{ours_n} operations at 500/s in a second");
    // On a loaded machine fio can be late, and it does not catch up.
    assert!(theirs_n <= 505, "{theirs_n}");
    let response = &ours.jobs()[0]["ssdyno"]["response_ns"]["read"];
    assert_eq!(response["N"].as_u64(), Some(ours_n), "a schedule has response times");
}
