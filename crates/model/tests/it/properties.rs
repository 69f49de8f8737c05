//! Invariants of every drive under any sequence of commands: a page mapping is one to one, its
//! counts add up, time is monotonic, every block holds its last write, and the same seed gives the
//! same run.

use std::collections::{HashMap, HashSet};

use crate::common::written::{POLICIES, Written};
use model::{BlockContent, CommandStatus, Drive, DriveSpec};
use proptest::prelude::*;
use workload::{Op, OpKind};

/// A drive of a few MiB with small superblocks, so that every event happens often.
fn small(pairs: &[(&str, &str)]) -> DriveSpec {
    let spec = DriveSpec::preset("samsung-980-pro-1t").expect("known");
    let usual = [
        ("capacity", "48MiB"),
        ("op", "0.5"),
        ("nand.dies", "4"),
        ("nand.page_bytes", "4096"),
        ("superblock", "96KiB"),
        ("slc", "4MiB"),
        ("buffer", "256KiB"),
        ("endurance", "1000000"),
    ];
    let spec = spec.with_overrides(&usual).expect("known parameters");
    spec.with_overrides(pairs).expect("known parameters")
}

fn specs() -> impl Strategy<Value = DriveSpec> {
    let policy = prop::sample::select(vec!["greedy", "fifo", "3-choices", "cost-benefit"]);
    let unit = prop::sample::select(vec!["4096", "8192", "16384"]);
    let op = prop::sample::select(vec!["0.1", "0.28", "0.5"]);
    (policy, unit, op, any::<bool>(), any::<bool>(), any::<bool>()).prop_map(
        |(policy, unit, op, shared, first, cached)| {
            let truth = |t: bool| if t { "true" } else { "false" };
            small(&[
                ("policy", policy),
                ("unit", unit),
                ("op", op),
                ("collect.shared", truth(shared)),
                ("slc", if shared { "0" } else { "4MiB" }),
                ("slc.first", truth(first)),
                ("map.cache", if cached { "8KiB" } else { "0" }),
            ])
        },
    )
}

#[derive(Clone, Debug)]
enum Step {
    Command(OpKind, u32, u32),
    Burst(u32, u32),
    Idle(u32),
}

const BLOCKS: u32 = 48 << 11;

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let kind = prop::sample::select(vec![OpKind::Write; 4]);
    let other = prop::sample::select(OpKind::ALL.to_vec());
    let range = || (0..BLOCKS, prop_oneof![1u32..64, 1u32..4096]);
    let step = prop_oneof![
        6 => (kind, range()).prop_map(|(k, (b, n))| Step::Command(k, b, n)),
        3 => (other, range()).prop_map(|(k, (b, n))| Step::Command(k, b, n)),
        2 => (any::<u32>(), 1u32..3000).prop_map(|(seed, n)| Step::Burst(seed, n)),
        1 => (0u32..2_000_000).prop_map(Step::Idle),
    ];
    prop::collection::vec(step, 1..60)
}

/// Checks that every logical page has its own physical page, in a second way.
fn check_mapping(drive: &Drive) {
    let Some(page) = drive.page_mapped() else { return };
    let (layout, map) = (page.layout(), page.map());
    let mut places = HashSet::new();
    for ppn in (0..layout.logical_pages).filter_map(|lpn| map.get(lpn)) {
        assert!(places.insert(ppn), "two logical pages on {ppn}");
    }
    assert_eq!(places.len() as u64, map.mapped());
}

struct World {
    drive: Drive,
    /// Content of each block written or discarded.
    naive: HashMap<u64, BlockContent>,
    writes: u64,
    now: u64,
    /// End of each command.
    ends: Vec<u64>,
    page_blocks: u64,
}

impl World {
    fn new(spec: &DriveSpec, seed: u64) -> World {
        let mut drive = Drive::new(spec, seed);
        drive.remember();
        let page_blocks = u64::from(*spec.map.unit_bytes / 512);
        World { drive, naive: HashMap::new(), writes: 0, now: 0, ends: Vec::new(), page_blocks }
    }

