//! Output of the real tools (`tests/import`), text in the same formats with published figures, and
//! malformed input. Property tests check that no input makes a parser panic.

use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;
use record::{Document, Unit};

use super::*;

macro_rules! sample {
    ($name:literal) => {
        include_str!(concat!("../../tests/import/", $name))
    };
}

/// Every sample with its name, sorted by name.
fn samples() -> Vec<(String, String)> {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/import");
    let files = std::fs::read_dir(dir).expect("the samples").map(|file| file.expect("a sample"));
    let named = files.map(|file| {
        let text = std::fs::read(file.path()).expect("a sample");
        (file.file_name().to_string_lossy().into_owned(), decode(&text))
    });
    let mut samples: Vec<_> = named.collect();
    samples.sort();
    samples
}

pub(super) fn runs(text: &str) -> Vec<Run> {
    read(text, None).unwrap_or_else(|e| panic!("{e}"))
}

pub(super) fn one(text: &str) -> Run {
    let mut runs = runs(text);
    assert_eq!(runs.len(), 1, "{runs:?}");
    runs.remove(0)
}

/// Names and values of the metrics, rounded to whole numbers.
pub(super) fn values(run: &Run) -> Vec<(&str, u64)> {
    run.metrics.iter().map(|m| (m.name.as_str(), m.value.unwrap_or(-1.0).round() as u64)).collect()
}

pub(super) fn value(run: &Run, name: &str) -> f64 {
    let metric = run.metric(name).unwrap_or_else(|| panic!("{name} in {:?}", values(run)));
    metric.value.expect("known")
}

#[test]
fn an_untitled_result_takes_the_only_title_of_its_section() {
    let (fio, iozone) = (sample!("fio-mix.txt"), sample!("iozone.txt"));
    let titles = |text: &str| -> Vec<Option<String>> {
        runs(text).into_iter().map(|run| run.origin.expect("imported").title).collect()
    };
    let own = titles(fio).pop().flatten().expect("fio has one");
    let sections = format!("## First\n{iozone}\n{fio}\n## Second\n{iozone}\n");
    let found = titles(&sections);
    assert_eq!(found.first(), Some(&Some(own)));
    assert_eq!(found.last(), Some(&None), "a section without a title");
    assert!(runs(&sections)[0].warnings.iter().any(|f| f.kind.name() == "shared-title"));
    let other = fio.replace("mix", "other");
    let two = format!("{iozone}\n{fio}\n{other}\n");
    assert_eq!(titles(&two).first(), Some(&None), "two titles");
}

#[test]
fn fio_text_and_json_of_one_kind_agree() {
    let (text, json) = (one(sample!("fio-mix.txt")), one(sample!("fio-mix.json")));
    let names = |run: &Run| run.metrics.iter().map(|m| m.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&text), names(&json));
    assert!(names(&text).contains(&"mixed-read-4KiB-q16".to_string()), "{:?}", names(&text));
    for run in [&text, &json] {
        let origin = run.origin.as_ref().expect("from elsewhere");
        assert_eq!(origin.version.as_deref(), Some("3.33"));
        assert!(origin.start_known && run.started.starts_with("2026-11-22T00:32"));
        // 2,048 operations of 8 MiB, 3 out of 4 of them reads.
        let rates = value(run, "mixed-read-4KiB-q16") / value(run, "mixed-write-4KiB-q16");
        assert!((2.5..3.5).contains(&rates), "{rates}");
    }
    assert_eq!(json.target.direct, Some(true));
    assert_eq!(text.target.direct, None, "missing in the text");
}

#[test]
fn the_bins_of_json_plus_become_a_histogram() {
    let run = one(sample!("fio-plus.json"));
    let profile = run.latency("rand-read-4KiB-q4", "read").expect("bins");
    assert_eq!(profile.service.count(), 2048);
    let median = value(&run, "rand-read-4KiB-q4.p50");
    let here = profile.service.percentile(0.5).expect("many") as f64;
    assert!((here / median - 1.0).abs() < 0.02, "{here} and {median}");
    assert_eq!(run.metric("rand-read-4KiB-q4.p99.9"), None, "only 2 of 2,048 are beyond");
}

