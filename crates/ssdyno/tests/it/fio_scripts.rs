//! `ssdyno fio --as-is` in scripts that run fio several times, or read what it leaves: states of
//! verifying jobs, logs, results so far. No fio is needed.

use std::fs;

use serde_json::Value;

use crate::common::{Place, Said};

fn fio(place: &Place, words: &[&str]) -> Said {
    place.ssdyno(&[&["fio", "--as-is"], words].concat())
}

/// The lines of a file in the directory, as numbers.
fn numbers(place: &Place, name: &str) -> Vec<Vec<u64>> {
    let text = fs::read_to_string(place.work().join(name)).expect(name);
    let fields =
        |line: &str| line.split(", ").map(|word| word.parse().expect("a number")).collect();
    text.lines().map(fields).collect()
}

#[test]
fn a_later_job_checks_what_was_written_and_no_more() {
    let place = Place::new();
    let job = ["--name=a", "--filename=f", "--size=256k", "--verify=crc32c", "--randseed=7"];
    let writes = [&job[..], &["--rw=randwrite", "--number_ios=20"]].concat();
    fio(&place, &writes).good();
    let state = place.work().join("local-a-0-verify.state");
    assert_eq!(fs::metadata(&state).expect("a state").len(), 176);
    let reads = [&job[..], &["--rw=randread", "--verify_state_load=1", "--output-format=json"]];
    let reads = reads.concat();
    let record: Value = fio(&place, &reads).good().json();
    assert_eq!(record["jobs"][0]["read"]["total_ios"], 20);
    // Without it, the blocks that were not written are wrong.
    assert_ne!(fio(&place, &[&job[..], &["--rw=randread"]].concat()).code, 0);
    let mut damaged = fs::read(&state).expect("read");
    damaged[40] ^= 1;
    fs::write(&state, damaged).expect("written");
    let said = fio(&place, &reads);
    assert!(said.code != 0 && said.err.contains("checksum"), "{said:?}");
    fs::remove_file(&state).expect("removed");
    assert_ne!(fio(&place, &reads).code, 0);
    // As in fio, verify_only counts the writes that it leaves out.
    let checks = [&job[..], &["--rw=randwrite", "--number_ios=20", "--verify_only"]].concat();
    fs::write(&state, "another").expect("written");
    let checks = [&checks[..], &["--output-format=json"]].concat();
    let record = fio(&place, &checks).good().json();
    for (direction, rate_is_zero) in [("read", false), ("write", true)] {
        let side = &record["jobs"][0][direction];
        assert_eq!((&side["total_ios"], &side["io_bytes"]), (&20.into(), &81920.into()));
        assert_eq!(side["bw"] == 0, rate_is_zero, "{side}");
    }
    let without_as_is = place.ssdyno(&[&["fio"], &checks[..]].concat()).good().json();
    assert_eq!(without_as_is["jobs"][0]["write"]["total_ios"], 0, "nothing was written");
    let bytes = fs::read(&state).expect("read");
    assert_eq!((bytes.len(), u64::from_le_bytes(bytes[32..40].try_into().expect("8"))), (176, 20));
    fs::remove_file(&state).expect("removed");
    let keeps_none = [&writes[..], &["--verify_state_save=0"]].concat();
    fio(&place, &keeps_none).good();
    assert!(!state.exists());
}

#[test]
fn logs_have_the_parts_of_latency_and_can_be_compressed() {
    let place = Place::new();
    let job = ["--name=a", "--size=256k", "--rw=read", "--write_lat_log=l"];
    fio(&place, &[&job[..], &["--ioengine=posixaio", "--iodepth=4"]].concat()).good();
    let [parts, rest, sums] =
        ["slat", "clat", "lat"].map(|n| numbers(&place, &format!("l_{n}.1.log")));
    assert_eq!(sums.len(), 64);
    for ((part, rest), sum) in parts.iter().zip(&rest).zip(&sums) {
        assert_eq!(part[1] + rest[1], sum[1]);
        assert!(part[1] > 0);
    }
    fio(&place, &[&job[..], &["--ioengine=psync"]].concat()).good();
    assert!(numbers(&place, "l_slat.1.log").is_empty());
    fio(&place, &[&job[..], &["--ioengine=null", "--log_store_compressed=1"]].concat()).good();
    let said = fio(&place, &["--inflate-log=l_lat.1.log.fz"]).good();
    assert_eq!(said.out.lines().count(), 64);
    assert!(said.out.lines().all(|line| line.ends_with(", 0, 4096, 0")), "{said:?}");
}

