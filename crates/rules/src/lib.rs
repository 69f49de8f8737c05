//! Conclusions: small pure rules over measurements, one file each.
//!
//! A rule answers yes, no or unknown, and gives its numbers with each answer. Claims and checks are
//! always reported; causes and bounds (link, processor, depth, heat, a full file system) only if
//! they apply. If no bound applies, one verdict `UNDETERMINED` lists those ruled out and those
//! unknown. Rules see measurements as [`Digest`]s, and what a method measured for one of them as
//! [`Checks`]; [`time_series`] is the series of a long workload, [`changes`] are the workloads that
//! separate causes.
//!
//! Adding a verdict touches its rule's file, `record::VerdictKind` and the list [`RULES`]. Each rule
//! lists the rules that override it; `judge` itself knows only two: figures of memory, and the sides
//! of a mix.

#![forbid(unsafe_code)]

mod above_drive;
#[cfg(test)]
mod boundaries;
mod cache_end;
pub mod changes;
mod checks;
mod contenders;
mod content;
mod cpu;
mod cpu_shared;
mod depth;
mod device_cache;
mod device_depth;
mod digest;
mod fallen;
mod flush;
mod flush_cost;
mod full;
mod grid;
mod group;
mod heat;
mod host;
mod in_drive;
mod just_written;
mod limit;
mod limit_test;
mod link;
mod map_cache;
mod media;
mod misaligned;
mod mix;
mod mixed;
mod nearby;
mod one_rate;
mod others;
mod plateau;
mod power;
mod ram;
pub mod rate_change;
mod rate_limit;
mod rule;
mod speed;
mod stall;
mod steady;
mod subject;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod throttle;
pub mod time_series;
mod trim;
mod unsteady;
mod untrimmed;
mod wear;

use record::{Verdict, VerdictKind};
use rig::TargetInfo;

use rule::{Facts, Role, Rule};
use subject::Subject;

pub use cache_end::Sustained;
pub use checks::Checks;
pub use content::{CONTENTS, Contents, gains_from};
pub use device_cache::{WorkingSet, WorkingSets};
pub use device_depth::{depth_to_test, gains_from_queue};
pub use digest::Digest;
pub use flush::FlushTimes;
pub use host::Neighbour;
pub use limit_test::{LimitTest, next_limit_test};
pub use map_cache::{MapSpan, held as map_held, misses as map_misses};
pub use misaligned::{ALIKE, Shift};
pub use plateau::Plateau;
pub use ram::PageCache;
pub use rule::{Answer, Ruling};
pub use speed::{CommandTimes, Legacy, PlaceRates};
pub use steady::Steadiness;
pub use throttle::HeatLoad;
pub use trim::Trim;
pub use unsteady::reads_differ;
pub use untrimmed::ReachedState;
pub use untrimmed::States;

/// The rules, in the order of their conclusions.
static RULES: [&Rule; 39] = [
    &ram::RULE,
    &cache_end::RULE,
    &untrimmed::UNTRIMMED,
    &untrimmed::RESTORED,
    &trim::RULE,
    &steady::RULE,
    &throttle::RULE,
    &misaligned::RULE,
    &speed::LEGACY,
    &speed::PLACES,
    &speed::PER_COMMAND,
    &flush::RULE,
    &content::RULE,
    &device_cache::RULE,
    &map_cache::RULE,
    &fallen::RULE,
    &group::QUOTA,
    &group::IO,
    &cpu_shared::RULE,
    &rate_limit::RULE,
    &rate_limit::BEYOND,
    &stall::RULE,
    &others::RULE,
    &link::RULE,
    &host::RULE,
    &depth::RULE,
    &cpu::RULE,
    &heat::RULE,
    &flush_cost::RULE,
    &nearby::RULE,
    &contenders::RULE,
    &wear::RULE,
    &power::RULE,
    &link::DOWNGRADED,
    &full::RULE,
    &mix::RULE,
    &above_drive::RULE,
    &media::RULE,
    &just_written::RULE,
];

