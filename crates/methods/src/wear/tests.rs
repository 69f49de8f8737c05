//! `wear` on a fake drive: killed and resumed, refused, and compared with its plan.

use record::Safety;
use workload::Region;

use script::test_drive::{Fake, Traits, perform};
use script::{Options, Outcome, plan};

use super::layout::{BLOCK, Layout};
use super::{AGE, AMOUNT, INFO, RESUME};

const MIB: u64 = 1 << 20;

fn value(out: &Outcome, name: &str) -> f64 {
    let metric = out.metrics.iter().find(|metric| metric.name == name);
    metric.and_then(|metric| metric.value).unwrap_or_else(|| panic!("no {name}"))
}

fn options(seed: u64, amount: u64, resume: bool) -> Options {
    let options = Options { seed, ..Options::default() }.with(&AMOUNT, Some(amount));
    if resume { options.with(&RESUME, true) } else { options }
}

#[test]
fn a_good_drive_bears_the_amount_to_the_block() {
    let mut fake = Fake::confirmed(Traits::default(), 16 * MIB);
    let (mut out, amount) = (Outcome::default(), 40 * MIB + 1);
    let planned = plan(&INFO, &fake.info, &options(1, amount, false)).expect("room");
    perform(&INFO, &mut fake, &options(1, amount, false), &mut out).expect("nothing is wrong");
    let blocks = amount.div_ceil(BLOCK);
    assert_eq!(value(&out, "wear-written"), (blocks * BLOCK) as f64);
    assert_eq!((fake.written, planned.write_bytes_max), (blocks * BLOCK, blocks * BLOCK));
    assert_eq!(planned.safety, Safety::Destroys);
    assert_eq!(out.verdicts[0].kind.name(), "ENDURED");
    assert_eq!(
        out.answer.expect("one").headline,
        "42.1 MB written, 2.51 times the size, without an error."
    );
    assert!(out.warnings.is_empty() && out.errors.is_empty());
}

/// Kills a run repeatedly until it completes. Returns the number of kills, the drive, and the
/// outcome of the last run.
fn killed(seed: u64, amount: u64, power_cut: bool) -> (u32, Fake, Outcome) {
    let mut fake = Fake::confirmed(Traits::default(), 8 * MIB);
    let (mut kills, mut random) = (0, seed);
    loop {
        // Knuth's MMIX generator is good enough to choose the moments.
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        fake.kill_in((random >> 33) % 80 + 1, power_cut);
        let mut out = Outcome::default();
        // Every run has a different seed; the seed of the stamps is on the drive.
        let resumes = fake.door.landed > 0;
        let options = options(seed + u64::from(kills), amount, resumes);
        match perform(&INFO, &mut fake, &options, &mut out) {
            Ok(()) => return (kills, fake, out),
            Err(error) => assert!(error.interrupted(), "after {kills} kills: {error}"),
        }
        kills += 1;
        assert!(kills < 1000, "it gets nowhere");
        fake.restart();
    }
}

#[test]
fn killed_again_and_again_the_total_is_right_to_the_block() {
    for (seed, power_cut) in [(1, false), (2, true), (3, false), (4, true)] {
        let amount = 128 * MIB;
        let (kills, fake, out) = killed(seed, amount, power_cut);
        println!("{kills} kills, power cut: {power_cut}");
        assert!(kills >= 50, "{kills} kills");
        assert_eq!(value(&out, "wear-written"), amount as f64);
        assert_eq!(fake.door.landed, amount, "what the drive took");
        assert_eq!(out.verdicts[0].kind.name(), "ENDURED", "{}", out.verdicts[0].text);
        assert_eq!(value(&out, "wear-static"), (7 * MIB) as f64);
    }
}

/// Kills a run in its n-th request without a power cut, changes the drive's content, and resumes.
fn changed(requests: u64, change: impl FnOnce(&mut Fake, &Layout)) -> Outcome {
    let mut fake = Fake::confirmed(Traits::default(), 8 * MIB);
    let layout = Layout::new(&fake.info, &Options::default()).expect("room");
    fake.kill_in(requests, false);
    let mut out = Outcome::default();
    let result = perform(&INFO, &mut fake, &options(1, 24 * MIB, false), &mut out);
    assert!(result.expect_err("killed").interrupted());
    fake.restart();
    change(&mut fake, &layout);
    let mut out = Outcome::default();
    perform(&INFO, &mut fake, &options(2, 24 * MIB, true), &mut out).expect("a finding");
    out
}

/// Blocks with faults, and of these, flipped and misplaced.
fn bad(out: &Outcome) -> (f64, [f64; 2]) {
    let classes = ["flipped", "misplaced", "stale", "torn", "lost", "unreadable"];
    let counts = classes.map(|class| value(out, &format!("wear-{class}")));
    (counts.iter().sum(), [counts[0], counts[1]])
}

