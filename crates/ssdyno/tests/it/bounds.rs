//! A run on a virtual drive costs no more than one on a real drive, however long its virtual time:
//! it ends soon after a signal, and memory and store do not grow with its length.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::common::{Going, Place, send, warnings};

const SIGINT: i32 = 2;
const SIGTERM: i32 = 15;

/// The slowest drive within the ranges of the parameters: up to 40 s per operation.
const SLOW: &str = r#"
capacity = "8GB"
[[link]]
bus = "usb-2"
turnaround_us = 10000000
[command]
read_us = 10000000
write_us = 10000000
latency_us = 10000000
flush_us = 10000000
[nand]
read_us = 10000000
program_us = 10000000
erase_us = 10000000
"#;

/// Maximum CPU time after a signal. A run on a virtual drive waits for nothing, so on an idle
/// machine this is the time until its end.
const END: Duration = Duration::from_secs(2);
/// The same in wall-clock time, on a machine busy with other tests.
const END_BUSY: Duration = Duration::from_secs(10);

/// CPU time of a process, at the usual 100 ticks per second (proc_pid_stat(5), fields 14 and 15);
/// `None` if it is gone.
fn worked(pid: u32) -> Option<Duration> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program, before that, may contain spaces.
    let fields = stat.rsplit_once(") ")?.1.split(' ').skip(11).take(2);
    let ticks = fields.map(|ticks| ticks.parse::<u64>().ok()).sum::<Option<u64>>()?;
    Some(Duration::from_millis(ticks * 10))
}

fn slow(place: &Place) -> String {
    fs::write(place.path("slow.toml"), SLOW).expect("a preset");
    format!("sim:{}", place.text("slow.toml"))
}

#[test]
fn a_run_of_thousands_of_years_has_an_estimate() {
    let place = Place::new();
    let drive = slow(&place);
    let mut command = place.command(&["io", &drive, "--ops", "100000000000", "--dry-run"]);
    let output = command.output().expect("starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_virtual_run_ends_soon_after_a_signal() {
    let place = Place::new();
    let drive = slow(&place);
    let name = drive.as_str();
    let filename = format!("--filename={name}");
    let fio = ["fio", "--name=a", &filename, "--rw=randread", "--size=8M", "--time_based"];
    let fio = [&fio[..], &["--runtime=3650d", "--rate_iops=1"]].concat();
    let commands: [&[&str]; 5] = [
        &["io", name, "--ops", "100000000"],
        &["io", name, "--rw", "write", "--bs", "512", "--coverage", "1000", "--depth", "1024"],
        &["io", name, "--time", "3650d", "--rate", "0.01"],
        &["run", name, "-m", "sustain"],
        &fio,
    ];
    for (number, words) in commands.into_iter().enumerate() {
        let mut command = place.command(words);
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("starts");
        // Once the run is in the store, it catches the signal.
        while place.runs().len() <= number && child.try_wait().expect("waits").is_none() {}
        let (begun, before) = (Instant::now(), worked(child.id()));
        if child.try_wait().expect("waits").is_none() {
            send(if number % 2 == 0 { SIGTERM } else { SIGINT }, child.id());
        }
        // Its end closes the pipe. The kernel keeps its CPU times until it is waited for.
        let mut said = Vec::new();
        child.stderr.take().expect("piped").read_to_end(&mut said).expect("read");
        let (took, work) = (begun.elapsed(), worked(child.id()).zip(before));
        child.wait().expect("ends");
        let work = work.map_or(Duration::ZERO, |(after, before)| after - before);
        assert!(work < END && took < END_BUSY, "{words:?}: {work:?} of CPU time in {took:?}");
        let run = &place.runs()[0];
        assert!(run["complete"] == true || run["cut_short"] == "interrupted", "{words:?}: {run}");
    }
    assert_eq!(fs::read_dir(place.path("tmp")).expect("a directory").count(), 0);
}

#[test]
fn memory_and_store_do_not_grow_with_virtual_time() {
    let place = Place::new();
    let drive = slow(&place);
    // 15 days and 90 days of virtual time: 13 and 78 million intervals of 100 ms.
    let store = |ops: &str| {
        let file = place.text(ops);
        let words = ["io", &drive, "--ops", ops, "--json", "--quiet", "--store", &file];
        let binary = env!("CARGO_BIN_EXE_ssdyno");
        let limited = ["-c", "ulimit -d 65536; exec \"$0\" \"$@\"", binary];
        let said = place.command_of(Path::new("sh"), &[&limited[..], &words].concat());
        let said = { said }.output().expect("starts");
        assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
        let record: serde_json::Value = serde_json::from_slice(&said.stdout).expect("a record");
        assert!(warnings(&record).contains(&"series-thinned"), "{}", record["warnings"]);
        let rows = record["series"][0]["t_ns"].as_array().expect("times").len();
        assert!(rows <= 32_768, "{rows} rows");
        fs::metadata(&file).expect("a store").len()
    };
    let (short, long) = (store("33000"), store("200000"));
    assert!(long < 2 * short, "{short} bytes, then {long}");
}

#[test]
fn operations_in_flight_are_bounded() {
    let place = Place::new();
    let words = ["io", "null:", "--depth", "65536", "--jobs", "1024"];
    place.ssdyno(&words).refuses(2, "67108864 operations in flight");
    assert!(place.is_untouched());
}

#[test]
fn a_run_that_reaches_the_limit_of_virtual_time_keeps_its_record() {
    let place = Place::new();
    let drive = slow(&place);
    let words =
        ["io", drive.as_str(), "--time", "36500d", "--rate", "0.001", "--burst", "1s/1000d"];
    let run = Going::start(&place, &words).end();
    assert_eq!(run.code, 2, "{run:?}");
    assert!(run.err.contains("limit of 20 years"), "{run:?}");
    let record: serde_json::Value =
        serde_json::from_str(run.out.lines().last().expect("a record")).expect("JSON");
    assert_eq!(record["complete"], false);
}
