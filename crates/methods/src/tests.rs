//! The methods on a virtual drive: invariants of all, and the results of each.

use std::time::Duration;

use record::{Covers, Metric, Safety, State, TargetKind, Verdict, VerdictKind};
use rig::Rig;
use workload::{Caching, Mix, Pattern, Region, Stop, Workload};

use crate::command::COMMAND;
use crate::{ALL, BY_HAND, by_hand, find};
use rules::testing::with_link;
use script::test_drive::{Fake, Traits, perform};
use script::{
    Common, Form, MethodError, MethodInfo, Options, Outcome, Planner, Result, Session, plan,
};

/// Enough virtual seconds to give every rule its data, few enough real ones.
fn options() -> Options {
    Options { time: Some(Duration::from_secs(12)), ..Options::default() }
}

fn run(fake: &mut Fake, name: &str) -> (Outcome, Result<()>) {
    let mut out = Outcome::default();
    let result = perform(find(name).expect("exists"), fake, &options(), &mut out);
    (out, result)
}

fn done(traits: Traits, name: &str) -> Outcome {
    let (out, result) = run(&mut Fake::new(traits), name);
    result.expect("nothing is wrong with the drive");
    out
}

/// Methods that also work on a scratch file; the others that do have their own tests.
fn harmless() -> impl Iterator<Item = &'static &'static MethodInfo> {
    let own =
        ["mark", "command", "iozone", "speed", "curve", "fake", "sdclass", "iometer", "power"];
    let harmless = |m: &&&MethodInfo| m.safety < Safety::Destroys;
    ALL.iter().filter(harmless).filter(move |m| !own.contains(&m.name))
}

fn metric<'a>(out: &'a Outcome, name: &str) -> &'a Metric {
    out.metrics.iter().find(|m| m.name == name).unwrap_or_else(|| panic!("no {name}"))
}

fn verdict<'a>(out: &'a Outcome, name: &str) -> Option<&'a Verdict> {
    out.verdicts.iter().find(|v| v.kind.name() == name)
}

#[test]
fn a_slip_of_the_keys_gets_a_suggestion_and_nonsense_the_list() {
    assert_eq!(find("quick").expect("exists").name, "quick");
    let text = |name| find(name).expect_err("unknown").to_string();
    assert_eq!(text("quik"), "there is no method 'quik'; did you mean 'quick'?");
    assert_eq!(text("Authentik"), "there is no method 'Authentik'; did you mean 'authentic'?");
    assert!(text("zzzz").starts_with("there is no method 'zzzz'; known: quick, authentic, "));
    assert!(text("").starts_with("there is no method ''; known: quick, authentic, "));
}

#[test]
fn every_option_is_listed_once_with_the_methods_that_declare_it() {
    let declared = script::catalog::declared(ALL);
    for (i, (option, methods)) in declared.iter().enumerate() {
        assert!(declared[..i].iter().all(|(other, _)| other.name() != option.name()));
        let with = ALL.iter();
        let with = with.filter(|info| info.options.iter().any(|o| o.name() == option.name()));
        assert_eq!(*methods, with.map(|info| info.name).collect::<Vec<_>>(), "{}", option.name());
    }
    let typed = ALL.iter().flat_map(|m| m.options).filter(|o| o.form() != Form::Unwritten);
    let names: std::collections::BTreeSet<_> = typed.map(|option| option.name()).collect();
    assert_eq!(names.len(), declared.len());
}

#[test]
fn names_are_unique_and_every_method_explains_itself() {
    /// Beside name, safety and time in 80 columns.
    const SUMMARY_MAX: usize = 43;
    for (i, info) in ALL.iter().enumerate() {
        assert!(ALL[..i].iter().all(|m| m.name != info.name));
        assert!(!info.summary.contains('\n') && info.summary.len() <= SUMMARY_MAX, "{}", info.name);
        assert!(info.about.len() > info.summary.len() && info.seconds > 0.0, "{}", info.name);
        let writes = info.writes != MethodInfo::EMPTY.writes;
        assert_eq!(writes, info.safety > Safety::Reads, "{} says what it writes", info.name);
    }
}

