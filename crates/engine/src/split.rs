//! Where the time of reads and writes went, as far as the kernel shows it.
//!
//! With its trace, the times of each request: from the system call to the block layer, in it, in the
//! drive, and from completion until the thread sees it. Without, the kernel counts the requests of
//! a drive and their time, from the block layer's request to its completion. Where the drive
//! completed as many requests as the workload, they are the same ones, so this is their time in the
//! drive and its queue. The scheduler counts the time in which a thread could have run but waited
//! for a processor. With one operation in flight, that wait and the thread's processor time are
//! parts of the operation's time; with more, they overlap those of the drive, and remain
//! unexplained here. Where the target is a layer above the drive, such as an encrypted volume, the
//! kernel counts the requests of both; what those of the layer took longer is its part.

use std::collections::BTreeMap;

use rig::{DividedTime, Measurement, SplitPart, TimeSplit};
use workload::{OpKind, Pacing, Workload};

use crate::device::Requests;
use crate::sampler::Observations;
use crate::traced::{Completions, Traced};

/// Tolerated difference between the drive's count and the workload's: a share, and a number of
/// requests at the ends of the measurement.
const COUNT_TOLERANCE: f64 = 0.01;
const COUNT_MARGIN: u64 = 2;

/// Shortest total service time, nanoseconds: the drive's times have a resolution of a millisecond,
/// which is then 2%.
const TOTAL_NS_MIN: u64 = 50_000_000;

/// Share of the followed requests whose completion the trace may have lost.
const LOST_MAX: f64 = 0.02;

/// Minimum number of requests followed to their end, for a mean.
const FOLLOWED_MIN: u64 = 100;

/// How far the drive's time may exceed the service time, as a factor: the kernel counts it up to
/// 11% too long for single operations on a busy machine. More has another cause.
const EXCESS_MAX: f64 = 1.15;

/// Adds to the reads and writes of a measurement where their time went, as far as it is known.
pub(crate) fn divide(workload: &Workload, observations: &Observations, whole: &mut Measurement) {
    let (cpu_ns, waiting_ns) = observations
        .ends
        .iter()
        .fold((0, 0), |(cpu, waiting), end| (cpu + end.cpu_ns(), waiting + end.usage.waiting_ns));
    let is_only_kind = whole.transfers().count() == 1;
    let is_single = workload.depth == 1 && workload.pacing == Pacing::Closed && is_only_kind;
    let layers = observations.layer.map_or([None; 2], |layer| layer.map(Some));
    let requests = observations.requests.into_iter().zip(layers);
    for (kind, (requests, layer)) in [OpKind::Read, OpKind::Write].into_iter().zip(requests) {
        let Some(stats) = &mut whole.kinds[kind as usize] else { continue };
        let total = TimeSplit::new(stats.ops, stats.service.sum() as u64);
        let traced = observations.traced.as_ref();
        let in_trace =
            traced.and_then(|traced| Some((in_block_layer(total, kind, traced)?, traced)));
        stats.split = match in_trace {
            Some((split, traced)) => {
                let waiting_ns = if is_single { waiting_ns } else { 0 };
                let above_ns = layer.map_or(0, |layer| above_drive_ns(split, layer));
                let whole = if is_only_kind {
                    until_seen(split, traced, waiting_ns, above_ns)
                } else {
                    split
                };
                Some(by_length(whole, &traced.completed[kind as usize]))
            }
            None => in_drive(total, requests).map(|split| {
                let above_ns = layer.map_or(0, |layer| above_drive_ns(split, layer));
                let split = split.with(SplitPart::Layer, above_ns.min(split.unexplained_ns()));
                if is_single { on_host(split, cpu_ns, waiting_ns) } else { split }.into()
            }),
        };
    }
}

/// The number of requests that may differ between two counts of these operations.
fn margin(ops: u64) -> u64 {
    COUNT_MARGIN.max((COUNT_TOLERANCE * ops as f64) as u64)
}

