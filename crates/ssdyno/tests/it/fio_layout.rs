//! `ssdyno fio --as-is` prints what fio prints: command lines drawn at random, run by an installed
//! fio and by ssdyno, compared line by line in all but the numbers: order of keys, indentation,
//! wording, stderr, and whether the exit code is 0. What both refuse, each refuses in its own words.
//!
//! The layout is that of fio 3.42; `since_layouts` lists what older versions print differently. Not
//! compared: lines that depend on speed (classes of latency, samples of rates, rows of percentiles, whose
//! width it changes). Not drawn: `stats=0`, for which fio adds lines of zeros that belong to no job, and
//! ramps, within which a short job may end, and `unified_rw_reporting`: fio names the lines of a group by
//! the sum of its jobs' settings, and ssdyno by each job's. `--output` comes first: fio announces the jobs before it on stdout, ssdyno in
//! the file. `SSDYNO_LAYOUT_LINES` sets the number of lines, `SSDYNO_LAYOUT_SEED` draws others.

use std::fs;
use std::path::Path;
use std::process::Command;

use fuzz::Random;

use crate::common::{Place, Said};

/// Lines of the suite.
const SUITE_LINES: u64 = 14;

/// A number from the environment.
fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Options that the lines are drawn from; each is there or not.
const OPTIONS: [&str; 18] = [
    "--numjobs=2",
    "--group_reporting",
    "--thread",
    "--lat_percentiles=1",
    "--clat_percentiles=0",
    "--disable_lat=1",
    "--disable_clat=1",
    "--gtod_reduce=1",
    "--percentile_list=50:99:99.9",
    "--fsync=4",
    "--description=a word; two",
    "--nrfiles=2",
    "--unit_base=1",
    "--continue_on_error=all",
    "--norandommap",
    "--bssplit=4k/50:8k/50",
    "--readwrite=randwrite",
    "--loops=2",
];

const FORMATS: [&str; 7] = [
    "--output-format=normal",
    "--output-format=json",
    "--output-format=json+",
    "--output-format=terse",
    "--output-format=normal,json,terse",
    "--minimal",
    "--eta=never",
];

/// The words of a command line.
fn draw(seed: u64, line: u64) -> Vec<String> {
    let mut random = Random::new(seed << 32 | line);
    let rw = ["read", "write", "randread", "randwrite", "rw", "randrw"][random.below(6)];
    let engine = ["psync", "psync", "sync", "null"][random.below(4)];
    let mut words = vec![format!("--rw={rw}"), format!("--size={}k", 64 << random.below(3))];
    words.push(format!("--ioengine={engine}"));
    words.push(FORMATS[random.below(FORMATS.len())].into());
    let jobs = 1 + random.below(2);
    for job in 0..jobs {
        words.push(format!("--name=job{job}"));
        let options = OPTIONS.iter().filter(|_| random.below(8) == 0);
        words.extend(options.map(ToString::to_string));
    }
    if random.below(6) == 0 {
        words.insert(0, "--output=result".into());
    }
    words
}

/// What a program printed, to its streams or into a file.
struct Printed {
    said: Said,
    file: String,
}

fn run(program: &Path, words: &[String], place: &Place) -> Printed {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let said = Said::of(place.command_of(program, &words).output().expect("starts"));
    let file = fs::read_to_string(place.work().join("result")).unwrap_or_default();
    Printed { said, file }
}

/// What only one of the versions prints, removed: keys of the JSON, words of the text.
fn since_layouts(line: &str) -> Option<String> {
    const KEYS: [&str; 6] = [
        "\"job_start\"",
        "\"latency_target_ns\"",
        "\"latency_window_us\"",
        "\"read_sectors\"",
        "\"write_sectors\"",
        "\"priohint\"",
    ];
    if KEYS.iter().any(|key| line.trim_start().starts_with(key)) {
        return None;
    }
    let line =
        line.replace("; 0 zone resets", "").replace("sync_file_range/syncfs", "sync_file_range");
    Some(match line.split_once("sectors=") {
        Some((before, after)) => {
            format!("{before}{}", after.split_once(", ").map_or("", |(_, rest)| rest))
        }
        None => line,
    })
}

/// Whether a line depends on speed.
fn is_of_speed(line: &str) -> bool {
    let starts = ["  lat (", "   bw (", "   iops  ", "     |"];
    starts.iter().any(|start| line.starts_with(start))
}

/// The lines of a text that are compared, without what only ssdyno has and what depends on speed.
fn forms(text: &str) -> Vec<String> {
    let mut forms = Vec::new();
    // The end of an object that is left out, with its indentation.
    let mut skipped_to: Option<String> = None;
    for line in text.lines() {
        let line = line.trim_end_matches(',');
        if skipped_to.is_some() {
            skipped_to = skipped_to.filter(|end| end != line);
            continue;
        }
        let indentation = &line[..line.len() - line.trim_start().len()];
        if ["\"ssdyno\" : {", "\"bins\" : {"].contains(&line.trim_start()) {
            skipped_to = Some(format!("{indentation}}}"));
        } else if !is_of_speed(line) {
            forms.extend(since_layouts(line).map(|line| form(&line)));
        }
    }
    forms
}