#[test]
fn results_so_far_and_combined_rates_are_printed_while_jobs_run() {
    let place = Place::new();
    let words = ["--name=a", "--ioengine=null", "--size=1g", "--time_based", "--runtime=700ms"];
    let options = ["--status-interval=200ms", "--bandwidth-log", "--output-format=json"];
    let said = fio(&place, &[&words[..], &options].concat()).good();
    let documents = serde_json::Deserializer::from_str(&said.out).into_iter::<Value>();
    let counts = documents.map(|document| {
        document.expect("JSON")["jobs"][0]["read"]["total_ios"].as_u64().expect("a count")
    });
    let counts: Vec<u64> = counts.collect();
    assert!(counts.len() >= 3 && counts.windows(2).all(|two| two[0] < two[1]), "{counts:?}");
    let rates = numbers(&place, "agg-read_bw.log");
    assert!(rates.len() == 1 && rates[0][..1] == [500] && rates[0][1] > 0, "{rates:?}");
    assert_eq!(numbers(&place, "agg-write_bw.log")[0][1..], [0, 1, 0, 0]);
}

#[test]
fn sprandom_writes_the_spare_share_again() {
    let place = Place::new();
    let words = ["--name=a", "--rw=randwrite", "--size=8m", "--sprandom=1", "--spr_op=0.1"];
    let options = ["--spr_num_regions=50", "--output-format=json"];
    let record = fio(&place, &[&words[..], &options].concat()).good().json();
    let bytes = record["jobs"][0]["write"]["io_bytes"].as_u64().expect("bytes");
    let expected = (8 << 20) * 11 / 10;
    assert!(bytes.abs_diff(expected) < expected / 20, "{bytes}");
    for wrong in ["--spr_num_regions=9999", "--norandommap=0", "--rw=randread"] {
        assert_ne!(fio(&place, &[&words[..], &[wrong]].concat()).code, 0, "{wrong}");
    }
}

#[test]
fn a_pattern_starts_again_at_each_interval() {
    let place = Place::new();
    let words = ["--name=a", "--filename=f", "--size=64k", "--rw=write", "--verify=pattern"];
    let options = ["--verify_pattern=%o", "--verify_pattern_interval=512"];
    fio(&place, &[&words[..], &options].concat()).good();
    let bytes = fs::read(place.work().join("f")).expect("read");
    for (number, piece) in (0u64..).zip(bytes.chunks(512)) {
        assert_eq!(piece[..8], (number * 512).to_le_bytes());
        assert_eq!(piece[..8], piece[504..]);
    }
}

#[test]
fn names_are_created_asked_about_and_removed() {
    for (engine, left) in [
        ("filecreate", 3),
        ("filestat", 3),
        ("filedelete", 0),
        ("dircreate", 3),
        ("dirstat", 3),
        ("dirdelete", 0),
    ] {
        let place = Place::new();
        let engine_word = format!("--ioengine={engine}");
        let words = ["--name=a", &engine_word, "--nrfiles=3", "--filesize=8k"];
        let options = ["--write_lat_log=l", "--output-format=json"];
        let record = fio(&place, &[&words[..], &options].concat()).good().json();
        let read = &record["jobs"][0]["read"];
        let counts = (&read["total_ios"], &read["clat_ns"]["N"]);
        assert_eq!(counts, (&Value::from(6), &Value::from(3)), "{engine}");
        assert_eq!(numbers(&place, "l_clat.1.log").len(), 3, "{engine}");
        let entries = fs::read_dir(place.work()).expect("listed").map(|entry| entry.expect("one"));
        let names = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("a.0."));
        assert_eq!(names.count(), left, "{engine}");
    }
}

#[test]
fn seeds_differ_between_runs_only_where_a_script_asks_for_it() {
    let place = Place::new();
    let seeds = |own: &[&str], words: &[&str]| {
        let job = ["--debug=random", "--name=a", "--ioengine=null", "--size=64k", "--rw=randread"];
        let said = place.ssdyno(&[&["fio"], own, &job, words].concat()).good();
        assert!(said.out.starts_with("fio: set debug option random\nrandom "), "{said:?}");
        let line = said.out.lines().find(|line| line.contains("rand_seeds[0]=")).expect("a seed");
        line.rsplit('=').next().expect("a number").parse::<u64>().expect("a number")
    };
    for (own, words, differ) in [
        (&["--as-is"][..], &["--randrepeat=0"][..], true),
        (&["--as-is"], &["--randrepeat=0", "--randseed=5"], false),
        (&["--as-is"], &[], false),
        (&[], &["--randrepeat=0"], false),
    ] {
        assert_eq!(seeds(own, words) != seeds(own, words), differ, "{own:?} {words:?}");
    }
}
