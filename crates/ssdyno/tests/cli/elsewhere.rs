//! Results of other tools and of other people: import, and compare with own runs.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use crate::common::Place;

const FIO: &str = include_str!("../../../compat/tests/import/fio-mix.json");
const DD: &str = include_str!("../../../compat/tests/import/dd-others.txt");

/// A place with outputs of two tools in a file each.
fn place() -> Place {
    let place = Place::new();
    fs::write(place.path("fio.json"), FIO).expect("a file");
    fs::write(place.path("dd.txt"), DD).expect("a file");
    place
}

#[test]
fn imported_is_marked_and_what_was_not_recorded_is_unknown() {
    let place = place();
    let said = place.ssdyno(&["import", &place.text("fio.json"), &place.text("dd.txt")]).good().out;
    assert!(said.contains("fio 3.33") && said.matches("imported").count() == 6, "{said}");
    let shown = place.ssdyno(&["show", "1"]).good().out;
    assert!(shown.starts_with("run 1   fio   imported: not measured by ssdyno"), "{shown}");
    // A long path goes over several lines.
    let joined: String = shown.split_whitespace().collect();
    assert!(shown.contains("mix") && joined.contains("fio.json"), "{shown}");
    let record = place.ssdyno(&["show", "1", "--json"]).good().json();
    assert_eq!(record["origin"]["kind"], "imported");
    for unknown in [&record["plan"], &record["target"]["bytes"], &record["environment"]["kernel"]] {
        assert!(unknown.is_null(), "{record}");
    }
    let dd = place.ssdyno(&["show", "2"]).good().out;
    assert!(dd.contains("start unknown") && dd.contains("453 MB/s"), "{dd}");
    let page = place.ssdyno(&["show", "1", "--html"]).good().out;
    assert!(fs::read_to_string(page.trim()).expect("a page").contains("not measured by ssdyno"));
    let list = place.ssdyno(&["runs"]).good().out;
    assert!(list.lines().count() == 7, "{list}");
    // fio reports its start, dd does not.
    let unknown = list.lines().filter(|l| l.contains("  unknown  ") && l.contains(" dd "));
    assert_eq!(unknown.count(), 5, "{list}");
    let runs = place.ssdyno(&["runs", "--json"]).good().json();
    assert!(runs[0]["started"].is_null() && runs[5]["started"].is_string(), "{runs}");
}

#[test]
fn the_same_file_is_entered_once() {
    let place = place();
    let file = place.text("fio.json");
    place.ssdyno(&["import", "--dry-run", &file]).good();
    assert!(place.runs().is_empty(), "a dry run enters nothing");
    place.ssdyno(&["import", &file]).good();
    let again = place.ssdyno(&["import", &file]).good().out;
    assert!(again.contains("was in the store already"), "{again}");
    fs::copy(place.path("fio.json"), place.path("copy.json")).expect("a copy");
    place.ssdyno(&["import", &place.text("copy.json")]).good();
    assert_eq!(place.runs().len(), 1);
}

