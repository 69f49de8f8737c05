//! Checks the methods' descriptions against the workloads issued on a virtual test drive.

use std::time::Duration;

use workload::{Caching, Mix, Pattern, Workload};

use crate::{ALL, find};
use script::test_drive::{Fake, FlashTraits, Traits, perform};
use script::{MethodInfo, Options, Outcome, Session, plan};

const MIB: u64 = 1 << 20;

/// 80 MB/s in large blocks.
fn traits(flash: FlashTraits) -> Traits {
    Traits { rate: 10e6, command_ns: 1_000_000, noise: 0.01, flash, ..Traits::default() }
}

fn options(seconds: u64) -> Options {
    Options { time: Some(Duration::from_secs(seconds)), ..Options::default() }
}

fn method(name: &str) -> &'static MethodInfo {
    find(name).expect("exists")
}

/// Runs a method on a drive opened with `--destroy`.
fn ran(name: &str, mib: u64, seconds: u64, flash: FlashTraits) -> (Fake, Outcome) {
    let mut fake = Fake::confirmed(traits(flash), mib * MIB);
    let mut out = Outcome::default();
    perform(method(name), &mut fake, &options(seconds), &mut out).expect("run succeeds");
    (fake, out)
}

fn issued<'a>(fake: &'a Fake, name: &str) -> Vec<&'a Workload> {
    fake.issued.iter().filter(|w| w.name == name).collect()
}

fn value(out: &Outcome, name: &str) -> f64 {
    let metric = out.metrics.iter().find(|m| m.name == name);
    metric.and_then(|m| m.value).unwrap_or_else(|| panic!("no {name}"))
}

/// Names of the workloads that begin with the stem, in order of issue.
fn order<'a>(fake: &'a Fake, stem: &str) -> Vec<&'a str> {
    fake.issued.iter().map(|w| w.name.as_str()).filter(|name| name.starts_with(stem)).collect()
}

#[test]
fn heat_writes_the_drive_at_most_four_times_and_stops_when_the_temperature_settles() {
    // Without a sensor, the temperature never settles.
    let (fake, out) = ran("heat", 64, 4500, FlashTraits::default());
    let loads = issued(&fake, "heat-load");
    assert!(loads.iter().all(|w| w.mix == Mix::WRITE && w.pattern == Pattern::Sequential));
    assert!((loads[0].blocks.max(), loads[0].depth) == (1 << 20, 8));
    let cooled = fake.written - (1 + 4) * 64 * MIB;
    assert!(cooled > 0 && cooled <= 64 * MIB, "a fill, four passes, and the last lap: {cooled}");
    // A drive too large for four passes is loaded for an hour.
    let (fake, _) = ran("heat", 4 << 20, 4500, FlashTraits::default());
    let laps = issued(&fake, "heat-load");
    assert!(laps.iter().all(|w| w.stop.time_ns == Some(60_000_000_000)));
    assert_eq!(laps.len(), 60);
    assert_eq!(fake.steps["cool"], 2);
    assert!(out.warnings.iter().any(|w| w.kind.name() == "not-settled"));
    // 30 C + 20 K, with a time constant of a minute: flat after a few minutes.
    let warm = FlashTraits { rise_k: 20.0, ..FlashTraits::default() };
    let (fake, out) = ran("heat", 32 << 10, 4500, warm);
    let laps = issued(&fake, "heat-load").len();
    assert_eq!(laps, 8, "0.2 C per minute over five laps");
    assert!(out.warnings.iter().all(|w| w.kind.name() != "not-settled"));
}

/// "At most four times the whole drive", and so on: the descriptions of the SNIA methods.
#[test]
fn snia_methods_write_the_drive_as_often_as_they_say() {
    let fake = Fake::confirmed(traits(FlashTraits::default()), 64 * MIB);
    for (name, times) in [
        ("snia-wsat", 4.0),
        ("snia-iops", 2.0 + 32.0),
        ("snia-throughput", 4.0 + 25.0),
        ("snia-latency", 2.0 + 8.5),
        ("snia-hir", 2.0 + 12.0),
        ("snia-dirth", 2.0 + 5.0),
        ("snia-xsr", 20.0),
    ] {
        let plan = plan(method(name), &fake.info, &Options::default()).expect("given away");
        let planned = plan.write_bytes_max as f64 / fake.info.bytes as f64;
        assert!((0.94..=1.0).contains(&(planned / times)), "{name}: {planned} times");
    }
}

