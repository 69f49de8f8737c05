//! Judges the verdicts of a case by its counterfactual: the same command without the cause.
//!
//! Runs with and without a cause alternate, because other work on the machine comes and goes. If the
//! pairs disagree on whether the cause changes the rate by a tenth, the case is not judged.

use serde_json::Value;

use super::cause::{Cause, Kind};
use super::draw::Case;
use crate::common::{metric, verdicts, warnings};

/// A cause matters if its removal changes the rate by this factor.
const CHANGE_MIN: f64 = 1.1;

/// Verdicts that blame the host.
const OF_HOST: [&str; 10] = [
    "BLOCK QUEUE",
    "COMPLETION",
    "CPU",
    "CPU QUOTA",
    "CPU SHARED",
    "FILE SYSTEM",
    "FULL",
    "IO LIMIT",
    "LAYER",
    "SATURATED BY OTHERS",
];

/// Verdicts that blame the drive, besides the words of UNDETERMINED.
const OF_DRIVE: [&str; 9] = [
    "CACHE END",
    "CONTROLLER",
    "DEVICE DEPTH",
    "FLASH BOUND",
    "HEAT",
    "MAPPING UNIT",
    "PER-COMMAND",
    "STALL",
    "WEAR",
];

/// The words with which UNDETERMINED blames the drive.
const DRIVE_ITSELF: &str = "he drive itself seems to be the limit";

/// What removing a cause did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Effect {
    Matters,
    DoesNot,
    Disagree,
}

/// The effect by the rates with and without a cause, in pairs.
pub fn effect(pairs: &[[f64; 2]]) -> Effect {
    let factors = || pairs.iter().map(|[with, without]| without / with);
    if factors().all(|f| f >= CHANGE_MIN) || factors().all(|f| f <= 1.0 / CHANGE_MIN) {
        Effect::Matters
    } else if factors().all(|f| f < CHANGE_MIN && f > 1.0 / CHANGE_MIN) {
        Effect::DoesNot
    } else {
        Effect::Disagree
    }
}

/// A run, as far as it is judged.
#[derive(Clone, Debug)]
pub struct Seen {
    pub rate: f64,
    /// Its verdicts and warnings.
    pub names: Vec<String>,
    /// The text that blames the drive.
    pub blame: Option<String>,
}

impl Seen {
    pub fn new(record: &Value) -> Option<Seen> {
        let names = verdicts(record).into_iter().chain(warnings(record));
        let names: Vec<String> = names.map(String::from).collect();
        let blame = record["verdicts"].as_array()?.iter().find_map(|verdict| {
            let (name, text) = (verdict["name"].as_str()?, verdict["text"].as_str()?);
            let is_blame = OF_DRIVE.contains(&name) || text.contains(DRIVE_ITSELF);
            is_blame.then(|| format!("{name}: {text}"))
        });
        Some(Seen { rate: metric(record, "iops")?, names, blame })
    }

    /// The verdicts that blame the host for something other than these causes. In a guest, the time
    /// from completion until a thread runs is often a tenth; nothing here can remove it. Nor can it
    /// remove the loop device that some causes need. What memory serves, a processor limits.
    fn false_names(&self, causes: &[Cause]) -> Vec<&str> {
        let is_accepted = |name: &str| {
            causes.iter().any(|cause| {
                cause.kind.accepted().contains(&name)
                    || (name == "LAYER" && cause.kind.needs_loop())
            })
        };
        let is_true = |name: &str| {
            name == "COMPLETION" || (name == "CPU" && self.names.iter().any(|name| name == "RAM"))
        };
        let names = self.names.iter().map(String::as_str);
        names
            .filter(|name| OF_HOST.contains(name) && !is_true(name) && !is_accepted(name))
            .collect()
    }

    fn names_any(&self, kinds: &[Kind]) -> bool {
        let mut accepted = kinds.iter().flat_map(|kind| kind.accepted());
        accepted.any(|name| self.names.iter().any(|other| other == name))
    }
}

