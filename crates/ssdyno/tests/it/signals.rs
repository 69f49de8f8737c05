//! Signals: the first ends every command with 130, whatever it is doing or waiting for, and no
//! program started by it is left.

use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::common::{Going, MIB, Place, or_skip, root, tool};
use crate::ending::{
    END_MAX, STEP, code_after, end_after, is_ignored, wait_for_handlers, wait_until_blocked,
};

const SIGHUP: i32 = 1;
const SIGINT: i32 = 2;
const SIGQUIT: i32 = 3;
const SIGKILL: i32 = 9;
const SIGTERM: i32 = 15;

/// Latest signal after the start, microseconds.
const LATEST_US: u64 = 120_000;

/// Signals to each command; `SSDYNO_SIGNALS` asks for more.
fn count() -> u64 {
    std::env::var("SSDYNO_SIGNALS").ok().and_then(|n| n.parse().ok()).unwrap_or(3)
}

#[test]
fn every_command_ends_with_130_on_the_first_signal() {
    let place = Place::new();
    (0..3).for_each(|_| drop(place.io("null: --ops 9")));
    let records = place.ssdyno(&["export"]).good().out;
    let copies = (0..40).flat_map(|copy| {
        let change = move |line: &str| line.replacen("T", &format!("T{copy:02}"), 1);
        records.lines().map(change).collect::<Vec<_>>()
    });
    fs::write(place.path("runs.jsonl"), copies.collect::<Vec<_>>().join("\n")).expect("written");
    fs::write(place.path("source"), vec![7; 4 << 20]).expect("written");
    fs::write(place.path("card"), vec![7; MIB as usize]).expect("written");
    let commands = [
        "list",
        "methods",
        "drives",
        "runs",
        "show 1",
        "show 1 --html",
        "compare 1 2",
        "export",
        "doctor",
        "man",
        "completions bash",
        "recover",
        "replicate 004 --quiet",
        "io null: --time 5s --quiet",
        "io sim:sd-class2 --time 1h --quiet",
        "run sim:samsung-980-pro-1t -m sustain --quiet",
        "import ../runs.jsonl",
        "compare -m speed sim:sd-class2 sim:sd-150x --quiet",
        "image make ../source ../image",
        "fio --name=a --size=1g --rw=read --ioengine=null --time_based --runtime=5",
        "iozone -s 64m -f sim:sd-class2 -i 0",
        "partition ../card --dry-run --json",
        "prepare sim:sd-class2 --to filled --quiet",
        "rm 9",
    ];
    let mut ending = vec![SIGINT, SIGTERM, SIGHUP, SIGQUIT];
    ending.retain(|signal| !is_ignored(*signal));
    let mut random = 0x5eed_u64;
    let (mut interrupted, mut signals, mut slowest) = (0, 0, None);
    for words in commands {
        let words: Vec<&str> = words.split(' ').collect();
        let start = || {
            let mut command = place.command(&words);
            command.stdout(Stdio::null()).stderr(Stdio::null());
            let mut child = command.spawn().expect("starts");
            wait_for_handlers(&mut child);
            child
        };
        for _ in 0..count() {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let signal = ending[(random >> 60) as usize % ending.len()];
            let child = start();
            std::thread::sleep(Duration::from_micros((random >> 33) % LATEST_US));
            let (code, took) = end_after(signal, child, &words.join(" "));
            slowest = slowest.max(Some((took, signal, words.join(" "))));
            // Short commands may be over: then their own code stands.
            assert!(matches!(code, Some(0..=4 | 130)), "{words:?}: {code:?} after {signal}");
            let is_long = ["io", "run", "fio", "prepare"].contains(&words[0]);
            assert!(!is_long || code == Some(130), "{words:?}: {code:?} after {signal}");
            interrupted += u32::from(code == Some(130));
            signals += 1;
        }
    }
    let (took, signal, words) = slowest.expect("a command");
    println!(
        "{signals} signals to {} commands interrupted {interrupted} of them; the slowest end took \
         {:.0} ms: signal {signal} to {words}",
        commands.len(),
        took.as_secs_f64() * 1e3
    );
    assert!(interrupted > 0);
}

#[test]
fn a_signal_ends_the_wait_for_the_reader_of_a_pipe() {
    let place = Place::new();
    (0..2).for_each(|_| drop(place.io("null: --ops 9")));
    let fifo = place.text("fifo.svg");
    or_skip!(tool("mkfifo", &[&fifo]));
    fs::write(place.path("source"), vec![7; 4096]).expect("written");
    let html = format!("--html={fifo}");
    let output = format!("--output={fifo}");
    let source = place.text("source");
    let commands: [&[&str]; 7] = [
        &["show", "1", &html],
        &["show", "1", "--card", &fifo],
        &["io", "null:", "--ops", "9", &html],
        &["run", "sim:sd-class2", "-m", "speed", "--size", "4MiB", &html],
        &["fio", "--name=a", "--size=64k", "--rw=read", "--ioengine=null", &output],
        &["compare", "1", "2", "--html", &fifo],
        &["image", "make", &source, &fifo],
    ];
    for words in commands {
        let mut command = place.command(words);
        let mut child =
            command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("starts");
        wait_until_blocked(&mut child, &["wait_for_partner"]);
        assert_eq!(code_after(SIGINT, child, &words.join(" ")), Some(130), "{words:?}");
    }
}

