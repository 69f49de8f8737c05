//! Judges the headlines of `quick` on drives drawn at random, and prints how many name the largest
//! loss with a true cause, with an unknown one or wrongly, and the worst drives with the commands that
//! show them.

use std::cmp::Reverse;
use std::process::ExitCode;

use crate::in_parallel;
use crate::proving::drawn::{Drawn, draw};
use crate::proving::headline::{Headline, HeadlineTrial};

/// Goals, in percent of the drives with a loss.
const RIGHT_MIN: f64 = 80.0;
const UNKNOWN_MAX: f64 = 15.0;
const WRONG_MAX: f64 = 1.0;

/// Drives in the list of the worst.
const WORST: usize = 10;

pub fn run(count: usize, seed: u64) -> ExitCode {
    let drawn = draw(count, seed);
    let trials = in_parallel(&drawn, |drive: &Drawn| {
        let trial = HeadlineTrial::run(drive);
        let line = described(&trial);
        (trial, line)
    });
    worst(&trials);
    summary(&trials, seed)
}

/// The command, the headline, and the truth where it differs.
fn described(trial: &HeadlineTrial) -> String {
    let HeadlineTrial { drawn, headline, judgement, largest: (cell, factor), causes } = trial;
    let causes = causes.iter().take(4).map(|(group, gain)| format!(" {group} x{gain:.2}"));
    let causes: String = causes.collect();
    format!(
        "{judgement:?}: `{}`\n  {headline}\n  largest: {cell} x{factor:.2}; causes:{}",
        drawn.command(),
        if causes.is_empty() { " none" } else { &causes }
    )
}

/// The drives with the worst headlines, those with the largest losses first.
fn worst(trials: &[HeadlineTrial]) {
    let is_bad = |trial: &&HeadlineTrial| trial.judgement > Headline::Right;
    let mut bad: Vec<&HeadlineTrial> = trials.iter().filter(is_bad).collect();
    bad.sort_by(|a, b| {
        Reverse(a.judgement).cmp(&Reverse(b.judgement)).then(b.largest.1.total_cmp(&a.largest.1))
    });
    println!("The worst:\n");
    bad.iter().take(WORST).for_each(|trial| println!("- {}", described(trial)));
}

/// Prints the shares; the goals are met or not.
fn summary(trials: &[HeadlineTrial], seed: u64) -> ExitCode {
    let count = |judgement| trials.iter().filter(|t| t.judgement == judgement).count();
    let without_loss = count(Headline::NoLoss);
    let lost = trials.len() - without_loss;
    let share = |judgement| 100.0 * count(judgement) as f64 / lost.max(1) as f64;
    let [right, unknown, wrong] = [Headline::Right, Headline::Unknown, Headline::Wrong].map(share);
    println!(
        "\n{} drives drawn with seed {seed}: {without_loss} lost nothing. Of {lost} losses, \
         {right:.0}% are named with a true cause (goal: >= {RIGHT_MIN:.0}%), {unknown:.0}% with an \
         unknown one (<= {UNKNOWN_MAX:.0}%), {wrong:.1}% wrongly (<= {WRONG_MAX:.0}%); {:.0}% not \
         at all, {:.0}% with a cause that is neither right nor wrong.",
        trials.len(),
        share(Headline::Silent),
        share(Headline::Neither)
    );
    if right >= RIGHT_MIN && unknown <= UNKNOWN_MAX && wrong <= WRONG_MAX {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