#[test]
fn several_jobs_are_distinguished() {
    let run = one(sample!("fio-jobs.txt"));
    let rates: Vec<_> = run.metrics.iter().filter(|m| !m.name.contains('.')).collect();
    let names: Vec<_> = rates.iter().map(|m| m.name.as_str()).collect();
    assert_eq!(names, ["rand-read-4KiB-q1", "rand-read-job2-4KiB-q1", "seq-write-64KiB-q1"]);
    assert_eq!(value(&run, "rand-read-4KiB-q1").round(), (2048.0 / 0.154f64).round());
    assert_eq!(rates[2].unit, Unit::BytesPerSecond);
    assert_eq!(
        one(sample!("fio-jobs.json")).metrics.iter().filter(|m| !m.name.contains('.')).count(),
        3
    );
    let grouped = one(sample!("fio-group.txt"));
    assert!(grouped.metric("rand-read-jobs3-4KiB-q1").is_some(), "{:?}", values(&grouped));
}

#[test]
fn warnings_before_the_json_and_both_formats_together() {
    let warned = format!("fio: something is not supported here\n{}", sample!("fio-mix.json"));
    let run = one(&warned);
    assert_eq!(run.origin.as_ref().and_then(|o| o.place.as_deref()), Some("line 2"));
    assert_eq!(values(&run), values(&one(sample!("fio-mix.json"))));
    assert_eq!(one(sample!("fio-both.txt")).metric("seq-read-64KiB-q1").map(|m| m.n), Some(1));
}

/// `ssdyno fio --output-format=normal,json`: one run, measured by ssdyno.
#[test]
fn our_own_fio_results_are_ours_and_one_run() {
    let both = sample!("fio-both.txt");
    let (before, after) = both.split_once("{\n").expect("an object");
    let (object, text) = after.split_once("\n}\n").expect("its end");
    let mut value: serde_json::Value =
        serde_json::from_str(&format!("{{{object}}}")).expect("JSON");
    value["ssdyno"] = serde_json::json!({"version": "0.1.0"});
    let json = serde_json::to_string_pretty(&value).expect("JSON");
    let text = format!("{before}{text}").replace("fio-3.33", "ssdyno-0.1.0");
    for both in [json.clone(), text.clone(), format!("{text}\n{json}\n")] {
        let run = one(&both);
        let origin = run.origin.as_ref().expect("from elsewhere");
        assert_eq!(origin.tool_name().as_deref(), Some("ssdyno fio 0.1.0"));
        assert!(run.warnings.iter().all(|w| w.kind != record::FindingKind::FioClat));
    }
    // Results of two runs stay separate.
    assert_eq!(runs(&format!("{text}\n{}", sample!("fio-jobs.json"))).len(), 2);
}

#[test]
fn the_order_of_keys_does_not_matter() {
    for text in [sample!("fio-mix.json"), sample!("fio-jobs.json")] {
        // fio may print a line before the JSON object.
        let object = &text[text.find("{\n").expect("an object")..];
        let value: serde_json::Value = serde_json::from_str(object).expect("JSON");
        let sorted = serde_json::to_string_pretty(&value).expect("JSON");
        assert!(!sorted[1..].trim_start().starts_with("\"fio version"), "the version is not first");
        assert_eq!(values(&one(&sorted)), values(&one(text)));
    }
}