#[test]
fn zones_are_read_in_ascending_and_then_in_shuffled_order() {
    let (fake, _) = ran("zones", 256, 110, FlashTraits::default());
    let starts = |name| issued(&fake, name).iter().map(|w| w.region.start).collect::<Vec<_>>();
    let (ascending, shuffled) = (starts("zones-read-ascending"), starts("zones-read-shuffled"));
    assert_eq!(ascending, (0..256).map(|i| i * MIB).collect::<Vec<_>>());
    let far = |pair: &[u64]| pair[0].abs_diff(pair[1]) >= 64 * MIB;
    assert!(shuffled.windows(2).all(far), "{shuffled:?}");
    let mut sorted = shuffled;
    sorted.sort_unstable();
    assert_eq!(sorted, ascending);
    let first = &issued(&fake, "zones-read-ascending")[0];
    assert_eq!((first.depth, first.stop.time_ns), (8, Some(200_000_000)));
    let writes = issued(&fake, "zones-write");
    assert_eq!((writes.len(), writes[0].region.bytes), (1, 256 * MIB));
}

#[test]
fn align_compares_every_offset_with_aligned_writes_in_alternating_order() {
    let crossing = FlashTraits { crossing_cost: 8.0, ..FlashTraits::default() };
    let (fake, out) = ran("align", 64, 60, crossing);
    let metric = out.metrics.iter().find(|m| m.name == "align-512.ratio").expect("measured");
    assert_eq!(metric.n, 4);
    assert!(metric.samples.iter().all(|r| (0.1..0.15).contains(r)), "{metric:?}");
    assert!(metric.low <= metric.value && metric.value <= metric.high && metric.high < Some(1.0));
    let first = ["align-0", "align-512", "align-1024"];
    let order = order(&fake, "align-");
    assert_eq!((order.len(), &order[..3]), (13 * 4, &first[..]));
    let mut second: Vec<_> = order[13..26].to_vec();
    second.reverse();
    assert_eq!(second, order[..13]);
    for w in fake.issued.iter().filter(|w| w.name.starts_with("align-")) {
        assert_eq!((w.depth, w.blocks.max(), w.mix), (3, 4096, Mix::WRITE), "{}", w.name);
        assert_eq!(w.name, format!("align-{}", w.shift_bytes));
    }
    assert_eq!((fake.steps["discard"], fake.steps["fill"]), (1, 1));
}

#[test]
fn trim_alternates_reads_of_both_sides_and_writes_before_and_after_the_discard() {
    let (fake, _) = ran("trim", 64, 60, FlashTraits::default());
    let (mapped, discarded) = ("trim-read-mapped", "trim-read-discarded");
    let reads = [mapped, discarded, discarded, mapped];
    let reads: Vec<&str> = [reads, [discarded, mapped, mapped, discarded]].concat();
    let seen = order(&fake, "trim-read");
    assert_eq!(seen.len(), 8);
    assert_eq!(seen[..4], reads[..4], "forwards, then backwards");
    assert_ne!(seen[4..], [mapped, mapped, discarded, discarded]);
    let round = ["trim-age", "trim-write-used", "trim-write-restored"];
    let before = order(&fake, "trim-before");
    assert_eq!(before.len(), 8, "the same reads before the discard");
    let others = |name: &&str| !seen.contains(name) && !before.contains(name);
    let writes: Vec<_> = order(&fake, "trim-").into_iter().filter(others).collect();
    assert_eq!(writes, [round, round].concat());
    let count = |name: &str| fake.steps[name];
    assert_eq!((count("fill"), count("discard"), count("release")), (2, 2, 1));
    let sides = [mapped, discarded].map(|name| issued(&fake, name)[0].region);
    assert!(sides[1].end() <= sides[0].start, "the discarded and the kept regions are separate");
}

#[test]
fn recovery_ends_at_95_percent_of_the_previous_rate() {
    // After random writes, sequential ones take 1.5 times as long until all is rewritten.
    let ragged = FlashTraits { ragged_cost: 1.5, ..FlashTraits::default() };
    // Ten blocks of 1 MiB per channel in an interval of the series.
    let traits = Traits { rate: 100e6, ..traits(ragged) };
    let (mut fake, mut out) = (Fake::confirmed(traits, 512 * MIB), Outcome::default());
    perform(method("snia-xsr"), &mut fake, &options(80), &mut out).expect("run succeeds");
    let pass_s = 512.0 * MIB as f64 / value(&out, "snia-xsr-sequential-before");
    let recovery_s = value(&out, "snia-xsr-sequential-after.recovery") / 1e9;
    assert!(recovery_s > 0.7 * pass_s, "{recovery_s} s, a pass takes {pass_s} s");
}

