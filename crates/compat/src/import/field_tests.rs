//! Texts as people have them (`tests/field`, each shows one kind), and the formats of tools that
//! are not run here, in their own words.

use record::FindingKind;

use super::tests::{one, runs, value, values};
use super::*;

macro_rules! sample {
    ($name:literal) => {
        include_str!(concat!("../../tests/import/", $name))
    };
}

macro_rules! field {
    ($name:literal) => {
        one(include_str!(concat!("../../tests/field/", $name)))
    };
}

/// Names and values of the metrics, rounded.
fn figures(run: &Run) -> Vec<(String, u64)> {
    values(run).into_iter().map(|(name, value)| (name.to_string(), value)).collect()
}

fn pairs<const N: usize>(pairs: [(&str, u64); N]) -> Vec<(String, u64)> {
    pairs.map(|(name, value)| (name.to_string(), value)).to_vec()
}

#[test]
fn suffixes_of_fio_are_powers_of_1000() {
    assert_eq!(value(&field!("suffix-K.txt"), "write.max"), 2_345_600_000.0);
    assert_eq!(value(&field!("suffix-M.txt"), "write.max"), 1_234_500_000.0);
    let odd = include_str!("../../tests/field/suffix-M.txt").replace("1234.5M", "1234.5Q");
    let error = read(&odd, None).expect_err("no suffix of fio");
    assert_eq!((error.line, error.why.as_str()), (3, "not a line of latencies"));
}

#[test]
fn a_block_of_fio_does_not_leak_into_another() {
    let expected = pairs([
        ("read", 100),
        ("read.p50", 70_000),
        ("write", 100),
        ("write.p50", 90_000),
        ("write.submission.p50", 2000),
    ]);
    assert_eq!(figures(&field!("slat.txt")), expected);
    let expected = pairs([
        ("write", 100),
        ("write.min", 9000),
        ("write.max", 50_000),
        ("trim", 100),
        ("trim.min", 9_000_000),
        ("trim.max", 700_000_000),
    ]);
    assert_eq!(figures(&field!("trim-leak.txt")), expected);
    let odd = include_str!("../../tests/field/trim-leak.txt").replace("  trim:", "  copy:");
    assert_eq!(figures(&one(&odd)), expected[..3], "a heading of later fio");
}

#[test]
fn a_name_has_the_depth_reached() {
    let run = field!("depth.txt");
    assert_eq!(figures(&run), pairs([("rand-read-4KiB-q1", 100)]));
    assert!(run.warnings.iter().any(|w| w.kind == FindingKind::DepthIsAFiction), "{run:?}");
    assert_eq!(figures(&field!("bs-comma.txt")), pairs([("rand-write-4KiB-q64", 100)]));
    assert_eq!(figures(&field!("mixed.txt")), pairs([("both", 100)]));
}

#[test]
fn a_time_stamp_is_no_part_of_a_result() {
    let run = field!("prefix.txt");
    assert_eq!(figures(&run), pairs([("write", 100)]));
    assert_eq!(found::own_title(&run).as_deref(), Some("j"));
}

#[test]
fn a_check_that_did_not_look_is_no_proof() {
    let run = field!("f3-notall.txt");
    let bytes = 2_097_152 * 512;
    let expected = [("data-ok", bytes), ("data-lost", 0), ("seq-read", 9 << 20)];
    assert_eq!(figures(&run), pairs(expected));
    assert!(!run.verdicts[0].text.contains("all content was read back"), "{run:?}");
    assert!(run.warnings.iter().any(|w| w.kind == FindingKind::CheckLeftOut), "{run:?}");
    let unread = include_str!("../../tests/field/f3-notall.txt")
        .replace("1.00 GB (2097152 sectors)", "0.00 Byte (0 sectors)");
    assert_eq!(one(&unread).verdicts[0].text, "nothing was read back");
    let failed = sample!("f3write.txt").replace("1.h2w ... OK!", "1.h2w ... Write failure: x");
    assert!(one(&failed).warnings.iter().any(|w| w.text.contains("Write failure")), "{failed}");
}

#[test]
fn errors_and_offsets_of_hdparm() {
    let run = field!("hdparm-error.txt");
    assert_eq!(run.target.spec, "/dev/sdx");
    let expected = [("cache-read", 1000 << 20), ("seq-read", 100 << 20)];
    assert_eq!(figures(&run), pairs(expected));
    let run = field!("hdparm-offset.txt");
    assert_eq!(figures(&run), pairs([("seq-read-offset-4GB", 100 << 20)]));
    assert_eq!(run.target.spec, "/dev/sdx");
}

