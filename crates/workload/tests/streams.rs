//! The guarantees of operation streams: they stay within the region, are aligned, visit every block
//! once per pass where promised, keep the configured shares, and are the same on every machine and
//! in every version.

use std::collections::HashMap;

use proptest::prelude::*;
use workload::{BlockSizes, Mix, Op, OpKind, OpStream, Pattern, Region, Workload, WorkloadError};

fn patterns() -> Vec<Pattern> {
    vec![
        Pattern::Sequential,
        Pattern::Backwards,
        Pattern::Strided { stride_bytes: 3 * 4096 },
        Pattern::UniformOnce,
        Pattern::Uniform,
        Pattern::Zipf { theta: 1.1 },
        Pattern::hot_cold(0.1, 0.9),
    ]
}

fn take(workload: &Workload, job: u32, n: usize) -> Vec<Op> {
    let mut stream = OpStream::new(workload, job);
    std::iter::from_fn(|| stream.next_op()).take(n).collect()
}

proptest! {
    #[test]
    fn every_operation_stays_in_its_slice_on_its_grid(
        index in 0usize..7,
        start_blocks in 0u64..1000,
        blocks in 1u64..5000,
        jobs in 1u32..4,
        shift in 0u64..3,
        sizes in prop_oneof![
            Just(BlockSizes::Fixed(4096)),
            Just(BlockSizes::Split(vec![(4096, 5), (8192, 3), (65536, 1)])),
        ],
        seed: u64,
    ) {
        let region = Region { start: start_blocks * 4096, bytes: blocks * 4096 * 16 * 4 };
        let mut workload = Workload::new("w", patterns()[index].clone(), Mix::READ, 4096, region);
        workload.blocks = sizes;
        workload.jobs = jobs;
        workload.shift_bytes = shift * 512;
        workload.seed = seed;
        prop_assert_eq!(workload.check(), Ok(()));
        for job in 0..jobs {
            let slice = workload.slice(job);
            prop_assert!(slice.start >= region.start && slice.end() <= region.end());
            for op in take(&workload, job, 300) {
                prop_assert!(op.offset >= slice.start && op.end() <= slice.end(), "{op:?} in {slice:?}");
                prop_assert_eq!((op.offset - region.start - workload.shift_bytes) % 4096, 0);
            }
        }
    }

    #[test]
    fn uniform_once_visits_every_block_once_per_pass(blocks in 1u64..3000, jobs in 1u32..4, seed: u64) {
        let blocks = blocks.max(u64::from(jobs));
        let mut workload = Workload::new("w", Pattern::UniformOnce, Mix::READ, 4096, Region::first(blocks * 4096));
        workload.jobs = jobs;
        workload.seed = seed;
        let mut seen: HashMap<u64, u32> = HashMap::new();
        for job in 0..jobs {
            let n = workload.slice(job).bytes / 4096;
            for op in take(&workload, job, 2 * n as usize) {
                *seen.entry(op.offset).or_default() += 1;
            }
        }
        prop_assert_eq!(seen.len() as u64, blocks);
        prop_assert!(seen.values().all(|n| *n == 2));
    }

    #[test]
    fn the_same_seed_gives_the_same_operations(index in 0usize..7, seed: u64) {
        let mut workload = Workload::new("w", patterns()[index].clone(), Mix::read_percent(70), 4096, Region::first(1 << 30));
        workload.seed = seed;
        prop_assert_eq!(take(&workload, 0, 200), take(&workload, 0, 200));
    }

    #[test]
    fn a_workload_survives_json(index in 0usize..7, seed: u64) {
        let mut workload = Workload::new("w", patterns()[index].clone(), Mix::READ, 4096, Region::first(1 << 30));
        workload.seed = seed;
        let text = serde_json::to_string(&workload).expect("plain data");
        prop_assert_eq!(serde_json::from_str::<Workload>(&text).expect("own text"), workload);
    }
}

#[test]
fn shares_are_as_configured() {
    let region = Region::first(1 << 30);
    let mut workload =
        Workload::new("w", Pattern::hot_cold(0.2, 0.8), Mix::read_percent(70), 4096, region);
    workload.blocks = BlockSizes::Split(vec![(4096, 3), (8192, 1)]);
    workload.mix.discard = 10;
    let ops = take(&workload, 0, 200_000);
    let share = |test: &dyn Fn(&&Op) -> bool| ops.iter().filter(test).count() as f64 / 200_000.0;
    let close =
        |found: f64, wanted: f64| assert!((found - wanted).abs() < 0.005, "{found} for {wanted}");
    close(share(&|op| op.kind == OpKind::Read), 70.0 / 110.0);
    close(share(&|op| op.kind == OpKind::Discard), 10.0 / 110.0);
    close(share(&|op| op.bytes == 4096), 0.75);
    close(share(&|op| op.offset < (1 << 30) / 5), 0.8);
}

