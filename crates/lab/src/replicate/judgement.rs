//! Judges the claims of a document by the results of their experiments. Pure.
//!
//! No state is written in a file: a claim is reproduced if its figures are met or its value is in
//! the stated range, and differs otherwise.

use record::Run;
use serde::Serialize;
use serde_json::{Value, json};

use super::claims::{Claim, ClaimExperiment, ClaimValue, Claims, Place, is_named};
use super::document::Document;
use super::expression::Ground;
use super::label::Basis;
use super::reading::Compared;
use super::time_series;

/// The outcome of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClaimState {
    Reproduced,
    /// The experiment does not show it.
    Differs,
    /// No experiment here can show it.
    Cannot,
    /// Its experiments were not selected.
    NotRun,
}

/// The kind of the experiment behind a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClaimGround {
    /// Figures or metrics of virtual drives.
    VirtualDrive,
    /// Ratios and sums of what the document printed.
    PublishedRows,
    /// Numbers of the text alone.
    Arithmetic,
    Nothing,
}

/// A claim and its outcome.
pub struct JudgedClaim<'a> {
    pub claim: &'a Claim,
    pub state: ClaimState,
    pub ground: ClaimGround,
    /// Of a claim shown by virtual drives: predicted if any of its figures is.
    pub basis: Option<Basis>,
    /// The value in its unit, if the claim has one and it could be computed.
    pub value: Option<f64>,
    /// The figures that show the claim.
    pub figures: Vec<&'a Compared>,
    /// Why it differs, or cannot be reproduced; empty for the others.
    pub reasons: Vec<&'a str>,
}

impl JudgedClaim<'_> {
    /// Whether it is reproduced only because parameters were fitted to it.
    pub fn is_fitted(&self) -> bool {
        self.state == ClaimState::Reproduced && self.basis == Some(Basis::Fitted)
    }
}

/// A place and its claims.
pub struct JudgedPlace<'a> {
    pub place: &'a Place,
    pub claims: Vec<JudgedClaim<'a>>,
}

/// Judges all claims of a document. `run_of` finds the record of an experiment.
pub fn judge<'a>(
    document: &'a Document,
    figures: &'a [Compared],
    run_of: &dyn Fn(&str) -> Option<&'a Run>,
) -> Vec<JudgedPlace<'a>> {
    let judge = Judge { document, figures, run_of };
    let places = document.claims.places.iter();
    places
        .map(|place| JudgedPlace {
            place,
            claims: place.claims.iter().map(|claim| judge.claim(claim)).collect(),
        })
        .collect()
}

struct Judge<'a, 'f> {
    document: &'a Document,
    figures: &'a [Compared],
    run_of: &'f dyn Fn(&str) -> Option<&'a Run>,
}

