//! The small proving ground: verdicts of `quick` on virtual drives with a known cause. `cargo xtask
//! bench verdicts` runs all causes, with ten specimens of each, and draws drives at random.

use std::sync::Arc;

use crate::proving::counterfactual::{Judgement, Trial};
use crate::proving::drawn::{Drawn, draw};
use crate::proving::headline::{Headline, HeadlineTrial};
use crate::proving::truth::{CAUSE_MIN, HELD_MIN, WRONG_MAX};
use crate::proving::{SCENARIOS, Scenario, judge, method, plain, quick};
use engine::Simulator;
use methods::find;
use model::DriveSpec;
use record::{FindingKind, MetricKey, Order, VerdictKind};
use script::{Options, Session};

/// Virtual seconds: short, but long enough for every rule to have its data.
const SECONDS: u64 = 3;

fn scenario(name: &str) -> &'static Scenario {
    SCENARIOS.iter().find(|scenario| scenario.name == name).expect("a scenario")
}

#[test]
fn the_link_is_not_blamed_for_random_access_limited_by_another_cause() {
    let causes = [
        "mapping unit 64 KiB",
        "one core of 40 us",
        "host time of 100 us",
        "device depth 2",
        "cache ends inside the run",
        "8 times the link",
        "NAND-bound SATA drive",
        "worn, reads repeat",
    ];
    for name in causes {
        let mut spec = plain();
        (scenario(name).cause)(&mut spec);
        let out = quick(&spec, 1, SECONDS);
        let random = |metric: &str| {
            MetricKey::parse(metric).as_cell().is_some_and(|c| c.order != Order::Sequential)
        };
        let links = out.verdicts.iter().filter(|verdict| verdict.kind == VerdictKind::Link);
        for explained in links.flat_map(|verdict| &verdict.explains) {
            assert!(!random(&explained.metric), "{name}: {explained:?}");
        }
    }
}

#[test]
fn only_the_injected_causes_are_named() {
    let named = [
        // Its tests, and the writes repeated between them, share a few tenths of a second.
        ("mapping unit 64 KiB", 6 * SECONDS, VerdictKind::MappingUnit),
        ("one core of 100 us", SECONDS, VerdictKind::PerCommand),
        // A queue of two is measured beside the others.
        ("device depth 2", 4 * SECONDS, VerdictKind::DeviceDepth),
        // Cells of a tenth of a second have no temperature.
        ("hot from the start", 4 * SECONDS, VerdictKind::Heat),
        ("PCIe 1.0 x1", SECONDS, VerdictKind::Link),
        ("one die", 4 * SECONDS, VerdictKind::FlashBound),
    ];
    for (name, seconds, kind) in named {
        let tally = judge(scenario(name), 1, seconds);
        assert!(tally.slips.is_empty(), "{:?}", tally.slips);
        assert!(tally.right.contains_key(kind.name()), "{name}: {tally:?}");
    }
}

/// The seed that draws a drive, drawn for the suite alone.
const DRAWN: u64 = 40;

#[test]
fn drawn_drives_are_valid_differ_and_are_repeated_by_their_seed() {
    let drawn = draw(200, DRAWN);
    assert_eq!(drawn, draw(200, DRAWN));
    let shipped: Vec<&Drawn> = drawn.iter().filter(|drive| drive.overrides.is_empty()).collect();
    let presets: Vec<&str> = DriveSpec::presets().collect();
    assert!(presets.iter().all(|preset| shipped.iter().any(|drive| drive.preset == *preset)));
    let commands: Vec<String> = drawn.iter().map(Drawn::command).collect();
    assert!(commands.iter().all(|command| commands.iter().filter(|c| *c == command).count() == 1));
    assert!(drawn.iter().all(|drive| drive.spec().seed.value == drive.specimen));
}