#[test]
fn fio_2_has_kib_and_microseconds() {
    for text in [sample!("fio2.txt"), sample!("fio2.json")] {
        let run = one(text);
        assert_eq!(value(&run, "mixed-read-4KiB-q64").round(), 6987.0);
        assert_eq!(value(&run, "mixed-write-4KiB-q64").round(), 2335.0);
        assert_eq!(value(&run, "mixed-read-4KiB-q64.p99"), 200_000.0);
        assert_eq!(value(&run, "mixed-read-4KiB-q64.max"), 17_000_000.0);
        assert_eq!(run.target.drive.as_ref().map(|d| d.name.as_str()), Some("nvme0n1"));
    }
    assert_eq!(value(&one(sample!("fio2.txt")), "mixed-write-4KiB-q64.max"), 12_000_000.0);
}

#[test]
fn iozone_values_are_identified_by_position() {
    let found = runs(sample!("iozone.txt"));
    let [full, bare] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!(full.started, "2023-10-03T18:02:42Z");
    assert_eq!(full.origin.as_ref().and_then(|o| o.version.as_deref()), Some("3.489"));
    let rates = ["write", "rewrite", "read", "reread", "random-read", "random-write"]
        .map(|test| value(full, &format!("iozone-100MiB-4KiB.{test}")) / 1024.0);
    assert_eq!(rates, [2781.0, 4202.0, 996_001.0, 1_008_897.0, 986_084.0, 4180.0]);
    assert_eq!(full.metric("iozone-100MiB-4KiB.backward-read"), None);
    let names: Vec<_> = values(bare).into_iter().map(|(n, v)| (n.to_string(), v / 1024)).collect();
    let expected = [
        ("iozone-64KiB-4KiB.write", 100),
        ("iozone-64KiB-4KiB.random-read", 300),
        ("iozone-64KiB-4KiB.random-write", 400),
        ("iozone-64KiB-8KiB.reread", 200),
    ];
    assert_eq!(names, expected.map(|(n, v)| (n.to_string(), v)));
}

/// Rows of real iozone, without the command line that names the tests.
#[test]
fn iozone_columns_have_several_widths() {
    let sample = sample!("iozone.txt");
    let heading = sample.lines().find(|line| line.contains("reclen")).expect("the heading");
    let rates = |text: &str| -> Vec<(String, u64)> {
        values(&one(text)).into_iter().map(|(name, v)| (name.to_string(), v / 1024)).collect()
    };
    let all: Vec<u64> = (1..=13).map(|i| 1000 * i).collect();
    let widths = [9, 9, 9, 9, 9, 9, 9, 10, 10, 9, 9, 9, 9];
    let row: String = all.iter().zip(widths).map(|(v, width)| format!("{v:>width$}")).collect();
    let full = rates(&format!("{heading}\n{:>16}{:>8}{row}\n", 64, 4));
    assert_eq!(full.iter().map(|(_, v)| *v).collect::<Vec<_>>(), all);
    let some = format!("{heading}\n{:>16}{:>8}{:>9}{:>74}\n", 64, 4, 100, 200);
    let expected = [("iozone-64KiB-4KiB.write", 100), ("iozone-64KiB-4KiB.strided-read", 200)];
    assert_eq!(rates(&some), expected.map(|(n, v)| (n.to_string(), v)));
    let old = "              KB  reclen   write rewrite    read    reread    read   write    read \
               rewrite    read   fwrite frewrite   fread  freread";
    let some = format!("{old}\n{:>16}{:>8}{:>25}{:>49}{:>26}\n", 64, 4, 100, 200, 300);
    let expected = [
        ("iozone-64KiB-4KiB.read", 100),
        ("iozone-64KiB-4KiB.strided-read", 200),
        ("iozone-64KiB-4KiB.fread", 300),
    ];
    assert_eq!(rates(&some), expected.map(|(n, v)| (n.to_string(), v)));
}