#[test]
fn operations_of_iozone_are_no_kib() {
    let expected =
        pairs([("iozone-1MiB-4KiB.write", 500 * 4096), ("iozone-1MiB-4KiB.rewrite", 600 * 4096)]);
    assert_eq!(figures(&field!("iozone-ops.txt")), expected);
    assert_eq!(figures(&field!("iozone-ops-noTitle.txt")), expected);
}

#[test]
fn dates_of_old_diskmark() {
    let run = field!("cdm22.txt");
    assert_eq!(run.started, "2009-05-11T22:15:10Z");
    let expected = [("seq-read-1MiB-q1", 10_000_000), ("seq-write-1MiB-q1", 8_000_000)];
    assert_eq!(figures(&run), pairs(expected));
}

#[test]
fn dd_in_every_language_and_of_every_kind() {
    for run in [
        field!("dd-fr-old.txt"),
        field!("dd-fr-plain.txt"),
        field!("dd-fr.txt"),
        field!("dd-ru-old.txt"),
        field!("dd-toybox.txt"),
        field!("dd-uk.txt"),
        field!("dd-zh.txt"),
    ] {
        assert_eq!((value(&run, "bytes"), run.seconds), (1_048_576.0, Some(0.5)));
    }
}

#[test]
fn terse_output_has_the_rates_of_each_direction() {
    for (text, version) in [
        (sample!("fio-terse2.txt"), None),
        (sample!("fio-terse3.txt"), Some("3.33")),
        (sample!("fio-terse4.txt"), Some("3.33")),
        (sample!("fio-terse5.txt"), Some("3.33")),
    ] {
        let run = one(text);
        assert_eq!(run.origin.as_ref().and_then(|o| o.version.as_deref()), version);
        let field = |at: usize| -> f64 {
            let fields: Vec<&str> = text.trim().split(';').collect();
            fields[at + usize::from(version.is_some())].parse().expect("a number")
        };
        let width = if text.starts_with('5') { 47 } else { 41 };
        assert_eq!(
            (value(&run, "read"), value(&run, "write")),
            (field(6), field(6 + width)),
            "{text}"
        );
        assert_eq!(value(&run, "read.max"), field(13) * 1e3);
    }
}

#[test]
fn the_sum_of_reads_and_writes_is_one_figure() {
    let run = one(sample!("fio-unified.json"));
    assert!(value(&run, "mixed-both-4KiB-q1") > 0.0);
    assert_eq!(run.metrics.iter().filter(|m| !m.name.contains('.')).count(), 1);
}

#[test]
fn h2testw_in_two_languages() {
    let run = one(sample!("h2testw.txt"));
    let expected = [
        ("data-ok", 9_076_864 * 512),
        ("data-lost", 22_345_600 * 512),
        ("seq-write", 10_213_130),
        ("seq-read", 12_687_770),
    ];
    assert_eq!(figures(&run), pairs(expected));
    assert_eq!(run.errors.iter().map(|e| e.count).sum::<u64>(), 22_345_600);
    assert_eq!((run.verdicts.len(), run.verdicts[0].text.as_str()), (1, "content was lost"));
    assert!(run.warnings.iter().any(|w| w.kind == FindingKind::CheckLeftOut), "{run:?}");
    let german = one(sample!("h2testw-de.txt"));
    assert_eq!(figures(&german), pairs([("seq-write", 5_767_168), ("seq-read", 18_664_653)]));
    assert_eq!(german.verdicts[0].text, "all content was read back");
    assert_eq!(runs(&sample!("h2testw.txt").repeat(2)).len(), 2);
}

