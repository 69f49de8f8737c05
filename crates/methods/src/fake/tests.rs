//! `fake` on a drive opened with `--borrow`: every block written was borrowed first, and is
//! restored however the run ends.

use record::{Safety, TargetKind};

use script::test_drive::{Fake, Traits, perform};
use script::{Options, Outcome, plan};

fn borrowable() -> Fake {
    let mut fake = Fake::confirmed(Traits::default(), 256 << 20);
    fake.info.allowed = Safety::Borrows;
    fake
}

#[test]
fn a_borrowed_drive_is_judged_and_fully_restored() {
    let (mut fake, mut out) = (borrowable(), Outcome::default());
    let plan = plan(&super::INFO, &fake.info, &Options::default()).expect("room");
    assert_eq!((plan.safety, &plan.destroys), (Safety::Borrows, &None));
    perform(&super::INFO, &mut fake, &Options::default(), &mut out).expect("run succeeds");
    assert!(fake.borrowed.is_empty());
    assert!(2 * fake.written <= plan.write_bytes_max, "restored bytes count");
    assert_eq!(out.verdicts[0].kind.name(), "CAPACITY REAL");
    assert!(out.warnings.is_empty() && out.errors.is_empty());
}

#[test]
fn an_interrupted_run_restores_all_borrowed_blocks() {
    let (mut whole, mut out) = (borrowable(), Outcome::default());
    perform(&super::INFO, &mut whole, &Options::default(), &mut out).expect("run succeeds");
    for call in (0..whole.calls).step_by(7) {
        let (mut fake, mut out) = (borrowable(), Outcome::default());
        fake.interrupt_at = Some(call);
        let result = perform(&super::INFO, &mut fake, &Options::default(), &mut out);
        assert!(result.is_err_and(|error| error.interrupted()), "call {call}");
        assert!(fake.borrowed.is_empty() && out.verdicts.is_empty(), "call {call}");
    }
}

#[test]
fn a_read_only_drive_is_refused_before_the_first_byte() {
    let advice =
        [(TargetKind::Device, "--borrow restores"), (TargetKind::File, "--destroy with its size")];
    for (kind, words) in advice {
        let (mut fake, mut out) = (Fake::read_only(Traits::default()), Outcome::default());
        fake.info.target.kind = kind;
        let error = perform(&super::INFO, &mut fake, &Options::default(), &mut out);
        let error = error.expect_err("read-only");
        assert!(error.to_string().contains("opened read-only"), "{error}");
        assert!(format!("{error:?}").contains(words), "{error:?}");
        assert_eq!((fake.written, fake.calls), (0, 0));
    }
}

/// On a large drive, places are too far apart to see every repeated address.
#[test]
fn a_verdict_tells_how_certain_the_test_is() {
    let text = |bytes| {
        let mut info = borrowable().info;
        info.bytes = bytes;
        let layout = super::layout::Layout::new(&info, &Options::default()).expect("room");
        let found = super::found::Found::default();
        super::verdict::verdict(&layout, &found, super::found::Capacity::Real).text
    };
    assert!(text(256 << 20).contains("any repeated address would have been seen"));
    assert!(text(1 << 44).contains("others with a probability of "), "{}", text(1 << 44));
}

#[test]
fn a_drive_that_keeps_only_the_first_writes_is_not_genuine() {
    let mut fake = Fake::confirmed(Traits::default(), 256 << 20).that_keeps(10);
    let mut out = Outcome::default();
    let plan = plan(&super::INFO, &fake.info, &Options::default()).expect("room");
    perform(&super::INFO, &mut fake, &Options::default(), &mut out).expect("run succeeds");
    assert!(fake.written <= plan.write_bytes_max, "what is written again counts");
    assert_eq!(out.verdicts[0].kind.name(), "CONTENT LOST");
    assert_eq!(out.warnings[0].kind.name(), "content-lost");
}

/// Both keep the end of the drive and the places before it, and lose others: what is written again
/// pushes the kept ones out of a cache, and not out of memory.
#[test]
fn a_cache_of_the_latest_writes_is_told_from_memory_with_holes() {
    let (end, bytes) = (64 << 20, 64 << 20);
    let cached_bytes = (16 << 20) + (128 << 10);
    for (range, cached_bytes, expected) in
        [(20 << 20..end, cached_bytes, "ALIASING"), (20 << 20..36 << 20, 0, "CONTENT LOST")]
    {
        let fake = Fake::confirmed(Traits::default(), bytes);
        let (mut fake, mut out) = (fake.that_is_hollow(range, cached_bytes), Outcome::default());
        perform(&super::INFO, &mut fake, &Options::default(), &mut out).expect("run succeeds");
        let verdict = &out.verdicts[0];
        assert_eq!(verdict.kind.name(), expected, "{}", verdict.text);
    }
}

#[test]
fn lost_content_of_a_file_yields_no_capacity() {
    let mut file = Fake::confirmed(Traits::default(), 64 << 20);
    file.info.target.kind = TargetKind::File;
    for fake in [Fake::new(Traits::default()), file] {
        let (mut fake, mut out) = (fake.that_keeps(10), Outcome::default());
        perform(&super::INFO, &mut fake, &Options::default(), &mut out).expect("run succeeds");
        let (verdict, tested) = (&out.verdicts[0], 64 << 20);
        assert_eq!((verdict.kind.name(), fake.written), ("CONTENT LOST", tested));
        assert!(verdict.text.contains("a false capacity or bad memory"), "{verdict:?}");
        assert!(out.metrics.iter().all(|metric| metric.name != "fake-capacity"));
        let headline = out.answer.expect("an answer").headline;
        assert!(headline.starts_with("The drive loses content: "), "{headline}");
    }
}
