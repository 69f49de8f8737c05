//! The workloads of document 001, printed as rows of the table that `ssdyno import` reads.
//!
//! The document writes sequentially in blocks of 64 KiB or more. Each workload runs for a fixed
//! time, after the region has been written once, because drives read unwritten blocks faster. The
//! driver's own cost per command is measured separately, in batches.

use nvme::{IoRequest, RequestKind};

use crate::{Drive, Failure, REQUEST_BYTES, SLOTS, sys, text};

/// Duration of each workload, nanoseconds.
const TIME_NS: u64 = 25_000_000;
/// Size of the region in use; small, because emulated drives are in memory.
const REGION_BYTES: u64 = 32 << 20;

struct Workload {
    name: &'static str,
    kind: RequestKind,
    random: bool,
    bytes: usize,
    depth: usize,
}

const WRITE: RequestKind = RequestKind::Write;
const WORKLOADS: [Workload; 9] = [
    Workload::new("seq-write-64KiB-q16", WRITE, false, 64 << 10, 16),
    Workload::new("seq-write-128KiB-q16", WRITE, false, 128 << 10, 16),
    Workload::new("seq-write-512KiB-q16", WRITE, false, 512 << 10, 16),
    Workload::new("seq-read-64KiB-q16", RequestKind::Read, false, 64 << 10, 16),
    Workload::new("seq-read-512KiB-q16", RequestKind::Read, false, 512 << 10, 16),
    Workload::new("rand-read-4KiB-q1", RequestKind::Read, true, 4096, 1),
    Workload::new("rand-read-4KiB-q16", RequestKind::Read, true, 4096, 16),
    Workload::new("rand-write-4KiB-q1", WRITE, true, 4096, 1),
    Workload::new("rand-write-4KiB-q16", WRITE, true, 4096, 16),
];

/// Requests per batch in the cost measurement, and number of batches.
const BATCH: usize = 16;
const BATCHES: u64 = 64;
/// First wait for a batch to end, nanoseconds; doubled after each batch that has not ended.
const PATIENCE_NS: u64 = 500_000;
/// Sizes of the commands in the cost measurement.
const COSTS: [(&str, usize); 3] =
    [("command-4KiB", 4096), ("command-64KiB", 64 << 10), ("command-512KiB", 512 << 10)];

impl Workload {
    const fn new(
        name: &'static str,
        kind: RequestKind,
        random: bool,
        bytes: usize,
        depth: usize,
    ) -> Workload {
        Workload { name, kind, random, bytes, depth }
    }
}

/// Measures all workloads and prints their rows.
pub fn measure(drive: &mut Drive) -> Result<(), Failure> {
    let region = drive.bytes.min(REGION_BYTES);
    let fill = Workload::new("fill", WRITE, false, REQUEST_BYTES, SLOTS);
    let passes = region / REQUEST_BYTES as u64;
    run(drive, &fill, region, |ended, _| ended < passes)?;
    crate::say(format_args!("run,method,target,metric,unit,value,low,high,n,samples"));
    for workload in &WORKLOADS {
        let (ended, ns) = run(drive, workload, region, |_, ns| ns < TIME_NS)?;
        // Integers, because the image has no floating point.
        let per_second = |count: u64| count * 1_000_000_000 / ns.max(1);
        let (unit, value) = match workload.random {
            true => ("IOPS", per_second(ended)),
            false => ("B/s", per_second(ended * workload.bytes as u64)),
        };
        row(drive, workload.name, "", unit, value);
        row(drive, workload.name, ".mean", "ns", ns * workload.depth as u64 / ended.max(1));
    }
    for (name, bytes) in COSTS {
        let spent = cost(drive, bytes, region)?;
        row(drive, name, "", "ns", spent);
    }
    Ok(())
}