#[test]
fn quick_measures_the_truth_with_the_range_of_its_rounds() {
    let out = done(Traits::default(), "quick");
    // One command at a time of 80 us plus 4 KiB at 500 MB/s, or eight in parallel.
    let command_s = 80e-6 + 4096.0 / 500e6;
    let truths = [
        ("rand-read-4KiB-q1", 1.0 / command_s),
        ("rand-read-4KiB-q32", 8.0 / command_s),
        ("seq-read-1MiB-q1", 1048576.0 / (80e-6 + 1048576.0 / 500e6)),
        ("seq-read-1MiB-q8", 8.0 * 1048576.0 / (80e-6 + 1048576.0 / 500e6)),
        ("mixed-read-4KiB-q32", 0.7 * 8.0 / command_s),
    ];
    for (name, truth) in truths {
        let m = metric(&out, name);
        assert_eq!((m.n, m.samples.len()), (4, 4), "{name}");
        let value = m.value.expect("measured");
        assert!((value / truth - 1.0).abs() < 0.025, "{name}: {truth}, not {m:?}");
        assert_eq!((m.low.zip(m.high), m.covers), (m.range(), Some(Covers::Rounds)), "{name}");
        assert!(m.low < m.value && m.value < m.high, "{m:?}");
        assert_eq!(metric(&out, &format!("{name}.undisturbed")).value, m.high);
    }
    for cell in ["seq-write-1MiB-q8", "seq-write-1MiB-q1", "rand-write-4KiB-q32"] {
        assert_eq!(metric(&out, cell).n, 4);
    }
    assert_eq!(metric(&out, "rand-write-4KiB-q1").unit, record::Unit::Iops);
    metric(&out, "rand-read-4KiB-q32.p99");
    metric(&out, "mixed-write-4KiB-q32.max");
    // Nine cells of four rounds, and five that run once, each in a state of its own.
    assert_eq!(out.series.len(), 9 * 4 + 5);
    for once in ["seq-read-just-written-1MiB-q1", "seq-read-scattered-1MiB-q8"] {
        assert_eq!((metric(&out, once).n, metric(&out, once).covers), (1, None));
    }
    assert_eq!(out.series.iter().map(|s| s.replicate).max(), Some(3));
    assert!(out.latencies.iter().any(|l| l.name == "mixed-4KiB-q32" && l.op == "write"));
    let notes: Vec<_> = out.warnings.iter().map(|w| w.kind.name()).collect();
    assert_eq!(notes, ["rest-cut", "inside-cache"], "of 12 s there are 2 s of rest");
    assert!(out.errors.is_empty());
}

#[test]
fn a_plain_drive_gets_a_clean_bill() {
    for name in ["quick", "authentic"] {
        let out = done(Traits::default(), name);
        let names: Vec<_> = out.verdicts.iter().map(|v| v.kind.name()).collect();
        let checks = ["DRIVE", "FLUSH PLAUSIBLE", "INCOMPRESSIBLE", "NO DEVICE CACHE"];
        assert_eq!(names[..4], checks, "{name}");
        assert!(verdict(&out, "MIX-DETERMINED").is_some() == (name == "quick"));
        let open = out.verdicts.iter().rfind(|v| v.kind == VerdictKind::Undetermined);
        let open = open.expect("no bound is known");
        assert!(open.text.contains("queue depth"), "{}", open.text);
        assert!(open.text.contains("Unknown: link speed"), "{}", open.text);
        assert!(out.verdicts.iter().all(|v| !v.evidence.is_empty()));
    }
}