/// All conclusions from the measurements on this target: claims and checks first, then the causes.
pub fn judge(target: &TargetInfo, seen: &[Digest], checks: &Checks) -> Vec<Verdict> {
    let facts = Facts { target, seen, checks };
    // The method's own come first.
    let mut rulings = checks.list::<Ruling>().to_vec();
    // Without a timed workload, bounds on speed are not judged.
    let untimed = seen.is_empty() && (checks.get::<Trim>().is_some() || !rulings.is_empty());
    let (mut applied, mut bounds) = (Vec::new(), Vec::new());
    for rule in RULES.iter() {
        let is_judged =
            !untimed || rule.role == Role::Claim || (target.ram && std::ptr::eq(*rule, &ram::RULE));
        if !is_judged || rule.is_overridden(&applied) {
            continue;
        }
        let mut conclusions = (rule.judge)(&facts);
        if rule.role == Role::Rest {
            conclusions = conclusions.into_iter().filter_map(|r| r.of_the_rest(&rulings)).collect();
        }
        applied.extend(conclusions.iter().any(Ruling::applies).then_some(*rule));
        bounds.extend(conclusions.iter().filter(|_| rule.role == Role::Bound).cloned());
        rulings.extend(conclusions.into_iter().filter(|ruling| rule.reports(ruling)));
    }
    let subjects = Subject::reported(seen);
    mixed::follow(seen, &mut rulings);
    mixed::follow_rested(seen, &mut rulings);
    let open = unexplained(&subjects, &rulings);
    // Figures served from memory have no bound in the drive.
    let is_drives = !untimed && !rule::overridden(&[&ram::RULE], &applied);
    let is_open = is_drives && (seen.is_empty() || !open.is_empty());
    let explained = rulings.iter().any(|r| r.applies() && !r.verdict.explains.is_empty());
    let verdicts = rulings.into_iter().map(|ruling| ruling.verdict);
    verdicts.chain(is_open.then(|| undetermined(&bounds, &open, explained))).collect()
}

/// The checks that could not tell: those that were made, and whose measurements were too few or
/// scattered too much.
pub fn inconclusive(target: &TargetInfo, seen: &[Digest], checks: &Checks) -> Vec<Verdict> {
    let facts = Facts { target, seen, checks };
    let conclusions = checks.list::<Ruling>().to_vec();
    let untimed = seen.is_empty() && (checks.get::<Trim>().is_some() || !conclusions.is_empty());
    let is_judged = |rule: &&&Rule| {
        rule.role == Role::Claim || (rule.role == Role::Check && !untimed && !target.ram)
    };
    let rulings = RULES.iter().filter(is_judged).flat_map(|rule| (rule.judge)(&facts));
    let unknown = conclusions.into_iter().chain(rulings).filter(|r| r.answer == Answer::Unknown);
    unknown.map(|ruling| ruling.verdict).collect()
}

/// The conclusions of a method that draws its own. On a target in memory they are not about a
/// drive, so RAM is added as the first.
pub fn own(target: &TargetInfo, mut verdicts: Vec<Verdict>) -> Vec<Verdict> {
    if target.ram && verdicts.iter().all(|verdict| verdict.kind != VerdictKind::Ram) {
        verdicts.insert(0, ram::ram(target, &[], None).verdict);
    }
    verdicts
}

/// The metrics of reported workloads that none of these verdicts explains.
pub fn open_metrics<'a>(seen: &'a [Digest], verdicts: &[Verdict]) -> Vec<&'a str> {
    let metrics = Subject::reported(seen).into_iter().flat_map(|subject| subject.metrics());
    let metrics = metrics.map(String::as_str);
    metrics.filter(|metric| !verdicts.iter().any(|verdict| verdict.explains(metric))).collect()
}

/// The workloads whose speed no cause explains.
fn unexplained<'s, 'a>(subjects: &'s [Subject<'a>], rulings: &[Ruling]) -> Vec<&'s Subject<'a>> {
    subjects.iter().filter(|subject| !rulings.iter().any(|r| r.explains(subject))).collect()
}