/// Adds the times before, in and below the block layer, if the trace has a request for each
/// operation and has lost none.
fn in_block_layer(total: TimeSplit, kind: OpKind, traced: &Traced) -> Option<TimeSplit> {
    let requests = traced.data[kind as usize];
    let completions = traced.completions(kind as usize);
    let is_one_each = requests.queued.abs_diff(total.ops) <= margin(total.ops);
    let is_whole = requests.splits <= margin(total.ops);
    let is_complete =
        requests.issued.abs_diff(completions.count) as f64 <= LOST_MAX * requests.issued as f64;
    if !is_one_each || !is_whole || !is_complete || completions.count < FOLLOWED_MIN {
        return None;
    }
    let sum_ns = |ns| scaled(ns, completions.count, total.ops);
    let split = total
        .with(SplitPart::Held, sum_ns(completions.held_ns))
        .with(SplitPart::Queue, sum_ns(completions.queue_ns))
        .with(SplitPart::Drive, sum_ns(completions.device_ns));
    let parts_ns = SplitPart::ALL.into_iter().map(|part| split.part_ns(part)).sum::<u64>();
    (parts_ns as f64 <= EXCESS_MAX * total.total_ns as f64).then_some(split)
}

/// Adds the parts of the requests that took about as long, up to their completion: when it was seen
/// is known of a thread only.
fn by_length(whole: TimeSplit, classes: &BTreeMap<usize, Completions>) -> DividedTime {
    let mut divided = DividedTime::from(whole);
    for (class, completions) in classes {
        let split = TimeSplit::new(completions.count, completions.total_ns())
            .with(SplitPart::Held, completions.held_ns)
            .with(SplitPart::Queue, completions.queue_ns)
            .with(SplitPart::Drive, completions.device_ns);
        divided.add_class(*class, &split);
    }
    divided
}

/// Adds the time from completion until it is seen, of which a layer above the drive took this long,
/// and a thread waited this long for a processor.
fn until_seen(split: TimeSplit, traced: &Traced, waiting_ns: u64, above_ns: u64) -> TimeSplit {
    if traced.seen < FOLLOWED_MIN {
        return split;
    }
    let seen_ns = scaled(traced.seen_ns, traced.seen, split.ops);
    let known_ns = split.total_ns - split.unexplained_ns();
    // Times of several threads that overlap are no means of operations.
    if (known_ns + seen_ns) as f64 > EXCESS_MAX * split.total_ns as f64 {
        return split;
    }
    let waiting_ns = waiting_ns.min(seen_ns);
    let above_ns = above_ns.min(seen_ns - waiting_ns);
    let split = split.with(SplitPart::Waiting, waiting_ns).with(SplitPart::Layer, above_ns);
    split.with(SplitPart::Completion, seen_ns - waiting_ns - above_ns)
}

/// The time of the layer's requests beyond that in the block layer and the drive; 0 unless it
/// completed these operations and nothing else.
fn above_drive_ns(split: TimeSplit, layer: Requests) -> u64 {
    if split.total_ns < TOTAL_NS_MIN || layer.count.abs_diff(split.ops) > margin(split.ops) {
        return 0;
    }
    let below_ns = split.part_ns(SplitPart::Queue) + split.part_ns(SplitPart::Drive);
    scaled(layer.time_ms * 1_000_000, layer.count, split.ops).saturating_sub(below_ns)
}

/// A sum over some operations as one over all.
fn scaled(ns: u64, some: u64, all: u64) -> u64 {
    (ns as f64 / some.max(1) as f64 * all as f64) as u64
}

/// Adds the time in the drive, if the drive completed these operations and nothing else.
fn in_drive(total: TimeSplit, requests: Requests) -> Option<TimeSplit> {
    if total.total_ns < TOTAL_NS_MIN || requests.count.abs_diff(total.ops) > margin(total.ops) {
        return None;
    }
    let each_ns = requests.time_ms as f64 * 1e6 / requests.count.max(1) as f64;
    let drive_ns = each_ns * total.ops as f64;
    if drive_ns > EXCESS_MAX * total.total_ns as f64 {
        return None;
    }
    Some(total.with(SplitPart::Drive, (drive_ns as u64).min(total.total_ns)))
}