#[test]
fn vices_are_found_out() {
    let cases: [(Traits, &str); 5] = [
        (Traits { lies: true, ..Traits::default() }, "RAM"),
        (Traits { flush_ns: 2_000, ..Traits::default() }, "FLUSH"),
        (Traits { zeros_gain: 2.0, ..Traits::default() }, "COMPRESSIBLE"),
        (Traits { cache_bytes: 8 << 20, ..Traits::default() }, "DEVICE CACHE"),
        (Traits { lies: true, no_direct: true, ..Traits::default() }, "RAM"),
    ];
    for (traits, expected) in cases {
        for name in ["quick", "authentic"] {
            let out = done(traits.clone(), name);
            assert!(verdict(&out, expected).is_some(), "{name}, {traits:?}: {:?}", out.verdicts);
        }
    }
}

#[test]
fn a_hot_drive_and_a_narrow_link_are_named() {
    let mut fake = Fake::new(Traits { heats_c_per_s: 8.0, ..Traits::default() });
    let drive = fake.info.target.drive.get_or_insert_default();
    drive.health.temperature_warn_c = Some(70.0);
    let ceiling_bytes_per_s = Some(3.9e9);
    drive.link = Some(record::Link { ceiling_bytes_per_s, ..record::Link::default() });
    let (out, result) = run(&mut fake, "quick");
    result.expect("heat is no error");
    assert!(verdict(&out, "HEAT").is_some());
    // The link explains the large blocks, and nothing about the small ones.
    let link = &verdict(&out, "LINK").expect("narrow").text;
    assert!(link.contains("sequential 1 MiB reads") && !link.contains("random"), "{link}");
    let open = out.verdicts.iter().rfind(|v| v.kind == VerdictKind::Undetermined);
    let open = &open.expect("of the others").text;
    assert!(open.starts_with("No cause was found for "), "{open}");
    assert!(!open.contains("sequential 1 MiB reads at depth 8"), "{open}");
}

#[test]
fn memory_is_called_memory() {
    let mut fake = Fake::new(Traits::default());
    fake.info.ram = true;
    let (out, _) = run(&mut fake, "quick");
    assert_eq!(out.verdicts[0].kind.name(), "RAM");
    for moot in ["LINK", "DEPTH", "INCOMPRESSIBLE", "NO DEVICE CACHE"] {
        assert!(verdict(&out, moot).is_none(), "{moot}");
    }
}

#[test]
fn a_buffered_read_by_hand_is_called_memory_and_a_direct_one_not() {
    let mut fake = Fake::read_only(Traits::default());
    let region = Region::first(8 << 20);
    let mut w = Workload::new("a", Pattern::Sequential, Mix::READ, 1 << 20, region);
    w.stop = Stop::after_ns(100_000_000);
    for (caching, expected) in [(Caching::Buffered, "RAM"), (Caching::Bypass, "DRIVE")] {
        w.caching = caching;
        let mut session = Session::new(&mut fake);
        by_hand(&mut session, &w).expect("nothing is wrong");
        let out = session.finish();
        assert_eq!(out.verdicts[0].kind.name(), expected);
    }
}

#[test]
fn a_drive_that_may_only_be_read_is_only_read() {
    for method in harmless() {
        let mut fake = Fake::read_only(Traits::default());
        let plan = plan(method, &fake.info, &options()).expect("enough room");
        assert_eq!((plan.safety, plan.write_bytes_max), (Safety::Reads, 0));
        let (out, result) = run(&mut fake, method.name);
        result.expect("reads are allowed");
        assert_eq!((fake.written, out.state_after), (0, State::Unknown));
        assert_eq!(out.warnings[0].kind.name(), "reads-only");
        assert!(verdict(&out, "DRIVE").is_some() && verdict(&out, "FLUSH PLAUSIBLE").is_none());
        assert!(out.metrics.iter().all(|m| !m.name.contains("write")));
    }
}

