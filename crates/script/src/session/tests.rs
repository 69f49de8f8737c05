//! Budgets and declared amounts: everything that a script does is charged to them.

use rig::{BlockRequest, BlockWay, Preparation, Rig};
use workload::{Content, Mix, Pattern, Region, Stop, Workload};

use super::{Budget, Bulk, Patience, Round, Session};
use crate::test_drive::{Fake, Traits};
use crate::{MethodError, Result};

const MIB: u64 = 1 << 20;

fn write(offset: u64) -> BlockRequest {
    BlockRequest { tag: offset, way: BlockWay::Write, offset, bytes: vec![7; 64 << 10] }
}

/// Writes blocks of 64 KiB in order, without end.
fn write_on(session: &mut Session<'_>) -> Result<()> {
    let mut done = Vec::new();
    for block in 0.. {
        session.submit(write(block * (64 << 10)))?;
        session.poll(true, &mut done)?;
    }
    Ok(())
}

#[test]
fn a_budget_cuts_its_body_in_time_and_in_operations() {
    let mut reads = Workload::new("a", Pattern::Uniform, Mix::READ, 4096, Region::first(8 << 20));
    reads.stop = Stop { bytes: Some(30 * 4096), ..Stop::after_ns(400_000_000) };
    let spend = |budget| {
        let mut fake = Fake::new(Traits {
            command_ns: 2_000_000,
            rate: 100e6,
            channels: 2,
            ..Traits::default()
        });
        fake.filled = 8 << 20;
        let mut session = Session::new(&mut fake);
        let body = |session: &mut Session<'_>| loop {
            session.measure(&reads, 0)?;
        };
        session.budget("part", budget, body).expect("a spent budget is no error");
        drop(session);
        (fake.now_ns, fake.issued.iter().filter_map(|w| w.stop.ops).collect::<Vec<_>>())
    };
    let (_, ops) = spend(Budget { ops: 100, ..Budget::default() });
    assert_eq!(ops, [100, 70, 40, 10], "the rest of the budget, 30 at a time");
    let (now_ns, _) = spend(Budget { seconds: 0.1, ..Budget::default() });
    assert!((100_000_000..105_000_000).contains(&now_ns), "{now_ns}");
}

#[test]
fn a_budget_of_bytes_ends_block_writes_and_refuses_a_larger_fill() {
    let budget = Budget { bytes: MIB, ..Budget::default() };
    let mut fake = Fake::confirmed(Traits::default(), 64 * MIB);
    let mut session = Session::new(&mut fake);
    session.budget("part", budget, write_on).expect("a spent budget is no error");
    drop(session);
    assert_eq!(fake.written, MIB);

    let fill = |bytes| {
        let region = Region::first(bytes);
        Preparation::Fill { region, content: Content::Random, seed: 1 }
    };
    let mut session = Session::new(&mut fake);
    let body = |session: &mut Session<'_>| {
        session.apply(fill(MIB / 2))?;
        session.apply(fill(MIB))?;
        panic!("a fill of 1 MiB began with half of it left");
    };
    session.budget("part", budget, body).expect("a spent budget is no error");
    drop(session);
    assert_eq!(fake.written, MIB + MIB / 2);
}

#[test]
fn progress_reaches_the_observer_and_is_at_most_whole() {
    let mut fake = Fake::new(Traits::default());
    let mut session = Session::new(&mut fake);
    session.progress("fill", 0.5);
    session.progress("fill", 1.2);
    drop(session);
    assert_eq!(fake.progress, [("fill".to_string(), 0.5), ("fill".to_string(), 1.0)]);
}

#[test]
fn a_rest_begins_only_if_the_budget_has_its_time() {
    let mut fake = Fake::new(Traits::default());
    let mut session = Session::new(&mut fake);
    let budget = Budget { seconds: 10.0, ..Budget::default() };
    let body = |session: &mut Session<'_>| loop {
        session.rest("rest", 4.0)?;
    };
    session.budget("part", budget, body).expect("a spent budget is no error");
    assert_eq!(session.elapsed_ns(), 8_000_000_000);
}

#[test]
fn a_part_with_its_own_outcome_stays_within_the_same_budget() {
    let mut fake = Fake::confirmed(Traits::default(), 64 * MIB);
    let mut session = Session::new(&mut fake);
    let budget = Budget { bytes: MIB, ..Budget::default() };
    let body = |session: &mut Session<'_>| {
        let (_, first) = session.apart(write_on);
        assert!(matches!(first, Err(MethodError::Spent { depth: 0 })));
        write_on(session)
    };
    session.budget("part", budget, body).expect("a spent budget is no error");
    session.submit(write(0)).expect("the budget is over");
    drop(session);
    assert_eq!(fake.written, MIB + (64 << 10));
}

#[test]
fn declared_amounts_are_the_plan_and_writing_more_is_an_error() {
    let bulk = [
        Bulk::new(BlockWay::Write, Region::first(8 * MIB), 3 * MIB),
        Bulk::once(BlockWay::Read, Region::first(64 * MIB)),
    ];
    let mut fake = Fake::confirmed(Traits::default(), 64 * MIB);
    let plan = Session::plan(fake.target(), |session| {
        session.step("part", 0);
        let body = |_: &mut Session<'_>| panic!("a plan transfers nothing");
        session.transfer("part", &bulk, body).map(|moved: Option<()>| assert!(moved.is_none()))
    });
    let plan = plan.map(|plan| (plan.write_bytes_max, plan.region_bytes)).expect("a plan");
    assert_eq!(plan, (3 * MIB, 64 * MIB));

    let mut session = Session::new(&mut fake);
    let error = session.transfer("part", &bulk, write_on).expect_err("too much");
    let text = "part: stopped, because it would write more than the 3145728 bytes of its plan";
    assert_eq!(error.to_string(), text);
    drop(session);
    assert_eq!(fake.written, 3 * MIB);
}

#[test]
fn rounds_end_when_another_would_exceed_the_patience() {
    let rounds = |most, patience| {
        let mut fake = Fake::new(Traits::default());
        let mut session = Session::new(&mut fake);
        session
            .rounds(most, patience, |session, _| {
                session.rest("rest", 1.0)?;
                Ok(Round::Again)
            })
            .expect("nothing is wrong")
    };
    let patience = |rounds_min, seconds| Some(Patience { rounds_min, seconds });
    assert_eq!(rounds(10, patience(1, 3.5)), 3, "a fourth would end after 4 s");
    assert_eq!(rounds(10, patience(2, 0.1)), 2, "the minimum");
    assert_eq!(rounds(10, None), 10);
}

#[test]
fn cooling_ends_without_a_sensor_and_samples_it_with_one_read() {
    let mut fake = Fake::new(Traits::default());
    fake.filled = MIB;
    let found = Session::new(&mut fake).cool(40.0, 60.0).expect("nothing is wrong");
    assert_eq!((found, fake.now_ns / 1_000_000_000), (None, 15), "one pause");
    let looks: Vec<_> = fake.issued.iter().map(|w| (w.mix, w.stop.ops)).collect();
    assert_eq!(looks, [(Mix::READ, Some(1))]);
}

#[test]
fn the_health_is_the_drives_own() {
    let health = record::Health { wear_percent: Some(7.0), ..record::Health::default() };
    let mut fake = Fake::new(Traits::default());
    assert_eq!(Session::new(&mut fake).health(), None);
    fake.health = Some(health.clone());
    assert_eq!(Session::new(&mut fake).health(), Some(health));
}