/// Adds the times of a thread with one operation in flight, no more than is left.
fn on_host(split: TimeSplit, cpu_ns: u64, waiting_ns: u64) -> TimeSplit {
    let split = split.with(SplitPart::Waiting, waiting_ns.min(split.unexplained_ns()));
    split.with(SplitPart::Host, cpu_ns.min(split.unexplained_ns()))
}

#[cfg(test)]
mod tests {
    use workload::{Mix, Pattern, Region};

    use super::*;
    use crate::recorder::JobEnd;
    use crate::traced::RequestCounts;

    const OPS: u64 = 1000;

    /// The split of 1,000 reads of 100 us each.
    fn reads(
        (depth, mix): (u32, Mix),
        (count, time_ms): (u64, u64),
        usage: rig::ThreadUsage,
    ) -> Option<[u64; 4]> {
        let mut stats = rig::KindStats { ops: OPS, ..Default::default() };
        (0..OPS).for_each(|_| stats.service.record(100_000));
        let mut totals = [const { None }; 4];
        if mix.write > 0 {
            totals[OpKind::Write as usize] = Some(stats.clone());
        }
        totals[OpKind::Read as usize] = Some(stats);
        let end = JobEnd { usage, ..JobEnd::default() };
        let mut observations = Observations::from_job(end, totals.clone());
        observations.requests = [Requests { count, time_ms }, Requests::default()];
        let mut whole = Measurement { kinds: totals, ..Measurement::default() };
        let region = Region::first(1 << 30);
        let workload =
            Workload { depth, ..Workload::new("w", Pattern::Uniform, mix, 4096, region) };
        divide(&workload, &observations, &mut whole);
        let split = whole.kind(OpKind::Read)?.split.as_ref()?.whole;
        let parts = [SplitPart::Drive, SplitPart::Waiting, SplitPart::Host];
        let parts = parts.map(|part| split.part_ns(part) / 1_000_000);
        assert_eq!(split.total_ns, 1000 * 100_000);
        Some([parts[0], parts[1], parts[2], split.unexplained_ns() / 1_000_000])
    }

    fn usage(cpu_ms: u64, waiting_ms: u64) -> rig::ThreadUsage {
        let (user_ns, waiting_ns) = (cpu_ms * 1_000_000, waiting_ms * 1_000_000);
        rig::ThreadUsage { user_ns, waiting_ns, ..Default::default() }
    }

    #[test]
    fn single_reads_are_in_the_drive_waiting_on_the_host_or_unexplained() {
        let single = (1, Mix::READ);
        assert_eq!(reads(single, (OPS, 60), usage(10, 20)), Some([60, 20, 10, 10]));
        assert_eq!(reads(single, (OPS, 60), usage(90, 20)), Some([60, 20, 20, 0]));
        assert_eq!(reads(single, (OPS, 60), usage(90, 70)), Some([60, 40, 0, 0]));
        assert_eq!(reads(single, (OPS, 111), usage(10, 20)), Some([100, 0, 0, 0]));
    }

    #[test]
    fn times_of_threads_overlap_those_of_the_drive_if_more_is_in_flight() {
        assert_eq!(reads((2, Mix::READ), (OPS, 60), usage(10, 20)), Some([60, 0, 0, 40]));
        let mix = Mix::read_percent(50);
        assert_eq!(reads((1, mix), (OPS, 60), usage(10, 20)), Some([60, 0, 0, 40]));
    }

    /// A trace of 1,000 reads, of which one in ten was followed.
    fn traced() -> Traced {
        let reads = RequestCounts { queued: OPS, queued_bytes: OPS << 12, issued: 100, splits: 0 };
        let data = [reads, RequestCounts::default()];
        let completions = |count, device_ns| Completions {
            count,
            held_ns: 5_000 * count,
            queue_ns: 3_000 * count,
            device_ns,
        };
        let classes = [(60, completions(98, 5_000_000)), (70, completions(2, 1_000_000))];
        let completed = [BTreeMap::from(classes), BTreeMap::new()];
        Traced { data, completed, seen: 100, seen_ns: 2_000_000, ..Traced::default() }
    }

