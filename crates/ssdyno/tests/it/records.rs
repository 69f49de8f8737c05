//! Records: listing, showing in every form, exporting, removing; and output to a pipe.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::common::{Place, Said, or_skip, tool};

/// A store with three records: reads, writes, and the null target.
fn three() -> Place {
    let place = Place::new();
    place.io(". --size 1MiB --ops 20");
    place.io(". --size 1MiB --rw write --coverage 1");
    place.io("null: --ops 20");
    place
}

#[test]
fn a_record_is_shown_in_every_form() {
    let place = three();
    let show = |args: &[&str]| place.ssdyno(&[&["show", "2"], args].concat()).good().out;
    let text = show(&[]);
    assert!(
        text.starts_with("run 2   io   complete") && text.contains("sequential write"),
        "{text}"
    );
    let record: Value = serde_json::from_str(&show(&["--json"])).expect("JSON");
    assert_eq!((&record["number"], &record["schema"]), (&2.into(), &"ssdyno.run/1".into()));
    assert!(show(&["--markdown"]).contains("| "));
    let csv = show(&["--csv"]);
    assert!(csv.lines().next().is_some_and(|heading| heading.contains("unit")), "{csv}");
    assert!(csv.contains("throughput") && csv.contains("B/s"), "{csv}");
    assert!(show(&["--series"]).lines().next().is_some_and(|heading| heading.contains(',')));
    let beside = show(&["--html"]);
    assert_eq!(beside.trim(), place.text("data/ssdyno/reports/run-2.html"));
    let page = place.text("page.html");
    assert_eq!(show(&[&format!("--html={page}")]).trim(), page);
    assert!(fs::read_to_string(page).expect("a page").contains("</html>"));
}

#[test]
fn a_run_is_found_by_number_by_its_id_and_as_the_last() {
    let place = three();
    let id = |selector: &str| {
        let said = place.ssdyno(&["show", selector, "--json"]).good();
        said.json()["id"].as_str().expect("an id").to_string()
    };
    assert_eq!(id("last"), id("3"));
    assert_eq!(id(&id("1")), id("1"));
    assert_eq!(place.ssdyno(&["show", "--json"]).good().json()["number"], 3);
    place.ssdyno(&["show", "99"]).refuses(2, "no run '99'");
    place.ssdyno(&["show", "nonsense"]).refuses(2, "no run 'nonsense'");
}

#[test]
fn the_list_is_filtered() {
    let place = three();
    let count = |args: &[&str]| {
        let said = place.ssdyno(&[&["runs", "--json"], args].concat()).good().json();
        said.as_array().map(Vec::len)
    };
    assert_eq!(count(&[]), Some(3));
    assert_eq!(count(&["-n", "2"]), Some(2));
    assert_eq!(count(&["--method", "io"]), Some(3));
    assert_eq!(count(&["--method", "quick"]), Some(0));
    assert_eq!(count(&["--drive", "NULL:"]), Some(1));
    assert_eq!(count(&["--since", "2001-01-01"]), Some(3));
    assert_eq!(count(&["--until", "2001-01-01"]), Some(0));
    place.ssdyno(&["runs", "--since", "yesterday"]).refuses(2, "'yesterday' is not a date");
    let text = place.ssdyno(&["runs"]).good().out;
    assert!(text.starts_with("run") && text.lines().count() == 4, "{text}");
    assert!(place.ssdyno(&["runs", "-m", "quick"]).good().out.contains("no runs"));
}

#[test]
fn exports_equal_the_stored_records() {
    let place = three();
    let lines = place.ssdyno(&["export"]).good().out;
    let exported: Vec<Value> =
        lines.lines().map(|l| serde_json::from_str(l).expect("JSON")).collect();
    assert_eq!(exported.len(), 3);
    for (record, number) in exported.iter().zip(1..) {
        let shown = place.ssdyno(&["show", &number.to_string(), "--json"]).good().json();
        assert_eq!(*record, shown);
    }
    let csv = place.ssdyno(&["export", "3", "1", "--csv"]).good().out;
    let headings = csv.lines().filter(|l| l.contains("unit,")).count();
    assert_eq!(headings, 1, "{csv}");
    assert_eq!(place.ssdyno(&["export", "last"]).good().out.lines().count(), 1);
    place.ssdyno(&["export", "1", "9"]).refuses(2, "no run '9'");
}

#[test]
fn rm_removes_the_named_records_only() {
    let place = three();
    let page = place.path("data/ssdyno/reports/run-2.html");
    assert!(page.exists());
    place.ssdyno(&["rm", "2", "9"]).refuses(2, "no run '9'");
    assert_eq!(place.runs().len(), 3);
    let said = place.ssdyno(&["rm", "2", "1"]).good();
    assert_eq!(said.err, "removed run 2, 1\n");
    assert!(!page.exists(), "the page of a removed record remained");
    let left: Vec<_> = place.runs().iter().map(|r| r["number"].clone()).collect();
    assert_eq!(left, [3]);
    place.ssdyno(&["rm", "last"]).good();
    place.ssdyno(&["show"]).refuses(2, "no runs in the store yet");
    assert_eq!(place.io("null: --ops 1")["number"], 4, "a number was used twice");
}

