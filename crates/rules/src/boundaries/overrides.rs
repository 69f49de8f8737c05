//! The rules that override each rule, and what [`judge`] makes of them.

use record::{Finding, FindingKind, Level, VerdictKind};
use rig::{SplitPart, TargetInfo};

use crate::rule::{Role, Rule};
use crate::testing::{device, digest, named, split, target, with_link};
use crate::{
    Checks, Digest, RULES, Ruling, above_drive, cache_end, contenders, content, cpu, cpu_shared,
    depth, device_cache, fallen, flush, flush_cost, full, group, heat, host, judge, just_written,
    link, map_cache, media, misaligned, mix, nearby, others, power, ram, rate_limit, speed, stall,
    steady, throttle, trim, untrimmed, wear,
};

/// Every rule with its name, in the order of their conclusions.
static NAMES: [(&str, &Rule); 39] = [
    ("ram", &ram::RULE),
    ("cache end", &cache_end::RULE),
    ("untrimmed", &untrimmed::UNTRIMMED),
    ("restored", &untrimmed::RESTORED),
    ("trim", &trim::RULE),
    ("steady", &steady::RULE),
    ("throttle", &throttle::RULE),
    ("misaligned", &misaligned::RULE),
    ("legacy", &speed::LEGACY),
    ("places", &speed::PLACES),
    ("per command", &speed::PER_COMMAND),
    ("flush", &flush::RULE),
    ("content", &content::RULE),
    ("device cache", &device_cache::RULE),
    ("map cache", &map_cache::RULE),
    ("fallen", &fallen::RULE),
    ("quota", &group::QUOTA),
    ("io limit", &group::IO),
    ("cpu shared", &cpu_shared::RULE),
    ("rate limit", &rate_limit::RULE),
    ("limit beyond", &rate_limit::BEYOND),
    ("stall", &stall::RULE),
    ("others", &others::RULE),
    ("link", &link::RULE),
    ("host", &host::RULE),
    ("depth", &depth::RULE),
    ("cpu", &cpu::RULE),
    ("heat", &heat::RULE),
    ("flush cost", &flush_cost::RULE),
    ("nearby", &nearby::RULE),
    ("contenders", &contenders::RULE),
    ("wear", &wear::RULE),
    ("power", &power::RULE),
    ("downgraded", &link::DOWNGRADED),
    ("full", &full::RULE),
    ("mix", &mix::RULE),
    ("above drive", &above_drive::RULE),
    ("media", &media::RULE),
    ("just written", &just_written::RULE),
];

fn name(rule: &Rule) -> &'static str {
    NAMES.iter().find(|(_, named)| std::ptr::eq(*named, rule)).expect("a name").0
}

#[test]
fn each_rule_has_its_place_its_role_and_the_rules_that_override_it() {
    let said = RULES.iter().map(|rule| {
        let by: Vec<_> = rule.overridden_by.iter().map(|rule| name(rule)).collect();
        (name(rule), rule.role, by.join(", "))
    });
    let (limits, ram) = ("ram, quota, io limit, cpu shared, rate limit", "ram");
    use Role::{Bound, Cause, Check, Claim, Rest};
    let expected = [
        ("ram", Check, ""),
        ("cache end", Claim, ""),
        ("untrimmed", Claim, ""),
        ("restored", Claim, ""),
        ("trim", Claim, ""),
        ("steady", Claim, ""),
        ("throttle", Claim, ""),
        ("misaligned", Claim, ""),
        ("legacy", Claim, ""),
        ("places", Claim, ""),
        ("per command", Claim, ""),
        ("flush", Check, ""),
        ("content", Check, ""),
        ("device cache", Check, ram),
        ("map cache", Check, ram),
        ("fallen", Check, "ram, cache end, throttle"),
        ("quota", Cause, ""),
        ("io limit", Cause, ram),
        ("cpu shared", Cause, "quota"),
        ("rate limit", Cause, "ram, quota, io limit"),
        ("limit beyond", Cause, "ram, quota, io limit"),
        ("stall", Cause, ram),
        ("others", Cause, ram),
        ("link", Bound, ram),
        ("host", Cause, limits),
        ("depth", Bound, ram),
        ("cpu", Bound, "quota"),
        ("heat", Cause, "throttle"),
        ("flush cost", Cause, ram),
        ("nearby", Cause, limits),
        ("contenders", Cause, limits),
        ("wear", Cause, ram),
        ("power", Cause, limits),
        ("downgraded", Cause, ""),
        ("full", Cause, ""),
        ("mix", Cause, ""),
        ("above drive", Rest, "ram, quota, io limit, cpu shared, cpu"),
        ("media", Rest, "ram, quota, io limit, cpu shared, rate limit, others"),
        ("just written", Rest, "ram, quota, io limit, cpu shared, rate limit, others"),
    ];
    for ((rule, role, by), expected) in said.zip(expected) {
        assert_eq!((rule, role, by.as_str()), expected);
    }
}

fn kinds(target: &TargetInfo, seen: &[Digest], checks: &Checks) -> String {
    let verdicts = judge(target, seen, checks);
    verdicts.iter().map(|verdict| verdict.kind.name()).collect::<Vec<_>>().join(", ")
}

