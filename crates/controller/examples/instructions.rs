//! A callgrind workload at depth 16: `instructions OPERATIONS BYTES`. The driver's share is
//! everything called from `driver_pushes` and `driver_polls`; the controller's steps are outside
//! both. `cargo xtask bench nvme` divides by the number of operations.

use std::sync::Arc;

use controller::{Host, HostMemory, Setup, Simulated, SimulatedMedia, Timing};
use nvme::{
    Controller, FormattedNamespace, IoRequest, Queue, QueueParameters, RequestKind, Tracker,
};

const SLOTS: usize = 16;
const BLOCK_BITS: u32 = 12;

type Q = Queue<Arc<Host>, Arc<HostMemory>, Vec<Tracker>>;

/// Pushes a batch and rings the doorbell.
#[inline(never)]
fn driver_pushes(queue: &mut Q, batch: &[IoRequest; SLOTS]) {
    for (slot, request) in batch.iter().enumerate() {
        queue.push(slot, request).expect("room for a request of whole blocks");
    }
    queue.ring();
}

/// The requests of a batch: alternating reads and writes, from `lba` on.
fn batch(bytes: usize, data_at: usize, lba: u64) -> [IoRequest; SLOTS] {
    let blocks = (bytes >> BLOCK_BITS) as u32;
    let place = FormattedNamespace { nsid: 1, block_bits: BLOCK_BITS };
    std::array::from_fn(|slot| {
        let kind = if slot % 2 == 0 { RequestKind::Read } else { RequestKind::Write };
        let lba = lba + slot as u64 * u64::from(blocks);
        IoRequest { kind, place, lba, blocks, at: data_at + slot * bytes }
    })
}

/// Collects completed requests and returns their number.
#[inline(never)]
fn driver_polls(queue: &mut Q) -> u64 {
    let mut ended = 0;
    queue.poll(|_| ended += 1);
    ended
}

fn main() {
    let words: Vec<usize> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let operations = words.first().copied().unwrap_or(16_000) as u64;
    let bytes = words.get(1).copied().unwrap_or(4096);
    let media =
        SimulatedMedia::new(1 << BLOCK_BITS, 1 << 16, Timing::Fixed { ns: 10_000, spread_ns: 0 });
    // Without a transfer limit, each operation is one command.
    let setup = Setup { transfer_max: 0, ..Setup::default() };
    let simulated = Simulated::new(setup, vec![media]);
    let host = simulated.host();
    let mut controller = Controller::start(host).expect("starts");
    let shape =
        QueueParameters { slots: SLOTS, request_bytes: bytes, base: 0, timeout_ns: 1 << 40 };
    let layout = controller.lay_out(&shape).expect("fits");
    let data_at = layout.end();
    let memory = HostMemory::new(1 << 40, data_at + SLOTS * bytes, layout.rings_end());
    let memory = Arc::new(memory);
    simulated.map(&memory);
    let trackers = vec![Tracker::default(); layout.trackers()];
    let mut queue = controller.create_queue(1, memory, trackers, layout).expect("created");
    for slot in 0..SLOTS {
        queue.prepare(slot, data_at + slot * bytes, bytes);
    }
    let (mut pushed, mut ended) = (0, 0);
    while ended < operations {
        let lba = pushed * (bytes as u64 >> BLOCK_BITS) % 4096;
        driver_pushes(&mut queue, &batch(bytes, data_at, lba));
        pushed += SLOTS as u64;
        while ended < pushed {
            // Long enough for the controller to complete a batch.
            (0..8).for_each(|_| simulated.step());
            ended += driver_polls(&mut queue);
        }
    }
    println!("{ended} operations, {} doorbells", queue.counters().doorbells);
}
