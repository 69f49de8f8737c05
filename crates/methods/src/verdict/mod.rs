//! Conclusions: small pure rules over the measurements, one per file.
//!
//! A rule answers yes, no or unknown, and gives its numbers in each case. The checks (memory,
//! flush, content, device cache) are always reported. The causes (link, processor, depth, heat, a
//! full file system) are reported if they apply; if none does, one verdict `UNDETERMINED` lists the
//! causes ruled out and those unknown.

mod cache_end;
mod content;
mod cpu;
mod depth;
mod device_cache;
mod flush;
mod full;
mod heat;
mod link;
mod misaligned;
mod mix;
mod ram;
mod speed;
mod steady;
#[cfg(test)]
pub(crate) mod testing;
mod throttle;
mod trim;
mod untrimmed;

use record::{Evidence, Unit, Verdict, VerdictKind};
use rig::TargetInfo;

use crate::Digest;

pub(crate) use cache_end::Sustained;
pub(crate) use content::{CONTENTS, Contents};
pub(crate) use device_cache::WorkingSet;
pub(crate) use flush::FlushTimes;
pub(crate) use misaligned::Shift;
pub(crate) use ram::PageCache;
pub(crate) use speed::{CommandTimes, Legacy, PlaceRates};
pub(crate) use steady::Steadiness;
pub(crate) use throttle::Warmth;
pub(crate) use trim::Trim;
pub(crate) use untrimmed::States;

/// Results of the checks of `authentic` and of the whole-drive tests; `None` for checks not made.
#[derive(Clone, Debug, Default)]
pub struct Checks {
    pub(crate) page_cache: Option<PageCache>,
    pub(crate) flush: Option<FlushTimes>,
    pub(crate) contents: Option<Contents>,
    pub(crate) working_sets: Option<Vec<WorkingSet>>,
    pub(crate) sustained: Option<Sustained>,
    pub(crate) states: Option<States>,
    pub(crate) trim: Option<Trim>,
    pub(crate) shifts: Option<Vec<Shift>>,
    pub(crate) warmth: Option<Warmth>,
    pub(crate) steadiness: Vec<Steadiness>,
    /// Conclusions drawn by the method itself.
    pub(crate) findings: Vec<Ruling>,
    pub(crate) speed: Option<Legacy>,
    pub(crate) places: Vec<PlaceRates>,
    pub(crate) command: Vec<CommandTimes>,
}

impl Checks {
    /// Stores the progress of rounds, replacing the earlier one of the same name.
    pub(crate) fn put_steadiness(&mut self, new: Steadiness) {
        self.steadiness.retain(|s| s.name != new.name);
        self.steadiness.push(new);
    }
}

/// Answer of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Yes,
    No,
    Unknown,
}

/// A rule's answer, with its text and evidence.
#[derive(Clone, Debug)]
pub(crate) struct Ruling {
    pub answer: Answer,
    pub verdict: Verdict,
}

impl Ruling {
    fn new(answer: Answer, kind: VerdictKind, text: impl Into<String>) -> Ruling {
        let verdict = Verdict { kind, text: text.into(), evidence: Vec::new() };
        Ruling { answer, verdict }
    }

    /// The conclusion holds.
    pub fn yes(kind: VerdictKind, text: impl Into<String>) -> Ruling {
        Ruling::new(Answer::Yes, kind, text)
    }

    /// The conclusion does not hold; `kind` is the opposite one.
    pub fn no(kind: VerdictKind, text: impl Into<String>) -> Ruling {
        Ruling::new(Answer::No, kind, text)
    }

    /// The data are inconclusive.
    pub fn unknown(text: impl Into<String>) -> Ruling {
        Ruling::new(Answer::Unknown, VerdictKind::Undetermined, text)
    }

    /// Adds a number as evidence.
    pub fn with(mut self, name: impl Into<String>, value: f64, unit: Unit) -> Ruling {
        self.verdict.evidence.push(Evidence::new(name, value, unit));
        self
    }
}

