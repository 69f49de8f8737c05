//! `fake` on a drive that was lent: everything it writes was borrowed before, whatever ends the run.

use record::Safety;

use crate::fake::{Fake, Traits, perform};
use crate::{Options, Outcome, plan};

fn lent() -> Fake {
    let mut fake = Fake::given_away(Traits::default(), 256 << 20);
    fake.info.allowed = Safety::Borrows;
    fake
}

#[test]
fn a_lent_drive_is_cleared_and_gets_everything_back() {
    let (mut fake, mut out) = (lent(), Outcome::default());
    let plan = plan(&super::Fake, &fake.info, &Options::default()).expect("room");
    assert_eq!((plan.safety, &plan.destroys), (Safety::Borrows, &None));
    perform(&super::Fake, &mut fake, &Options::default(), &mut out).expect("nothing is wrong");
    assert!(fake.borrowed.is_empty());
    assert!(2 * fake.written <= plan.write_bytes_max, "what is put back counts");
    assert_eq!(out.verdicts[0].kind.name(), "CAPACITY REAL");
    assert!(out.warnings.is_empty() && out.errors.is_empty());
}

#[test]
fn whatever_ends_a_run_what_was_borrowed_goes_back() {
    let (mut whole, mut out) = (lent(), Outcome::default());
    perform(&super::Fake, &mut whole, &Options::default(), &mut out).expect("nothing is wrong");
    for call in (0..whole.calls).step_by(7) {
        let (mut fake, mut out) = (lent(), Outcome::default());
        fake.interrupt_at = Some(call);
        let result = perform(&super::Fake, &mut fake, &Options::default(), &mut out);
        assert!(result.is_err_and(|error| error.interrupted()), "call {call}");
        assert!(fake.borrowed.is_empty() && out.verdicts.is_empty(), "call {call}");
    }
}

#[test]
fn a_drive_that_was_not_lent_is_refused_before_the_first_byte() {
    let (mut fake, mut out) = (Fake::read_only(Traits::default()), Outcome::default());
    let error = perform(&super::Fake, &mut fake, &Options::default(), &mut out);
    assert!(error.expect_err("reads only").to_string().contains("for reads only"));
    assert_eq!((fake.written, fake.calls), (0, 0));
}

#[test]
fn memory_that_keeps_only_the_first_writes_is_no_genuine_drive() {
    let mut fake = Fake::given_away(Traits::default(), 256 << 20).that_keeps(10);
    let mut out = Outcome::default();
    perform(&super::Fake, &mut fake, &Options::default(), &mut out).expect("it answers");
    assert_eq!(out.verdicts[0].kind.name(), "CONTENT LOST");
    assert_eq!(out.warnings[0].kind.name(), "content-lost");
}

#[test]
fn a_file_that_lost_content_says_nothing_about_the_capacity() {
    let mut fake = Fake::new(Traits::default()).that_keeps(10);
    let mut out = Outcome::default();
    perform(&super::Fake, &mut fake, &Options::default(), &mut out).expect("it answers");
    assert_eq!(out.verdicts[0].kind.name(), "CONTENT LOST");
    assert!(out.verdicts[0].text.contains("a false capacity or bad memory"), "{:?}", out.verdicts);
    assert!(out.metrics.iter().all(|metric| metric.name != "fake-capacity"));
    let headline = out.answer.expect("an answer").headline;
    assert!(headline.starts_with("The drive loses content: "), "{headline}");
}
