//! Jobs that end or change because of their own results: latency limits and targets, minimum rates,
//! steady state, ramps, think time and serialization. They run on the null engine or small files
//! and check counts.

use super::common::{number, run, runs};

const NULL: &str = "--name=a --ioengine=null --size=1m --bs=4k --rw=randread";

/// Reads of 1 MiB, each of which takes at least a microsecond: a shorter time would mean 1 TB/s.
fn slow(words: &str) -> serde_json::Value {
    let directory = tempfile::tempdir().expect("a directory");
    let place = directory.path().display();
    run(&format!("--directory={place} --name=a --size=4m --bs=1m --rw=randread {words}"))
}

#[test]
fn an_operation_that_takes_too_long_ends_the_job_in_an_error() {
    let json = slow("--max_latency=1us");
    let job = &json["jobs"][0];
    assert_eq!((number(&job["error"]), number(&job["read"]["total_ios"])), (110, 1), "ETIMEDOUT");
    let told = json["ssdyno"]["findings"].to_string();
    assert!(told.contains("exceeds specified max (1000 nsec)"), "{told}");
    for words in ["--max_latency=100s", "--max_latency=,1us", "--ramp_size=4m --max_latency=1us"] {
        assert_eq!(number(&slow(words)["jobs"][0]["error"]), 0, "{words}");
    }
}

#[test]
fn the_depth_that_keeps_a_latency_is_found_and_told() {
    let words = "--time_based --runtime=60 --iodepth=16 --latency_target=10s --latency_window=5ms";
    let json = run(&format!("{NULL} {words}"));
    let job = &json["jobs"][0];
    assert_eq!((number(&job["latency_depth"]), number(&job["error"])), (16, 0));
    assert_eq!(number(&job["latency_target"]), 10_000_000_000);
    assert_eq!(number(&job["latency_window"]), 5000);
    assert!(number(&job["job_runtime"]) < 60_000, "it ends when it knows");
    let hopeless =
        slow("--ioengine=io_uring --iodepth=16 --latency_target=1us --latency_window=1s");
    let job = &hopeless["jobs"][0];
    assert_eq!((number(&job["latency_depth"]), number(&job["error"])), (1, 110));
}

#[test]
fn a_job_ends_when_it_is_steady() {
    let words = "--rate_iops=500 --time_based --runtime=60 --ss=iops:20% --ss_dur=2";
    let json = run(&format!("{NULL} {words}"));
    let job = &json["jobs"][0];
    let found = &job["steadystate"];
    assert_eq!((number(&found["attained"]), number(&found["duration"])), (1, 2));
    assert_eq!(found["ss"], "iops:20.000000%");
    assert_eq!(found["data"]["iops"].as_array().map(Vec::len), Some(2));
    let mean = number(&found["data"]["iops_mean"]);
    assert!((400..=600).contains(&mean), "{mean}");
    assert!(number(&job["job_runtime"]) < 60_000);
    // With a limit of zero, no rate is steady.
    let never = "--rate_iops=500 --time_based --runtime=3 --ss=iops_slope:0% --ss_dur=2";
    let json = run(&format!("{NULL} {never}"));
    assert_eq!(number(&json["jobs"][0]["steadystate"]["attained"]), 0);
}

#[test]
fn a_group_is_steady_together_and_others_go_on() {
    let words = "--group_reporting --numjobs=2 --rate_iops=300 --time_based --runtime=60 \
                 --ss=iops:50% --ss_dur=2 --new_group --name=b --rw=write --ioengine=null \
                 --size=1m --new_group --ss_dur=0";
    let json = run(&format!("{NULL} {words}"));
    let jobs = json["jobs"].as_array().expect("jobs");
    assert_eq!(jobs.len(), 2);
    let mean = number(&jobs[0]["steadystate"]["data"]["iops_mean"]);
    assert!((300..=900).contains(&mean), "the sum of both: {mean}");
    assert!(jobs[1]["steadystate"].is_null());
}

#[test]
fn a_least_rate_that_is_missed_ends_the_job_in_an_error() {
    let json = run(&format!(
        "{NULL} --thinktime=50ms --rate_iops_min=5000 --rate_cycle=100 --time_based --runtime=60"
    ));
    assert_eq!(number(&json["jobs"][0]["error"]), 5);
    assert!(number(&json["jobs"][0]["job_runtime"]) < 60_000);
    let told = json["ssdyno"]["findings"].to_string();
    assert!(told.contains("rate_iops_min=5000 not met"), "{told}");
}

#[test]
fn what_a_ramp_moves_is_not_counted() {
    let json = run(&format!("{NULL} --ramp_size=256k"));
    let read = &json["jobs"][0]["read"];
    assert_eq!((number(&read["total_ios"]), number(&read["io_bytes"])), (192, 768 << 10));
}

#[test]
fn a_direction_with_a_rate_keeps_it_and_the_other_goes_on() {
    let mix = "--name=a --ioengine=null --size=1m --bs=4k --rw=randrw --time_based --runtime=1";
    for (words, rated, free) in
        [("--rate_iops=,200", "write", "read"), ("--rate=400k,", "read", "write")]
    {
        let job = &run(&format!("{mix} {words}"))["jobs"][0];
        let ops = |side: &str| number(&job[side]["total_ios"]);
        assert!((1..=201).contains(&ops(rated)), "{} at 200 or 100 a second", ops(rated));
        assert!(ops(free) > 10_000, "{} of the other", ops(free));
    }
}

