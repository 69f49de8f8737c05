//! The arithmetic of the planner: steps, limits and the minimum duration of a fill.

use rig::{BlockRequest, BlockWay, Job, Preparation, Rig, Stage};
use workload::{Content, Mix, OpKind, Pattern, Region, Stop, Workload};

use super::*;
use rules::testing::with_link;

fn steps(planner: &Planner) -> Vec<(&str, f64, u64, u32)> {
    let of = |s: &PlanStep| (s.seconds, s.write_bytes_max, s.repeats);
    planner.steps.iter().map(|s| (s.name.as_str(), of(s).0, of(s).1, of(s).2)).collect()
}

#[test]
fn a_limit_shortens_what_was_added_under_it_and_nothing_before() {
    let mut planner = Planner::new(&with_link(1e6));
    planner.begin_step("a");
    planner.add(100, Expectation::lasting(10.0), 1);
    let mark = planner.mark();
    planner.begin_step("a");
    planner.add(50, Expectation::lasting(5.0), 1);
    planner.begin_step("b");
    planner.add(150, Expectation::lasting(15.0), 1);
    let before = steps(&planner).iter().map(|s| (s.1, s.2)).collect::<Vec<_>>();
    planner.limit(&mark, 20.0, 200);
    let after = steps(&planner).iter().map(|s| (s.1, s.2)).collect::<Vec<_>>();
    assert_eq!(after, before, "within the limit");
    planner.limit(&mark, 10.0, 50);
    assert_eq!(steps(&planner), [("a", 12.5, 112, 2), ("b", 7.5, 37, 1)]);
}

#[test]
fn a_step_that_comes_again_is_one_line_with_its_repeats() {
    let mut planner = Planner::new(&with_link(1e6));
    for name in ["a", "b", "a", "a"] {
        planner.begin_step(name);
        planner.add(1, Expectation::lasting(1.0), 1);
    }
    assert_eq!(steps(&planner), [("a", 3.0, 3, 3), ("b", 1.0, 1, 1)]);
}

#[test]
fn a_fill_takes_no_less_than_the_link_allows() {
    // 2 s at the rate of the link; the planner allows a rate up to a fifth above it.
    let mut planner = Planner::new(&with_link(1e6));
    let region = Region::first(2_000_000);
    let fill = Preparation::Fill { region, content: Content::Random, seed: 1 };
    let done = planner.prepare(fill).expect("planned");
    assert_eq!(done.bytes, 2_000_000);
    let seconds = done.elapsed_ns as f64 / 1e9;
    assert!((2.0 / 1.2 - 1e-6..2.0 + 1e-6).contains(&seconds), "{seconds}");
    assert_eq!(planner.elapsed_ns(), done.elapsed_ns);
}

#[test]
fn what_the_block_door_writes_is_in_the_plan() {
    let mut planner = Planner::new(&with_link(1e6));
    planner.begin_step("record");
    let blocks = planner.blocks().expect("a block interface");
    for (tag, way) in [(0, BlockWay::Write), (1, BlockWay::Read), (2, BlockWay::Write)] {
        let request = BlockRequest { tag, way, offset: tag * 500_000, bytes: vec![7; 500_000] };
        blocks.submit(request).expect("planned");
    }
    let mut done = Vec::new();
    blocks.poll(true, &mut done).expect("polled");
    assert_eq!(done.iter().map(|d| d.request.tag).collect::<Vec<_>>(), [0, 1, 2]);
    assert!(done[1].request.bytes.iter().all(|byte| *byte == 0), "nothing is kept");
    assert_eq!(planner.written(), 1_000_000);
    assert_eq!(planner.touched.bytes(), 1_500_000);
    assert!(planner.elapsed_ns() >= 1_249_000_000, "no faster than the link allows");
}

#[test]
fn jobs_at_the_same_time_write_what_they_write_alone() {
    let workload = |name: &str, mix| Workload {
        stop: Stop { bytes: Some(1 << 20), ..Stop::default() },
        ..Workload::new(name, Pattern::Sequential, mix, 4096, Region::first(1 << 20))
    };
    let (read, write) = (workload("r", Mix::READ), workload("w", Mix::WRITE));
    let mut alone = Planner::new(&with_link(1e6));
    alone.measure(&read).expect("planned");
    alone.measure(&write).expect("planned");
    let mut together = Planner::new(&with_link(1e6));
    let jobs = vec![Job::from_workload(&read), Job::from_workload(&write)];
    let done = together.perform(jobs, Stage::default()).expect("planned").whole;
    assert_eq!(together.written(), alone.written());
    assert_eq!(together.elapsed_ns(), alone.elapsed_ns());
    assert!(done.kind(OpKind::Read).is_some() && done.kind(OpKind::Write).is_some());
}
