//! The statements of a document that can be true or false: the files in `published/claims`.
//!
//! A file lists every paragraph and table of its document by number. Each place has its claims, in
//! the project's own words, or says why it has none. A claim names its experiment and what counts
//! as shown; whether it is reproduced is computed from these in `judgement.rs`.

use serde::Deserialize;

use super::expression::Expression;
use super::label::Basis;
use super::time_series::Reading;
use super::unit::Unit;

/// All places of a document, in its order.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Claims {
    #[serde(rename = "place")]
    pub places: Vec<Place>,
    /// Quantities of experiments that have no metric of their own.
    #[serde(rename = "reading")]
    pub readings: Vec<NamedReading>,
}

/// A paragraph or table of the document.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// Its number: `paragraph 3`, `page 4, paragraph 2`, `table 1`.
    pub at: String,
    /// Its subject, to recognise it by.
    pub topic: String,
    /// Why it has no claims.
    pub none: Option<String>,
    #[serde(rename = "claim", default)]
    pub claims: Vec<Claim>,
}

/// A statement that can be true or false.
#[derive(Debug, Deserialize)]
#[serde(try_from = "WrittenClaim")]
pub struct Claim {
    /// The statement in other words than the document's.
    pub says: String,
    /// The row, column or picture of the place that it is in.
    pub row: Option<String>,
    pub experiment: ClaimExperiment,
    /// Why the result differs, for a claim that is not shown.
    pub because: Option<String>,
    /// What limits the result of a claim that is shown.
    pub note: Option<String>,
    /// The basis of a value, if a parameter was fitted to it or states it.
    pub basis: Option<Basis>,
}

/// What shows a claim.
#[derive(Debug)]
pub enum ClaimExperiment {
    /// Figures of the document, by their `what`; a final `*` stands for any rest. Shown if all are
    /// within their tolerance.
    Figures(Vec<String>),
    Value(ClaimValue),
    /// Nothing here can show it, for this reason.
    Cannot(String),
}

/// A computed value, and the range in which it shows the claim.
#[derive(Debug)]
pub struct ClaimValue {
    pub value: Expression,
    /// The unit for display and of the limits.
    pub unit: Unit,
    pub at_least: Option<f64>,
    pub at_most: Option<f64>,
}

/// A quantity read from an experiment, under a name for expressions: `EXPERIMENT:NAME`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedReading {
    pub name: String,
    pub experiment: String,
    pub read: Reading,
}

/// A claim as written in the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct WrittenClaim {
    says: String,
    row: Option<String>,
    figures: Option<Vec<String>>,
    value: Option<Expression>,
    unit: Option<Unit>,
    at_least: Option<f64>,
    at_most: Option<f64>,
    cannot: Option<String>,
    because: Option<String>,
    note: Option<String>,
    basis: Option<Basis>,
}

impl TryFrom<WrittenClaim> for Claim {
    type Error = String;

    fn try_from(written: WrittenClaim) -> Result<Claim, String> {
        let WrittenClaim { says, row, at_least, at_most, because, note, basis, .. } = written;
        if basis.is_some() && written.value.is_none() {
            return Err(format!("{says}: only a value has a basis of its own"));
        }
        let experiment = match (written.figures, written.value, written.cannot) {
            (Some(names), None, None) if !names.is_empty() => ClaimExperiment::Figures(names),
            (None, Some(value), None) => {
                if at_least.is_none() && at_most.is_none() {
                    return Err(format!("{says}: neither at-least nor at-most"));
                }
                let unit = written.unit.unwrap_or(Unit::Times);
                ClaimExperiment::Value(ClaimValue { value, unit, at_least, at_most })
            }
            (None, None, Some(reason)) => ClaimExperiment::Cannot(reason),
            _ => return Err(format!("{says}: exactly one of figures, value and cannot")),
        };
        Ok(Claim { says, row, experiment, because, note, basis })
    }
}