#[test]
fn from_a_pipe_and_from_our_own_export() {
    let place = place();
    place.io("null: --ops 20");
    let export = place.ssdyno(&["export"]).good().out;
    let mut command = place.command(&["import", "-", "--json", "--store", &place.text("other")]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("starts");
    child.stdin.take().expect("piped").write_all(export.as_bytes()).expect("written");
    let output = child.wait_with_output().expect("ends");
    let there: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let here = place.ssdyno(&["show", "1", "--json"]).good().json();
    assert_eq!((&there["id"], &there["metrics"]), (&here["id"], &here["metrics"]));
    assert!(there["origin"].is_null(), "as good as measured here: {}", there["origin"]);
    assert_eq!(there["environment"], here["environment"]);
    assert_eq!(here["environment"]["machine_id"].as_str().map(str::len), Some(32));
    fs::write(place.path("own.jsonl"), export).expect("a file");
    let again = place.ssdyno(&["import", &place.text("own.jsonl")]).good().out;
    assert!(again.contains("was in the store already"), "{again}");
    assert_eq!(
        place.ssdyno(&["show", "1", "--json"]).good().json()["origin"],
        serde_json::Value::Null
    );
}

#[test]
fn what_cannot_be_read_is_one_line() {
    let place = place();
    fs::write(place.path("odd.txt"), "what?\n").expect("a file");
    let odd = place.text("odd.txt");
    place.ssdyno(&["import", &odd]).refuses(2, "line 1: no result of a known tool");
    place.ssdyno(&["import", &place.text("fio.json"), &odd]).refuses(2, "odd.txt: line 1");
    assert!(place.runs().is_empty(), "one file that cannot be read leaves nothing behind");
    place.ssdyno(&["import", &odd, "--format", "bonnie"]).refuses(2, "no format 'bonnie'");
    place
        .ssdyno(&["import", &place.text("dd.txt"), "--format", "fio"])
        .refuses(2, "no result of fio");
    place.ssdyno(&["import", &place.text("none")]).refuses(2, "No such file");
    assert!(place.ssdyno(&["import", "--list"]).good().out.contains("CrystalDiskMark"));
}

#[test]
fn a_difference_is_claimed_with_an_interval_or_not_at_all() {
    let place = place();
    let said = place.ssdyno(&["compare", "pub:003/m225-fresh", "pub:003/m225-used"]).good().out;
    assert!(said.contains("-24.5%") && said.contains("no claim"), "{said}");
    assert!(said.contains("state before: fresh | used"), "{said}");
    assert!(said.contains("not measured in alternation"), "{said}");
    let pair = ["pub:002/mini-base-fio-1", "pub:002/io-board-fio-1", "--json"];
    let json = place.ssdyno(&[&["compare"], &pair[..]].concat()).good().json();
    assert_eq!(json["pairs"][0]["claim"], "no claim");
    let same = ["compare", "pub:003/m225-used", "pub:003/m225-used"];
    place.ssdyno(&same).refuses(2, "are the same run");
    place.ssdyno(&["import", &place.text("fio.json")]).good();
    let with_own = place.ssdyno(&["compare", "last", "pub:002/mini-base-fio-1"]);
    assert_eq!(with_own.code, 1, "{with_own:?}");
    assert!(with_own.out.contains("have no value in common"), "{with_own:?}");
}

#[test]
fn progress_is_said_in_lines_where_that_was_asked_for() {
    let place = Place::new();
    let job =
        ["fio", "--name=a", "--ioengine=null", "--size=1m", "--rate_iops=100", "--time_based"];
    let words = [&job[..], &["--runtime=1", "--eta=always", "--eta-newline=1ms"]].concat();
    let said = place.ssdyno(&words).good().err;
    assert!(said.lines().any(|line| line.contains("read ")), "{said}");
    let words = [&job[..], &["--runtime=1", "--eta=never", "--eta-newline=1ms"]].concat();
    let said = place.ssdyno(&words).good().err;
    assert!(!said.contains("read "), "{said}");
}

#[test]
fn our_own_fio_output_is_read_again() {
    let place = Place::new();
    let words = "fio --name=a --filename=sim:sd-150x --rw=randread --bs=4k --size=4M";
    for format in ["json", "json+", "normal"] {
        let form = format!("--output-format={format}");
        let words: Vec<&str> = words.split(' ').chain([form.as_str()]).collect();
        let said = place.ssdyno(&words).good().out;
        fs::write(place.path("own"), &said).expect("a file");
        let imported = place.ssdyno(&["import", &place.text("own"), "--json"]).good().json();
        let record = if imported.is_array() { &imported[0] } else { &imported };
        let names = record["metrics"].as_array().expect("metrics");
        let found = names.iter().any(|m| m["name"] == "rand-read-4KiB-q1");
        assert!(found, "{format}: {record}");
    }
}