#[test]
fn a_store_can_be_anywhere() {
    let place = Place::new();
    let store = place.text("deep/inside/my.sqlite");
    let words = format!("null: --ops 1 --store {store}");
    assert_eq!(place.io(&words)["number"], 1);
    assert!(!place.path("data").exists());
    let shown = place.ssdyno(&["show", "--store", &store]).good().out;
    assert!(shown.starts_with("run 1"));
    assert!(place.path("deep/inside/reports/run-1.html").exists());
}

#[test]
fn two_runs_into_one_store_at_once() {
    let place = Place::new();
    let words = ["io", "null:", "--time", "300ms", "--json", "--quiet"];
    let start = || place.command(&words).stdout(Stdio::piped()).spawn().expect("starts");
    let both = [start(), start(), start()];
    for child in both {
        let output = child.wait_with_output().expect("ends");
        assert!(output.status.success(), "{output:?}");
    }
    let runs = place.runs();
    assert_eq!(runs.len(), 3);
    assert!(runs.iter().all(|r| r["complete"] == true), "{runs:?}");
}

#[test]
fn a_reader_of_only_the_first_line_causes_no_error() {
    let place = three();
    for words in [&["show", "--json"][..], &["export"], &["man"], &["completions", "bash"]] {
        let mut command = place.command(words);
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("ends");
        assert!(output.status.success() && output.stderr.is_empty(), "{words:?} {output:?}");
    }
}

