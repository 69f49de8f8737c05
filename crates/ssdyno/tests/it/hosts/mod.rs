//! A proving ground for verdicts about the host: causes drawn by seed are set on this machine, and
//! what a run says of them is judged by the same run without them.
//!
//! `cause.rs` sets a cause, `ground.rs` is where it is set and undoes it, `draw.rs` draws a case, and
//! `judge.rs` judges it. Nothing here needs a quiet machine: runs compete at a high priority, pairs
//! alternate, and a case whose pairs disagree is not judged. The suite runs a few cases with causes
//! that outweigh any other load; `cargo xtask bench hosts` draws more.

mod cause;
mod draw;
mod ground;
mod judge;

use std::collections::BTreeMap;

use cause::{Cause, ELSEWHERE, Kind};
use draw::Case;
use ground::{Ground, Setting};
use judge::{Effect, Judgement, Seen, effect, judge};

use crate::common::{Place, Said, or_skip, root};

/// Pairs of runs with and without a cause.
const PAIRS: usize = 3;

/// Seconds that a run may take. Busy processes above the loop device's own worker keep it from the
/// processor: such a run takes minutes, and its case counts as not set.
const LONGEST_S: u64 = 40;
/// The exit code of `timeout` after that time.
const TIMED_OUT: i32 = 124;

/// The places of all cases.
struct Grounds {
    place: Place,
    disk: Ground,
    on_loop: Result<Ground, String>,
}

impl Grounds {
    fn new() -> Result<Grounds, String> {
        root()?;
        let place = Place::new();
        let (disk, on_loop) = (Ground::disk(&place)?, Ground::on_loop(&place));
        Ok(Grounds { place, disk, on_loop })
    }

    /// The place of a case, of which some causes are removed.
    fn ground(&self, whole: &Case, part: &Case) -> Result<&Ground, String> {
        let is_on_loop = |case: &Case| case.causes.iter().any(|cause| cause.kind.needs_loop());
        let is_file_removed = whole.has(Kind::LoopFile) && !part.has(Kind::LoopFile);
        let needs_other =
            whole.causes.iter().any(|c| c.kind.needs_loop() && c.kind != Kind::LoopFile);
        if is_on_loop(whole) && (!is_file_removed || needs_other) {
            self.on_loop.as_ref().map_err(Clone::clone)
        } else {
            Ok(&self.disk)
        }
    }

    /// Runs a case with the causes that it has in `part`.
    fn run(&self, whole: &Case, part: &Case) -> Result<Seen, String> {
        let ground = self.ground(whole, part)?;
        let commands = part.causes.iter().map(|cause| cause.commands(ground));
        let settings: Result<Vec<Setting>, String> =
            commands.map(|both| Setting::new(&self.place, &both)).collect();
        let settings = settings?;
        let said = self.command(ground, whole, part).output().map_err(|e| e.to_string())?;
        drop(settings);
        let said = Said::of(said);
        if said.code == TIMED_OUT {
            return Err(format!("a run took over {LONGEST_S} s"));
        }
        if said.code != 0 {
            return Err(format!("the run ended with {}: {}", said.code, said.err.trim()));
        }
        Seen::new(&said.json()).ok_or("the record has no rate".to_string())
    }

    /// The command, which competes for the processor only if that is the cause.
    fn command(&self, ground: &Ground, whole: &Case, part: &Case) -> std::process::Command {
        let is_shared = whole.causes.iter().any(|cause| cause.kind.is_of_processor());
        let priority = if is_shared {
            format!(
                "renice -n -15 $$ >/dev/null; taskset -pc {} $$ >/dev/null; ",
                ground::processor()
            )
        } else {
            "chrt -f -p 10 $$; ".into()
        };
        let prologue: String = part.causes.iter().map(|cause| cause.prologue()).collect();
        let options: Vec<&str> = part.causes.iter().map(|cause| cause.options()).collect();
        let buffered = if whole.has(Kind::Memory) { "--buffered" } else { "" };
        let trace = if whole.is_traced { "on" } else { "off" };
        let script = format!(
            "{priority}{prologue}exec timeout -s INT {LONGEST_S} {} io {} --rw {} --bs {} --depth {} {} {buffered} \
             --where {trace} --size 32MiB --time 700ms --json --quiet",
            env!("CARGO_BIN_EXE_ssdyno"),
            ground.directory,
            whole.rw,
            whole.block,
            whole.depth,
            options.join(" "),
        );
        self.place.command_of(std::path::Path::new("sh"), &["-c", &script])
    }