impl Claims {
    /// The claims of all places.
    pub fn all(&self) -> impl Iterator<Item = &Claim> {
        self.places.iter().flat_map(|place| &place.claims)
    }
}

/// Whether a name in a list of figures stands for this figure.
pub(super) fn is_named(pattern: &str, what: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) => what.starts_with(prefix),
        None => pattern == what,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::document::{self, ExperimentStep};
    use super::*;

    /// The documents whose claims are listed.
    const NAMES: [&str; 5] = ["000", "001", "002", "003", "004"];

    /// The last number of a place with what is before it: `page 2, paragraph` and 3.
    fn numbered(at: &str) -> Option<(&str, u32)> {
        let (before, number) = at.rsplit_once(' ')?;
        Some((before, number.parse().ok()?))
    }

    #[test]
    fn every_paragraph_is_a_place_with_claims_or_a_reason_for_none() {
        for name in NAMES {
            let document = document::document(name).expect("there");
            let mut last: BTreeMap<&str, u32> = BTreeMap::new();
            for place in &document.claims.places {
                let words = &place.at;
                assert_eq!(place.none.is_none(), !place.claims.is_empty(), "{name}, {words}");
                assert!(!place.topic.is_empty(), "{name}, {words}");
                let (before, number) = numbered(words).unwrap_or((words, 1));
                let previous = last.insert(before, number).unwrap_or(0);
                assert_eq!(number, previous + 1, "{name}, {words}: a place is missing or double");
            }
        }
    }

    #[test]
    fn over_a_hundred_claims_are_listed_and_their_experiments_exist() {
        let mut count = 0;
        for name in NAMES {
            let document = document::document(name).expect("there");
            for claim in document.claims.all() {
                count += 1;
                let says = &claim.says;
                match &claim.experiment {
                    ClaimExperiment::Figures(patterns) => {
                        for pattern in patterns {
                            let mut figures = document.figures.iter();
                            let is_there = figures.any(|figure| is_named(pattern, &figure.what));
                            assert!(is_there, "{name}: {says}: no figure '{pattern}'");
                        }
                    }
                    ClaimExperiment::Value(shown) => {
                        for (experiment, metric) in shown.value.recorded() {
                            check_metric(&document, experiment, metric);
                        }
                    }
                    ClaimExperiment::Cannot(reason) => assert!(!reason.is_empty(), "{says}"),
                }
            }
        }
        assert!(count > 100, "{count}");
    }

    /// Checks that an experiment exists and, if it has steps, the step of the metric.
    fn check_metric(document: &document::Document, experiment: &str, metric: &str) {
        let listed = document.experiments.iter().find(|e| e.id == experiment);
        let steps = &listed.unwrap_or_else(|| panic!("no experiment '{experiment}'")).steps;
        let mut readings = document.claims.readings.iter();
        if steps.is_empty() || readings.any(|r| r.name == metric && r.experiment == experiment) {
            return;
        }
        let step = metric.split('.').next().unwrap_or("");
        let is_step = steps.iter().any(|s| match s {
            ExperimentStep::Io { name, .. } | ExperimentStep::Partition { name, .. } => {
                name == step
            }
            ExperimentStep::Discard { discard, .. } => discard == step,
            ExperimentStep::Idle { .. } => false,
        });
        assert!(is_step, "{experiment} has no step '{step}'");
    }

    #[test]
    fn a_claim_has_one_experiment_and_a_value_has_a_limit() {
        let claim = |text: &str| toml::from_str::<Claim>(&format!("says = 'x'\n{text}"));
        assert!(claim("value = '1 / 2'\nat-most = 1").is_ok());
        for text in [
            "",
            "value = '1 / 2'",
            "figures = []",
            "cannot = 'why'\nvalue = '1'\nat-most = 1",
            "cannot = 'why'\nbasis = 'fitted'",
            "value = '1 +'\nat-most = 1",
        ] {
            assert!(claim(text).is_err(), "{text}");
        }
    }
}
