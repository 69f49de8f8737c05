//! Results of other tools and other people: importing them, and comparing them with own runs.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use serde_json::Value;

use crate::common::{Place, or_skip, tool};

const FIO: &str = include_str!("../../../compat/tests/import/fio-mix.json");
const DD: &str = include_str!("../../../compat/tests/import/dd-others.txt");
const IOZONE: &str = include_str!("../../../compat/tests/import/iozone.txt");

/// A place with the output of two tools, one file each.
fn place() -> Place {
    let place = Place::new();
    fs::write(place.path("fio.json"), FIO).expect("a file");
    fs::write(place.path("dd.txt"), DD).expect("a file");
    place
}

#[test]
fn imports_are_marked_and_unrecorded_values_are_unknown() {
    let place = place();
    let said = place.ssdyno(&["import", &place.text("fio.json"), &place.text("dd.txt")]).good().out;
    assert!(said.contains("fio 3.33") && said.matches("imported").count() == 6, "{said}");
    let shown = place.ssdyno(&["show", "1"]).good().out;
    assert!(shown.starts_with("run 1   fio   imported: not measured by ssdyno"), "{shown}");
    // A long path spans several lines.
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
fn runs_shows_the_headline_of_an_import() {
    let place = Place::new();
    fs::write(place.path("iozone.txt"), IOZONE).expect("a file");
    place.ssdyno(&["import", &place.text("iozone.txt")]).good();
    let runs = place.ssdyno(&["runs", "--json"]).good().json();
    for (run, number) in [(&runs[1], "1"), (&runs[0], "2")] {
        let headline = run["answer"].as_str().expect("a headline");
        assert!(headline.contains("rites "), "{headline}");
        assert!(place.ssdyno(&["show", number]).good().out.contains(headline), "{headline}");
    }
}

#[test]
fn a_file_imported_twice_is_entered_once() {
    let place = place();
    let file = place.text("fio.json");
    place.ssdyno(&["import", "--dry-run", &file]).good();
    assert!(place.runs().is_empty(), "a dry run enters nothing");
    place.ssdyno(&["import", &file]).good();
    let again = place.ssdyno(&["import", &file]).good().out;
    assert!(again.contains("already in the store"), "{again}");
    fs::copy(place.path("fio.json"), place.path("copy.json")).expect("a copy");
    place.ssdyno(&["import", &place.text("copy.json")]).good();
    assert_eq!(place.runs().len(), 1);
}

/// The same job by an installed fio, imported, and by ssdyno: both have the cells of the job.
#[test]
fn an_own_run_of_fios_job_compares_with_fios_output() {
    or_skip!(tool("fio", &["--version"]));
    let place = Place::new();
    let (file, output) = (format!("--filename={}", place.text("f")), place.text("theirs.json"));
    for rw in ["randrw", "read"] {
        let rw = format!("--rw={rw}");
        let words = ["--name=a", &rw, "--bs=4k", "--size=2m", "--ioengine=libaio", "--iodepth=8"];
        let words = [&words[..], &[&file]].concat();
        let to_file = format!("--output={output}");
        or_skip!(tool("fio", &[&words[..], &["--output-format=json", &to_file]].concat()));
        place.ssdyno(&["import", &output]).good();
        place.ssdyno(&[&["fio", "--overwrite-files"], &words[..]].concat()).good();
    }
    for (pair, names) in [
        (["1", "2"], &["mixed-read-4KiB-q8", "mixed-write-4KiB-q8", "mixed-read-4KiB-q8.max"][..]),
        (["3", "4"], &["seq-read-4KiB-q8", "seq-read-4KiB-q8.max"]),
    ] {
        let said = place.ssdyno(&["compare", pair[0], pair[1], "--json"]).out;
        assert!(names.iter().all(|name| said.contains(&format!("\"{name}\""))), "{said}");
    }
    // The names of earlier versions stay.
    let own = place.ssdyno(&["show", "2", "--json"]).good().out;
    assert!(own.contains("\"a.read.iops\"") && own.contains("\"a.write.throughput\""), "{own}");
}

/// Imports a text through a pipe into another store.
fn pipe(place: &Place, text: &str, store: &str) -> Vec<Value> {
    let mut command = place.command(&["import", "-", "--json", "--store", store]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("starts");
    child.stdin.take().expect("piped").write_all(text.as_bytes()).expect("written");
    let output = child.wait_with_output().expect("ends");
    assert!(output.status.success(), "{output:?}");
    let lines = String::from_utf8(output.stdout).expect("UTF-8");
    lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn a_copied_record_is_still_a_measurement() {
    let place = place();
    place.io("null: --ops 20");
    let export = place.ssdyno(&["export"]).good().out;
    let store = place.text("other/runs.sqlite");
    let there = pipe(&place, &export, &store).remove(0);
    let here = place.ssdyno(&["show", "1", "--json"]).good().json();
    assert_eq!(there, here);
    assert!(there["origin"].is_null(), "treated as measured here: {}", there["origin"]);
    let machine = here["environment"]["machine_id"].as_str().expect("an id");
    assert_eq!(machine.len(), 32);
    pipe(&place, &export, &store);
    let list = |store: &[&str]| place.ssdyno(&[&["runs", "--json"], store].concat()).good().json();
    let (ours, theirs) = (list(&[]), list(&["--store", &store]));
    assert_eq!(theirs.as_array().map(Vec::len), Some(1), "once, however often it is imported");
    assert_eq!(theirs[0]["hash"].as_str().map(str::len), Some(64));
    assert_eq!((&theirs[0]["hash"], &theirs[0]["machine"]), (&ours[0]["hash"], &machine.into()));
    assert_eq!((&ours[0]["kind"], &theirs[0]["kind"]), (&"measured".into(), &"carried".into()));
    let shown = place.ssdyno(&["show", "--store", &store]).good().out;
    assert!(shown.starts_with("run 1   io   complete in "), "{shown}");
    assert!(shown.contains(&format!("measured by ssdyno on machine {}", &machine[..8])), "{shown}");
    assert!(!place.ssdyno(&["show"]).good().out.contains("copied to"));
    fs::write(place.path("own.jsonl"), export).expect("a file");
    let again = place.ssdyno(&["import", &place.text("own.jsonl")]).good().out;
    assert!(again.contains("already in the store"), "{again}");
}

#[test]
fn two_contents_under_one_id_are_both_kept_and_shown() {
    let place = place();
    place.io("null: --ops 20");
    let export = place.ssdyno(&["export"]).good().out;
    let mut forged: Value = serde_json::from_str(&export).expect("JSON");
    forged["metrics"][0]["value"] = 1e9.into();
    fs::write(place.path("forged.jsonl"), forged.to_string()).expect("a file");
    for (word, runs) in [("CONFLICT", 2), ("already in the store", 2)] {
        let said = place.ssdyno(&["import", &place.text("forged.jsonl")]).good().out;
        assert!(said.contains(word), "{said}");
        assert_eq!(place.runs().len(), runs);
    }
    assert!(place.runs().iter().all(|run| run["conflict"] == true));
    let list = place.ssdyno(&["runs"]).good().out;
    assert_eq!(list.matches("CONFLICT").count(), 2, "{list}");
    let shown = place.ssdyno(&["show", "1"]).good().out;
    assert!(shown.contains("run 2 has the same id but other content"), "{shown}");
    let values = [1, 2].map(|number: u8| {
        let shown = place.ssdyno(&["show", &number.to_string(), "--json"]).good().json();
        shown["metrics"][0]["value"].as_f64()
    });
    assert!(values[0] != values[1] && values[1] == Some(1e9), "{values:?}");
    let id = place.runs()[0]["id"].as_str().expect("an id").to_string();
    place.ssdyno(&["show", &id]).refuses(2, "is ambiguous: run 1, run 2");
    place.ssdyno(&["rm", "2"]).good();
    assert!(!place.ssdyno(&["runs"]).good().out.contains("CONFLICT"));
}

#[test]
fn fields_of_a_later_version_are_kept_in_copies() {
    let place = place();
    place.io("sim:cm4-emmc-32 --time 300ms");
    let export = place.ssdyno(&["export"]).good().out;
    let mut later: Value = serde_json::from_str(&export).expect("JSON");
    later["later"] = serde_json::json!({ "seen": [1.5, null], "by": "no one" });
    later["target"]["drive"]["colour"] = "black".into();
    later["metrics"][0]["mood"] = Value::Null;
    later["metrics"][1]["weight"] = 7.into();
    later["latencies"][0]["service"]["unit"] = "ns".into();
    later["series"][0]["columns"][0]["smooth"] = true.into();
    let store = place.text("a/runs.sqlite");
    pipe(&place, &later.to_string(), &store);
    let once = place.ssdyno(&["export", "--store", &store]).good().out;
    assert_eq!(serde_json::from_str::<Value>(&once).expect("JSON"), later);
    let other = place.text("b/runs.sqlite");
    pipe(&place, &once, &other);
    assert_eq!(place.ssdyno(&["export", "--store", &other]).good().out, once, "byte for byte");
    let hash = |store: &str| {
        let runs = place.ssdyno(&["runs", "--json", "--store", store]).good().json();
        runs[0]["hash"].as_str().expect("a hash").to_string()
    };
    assert_eq!(hash(&store), hash(&other));
    let shown = place.ssdyno(&["show", "--json", "--store", &store]).good().json();
    assert_eq!(shown, later);
    place.ssdyno(&["show", "--store", &store]).good();
}

#[test]
fn a_record_without_end_is_refused_with_its_line() {
    let place = place();
    place.io("null: --ops 20");
    let export = place.ssdyno(&["export"]).good().out.replace("\n", "");
    let long = format!("{export}\n{}", export.replace("\"io\"", &"x".repeat(65 << 20)));
    fs::write(place.path("long.jsonl"), long).expect("a file");
    let said = place.ssdyno(&["import", &place.text("long.jsonl")]);
    said.refuses(2, "line 2: a record or text of more than 64 MiB");
    assert_eq!(place.runs().len(), 1);
}

#[test]
fn a_bad_record_in_a_pipe_leaves_those_before_it() {
    let place = place();
    place.io("null: --ops 20");
    let export = place.ssdyno(&["export"]).good().out;
    let bad = export.replace("\"complete\":true", "\"complete\":7");
    fs::write(place.path("bad.jsonl"), format!("{export}{bad}{export}")).expect("a file");
    let store = place.text("other/runs.sqlite");
    let file = place.text("bad.jsonl");
    let said = place.ssdyno(&["import", &file, "--store", &store]);
    said.refuses(2, "bad.jsonl: line 2: not an ssdyno record");
    assert!(!fs::exists(&store).expect("known"), "a file is checked before the store is opened");
    let piped = |file: &str| {
        let mut command = place.command(&["import", "-", "--store", &store]);
        command.stdin(fs::File::open(file).expect("the file"));
        String::from_utf8(command.output().expect("ends").stderr).expect("UTF-8")
    };
    let torn = place.text("torn.jsonl");
    fs::write(&torn, &bad[..bad.len() / 2]).expect("a file");
    for (input, why) in [(torn.as_str(), "line 1: "), ("/dev/null", "line 1: no result of a known")]
    {
        assert!(piped(input).contains(why), "{input}: {}", piped(input));
        assert!(!fs::exists(&store).expect("known"), "{input} contains no record to store");
    }
    let error = piped(&file);
    assert!(error.contains("the records before it (1) are already stored"), "{error}");
    let runs = place.ssdyno(&["runs", "--json", "--store", &store]).good().json();
    assert_eq!(runs.as_array().map(Vec::len), Some(1));
}

#[test]
fn the_last_fifty_are_listed_and_all_are_counted() {
    let place = place();
    place.io("null: --ops 20");
    let export = place.ssdyno(&["export"]).good().out;
    let id = place.runs()[0]["id"].as_str().expect("an id").to_string();
    // None of these ids equals the run's, whatever its last letters are.
    let other = if &id[23..24] == "X" { "Y" } else { "X" };
    let many: String =
        (0..59).map(|i| export.replace(&id, &format!("{}{other}{i:02}", &id[..23]))).collect();
    fs::write(place.path("many.jsonl"), many).expect("a file");
    let said = place.ssdyno(&["import", &place.text("many.jsonl")]).good().out;
    assert!(said.ends_with("and 9 more\n"), "{said}");
    let said = place.ssdyno(&["runs"]).good();
    assert_eq!(said.out.lines().count(), 51);
    assert_eq!(said.err, "the last 50 of 60 runs; more: --limit N, --all\n");
    let count = |args: &[&str]| {
        let said = place.ssdyno(&[&["runs"], args].concat()).good();
        assert_eq!(said.err, "");
        said.out.lines().count() - 1
    };
    assert_eq!((count(&["--all"]), count(&["-n", "3"]), count(&["--limit", "55"])), (60, 3, 55));
    assert_eq!(place.ssdyno(&["export"]).good().out.lines().count(), 60);
}

#[test]
fn unreadable_files_are_refused_in_one_line() {
    let place = place();
    fs::write(place.path("odd.txt"), "what?\n").expect("a file");
    let odd = place.text("odd.txt");
    place.ssdyno(&["import", &odd]).refuses(2, "line 1: no result of a known tool");
    place.ssdyno(&["import", &place.text("fio.json"), &odd]).refuses(2, "odd.txt: line 1");
    assert!(place.runs().is_empty(), "nothing is stored if one file cannot be read");
    place.ssdyno(&["import", &odd, "--format", "iometer"]).refuses(2, "no format 'iometer'");
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
    assert!(said.contains("A 1.32 times") && said.contains("A faster"), "{said}");
    assert!(said.contains("state before: fresh | used"), "{said}");
    assert!(said.contains("not measured in alternation"), "{said}");
    let pair = ["pub:002/mini-base-fio-1", "pub:002/io-board-fio-1", "--json"];
    let json = place.ssdyno(&[&["compare"], &pair[..]].concat()).good().json();
    assert_eq!(json["pairs"][0]["claim"], "inconclusive");
    let text = json["sentence"].as_str().expect("a conclusion");
    assert!(text.contains("a claim about the drives needs more than"), "{text}");
    let page = place.text("compared.html");
    let forms =
        ["compare", "pub:003/m225-fresh", "pub:003/m225-used", "--markdown", "--html", &page];
    let said = place.ssdyno(&forms).good().out;
    assert!(said.starts_with("### ssdyno compare\n") && said.contains("| ratio |"), "{said}");
    let page = std::fs::read_to_string(page).expect("a page");
    assert!(page.contains("Which is faster, and how many times?") && page.contains("Crucial M225"));
    let same = ["compare", "pub:003/m225-used", "pub:003/m225-used"];
    place.ssdyno(&same).refuses(2, "is given twice");
    place.ssdyno(&["import", &place.text("fio.json")]).good();
    let with_own = place.ssdyno(&["compare", "last", "pub:002/mini-base-fio-1"]);
    assert_eq!(with_own.code, 2, "{with_own:?}");
    assert!(with_own.out.contains("have no value in common"), "{with_own:?}");
}

#[test]
fn a_card_is_drawn_in_the_format_of_its_file_name() {
    let place = Place::new();
    let card = |name: &str| place.text(name);
    let show = |file: &str| place.ssdyno(&["show", "pub:003/m225-fresh", "--card", file]);
    show(&card("a.svg")).good();
    let svg = std::fs::read_to_string(card("a.svg")).expect("a card");
    assert!(svg.contains("Crucial M225 64GB") && svg.contains("not by ssdyno"), "{svg}");
    assert!(!svg.contains("believable"), "nothing was checked: {svg}");
    show(&card("a.gif")).refuses(2, "neither .svg nor .png");
    if !cfg!(feature = "cards") {
        return show(&card("a.png")).refuses(2, "without the feature 'cards'");
    }
    show(&card("a.png")).good();
    let png = std::fs::read(card("a.png")).expect("a card");
    assert_eq!(&png[1..4], b"PNG");
    assert_eq!(png[16..24], [0, 0, 4, 176, 0, 0, 2, 118], "1200 x 630");
    assert!(png.len() > 10_000, "text is rendered: {} bytes", png.len());
}

/// The raw text of document 002: two runs of fio on each of two boards; the first run on the first
/// board laid out its file.
#[test]
fn imported_runs_are_compared_in_groups_by_title() {
    let place = Place::new();
    let log = |board: &str, laid_out: bool, iops: u32| {
        let note = if laid_out { "x: Laying out IO file (1 file / 4096MiB)\n" } else { "" };
        format!(
            "{board}: (g=0): rw=randread, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, \
             ioengine=libaio, iodepth=64\nfio-3.33\nStarting 1 process\n{note}\
             {board}: (groupid=0, jobs=1): err= 0: pid=38: Tue Oct  3 18:09:33 2023\n  \
             read: IOPS={iops}, BW=27.3MiB/s (28.6MB/s)(3070MiB/112478msec)\n\
             Run status group 0 (all jobs):\n\n"
        )
    };
    let runs = [
        log("CM4 on board one", true, 6987),
        log("CM4 on board one", false, 6171),
        log("CM4 on board two", false, 5991),
        log("CM4 on board two", false, 6044),
    ];
    std::fs::write(place.path("boards.txt"), runs.concat()).expect("written");
    place.ssdyno(&["import", &place.text("boards.txt")]).good();
    let said = place.ssdyno(&["compare", "--by", "title", "1-4"]).good().out;
    let flat = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("A CM4 on board one run 1, run 2"), "{said}");
    assert!(flat.contains("Inconclusive: they differ by up to 9.1%"), "{said}");
    assert!(flat.contains("Run 1 was in another state: it laid out its file first."), "{said}");
    assert!(flat.contains("Like for like A has 1.03 times the"), "{said}");
    let groups = place.ssdyno(&["compare", "1,2", "3,4", "--json"]).good().json();
    assert_eq!(groups["runs"]["a"].as_array().map(Vec::len), Some(2));
    place.ssdyno(&["compare", "--by", "colour", "1-4"]).refuses(2, "no condition 'colour'");
    place.ssdyno(&["compare", "1-4"]).refuses(2, "one group of runs");
    place.ssdyno(&["compare", "1", "2", "--metric", "x"]).refuses(2, "no metric 'x'");
}

#[test]
fn two_targets_are_measured_in_turns_until_the_difference_is_clear() {
    let place = Place::new();
    let cards = ["sim:sd-class2", "sim:sd-150x"];
    let words = [&["compare", "-m", "speed", "--json", "-q"], &cards[..]].concat();
    let json = place.ssdyno(&words).good().json();
    assert_eq!((&json["order"], &json["pairs_of_runs"]), (&"in turns".into(), &4.into()));
    let claim = |name: &str| {
        let pairs = json["pairs"].as_array().expect("pairs");
        pairs.iter().find(|p| p["name"] == name).map(|p| p["claim"].clone())
    };
    assert_eq!(claim("speed-write"), Some("B faster".into()));
    assert_eq!(claim("speed-read"), Some("same within 5%".into()));
    let runs = place.runs();
    let order: Vec<_> =
        runs.iter().rev().map(|run| run["target"].as_str() == Some(cards[0])).collect();
    assert_eq!(order, [true, false, false, true, true, false, false, true], "AB BA AB BA");

    let one = ["compare", "-m", "speed", "--metric", "speed-read", "-q", cards[0], cards[1]];
    let said = place.ssdyno(&one).good().out;
    assert!(said.contains("The same within 5%: Reads."), "{said}");
    assert!(said.contains("another session may differ"), "{said}");
    let dry = ["compare", "-m", "speed", "--dry-run", "--detect", "3%", cards[0], cards[1]];
    let said = place.ssdyno(&dry).good().err;
    assert!(said.contains("4 to 6 pairs of runs"), "{said}");
    place.ssdyno(&["compare", "-m", "speed", cards[0]]).refuses(2, "-m takes two or more targets");
    let far = ["compare", "-m", "speed", "--detect", "0.1%", cards[0], cards[1]];
    place.ssdyno(&far).refuses(2, "24 pairs cannot detect");
    let misspelt = ["compare", "-m", "speed", "--metric", "sped-read", cards[0], cards[1]];
    place.ssdyno(&misspelt).refuses(2, "speed has no metric 'sped-read'");
}

#[test]
fn progress_is_printed_in_lines_if_requested() {
    let place = Place::new();
    let job =
        ["fio", "--name=a", "--ioengine=null", "--size=1m", "--rate_iops=100", "--time_based"];
    let words = [&job[..], &["--runtime=1", "--eta=always", "--eta-newline=1ms"]].concat();
    let said = place.ssdyno(&words).good().err;
    assert!(said.lines().any(|line| line.contains("read ")), "{said}");
    let words = [&job[..], &["--runtime=1", "--eta=never", "--eta-newline=1ms"]].concat();
    let said = place.ssdyno(&words).good().err;
    let (progress, _) = said.split_once("figures that fio does not print").unwrap_or((&said, ""));
    assert!(!progress.contains("read "), "{said}");
}

#[test]
fn our_own_fio_output_can_be_imported() {
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
        let shown = place.ssdyno(&["show", "last"]).good().out;
        let (heading, ours) = (shown.lines().next().expect("a heading"), "ssdyno fio's output");
        assert!(heading.contains("   imported from ssdyno fio's output"), "{format}: {heading}");
        assert!(shown.matches(ours).count() >= 2, "{format}: the stamp, too: {shown}");
        assert!(!shown.contains("another program"), "{format}: {shown}");
    }
}