#[test]
fn a_run_continues_if_nobody_reads_its_events() {
    let place = Place::new();
    let mut command = place.command(&["io", "null:", "--time", "500ms", "--json", "--events"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("starts");
    let mut first = String::new();
    let out = child.stdout.take().expect("piped");
    BufReader::with_capacity(1, out).read_line(&mut first).expect("a line");
    assert!(child.wait().expect("ends").success());
    assert_eq!(place.runs()[0]["complete"], true);
}

#[test]
fn colour_is_for_terminals_that_want_it() {
    let place = three();
    or_skip!(tool("script", &["--version"]));
    let on_terminal = |settings: &str| {
        let line = format!("{settings} {} show", env!("CARGO_BIN_EXE_ssdyno"));
        let mut command: Command =
            place.command_of("script".as_ref(), &["-qec", &line, "/dev/null"]);
        let output = command.env("TERM", "xterm").output().expect("starts");
        String::from_utf8_lossy(&output.stdout).contains('\u{1b}')
    };
    assert!(on_terminal("env"), "no colour on a terminal");
    assert!(!on_terminal("NO_COLOR=1"));
    assert!(!on_terminal("TERM=dumb"));
    assert!(!place.ssdyno(&["show"]).good().out.contains('\u{1b}'));
}

#[test]
fn the_manual_has_every_command() {
    let place = Place::new();
    let help = place.ssdyno(&["--help"]).good().out;
    let commands = help.lines().skip_while(|l| *l != "Commands:").skip(1);
    let commands = commands.take_while(|l| !l.is_empty());
    let names: Vec<&str> = commands.filter_map(|l| l.split_whitespace().next()).collect();
    assert!(names.len() >= 11, "{names:?}");
    let pages = place.text("man");
    place.ssdyno(&["man", &pages]).good();
    for name in &names {
        assert!(place.ssdyno(&[name, "--help"]).good().out.contains("Usage: ssdyno"), "{name}");
        let page = fs::read_to_string(place.path(&format!("man/ssdyno-{name}.1")));
        assert!(page.expect("a page").contains(".TH"), "{name}");
    }
    assert!(place.ssdyno(&["man"]).good().out.contains(".TH ssdyno"));
    place.ssdyno(&["man", "canary/man"]).refuses(4, "cannot write canary/man: ");
    let (page, theirs) = (place.path("man/ssdyno.1"), place.path("theirs"));
    fs::remove_file(&page).expect("removed");
    std::os::unix::fs::symlink(&theirs, &page).expect("a link");
    fs::write(&theirs, "theirs").expect("written");
    place.ssdyno(&["man", &pages]).refuses(4, "through a symbolic link");
    assert_eq!(fs::read(&theirs).expect("there"), b"theirs");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = place.ssdyno(&["completions", shell]).good().out;
        assert!(script.contains("COMPLETE"), "{shell}: the program is asked: {script}");
    }
}

#[test]
fn lists_without_a_store() {
    let place = Place::new();
    let methods = place.ssdyno(&["methods", "--json"]).good().json();
    let names: Vec<_> =
        methods.as_array().expect("a list").iter().map(|m| m["name"].clone()).collect();
    assert!(names.contains(&"quick".into()) && names.contains(&"authentic".into()));
    assert!(place.ssdyno(&["methods"]).good().out.contains("quick"));
    assert!(place.ssdyno(&["methods", "quick"]).good().out.contains("safety   scratch"));
    let sustain = place.ssdyno(&["methods", "sustain"]).good().out;
    assert!(sustain.contains("\n  sustain-fresh.cache  (B)\n      written before"), "{sustain}");
    let wear = place.ssdyno(&["methods", "wear"]).good().out;
    let options = "\n  --size --seed\n  --amount SIZE\n      total bytes to write, such as 3TB";
    assert!(wear.contains(options), "{wear}");
    let wear = methods.as_array().expect("a list").iter().find(|m| m["name"] == "wear");
    assert_eq!(wear.expect("listed")["ignores"], serde_json::json!(["time", "replicates"]));
    let doctor = place.ssdyno(&["doctor", "--json"]).good().json();
    assert!(doctor["environment"]["cpu"].is_object() && doctor["findings"].is_array());
    assert!(place.ssdyno(&["doctor"]).good().out.contains("machine"));
    assert!(place.ssdyno(&["list", "--json"]).good().json().is_array());
    assert!(!place.path("data").exists());
}

/// As in a cron job. The command needs the place of the store, and touches nothing there.
#[test]
fn without_a_home_variable_the_store_is_in_the_home_of_the_account() {
    let place = Place::new();
    let show = |home: Option<&str>| {
        let mut command = place.command(&["show", "pub:003/m225-fresh"]);
        command.env_remove("HOME").env_remove("XDG_DATA_HOME").envs(home.map(|to| ("HOME", to)));
        Said::of(command.output().expect("starts"))
    };
    show(Some("relative")).refuses(2, "no location for the store");
    let shown = show(None);
    if shown.err.contains("this user's account has no home") {
        println!("skipped: /etc/passwd does not name this user's home");
        return;
    }
    shown.good();
}

#[test]
fn published_records_are_listed_and_shown() {
    let place = Place::new();
    let list = |args: &[&str]| {
        let said = place.ssdyno(&[&["runs", "--published", "--json"], args].concat()).good().json();
        said.as_array().expect("a list").clone()
    };
    assert!(list(&[]).len() > 80);
    assert_eq!(list(&["-n", "2"]).len(), 2);
    assert_eq!(list(&["--drive", "m225"]).len(), 7);
    assert_eq!(list(&["--method", "speed"]).len(), 28);
    let text = place.ssdyno(&["runs", "--published", "--drive", "C300"]).good().out;
    assert!(text.contains("pub:003/c300-aligned") && text.contains("129 MB/s"), "{text}");
    let shown = place.ssdyno(&["show", "pub:003/m225-fresh"]).good().out;
    assert!(shown.contains("published: not measured by ssdyno"), "{shown}");
    assert!(shown.contains("SSD, TRIM and IOMeter") && shown.contains("page 3"), "{shown}");
    let record = place.ssdyno(&["show", "pub:003/m225-fresh", "--json"]).good().json();
    assert_eq!(record["plan"], Value::Null);
    assert_eq!(record["metrics"][0]["value"], 215.5e6);
    let page = place.ssdyno(&["show", "pub:003/m225-fresh", "--html"]).good().out;
    assert!(fs::read_to_string(page.trim()).expect("a page").contains("</html>"));
    place.ssdyno(&["show", "pub:003/x"]).refuses(2, "no published record 'pub:003/x'");
    place.ssdyno(&["runs", "--published", "--since", "2010-01-01"]).refuses(2, "--since");
}

#[test]
fn a_workload_that_the_user_chose_is_compared_only_with_a_repeat() {
    let place = Place::new();
    let repeats = ["4k", "64k", "64k"].map(|block| {
        let words = ["io", "sim:sd-150x", "--rw", "read", "--bs", block, "--time", "1s", "--json"];
        let record: Value = serde_json::from_str(&place.ssdyno(&words).good().out).expect("JSON");
        let peers = record["answer"]["peers"].as_array().cloned().unwrap_or_default();
        let whose = |peer: &Value| peer["whose"].as_str().unwrap_or_default().to_string();
        peers.iter().map(whose).any(|whose| whose.starts_with("run "))
    });
    assert_eq!(repeats, [false, false, true]);
}

#[test]
fn labels_are_listed_filtered_and_grouped_by() {
    let place = Place::new();
    for (board, title) in [("mini-a", "a fan"), ("mini-b", "no fan"), ("mini-a", "a fan")] {
        place.io(&format!(
            "null: --ops 2000 --tag board={board} --note remark --title={}",
            title.replace(' ', "_")
        ));
    }
    let listed = |args: &[&str]| {
        let said = place.ssdyno(&[&["runs", "--json"], args].concat()).good().json();
        let runs = said.as_array().expect("a list").clone();
        runs.iter().map(|run| run["number"].as_i64().expect("a number")).collect::<Vec<_>>()
    };
    assert_eq!(listed(&["--tag", "board=mini-a"]), [3, 1]);
    assert_eq!(listed(&["--title", "NO_F"]), [2]);
    assert_eq!(listed(&["--host", "elsewhere"]), Vec::<i64>::new());
    let text = place.ssdyno(&["runs"]).good().out;
    assert!(text.contains("[a_fan board=mini-a]") && !text.contains("host"), "{text}");
    let shown = place.ssdyno(&["show", "1"]).good().out;
    assert!(
        shown.contains("a_fan") && shown.contains("board=mini-a") && shown.contains("remark"),
        "{shown}"
    );
    let compared = place.ssdyno(&["compare", "--by", "board", "1-3"]).good().out;
    assert!(compared.contains("mini-a") && compared.contains("mini-b"), "{compared}");
    let refused = place.ssdyno(&["io", "null:", "--tag", "board"]);
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.err.contains("board=mini-a"), "{refused:?}");
    // Records of another machine: a column tells them apart.
    let exported = place.ssdyno(&["export", "1"]).good().out;
    let mut record: Value = serde_json::from_str(&exported).expect("JSON");
    record["id"] = "another".into();
    record["environment"]["host"] = "elsewhere".into();
    fs::write(place.path("other.jsonl"), record.to_string()).expect("written");
    let file = place.text("other.jsonl");
    place.ssdyno(&["import", &file, "--tag", "a=b"]).refuses(2, "keeps its labels");
    place.ssdyno(&["import", &file]).good();
    let text = place.ssdyno(&["runs"]).good().out;
    assert!(text.lines().next().is_some_and(|line| line.contains("host")), "{text}");
    assert!(text.contains("elsewhere"), "{text}");
    assert_eq!(listed(&["--host", "elsewhere"]), [4]);
}

