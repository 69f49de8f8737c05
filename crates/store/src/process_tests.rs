//! The store with real processes: killed at any moment, and several writing at once.
//!
//! A child is this test binary, with its task in the environment. It runs [`script`] and reports
//! each finished step. After it is killed, the store must contain exactly the state after the last
//! reported step or the one after it, and nothing in between.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use record::{Metric, Run, Unit};
use rusqlite::Connection;
use rustix::process::{Resource, Rlimit, Signal, getpid, kill_process, setrlimit};

use crate::file::{Journal, set_up};
use crate::samples::{run, series, values};
use crate::{Filter, Point, Store};

const ORDER: &str = "SSDYNO_STORE_TEST_CHILD";

/// The fate of a child.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    /// It runs to the end and reports the number of SQLite steps.
    Live,
    /// It is killed at this SQLite step.
    Step(u64),
    /// It waits after this many steps of the script.
    Wait(u64),
    /// The kernel kills it at the first write beyond this file size, in the middle of a commit,
    /// with half a page written.
    Size(u64),
}

/// All operations on a store, one transaction at a time; `done` is called after each.
fn script(store: &mut Store, who: &str, mut done: impl FnMut(&Store)) {
    for i in 0..2 {
        let mut it = Run { id: format!("{who}{i}"), ..run("quick", "X1", "S1") };
        let number = store.begin(&it).expect("begun");
        done(store);
        for t in 0..12 {
            append(store, number, t);
            done(store);
        }
        it.metrics = (0..40).map(|m| Metric::single(format!("m{m}"), Unit::Iops, 1.0)).collect();
        store.update(&it).expect("kept");
        done(store);
        (it.complete, it.series) = (true, vec![series("a", 0, 12), series("b", 0, 2000)]);
        store.finish(&it).expect("kept");
        done(store);
    }
    let first = store.find(&format!("{who}0")).expect("it is there");
    store.remove(&[first]).expect("removed");
    done(store);
}

fn append(store: &mut Store, number: i64, t: u64) {
    let t_ns = t * 100_000_000;
    let point = Point { workload: "a", replicate: 0, start_ns: 0, t_ns, values: &values(t) };
    store.append(number, &point).expect("kept");
    store.flush(number).expect("kept");
}

/// The content of the store. An unfinished run looks the same whether or not its writer lives.
fn state(store: &Store) -> Vec<Run> {
    let list = store.runs(&Filter::default()).expect("a list");
    let load = |number| {
        let run = store.load(number).expect("readable");
        Run { cut_short: None, ..run }
    };
    list.iter().map(|run| load(run.number)).collect()
}

/// The states of the script, starting with the empty store.
fn states(journal: Journal) -> Vec<Vec<Run>> {
    let dir = tempfile::tempdir().expect("a directory");
    let mut states = vec![Vec::new()];
    let mut store = Store::open_with(dir.path().join("s"), journal).expect("a store");
    script(&mut store, "a", |store| states.push(state(store)));
    states
}

/// Not a test: the program of a child.
#[test]
fn child() {
    let Ok(order) = std::env::var(ORDER) else { return };
    let order: &'static str = order.leak();
    let [fate, amount, journal, who, path] = order.splitn(5, ' ').collect::<Vec<_>>()[..] else {
        panic!("a fate, its amount, a journal, a name and a path");
    };
    let amount = amount.parse().expect("a number");
    let mut conn = Connection::open(path).expect("opened");
    let mut steps = 0;
    let count = move || {
        steps += 1;
        if fate == "step" && steps == amount {
            kill_process(getpid(), Signal::KILL).expect("killed");
        }
        if fate == "live" {
            println!("\nsqlite {steps}");
        }
        false
    };
    conn.progress_handler(1, Some(count)).expect("counted");
    if fate == "size" {
        let limit = |bytes| Rlimit { current: Some(bytes), maximum: Some(bytes) };
        setrlimit(Resource::Core, limit(0)).expect("no core file");
        setrlimit(Resource::Fsize, limit(amount)).expect("limited");
    }
    let journal = if journal == "log" { Journal::Log } else { Journal::Rollback };
    let opened = set_up(conn, journal).expect("a store");
    let mut store = Store::on(path.into(), opened);
    println!("\ndone 0");
    let mut done = 0;
    script(&mut store, who, |_| {
        done += 1;
        println!("\ndone {done}");
        if fate == "wait" && done == amount {
            std::io::stdin().read_line(&mut String::new()).expect("a line to continue");
        }
    });
}

fn spawn(path: &Path, journal: Journal, who: &str, fate: Fate) -> Child {
    let (fate, amount) = match fate {
        Fate::Live => ("live", 0),
        Fate::Step(step) => ("step", step),
        Fate::Wait(done) => ("wait", done),
        Fate::Size(bytes) => ("size", bytes),
    };
    let journal = if journal == Journal::Log { "log" } else { "rollback" };
    let order = format!("{fate} {amount} {journal} {who} {}", path.display());
    Command::new(std::env::current_exe().expect("this binary"))
        .args(["process_tests::child", "--exact", "--nocapture", "--test-threads=1"])
        .env(ORDER, order)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("started")
}

/// The numbers that a child reports after `word`.
fn said(child: &mut Child, word: &'static str) -> impl Iterator<Item = usize> + use<> {
    let lines = BufReader::new(child.stdout.take().expect("piped")).lines().map_while(Result::ok);
    lines.filter_map(move |line| line.strip_prefix(word)?.trim().parse().ok())
}