#[test]
fn diskspd_in_text_and_xml() {
    let run = one(sample!("diskspd.txt"));
    assert_eq!(value(&run, "mixed-read-jobs2-4KiB-q8"), 7000.0);
    assert_eq!(value(&run, "mixed-write-jobs2-4KiB-q8"), 3000.0);
    assert_eq!(value(&run, "mixed-read-jobs2-4KiB-q8.p99"), 2.5e6);
    assert_eq!(value(&run, "mixed-write-jobs2-4KiB-q8.max"), 9.5e6);
    assert_eq!(value(&run, "mixed-write-jobs2-4KiB-q8.mean"), 566e3);
    assert_eq!((run.target.spec.as_str(), run.target.direct), ("testfile.dat", Some(true)));
    assert_eq!(runs(&sample!("diskspd.txt").repeat(2)).len(), 2);
    let xml = one(sample!("diskspd.xml"));
    assert_eq!(value(&xml, "seq-read-jobs2-64KiB-q4"), 327_680_000.0);
    assert_eq!(value(&xml, "seq-read-jobs2-64KiB-q4.p99"), 3.5e6);
    assert_eq!(value(&xml, "seq-read-jobs2-64KiB-q4.max"), 8.5e6);
    assert_eq!(runs(&sample!("diskspd.xml").repeat(2)).len(), 2);
}

#[test]
fn elbencho_has_a_result_per_phase() {
    let found = runs(sample!("elbencho.csv"));
    assert_eq!(found.len(), 2);
    assert_eq!(value(&found[0], "seq-write-jobs4-1MiB-q16"), 487.0 * 1_048_576.0);
    assert_eq!(value(&found[1], "rand-read-jobs4-4KiB-q16"), 49_000.0);
    assert_eq!(value(&found[1], "rand-read-jobs4-4KiB-q16.mean"), 300e3);
}

/// Figures of `--csvfile` on a directory, and of breuner/elbencho#75.
#[test]
fn elbencho_on_directories_and_on_the_screen() {
    let run = one(sample!("elbencho-dir.csv"));
    assert_eq!(value(&run, "seq-write-jobs8-1MiB-q4"), 2941.0 * 1_048_576.0);
    assert_eq!(value(&run, "seq-write-jobs8-1MiB-q4.min"), 1661e3);
    assert_eq!((run.started.as_str(), run.seconds), ("2026-05-22T16:09:38Z", Some(2.784)));
    let run = one(sample!("elbencho-text.txt"));
    assert_eq!((value(&run, "write"), run.seconds), (221.0, Some(11.559)));
    let mixed = "WRITE  Elapsed ms : 10 20\n  IOPS write : 5 6\n  IOPS read : 7 8\n  \
                 IO wr lat us : [ min=1 avg=2 max=3 ]\n  IO rd lat us : [ min=4 avg=5 max=6 ]\n---\n";
    assert_eq!(
        figures(&one(mixed)),
        pairs([
            ("write", 6),
            ("write.min", 1000),
            ("write.max", 3000),
            ("write.mean", 2000),
            ("read", 8),
            ("read.min", 4000),
            ("read.max", 6000),
            ("read.mean", 5000),
        ])
    );
}

/// A protocol without its last line, in front of other results and of prose.
#[test]
fn a_protocol_of_h2testw_ends_with_its_lines() {
    let protocol = sample!("h2testw-errors.txt").replace("H2testw v1.4\n", "");
    let dd = "1048576 bytes (1.0 MB, 1.0 MiB) copied, 0.5 s, 2.1 MB/s\n";
    for text in [format!("{protocol}{dd}"), format!("{protocol}\nand this is dd:\n{dd}")] {
        let found = runs(&text);
        assert_eq!(found.len(), 2, "{text}");
        assert_eq!(value(&found[0], "data-lost"), 46016.0 * 512.0);
        assert_eq!(value(&found[1], "bytes"), 1_048_576.0);
    }
}

/// Letters of the recorded command line are joined, as getopt allows.
#[test]
fn iozones_joined_letters_are_its_unit() {
    let text = sample!("iozone.txt");
    let command = text.lines().find(|line| line.contains("Command line used:")).expect("a command");
    let rate = |letters: &str| {
        let text = text.replace(command, &format!("\tCommand line used: iozone {letters} -s 1m"));
        runs(&text)[0].metrics[0].clone()
    };
    let plain = rate("-a");
    assert_eq!(rate("-aI").value, plain.value);
    assert_ne!(rate("-eO").value, plain.value, "operations per second");
    assert!(rate("-aN").name.ends_with(".mean"), "microseconds");
    assert_eq!(rate("-bO.xls").value, plain.value, "-O is the name of a file");
}

/// Found by the fuzzer: every blank line looked for the next that is not.
#[test]
fn blank_lines_cost_nothing() {
    let text = format!("a b{}c d\n", "\n".repeat(200_000));
    assert!(read(&text, None).is_err());
}