impl<'a> Judge<'a, '_> {
    fn claim(&self, claim: &'a Claim) -> JudgedClaim<'a> {
        match &claim.experiment {
            ClaimExperiment::Figures(names) => self.by_figures(claim, names),
            ClaimExperiment::Value(value) => self.by_value(claim, value),
            ClaimExperiment::Cannot(reason) => JudgedClaim {
                state: ClaimState::Cannot,
                reasons: vec![reason],
                ..unjudged(claim, ClaimGround::Nothing)
            },
        }
    }

    fn by_figures(&self, claim: &'a Claim, names: &[String]) -> JudgedClaim<'a> {
        let is_meant = |what: &str| names.iter().any(|name| is_named(name, what));
        let expected = self.document.figures.iter().filter(|f| is_meant(&f.what)).count();
        let figures: Vec<&Compared> = self.figures.iter().filter(|f| is_meant(&f.what)).collect();
        let is_complete = expected > 0 && figures.len() == expected;
        let is_shown = is_complete.then(|| figures.iter().all(|figure| figure.met));
        let misses = figures.iter().filter(|figure| !figure.met);
        let mut reasons: Vec<&str> = misses.filter_map(|f| f.reason.as_deref()).collect();
        reasons.dedup();
        let reasons = if is_shown == Some(false) { because(claim, reasons) } else { Vec::new() };
        let basis = Basis::ALL.into_iter().find(|b| figures.iter().any(|f| f.basis == *b));
        let not_run = unjudged(claim, ClaimGround::VirtualDrive);
        JudgedClaim { state: state(is_shown), basis, figures, reasons, ..not_run }
    }

    fn by_value(&self, claim: &'a Claim, shown: &ClaimValue) -> JudgedClaim<'a> {
        let ground = match shown.value.ground() {
            Ground::VirtualDrive => ClaimGround::VirtualDrive,
            Ground::PublishedRows => ClaimGround::PublishedRows,
            Ground::Arithmetic => ClaimGround::Arithmetic,
        };
        let not_run = unjudged(claim, ground);
        if shown.value.recorded().iter().any(|(name, _)| (self.run_of)(name).is_none()) {
            return not_run;
        }
        let value = shown.value.value(&|experiment: &str, metric: &str| {
            read(&self.document.claims, experiment, metric, self.run_of)
        });
        let value = value.map(|value| value / shown.unit.name_and_scale().1);
        let is_shown = value.is_some_and(|value| {
            shown.at_least.is_none_or(|limit| value >= limit)
                && shown.at_most.is_none_or(|limit| value <= limit)
        });
        let reasons = if is_shown { Vec::new() } else { because(claim, Vec::new()) };
        let basis = claim.basis.unwrap_or(Basis::Predicted);
        let basis = Some(basis).filter(|_| ground == ClaimGround::VirtualDrive);
        JudgedClaim { state: state(Some(is_shown)), basis, value, reasons, ..not_run }
    }
}

fn unjudged(claim: &Claim, ground: ClaimGround) -> JudgedClaim<'_> {
    let (figures, reasons) = (Vec::new(), Vec::new());
    let state = ClaimState::NotRun;
    JudgedClaim { claim, state, ground, basis: None, value: None, figures, reasons }
}

fn state(is_shown: Option<bool>) -> ClaimState {
    match is_shown {
        Some(true) => ClaimState::Reproduced,
        Some(false) => ClaimState::Differs,
        None => ClaimState::NotRun,
    }
}

/// The claim's own reason, or those of the missed figures.
fn because<'a>(claim: &'a Claim, of_figures: Vec<&'a str>) -> Vec<&'a str> {
    claim.because.as_deref().map_or(of_figures, |reason| vec![reason])
}

/// A named reading of the claims, or a metric of the record.
fn read<'a>(
    claims: &Claims,
    experiment: &str,
    name: &str,
    run_of: &dyn Fn(&str) -> Option<&'a Run>,
) -> Option<f64> {
    let run = run_of(experiment)?;
    let mut readings = claims.readings.iter();
    match readings.find(|reading| reading.name == name && reading.experiment == experiment) {
        Some(reading) => time_series::read(&reading.read, run),
        None => run.metric(name)?.value,
    }
}

/// How many claims have each state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ClaimCounts {
    pub reproduced: usize,
    /// Of these, claims that parameters were fitted to: the model is able to, and no more is shown.
    pub fitted: usize,
    pub differs: usize,
    pub cannot: usize,
    pub not_run: usize,
}