/// All conclusions about the measurements on this target: the checks first, then the causes.
pub fn judge(target: &TargetInfo, seen: &[Digest], checks: &Checks) -> Vec<Verdict> {
    // Nothing was timed, so nothing limits the speed.
    if seen.is_empty() && checks.trim.is_some() {
        return whole_drive(target, checks).into_iter().map(|r| r.verdict).collect();
    }
    let ram = ram::ram(target, seen, checks.page_cache.as_ref());
    // Responses from memory say nothing about the cache, link or depth of the drive.
    let in_memory = ram.answer == Answer::Yes;
    // For tests that only write, questions about reads are moot.
    let moot = ram.answer == Answer::Unknown && !seen.is_empty() && !seen.iter().any(reads);
    let mut rulings = checks.findings.clone();
    if seen.is_empty() && !rulings.is_empty() {
        return rulings.into_iter().map(|r| r.verdict).collect();
    }
    rulings.extend((!moot).then_some(ram));
    rulings.extend(whole_drive(target, checks));
    rulings.extend(checks.flush.as_ref().map(|times| flush::flush(target, times)));
    if !target.ram {
        rulings.extend(checks.contents.as_ref().map(content::content));
    }
    if !in_memory {
        rulings.extend(checks.working_sets.as_deref().map(device_cache::device_cache));
    }
    let bounds = match in_memory {
        true => vec![cpu::cpu(seen)],
        false => vec![link::link(target, seen), depth::depth(seen), cpu::cpu(seen)],
    };
    // The result of lasting work outweighs a mere temperature.
    let reported = rulings.iter().any(|r| r.verdict.kind == VerdictKind::Heat);
    let heat = (!reported).then(|| heat::heat(target, seen));
    let others = [link::downgraded(target), full::full(target), mix::mix(seen)];
    rulings.extend(bounds.iter().cloned().chain(heat).chain(others).filter(applies));
    let mut verdicts: Vec<Verdict> = rulings.into_iter().map(|r| r.verdict).collect();
    if !in_memory && !bounds.iter().any(applies) {
        verdicts.push(undetermined(&bounds));
    }
    verdicts
}

/// Conclusions of the whole-drive tests.
fn whole_drive(target: &TargetInfo, checks: &Checks) -> Vec<Ruling> {
    let mut rulings = Vec::new();
    rulings.extend(checks.sustained.as_ref().map(|s| cache_end::cache_end(target, s)));
    if let Some(states) = &checks.states {
        rulings.extend([untrimmed::untrimmed(states), untrimmed::restored(states)]);
    }
    rulings.extend(checks.trim.as_ref().map(trim::trim));
    rulings.extend(checks.steadiness.iter().map(steady::steady));
    rulings.extend(checks.warmth.as_ref().map(throttle::throttle));
    rulings.extend(checks.shifts.as_deref().map(misaligned::misaligned));
    rulings.extend(checks.speed.as_ref().map(speed::legacy));
    rulings.extend(checks.places.iter().filter(|p| p.places.len() > 1).map(speed::places));
    rulings.extend(checks.command.iter().map(speed::per_command));
    rulings
}

fn reads(digest: &Digest) -> bool {
    digest.bytes[0] > 0
}

fn applies(ruling: &Ruling) -> bool {
    ruling.answer == Answer::Yes
}

/// No limit of the speed was found: lists the causes ruled out and those unknown.
fn undetermined(bounds: &[Ruling]) -> Verdict {
    let texts = |answer| {
        let of = bounds.iter().filter(|r| r.answer == answer);
        of.map(|r| r.verdict.text.as_str()).collect::<Vec<_>>().join("; ")
    };
    let (no, unknown) = (texts(Answer::No), texts(Answer::Unknown));
    let mut text = String::from("Nothing outside of the drive was found to bound its speed.");
    if !no.is_empty() {
        text += &format!(" Ruled out: {no}.");
    }
    if !unknown.is_empty() {
        text += &format!(" Not known: {unknown}.");
    }
    let evidence = bounds.iter().flat_map(|r| r.verdict.evidence.clone()).collect();
    Verdict { kind: VerdictKind::Undetermined, text, evidence }
}

/// A share for display: `97%`, `0.4%`.
fn percent(share: f64) -> String {
    match share * 100.0 {
        p if p.abs() < 1.0 && p != 0.0 => format!("{p:.1}%"),
        p => format!("{p:.0}%"),
    }
}