#[test]
fn two_rates_decide_the_mix_only_if_the_drive_keeps_up() {
    let mix = "--name=a --ioengine=null --size=4m --bs=4k --rw=randrw --rwmixread=75";
    let reads =
        |rate: &str| number(&run(&format!("{mix} --rate={rate}"))["jobs"][0]["read"]["total_ios"]);
    let (capped, free) = (reads("8m"), reads("1000g"));
    assert!((470..=590).contains(&capped), "{capped} of 1024 are reads at equal rates");
    assert!((720..=810).contains(&free), "{free} of 1024 are reads if 75% are asked for");
}

#[test]
fn pauses_make_a_schedule_late_or_stand_still_with_it() {
    let words = "--rate_iops=1000 --thinktime=100ms --thinktime_blocks=50 --time_based --runtime=1";
    let late = run(&format!("{NULL} {words}"));
    let still = run(&format!("{NULL} {words} --rate_ignore_thinktime=1"));
    let ops = |json: &serde_json::Value| number(&json["jobs"][0]["read"]["total_ios"]);
    // Late: 50 operations per pause of 100 ms. Still: 50 operations in 50 ms, then a pause of 100
    // ms.
    assert!((1..=550).contains(&ops(&late)) && (1..=350).contains(&ops(&still)));
    let late_ios = |json: &serde_json::Value| number(&json["jobs"][0]["ssdyno"]["late_ios"]);
    assert!(late_ios(&late) >= 50, "{}", late_ios(&late));
    // By time: 100 ms of operations, then a pause of 900 ms.
    let words = "--thinktime=900ms --thinktime_iotime=100ms --number_ios=1m";
    let job = &run(&format!("{NULL} --time_based --runtime=1 {words}"))["jobs"][0];
    let busy = number(&job["read"]["total_ios"]);
    assert!(busy > 1000, "not one operation at a time: {busy}");
}

#[test]
fn a_pause_that_spins_takes_the_processor() {
    let words = "--thinktime=20ms --thinktime_blocks=1 --number_ios=10";
    let share = |spin: &str| {
        let job = &run(&format!("{NULL} {words} --thinktime_spin={spin}"))["jobs"][0];
        job["usr_cpu"].as_f64().unwrap_or(0.0) + job["sys_cpu"].as_f64().unwrap_or(0.0)
    };
    let (spins, sleeps) = (share("20ms"), share("0"));
    assert!(spins > 3.0 * sleeps, "{spins}% against {sleeps}%");
}

#[test]
fn writes_to_one_place_go_one_after_the_other() {
    let directory = tempfile::tempdir().expect("a directory");
    let words = "--name=a --filename=f --size=4k --io_size=400k --bs=4k --rw=randwrite \
                 --norandommap --ioengine=io_uring --iodepth=8 --iodepth_batch=8 \
                 --serialize_overlap=1";
    let json = run(&format!("--directory={} {words}", directory.path().display()));
    let job = &json["jobs"][0];
    assert_eq!(number(&job["write"]["total_ios"]), 100);
    assert_eq!(job["iodepth_complete"]["4"].as_f64(), Some(100.0), "{}", job["iodepth_complete"]);
}

#[test]
fn directions_are_reported_together_or_both_ways() {
    let mix = "--name=a --ioengine=null --size=1m --bs=4k --rw=randrw --randseed=7";
    let job = |words: &str| run(&format!("{mix} {words}"))["jobs"][0].clone();
    let ops = |job: &serde_json::Value, side: &str| number(&job[side]["total_ios"]);
    let (apart, mixed) = (job(""), job("--unified_rw_reporting=mixed"));
    let both = job("--unified_rw_reporting=both");
    assert_eq!(ops(&apart, "read") + ops(&apart, "write"), 256);
    assert!(apart["mixed"].is_null() && mixed["read"].is_null() && mixed["trim"].is_null());
    assert_eq!([ops(&mixed, "mixed"), ops(&both, "mixed")], [256, 256]);
    assert_eq!(number(&both["mixed"]["io_bytes"]), 1 << 20);
    assert_eq!(number(&both["mixed"]["clat_ns"]["N"]), 256);
    for side in ["read", "write"] {
        assert_eq!(ops(&both, side), ops(&apart, side), "{side}");
    }
    let text = runs(&format!("{mix} --unified_rw_reporting=mixed"), fio::output::normal);
    assert!(text.contains("  mixed: IOPS=") && !text.contains("  read: IOPS="), "{text}");
    assert!(text.contains("  MIXED: bw=") && !text.contains("   READ: bw="), "{text}");
    assert!(text.contains("io=1024KiB (1049kB)"), "{text}");
}

#[test]
fn rates_are_in_bits_where_that_was_asked_for() {
    let words = "--rate_iops=100 --time_based --runtime=1 --unit_base=1";
    let text = runs(&format!("{NULL} {words}"), fio::output::normal);
    let rates: Vec<&str> = text.lines().filter(|line| line.contains("bw=")).collect();
    assert!(rates.iter().all(|line| line.contains("Kibit/s (") && line.contains("kbit/s)")));
    assert!(text.contains("   bw (Kibit/s): min="), "{text}");
}

#[test]
fn the_text_says_what_was_found() {
    let words = "--iodepth=8 --latency_target=10s --latency_window=5ms --latency_percentile=99.5 \
                 --time_based --runtime=60";
    let text = runs(&format!("{NULL} {words}"), fio::output::normal);
    let line = "     latency   : target=10.00sec, window=5.00msec, percentile=99.50%, depth=8\n";
    assert!(text.contains(line), "{text}");
    let words = "--rate_iops=500 --time_based --runtime=60 --ss=bw:50% --ss_dur=2";
    let text = runs(&format!("{NULL} {words}"), fio::output::normal);
    assert!(text.contains("  steadystate  : attained=yes, bw="), "{text}");
    assert!(text.contains(", bw mean dev="), "{text}");
}
