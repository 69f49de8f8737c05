//! A rule: a pure function from measurements to conclusions, its role, and the rules that override it.
//!
//! Rules are told apart by identity, never by name or text: two of them may reach the same verdict
//! (HEAT), and one may override the other.

use record::{Evidence, Unit, Verdict, VerdictKind};
use rig::TargetInfo;

use super::Checks;
use crate::Digest;

/// The measurements that rules judge.
#[derive(Clone, Copy)]
pub(crate) struct Facts<'a> {
    pub target: &'a TargetInfo,
    pub seen: &'a [Digest],
    pub checks: &'a Checks,
}

/// When a rule's conclusions are reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Always, if it was measured: it needs no workload whose speed is judged.
    Claim,
    /// Always, if workloads were timed.
    Check,
    /// If it applies: a bound of the speed. If no bound applies, UNDETERMINED lists them.
    Bound,
    /// If it applies.
    Cause,
}

/// One rule.
pub(crate) struct Rule {
    pub role: Role,
    /// It is not asked where one of these answered yes.
    pub overridden_by: &'static [&'static Rule],
    pub judge: fn(&Facts<'_>) -> Vec<Ruling>,
}

impl Rule {
    /// Whether one of the rules that applied overrides it.
    pub fn is_overridden(&self, applied: &[&Rule]) -> bool {
        overridden(self.overridden_by, applied)
    }

    /// Whether this ruling of it is reported.
    pub fn reports(&self, ruling: &Ruling) -> bool {
        matches!(self.role, Role::Claim | Role::Check) || ruling.applies()
    }
}

/// Whether one of `by` is among the rules that applied.
pub(crate) fn overridden(by: &[&'static Rule], applied: &[&Rule]) -> bool {
    by.iter().any(|rule| applied.iter().any(|a| std::ptr::eq(*a, *rule)))
}

/// A rule's answer to its question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Yes,
    No,
    Unknown,
}

/// A rule's answer, with its words and numbers.
#[derive(Clone, Debug)]
pub(crate) struct Ruling {
    pub answer: Answer,
    pub verdict: Verdict,
    /// Names of the workloads whose speed it explains; empty: it does not say.
    pub explains: Vec<String>,
}

impl Ruling {
    fn new(answer: Answer, kind: VerdictKind, text: impl Into<String>) -> Ruling {
        Ruling { answer, verdict: Verdict::new(kind, text), explains: Vec::new() }
    }

    /// It is so.
    pub fn yes(kind: VerdictKind, text: impl Into<String>) -> Ruling {
        Ruling::new(Answer::Yes, kind, text)
    }

    /// It is not so; `kind` is the opposite conclusion.
    pub fn no(kind: VerdictKind, text: impl Into<String>) -> Ruling {
        Ruling::new(Answer::No, kind, text)
    }

    /// The data do not decide.
    pub fn unknown(text: impl Into<String>) -> Ruling {
        Ruling::new(Answer::Unknown, VerdictKind::Undetermined, text)
    }

    /// Adds a number that supports it.
    pub fn with(mut self, name: impl Into<String>, value: f64, unit: Unit) -> Ruling {
        self.verdict.evidence.push(Evidence::new(name, value, unit));
        self
    }

    /// Names the workload that it is about.
    pub fn about(mut self, workload: &str) -> Ruling {
        self.verdict.workload = Some(workload.to_string());
        self
    }

    /// Names the workloads whose speed it explains.
    pub fn explaining(mut self, workloads: &[&str]) -> Ruling {
        self.explains = workloads.iter().map(ToString::to_string).collect();
        self
    }

    /// Whether it explains the speed of this workload: with no word on which, of all.
    pub fn explains(&self, workload: &str) -> bool {
        self.applies() && (self.explains.is_empty() || self.explains.iter().any(|w| w == workload))
    }

    /// Whether the answer is yes.
    pub fn applies(&self) -> bool {
        self.answer == Answer::Yes
    }
}