#[test]
fn a_confirmed_drive_is_written_and_the_plan_names_the_lost_data() {
    let mut fake = Fake::new(Traits::default());
    fake.info.target.kind = TargetKind::Device;
    let options = Options { size: Some(32 << 20), ..options() };
    let plan = |fake: &Fake| plan(find("quick").expect("exists"), &fake.info, &options);
    // A user's device is not a scratch file, whatever else is allowed.
    assert_eq!(plan(&fake).expect("room").safety, Safety::Reads);
    fake.info.allowed = Safety::Destroys;
    let plan = plan(&fake).expect("room");
    assert_eq!(plan.safety, Safety::Destroys);
    assert_eq!(plan.destroys.as_deref(), Some("the first 32 MiB of ."));
    let (out, _) = run(&mut fake, "quick");
    assert_eq!(out.state_after, State::Used);
}

#[test]
fn plans_hold() {
    for method in harmless() {
        for rate in [500e6, 50e9] {
            let mut fake = Fake::new(Traits { rate, command_ns: 20_000, ..Traits::default() });
            let plan = plan(method, &fake.info, &options()).expect("enough room");
            run(&mut fake, method.name).1.expect("nothing is wrong");
            assert!(fake.written <= plan.write_bytes_max, "{}", method.name);
            let seconds = fake.now_ns as f64 / 1e9;
            // Reads that look limited are read again, for a fifth of the time on top.
            let planned_max = if method.name == "quick" { 14.8 } else { 12.5 };
            assert!(
                seconds < 1.15 * plan.seconds && plan.seconds <= planned_max,
                "{}: {seconds} s of {}",
                method.name,
                plan.seconds
            );
            assert_eq!(plan.region_bytes, 64 << 20);
        }
    }
}

#[test]
fn a_slow_card_gets_a_smaller_file_and_fewer_rounds_and_both_are_said() {
    let slow = Traits { rate: 1e6, command_ns: 2_000_000, channels: 1, ..Traits::default() };
    let mut fake = Fake::new(slow.clone());
    let (out, result) = run(&mut fake, "quick");
    result.expect("slow is no error");
    assert_eq!(fake.filled, 32 << 20);
    let names: Vec<_> = out.warnings.iter().map(|w| w.kind.name()).collect();
    // A card this slow completes too few flushes for their check.
    assert_eq!(names, ["region-cut", "rest-cut", "inside-cache", "rounds-cut", "inconclusive"]);
    assert_eq!(metric(&out, "seq-write-1MiB-q8").n, 2);
    let said = &out.warnings[3].text;
    assert!(
        said.contains("only 2 of 4 replicates") && said.ends_with("random writes ran"),
        "{said}"
    );
    // An explicit size or number is kept.
    let mut fake = Fake::new(slow);
    let insist = Options { size: Some(64 << 20), replicates: Some(4), ..options() };
    let mut out = Outcome::default();
    perform(find("quick").expect("exists"), &mut fake, &insist, &mut out)
        .expect("slow is no error");
    assert_eq!((fake.filled, metric(&out, "seq-write-1MiB-q8").n), (64 << 20, 4));
}

#[test]
fn small_cards_large_blocks_and_odd_sizes_work() {
    for (bytes, block) in [(4 << 20, 512), (32 << 20, 4096), ((33 << 20) + 512, 512)] {
        for method in harmless() {
            let mut fake = Fake::new(Traits::default());
            (fake.info.bytes, fake.info.logical_block_bytes) = (bytes, block);
            let (out, result) = run(&mut fake, method.name);
            result.unwrap_or_else(|e| panic!("{bytes} bytes, blocks of {block}: {e}"));
            metric(&out, "rand-read-4KiB-q32");
        }
    }
    let mut fake = Fake::new(Traits::default());
    fake.info.logical_block_bytes = 16384;
    metric(&run(&mut fake, "quick").0, "rand-read-16KiB-q32");
}