/// Static blocks on a drive of 8 MiB, including the marker.
const FILLED: u64 = 56;

/// Requests on that drive up to the end of the fill's check, and of the first pass with the marker.
const CHECKED: u64 = 2 * (FILLED - 1);
const FIRST_PASS: u64 = CHECKED + 4 + 1;

/// The same up to the end of the second pass and the check of the first.
const TWO_PASSES: u64 = FIRST_PASS + 4 + 4;

#[test]
fn a_block_that_changed_while_the_run_was_killed_in_the_fill_is_a_fault() {
    for number in [5, 29, 30] {
        let out = changed(30, |fake, layout| fake.flip_bit(layout.offset(number) + 77_000));
        assert_eq!(bad(&out), (1.0, [1.0, 0.0]), "flipped {number}");
        let [error] = &out.errors[..] else { panic!("only this class: {:?}", out.errors) };
        assert_eq!((error.op.as_str(), error.kind.as_str(), error.count), ("verify", "flipped", 1));
        assert_eq!(error.first_offsets, [(number - 1) * BLOCK]);
        assert_eq!(out.verdicts[0].kind.name(), "CONTENT LOST", "{}", out.verdicts[0].text);
        let out = changed(30, |fake, layout| {
            let next = Region { start: layout.offset(number - 1), bytes: BLOCK };
            fake.copy_over(next, layout.offset(number));
        });
        assert_eq!(bad(&out), (1.0, [0.0, 1.0]), "copied over {number}");
        assert_eq!(out.verdicts[0].kind.name(), "CONTENT LOST", "{}", out.verdicts[0].text);
    }
    let out = changed(30, |_, _| {});
    assert_eq!((out.verdicts[0].kind.name(), bad(&out).0), ("ENDURED", 0.0));
}

#[test]
fn a_block_that_changed_while_the_run_was_killed_in_a_pass_is_one_fault() {
    for written in 1..=4 {
        let newest = FILLED + 8 + written;
        for number in [newest, newest - 1] {
            let of = |change: &dyn Fn(&mut Fake, &Layout)| changed(TWO_PASSES + written, change);
            let out = of(&|fake, layout| fake.flip_bit(layout.offset(number) + 77_000));
            assert_eq!(bad(&out), (1.0, [1.0, 0.0]), "flipped {number} of {newest}");
            let out = of(&|fake, layout| {
                let fixed = Region { start: 0, bytes: BLOCK };
                fake.copy_over(fixed, layout.offset(number));
            });
            assert_eq!(bad(&out), (1.0, [0.0, 1.0]), "copied over {number} of {newest}");
            assert_eq!(out.verdicts[0].kind.name(), "CONTENT LOST", "{}", out.verdicts[0].text);
        }
    }
    let out = changed(TWO_PASSES + 2, |fake, layout| {
        (layout.fixed..layout.blocks).for_each(|block| fake.flip_bit(block * BLOCK + 77_000));
    });
    assert!(bad(&out).1[0] >= 2.0, "all flipped: {:?}", bad(&out));
    assert_eq!(value(&out, "wear-written"), ((FILLED + 10) * BLOCK) as f64);
}

/// Erases all cycled blocks of a drive.
fn lose_cycled(fake: &mut Fake, layout: &Layout) {
    fake.erase_content(layout.cycled_region());
}

#[test]
fn cycled_blocks_that_are_all_lost_are_found_by_the_marker() {
    for requests in [FIRST_PASS, FIRST_PASS + 2, TWO_PASSES, TWO_PASSES + 3] {
        let out = changed(requests, lose_cycled);
        assert_eq!(out.verdicts[0].kind.name(), "CONTENT LOST", "{requests}");
        assert_eq!((bad(&out).0, value(&out, "wear-lost")), (4.0, 4.0), "{requests}");
        assert_eq!(value(&out, "wear-written"), ((FILLED + 4) * BLOCK) as f64);
        assert_eq!(value(&out, "wear-added"), 0.0, "nothing is written after a loss");
        let headline = out.answer.expect("one").headline;
        let expected = "After at least 7.86 MB, 0.938 times the size, 4 blocks differ.";
        assert_eq!(headline, expected);
    }
    // One half lost is found by the other, as before.
    let out = changed(TWO_PASSES, |fake, layout| fake.erase_content(layout.region(0)));
    assert_eq!(value(&out, "wear-written"), (24 * MIB) as f64);
}

#[test]
fn cycled_blocks_that_were_never_durable_are_no_loss() {
    for requests in CHECKED..FIRST_PASS {
        let out = changed(requests, lose_cycled);
        assert_eq!(out.verdicts[0].kind.name(), "ENDURED", "{requests}: {}", out.verdicts[0].text);
        assert_eq!((bad(&out).0, value(&out, "wear-written")), (0.0, (24 * MIB) as f64));
    }
}

