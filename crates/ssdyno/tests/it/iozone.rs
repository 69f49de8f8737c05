//! `ssdyno iozone` beside what iozone does: rows, files that stay, spreadsheets, units, several
//! processes.

use std::fs;

use crate::common::Place;

/// The rows of the table, as words.
fn rows(out: &str) -> Vec<Vec<&str>> {
    let mut rows = out.lines().skip_while(|line| !line.contains("reclen")).skip(1);
    let words = rows.by_ref().take_while(|line| !line.is_empty());
    words.map(|line| line.split_whitespace().collect()).collect()
}

fn run(place: &Place, line: &str) -> String {
    let words: Vec<&str> = ["iozone"].into_iter().chain(line.split_whitespace()).collect();
    place.ssdyno(&words).good().out
}

#[test]
fn a_row_has_the_sizes_as_given_and_only_whole_records_are_used() {
    let place = Place::new();
    let out = run(&place, "-s 10m -r 4m -i 0 -i 1 --legacy");
    let row = &rows(&out)[0];
    assert_eq!((&row[..2], row.len()), (&["10240", "4096"][..], 6), "{out}");
    let record = place.ssdyno(&["show", "last", "--json"]).good().out;
    assert!(record.contains("\"iozone-10MiB-4MiB.write\""), "{record}");
}

#[test]
fn a_file_that_stays_is_read_by_a_later_run_and_overwritten_only_if_allowed() {
    let place = Place::new();
    run(&place, "-s 1m -r 64k -i 0 -w -f kept --legacy");
    let kept = place.work().join("kept");
    let content = fs::read(&kept).expect("it stays");
    assert_eq!(content.len(), 1 << 20);
    let out = run(&place, "-s 1m -r 64k -i 1 -i 2 -w -f kept --legacy");
    // Reads and random reads; no writes.
    assert_eq!(rows(&out)[0].len(), 5, "{out}");
    let out = run(&place, "-s 1m -r 64k -i 0 -w -f kept --legacy");
    assert_eq!(rows(&out)[0].len(), 2, "{out}");
    assert_eq!(fs::read(&kept).expect("it stays"), content);
    let out = run(&place, "-s 1m -r 64k -i 0 -w -f kept --legacy --destroy=1048576");
    assert_eq!(rows(&out)[0].len(), 4, "{out}");
    run(&place, "-s 64k -r 4k -i 0 --legacy");
    assert!(!place.work().join("iozone.tmp").exists(), "without -w, nothing stays");
}

#[test]
fn a_spreadsheet_is_excels_unless_its_name_says_text() {
    let place = Place::new();
    run(&place, "-s 128k -r 64k -i 0 --legacy -Rb a.xls");
    let sheet = fs::read(place.work().join("a.xls")).expect("a sheet");
    assert_eq!(sheet[..8], [9, 0, 4, 0, 2, 0, 16, 0], "BIFF2");
    assert!(sheet.windows(13).any(|part| part == b"Writer Report"));
    run(&place, "-s 128k -r 64k -i 0 --legacy -b a.csv");
    let text = fs::read_to_string(place.work().join("a.csv")).expect("text");
    assert!(text.starts_with("file_kib,record_kib,write,"), "{text}");
}

#[test]
fn several_processes_have_their_own_parts() {
    let place = Place::new();
    let out = run(&place, "-l 1 -u 2 -s 256k -r 64k -i 0 -i 1 -R");
    for line in [
        "\tMin process = 1 \n\tMax process = 2 \n\tThroughput test with 1 process\n",
        "\tEach process writes a 256 kByte file in 64 kByte records\n",
        "\tChildren see throughput for  2 initial writers \t= ",
        "\tParent sees throughput for 2 re-readers \t= ",
        "\tMin xfer \t\t\t\t\t=     256.00 kB\n",
        "\n\"Throughput report Y-axis is type of test X-axis is number of processes\"\n",
        "\n\"        Rewrite \" ",
    ] {
        assert!(out.contains(line), "{line:?}: {out}");
        assert!(!out.contains("inf") && !out.contains("       0.00 kB/sec"), "{out}");
    }
    let record = place.ssdyno(&["show", "last", "--json"]).good().out;
    for name in ["t1.write", "t2.write", "t2.write.lowest", "t2.reread.throughput"] {
        assert!(record.contains(&format!("\"iozone-256KiB-64KiB-{name}\"")), "{name}: {record}");
    }
    let whole = run(&place, "-t 2 -s 4m -r 1m -i 0 -f sim:sd-150x");
    assert!(whole.contains("for  2 rewriters \t= "), "{whole}");
}

#[test]
fn reports_of_several_processes_have_iozones_rows_and_units() {
    let place = Place::new();
    let out = run(&place, "-t 1 -s 100k -r 16k -i 0 -O -R -+n --legacy");
    // Of 100 KiB, six whole records; the rewrite is left out, but has its row.
    for line in ["\tMin xfer \t\t\t\t\t=       6.00 ops\n", "\n\"        Rewrite \"       0.00 \n"]
    {
        assert!(out.contains(line), "{line:?}: {out}");
    }
    // A mapped file has no streams, but their block.
    let out = run(&place, "-s 64k -r 64k -i 0 -i 6 -B -R -f sim:sd-class2 --legacy");
    assert!(out.contains("\n\"Fwrite report\"\n        \"64\"\n\"64\"   0 \n"), "{out}");
}

#[test]
fn every_write_and_read_is_listed_with_its_offset_and_latency() {
    let place = Place::new();
    let listed = |name: &str| fs::read_to_string(place.work().join(name)).expect("a list");
    run(&place, "-Q -s 100k -r 48k -i 0 -i 1 -+n -f sim:sd-class2 --legacy");
    let list = listed("wol.dat");
    let lines: Vec<Vec<&str>> =
        list.lines().map(|line| line.split_whitespace().collect()).collect();
    let [header, first, second, none, times] = &lines[..] else { panic!("two records: {list}") };
    assert_eq!((header[0], first[0], first[2]), ("Offset", "0", "49152"), "{list}");
    assert_eq!((second[0], none.len(), times[0]), ("48", 0, "System"), "{list}");
    let latency_us = |line: &[&str]| line[1].parse::<f64>().expect("a latency");
    let sum_s = (latency_us(first) + latency_us(second)) / 1e6;
    let real_s: f64 = times[7].parse().expect("seconds");
    assert!(sum_s > 0.001 && (sum_s - real_s).abs() < 0.01, "{list}");
    // A repetition that was left out has only a heading.
    assert_eq!(listed("rwol.dat").lines().count(), 1);
    run(&place, "-Q -l 1 -u 2 -s 128k -r 64k -i 0 -i 2 --legacy");
    assert_eq!(listed("Child_0_randrol.dat").lines().count(), 6, "two runs of two records");
    assert_eq!(listed("Child_1_wol.dat").lines().count(), 3);
}

#[test]
fn a_list_of_latencies_replaces_no_other_file() {
    let place = Place::new();
    fs::write(place.work().join("rol.dat"), "mine").expect("written");
    let said = place.ssdyno(&["iozone", "-Q", "-s", "64k", "-i", "0", "-i", "1"]);
    assert_eq!(said.code, 4, "{}", said.err);
    assert!(said.err.contains("-Q: rol.dat cannot be written"), "{}", said.err);
    assert!(!place.work().join("wol.dat").exists(), "refused before the run");
}