/// Time of the driver itself for a write, nanoseconds, without the drive. Batches are submitted,
/// left until all of them must have ended, and then collected; the wait does not count. If an
/// emulator counts a nanosecond per instruction, this is the number of instructions.
fn cost(drive: &mut Drive, bytes: usize, region: u64) -> Result<u64, Failure> {
    let blocks = (bytes >> drive.place.block_bits) as u32;
    let places = region / bytes as u64;
    let (mut spent, mut whole, mut begun, mut patience_ns) = (0, 0, 0, PATIENCE_NS);
    while whole < BATCHES {
        let from = sys::now_ns();
        for slot in 0..BATCH {
            let lba = (begun * BATCH as u64 + slot as u64) % places * u64::from(blocks);
            let at = drive.data_at + slot * REQUEST_BYTES;
            let request = IoRequest { kind: WRITE, place: drive.place, lba, blocks, at };
            if drive.queue.push(slot, &request).is_err() {
                return Err(Failure::Drive("the queue is full"));
            }
        }
        drive.queue.ring();
        let rung = sys::now_ns();
        while sys::now_ns() - rung < patience_ns {}
        let (mut ended, mut right) = (0, true);
        let mut collect = |drive: &mut Drive| {
            drive.queue.poll(|completed| {
                ended += 1;
                right &= completed.status.is_ok();
            });
            ended
        };
        let waited = sys::now_ns();
        let together = collect(drive) == BATCH;
        let took = (rung - from) + (sys::now_ns() - waited);
        while collect(drive) < BATCH {
            if drive.queue.overdue().is_some() {
                return Err(Failure::Drive("a request did not complete"));
            }
        }
        if !right {
            return Err(Failure::Drive("a request failed"));
        }
        begun += 1;
        match together {
            true => (spent, whole) = (spent + took, whole + 1),
            false => patience_ns *= 2,
        }
    }
    Ok(spent / (BATCHES * BATCH as u64))
}

fn row(drive: &Drive, name: &str, statistic: &str, unit: &str, value: u64) {
    let (machine, serial) = (sys::NAME, text(&drive.serial));
    crate::say(format_args!(
        "bare-{machine},io,nvme:{serial},{name}{statistic},{unit},{value},,,1,{value}"
    ));
}

/// Keeps the workload's number of requests in flight while `more`, given the number submitted and
/// the nanoseconds elapsed, returns true. Returns the number of requests and nanoseconds.
fn run(
    drive: &mut Drive,
    workload: &Workload,
    region: u64,
    more: impl Fn(u64, u64) -> bool,
) -> Result<(u64, u64), Failure> {
    let blocks = (workload.bytes >> drive.place.block_bits) as u32;
    let places = region / workload.bytes as u64;
    let mut free = [0; SLOTS];
    let mut spare = workload.depth;
    (0..spare).for_each(|slot| free[slot] = slot);
    let clock = sys::now_ns;
    let (begin, mut pushed, mut ended, mut right) = (clock(), 0u64, 0, true);
    let mut random = 0x9e37_79b9_7f4a_7c15u64;
    loop {
        let going = more(pushed, clock() - begin);
        while going && spare > 0 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let place = if workload.random { (random >> 33) % places } else { pushed % places };
            spare -= 1;
            let slot = free[spare];
            let request = IoRequest {
                kind: workload.kind,
                place: drive.place,
                lba: place * u64::from(blocks),
                blocks,
                at: drive.data_at + slot * REQUEST_BYTES,
            };
            if drive.queue.push(slot, &request).is_err() {
                return Err(Failure::Drive("the queue is full"));
            }
            pushed += 1;
        }
        drive.queue.ring();
        drive.queue.poll(|completed| {
            free[spare] = completed.slot;
            spare += 1;
            ended += 1;
            right &= completed.status.is_ok();
        });
        if !right || drive.queue.overdue().is_some() {
            return Err(Failure::Drive("a request failed"));
        }
        if !going && spare == workload.depth {
            return Ok((ended, clock() - begin));
        }
    }
}
