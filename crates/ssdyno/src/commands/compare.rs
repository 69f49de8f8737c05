//! `ssdyno compare A B`: compares groups of records, with the conclusion in a sentence, the claims
//! that the differences permit, and all other differences. There is no single score.

mod live;
mod simulated;

use std::process::ExitCode;

use lab::compare::{self, CONFOUNDED, RunComparison, Side};
use lab::{drives, published};
use record::Run;
use report::comparison::{self, GroupComparison};
use serde_json::{Value, json};

use crate::cli::CompareArgs;
use crate::commands::runs::{load, open};
use crate::failure::{CHECK_FAILED, Failure, IO, Result, USAGE};
use crate::{present, screen};

/// Compares groups of records with the first group, or two targets in turns.
pub fn run(args: &CompareArgs) -> Result {
    if let Some(method) = &args.live.method {
        return live::run(args, method);
    }
    let (titles, sides) = sides(args)?;
    if !args.anyway {
        compare::check_alike(&sides)?;
    }
    let comparisons = compare::compare(&sides, args.metric.as_deref())?;
    if args.json {
        present::print(&present::json(&as_json(args, &sides, &comparisons, "confounded")?)?)?
    } else {
        show(args, &compare::view(&titles, &sides, &comparisons, CONFOUNDED, args.all))?
    }
    if comparisons.iter().all(|comparison| comparison.pairs.is_empty()) {
        Ok(ExitCode::from(USAGE))
    } else {
        pass(args, &sides, &comparisons)
    }
}

/// The exit code of the gate, if there is one. Says what it concludes about each side.
fn pass(args: &CompareArgs, sides: &[Side], comparisons: &[RunComparison]) -> Result {
    let Some(gate) = args.fail_if else { return Ok(ExitCode::SUCCESS) };
    let names = compare::names_of(sides);
    let mut fails = false;
    let Some((baseline, candidates)) = names.split_first() else { return Ok(ExitCode::SUCCESS) };
    for (candidate, comparison) in candidates.iter().zip(comparisons) {
        let result = gate.judge(&comparison.pairs);
        if result.is_empty() {
            let text = format!("--fail-if cannot judge {candidate}: no rate or time was tested");
            let advice = "name runs of one method on both sides";
            return Err(Failure::new(USAGE, text).advise(advice));
        }
        screen::say(&result.sentence(&comparison.pairs, [baseline, candidate]));
        fails |= result.fails();
    }
    Ok(if fails { ExitCode::from(CHECK_FAILED) } else { ExitCode::SUCCESS })
}

/// The sides with their titles, from the arguments or from a condition.
fn sides(args: &CompareArgs) -> Result<(Vec<String>, Vec<Side>)> {
    let mut groups: Vec<Vec<Run>> = Vec::new();
    for word in &args.runs {
        if word.starts_with(drives::PREFIX) {
            let like = groups.first().and_then(|group| group.first());
            groups.push(vec![simulated::run(word, like, args)?]);
            continue;
        }
        let selectors = word.split(',').flat_map(numbers);
        let runs: Result<Vec<Run>> = selectors.map(|selector| run_named(&selector, args)).collect();
        groups.push(runs?);
    }
    distinct(&groups)?;
    let groups = match &args.by {
        Some(by) => compare::group_by(groups.into_iter().flatten().collect(), by)?,
        None => groups.into_iter().map(|runs| (String::new(), runs)).collect(),
    };
    if groups.len() < 2 {
        let text = match &args.by {
            Some(by) => format!("all of these runs have the same {by}"),
            None => "one group of runs: name two or more, as in 'compare 12 15'".to_string(),
        };
        return Err(Failure::new(USAGE, text));
    }
    let mut runs = groups.iter().flat_map(|(_, runs)| runs);
    let needs_store = runs.any(|run| !published::is_published(run));
    let store = if needs_store { Some(open(&args.store)?) } else { None };
    let (titles, groups): (Vec<String>, Vec<Vec<Run>>) = groups.into_iter().unzip();
    let sides = groups.into_iter().map(|runs| {
        let repeats = store.as_ref().map(|store| compare::repeats(store, &runs)).transpose()?;
        Ok(Side { repeats: repeats.unwrap_or_default(), runs })
    });
    Ok((titles, sides.collect::<Result<_>>()?))
}

/// The run of a selector.
fn run_named(selector: &str, args: &CompareArgs) -> Result<Run> {
    let is_number = selector.starts_with(|c: char| c.is_ascii_digit());
    match load(selector, &args.store) {
        Ok(loaded) => Ok(loaded.run),
        Err(failure) if is_number => Err(failure),
        Err(failure) => Err(failure.advise("a number of ssdyno runs, sim:NAME or pub:NAME")),
    }
}

/// `3-6` is 3, 4, 5, 6; anything else names one run.
fn numbers(word: &str) -> Vec<String> {
    let ends = word.split_once('-').map(|(start, end)| (start.parse::<i64>(), end.parse::<i64>()));
    match ends {
        Some((Ok(start), Ok(end))) if start <= end && end - start < 1000 => {
            (start..=end).map(|number| number.to_string()).collect()
        }
        _ => vec![word.to_string()],
    }
}

fn distinct(groups: &[Vec<Run>]) -> Result<()> {
    let runs: Vec<&Run> = groups.iter().flatten().collect();
    for (i, run) in runs.iter().enumerate() {
        if runs[..i].iter().any(|other| other.id == run.id && other.number == run.number) {
            let name = compare::name(run);
            return Err(Failure::new(USAGE, format!("{name} is given twice")));
        }
    }
    Ok(())
}

fn as_json(
    args: &CompareArgs,
    sides: &[Side],
    comparisons: &[RunComparison],
    order: &str,
) -> Result<Value> {
    let mut values = Vec::new();
    for (comparison, b) in comparisons.iter().zip(&sides[1..]) {
        let mut value = serde_json::to_value(comparison).map_err(|e| Failure::new(IO, e))?;
        let a = &sides[0];
        value["a"] = json!(a.runs.first().map(|run| &run.id));
        value["b"] = json!(b.runs.first().map(|run| &run.id));
        value["runs"] = json!({ "a": run_ids(a), "b": run_ids(b) });
        value["order"] = json!(order);
        if let Some(gate) = args.fail_if {
            value["gate"] = json!(gate.judge(&comparison.pairs));
        }
        values.push(value);
    }
    Ok(if values.len() == 1 { values.remove(0) } else { json!({ "comparisons": values }) })
}

fn run_ids(side: &Side) -> Vec<String> {
    side.runs.iter().map(|run| run.id.clone()).collect()
}

/// Checks that the page of a comparison can be written, before anything is measured for it.
fn check_page(args: &CompareArgs) -> Result<()> {
    let Some(path) = &args.html else { return Ok(()) };
    emit::check(path, None).map_err(|e| Failure::cannot_write(path, &e))
}

/// Shows the comparison in the requested form.
fn show(args: &CompareArgs, view: &GroupComparison) -> Result<()> {
    let version = env!("CARGO_PKG_VERSION");
    if let Some(path) = &args.html {
        let page = comparison::html(view, version);
        emit::renew(path, page).map_err(|e| Failure::cannot_write(path, &e))?;
    }
    if args.markdown {
        present::print(&comparison::markdown(view))
    } else {
        present::print(&comparison::text(view, &screen::uncut()))
    }
}
