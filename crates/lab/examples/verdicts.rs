//! Judges the verdicts of `quick` on the proving ground and prints a confusion matrix: for every
//! injected cause, how many figures have a right verdict, a wrong one or none.
//!
//! `cargo run --release -p lab --example verdicts -- [SEEDS [SECONDS [CAUSE]]]`: SEEDS is a
//! count or a range (`101-110`). CAUSE selects the causes whose names contain it, and lists their
//! open figures, too. Fails if more than 1% of the verdicts are wrong, less than 95% are right, or
//! more than a quarter of the judged and open figures are open.
//!
//! `-- --draw N --seed S [WORD]...` judges N drives drawn at random, or those of them whose commands
//! contain one of the words (`verdicts/drawn.rs`).
//!
//! `-- --headlines --draw N --seed S` judges the headlines about the largest losses of such drives
//! (`verdicts/headlines.rs`), and `-- --spread --draw N --seed S` measures from which factor a figure
//! is low for its model (`verdicts/spread.rs`).

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

#[path = "verdicts/drawn.rs"]
mod drawn;
#[path = "../tests/it/edited/mod.rs"]
mod edited;
#[path = "verdicts/headlines.rs"]
mod headlines;
#[path = "../tests/it/proving/mod.rs"]
mod proving;
#[path = "../tests/it/quiet/mod.rs"]
mod quiet;
#[path = "verdicts/spread.rs"]
mod spread;

use proving::{SCENARIOS, Scenario, Tally, judge};

/// Goals: share of right and of wrong verdicts, and of limited figures without a verdict.
const RIGHT_MIN: f64 = 95.0;
const WRONG_MAX: f64 = 1.0;
const OPEN_MAX: f64 = 25.0;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, draw, count, seed_flag, seed] = &words[..]
        && (draw.as_str(), seed_flag.as_str()) == ("--draw", "--seed")
        && let (Ok(count), Ok(seed)) = (count.parse(), seed.parse())
    {
        match flag.as_str() {
            "--headlines" => return headlines::run(count, seed),
            "--spread" => return spread::run(count, seed),
            _ => {}
        }
    }
    if let ["--draw", count, "--seed", seed, only @ ..] =
        &words.iter().map(String::as_str).collect::<Vec<_>>()[..]
    {
        return match (count.parse(), seed.parse()) {
            (Ok(count), Ok(seed)) => drawn::run(count, seed, only),
            _ => {
                eprintln!("--draw takes a number of drives, --seed a seed");
                ExitCode::from(2)
            }
        };
    }
    let seeds = words.first().and_then(|word| seeds(word)).unwrap_or(1..=10);
    let seconds = words.get(1).and_then(|word| word.parse().ok()).unwrap_or(20);
    let only = words.get(2).map(String::as_str);
    let wanted = |scenario: &&Scenario| only.is_none_or(|only| scenario.name.contains(only));
    let scenarios: Vec<&Scenario> = SCENARIOS.iter().filter(wanted).collect();
    println!(
        "Specimens and sessions {} to {} of each cause, {seconds} virtual seconds of quick.\n",
        seeds.start(),
        seeds.end()
    );
    let tallies = all(&scenarios, &seeds, seconds);
    matrix(&scenarios, &tallies);
    let mut sum = Tally::default();
    tallies.iter().for_each(|tally| add(&mut sum, tally));
    let met = summary(&sum);
    sum.slips.iter().for_each(|slip| println!("- wrong: {slip}"));
    if only.is_some() {
        sum.open.iter().for_each(|line| println!("- open: {line}"));
    }
    if met { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// `10` means 1 to 10; `101-110` is a range.
fn seeds(word: &str) -> Option<RangeInclusive<u64>> {
    match word.split_once('-') {
        Some((first, last)) => Some(first.parse().ok()?..=last.parse().ok()?),
        None => Some(1..=word.parse().ok()?),
    }
}

/// One tally per scenario, over all seeds.
fn all(scenarios: &[&Scenario], seeds: &RangeInclusive<u64>, seconds: u64) -> Vec<Tally> {
    let trials = seeds.clone().flat_map(|seed| (0..scenarios.len()).map(move |i| (i, seed)));
    let trials: Vec<(usize, u64)> = trials.collect();
    let judged = in_parallel(&trials, |&(i, seed)| {
        let tally = judge(scenarios[i], seed, seconds);
        let line = format!("{}, seed {seed}: {}", scenarios[i].name, brief(&tally));
        (tally, line)
    });
    let mut tallies = vec![Tally::default(); scenarios.len()];
    for ((i, _), tally) in trials.iter().zip(&judged) {
        add(&mut tallies[*i], tally);
    }
    tallies
}

/// The results of `work` on all items, in their order, on as many threads as there are CPUs. Prints
/// each one's line.
fn in_parallel<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> (R, String) + Sync) -> Vec<R> {
    let results: Mutex<BTreeMap<usize, R>> = Mutex::default();
    let [next, count] = [AtomicUsize::new(0), AtomicUsize::new(0)];
    let work = || {
        while let (i, Some(item)) = {
            let i = next.fetch_add(1, Ordering::Relaxed);
            (i, items.get(i))
        } {
            let (result, line) = work(item);
            eprintln!("{} of {}: {line}", 1 + count.fetch_add(1, Ordering::Relaxed), items.len());
            results.lock().expect("no thread failed").insert(i, result);
        }
    };
    thread::scope(|scope| {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        (0..threads).for_each(|_| {
            scope.spawn(work);
        });
    });
    results.into_inner().expect("no thread failed").into_values().collect()
}

