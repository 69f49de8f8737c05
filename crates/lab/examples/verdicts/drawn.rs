//! Judges the verdicts of `quick` on drives drawn at random, and prints how many figures have a
//! right cause, a wrong one or none, and the worst drives with the commands that show them.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Instant;

use crate::in_parallel;
use crate::proving::counterfactual::{Judgement, Trial};
use crate::proving::drawn::{Drawn, draw};

/// Goals: share of wrong claims in percent, and of silent figures among those held by a cause.
const WRONG_MAX: f64 = 1.0;
const SILENT_MAX: f64 = 15.0;

/// Drives in the list of the worst.
const WORST: usize = 10;

/// Judges so many drives of a seed; if there are words, those of them whose commands contain one.
pub fn run(count: usize, seed: u64, words: &[&str]) -> ExitCode {
    let mut drawn = draw(count, seed);
    drawn.retain(|drive| words.is_empty() || words.iter().any(|w| drive.command().contains(w)));
    let trials = in_parallel(&drawn, |drive: &Drawn| {
        let begun = Instant::now();
        let trial = Trial::run(drive);
        let seconds = begun.elapsed().as_secs_f64();
        let line = format!("{} ({seconds:.1} s){}", drive.command(), faults(&trial));
        (trial, line)
    });
    println!("{count} drives drawn with seed {seed}.\n");
    by_kind(&trials);
    by_cause(&trials);
    worst(&trials);
    summary(&trials)
}

/// The wrong claims and silent figures of a drive, one a line.
fn faults(trial: &Trial) -> String {
    let of_metric = |metric: &str| {
        let gains = trial.gains[metric].iter().filter(|(_, factor)| *factor >= 1.05).take(4);
        let gains: Vec<String> = gains.map(|(name, by)| format!("{name} x{by:.2}")).collect();
        format!("{metric} ({})", if gains.is_empty() { "no lift".into() } else { gains.join(", ") })
    };
    let wrong = trial.claims.iter().filter(|claim| claim.judgement == Judgement::Wrong);
    let wrong =
        wrong.map(|claim| format!("\n  wrong: {} of {}", claim.kind, of_metric(&claim.metric)));
    let silent = trial.silent.iter().map(|metric| format!("\n  silent: {}", of_metric(metric)));
    wrong.chain(silent).collect()
}

/// A row per verdict: right, neither, wrong, not judged.
fn by_kind(trials: &[Trial]) {
    let mut kinds: BTreeMap<String, [usize; 4]> = BTreeMap::new();
    for claim in trials.iter().flat_map(|trial| &trial.claims) {
        kinds.entry(claim.kind.to_string()).or_default()[claim.judgement as usize] += 1;
    }
    println!("| verdict | right | neither | wrong | not judged |\n|---|---|---|---|---|");
    for (kind, [right, neither, wrong, unjudged]) in kinds {
        println!("| {kind} | {right} | {neither} | {wrong} | {unjudged} |");
    }
}

/// A row per figure and largest cause of the figures held by one: all, and silent.
fn by_cause(trials: &[Trial]) {
    let mut causes: BTreeMap<(&str, &str), [usize; 2]> = BTreeMap::new();
    for trial in trials {
        for metric in &trial.held {
            let cause = trial.gains[metric].first().map_or("", |(name, _)| *name);
            let counts = causes.entry((metric, cause)).or_default();
            counts[0] += 1;
            counts[1] += usize::from(trial.silent.contains(metric));
        }
    }
    println!("\n| figure | largest cause | held | silent |\n|---|---|---|---|");
    for ((metric, cause), [held, silent]) in causes {
        println!("| {metric} | {cause} | {held} | {silent} |");
    }
}

/// The drives with the most wrong claims, then silent figures.
fn worst(trials: &[Trial]) {
    let mut order: Vec<&Trial> = trials.iter().collect();
    order.sort_by_key(|trial| {
        std::cmp::Reverse((trial.count(Judgement::Wrong), trial.silent.len()))
    });
    println!("\nThe worst:\n");
    for trial in order.into_iter().take(WORST) {
        println!("- `{}`{}", trial.drawn.command(), faults(trial));
    }
}

/// Prints the sums; the goals are met or not.
fn summary(trials: &[Trial]) -> ExitCode {
    let count = |judgement| trials.iter().map(|trial| trial.count(judgement)).sum::<usize>();
    let [right, neither, wrong, unjudged] =
        [Judgement::Right, Judgement::Neither, Judgement::Wrong, Judgement::Unjudged].map(count);
    let [held, silent] = [
        trials.iter().map(|trial| trial.held.len()).sum::<usize>(),
        trials.iter().map(|trial| trial.silent.len()).sum::<usize>(),
    ];
    let causeless: usize = trials.iter().map(|trial| trial.causeless).sum();
    let shipped = trials.iter().filter(|trial| trial.drawn.overrides.is_empty());
    let [shipped, slips] = shipped
        .fold([0, 0], |[drives, slips], trial| [drives + 1, slips + trial.count(Judgement::Wrong)]);
    let share = |part: usize, all: usize| 100.0 * part as f64 / all.max(1) as f64;
    let shares = [share(wrong, right + neither + wrong), share(silent, held)];
    println!(
        "\n{right} right, {neither} neither, {wrong} wrong ({:.1}%; goal: <= {WRONG_MAX:.0}%), \
         {unjudged} not judged. {silent} of {held} figures held by a cause are silent ({:.0}%; \
         goal: <= {SILENT_MAX:.0}%). {causeless} figures have no single cause. {shipped} presets without \
         overrides: {slips} wrong (goal: 0).",
        shares[0], shares[1]
    );
    if shares[0] <= WRONG_MAX && shares[1] <= SILENT_MAX && slips == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