#[test]
fn sustain_publishes_its_results_after_every_pass_and_burst() {
    let mut seen: Vec<Vec<String>> = Vec::new();
    let mut fake = Fake::confirmed(traits(FlashTraits::default()), 128 * MIB);
    let names = |o: &Outcome| o.metrics.iter().map(|m| m.name.clone()).collect();
    let mut session = Session::new(&mut fake).with_checkpoints(|o| seen.push(names(o)));
    session.run(method("sustain"), &Options::default()).expect("run succeeds");
    session.finish();
    let has = |at: usize, stem: &str| seen[at].iter().any(|name| name.starts_with(stem));
    assert_eq!(seen.len(), 2 + 4 + 1, "two passes, four bursts, the end");
    assert!(has(0, "sustain-fresh") && !has(0, "sustain-full"));
    assert!(has(1, "sustain-full") && !has(1, "sustain-idle-30s"));
    for (i, rest) in ["30s", "60s", "300s", "900s"].into_iter().enumerate() {
        assert!(
            has(2 + i, &format!("sustain-idle-{rest}")) && fake.steps[&format!("rest-{rest}")] == 1
        );
    }
    let fresh = &issued(&fake, "sustain-fresh")[0];
    assert_eq!((fresh.blocks.max(), fresh.depth, fresh.region.bytes), (1 << 20, 8, 128 * MIB));
    let bursts = 8 * 128 / 4 * MIB;
    let plan = plan(method("sustain"), &fake.info, &Options::default()).expect("given away");
    assert_eq!(plan.write_bytes_max, 2 * 128 * MIB + bursts, "bursts of at most a quarter");
    // The next pass writes different data.
    assert_ne!(fresh.seed, issued(&fake, "sustain-full")[0].seed);
}

#[test]
fn states_are_reached_in_order_and_each_gets_random_writes() {
    let (fake, _) = ran("states", 64, 900, FlashTraits::default());
    let random: Vec<_> =
        fake.issued.iter().filter(|w| w.pattern == Pattern::Uniform).map(|w| &w.name[..]).collect();
    assert_eq!(
        random,
        [
            "states-filled",
            "states-fresh",
            "states-partition-deleted",
            "states-file-deleted",
            "states-formatted",
            "states-used-discarded",
        ]
    );
    for w in fake.issued.iter().filter(|w| w.pattern == Pattern::Uniform) {
        assert_eq!((w.depth, w.blocks.max(), w.shift_bytes), (3, 4096, 0), "{}", w.name);
        assert!(w.stop.bytes <= Some(16 * MIB), "at most a quarter of the drive");
    }
    let part = |from: &str| {
        let at = fake.sequence.iter().position(|step| step == from).expect("begun");
        fake.sequence[at.saturating_sub(2)..=at].join(", ")
    };
    // Each state is reached by the two steps before its random writes.
    for steps in [
        "states-filled, discard, states-fresh",
        "fill, delete-partition, states-partition-deleted",
        "fill, discard, states-file-deleted",
        "fill, discard, states-formatted",
        "states-formatted, discard, states-used-discarded",
    ] {
        assert_eq!(part(steps.rsplit(", ").next().expect("a name")), steps);
    }
    let passes = fake.issued.iter().filter(|w| w.pattern == Pattern::Sequential);
    assert!(passes.clone().count() == 6 && passes.clone().all(|w| w.blocks.max() == 128 << 10));
    assert_eq!((fake.steps["discard"], fake.steps["fill"]), (7, 3));
}

#[test]
fn no_random_replicate_repeats_another() {
    for method in ALL {
        let name = method.name;
        let mut fake = Fake::confirmed(traits(FlashTraits::default()), 64 * MIB).that_formats();
        let mut out = Outcome::default();
        // A command needs arguments, and iozone and mark repeat on purpose.
        if ["command", "iozone", "mark", "lbaf"].contains(&name) {
            continue;
        }
        perform(method, &mut fake, &options(20), &mut out).expect("run succeeds");
        let random: Vec<&Workload> = fake
            .issued
            .iter()
            .filter(|w| w.pattern.is_random() && w.caching == Caching::Bypass)
            .collect();
        for (i, w) in random.iter().enumerate() {
            let same = random[..i].iter().find(|v| v.name == w.name && v.seed == w.seed);
            // Ageing a drive and the states of one seed repeat the same writes on purpose.
            let meant = name == "states" || w.name == "trim-age";
            assert!(same.is_none() || meant, "{name}: {} twice with seed {}", w.name, w.seed);
        }
    }
}