/// The judgement of a case.
#[derive(Clone, Debug, PartialEq)]
pub enum Judgement {
    /// It names a cause that matters.
    Right,
    /// It names none.
    Silent,
    /// It blames the host for something that is not there.
    Wrong(String),
    /// It blames the drive, which is innocent.
    Blamed(String),
    /// No cause matters, and none is named that is not there.
    Unchanged,
    Unjudged,
}

/// Judges a run with all causes, by the effects of removing each. A cause whose pairs disagree is
/// neither expected nor refused. What is not there is wrong whatever the pairs say, and a control has
/// nothing else to say.
pub fn judge(case: &Case, seen: &Seen, effects: &[Effect]) -> Judgement {
    let select = |effect: Effect| {
        let causes = case.causes.iter().zip(effects).filter(|(_, other)| **other == effect);
        causes.map(|(cause, _)| cause.kind).collect::<Vec<Kind>>()
    };
    let (effective, doubtful) = (select(Effect::Matters), select(Effect::Disagree));
    let false_names = seen.false_names(&case.causes);
    if !false_names.is_empty() {
        Judgement::Wrong(false_names.join(", "))
    } else if effective.is_empty() && !doubtful.is_empty() {
        Judgement::Unjudged
    } else if effective.is_empty() {
        Judgement::Unchanged
    } else if let Some(text) = &seen.blame {
        Judgement::Blamed(text.clone())
    } else if seen.names_any(&effective) {
        Judgement::Right
    } else if seen.names_any(&doubtful) {
        Judgement::Unjudged
    } else {
        Judgement::Silent
    }
}

#[test]
fn a_case_is_judged_by_what_its_causes_change() {
    let busy = Cause { kind: Kind::Busy, severity: 0 };
    let case = Case { rw: "randread", block: "4k", depth: 1, is_traced: false, causes: vec![busy] };
    let seen = |names: &[&str], blames_drive: bool| Seen {
        rate: 1.0,
        names: names.iter().map(ToString::to_string).collect(),
        blame: blames_drive.then(String::new),
    };
    let matters = [Effect::Matters];
    let says =
        |names: &[&str], blames, effects: &[Effect]| judge(&case, &seen(names, blames), effects);
    assert_eq!(says(&["CPU SHARED"], false, &matters), Judgement::Right);
    assert_eq!(says(&["GUEST"], false, &matters), Judgement::Silent);
    assert_eq!(says(&["CPU SHARED"], true, &matters), Judgement::Blamed(String::new()));
    assert_eq!(says(&["IO LIMIT"], false, &matters), Judgement::Wrong("IO LIMIT".into()));
    assert_eq!(says(&["GUEST"], true, &[Effect::DoesNot]), Judgement::Unchanged);
    assert_eq!(says(&["RAM", "CPU"], false, &[Effect::DoesNot]), Judgement::Unchanged);
    assert_eq!(says(&["CPU"], false, &[Effect::DoesNot]), Judgement::Wrong("CPU".into()));
    let doubtful = [Effect::Disagree];
    assert_eq!(says(&["CPU SHARED"], false, &doubtful), Judgement::Unjudged);
    assert_eq!(says(&["IO LIMIT"], false, &doubtful), Judgement::Wrong("IO LIMIT".into()));
    let control = Case { causes: Vec::new(), ..case.clone() };
    let of_control = |name| judge(&control, &seen(&[name], false), &doubtful);
    assert_eq!(of_control("GUEST"), Judgement::Unchanged);
    assert_eq!(of_control("CPU SHARED"), Judgement::Wrong("CPU SHARED".into()));
    assert_eq!(effect(&[[1.0, 1.2], [1.0, 1.1]]), Effect::Matters);
    assert_eq!(effect(&[[1.0, 0.5], [1.0, 0.9]]), Effect::Matters);
    assert_eq!(effect(&[[1.0, 1.09], [1.0, 0.95]]), Effect::DoesNot);
    assert_eq!(effect(&[[1.0, 1.2], [1.0, 1.0]]), Effect::Disagree);
}