#[test]
fn a_common_option_changes_the_plan_of_every_method_that_does_not_ignore_it() {
    let shortened = Some(Duration::from_secs(20));
    let given = [
        (Common::Size, Options { size: Some(32 << 20), ..Options::default() }),
        (Common::Time, Options { time: shortened, ..Options::default() }),
        (Common::Replicates, Options { replicates: Some(7), ..Options::default() }),
    ];
    let mut drive = Fake::confirmed(Traits::default(), 4 << 30);
    drive.info.formats = vec![512, 4096];
    let directory = Fake::new(Traits::default());
    let mut wrong = Vec::new();
    for info in ALL {
        for (common, options) in &given {
            let of = |options: &Options, fake: &Fake| {
                let options = options.clone().with(&COMMAND, vec!["true".to_string()]);
                plan(info, fake.target(), &options).ok().map(|plan| format!("{plan:?}"))
            };
            let usual = Options::default();
            assert!(
                [&drive, &directory].iter().any(|fake| of(&usual, fake).is_some()),
                "{}",
                info.name
            );
            let changes = |fake: &Fake| of(options, fake) != of(&usual, fake);
            // The time of `speed` limits only which of the planned rounds start.
            let later = (info.name, *common) == ("speed", Common::Time);
            let changes = later || changes(&drive) || changes(&directory);
            if changes == info.ignores.contains(common) {
                wrong.push(format!("{} {}: {changes}", info.name, common.name()));
            }
        }
    }
    assert_eq!(wrong, [""; 0], "has an effect: true or false");
}

#[test]
fn a_manual_workload_publishes_only_declared_metrics() {
    let region = Region::first(8 << 20);
    let mut w = Workload::new("a", Pattern::Uniform, Mix::read_percent(70), 4096, region);
    w.stop = Stop { bytes: Some(4 << 20), ..Stop::after_ns(400_000_000) };
    w.flush_at_end = true;
    let mut fake = Fake::confirmed(Traits::default(), 64 << 20);
    fake.filled = 64 << 20;
    let mut session = Session::new(&mut fake);
    by_hand(&mut session, &w).expect("nothing is wrong");
    let out = session.finish();
    assert!(out.metrics.len() > 10);
    metric(&out, "read.service.max");
    assert_eq!(metric(&out, "flush.service.max").n, 1, "a mix has flushes as well");
    for metric in &out.metrics {
        let declared = BY_HAND.declaration(&metric.key());
        assert_eq!(declared.map(|info| info.unit), Some(metric.unit), "{}", metric.name);
    }
}

#[test]
fn the_rest_of_iometer_is_its_share_of_a_short_time() {
    let rest = |seconds: u64| {
        let time = Some(Duration::from_secs(seconds));
        let options = Options { time, ..Options::default() };
        let target = Fake::confirmed(Traits::default(), 4 << 30).info;
        let plan = plan(find("iometer").expect("exists"), &target, &options).expect("a plan");
        plan.steps.iter().find(|step| step.name == "rest").expect("a rest").seconds
    };
    assert_eq!([rest(20), rest(30)].map(|seconds| seconds / rest(10)), [2.0, 3.0]);
}

#[test]
fn every_step_has_words() {
    let mut unworded = Vec::new();
    let targets = [Fake::confirmed(Traits::default(), 4 << 30), Fake::new(Traits::default())];
    for (info, target) in ALL.iter().flat_map(|info| targets.iter().map(move |t| (info, t))) {
        let Ok(plan) = plan(info, target.target(), &Options::default()) else { continue };
        for step in plan.steps {
            let words = record::Naming::new(info.name, false).step(&step.name, info.name);
            if words.is_empty() || words.contains(['-', '_', '.']) {
                unworded.push(format!("{}: {} is '{words}'", info.name, step.name));
            }
        }
    }
    assert_eq!(unworded, [""; 0]);
}

