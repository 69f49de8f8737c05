//! The work of records. The figures of two sides are those of drives only if both did the same:
//! operation, order, block, depth, mix, rate, method, options and protocol. Drive, target and host
//! are what is compared.
//!
//! A method's workloads follow from its options and from the drive, so its name, protocol and
//! options describe its work; of iozone, they are iozone's own. A workload of `ssdyno io` is chosen by the user and described by its
//! fields. What a record does not tell, such as most options in the results of other tools, is
//! unknown, not different.

use std::borrow::Cow;
use std::collections::BTreeSet;

use record::Run;
use workload::units::{binary, span};
use workload::{BlockSizes, Pacing, Pattern, Workload};

use super::conditions::Difference;
use super::{Side, letter};
use crate::error::{LabError, Result};

/// Methods whose workloads the user chooses.
const CHOSEN: [&str; 2] = ["io", "replicate"];

/// Prefix of facts that are options; those of one letter have one dash.
const OPTION: &str = "-";

/// The value of an option that another run has, in a run that tells all of its options.
const NOT_GIVEN: &str = "not given";

/// The work of two sides, compared.
#[derive(Default)]
pub(crate) struct WorkComparison {
    /// The facts that are known for both sides and differ, or differ within a side.
    pub unlike: Vec<Difference>,
    /// The facts that are known for one side only.
    pub unknown: Vec<Difference>,
}

impl WorkComparison {
    /// Compares the work of the runs of two sides.
    pub fn new(a: &[Run], b: &[Run]) -> WorkComparison {
        let [facts_a, facts_b] =
            [a, b].map(|side| side.iter().map(WorkFacts::new).collect::<Vec<_>>());
        let mut names: Vec<&Cow<'static, str>> = Vec::new();
        for (what, _) in facts_a.iter().chain(&facts_b).flat_map(|facts| &facts.known) {
            if !names.contains(&what) {
                names.push(what);
            }
        }
        let mut comparison = WorkComparison::default();
        for what in names {
            let [a, b] = [&facts_a, &facts_b].map(|side| values(side, what));
            let is_mixed = [&a, &b].into_iter().flatten().any(|values| values.len() > 1);
            if a == b && !is_mixed {
                continue;
            }
            let is_unknown = a.is_none() || b.is_none();
            let [a, b] = [a, b].map(|values: Option<BTreeSet<&str>>| {
                values.map(|values| values.into_iter().collect::<Vec<_>>().join(" and "))
            });
            let difference = Difference { what: what.clone(), a, b };
            if is_unknown {
                comparison.unknown.push(difference);
            } else {
                comparison.unlike.push(difference);
            }
        }
        comparison
    }
}

/// Whether two runs did the same work, as far as both tell.
pub(crate) fn is_alike(run: &Run, other: &Run) -> bool {
    let (run, other) = (std::slice::from_ref(run), std::slice::from_ref(other));
    WorkComparison::new(run, other).unlike.is_empty()
}

/// Refuses sides that did unlike work.
pub fn check_alike(sides: &[Side]) -> Result<()> {
    let Some((a, other_sides)) = sides.split_first() else { return Ok(()) };
    for (b, i) in other_sides.iter().zip(1..) {
        let unlike = WorkComparison::new(&a.runs, &b.runs).unlike;
        if !unlike.is_empty() {
            let text = format!("A and {} did unlike work: {}", letter(i), in_words(&unlike));
            return Err(LabError::usage(text).advise("--anyway compares them, and says so"));
        }
    }
    Ok(())
}

/// `block size 4 KiB | 16 KiB, depth 8 | 32`.
pub(super) fn in_words(unlike: &[Difference]) -> String {
    let sides = unlike.iter().map(|difference| {
        let Difference { what: quantity, a, b } = difference;
        let [a, b] = [a, b].map(|value| value.as_deref().unwrap_or("unknown"));
        format!("{quantity} {a} | {b}")
    });
    sides.collect::<Vec<_>>().join(", ")
}

/// The values of a fact in the runs of a side; `None` if a run does not tell.
fn values<'f>(side: &'f [WorkFacts], what: &str) -> Option<BTreeSet<&'f str>> {
    side.iter()
        .map(|facts| {
            let is_left_out = facts.is_complete && what.starts_with(OPTION);
            facts.value(what).or(is_left_out.then_some(NOT_GIVEN))
        })
        .collect()
}