/// The second state has no neighbours left to compare with.
#[test]
fn the_next_result_wears_the_dress_of_the_last() {
    let line = sample!("fio-terse3.txt").lines().next().unwrap_or_default();
    let text = format!("Z|{line}\nZ|{}\n", line.replace(";0;0;", ";1;0;"));
    assert_eq!(runs(&text).len(), runs(&text.replace("Z|", "")).len());
    assert_eq!(runs(&format!("Z|{line}\nZ|{line}\n")).len(), 2);
}

/// Dresses that no list has, with prose around them.
#[test]
fn drawn_prefixes_are_no_part_of_a_result() {
    let text = include_str!("../../tests/outputs/fio-text.txt");
    let dressed = |prefix: &dyn Fn(usize) -> String| -> String {
        text.lines().enumerate().map(|(i, line)| prefix(i) + line + "\n").collect()
    };
    for text in [
        dressed(&|i| format!("[Mon Jan  6 10:00:{:02} 2025] ", i % 60)),
        dressed(&|i| format!("##[debug] {}~", i + 7)),
        dressed(&|i| format!("L{i}> ")),
        dressed(&|_| "+".to_string()),
        dressed(&|_| ">>> ".to_string()),
        text.lines().map(|line| format!("| {line} |\n")).collect(),
        text.lines().map(|line| format!("&gt; {line}<br>\n")).collect(),
    ] {
        let quoted = format!("Hello,\n\n{text}\nwhat do you think of 12 ms?\n");
        assert_eq!(
            figures(&one(&quoted)),
            figures(&one(include_str!("../../tests/outputs/fio-text.txt"))),
            "{text}"
        );
    }
}

/// Texts of public threads, of which a part was lost or split off.
#[test]
fn nothing_of_a_result_is_lost() {
    let table = "Version 1.02b  ------Sequential Output------ --Sequential Input- --Random-\n                    \
                 -Per Chr- --Block-- -Rewrite- -Per Chr- --Block-- --Seeks--\n\
                 Machine        Size K/sec %CP K/sec %CP K/sec %CP K/sec %CP K/sec %CP  /sec %CP\n\
                 merlin         496M           22038  13 11768   8           19219   6 183.9   0\n\
                 merlin         496M           22495  13 11216   6           22390   6 188.8   0\n";
    let rates: Vec<f64> = runs(table).iter().map(|run| value(run, "seq-write")).collect();
    assert_eq!(rates, [22038.0 * 1024.0, 22495.0 * 1024.0], "several rows of bonnie++");

    let doubled = sample!("diskspd.txt").replace('\n', "\n\n");
    assert_eq!(figures(&one(&doubled)), figures(&one(sample!("diskspd.txt"))));

    let children = sample!("iozone-t.txt").replace(
        "\tMin xfer",
        "\tChild[0] xfer count = 512.00 kB, Throughput = 9.00 kB/sec\n\tMin xfer",
    );
    assert_eq!(
        figures(&one(&children)),
        figures(&one(sample!("iozone-t.txt"))),
        "-+p and the like"
    );

    let (_, headless) =
        sample!("sysbench-seqwr.txt").split_once("Running the test").expect("sysbench");
    let headless = format!("Running the test{headless}");
    assert_eq!(figures(&one(&headless)), figures(&one(sample!("sysbench-seqwr.txt"))));

    let old = "--- /dev/vda (device 10.0 GiB) ioping statistics ---\n223 requests completed in 3.0 s, \
               74 iops, 297.5 KiB/s\nmin/avg/max/mdev = 293 us / 13.4 ms / 128.9 ms / 13.5 ms\n";
    assert_eq!(
        figures(&one(old)),
        pairs([
            ("request", 74),
            ("request.min", 293_000),
            ("request.max", 128_900_000),
            ("request.mean", 13_400_000),
        ])
    );

    let failed = "Error writing file 'G:\\379.h2w', offset 0x1c900000.\n(The wrong diskette is in \
                  the drive.\nInsert  Code 34)\nWarning: Only 482004 of 482070 MByte tested.\nWriting \
                  speed: 20.1 MByte/s\nH2testw v1.4\n";
    let findings = one(failed).warnings;
    assert!(findings.iter().any(|w| w.text.starts_with("Error writing")), "{findings:?}");
    let probed = one(sample!("f3probe.txt"));
    assert!(probed.warnings.is_empty(), "a probe is whole: {:?}", probed.warnings);
}