#[test]
fn results_of_other_tools_get_labels_and_their_headline_is_kept() {
    let place = Place::new();
    let dd = "1073741824 bytes (1.1 GB, 1.0 GiB) copied, 2.5 s, 429 MB/s\n";
    fs::write(place.path("dd.txt"), dd).expect("written");
    place
        .ssdyno(&["import", &place.text("dd.txt"), "--tag", "board=mini-a", "--title", "dd"])
        .good();
    let run = place.ssdyno(&["runs", "--json"]).good().json()[0].clone();
    assert_eq!((&run["title"], &run["tags"]["board"]), (&"dd".into(), &"mini-a".into()));
    assert!(run["answer"].is_string(), "{run}");
}

#[test]
fn metrics_go_to_monitoring_systems() {
    let place = Place::new();
    let textfiles = place.path("textfiles");
    fs::create_dir(&textfiles).expect("a directory");
    for _ in 0..2 {
        place.io(&format!("null: --ops 2000 --tag board=mini-a --prom {}", textfiles.display()));
    }
    let files: Vec<_> = fs::read_dir(&textfiles).expect("listed").flatten().collect();
    assert_eq!(files.len(), 1, "the second run replaced the first");
    let text = fs::read_to_string(files[0].path()).expect("text");
    assert!(
        text.contains("tag_board=\"mini-a\"") && text.contains("# TYPE ssdyno_run_complete gauge"),
        "{text}"
    );
    assert_eq!(place.ssdyno(&["export", "2", "--format", "prom"]).good().out, text);
    let lines = place.ssdyno(&["export", "--format", "influx"]).good().out;
    assert!(
        lines.lines().count() > 2 && lines.lines().all(|line| line.starts_with("ssdyno,method=io")),
        "{lines}"
    );
    let output = place.command(&["export", "--format", "parquet"]).output().expect("started");
    assert!(output.stdout.starts_with(b"PAR1") && output.stdout.ends_with(b"PAR1"));
    place.ssdyno(&["export", "1", "--public"]).refuses(2, "no real drive");
    let said = place.ssdyno(&["export", "--public"]).good();
    assert!(said.out.is_empty() && said.err.contains("2 runs cannot be published"), "{said:?}");
    place.io(". --size 1MiB --ops 20 --title secret");
    let said = place.ssdyno(&["export", "3", "--public"]);
    // A directory on a drive without a model has nothing to compare.
    assert!(said.code == 0 || said.err.contains("model"), "{said:?}");
    assert!(
        !said.out.contains("secret") && !said.out.contains(place.work().to_str().expect("UTF-8"))
    );
}