#[test]
fn a_marker_that_is_damaged_is_a_fault_and_an_unwritten_one_is_written() {
    let at = (FILLED - 1) * BLOCK;
    let out = changed(FIRST_PASS + 2, |fake, _| fake.flip_bit(at + 77_000));
    assert_eq!(bad(&out), (1.0, [1.0, 0.0]));
    let out = changed(TWO_PASSES, |fake, _| fake.erase_content(Region { start: at, bytes: BLOCK }));
    assert_eq!((bad(&out).0, value(&out, "wear-lost")), (1.0, 1.0));
    // The kill comes before the marker, and the run goes on.
    let out = changed(FIRST_PASS - 1, |_, _| {});
    assert_eq!((bad(&out).0, value(&out, "wear-written")), (0.0, (24 * MIB) as f64));
    assert_eq!(value(&out, "wear-static"), (7 * MIB) as f64, "the marker is one of its blocks");
}

#[test]
fn a_block_lost_long_before_the_kill_is_not_written_again() {
    let mut fake = Fake::confirmed(Traits::default(), 80 * MIB);
    fake.kill_in(600, true);
    let mut out = Outcome::default();
    perform(&INFO, &mut fake, &options(1, 81 * MIB, false), &mut out).expect_err("killed");
    fake.restart();
    let empty = Region { start: 79 * MIB, bytes: BLOCK };
    fake.copy_over(empty, 5 * BLOCK);
    perform(&INFO, &mut fake, &options(1, 81 * MIB, true), &mut out).expect("a finding");
    assert_eq!((bad(&out).0, value(&out, "wear-lost")), (1.0, 1.0));
}

#[test]
fn a_refused_write_ends_the_test_with_what_was_written_before_it() {
    let mut fake = Fake::confirmed(Traits::default(), 8 * MIB);
    // The second half of the second pass.
    fake.door.dead_from = Some(8 * MIB - 2 * BLOCK);
    let mut out = Outcome::default();
    perform(&INFO, &mut fake, &options(1, 40 * MIB, false), &mut out)
        .expect("a finding, no failure");
    assert_eq!(out.verdicts[0].kind.name(), "WEAR");
    assert_eq!(value(&out, "wear-written"), (8 * MIB - 2 * BLOCK) as f64);
    assert_eq!((value(&out, "wear-static"), value(&out, "wear-lost")), ((7 * MIB) as f64, 0.0));
    assert_eq!(
        (out.errors[0].op.as_str(), out.errors[0].first_offsets[0]),
        ("write", 8 * MIB - 2 * BLOCK)
    );
    assert_eq!(
        out.answer.expect("one").headline,
        "The drive died after 8.13 MB, 0.969 times its size."
    );
}

#[test]
fn a_refused_flush_ends_the_test_with_what_was_acknowledged_before_it() {
    for flushes in 0..8 {
        let mut fake = Fake::confirmed(Traits::default(), 8 * MIB);
        fake.door.flushes = Some(flushes);
        let mut out = Outcome::default();
        perform(&INFO, &mut fake, &options(1, 40 * MIB, false), &mut out)
            .expect("a finding, no failure");
        let verdict = &out.verdicts[0];
        assert_eq!(verdict.kind.name(), "WEAR", "{flushes}: {}", verdict.text);
        assert!(verdict.text.starts_with("The drive refused a flush after "), "{}", verdict.text);
        assert_eq!(value(&out, "wear-written"), fake.door.landed as f64, "{flushes}");
        assert_eq!((bad(&out).0, out.errors.len()), (0.0, 1), "{flushes}");
        assert_eq!(out.errors[0].op, "flush");
    }
}

#[test]
fn a_drive_that_fails_discards_is_overwritten_and_the_error_is_reported() {
    let mut fake = Fake::confirmed(Traits::default(), 8 * MIB);
    fake.refuses_discard = true;
    let mut out = Outcome::default();
    perform(&INFO, &mut fake, &options(1, 24 * MIB, false), &mut out).expect("it goes on");
    assert_eq!(out.verdicts[0].kind.name(), "ENDURED");
    assert_eq!(value(&out, "wear-written"), (24 * MIB) as f64);
    let [error] = &out.errors[..] else { panic!("one: {:?}", out.errors) };
    assert_eq!((error.op.as_str(), error.count), ("discard", 1));
    let headline = out.answer.expect("one").headline;
    assert_eq!(headline, "25.2 MB written, 3.00 times the size; a discard failed.");
}