    #[test]
    fn a_trace_divides_the_time_of_each_operation() {
        let total = TimeSplit::new(OPS, 100_000_000);
        let split = in_block_layer(total, OpKind::Read, &traced()).expect("complete");
        let parts = [SplitPart::Held, SplitPart::Queue, SplitPart::Drive];
        assert_eq!(parts.map(|part| split.part_ns(part) / 1_000_000), [5, 3, 60]);
        let split = until_seen(split, &traced(), 15_000_000, 0);
        let parts = [SplitPart::Waiting, SplitPart::Completion];
        assert_eq!(parts.map(|part| split.part_ns(part) / 1_000_000), [15, 5]);
        assert_eq!(split.unexplained_ns() / 1_000_000, 12);
        let traced = Traced { seen_ns: 5_000_000_000, ..traced() };
        assert_eq!(until_seen(split, &traced, 0, 0), split, "no means of operations");
    }

    #[test]
    fn what_a_layer_above_the_drive_takes_is_its_part() {
        let drive = TimeSplit::new(OPS, 100_000_000).with(SplitPart::Drive, 60_000_000);
        let above_ms =
            |count, time_ms| above_drive_ns(drive, Requests { count, time_ms }) / 1_000_000;
        assert_eq!(above_ms(OPS, 85), 25);
        assert_eq!(above_ms(500, 85), 0, "other requests");
        assert_eq!(above_ms(OPS, 55), 0, "shorter than below it");
        // Of the 20 ms from completion to the thread, 10 are the layer's.
        let split = until_seen(drive, &traced(), 5_000_000, 10_000_000);
        let parts = [SplitPart::Waiting, SplitPart::Layer, SplitPart::Completion];
        assert_eq!(parts.map(|part| split.part_ns(part) / 1_000_000), [5, 10, 5]);
    }

    #[test]
    fn requests_that_took_about_as_long_are_divided_too() {
        let slow =
            Completions { count: 1, held_ns: 1_000_000, queue_ns: 9_000_000, device_ns: 2_000_000 };
        let usual = Completions { count: 999, device_ns: 999 * 68_000, ..Completions::default() };
        let classes = [(68_000, usual), (12_000_000, slow)];
        let classes = classes.map(|(ns, completions)| (DividedTime::class(ns), completions));
        let whole = TimeSplit::new(OPS, 100_000_000);
        let slowest = by_length(whole, &BTreeMap::from(classes)).slowest().expect("an outlier");
        let parts = [SplitPart::Held, SplitPart::Queue, SplitPart::Drive];
        assert_eq!(parts.map(|part| slowest.part_ns(part) / 1_000_000), [1, 9, 2]);
        assert_eq!((slowest.ops, slowest.unexplained_ns()), (1, 0));
    }

    #[test]
    fn a_trace_of_other_or_lost_requests_says_nothing() {
        let says = |change: fn(&mut RequestCounts, &mut Completions)| {
            let mut traced = traced();
            let slow = traced.completed[0].get_mut(&70).expect("two");
            change(&mut traced.data[0], slow);
            in_block_layer(TimeSplit::new(OPS, 100_000_000), OpKind::Read, &traced).is_some()
        };
        let followed: [fn(&mut RequestCounts, &mut Completions); 3] =
            [|r, _| r.queued = 990, |r, _| r.issued = 102, |r, _| r.splits = 10];
        assert_eq!(followed.map(says), [true; 3]);
        let lost: [fn(&mut RequestCounts, &mut Completions); 5] = [
            |r, _| r.queued = 989,
            |r, _| r.issued = 103,
            |r, _| r.splits = 11,
            |r, slow| (r.issued, slow.count) = (99, 1),
            |_, slow| slow.device_ns = 7_000_000,
        ];
        assert_eq!(lost.map(says), [false; 5]);
    }

    #[test]
    fn other_requests_than_those_of_the_workload_prove_nothing() {
        let split = |count| reads((1, Mix::READ), (count, 60), usage(10, 20)).is_some();
        let counts = [0, 989, 990, 1010, 1011, 2000].map(split);
        assert_eq!(counts, [false, false, true, true, false, false]);
        assert_eq!(reads((1, Mix::READ), (OPS, 116), usage(0, 0)), None, "longer than it took");
    }
}