/// A cell on a slow card ends after about forty operations.
#[test]
fn a_mix_has_its_shares_after_every_few_operations_in_an_order_that_varies() {
    let region = Region::first(1 << 30);
    let mut workload = Workload::new("w", Pattern::Uniform, Mix::read_percent(70), 4096, region);
    let mut orders = std::collections::BTreeSet::new();
    for seed in 0..20 {
        workload.seed = seed;
        let ops = take(&workload, 0, 400);
        for ten in ops.chunks(10) {
            let reads: Vec<bool> = ten.iter().map(|op| op.kind == OpKind::Read).collect();
            assert_eq!(reads.iter().filter(|read| **read).count(), 7);
            orders.insert(reads);
        }
    }
    // All orders of ten operations with three writes occur: 10 choose 3 is 120.
    assert_eq!(orders.len(), 120);
}

#[test]
fn a_flush_comes_after_every_n_writes() {
    let mut workload =
        Workload::new("w", Pattern::Sequential, Mix::WRITE, 4096, Region::first(1 << 20));
    workload.flush_every = Some(3);
    let kinds: Vec<OpKind> = take(&workload, 0, 8).iter().map(|op| op.kind).collect();
    use OpKind::{Flush, Write};
    assert_eq!(kinds, [Write, Write, Write, Flush, Write, Write, Write, Flush]);
}

#[test]
fn flushes_without_writes_between_them_are_refused() {
    let mut workload =
        Workload::new("w", Pattern::Sequential, Mix::WRITE, 4096, Region::first(1 << 20));
    workload.flush_every = Some(0);
    assert_eq!(workload.check(), Err(WorkloadError::Zero("writes between flushes")));
    workload.flush_every = Some(1);
    assert_eq!(workload.check(), Ok(()));
}

#[test]
fn weights_may_add_up_to_more_than_32_bits() {
    let mix = Mix { read: u32::MAX, write: u32::MAX, flush: 0, discard: 0 };
    assert_eq!((mix.total(), mix.cycle(), mix.only()), (2 * u64::from(u32::MAX), 2, None));
    let workload = Workload::new("w", Pattern::Uniform, mix, 4096, Region::first(1 << 20));
    assert_eq!(workload.check(), Ok(()));
    let reads = take(&workload, 0, 100).iter().filter(|op| op.kind == OpKind::Read).count();
    assert_eq!(reads, 50);
}

#[test]
fn a_trace_is_dealt_to_the_jobs_and_ends() {
    let op = |offset| Op { kind: OpKind::Read, offset, bytes: 4096 };
    let ops: Vec<Op> = (0..5).map(|i| op(i * 8192)).collect();
    let pattern = Pattern::Trace { ops: ops.clone().into() };
    let mut workload = Workload::new("w", pattern, Mix::READ, 4096, Region::first(1 << 20));
    workload.jobs = 2;
    assert_eq!(take(&workload, 0, 100), [ops[0], ops[2], ops[4]]);
    assert_eq!(take(&workload, 1, 100), [ops[1], ops[3]]);
}

#[test]
fn strides_eventually_visit_every_block() {
    let pattern = Pattern::Strided { stride_bytes: 17 * 4096 };
    let workload = Workload::new("w", pattern, Mix::READ, 4096, Region::first(170 * 4096));
    let ops = take(&workload, 0, 170);
    let mut offsets: Vec<u64> = ops.iter().map(|op| op.offset).collect();
    assert_eq!(offsets[..3], [0, 17 * 4096, 34 * 4096]);
    offsets.sort_unstable();
    assert_eq!(offsets, (0..170).map(|i| i * 4096).collect::<Vec<_>>());
}

/// Golden values for every machine and every later version. A change means that earlier runs can no
/// longer be repeated; it requires a new seed scheme and an entry in CHANGELOG.
#[test]
fn the_operations_of_seed_1_never_change() {
    let golden: [(&str, u64); 7] = GOLDEN;
    for (pattern, (name, sum)) in patterns().into_iter().zip(golden) {
        let mut workload =
            Workload::new("w", pattern, Mix::read_percent(70), 4096, Region::first(1 << 30));
        workload.blocks = BlockSizes::Split(vec![(4096, 3), (16384, 1)]);
        let bytes: Vec<u8> = take(&workload, 0, 10_000)
            .iter()
            .flat_map(|op| [op.kind as u64, op.offset, u64::from(op.bytes)])
            .flat_map(u64::to_le_bytes)
            .collect();
        assert_eq!(xxhash_rust::xxh3::xxh3_64(&bytes), sum, "{name}");
    }
}

const GOLDEN: [(&str, u64); 7] = [
    ("sequential", 4324267544353635966),
    ("backwards", 11128122153568396269),
    ("strided", 16944236710452606774),
    ("uniform once", 3353338210281742446),
    ("uniform", 3076680938249718490),
    ("zipf", 15320399416622072958),
    ("hot and cold", 14124691644071286986),
];