#[test]
fn authentic_compares_direct_with_cached_reads_after_a_discarded_warm_up() {
    let mut fake = Fake::new(Traits::default());
    let mut out = Outcome::default();
    perform(method("authentic"), &mut fake, &options(12), &mut out).expect("run succeeds");
    let caching = |name: &str| issued(&fake, name)[0].caching;
    assert_eq!(caching("check-read-direct"), Caching::Bypass);
    assert_eq!(caching("check-read-cached"), Caching::Buffered);
    assert_eq!(order(&fake, "check-read-warm-up").len(), 1);
    assert!(out.metrics.iter().all(|m| !m.name.contains("warm-up")), "a warm-up has no metric");
    let each = |name: &str| issued(&fake, name).len();
    for content in ["random", "zeros", "half", "repeated"] {
        assert_eq!(each(&format!("check-write-{content}")), 4);
    }
    // Each round of working sets: sequential reads, then random ones.
    let sets = order(&fake, "check-read-within-");
    assert!(sets.chunks(2).all(|pair| pair[0] == format!("{}-warm-up", pair[1])), "{sets:?}");
    let flush = issued(&fake, "check-flush-4KiB");
    assert!(flush.len() == 4 && flush.iter().all(|w| w.flush_every == Some(1)));
}

#[test]
fn quick_reads_and_writes_the_grid_it_describes() {
    let mut fake = Fake::new(Traits::default());
    let mut out = Outcome::default();
    perform(method("quick"), &mut fake, &options(12), &mut out).expect("run succeeds");
    for (name, block, depth) in [
        ("seq-read-1MiB-q8", 1 << 20, 8),
        ("seq-write-1MiB-q1", 1 << 20, 1),
        ("rand-read-4KiB-q32", 4096, 32),
        ("rand-write-4KiB-q1", 4096, 1),
    ] {
        let runs = issued(&fake, name);
        assert_eq!((runs.len(), runs[0].blocks.max(), runs[0].depth), (4, block, depth), "{name}");
        assert_eq!(runs[0].caching, Caching::Bypass);
        assert_eq!(runs[0].flush_at_end, name.contains("write"), "{name}");
    }
    let mixed = issued(&fake, "mixed-4KiB-q32");
    assert_eq!((mixed.len(), mixed[0].mix), (4, Mix::read_percent(70)));
    let plan = plan(method("quick"), &fake.info, &options(60)).expect("room");
    assert!(plan.write_bytes_max <= (1 + 36) * fake.info.bytes, "at most 36 times over");
}

/// The state of the drive in a cell depends on no other cell: reads precede writes, sequential
/// writes precede random ones, and each cell has its own warm-up.
#[test]
fn quick_runs_its_phases_in_a_fixed_order() {
    let mut fake = Fake::new(Traits::default());
    let mut out = Outcome::default();
    perform(method("quick"), &mut fake, &options(60), &mut out).expect("run succeeds");
    let begun: Vec<&str> = fake.sequence.iter().map(String::as_str).collect();
    let causes = |name| begun.iter().position(|step| *step == name).expect("looked for");
    assert_eq!(
        begun[causes("causes-read") - 1],
        "rand-read-4KiB-q1",
        "in the state of the reported reads"
    );
    assert_eq!(begun[causes("causes-write") - 1], "mixed-4KiB-q32");
    let tested = |step: &&str| !step.starts_with("cause") && *step != "check-read-after-rest";
    let begun: Vec<&str> = begun.into_iter().filter(tested).collect();
    let reads = ["seq-read-1MiB-q8", "seq-read-1MiB-q1", "rand-read-4KiB-q32", "rand-read-4KiB-q1"];
    let written = reads.map(|name| name.replace("-read-", "-read-just-written-"));
    let in_order = ["seq-write-1MiB-q8", "seq-write-1MiB-q1"];
    let random = ["rand-write-4KiB-q32", "rand-write-4KiB-q1", "mixed-4KiB-q32"];
    let mut phases = vec!["fill"];
    phases.extend(written.iter().map(String::as_str));
    phases.push("rest");
    phases.extend((0..4).flat_map(|_| reads));
    phases.push("limits");
    phases.extend((0..4).flat_map(|_| in_order));
    phases.extend((0..4).flat_map(|_| random));
    phases.push("seq-read-scattered-1MiB-q8");
    assert_eq!(begun[..phases.len()], phases);
    assert!(begun[phases.len()].starts_with("check-"), "{}", begun[phases.len()]);
    for pair in
        fake.issued.iter().filter(|w| !w.name.starts_with("c")).collect::<Vec<_>>().chunks(2)
    {
        let [warm, kept] = pair else { panic!("{pair:?}") };
        assert_eq!(warm.name, format!("{}-warm-up", kept.name));
        let ns = |w: &Workload| w.stop.time_ns.expect("timed") as f64;
        assert!((ns(kept) / ns(warm) - 3.0).abs() < 1e-6, "a quarter is discarded");
        assert!((0.74e9..0.78e9).contains(&(ns(warm) + ns(kept))), "{}", kept.name);
    }
    assert!(
        out.warnings.iter().all(|w| w.kind.name() != "rest-cut"),
        "a minute allows the full rest"
    );
}