#[test]
fn options_out_of_range_are_one_line_each() {
    let text = |options: Options, bytes: u64| {
        let mut fake = Fake::new(Traits::default());
        fake.info.bytes = bytes;
        let error = plan(find("quick").expect("exists"), fake.target(), &options).expect_err("bad");
        assert_eq!(fake.calls, 0);
        error.to_string()
    };
    let with = Options::default;
    let room = 1 << 30;
    let size = |bytes| Options { size: Some(bytes), ..with() };
    assert_eq!(text(size(0), room), "size is 0 B, must be 4 MiB or more");
    let time = Options { time: Some(Duration::ZERO), ..with() };
    assert_eq!(text(time, room), "time is 0.0 s, must be 1 s or more");
    let none = Options { replicates: Some(0), ..with() };
    assert_eq!(text(none, room), "replicates is 0, must be 1 to 1000");
    let least = "the target has room for 1000 bytes, the method needs 4194304";
    assert_eq!(text(with(), 1000), least);
}

#[test]
fn one_replicate_has_no_interval() {
    let mut fake = Fake::new(Traits::default());
    let mut out = Outcome::default();
    let once = Options { replicates: Some(1), ..options() };
    perform(find("quick").expect("exists"), &mut fake, &once, &mut out).expect("nothing is wrong");
    let m = metric(&out, "rand-read-4KiB-q1");
    assert_eq!((m.n, m.low, m.high), (1, None, None));
    assert!(out.verdicts.iter().filter(|v| v.kind.name() == "UNDETERMINED").count() >= 3);
}

#[test]
fn a_drive_that_vanishes_leaves_its_errors_and_what_it_gave_before() {
    let vanishing = Traits { vanishes_at_ns: Some(5_000_000_000), ..Traits::default() };
    let (out, result) = run(&mut Fake::new(vanishing), "quick");
    let error = result.expect_err("the drive is gone");
    assert!(matches!(error, MethodError::Errors { .. }) && !error.interrupted(), "{error}");
    assert_eq!((out.errors.len(), out.errors[0].kind.as_str()), (1, "EIO"));
    assert!(metric(&out, "seq-read-1MiB-q8").n >= 1);
    assert!(verdict(&out, "DRIVE").is_some());
}

/// A drive slow enough that few operations fit in the time: a run has as many calls and takes no
/// real time.
fn slow() -> Traits {
    Traits { command_ns: 2_000_000, rate: 100e6, channels: 2, ..Traits::default() }
}

#[test]
fn whatever_was_measured_before_an_interruption_is_kept() {
    for method in harmless() {
        let name = method.name;
        let mut whole = Fake::new(slow());
        run(&mut whole, name).1.expect("nothing is wrong");
        for call in 0..whole.calls {
            let mut fake = Fake::new(slow());
            fake.interrupt_at = Some(call);
            let mut seen: Vec<Vec<Metric>> = Vec::new();
            let kept = {
                let mut session =
                    Session::new(&mut fake).with_checkpoints(|o| seen.push(o.metrics.clone()));
                let result = session.run(method, &options());
                let out = session.finish();
                assert!(result.expect_err("interrupted").interrupted(), "{name}, call {call}");
                assert!(!out.verdicts.is_empty());
                out.metrics
            };
            assert_eq!(seen.last(), Some(&kept), "the last checkpoint shows all there is");
            for pair in seen.windows(2) {
                let grows = |m: &Metric| pair[1].iter().any(|n| n.name == m.name && n.n >= m.n);
                assert!(pair[0].iter().all(grows), "{name}, call {call}");
            }
        }
    }
}

#[test]
fn a_run_that_the_rig_ends_for_heat_is_not_called_interrupted() {
    let mut fake = Fake::new(Traits { heats_c_per_s: 1.0, ..slow() });
    fake.interrupt_at = Some(80);
    let (out, result) = run(&mut fake, "quick");
    assert_eq!(result.expect_err("too hot").to_string(), "not allowed: too hot");
    assert!(!out.metrics.is_empty());
}

