//! A rule: a pure function from measurements to conclusions, its role, and the rules that override
//! it.
//!
//! Rules are compared by identity, never by name or text: two rules can reach the same verdict
//! (HEAT), and one can override the other.

use record::{Evidence, Explained, Unit, Verdict, VerdictKind};
use rig::TargetInfo;

use super::Checks;
use super::subject::Subject;
use crate::Digest;

/// The measurements that rules judge.
#[derive(Clone, Copy)]
pub struct Facts<'a> {
    pub target: &'a TargetInfo,
    pub seen: &'a [Digest],
    pub checks: &'a Checks,
}

/// When a rule's conclusions are reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Always, if measured. It needs no timed workload.
    Claim,
    /// Always, if workloads were timed.
    Check,
    /// If it applies: a bound on the speed. If no bound applies, UNDETERMINED lists all of them.
    Bound,
    /// If it applies.
    Cause,
    /// If it applies, for figures that no earlier rule explains.
    Rest,
}

/// One rule.
pub struct Rule {
    pub role: Role,
    /// The rule is skipped if one of these applies.
    pub overridden_by: &'static [&'static Rule],
    pub judge: fn(&Facts<'_>) -> Vec<Ruling>,
}

impl Rule {
    /// Whether one of the rules that applied overrides it.
    pub fn is_overridden(&self, applied: &[&Rule]) -> bool {
        overridden(self.overridden_by, applied)
    }

    /// Whether this rule reports the ruling.
    pub fn reports(&self, ruling: &Ruling) -> bool {
        matches!(self.role, Role::Claim | Role::Check) || ruling.applies()
    }
}

/// Whether one of `by` is among the rules that applied.
pub fn overridden(by: &[&'static Rule], applied: &[&Rule]) -> bool {
    by.iter().any(|rule| applied.iter().any(|a| std::ptr::eq(*a, *rule)))
}

/// A rule's answer to its question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Yes,
    No,
    Unknown,
}

/// A rule's answer, with its text and numbers.
#[derive(Clone, Debug)]
pub struct Ruling {
    pub answer: Answer,
    pub verdict: Verdict,
}

impl Ruling {
    fn new(answer: Answer, kind: VerdictKind, text: impl Into<String>) -> Ruling {
        Ruling { answer, verdict: Verdict::new(kind, text) }
    }

    /// The answer yes.
    pub fn yes(kind: VerdictKind, text: impl Into<String>) -> Ruling {
        Ruling::new(Answer::Yes, kind, text)
    }

    /// The answer no; `kind` is the opposite conclusion.
    pub fn no(kind: VerdictKind, text: impl Into<String>) -> Ruling {
        Ruling::new(Answer::No, kind, text)
    }

    /// No answer: the data are inconclusive.
    pub fn unknown(text: impl Into<String>) -> Ruling {
        Ruling::new(Answer::Unknown, VerdictKind::Undetermined, text)
    }

    /// Adds a number that supports the answer.
    pub fn with(mut self, name: impl Into<String>, value: f64, unit: Unit) -> Ruling {
        self.verdict.evidence.push(Evidence::new(name, value, unit));
        self
    }

    /// Adds the figures of a workload, and the share of its time that the cause accounts for.
    pub fn explaining(mut self, subject: &Subject<'_>, share: Option<f64>) -> Ruling {
        let share = share.map(|share| share.clamp(0.0, 1.0));
        self.verdict.explains.extend(
            subject.metrics().iter().map(|metric| Explained { metric: metric.clone(), share }),
        );
        self
    }

    /// Adds the figures of several workloads, each with the share of its time that the cause
    /// accounts for.
    pub fn explaining_each<'s, 'a: 's>(
        self,
        shares: impl IntoIterator<Item = (&'s Subject<'a>, f64)>,
    ) -> Ruling {
        shares
            .into_iter()
            .fold(self, |ruling, (subject, share)| ruling.explaining(subject, Some(share)))
    }

    /// Adds the figures of several workloads, without a share.
    pub fn explaining_all(self, subjects: &[&Subject<'_>]) -> Ruling {
        subjects.iter().fold(self, |ruling, subject| ruling.explaining(subject, None))
    }

    /// Drops the figures that other verdicts explain. Returns `None` if no figures are left.
    pub fn of_the_rest(mut self, explained: &[Ruling]) -> Option<Ruling> {
        self.verdict.explains.retain(|e| {
            !explained.iter().any(|other| other.applies() && other.verdict.explains(&e.metric))
        });
        (!self.verdict.explains.is_empty()).then_some(self)
    }

    /// Sets the cheapest test that would confirm or refute the ruling.
    pub fn next_test(self, test: impl Into<String>) -> Ruling {
        Ruling { verdict: self.verdict.next_test(test), ..self }
    }

    /// Whether it explains all figures of this workload.
    pub fn explains(&self, subject: &Subject<'_>) -> bool {
        self.applies() && subject.metrics().iter().all(|metric| self.verdict.explains(metric))
    }

    /// Whether the answer is yes.
    pub fn applies(&self) -> bool {
        self.answer == Answer::Yes
    }
}