/// The counts in a line, for progress, with the wrong verdicts.
fn brief(tally: &Tally) -> String {
    let (right, wrong) = (total(&tally.right), total(&tally.wrong));
    let slips: String = tally.slips.iter().map(|slip| format!("\n  {slip}")).collect();
    format!("{right} right, {wrong} wrong, {} open{slips}", tally.open.len())
}

fn total(kinds: &BTreeMap<String, u32>) -> u32 {
    kinds.values().sum()
}

/// A row per cause, a column per verdict: right, and wrong ones after a slash.
fn matrix(scenarios: &[&Scenario], tallies: &[Tally]) {
    let lists = tallies.iter().flat_map(|t| [&t.right, &t.wrong, &t.unjudged]);
    let kinds: BTreeSet<&String> = lists.flat_map(BTreeMap::keys).collect();
    let names: Vec<&str> = kinds.iter().map(|kind| kind.as_str()).collect();
    println!("| injected cause | {} | open | silent |", names.join(" | "));
    println!("|---|{}", "---|".repeat(names.len() + 2));
    for (scenario, tally) in scenarios.iter().zip(tallies) {
        let cell = |kind: &&String| {
            let of = |list: &BTreeMap<String, u32>| list.get(*kind).copied().unwrap_or(0);
            match (of(&tally.right), of(&tally.wrong), of(&tally.unjudged)) {
                (0, 0, 0) => String::new(),
                (right, 0, 0) => right.to_string(),
                (right, wrong, 0) => format!("{right} / {wrong}"),
                (_, _, unjudged) => format!("({unjudged})"),
            }
        };
        let cells: Vec<String> = kinds.iter().map(cell).collect();
        let silent = tally.figures - tally.explained;
        println!("| {} | {} | {} | {silent} |", scenario.name, cells.join(" | "), tally.open.len());
    }
    println!(
        "\nA cell counts figures: right / wrong, or in parentheses those not judged, because a \
         drive's description has no parameter for the verdict. Open: limited by the injected \
         cause, but no verdict. Silent: all figures without a verdict."
    );
}

/// Prints the sums; returns whether the goals are met.
fn summary(sum: &Tally) -> bool {
    let [right, wrong, unjudged] = [&sum.right, &sum.wrong, &sum.unjudged].map(total);
    let open = sum.open.len() as u32;
    let share = |part: u32, of: u32| f64::from(part) / f64::from(of.max(1)) * 100.0;
    let given = right + wrong + unjudged;
    let shares = [share(right, given), share(wrong, given), share(open, right + wrong + open)];
    println!(
        "\n{right} right ({:.1}%; goal: >= {RIGHT_MIN:.0}%), {wrong} wrong ({:.1}%; goal: <= \
         {WRONG_MAX:.0}%), {unjudged} not judged, {open} open ({:.0}%; goal: <= {OPEN_MAX:.0}%). \
         {:.0}% of {} figures have a verdict.",
        shares[0],
        shares[1],
        shares[2],
        share(sum.explained, sum.figures),
        sum.figures
    );
    shares[0] >= RIGHT_MIN && shares[1] <= WRONG_MAX && shares[2] <= OPEN_MAX
}

fn add(sum: &mut Tally, new: &Tally) {
    let lists = [
        (&mut sum.right, &new.right),
        (&mut sum.wrong, &new.wrong),
        (&mut sum.unjudged, &new.unjudged),
    ];
    for (all, some) in lists {
        some.iter().for_each(|(kind, n)| *all.entry(kind.clone()).or_default() += n);
    }
    sum.open.extend(new.open.iter().cloned());
    sum.slips.extend(new.slips.iter().cloned());
    sum.figures += new.figures;
    sum.explained += new.explained;
}