/// What a run tells about its work.
struct WorkFacts {
    /// Names and values, the most telling first.
    known: Vec<(Cow<'static, str>, String)>,
    /// Whether an option that it does not name was not given.
    is_complete: bool,
}

impl WorkFacts {
    fn new(run: &Run) -> WorkFacts {
        let mut facts: Vec<(Cow<'static, str>, String)> = Vec::new();
        if run.origin.is_none() {
            facts.push(("method".into(), run.method.clone()));
            // Values from two protocol versions are not the same quantity.
            facts.push(("protocol".into(), format!("version {}", run.protocol.unwrap_or(1))));
        }
        if CHOSEN.contains(&run.method.as_str()) {
            let workloads: Vec<Workload> = run.known_workloads().collect();
            for (what, words) in workloads.iter().flat_map(described) {
                match facts.iter_mut().find(|(name, _)| *name == what) {
                    Some((_, all)) => add(all, &words),
                    None => facts.push((what.into(), words)),
                }
            }
        }
        let options = run.options.iter().flatten();
        facts.extend(options.map(|(name, words)| (dashed(name).into(), given(words))));
        WorkFacts { known: facts, is_complete: run.origin.is_none() && run.options.is_some() }
    }

    fn value(&self, what: &str) -> Option<&str> {
        self.known.iter().find(|(name, _)| name == what).map(|(_, value)| value.as_str())
    }
}

/// An option as on a command line: `--size`, and iozone's `-e` and `-+n`.
fn dashed(name: &str) -> String {
    if name.trim_start_matches('+').len() == 1 { format!("-{name}") } else { format!("--{name}") }
}

/// The words of an option; a switch has none.
fn given(words: &str) -> String {
    if words.is_empty() { "given".into() } else { words.to_string() }
}

/// Adds the value of a further workload.
fn add(all: &mut String, words: &str) {
    if all != words {
        all.push_str(", ");
        all.push_str(words);
    }
}

/// The fields of a workload that determine its figures, in words.
fn described(w: &Workload) -> Vec<(&'static str, String)> {
    let mut facts = vec![
        ("operation", operation(w)),
        ("order", order(&w.pattern)),
        ("block size", blocks(&w.blocks)),
        ("depth", w.depth.to_string()),
        ("jobs", w.jobs.to_string()),
        ("batch", w.batch.to_string()),
        ("rate", rate(&w.pacing)),
        ("duration", duration(w)),
        ("offset", w.region.start.to_string()),
        ("shift", w.shift_bytes.to_string()),
        ("caching", debug(&w.caching)),
        ("verification", yes_or_no(w.verify)),
    ];
    if w.mix.changes_data() {
        facts.push(("content", debug(&w.content)));
        facts.push((
            "writes between flushes",
            w.flush_every.map_or("all".into(), |n| n.to_string()),
        ));
        facts.push(("final flush", yes_or_no(w.flush_at_end)));
        facts.push(("synchronous writes", yes_or_no(w.sync_writes)));
    }
    facts
}

fn debug(value: &impl std::fmt::Debug) -> String {
    format!("{value:?}").to_lowercase()
}

fn yes_or_no(is_so: bool) -> String {
    if is_so { "yes" } else { "no" }.to_string()
}

/// `reads`, `70% reads`.
fn operation(w: &Workload) -> String {
    match w.mix.only() {
        Some(kind) => format!("{}s", kind.name()),
        None => format!("{:.0}% reads", 100.0 * f64::from(w.mix.read) / w.mix.total() as f64),
    }
}

fn order(pattern: &Pattern) -> String {
    match pattern {
        Pattern::Sequential => "sequential".into(),
        Pattern::UniformOnce => "random".into(),
        Pattern::Uniform => "random with repeats".into(),
        other => debug(other),
    }
}

fn blocks(blocks: &BlockSizes) -> String {
    match blocks {
        BlockSizes::Fixed(bytes) => binary(u64::from(*bytes)),
        BlockSizes::Split(parts) => {
            let sizes = parts.iter().map(|(bytes, weight)| {
                format!("{} with weight {weight}", binary(u64::from(*bytes)))
            });
            sizes.collect::<Vec<_>>().join(", ")
        }
    }
}

fn rate(pacing: &Pacing) -> String {
    match pacing {
        Pacing::Closed => "as fast as possible".into(),
        Pacing::Fixed { rate } => format!("{rate}/s"),
        Pacing::Poisson { rate } => format!("{rate}/s, Poisson"),
        other => debug(other),
    }
}

/// The end condition; bytes are those of the region.
fn duration(w: &Workload) -> String {
    let time = w.stop.time_ns.map(|ns| span(ns as f64 / 1e9));
    let ops = w.stop.ops.map(|ops| format!("{ops} operations"));
    let passes = w.stop.coverage.map(|passes| format!("{passes} passes"));
    [time, ops, passes].into_iter().flatten().collect::<Vec<_>>().join(" or ")
}