/// Checks the store after a child died having finished `done` steps; `None` if it had not opened
/// the store.
fn check(path: &Path, journal: Journal, done: Option<usize>, states: &[Vec<Run>], fate: &str) {
    let store = Store::open_with(path.to_path_buf(), journal).expect("it opens");
    let verdict: String =
        store.conn.query_row("PRAGMA integrity_check", [], |row| row.get(0)).expect("checked");
    assert_eq!(verdict, "ok", "{fate}");
    let done = done.unwrap_or(0);
    let next = (done + 1).min(states.len() - 1);
    let found = state(&store);
    assert!(
        found == states[done] || found == states[next],
        "{fate}: after step {done} the store contains {found:#?}"
    );
    for run in store.runs(&Filter::default()).expect("a list") {
        assert!(!run.running, "{fate}");
        assert_eq!(run.cut_short.is_none(), run.complete, "{fate}");
    }
}

/// Runs a child to its fate and checks the store. Returns false if it survived.
fn die(journal: Journal, fate: Fate, states: &[Vec<Run>]) -> bool {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("s");
    let mut child = spawn(&path, journal, "a", fate);
    let done = said(&mut child, "done ").last();
    let died = !child.wait().expect("ended").success();
    check(&path, journal, done, states, &format!("{journal:?} {fate:?}"));
    died
}

#[test]
fn killed_between_any_two_sqlite_steps() {
    for (journal, points) in [(Journal::Log, 50), (Journal::Rollback, 20)] {
        let dir = tempfile::tempdir().expect("a directory");
        let mut child = spawn(&dir.path().join("s"), journal, "a", Fate::Live);
        let all = said(&mut child, "sqlite ").last().expect("it counted") as u64;
        assert!(child.wait().expect("ended").success());
        assert!(all > points, "{all} steps");
        let states = states(journal);
        for point in 0..points {
            let step = 1 + point * all / points;
            assert!(die(journal, Fate::Step(step), &states), "{journal:?} survived step {step}");
        }
    }
}

#[test]
fn killed_in_the_middle_of_a_write() {
    for journal in [Journal::Log, Journal::Rollback] {
        let states = states(journal);
        let deaths = (0..24).map(|i| i * 6_000 + 10);
        let deaths = deaths.filter(|&bytes| die(journal, Fate::Size(bytes), &states)).count();
        assert!(deaths >= 12, "{journal:?}: only {deaths} deaths");
    }
}

#[test]
fn killed_by_another_process_at_a_random_moment() {
    let states = states(Journal::Log);
    for moment in 0..10 {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("s");
        let mut child = spawn(&path, Journal::Log, "a", Fate::Size(1 << 40));
        let mut done = said(&mut child, "done ");
        let seen = done.by_ref().take(3 * moment + 1).last();
        // The child continues meanwhile.
        child.kill().expect("killed");
        let last = done.last().or(seen);
        child.wait().expect("ended");
        check(&path, Journal::Log, last, &states, &format!("moment {moment}"));
    }
}

#[test]
fn killed_in_the_middle_of_a_migration() {
    let dir = tempfile::tempdir().expect("a directory");
    let place = |name: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, include_bytes!("../tests/stores/version-1.sqlite")).expect("a copy");
        path
    };
    let migrated = |path: &Path| {
        let store = Store::open(Some(path)).expect("it opens");
        let runs = store.runs(&Filter::default()).expect("a list");
        let runs: Vec<_> = runs.iter().filter(|run| run.number <= 10).collect();
        runs.iter().map(|run| store.load(run.number).expect("readable")).collect::<Vec<_>>()
    };
    let expected = migrated(&place("whole"));
    assert_eq!(expected.len(), 9);
    let path = place("counted");
    let mut child = spawn(&path, Journal::Log, "a", Fate::Live);
    let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let before = lines.map_while(Result::ok).take_while(|line| line != "done 0");
    let steps: u64 = before
        .filter_map(|line| line.strip_prefix("sqlite ")?.parse().ok())
        .last()
        .expect("it counted");
    child.kill().expect("killed");
    child.wait().expect("ended");
    let points = 20;
    for point in 0..points {
        let path = place(&format!("killed-{point}"));
        let step = 1 + point * steps / points;
        let mut child = spawn(&path, Journal::Log, "a", Fate::Step(step));
        assert!(!child.wait().expect("ended").success(), "it survived step {step} of {steps}");
        assert_eq!(migrated(&path), expected, "killed at step {step} of {steps}");
    }
}

#[test]
fn running_and_cut_short_are_distinguished() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("s");
    let mut child = spawn(&path, Journal::Log, "a", Fate::Wait(1));
    assert_eq!(said(&mut child, "done ").find(|&done| done == 1), Some(1), "the run was begun");
    let store = Store::open(Some(&path)).expect("it opens");
    let look = || {
        let summary = store.runs(&Filter::default()).expect("a list").remove(0);
        (summary.running, store.load(summary.number).expect("readable").cut_short)
    };
    assert_eq!(look(), (true, None));
    child.kill().expect("killed");
    child.wait().expect("ended");
    assert_eq!(look(), (false, Some("killed".into())));
}

#[test]
fn processes_write_at_once() {
    for journal in [Journal::Log, Journal::Rollback] {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("s");
        // No store exists yet, so they also create it at the same time.
        let names = ["a", "b", "c"];
        let children = names.map(|who| spawn(&path, journal, who, Fate::Size(1 << 40)));
        for mut child in children {
            let done = said(&mut child, "done ").last();
            assert!(child.wait().expect("ended").success(), "{journal:?}: after {done:?}");
        }
        let store = Store::open_with(path, journal).expect("it opens");
        let whole = states(journal).pop().expect("the last state").remove(0);
        for who in names {
            let id = format!("{who}1");
            let number = store.find(&id).expect("it is there");
            let expected = Run { id, number: Some(number), ..whole.clone() };
            assert_eq!(store.load(number).expect("readable"), expected);
        }
        assert_eq!(store.runs(&Filter::default()).expect("a list").len(), names.len());
    }
}