    /// Runs a case with its causes and without each of them, in turns.
    fn judge(&self, case: &Case, pairs: usize) -> Result<(Judgement, Seen, Vec<Effect>), String> {
        let mut rates = vec![Vec::new(); case.causes.len().max(1)];
        let mut first = None;
        for _ in 0..pairs {
            let with = self.run(case, case)?;
            for (nth, rates) in rates.iter_mut().enumerate() {
                let removed = case.causes.get(nth).map(|cause| cause.kind);
                let without = self.run(case, &case.only(|kind| Some(kind) != removed))?;
                rates.push([with.rate, without.rate]);
            }
            first.get_or_insert(with);
        }
        let effects: Vec<Effect> = rates.iter().map(|pairs| effect(pairs)).collect();
        let seen = first.ok_or("no pair")?;
        Ok((judge(case, &seen, &effects), seen, effects))
    }
}

/// Counts of judgements.
#[derive(Default)]
struct Tally {
    /// By the first cause.
    rows: BTreeMap<&'static str, BTreeMap<&'static str, u64>>,
    unset: BTreeMap<String, u64>,
}

impl Tally {
    fn add(&mut self, case: &Case, judgement: &Judgement) {
        let row = match &case.causes[..] {
            [] => "(control)",
            [one] => one.kind.name(),
            _ => "(two causes)",
        };
        let column = match judgement {
            Judgement::Right => "right",
            Judgement::Silent => "silent",
            Judgement::Wrong(_) => "wrong",
            Judgement::Blamed(_) => "drive blamed",
            Judgement::Unchanged => "no change",
            Judgement::Unjudged => "unjudged",
        };
        *self.rows.entry(row).or_default().entry(column).or_default() += 1;
    }

    fn count(&self, column: &str) -> u64 {
        self.rows.values().filter_map(|row| row.get(column)).sum()
    }

    /// The table, in Markdown.
    fn table(&self) -> String {
        let columns = ["right", "silent", "wrong", "drive blamed", "no change", "unjudged"];
        let mut text = format!("| cause | {} |\n|---{}|\n", columns.join(" | "), "|---".repeat(6));
        for (name, row) in &self.rows {
            let cells = columns.map(|column| row.get(column).unwrap_or(&0).to_string());
            text += &format!("| {name} | {} |\n", cells.join(" | "));
        }
        let cells = columns.map(|column| self.count(column).to_string());
        text + &format!("| all | {} |\n", cells.join(" | "))
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Cases with causes that outweigh any other load of the machine: a limit that holds the run to a
/// small part of its rate.
fn cases_of_suite() -> Vec<Case> {
    let case = |kind, severity, is_traced| Case {
        rw: "randread",
        block: "4k",
        depth: 1,
        is_traced,
        causes: vec![Cause { kind, severity }],
    };
    vec![case(Kind::Throttle, 3, true), case(Kind::Quota, 3, false), case(Kind::Busy, 3, false)]
}

#[test]
fn causes_of_the_host_are_named_and_the_drive_is_not_blamed() {
    let grounds = or_skip!(Grounds::new());
    let drawn = number("SSDYNO_HOSTS_CASES").map(|count| {
        let seed = number("SSDYNO_HOSTS_SEED").unwrap_or(43);
        (0..count).map(|nth| draw::draw(seed, nth)).collect::<Vec<_>>()
    });
    let pairs = if drawn.is_some() { PAIRS } else { 1 };
    let mut tally = Tally::default();
    for case in drawn.unwrap_or_else(cases_of_suite) {
        match grounds.judge(&case, pairs) {
            Ok((judgement, seen, effects)) => {
                println!("{judgement:?}: {}: {effects:?} {:?}", case.in_words(), seen.names);
                tally.add(&case, &judgement);
            }
            Err(why) => {
                println!("not set: {}: {why}", case.in_words());
                *tally.unset.entry(why).or_default() += 1;
            }
        }
    }
    println!("\nhosts: counts of cases by judgement\n\n{}", tally.table());
    tally.unset.iter().for_each(|(why, count)| println!("not set: {count} cases: {why}"));
    ELSEWHERE.iter().for_each(|(name, why)| println!("skipped cause: {name}: {why}"));
    let bad = ["wrong", "drive blamed"].map(|column| tally.count(column));
    assert_eq!(bad, [0, 0], "verdicts that are not true; see above");
}

#[test]
fn cases_are_the_same_for_the_same_seed() {
    let words = |seed| (0..50).map(|n| draw::draw(seed, n).in_words()).collect::<Vec<_>>();
    assert_eq!(words(1), words(1));
    assert_ne!(words(1), words(2));
}