#[test]
fn iozone_for_spreadsheets_and_without_its_blanks() {
    let sheet = one(sample!("iozone-excel.txt"));
    assert_eq!(value(&sheet, "iozone-64KiB-8KiB.rewrite"), 4300.0 * 1024.0);
    assert_eq!(sheet.metrics.len(), 6);
    let listing = sample!("iozone.txt").split("iozone test complete").next().unwrap_or("");
    let squeezed: Vec<String> =
        listing.lines().map(|l| l.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    let run = one(&squeezed.join("\n"));
    assert_eq!(value(&run, "iozone-100MiB-4KiB.random-write"), 4180.0 * 1024.0);
}

#[test]
fn all_versions_of_diskmark() {
    let run = one(sample!("cdm8.txt"));
    assert_eq!(value(&run, "seq-read-1MiB-q8"), 546_512_000.0);
    assert_eq!(value(&run, "rand-read-4KiB-q32"), 60_090.1);
    assert_eq!(value(&run, "rand-write-4KiB-q1.mean"), 51_930.0);
    assert_eq!(value(&run, "mixed-both-1MiB-q8"), 383.5);
    assert_eq!((run.started.as_str(), run.metrics.len()), ("2021-05-05T20:00:00Z", 14));
    let old = one(sample!("cdm3.txt"));
    assert_eq!(value(&old, "seq-read-1MiB-q1"), 215_500_000.0);
    assert_eq!(value(&old, "rand-write-4KiB-q32"), 2954.1);
    assert_eq!(value(&old, "rand-read-512KiB-q1").round(), (170.1e6f64 / 524_288.0).round());
    let linux = one(sample!("kdiskmark.txt"));
    assert_eq!(linux.origin.as_ref().and_then(|o| o.tool.as_deref()), Some("KDiskMark"));
    assert_eq!(value(&linux, "rand-write-4KiB-q1"), 19_145.5);
}

#[test]
fn a_diskmark_test_that_was_not_run_has_no_metric() {
    let zero = "546.512 MB/s [    521.2 IOPS] < 15317.47 us>";
    let text = sample!("cdm8.txt").replace(zero, "0.000 MB/s [      0.0 IOPS] <     0.00 us>");
    let run = one(&text);
    assert_eq!((run.metric("seq-read-1MiB-q8"), run.metrics.len()), (None, 12));
    assert_eq!(value(&run, "seq-read-1MiB-q1"), 521_730_000.0);
}

/// Found by the fuzzer: the product was computed before the range check.
#[test]
fn an_out_of_range_block_size_is_unknown() {
    let huge = sample!("cdm8.txt").replace("SEQ    1MiB", "SEQ    18446744073709551615MiB");
    assert!(read(&huge, None).is_ok(), "the block is unknown, the rate is not");
}

#[test]
fn a_windows_file_is_decoded() {
    let wide: Vec<u8> = [0xff, 0xfe]
        .into_iter()
        .chain(sample!("cdm8.txt").encode_utf16().flat_map(u16::to_le_bytes))
        .collect();
    assert_eq!(values(&one(&decode(&wide))), values(&one(sample!("cdm8.txt"))));
    assert_eq!(decode(b"\xef\xbb\xbfx"), "x");
    assert_eq!(decode(&[0xff, 0xfe, 1]), "");
}

#[test]
fn f3_units_are_binary() {
    let written = one(sample!("f3write.txt"));
    assert_eq!(value(&written, "seq-write"), 30.07 * 1_048_576.0);
    let read = one(sample!("f3read.txt"));
    assert_eq!(
        values(&read),
        [("data-ok", 108_544 * 512), ("data-lost", 0), ("seq-read", 131_072_000)]
    );
    assert!(read.errors.is_empty());
    let probe = one(sample!("f3probe.txt"));
    assert_eq!(value(&probe, "usable"), 15_742_975.0 * 512.0);
    assert_eq!(value(&probe, "probe-write.mean"), 4.4e6);
    assert_eq!(value(&probe, "probe-reset.mean"), 1e3);
    assert!(probe.verdicts[0].text.contains("counterfeit"));
    let broken =
        sample!("f3read.txt").replace("Corrupted: 0.00 Byte (0 ", "Corrupted: 0.00 Byte (7 ");
    assert_eq!(one(&broken).errors.iter().map(|e| e.count).sum::<u64>(), 7);
}

#[test]
fn f3probe_counts_blocks_of_the_drives_own_size() {
    let text = sample!("f3probe.txt")
        .replace("15742975 blocks", "1967871 blocks")
        .replace("33554432 blocks", "4194304 blocks")
        .replace("512.00 Byte (2^9 Bytes)", "4.00 KB (2^12 Bytes)");
    let run = one(&text);
    assert_eq!(value(&run, "usable"), 1_967_871.0 * 4096.0);
    assert_eq!(value(&run, "announced"), 16.0 * 1_073_741_824.0);
    assert_eq!((value(&run, "cache"), value(&run, "physical-block")), (0.0, 4096.0));
    let odd = sample!("f3probe.txt").replace("15742975 blocks", "10000000 blocks");
    assert_eq!(value(&one(&odd), "usable"), 7.51 * 1_073_741_824.0, "the count contradicts it");
    let plural = sample!("f3probe.txt").replace("0.00 Byte (", "0.00 Bytes (");
    assert_eq!(value(&one(&plural), "cache"), 0.0, "f3 10");
}

#[test]
fn f3probe_tells_a_damaged_device_from_a_counterfeit() {
    let verdict = |text: &str| one(text).verdicts[0].text.clone();
    let (sample, said) = (sample!("f3probe.txt"), "Bad news: The device `/dev/sdb' is ");
    assert_eq!(verdict(sample), "the device is counterfeit");
    let damaged = sample.replace("a counterfeit of type limbo", "damaged");
    assert_eq!(verdict(&damaged), "the device is damaged");
    let good = sample.replace(
        &format!("{said}a counterfeit of type limbo"),
        "Good news: The device `/dev/sdb' is the real thing",
    );
    assert_eq!(verdict(&good), "the device is genuine");
    assert_eq!(one(&good).target.spec, "/dev/sdb");
}

#[test]
fn hdparm_mb_is_mib() {
    let run = one(sample!("hdparm.txt"));
    assert_eq!(run.target.spec, "/dev/loop0");
    assert_eq!(run.target.direct, Some(false));
    let rates: Vec<f64> = run.metrics.iter().filter_map(|m| m.value).collect();
    assert_eq!(rates, [1966.90 * 1_048_576.0, 280.59 * 1_048_576.0]);
    let slow = sample!("hdparm.txt").replace("280.59 MB/sec", "812.50 kB/sec");
    assert_eq!(value(&one(&slow), "seq-read"), 832_000.0);
}

#[test]
fn flashbench_tables() {
    let run = one(sample!("flashbench-a.txt"));
    assert_eq!(value(&run, "boundary-4MiB.on"), 1.38e6);
    assert_eq!(value(&run, "boundary-4MiB.difference"), 278e3);
    assert_eq!(run.metric("boundary-8KiB.difference"), None, "below zero");
    let run = one(sample!("flashbench-au.txt"));
    let expected = [
        ("flashbench-rate-4MiB", 8_790_000),
        ("flashbench-rate-2MiB", 8_500_000),
        ("flashbench-rate-64KiB", 719_000),
    ];
    assert_eq!(values(&run), expected);
}

#[test]
fn dd_of_gnu_busybox_and_bsd_in_three_languages() {
    let found = runs(sample!("dd.txt"));
    assert_eq!(found.len(), 3, "a progress line is not a result: {found:?}");
    assert_eq!(found[0].target.spec, "/mnt/test/z");
    assert_eq!(found[0].target.direct, Some(true));
    assert!(found[1].origin.as_ref().is_some_and(|o| o.command.is_none()));
    let seconds: Vec<_> =
        runs(sample!("dd-others.txt")).iter().filter_map(|run| run.seconds).collect();
    assert_eq!(seconds, [0.148009, 0.5, 0.25, 0.125, 0.064]);
    assert_eq!(
        value(&one("67108864 bytes transferred in 0.5 secs (134217728 bytes/sec)"), "bytes"),
        67_108_864.0
    );
}

#[test]
fn records_of_ssdyno_are_unchanged() {
    let two = format!("{0}{0}", sample!("export.jsonl"));
    let documents: Vec<_> = Pieces::new(two.as_bytes(), 1 << 20)
        .map(|piece| match piece {
            Ok(StreamPiece::Record { json, .. }) => Document::parse(&json).expect("a record"),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(documents.len(), 2);
    let run = documents[0].run();
    assert_eq!((run.id.as_str(), run.method.as_str()), ("01M80BQAXA8MM512X4A4P11BSR", "io"));
    assert_eq!(run.origin, None, "equal to a local measurement");
    let table = one(sample!("export.csv"));
    assert_eq!(table.metric("throughput"), run.metric("throughput"));
    assert_eq!((table.id.as_str(), table.target.spec.as_str()), ("", "null:"));
    assert_eq!(table.origin.and_then(|o| o.tool).as_deref(), Some("ssdyno"), "only a part");
}

#[test]
fn a_log_of_several_tools_gives_one_run_each() {
    let log =
        [sample!("iozone.txt"), "Then:\n", sample!("fio2.txt"), sample!("hdparm.txt")].join("\n");
    let tools: Vec<_> = runs(&log).iter().map(|run| run.method.clone()).collect();
    assert_eq!(tools, ["iozone", "iozone", "fio", "hdparm"]);
    let only = read(&log, format("fio")).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(only.len(), 1);
}

/// These tools have no last line, or one that is not always printed.
#[test]
fn results_without_a_last_line_end_before_the_next() {
    let (disk, next, probe) = (sample!("cdm8.txt"), sample!("hdparm.txt"), sample!("f3probe.txt"));
    let until = |end: &str| probe.split(end).next().unwrap_or_default();
    for (text, tool) in [
        (disk, "diskmark"),
        (sample!("cdm3.txt"), "diskmark"),
        (sample!("kdiskmark.txt"), "diskmark"),
        (probe, "f3"),
        (until("     Reset:"), "f3"),
        (until(" Operation:"), "f3"),
        (until("Probe time:"), "f3"),
    ] {
        let whole = one(text);
        let found = runs(&format!("{text}\n{next}"));
        let tools: Vec<_> = found.iter().map(|run| run.method.as_str()).collect();
        assert_eq!(tools, [tool, "hdparm"], "{text}");
        assert_eq!((values(&found[0]), &found[0].started), (values(&whole), &whole.started));
    }
}

#[test]
fn results_of_a_part_have_the_lines_of_the_file() {
    let found = results(sample!("hdparm.txt"), 101, None).expect("a result");
    assert_eq!(found[0].origin.as_ref().and_then(|o| o.place.as_deref()), Some("line 102"));
    let odd = sample!("hdparm.txt").replace("MB/sec", "parrots");
    assert_eq!(results(&odd, 101, None).expect_err("no rate").line, 103);
}

#[test]
fn unreadable_input_is_quoted_with_its_line() {
    let said = |text: &str| read(text, None).map(|runs| runs.len()).expect_err(text).to_string();
    assert_eq!(said("\n\nhello\n"), "line 3: no result of a known tool from this line on: 'hello'");
    assert!(said("").starts_with("line 1: "));
    let cut = sample!("fio-mix.json").lines().take(20).collect::<Vec<_>>().join("\n");
    assert!(said(&cut).starts_with("line 20: fio's JSON cannot be read"), "{}", said(&cut));
    let cut = sample!("fio-mix.txt").lines().take(3).collect::<Vec<_>>().join("\n");
    assert_eq!(
        said(&cut).split(": '").next(),
        Some("line 1: the output of fio ends before its results")
    );
    let odd = sample!("fio2.txt").replace("bw=27949KB/s", "bw=fast");
    assert!(said(&odd).starts_with("line 6: not a line of rates: 'read : io="), "{}", said(&odd));
    let odd = sample!("iozone.txt").replace("     2781", "     fast");
    assert!(said(&odd).starts_with("line 13: not a row of iozone's table"), "{}", said(&odd));
    let odd = sample!("cdm8.txt").replace("546.512 MB/s", "546.512 XB/s");
    assert!(said(&odd).starts_with("line 8: not a row of results"), "{}", said(&odd));
    let odd = sample!("hdparm.txt").replace("MB/sec", "parrots");
    assert!(said(&odd).contains("no rate in MB/sec"), "{}", said(&odd));
}

#[test]
fn missing_information_stays_unknown() {
    for (name, text) in samples().into_iter().filter(|(name, _)| !name.starts_with("export")) {
        for run in runs(&text) {
            assert_eq!((run.plan.is_none(), run.target.bytes, run.number), (true, None, None));
            assert_eq!(run.environment.cpu.model, None);
            assert!(run.metrics.iter().all(|m| m.n == 1 && m.low.is_none()), "{name}");
        }
    }
}

/// A sample with some characters replaced, inserted or deleted, or its end cut off.
fn mutated() -> impl Strategy<Value = String> {
    let texts: Vec<String> = samples().into_iter().map(|(_, text)| text).collect();
    let letters = prop::sample::select(
        "0.,:;()[]{}<>\"'= -+eE\n\r\t%µ\u{fffd}9kMGx".chars().collect::<Vec<_>>(),
    );
    let changes = prop::collection::vec((any::<prop::sample::Index>(), 0..4u8, letters), 1..20);
    (prop::sample::select(texts), changes).prop_map(|(text, changes)| {
        let mut letters: Vec<char> = text.chars().collect();
        for (index, what, letter) in changes {
            let at = index.index(letters.len().max(1)).min(letters.len().saturating_sub(1));
            match what {
                0 => letters.truncate(at + 1),
                1 if !letters.is_empty() => drop(letters.remove(at)),
                2 if !letters.is_empty() => letters[at] = letter,
                _ => letters.insert(at, letter),
            }
        }
        letters.into_iter().collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn no_text_makes_a_parser_panic(text in mutated()) {
        let found = read(&text, None);
        for run in found.iter().flatten() {
            prop_assert!(run.origin.is_some());
        }
        for format in &FORMATS {
            let _ = read(&text, Some(format));
        }
    }

    #[test]
    fn no_bytes_make_a_parser_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = read(&decode(&bytes), None);
    }
}

#[test]
fn serial_output_of_a_bare_machine_is_a_table_of_metrics() {
    let run = one(sample!("bare.txt"));
    assert_eq!(run.target.spec, "nvme:SSDYNO-BARE");
    let expected = [
        ("seq-write-64KiB-q16", 2_587_308_694),
        ("seq-write-64KiB-q16.mean", 405_276),
        ("rand-read-4KiB-q1", 4098),
        ("rand-read-4KiB-q1.mean", 244_001),
    ];
    assert_eq!(values(&run), expected);
}

/// A log of fio has millions of lines of numbers, and each can be undressed in a dozen ways.
#[test]
fn lines_of_numbers_are_shown_to_no_format() {
    static SHOWN: AtomicUsize = AtomicUsize::new(0);
    let begins = |_: &Lines<'_>| {
        SHOWN.fetch_add(1, Ordering::Relaxed);
        false
    };
    let format = Format { name: "none", about: "", begins, read: |_| Ok(Vec::new()) };
    let lines = (0..1000).map(|i| format!("{i}, {}, 1, 4096, {}, 0x60a0\n", 90 * i, (i % 7) << 12));
    let log: String = lines.collect();
    assert!(listed(&log, 1, &[format], NESTED_MAX).is_ok_and(|results| results.is_empty()));
    assert_eq!(SHOWN.load(Ordering::Relaxed), 0);
    assert!(listed("a line of words\n", 1, &[format], NESTED_MAX).is_ok());
    assert!(SHOWN.load(Ordering::Relaxed) > 0);
}