#[test]
fn a_drive_that_dies_while_its_age_is_measured_has_a_verdict_and_all_results() {
    let options = options(1, 48 * MIB, false).with(&AGE, Some(1));
    let run = |vanishes_at_ns| {
        let mut fake = Fake::confirmed(Traits { vanishes_at_ns, ..Traits::default() }, 8 * MIB);
        let mut out = Outcome::default();
        perform(&INFO, &mut fake, &options, &mut out).expect("a finding, no failure");
        (fake, out)
    };
    let (good, _) = run(None);
    assert_eq!(good.issued[0].name, "wear-age-seq-read");
    // Within the first measurements of age, which follow 7 MiB of static data and their check.
    let (_, out) = run(Some(good.now_ns / 4));
    assert_eq!(out.verdicts[0].kind.name(), "WEAR", "{}", out.verdicts[0].text);
    let age = value(&out, "wear-age-written");
    assert!(age > 0.0 && !out.errors.is_empty());
    let headline = out.answer.expect("one").headline;
    assert!(headline.starts_with("The drive died after "), "{headline}");
    assert!(headline.ends_with(" for age."), "{headline}");
    assert!(!out.metrics.iter().any(|m| m.name == "wear-write" && m.value == Some(0.0)));
}

#[test]
fn content_of_another_run_is_never_taken_for_that_of_this_one() {
    let mut fake = Fake::confirmed(Traits::default(), 8 * MIB);
    let mut out = Outcome::default();
    perform(&INFO, &mut fake, &options(1, 9 * MIB, false), &mut out).expect("nothing is wrong");
    // The same seed, on a drive that loses all writes after the first static data.
    fake.door.keeps = Some(100);
    perform(&INFO, &mut fake, &options(1, 24 * MIB, false), &mut out).expect("it answers");
    assert_eq!(out.verdicts[0].kind.name(), "CONTENT LOST");
    assert!(value(&out, "wear-stale") > 0.0);
    let other = Options { size: Some(7 * MIB), ..options(1, 24 * MIB, true) };
    let error = perform(&INFO, &mut fake, &other, &mut out).expect_err("another layout");
    assert!(error.to_string().starts_with("no run of wear was found on /dev/x"), "{error}");
}

#[test]
fn what_was_written_is_published_while_the_test_runs() {
    let mut fake = Fake::confirmed(Traits::default(), 16 * MIB);
    let mut seen = Vec::new();
    let mut session = script::Session::new(&mut fake).with_checkpoints(|out: &Outcome| {
        let written = out.metrics.iter().find(|metric| metric.name == "wear-written");
        seen.push(written.and_then(|metric| metric.value).unwrap_or(0.0));
    });
    session.run(&INFO, &options(1, 64 * MIB, false)).expect("nothing is wrong");
    session.finish();
    seen.dedup();
    assert!(seen.len() > 20 && seen.is_sorted(), "{seen:?}");
}

#[test]
fn an_unconfirmed_drive_is_refused_before_the_first_byte() {
    let mut out = Outcome::default();
    let mut fake = Fake::read_only(Traits::default());
    let error = perform(&INFO, &mut fake, &Options::default(), &mut out).expect_err("reads only");
    assert!(error.to_string().contains("was not opened with --destroy"), "{error}");
    assert_eq!((fake.written, fake.calls), (0, 0));
    let mut file = Fake::new(Traits::default());
    let error = perform(&INFO, &mut file, &options(1, 80 * MIB, true), &mut out);
    assert!(error.expect_err("no file is left").to_string().starts_with("no run is left in"));
    let error = perform(&INFO, &mut file, &options(1, 8 * MIB, false), &mut out);
    assert!(error.expect_err("too little").to_string().contains("static data"));
    perform(&INFO, &mut file, &options(1, 65 * MIB, false), &mut out).expect("a scratch file");
    assert!(
        out.verdicts[0].next_test.as_ref().is_some_and(|next| next.contains("a file system moves"))
    );
}

#[test]
fn age_is_measured_at_the_first_write_and_every_so_many_drive_writes() {
    let mut fake = Fake::confirmed(Traits { noise: 0.001, ..Traits::default() }, 8 * MIB);
    let mut out = Outcome::default();
    let options = options(1, 48 * MIB, false).with(&AGE, Some(2));
    let planned = plan(&INFO, &fake.info, &options).expect("room");
    perform(&INFO, &mut fake, &options, &mut out).expect("nothing is wrong");
    assert!(fake.written <= planned.write_bytes_max);
    for age in [0, 2, 4] {
        for kind in ["seq-read", "seq-write", "rand-read", "rand-write"] {
            assert!(value(&out, &format!("wear-age-{kind}-{age}")) > 0.0);
        }
    }
    let ratio = value(&out, "wear-age-rand-read.ratio");
    assert!((ratio - 1.0).abs() < 0.01, "{ratio}");
    let headline = out.answer.clone().expect("one").headline;
    assert!(headline.ends_with("Age did not change its speed."), "{headline}");
    assert_eq!(value(&out, "wear-written"), (48 * MIB) as f64, "measurements of age are beside it");
}