/// A second of random reads that the drive served.
fn reads(name: &str) -> Digest {
    let (device, splits) = (Some(device(100_000_000, 0)), split(&[(SplitPart::Drive, 95)]));
    named(name, Digest { ops: [1000, 0], bytes: [100_000_000, 0], device, splits, ..digest("x") })
}

#[test]
fn claims_and_checks_are_reported_and_causes_only_if_they_apply() {
    let stalled = Digest { stalled_s: 0.5, ..reads("a") };
    assert_eq!(kinds(&target(), &[reads("a")], &Checks::default()), "DRIVE, UNDETERMINED");
    assert_eq!(kinds(&target(), &[stalled], &Checks::default()), "DRIVE, STALL");
    // A link that is free is a bound ruled out, and not reported.
    let wide = with_link(1e9);
    assert_eq!(kinds(&wide, &[reads("a")], &Checks::default()), "DRIVE, UNDETERMINED");
    assert_eq!(kinds(&with_link(1e8), &[reads("a")], &Checks::default()), "DRIVE, LINK");
}

#[test]
fn what_a_cause_leaves_unexplained_stays_undetermined() {
    let stalled = Digest { stalled_s: 0.5, ..reads("rand-read-4KiB-q1") };
    let seen = [stalled, reads("rand-read-4KiB-q8"), reads("rand-read-4KiB-q9")];
    let verdicts = judge(&target(), &seen, &Checks::default());
    let last = verdicts.last().expect("a verdict");
    assert_eq!(
        last.text,
        "The drive itself seems to be the limit of random 4 KiB reads at depth 8 and random 4 KiB \
         reads at depth 9: CPU at most 10% of a core. Unknown: link speed, queue depth (too few \
         operations at a depth above 1)."
    );
    let numbers: Vec<_> = last.evidence.iter().map(|e| e.name.as_str()).collect();
    assert_eq!(numbers, ["processor share, random 4 KiB reads at depth 9"]);
    assert_eq!(crate::open_metrics(&seen, &verdicts), ["rand-read-4KiB-q8", "rand-read-4KiB-q9"]);
}

#[test]
fn a_cause_of_the_rest_says_nothing_about_what_is_explained() {
    let mut on = target();
    on.target.filesystem = Some(record::FileSystem::default());
    let held = |name| Digest { splits: split(&[(SplitPart::Held, 30)]), ..reads(name) };
    let stalled = |name| Digest { stalled_s: 0.5, ..held(name) };
    assert_eq!(kinds(&on, &[held("a")], &Checks::default()), "DRIVE, FILE SYSTEM");
    assert_eq!(kinds(&on, &[stalled("a")], &Checks::default()), "DRIVE, STALL");
    let verdicts = judge(&on, &[stalled("a"), held("b")], &Checks::default());
    let last = verdicts.last().expect("a verdict");
    let explained: Vec<_> = last.explains.iter().map(|e| e.metric.as_str()).collect();
    assert_eq!((last.kind.name(), explained), ("FILE SYSTEM", vec!["b"]));
}

#[test]
fn a_rule_that_applies_silences_those_it_overrides() {
    let quota = Digest { throttled_s: 0.5, ..reads("a") };
    let busy = |run: Digest| {
        let finding = Finding::new(FindingKind::GeneratorBound, Level::Warn, "");
        Digest { findings: vec![finding], ..run }
    };
    assert_eq!(kinds(&target(), &[busy(reads("a"))], &Checks::default()), "DRIVE, CPU");
    assert_eq!(kinds(&target(), &[busy(quota)], &Checks::default()), "DRIVE, CPU QUOTA");
    let memory = TargetInfo { ram: true, ..target() };
    let stalled = Digest { stalled_s: 0.5, ..reads("a") };
    assert_eq!(kinds(&memory, &[stalled], &Checks::default()), "RAM");
}

#[test]
fn a_method_without_a_timed_workload_is_not_asked_for_a_bound() {
    let concludes = |kind| super::checks(vec![Ruling::yes(kind, "")]);
    assert_eq!(kinds(&target(), &[], &Checks::default()), "UNDETERMINED, UNDETERMINED");
    assert_eq!(kinds(&target(), &[], &concludes(VerdictKind::Mark)), "MARK");
    let memory = TargetInfo { ram: true, ..target() };
    assert_eq!(kinds(&memory, &[], &concludes(VerdictKind::Mark)), "MARK, RAM");
    // With one, they are.
    let seen = [reads("a")];
    assert_eq!(kinds(&target(), &seen, &concludes(VerdictKind::Mark)), "MARK, DRIVE, UNDETERMINED");
}

#[test]
fn own_conclusions_begin_with_memory() {
    let said = |ram, kind| {
        let target = TargetInfo { ram, ..target() };
        let verdicts = crate::own(&target, vec![record::Verdict::new(kind, "")]);
        verdicts.iter().map(|verdict| verdict.kind.name().to_string()).collect::<Vec<_>>()
    };
    assert_eq!(said(false, VerdictKind::Mark), ["MARK"]);
    assert_eq!(said(true, VerdictKind::Mark), ["RAM", "MARK"]);
    assert_eq!(said(true, VerdictKind::Ram), ["RAM"]);
}