#[test]
fn an_interrupted_replicate_is_no_sample_but_its_time_series_is_kept() {
    let mut whole = Fake::new(slow());
    run(&mut whole, "quick").1.expect("nothing is wrong");
    let fills = whole.calls as usize - whole.issued.len();
    let mut fake = Fake::new(slow());
    fake.interrupt_at = Some(fills as u32 + 9);
    let (out, _) = run(&mut fake, "quick");
    let samples: usize =
        out.metrics.iter().filter(|m| !m.name.contains('.')).map(|m| m.samples.len()).sum();
    // A cell is a warm-up and its replicate: four cells of just-written data are complete, and half
    // of a fifth.
    assert_eq!((samples, out.series.len()), (4, 5));
}

#[test]
fn every_replicate_is_shown_as_soon_as_it_is_there() {
    let samples = |out: &Outcome| out.metrics.iter().map(|m| m.n as usize).sum::<usize>();
    let mut seen = Vec::new();
    let mut fake = Fake::new(slow());
    let mut session = Session::new(&mut fake).with_checkpoints(|o| seen.push(samples(o)));
    session.run(find("quick").expect("exists"), &options()).expect("ok");
    session.finish();
    // The tests of causes report nothing.
    seen.dedup();
    assert!(seen.len() >= 9 * 4 && seen[..9 * 4].windows(2).all(|w| w[0] < w[1]), "{seen:?}");
}

#[test]
fn no_two_replicates_do_the_same() {
    let mut fake = Fake::new(slow());
    run(&mut fake, "quick").1.expect("nothing is wrong");
    let random = fake.issued.iter().filter(|w| w.pattern.is_random() && !w.name.starts_with("c"));
    let mut seeds: Vec<u64> = random.map(|w| w.seed).collect();
    // Four rounds of five cells and one of two, each with its warm-up.
    let count = 2 * (4 * 5 + 2);
    assert_eq!(seeds.len(), count);
    seeds.sort_unstable();
    seeds.dedup();
    assert_eq!(seeds.len(), count);
}

#[test]
fn the_same_seed_gives_the_same_run_and_another_another() {
    let workloads = |seed| {
        let mut out = Outcome::default();
        let options = Options { seed, ..options() };
        perform(find("quick").expect("exists"), &mut Fake::new(slow()), &options, &mut out)
            .expect("ok");
        (out.workloads, out.metrics)
    };
    assert_eq!(workloads(7), workloads(7));
    assert_ne!(workloads(7).0, workloads(8).0);
}

#[test]
fn a_quick_run_is_a_small_record() {
    let out = done(Traits::default(), "quick");
    let bytes = serde_json::to_vec(&(&out.metrics, &out.latencies, &out.workloads, &out.verdicts));
    let bytes = bytes.expect("plain data").len();
    assert!(bytes < 200_000, "{bytes} bytes");
}

#[test]
fn the_time_of_a_plan_does_not_grow_with_the_drive() {
    let operations = |method: &MethodInfo, allowed, bytes| {
        let mut info = with_link(1e9);
        (info.target.kind, info.allowed, info.discard) = (TargetKind::Device, allowed, true);
        info.bytes = bytes;
        let mut planner = Planner::new(&info);
        let options = Options::default();
        Session::planning(&mut planner).run(method, &options).expect("planned");
        planner.operations
    };
    let find = |name| find(name).expect("a method");
    for (bytes, places) in [(4 << 30, 64), (4 << 40, 2048)] {
        let wear = operations(find("wear"), Safety::Destroys, bytes);
        assert!(wear < 20, "wear, {bytes} bytes: {wear}");
        let fake = operations(find("fake"), Safety::Borrows, bytes);
        assert!(fake < 3 * places + 10, "fake, {bytes} bytes: {fake}");
    }
}