#[test]
fn a_reader_that_has_stopped_does_not_hold_up_a_run() {
    let place = Place::new();
    // Nobody reads: some hundred events fill the pipe.
    let words = ["io", "null:", "--time", "3s", "--events", "--json", "--jobs", "2"];
    let mut command = place.command(&words);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let mut child = child.expect("starts");
    let pipe = child.stdout.as_ref().expect("a pipe");
    rustix::pipe::fcntl_setpipe_size(pipe, 4096).expect("a small pipe");
    wait_until_blocked(&mut child, &["pipe_write"]);
    while place.runs()[0]["running"] == true {
        std::thread::sleep(Duration::from_millis(50));
    }
    let run = &place.runs()[0];
    assert_eq!(run["complete"], true, "{run}");
    assert_eq!(code_after(SIGINT, child, "io --events"), Some(130));
}

#[test]
fn a_signal_ends_the_program_of_a_run_and_its_children() {
    let place = Place::new();
    for (number, signal) in [SIGQUIT, SIGINT, SIGTERM, SIGKILL].into_iter().enumerate() {
        // A time that nothing else on this machine sleeps.
        let seconds = format!("{}{number}", 1_000_000 + std::process::id());
        let script = format!("sleep {seconds} & sleep {seconds}; wait");
        // A killed process cannot end the children of its child.
        let script = if signal == SIGKILL { format!("exec sleep {seconds}") } else { script };
        let words = ["run", ".", "-m", "command", "--quiet", "--", "sh", "-c", &script];
        let mut command = place.command(&words);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("starts");
        let sleeps = || tool("pgrep", &["-x", "-f", &format!("sleep {seconds}")]);
        let wanted = if signal == SIGKILL { 1 } else { 2 };
        while sleeps().map_or(0, |pids| pids.lines().count()) < wanted {
            std::thread::sleep(STEP);
        }
        let code = code_after(signal, child, "command");
        assert_eq!(code, (signal != SIGKILL).then_some(130), "{signal}");
        let began = Instant::now();
        while sleeps().is_ok() {
            assert!(began.elapsed() < END_MAX, "signal {signal} leaves a program");
            std::thread::sleep(STEP);
        }
    }
}

#[test]
fn an_output_that_cannot_be_written_is_refused_before_the_first_byte() {
    let place = Place::new();
    let page = place.text("none/page");
    let theirs = place.text("theirs");
    fs::write(&theirs, "theirs").expect("written");
    let [missing, other] = [&page, &theirs].map(|path| format!("--html={path}"));
    let [output, aux] = [format!("--output={page}"), format!("--aux-path={}", place.text("none"))];
    let fio = ["fio", "--name=a", "--size=64k", "--rw=read", "--ioengine=null"];
    let commands: [&[&str]; 8] = [
        &["io", "null:", "--time", "60s", &missing],
        &["io", "null:", "--time", "60s", &other],
        &["run", "sim:sd-class2", "-m", "speed", &missing],
        &[&fio[..], &[&output]].concat(),
        &[&fio[..], &["--write_bw_log=a", &aux]].concat(),
        &["iozone", "-s", "1m", "-i", "0", "-f", "sim:sd-class2", "-b", &page],
        &["compare", "-m", "speed", "sim:sd-class2", "sim:sd-150x", "-q", "--html", &page],
        &["replicate", "004", "--quiet", &missing],
    ];
    for words in commands {
        let said = place.ssdyno(words);
        assert_eq!(said.code, 4, "{words:?}: {said:?}");
        assert!(said.err.contains("cannot"), "{words:?}: {said:?}");
        assert!(place.runs().is_empty(), "{words:?}");
    }
    assert_eq!(fs::read_to_string(&theirs).expect("kept"), "theirs");
    // An earlier page of another run is replaced.
    (0..2).for_each(|_| drop(place.io("null: --ops 9 --html=page")));
    // A page that cannot be written at the end is an error, too; its record is kept.
    or_skip!(root());
    let vanishing = place.path("vanishing");
    fs::create_dir(&vanishing).expect("a directory");
    let page = format!("--html={}", vanishing.join("page").display());
    let mut run = Going::start(&place, &["io", "null:", "--time", "500ms", &page]);
    run.until("\"event\":\"interval\"");
    fs::remove_dir(&vanishing).expect("removed");
    assert_eq!(run.end().code, 4);
    assert_eq!(place.runs()[0]["complete"], true);
}