/// The claims and the truth of a slow drive: behind a link of 22 MB/s, reads wait for commands that
/// take 800 us.
#[test]
fn what_limits_a_drawn_drive_is_found_by_lifting_every_group() {
    let overrides = vec![("turnaround", "800".to_string())];
    let drive = Drawn { preset: "sd-150x", overrides, specimen: 1, session: DRAWN };
    let trial = Trial::run(&drive);
    assert_eq!(trial.drawn, drive);
    let (cause, gain) = trial.gains["rand-read-4KiB-q1"][0];
    assert!(cause == "turnaround" && gain >= HELD_MIN, "{cause} {gain}");
    let wrong = trial.claims.iter().filter(|claim| claim.judgement == Judgement::Wrong);
    let wrong: Vec<_> = wrong.map(|claim| (&claim.kind, &claim.metric)).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
    for claim in trial.claims.iter().filter(|claim| claim.judgement == Judgement::Right) {
        assert!(trial.gains[&claim.metric].iter().any(|(_, gain)| *gain >= CAUSE_MIN));
    }
    assert!(trial.count(Judgement::Right) > 0 && CAUSE_MIN > WRONG_MAX);
    assert!(trial.silent.iter().all(|metric| trial.held.contains(metric)));
    let causeless = trial.gains.values().filter(|gains| gains[0].1 < CAUSE_MIN).count();
    assert_eq!((trial.causeless, trial.held.len() + causeless > 0), (causeless, true));
}

/// The model has few open blocks, too, and the drive's flash is slower.
#[test]
fn a_limit_that_the_model_shares_is_not_the_cause_of_a_loss() {
    let overrides = vec![("nand.channels", "1".to_string()), ("nand.bus_mb_s", "5".to_string())];
    let drive = Drawn { preset: "sd-unmarked-4g", overrides, specimen: 1, session: DRAWN };
    let trial = HeadlineTrial::run(&drive);
    let HeadlineTrial { headline, judgement, largest, causes, drawn } = &trial;
    let said = format!("{}: {headline} {largest:?} {causes:?}", drawn.command());
    assert!(*judgement < Headline::Wrong && largest.1 >= HELD_MIN, "{judgement:?} {said}");
    assert!(!headline.contains("few open blocks"), "{said}");
}

#[test]
fn a_loss_with_one_cause_is_named_with_it() {
    let overrides = vec![("turnaround", "800".to_string())];
    let drive = Drawn { preset: "sd-150x", overrides, specimen: 1, session: DRAWN };
    let trial = HeadlineTrial::run(&drive);
    assert_eq!(trial.judgement, Headline::Right, "{}", trial.headline);
}

/// After four rounds of random writes the cache of this drive is full.
#[test]
fn writes_that_leave_the_cache_between_rounds_are_said_to_fall() {
    let spec = DriveSpec::preset("wd-sn530-256").expect("a preset");
    let spec = spec.with_overrides(&[("vary", "0")]).expect("an override");
    let noted = |rounds: u32| {
        let nobody = Box::new(|_: &rig::Event| {});
        let mut drive = Simulator::new(spec.clone(), "sim:drive", Arc::default(), nobody);
        let mut session = Session::new(&mut drive);
        let options = Options { replicates: Some(rounds), ..Options::default() };
        session.run(find("quick").expect("a method"), &options).expect("it ends");
        let out = session.finish();
        let note = |kind| out.warnings.iter().find(|f| f.kind == kind).map(|f| f.text.clone());
        (note(FindingKind::NotSteady), note(FindingKind::InsideCache))
    };
    let (falls, inside) = noted(8);
    let falls = falls.expect("noted");
    assert!(falls.contains("random 4 KiB writes at depth 32 fell from"), "{falls}");
    assert_eq!(inside, None, "they did not stay in the cache");
    assert!(noted(2).1.is_some());
}

/// The first part of this drive is still in its write cache, and is read faster than the other one
/// before any discard.
#[test]
fn a_drive_that_ignores_discards_is_not_said_to_trim() {
    let spec = DriveSpec::preset("wd-sn530-256").expect("a preset");
    let spec = spec.with_overrides(&[("trim", "false")]).expect("an override");
    let out = method("trim", &spec, 1, 300);
    let kinds: Vec<_> = out.verdicts.iter().map(|verdict| verdict.kind.name()).collect();
    assert!(kinds.contains(&"NO TRIM") && !kinds.contains(&"TRIM WORKS"), "{kinds:?}");
}

/// Document 000 found 1558 and 4347 KiB/s, mostly an effect of the host.
#[test]
fn formats_of_a_virtual_drive_carry_a_caveat() {
    let mut spec = plain();
    spec.formats = vec![512, 4096];
    spec.capacity.value.0 = 1 << 30;
    let out = method("lbaf", &spec, 1, 2);
    assert!(out.warnings.iter().any(|finding| finding.kind == FindingKind::NoHost));
}