/// Otherwise the copy of an erase block that the previous cell left unfinished would be most of the
/// time of a few writes.
#[test]
fn slow_sequential_writes_of_quick_go_on_to_16_mib() {
    let mut fake = Fake::new(Traits { rate: 4e6, ..Traits::default() });
    perform(method("quick"), &mut fake, &options(60), &mut Outcome::default()).expect("ok");
    let slow = issued(&fake, "seq-write-1MiB-q1");
    assert!(slow.len() >= 2);
    for w in slow {
        assert_eq!(w.region.start, MIB, "it goes on after the one block of the warm-up");
        assert_eq!(w.region.start + w.stop.bytes.expect("limited"), 16 * MIB);
    }
    let fast = issued(&fake, "seq-write-1MiB-q8");
    assert!(fast.iter().all(|w| w.region.start == 0), "32 MB/s reach 16 MiB in the time");
}

#[test]
fn more_rounds_of_quick_do_not_shorten_its_cells() {
    let lengths = |replicates| {
        let mut fake = Fake::new(Traits::default());
        let many = Options { replicates: Some(replicates), ..Options::default() };
        perform(method("quick"), &mut fake, &many, &mut Outcome::default()).expect("ok");
        let cells = issued(&fake, "rand-read-4KiB-q1");
        (cells.len(), cells[0].stop.time_ns)
    };
    let (two, twelve) = (lengths(2), lengths(12));
    assert_eq!((two.0, twelve.0), (2, 12));
    assert_eq!(two.1, twelve.1, "a cell does not get shorter");
}

#[test]
fn snia_tests_purge_precondition_twice_and_count_their_rounds() {
    let (fake, _) = ran("snia-hir", 64, 300, FlashTraits::default());
    let precondition = issued(&fake, "precondition");
    assert_eq!((precondition.len(), precondition[0].stop.bytes), (1, Some(2 * 64 * MIB)));
    assert_eq!((precondition[0].blocks.max(), precondition[0].depth), (128 << 10, 32));
    assert_eq!(fake.issued[0].name, "precondition");
    assert_eq!((fake.steps["purge"], fake.steps["wait"]), (1, 5 * 36));
    for wait in ["5s", "10s", "15s", "25s", "50s"] {
        let counts = ["", "-then-none"]
            .map(|end| issued(&fake, &format!("snia-hir-wait-{wait}{end}")).len());
        assert_eq!(counts, [36, 36], "{wait}");
    }
    let (fake, _) = ran("snia-dirth", 64, 100, FlashTraits::default());
    assert_eq!(order(&fake, "snia-dirth-t").len(), 49);
    let most = issued(&fake, "snia-dirth-t32-q32")[0];
    assert_eq!((most.jobs, most.depth, most.mix), (32, 32, Mix::read_percent(65)));
    let (fake, _) = ran("snia-throughput", 64, 200, FlashTraits::default());
    assert_eq!((fake.steps["purge"], issued(&fake, "precondition").len()), (2, 2));
}

#[test]
fn values_that_a_verdict_explains_are_not_tested_for_causes() {
    let tests = |lies: bool| {
        let mut fake = Fake::confirmed(Traits { lies, ..traits(FlashTraits::default()) }, 64 * MIB);
        let mut out = Outcome::default();
        perform(method("quick"), &mut fake, &options(60), &mut out).expect("run succeeds");
        order(&fake, "cause-write").len()
    };
    assert!(tests(false) > 0);
    assert_eq!(tests(true), 0, "memory explains every write");
}