/// A line without its numbers, and without the widths and units that depend on them.
fn form(line: &str) -> String {
    let (key, rest, is_json) = match line.split_once("\" : ") {
        Some((key, rest)) => (key, rest, true),
        None => ("", line, false),
    };
    let (mut form, mut rest) = (key.to_string(), rest);
    while let Some(next) = rest.chars().next() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        if next.is_ascii_digit() {
            // In JSON, an integer is another type; in the text, decimals depend on the size.
            let is_whole = is_json && !rest[..digits].contains('.');
            form = format!("{}{}", form.trim_end_matches(' '), if is_whole { "I" } else { "N" });
            rest = rest[digits..].trim_start_matches(['k', 'K', 'M', 'G', 'i']);
        } else {
            form.push(next);
            rest = &rest[next.len_utf8()..];
        }
    }
    // The hint of a priority is newer.
    let form = form.replace("prioN/N/N", "prioN/N");
    ["(nsec)", "(usec)", "(msec)"].iter().fold(form, |form, unit| form.replace(unit, "(time)"))
}

/// The first difference between two lists of lines.
fn difference(theirs: &[String], ours: &[String]) -> Option<String> {
    let length = theirs.len().max(ours.len());
    let end = String::from("(the end)");
    (0..length).find_map(|i| {
        let [theirs, ours] = [theirs, ours].map(|lines| lines.get(i).unwrap_or(&end));
        (theirs != ours).then(|| format!("line {i}:\n  fio    {theirs}\n  ssdyno {ours}"))
    })
}

/// What is laid out differently by fio and by ssdyno.
fn differences(words: &[String]) -> Vec<String> {
    let place = Place::new();
    let theirs = run(Path::new("fio"), words, &place);
    place.clear();
    let own_words = [&["fio".to_string(), "--as-is".to_string()], words].concat();
    let ours = run(Path::new(env!("CARGO_BIN_EXE_ssdyno")), &own_words, &place);
    let texts = [
        (&theirs.said.out, &ours.said.out, "stdout"),
        (&theirs.said.err, &ours.said.err, "stderr"),
        (&theirs.file, &ours.file, "file"),
    ];
    let are_refused = theirs.said.code != 0 && ours.said.code != 0;
    let compared = texts.iter().filter(|_| !are_refused);
    let mut differences: Vec<String> = compared
        .filter_map(|(theirs, ours, name)| {
            Some(format!("{name} {}", difference(&forms(theirs), &forms(ours))?))
        })
        .collect();
    if (theirs.said.code == 0) != (ours.said.code == 0) {
        differences.push(format!("exit code: {}, {}", theirs.said.code, ours.said.code));
    }
    differences
}

/// Operations of several priorities have latencies by priority, in groups and within a job.
#[test]
fn latencies_by_priority_are_laid_out_as_in_fio() {
    if Command::new("fio").arg("--version").output().is_err() {
        println!("skipped: fio is not installed");
        return;
    }
    let group = "--size=64k --group_reporting --name=a --rw=read --name=b --rw=read --prio=3";
    let single = "--size=256k --ioengine=libaio --cmdprio_percentage=50 --name=a --rw=randrw";
    for line in [group, single, &format!("{single} --lat_percentiles=1")] {
        for format in ["normal", "json"] {
            let format = format!("--output-format={format}");
            let words = [&format].into_iter().map(String::from);
            let words: Vec<_> = words.chain(line.split(' ').map(String::from)).collect();
            assert_eq!(differences(&words), Vec::<String>::new(), "{words:?}");
        }
    }
}

#[test]
fn the_layout_is_that_of_fio() {
    if Command::new("fio").arg("--version").output().is_err() {
        println!("skipped: fio is not installed");
        return;
    }
    let seed = number("SSDYNO_LAYOUT_SEED", 45);
    let mut different = 0;
    let lines = number("SSDYNO_LAYOUT_LINES", SUITE_LINES);
    for line in 0..lines {
        let words = draw(seed, line);
        let differences = differences(&words);
        if let Some(difference) = differences.first() {
            different += 1;
            println!("line {line}: fio {}\n{difference}\n", words.join(" "));
        }
    }
    assert_eq!(different, 0, "of {lines} lines drawn with seed {seed} differ; see above");
}

#[test]
fn the_form_of_a_line_has_no_numbers() {
    for (line, masked) in [
        ("    clat (nsec): min=  46, max=1.2k, avg= 7.50", "    clat (time): min=N, max=N, avg=N"),
        ("        \"99.000000\" : 117", "        \"99.000000I"),
        ("   READ: bw=12.0MiB/s (12.6MB/s)", "   READ: bw=NB/s (NB/s)"),
    ] {
        assert_eq!(form(line), masked);
    }
}