/// The verdict on workloads without a cause, which are named if others have one. The drive is
/// blamed only if it took most of the time. Lists the bounds ruled out and those unknown.
fn undetermined(bounds: &[Ruling], open: &[&Subject<'_>], is_named: bool) -> Verdict {
    let [no, unknown] = [Answer::No, Answer::Unknown].map(|answer| {
        let matching = bounds.iter().filter(|ruling| ruling.answer == answer);
        matching.map(|ruling| ruling.verdict.text.as_str()).collect::<Vec<_>>().join(", ")
    });
    let mut statements = in_drive::statements(open, is_named);
    if open.is_empty() {
        statements.push("no cause was found".to_string());
    }
    let mut text = record::capitalised(&statements.join("; "));
    text += &if no.is_empty() { ".".to_string() } else { format!(": {no}.") };
    if !unknown.is_empty() {
        text += &format!(" Unknown: {unknown}.");
    }
    let evidence = bounds.iter().flat_map(|ruling| ruling.verdict.evidence.clone());
    Verdict::new(VerdictKind::Undetermined, text).with_evidence(evidence)
}

/// A share for display: `97%`, `0.4%`.
fn percent(share: f64) -> String {
    match share * 100.0 {
        p if p.abs() < 1.0 && p != 0.0 => format!("{p:.1}%"),
        p => format!("{p:.0}%"),
    }
}

#[cfg(test)]
mod tests {
    use record::{Finding, FindingKind, Level};
    use rig::{SplitPart, TimeSplit};

    use super::testing::{device, digest, target, with_link};
    use super::*;

    fn kinds(target: &TargetInfo, seen: &[Digest], checks: &Checks) -> Vec<VerdictKind> {
        judge(target, seen, checks).into_iter().map(|verdict| verdict.kind).collect()
    }

    fn with<T: 'static>(result: T) -> Checks {
        let mut checks = Checks::default();
        checks.put(result);
        checks
    }

    fn reads(bytes: u64) -> Digest {
        let device = Some(device(bytes, 0));
        let splits = [Some(TimeSplit::new(bytes >> 12, 100).with(SplitPart::Drive, 95)), None];
        Digest { bytes: [bytes, 0], ops: [bytes >> 12, 0], device, splits, ..digest("a") }
    }

    #[test]
    fn shares_below_one_percent_have_a_decimal() {
        let shown = [0.97, 0.01, 0.004, -0.004, 0.0].map(percent);
        assert_eq!(shown, ["97%", "1%", "0.4%", "-0.4%", "0%"]);
    }

    #[test]
    fn figures_of_memory_say_nothing_about_link_cache_or_depth() {
        let full = with_link(900e6);
        assert!(
            kinds(&full, &[reads(900_000_000)], &Checks::default()).contains(&VerdictKind::Link)
        );
        let memory = TargetInfo { ram: true, ..full };
        let near = vec![WorkingSet::default(); 3];
        let checks = with(WorkingSets { near, far: WorkingSet::default() });
        assert_eq!(kinds(&memory, &[reads(900_000_000)], &checks), [VerdictKind::Ram]);
    }

    #[test]
    fn heat_under_a_lasting_load_overrides_heat_by_temperature() {
        let finding = Finding::new(FindingKind::Throttled, Level::Warn, "");
        let seen = [Digest { findings: vec![finding], ..reads(1 << 30) }];
        let heat = |checks: &Checks| {
            let found = kinds(&target(), &seen, checks);
            found.into_iter().filter(|kind| *kind == VerdictKind::Heat).count()
        };
        assert_eq!(heat(&Checks::default()), 1);
        assert_eq!(
            heat(&with(throttle::throttling())),
            1,
            "one of two rules with the same verdict"
        );
        assert_eq!(
            heat(&with(HeatLoad::default())),
            1,
            "a rule that does not apply overrides nothing"
        );
    }

    #[test]
    fn without_a_bound_the_causes_ruled_out_and_unknown_are_listed() {
        let verdicts = judge(&target(), &[reads(1 << 30)], &Checks::default());
        let last = verdicts.last().expect("undetermined");
        assert_eq!(last.kind, VerdictKind::Undetermined);
        let text = "The drive itself seems to be the limit: CPU at most 10% of a core. \
                    Unknown: link speed, queue depth (too few operations at a depth above 1).";
        assert_eq!(last.text, text);
    }

    #[test]
    fn tests_that_time_nothing_have_no_bound() {
        let trim = with(Trim::default());
        assert_eq!(kinds(&target(), &[], &trim), [VerdictKind::Undetermined]);
        let own = with(vec![Ruling::yes(VerdictKind::Mark, "scores")]);
        assert_eq!(kinds(&target(), &[], &own), [VerdictKind::Mark]);
    }

    #[test]
    fn writes_alone_leave_the_question_of_memory_moot() {
        let writes = Digest { bytes: [0, 1 << 30], device: None, ..digest("w") };
        let found = judge(&target(), &[writes], &Checks::default());
        assert!(found.iter().all(|verdict| !verdict.text.contains("reads")), "{found:?}");
    }

    /// Memory figures reveal nothing about a drive. Figures under a control group's limit reveal
    /// nothing about its flash or commands.
    #[test]
    fn memory_and_limits_of_a_group_silence_the_rules_about_the_drive() {
        let silent = |rule: &Rule, by: &'static Rule| rule.is_overridden(&[by]);
        let of_drive = [
            &device_cache::RULE,
            &fallen::RULE,
            &group::IO,
            &stall::RULE,
            &others::RULE,
            &link::RULE,
            &host::RULE,
            &depth::RULE,
            &flush_cost::RULE,
            &nearby::RULE,
            &contenders::RULE,
            &wear::RULE,
            &power::RULE,
            &above_drive::RULE,
            &media::RULE,
            &just_written::RULE,
        ];
        of_drive.iter().for_each(|rule| assert!(silent(rule, &ram::RULE)));
        let inside = [
            &host::RULE,
            &nearby::RULE,
            &contenders::RULE,
            &power::RULE,
            &above_drive::RULE,
            &media::RULE,
        ];
        for rule in inside {
            assert!(silent(rule, &group::QUOTA) && silent(rule, &group::IO));
            assert!(silent(rule, &cpu_shared::RULE));
        }
        assert!(silent(&cpu::RULE, &group::QUOTA) && silent(&above_drive::RULE, &cpu::RULE));
        assert!(silent(&media::RULE, &others::RULE) && silent(&fallen::RULE, &cache_end::RULE));
        assert!(silent(&heat::RULE, &throttle::RULE));
    }
}