    fn command(&mut self, kind: OpKind, block: u32, n: u32) {
        let n = n.min(BLOCKS - block);
        let (offset, bytes) = (u64::from(block) * 512, n * 512);
        let op = match kind {
            OpKind::Flush => Op::FLUSH,
            _ => Op { kind, offset, bytes },
        };
        let end = self.drive.submit(self.now, &op);
        assert_eq!(end.status, CommandStatus::Ok);
        assert!(end.done_ns >= self.now, "time runs backwards");
        self.ends.push(end.done_ns);
        self.now += u64::from(n) * 997 % (end.done_ns - self.now + 1);
        let blocks = u64::from(block)..u64::from(block + n);
        match kind {
            OpKind::Write => {
                self.writes += 1;
                self.naive.extend(blocks.map(|block| (block, BlockContent::Write(self.writes))));
            }
            OpKind::Discard => {
                let page = self.page_blocks;
                let (from, to) = (blocks.start.div_ceil(page) * page, blocks.end / page * page);
                self.naive.extend((from..to).map(|block| (block, BlockContent::Zeros)));
            }
            OpKind::Flush | OpKind::Read => {}
        }
    }

    fn step(&mut self, step: &Step) {
        match *step {
            Step::Command(kind, block, n) => self.command(kind, block, n),
            Step::Burst(seed, n) => {
                let mut draws = model::ftl::collect::Draws(u64::from(seed));
                for _ in 0..n {
                    self.command(OpKind::Write, draws.below(BLOCKS / 8) * 8, 8);
                }
            }
            Step::Idle(us) => {
                self.now += u64::from(us) * 1000;
                self.drive.idle(self.now);
            }
        }
    }
}

fn play(spec: &DriveSpec, steps: &[Step]) {
    let mut world = World::new(spec, 1);
    for step in steps {
        world.step(step);
    }
    world.drive.check();
    check_mapping(&world.drive);
    for (block, held) in &world.naive {
        assert_eq!(world.drive.held(*block), Some(*held), "block {block}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn drives_keep_their_promises(spec in specs(), protected: bool, steps in steps()) {
        let protected = if protected { "true" } else { "false" };
        play(&spec.with_overrides(&[("protected", protected)]).expect("known"), &steps);
    }

    #[test]
    fn cards_keep_their_promises(random: bool, open in 1u32..5, steps in steps()) {
        let open = open.to_string();
        let random = if random { "true" } else { "false" };
        let spec = DriveSpec::preset("sd-class2").expect("known");
        let pairs = [("capacity", "48MiB"), ("map.open_aus", open.as_str()), ("map.random_in_au", random)];
        play(&spec.with_overrides(&pairs).expect("known"), &steps);
    }

    #[test]
    fn the_same_seed_gives_the_same_run(spec in specs(), steps in steps()) {
        let run = || {
            let mut world = World::new(&spec, 7);
            steps.iter().for_each(|step| world.step(step));
            (world.ends, world.drive.work(), world.drive.health())
        };
        prop_assert_eq!(run(), run());
    }
}

/// Checks ten drive writes of random mapping units for stalls. Mapping units grow with the
/// capacity, so this takes seconds; the example `matrix` has smaller ones.
fn ten_drive_writes(capacity: &str, unit: &str, op: &str, policy: &str) {
    let written = Written::measure(capacity, unit, op, policy);
    println!("{capacity} {op} {policy}: {written:?}");
    assert_eq!(written.problem(), None, "{capacity} {op} {policy}");
}

const SPARES: [&str; 4] = ["0.02", "0.07", "0.28", "0.5"];

#[test]
fn ten_drive_writes_never_stall_at_4_gib() {
    for op in SPARES {
        POLICIES.iter().for_each(|policy| ten_drive_writes("4GiB", "131072", op, policy));
    }
}

/// Every policy and every spare once; `cargo xtask bench endurance` runs them all.
#[test]
fn ten_drive_writes_never_stall_at_64_gib() {
    for (op, policy) in SPARES.into_iter().zip(POLICIES.into_iter().rev()) {
        ten_drive_writes("64GiB", "1048576", op, policy);
    }
}

/// The least spare, and the most.
#[test]
fn ten_drive_writes_never_stall_at_1_tib() {
    for (op, policy) in [(SPARES[0], POLICIES[0]), (SPARES[3], POLICIES[3])] {
        ten_drive_writes("1TiB", "1048576", op, policy);
    }
}

/// Regression test: before draining the cache, FIFO once collected data that were written
/// sequentially and never overwritten, which frees nothing. A command near the end of the first
/// fill waited for 15 s.
#[test]
fn fifo_does_not_stall_on_a_fill_with_little_spare() {
    ten_drive_writes("64GiB", "131072", "0.02", "fifo");
}
