//! The conclusion of a protocol: elapsed times, the comparison of the two sides, and all other
//! differences between them.

use std::collections::BTreeSet;
use std::path::Path;

use record::{PartOf, Run as Record, TargetKind};
use serde::Serialize;

use super::Protocol;
use super::progress::records;
use crate::compare::{self, Side};
use crate::error::Result;

/// The elapsed time of one measurement.
#[derive(Debug, Serialize)]
pub struct Elapsed {
    pub step: String,
    /// The repetition, from 1.
    pub repeat: u32,
    pub side: Option<String>,
    /// The number of its record.
    pub run: Option<i64>,
    /// Wall-clock seconds; `None` on a virtual drive, where time is simulated.
    pub seconds: Option<f64>,
    /// The answer of the record, if it has one.
    pub headline: Option<String>,
}

/// The conclusion of a protocol.
#[derive(Debug, Serialize)]
pub struct ProtocolConclusion {
    /// All completed measurements.
    pub elapsed: Vec<Elapsed>,
    /// The comparison of the two sides, step by step.
    pub sentences: Vec<String>,
    /// The fields that differ between the sides: name, value in A, value in B.
    pub confounders: Vec<[String; 3]>,
}

/// Concludes one execution of a protocol from its records in the store at this path, or the default
/// one.
pub fn conclude(
    protocol: &Protocol,
    store: Option<&Path>,
    began: &str,
) -> Result<ProtocolConclusion> {
    let mut runs = records(store, protocol, Some(began))?;
    runs.retain(|(_, run)| run.complete);
    let elapsed = runs.iter().map(|(part, run)| elapsed(part, run)).collect();
    let [a, b] = protocol.sides.as_slice() else {
        return Ok(ProtocolConclusion { elapsed, sentences: Vec::new(), confounders: Vec::new() });
    };
    let mut sentences = Vec::new();
    for (in_a, in_b) in protocol.on_side(a).zip(protocol.on_side(b)) {
        let sides = [in_a, in_b].map(|step| Side {
            runs: runs
                .iter()
                .filter(|(part, _)| part.step == step)
                .map(|(_, run)| run.clone())
                .collect(),
            repeats: Vec::new(),
        });
        let methods = sides.each_ref().map(|side| side.runs.first().map(|run| run.method.as_str()));
        if methods[0].is_some() && methods[0] == methods[1] {
            let comparisons = compare::compare(&sides, None)?;
            let pair = format!("A {in_a}, B {in_b}");
            sentences.extend(comparisons.into_iter().map(|c| format!("{pair}: {}", c.sentence)));
        }
    }
    Ok(ProtocolConclusion { elapsed, sentences, confounders: confounders(a, b, &runs) })
}

fn elapsed(part: &PartOf, run: &Record) -> Elapsed {
    let real = run.target.kind != TargetKind::Virtual;
    Elapsed {
        step: part.step.clone(),
        repeat: part.repeat,
        side: part.side.clone(),
        run: run.number,
        seconds: run.seconds.filter(|_| real),
        headline: run.answer.as_ref().map(|answer| answer.headline.clone()),
    }
}

/// The fields, kernel and file system that differ between the sides.
fn confounders(a: &str, b: &str, runs: &[(PartOf, Record)]) -> Vec<[String; 3]> {
    let fields: BTreeSet<&String> = runs.iter().flat_map(|(part, _)| part.fields.keys()).collect();
    let values = |side: &str, of: &dyn Fn(&PartOf, &Record) -> Option<String>| {
        let values: BTreeSet<String> = runs
            .iter()
            .filter(|(part, _)| part.side.as_deref() == Some(side))
            .filter_map(|(part, run)| of(part, run))
            .collect();
        if values.is_empty() {
            "unknown".to_string()
        } else {
            values.into_iter().collect::<Vec<_>>().join(" | ")
        }
    };
    let mut confounders = Vec::new();
    let mut compare = |name: &str, of: &dyn Fn(&PartOf, &Record) -> Option<String>| {
        let (a, b) = (values(a, of), values(b, of));
        if a != b {
            confounders.push([name.to_string(), a, b]);
        }
    };
    for field in fields {
        compare(field, &|part, _| part.fields.get(field).cloned());
    }
    compare("kernel", &|_, run| run.environment.kernel.clone());
    compare("file system", &|_, run| run.target.filesystem.as_ref().map(|f| f.kind.clone()));
    confounders
}