#[test]
fn ioping_sysbench_and_bonnie() {
    let run = one(sample!("ioping.txt"));
    assert_eq!(run.target.spec, ".");
    assert!(value(&run, "read.max") >= value(&run, "read.mean"));
    let run = one(sample!("sysbench-seqwr.txt"));
    assert_eq!(value(&run, "seq-write-16KiB-q1"), 185.96 * 1_048_576.0);
    assert_eq!(value(&run, "seq-write-16KiB-q1.max"), 15.25e6);
    let run = one(sample!("sysbench-rndwr.txt"));
    assert_eq!(value(&run, "rand-write-4KiB-q1"), 9066.68);
    let run = one(sample!("bonnie.txt"));
    assert_eq!(
        figures(&run),
        pairs([("seq-write", 332_148 * 1024), ("seq-write.max", 21_862_000)])
    );
    let table = sample!("bonnie.txt").split("1.98").next().unwrap_or_default();
    assert_eq!(figures(&one(table)), pairs([("seq-write", 324 << 20)]), "the table alone");
}

#[test]
fn iozones_other_outputs() {
    let run = one(sample!("iozone-t.txt"));
    assert!(value(&run, "iozone-1MiB-4KiB-t2.write") > 0.0);
    let run = one(sample!("iozone-us.txt"));
    assert!(value(&run, "iozone-1MiB-64KiB.write.mean") >= 1000.0);
    let sheet = one(&decode(include_bytes!("../../tests/import/iozone-b.xls")));
    assert_eq!(value(&sheet, "iozone-64KiB-4KiB.write"), 799_377.0 * 1024.0);
    assert_eq!(value(&sheet, "iozone-128KiB-128KiB.reread"), 25_804_035.0 * 1024.0);
}

/// `--status-interval` and `--output-format=normal,json,terse`.
#[test]
fn states_and_formats_of_one_run_are_one_record() {
    for (text, seconds) in [
        (include_str!("../../tests/outputs/fio-states.txt"), 2.0),
        (include_str!("../../tests/outputs/fio-states-json.txt"), 2.0),
    ] {
        let run = one(text);
        assert!(run.seconds.is_some_and(|s| s >= seconds), "the last state: {:?}", run.seconds);
        assert_eq!(runs(&text.repeat(2)).len(), 2, "two pasted together");
    }
    let three = include_str!("../../tests/outputs/fio-three.txt");
    assert!(three.contains("\"fio version\"") && three.contains(";fio-3.33;"));
    assert_eq!((runs(three).len(), runs(&three.repeat(2)).len()), (1, 2));
}

#[test]
fn results_within_the_json_of_another_program_are_read() {
    let (text, json) = (sample!("fio-mix.txt"), sample!("fio-mix.json"));
    let value: serde_json::Value =
        serde_json::from_str(&json[json.find("{\n").expect("an object")..]).expect("JSON");
    let lines: Vec<&str> = text.lines().collect();
    let object = serde_json::json!({"host": "a", "fio": value}).to_string();
    assert_eq!(figures(&one(&object)), figures(&one(json)));
    for wrapped in [
        serde_json::json!({"rc": 0, "stdout": text}).to_string(),
        format!("a | SUCCESS => {:#}", serde_json::json!({"x": {"stdout_lines": lines}})),
    ] {
        assert_eq!(figures(&one(&wrapped)), figures(&one(text)));
    }
}

/// Two hosts write into one log, line by line in turn.
#[test]
fn interleaved_hosts_are_two_results() {
    let text = include_str!("../../tests/outputs/fio-text.txt");
    let other = text.replace("IOPS=", "IOPS=1");
    let log: String =
        text.lines().zip(other.lines()).map(|(a, b)| format!("<a> {a}\n<b> {b}\n")).collect();
    let found = runs(&log);
    assert_eq!(found.len(), 2);
    assert_eq!(figures(&found[0]), figures(&one(text)));
    assert_eq!(figures(&found[1]), figures(&one(&other)));
}

/// Found by the fuzzer: the size was multiplied before it was checked.
#[test]
fn sizes_out_of_range_do_not_overflow() {
    let huge =
        sample!("iozone-t.txt").replace("writes a 1024 kByte", "writes a 99999999999999999 kByte");
    assert!(!runs(&huge).is_empty());
}