impl ClaimCounts {
    pub fn new(places: &[JudgedPlace<'_>]) -> ClaimCounts {
        let mut counts = ClaimCounts::default();
        for claim in places.iter().flat_map(|place| &place.claims) {
            let count = match claim.state {
                ClaimState::Reproduced => &mut counts.reproduced,
                ClaimState::Differs => &mut counts.differs,
                ClaimState::Cannot => &mut counts.cannot,
                ClaimState::NotRun => &mut counts.not_run,
            };
            *count += 1;
            counts.fitted += usize::from(claim.is_fitted());
        }
        counts
    }

    pub fn all(&self) -> usize {
        self.reproduced + self.differs + self.cannot + self.not_run
    }
}

/// The places as JSON.
pub fn json(places: &[JudgedPlace<'_>]) -> Value {
    let places_json = places.iter().map(|judged| {
        let claims = judged.claims.iter().map(claim_json).collect::<Vec<_>>();
        let place = judged.place;
        json!({ "at": place.at, "topic": place.topic, "none": place.none, "claims": claims })
    });
    let counts = ClaimCounts::new(places);
    json!({ "counts": counts, "places": places_json.collect::<Vec<_>>() })
}

fn claim_json(judged: &JudgedClaim<'_>) -> Value {
    let JudgedClaim { claim, state, ground, basis, value, reasons, .. } = judged;
    let experiment = match &claim.experiment {
        ClaimExperiment::Figures(_) => {
            let figures = judged
                .figures
                .iter()
                .map(|f| json!({ "what": f.what, "here": f.here, "met": f.met, "basis": f.basis }));
            json!({ "figures": figures.collect::<Vec<_>>() })
        }
        ClaimExperiment::Value(shown) => json!({
            "expression": shown.value.text(),
            "value": value,
            "unit": shown.unit,
            "at_least": shown.at_least,
            "at_most": shown.at_most,
        }),
        ClaimExperiment::Cannot(_) => Value::Null,
    };
    json!({
        "says": claim.says,
        "row": claim.row,
        "state": state,
        "ground": ground,
        "basis": basis,
        "experiment": experiment,
        "because": reasons,
        "note": claim.note,
    })
}

/// The bases of the figures of a claim, for display: `2 predicted, 1 fitted`.
pub(super) fn bases(figures: &[&Compared]) -> String {
    let counts = Basis::ALL.into_iter().filter_map(|basis| {
        let count = figures.iter().filter(|figure| figure.basis == basis).count();
        (count > 0).then(|| format!("{count} {}", basis.name()))
    });
    counts.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::super::document;
    use super::*;

    const DOCUMENT: &str = r#"
        title = "t"
        about = "a"
        experiment = []
        figure = []
        [[claims.place]]
        at = "paragraph 1"
        topic = "ratios"
        [[claims.place.claim]]
        says = "The RAM disc saves more than twice as fast as it loads."
        value = "000/ramfs/hd-write / 000/ramfs/hd-read"
        at-least = 2
        [[claims.place.claim]]
        says = "More than four times."
        value = "000/ramfs/hd-write / 000/ramfs/hd-read"
        at-least = 4
        because = "it does not"
        [[claims.place.claim]]
        says = "Of a drive that is not run."
        value = "drive:write.throughput"
        at-most = 1
        [[claims.place.claim]]
        says = "Of another world."
        cannot = "it is elsewhere"
    "#;

    #[test]
    fn the_state_follows_from_the_result() {
        let document = document::parse("t.toml", DOCUMENT).expect("well formed");
        let places = judge(&document, &[], &|_| None);
        let claims = &places[0].claims;
        let states: Vec<ClaimState> = claims.iter().map(|claim| claim.state).collect();
        use ClaimState::{Cannot, Differs, NotRun, Reproduced};
        assert_eq!(states, [Reproduced, Differs, NotRun, Cannot]);
        assert!(claims[0].value.is_some_and(|value| (value - 3.43).abs() < 0.01));
        let reasons: Vec<_> = claims.iter().map(|claim| claim.reasons.clone()).collect();
        assert_eq!(reasons, [vec![], vec!["it does not"], vec![], vec!["it is elsewhere"]]);
        let counts = ClaimCounts { reproduced: 1, fitted: 0, differs: 1, cannot: 1, not_run: 1 };
        assert_eq!(ClaimCounts::new(&places), counts);
    }

    /// Claims that need no drive, in all documents.
    #[test]
    fn claims_from_printed_rows_are_shown_or_say_why_not() {
        let mut count = 0;
        for name in ["000", "001", "002", "003", "004"] {
            let document = document::document(name).expect("there");
            for judged in judge(&document, &[], &|_| None).iter().flat_map(|place| &place.claims) {
                let says = &judged.claim.says;
                if let ClaimGround::PublishedRows | ClaimGround::Arithmetic = judged.ground {
                    count += 1;
                    assert_ne!(judged.state, ClaimState::NotRun, "{name}: {says}");
                    assert!(judged.value.is_some(), "{name}: {says}: no value");
                    let because = &judged.claim.because;
                    let is_explained = because.is_some() == (judged.state == ClaimState::Differs);
                    assert!(is_explained, "{name}: {says}: {:?}, {because:?}", judged.value);
                }
            }
        }
        assert!(count > 30, "{count}");
    }
}
