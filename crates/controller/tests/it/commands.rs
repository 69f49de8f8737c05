//! Tests controller startup, admin commands, doorbells and loss of the controller.

use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use controller::{Host, HostMemory, Setup, Simulated, SimulatedMedia, Timing};
use model::{Drive, DriveSpec};
use nvme::{
    Cause, Clock as _, Controller, DmaMap, Error, FormattedNamespace, IoRequest, Mmio as _, Queue,
    QueueLayout, QueueParameters, Range, RequestKind, Status, Tracker,
};

const SLOTS: usize = 16;
const REQUEST_BYTES: usize = 64 << 10;
const TIMEOUT_NS: u64 = 1_000_000_000;

type Q = Queue<Arc<Host>, Arc<HostMemory>, Vec<Tracker>>;

struct Bench {
    simulated: Arc<Simulated>,
    host: Arc<Host>,
    controller: Controller<Arc<Host>>,
    /// Number of queues created so far; each has memory at its own address.
    queues: u64,
}

fn bench(setup: Setup, media: Vec<SimulatedMedia>) -> Bench {
    let simulated = Simulated::new(setup, media);
    let host = simulated.host();
    let controller = Controller::start(host.clone()).expect("starts");
    Bench { simulated, host, controller, queues: 0 }
}

fn fixed() -> Timing {
    Timing::Fixed { ns: 10_000, spread_ns: 2_000 }
}

impl Bench {
    fn queue(&mut self, id: u16) -> Q {
        let shape = QueueParameters {
            slots: SLOTS,
            request_bytes: REQUEST_BYTES,
            base: 0,
            timeout_ns: TIMEOUT_NS,
        };
        let layout = self.controller.lay_out(&shape).expect("fits");
        self.queue_of(id, layout)
    }

    fn queue_of(&mut self, id: u16, layout: QueueLayout) -> Q {
        let bytes = layout.end() + SLOTS * REQUEST_BYTES;
        self.queues += 1;
        let memory = Arc::new(HostMemory::new(self.queues << 40, bytes, layout.rings_end()));
        self.simulated.map(&memory);
        let trackers = vec![Tracker::default(); layout.trackers()];
        self.controller.create_queue(id, memory, trackers, layout).expect("created")
    }

    /// Issues a request in slot 0 and waits for its completion.
    fn wait(&self, queue: &mut Q, request: &IoRequest) -> Status {
        queue.push(0, request).expect("room");
        self.finish(queue)
    }

    /// Waits for the completion of the request that was pushed.
    fn finish(&self, queue: &mut Q) -> Status {
        queue.ring();
        let mut status = None;
        for _ in 0..10_000 {
            self.simulated.step();
            queue.poll(|completed| status = Some(completed.status));
            if let Some(status) = status {
                return status;
            }
        }
        panic!("no answer")
    }
}

fn place(bits: u32) -> FormattedNamespace {
    FormattedNamespace { nsid: 1, block_bits: bits }
}

fn request(
    kind: RequestKind,
    place: FormattedNamespace,
    lba: u64,
    blocks: u32,
    at: usize,
) -> IoRequest {
    IoRequest { kind, place, lba, blocks, at }
}

#[test]
fn it_identifies_itself_and_its_namespaces() {
    let media =
        vec![SimulatedMedia::new(512, 1000, fixed()), SimulatedMedia::new(4096, 2000, fixed())];
    let mut bench = bench(Setup::default(), media);
    assert_eq!(nvme::identify::trimmed(&bench.controller.info().serial), b"SSDYNO-SIM-1");
    let mut list = [0; 4];
    assert_eq!((bench.controller.namespaces(&mut list), list), (Ok(2), [1, 2, 0, 0]));
    let second = bench.controller.namespace(2).expect("is there");
    assert_eq!((second.size, second.format().map(|f| f.block_bytes)), (2000, Some(4096)));
    assert_eq!(bench.controller.health().expect("a log").temperature_c, Some(40));
    assert!(bench.controller.info().write_cache);
    let refused = bench.controller.namespace(3);
    assert!(
        matches!(refused, Err(Error::Refused { status, .. }) if status.cause() == Cause::Namespace),
        "{refused:?}"
    );
}

#[test]
fn a_namespace_without_a_cache_is_reported_as_such() {
    let media = SimulatedMedia::new(512, 1000, fixed()).without_cache();
    assert!(!bench(Setup::default(), vec![media]).controller.info().write_cache);
}

#[test]
fn a_format_changes_the_blocks_and_takes_the_data() {
    let mut bench = bench(Setup::default(), vec![SimulatedMedia::new(512, 8000, fixed())]);
    let mut queue = bench.queue(1);
    let at = queue.layout().end();
    queue.memory().store(at, 77);
    let write = request(RequestKind::Write, place(9), 8, 8, at);
    assert!(bench.wait(&mut queue, &write).is_ok());
    let namespace = bench.controller.namespace(1).expect("is there");
    let format = namespace.format_of(4096).expect("has such a format");
    bench.controller.format(1, format, 0, TIMEOUT_NS).expect("formatted");
    assert_eq!(bench.controller.namespace(1).expect("is there").size, 1000);
    assert!(bench.wait(&mut queue, &request(RequestKind::Read, place(12), 1, 1, at)).is_ok());
    assert_eq!(queue.memory().load(at), 0);
    let wrong = request(RequestKind::Read, place(12), 1000, 1, at);
    assert_eq!(bench.wait(&mut queue, &wrong).cause(), Cause::OutOfRange);
}

/// Counts doorbell writes per operation of 64 KiB, in batches of 16.
#[test]
fn doorbells_are_rare() {
    let mut bench = bench(Setup::default(), vec![SimulatedMedia::new(512, 1 << 20, fixed())]);
    let mut queue = bench.queue(1);
    let (at, mut ended) = (queue.layout().end(), 0u64);
    let before = queue.counters();
    let batches = 500;
    for batch in 0..batches {
        for slot in 0..SLOTS {
            let kind = if batch % 2 == 0 { RequestKind::Read } else { RequestKind::Write };
            let lba = (batch * SLOTS as u64 + slot as u64) * 128 % (1 << 19);
            let request = request(kind, place(9), lba, 128, at + slot * REQUEST_BYTES);
            queue.push(slot, &request).expect("room");
        }
        queue.ring();
        for _ in 0..1000 {
            if ended == (batch + 1) * SLOTS as u64 {
                break;
            }
            bench.simulated.step();
            queue.poll(|completed| ended += u64::from(completed.status.is_ok()));
        }
    }
    assert_eq!(ended, batches * SLOTS as u64);
    let doorbells = queue.counters().doorbells - before.doorbells;
    assert_eq!(bench.simulated.counters().violations, 0);
    let each = doorbells as f64 / (batches * SLOTS as u64) as f64;
    assert!(each <= 0.15, "{each} doorbells per operation");
}

#[test]
fn shadow_doorbells_replace_nearly_all_of_them() {
    let mut bench = bench(Setup::default(), vec![SimulatedMedia::new(512, 1 << 20, fixed())]);
    assert_eq!(bench.controller.use_shadow_doorbells(), Ok(true));
    let mut queue = bench.queue(1);
    let at = queue.layout().end();
    for lba in 0..500 {
        assert!(bench.wait(&mut queue, &request(RequestKind::Read, place(9), lba, 1, at)).is_ok());
    }
    let rung = queue.counters().doorbells;
    assert!(rung <= 2, "{rung} doorbells for 500 commands that the controller saw in memory");
}

#[test]
fn a_virtual_drive_gives_its_time() {
    let spec = DriveSpec::preset("samsung-980-pro-1t").expect("a preset");
    let spec = spec.with_overrides(&[("capacity", "16GiB")]).expect("fits");
    let mut bench =
        bench(Setup::default(), vec![SimulatedMedia::virtual_drive(Drive::new(&spec, 1))]);
    let mut queue = bench.queue(1);
    let at = queue.layout().end();
    let begin = bench.host.now_ns();
    for lba in 0..100 {
        let read = request(RequestKind::Read, place(9), lba * 8, 8, at);
        assert!(bench.wait(&mut queue, &read).is_ok());
    }
    let each = (bench.host.now_ns() - begin) / 100;
    // Reads of unwritten blocks do not access flash, so this is the time of commands and link.
    assert!((1_000..100_000).contains(&each), "{each} ns per command");
}

/// A discard has no address of its own: its blocks are in a list.
#[test]
fn a_virtual_drive_discards_the_ranges_of_a_list() {
    let spec = DriveSpec::preset("samsung-980-pro-1t").expect("a preset");
    let spec = spec.with_overrides(&[("capacity", "16GiB")]).expect("fits");
    let mut bench =
        bench(Setup::default(), vec![SimulatedMedia::virtual_drive(Drive::new(&spec, 1))]);
    let mut queue = bench.queue(1);
    let at = queue.layout().end();
    let lbas = [0, 4096, 100_000];
    for lba in lbas {
        let write = request(RequestKind::Write, place(9), lba, 8, at);
        assert!(bench.wait(&mut queue, &write).is_ok());
    }
    assert!(bench.wait(&mut queue, &request(RequestKind::Flush, place(9), 0, 0, at)).is_ok());
    let read_ns = |queue: &mut Q| {
        let begin = bench.host.now_ns();
        for lba in lbas {
            let read = request(RequestKind::Read, place(9), lba, 8, at);
            assert!(bench.wait(queue, &read).is_ok());
        }
        bench.host.now_ns() - begin
    };
    let from_flash = read_ns(&mut queue);
    let ranges = lbas.map(|lba| Range { lba, blocks: 8 });
    queue.push_discard(0, 1, &ranges).expect("room");
    assert!(bench.finish(&mut queue).is_ok());
    // Reads of discarded blocks do not access flash.
    let discarded = read_ns(&mut queue);
    assert!(2 * discarded < from_flash, "{discarded} ns, before {from_flash} ns");
}

#[test]
fn a_transfer_over_the_limit_is_a_violation() {
    let setup = Setup { transfer_max: 1, ..Setup::default() };
    for (ignores, violations) in [(false, 0), (true, 1)] {
        let mut bench = bench(setup, vec![SimulatedMedia::new(512, 1000, fixed())]);
        let shape = QueueParameters {
            slots: SLOTS,
            request_bytes: REQUEST_BYTES,
            base: 0,
            timeout_ns: TIMEOUT_NS,
        };
        let layout = if ignores {
            QueueLayout::new(&shape, 1024, None)
        } else {
            bench.controller.lay_out(&shape)
        };
        let mut queue = bench.queue_of(1, layout.expect("fits"));
        let at = queue.layout().end();
        assert!(bench.wait(&mut queue, &request(RequestKind::Read, place(9), 0, 128, at)).is_ok());
        assert_eq!(bench.simulated.counters().violations, violations);
    }
}

#[test]
fn a_doorbell_that_repeats_its_value_is_a_violation() {
    let mut bench = bench(Setup::default(), vec![SimulatedMedia::new(512, 1000, fixed())]);
    let mut queue = bench.queue(1);
    let at = queue.layout().end();
    assert!(bench.wait(&mut queue, &request(RequestKind::Read, place(9), 0, 8, at)).is_ok());
    assert_eq!(bench.simulated.counters().violations, 0);
    // The tail of submission queue 1 after one command.
    bench.host.write32(nvme::regs::DOORBELLS + 8, 1);
    assert_eq!(bench.simulated.counters().violations, 1);
}

#[test]
fn the_admin_queues_cannot_be_deleted() {
    let mut bench = bench(Setup::default(), vec![SimulatedMedia::new(512, 1000, fixed())]);
    assert!(matches!(bench.controller.delete_queue(0), Err(Error::Refused { .. })));
    assert!(bench.controller.health().is_ok());
}

/// Memory whose submission ring, at its start, is not at the start of a page.
struct Crooked(HostMemory);

impl DmaMap for Crooked {
    fn words(&self) -> &[AtomicU32] {
        self.0.words()
    }

    fn bus(&self, offset: usize) -> u64 {
        self.0.bus(offset) + if offset == 0 { 8 } else { 0 }
    }
}

#[test]
fn half_a_queue_pair_does_not_remain() {
    let mut bench = bench(Setup::default(), vec![SimulatedMedia::new(512, 1000, fixed())]);
    let shape = QueueParameters { slots: 1, request_bytes: 4096, base: 0, timeout_ns: TIMEOUT_NS };
    let layout = bench.controller.lay_out(&shape).expect("fits");
    let memory = Arc::new(Crooked(HostMemory::new(1 << 50, layout.end(), layout.rings_end())));
    let trackers = vec![Tracker::default(); layout.trackers()];
    let refused = bench.controller.create_queue(1, memory, trackers, layout).map(drop);
    assert!(matches!(refused, Err(Error::Refused { .. })), "{refused:?}");
    let mut queue = bench.queue(1);
    let at = queue.layout().end();
    assert!(bench.wait(&mut queue, &request(RequestKind::Read, place(9), 0, 8, at)).is_ok());
}

#[test]
fn a_controller_without_power_is_gone_and_comes_back() {
    let mut bench = bench(Setup::default(), vec![SimulatedMedia::new(512, 1000, fixed())]);
    bench.simulated.cut_power();
    assert_eq!(bench.controller.check(), Err(Error::Gone));
    assert_eq!(bench.controller.health(), Err(Error::Gone));
    assert!(matches!(Controller::start(bench.host.clone()), Err(Error::Gone)));
    while bench.controller.check() == Err(Error::Gone) {
        bench.host.pause();
    }
    assert_eq!(bench.controller.check(), Err(Error::Stopped));
    bench.controller.reset().expect("back again");
    assert!(bench.controller.health().is_ok());
    bench.controller.shut_down().expect("stops");
}

#[test]
fn queues_come_and_go() {
    let mut bench = bench(Setup::default(), vec![SimulatedMedia::new(512, 1000, fixed())]);
    assert_eq!(bench.controller.grant_queues(64), Ok(8));
    for _ in 0..3 {
        let mut queue = bench.queue(5);
        let at = queue.layout().end();
        assert!(bench.wait(&mut queue, &request(RequestKind::Read, place(9), 0, 8, at)).is_ok());
        bench.controller.delete_queue(5).expect("deleted");
    }
    assert!(bench.controller.delete_queue(5).is_err(), "it is gone");
    assert_eq!(bench.simulated.counters().violations, 0);
}

/// A new queue ignores values left in the shadow doorbell pages by a deleted one.
#[test]
fn queues_come_and_go_with_shadow_doorbells() {
    for dozes in [false, true] {
        let setup = Setup { dozes, ..Setup::default() };
        let mut bench = bench(setup, vec![SimulatedMedia::new(512, 1000, fixed())]);
        assert_eq!(bench.controller.use_shadow_doorbells(), Ok(true));
        for _ in 0..3 {
            let mut queue = bench.queue(5);
            bench.simulated.step();
            let at = queue.layout().end();
            for lba in 0..9 {
                let read = request(RequestKind::Read, place(9), lba, 8, at);
                assert!(bench.wait(&mut queue, &read).is_ok());
            }
            bench.controller.delete_queue(5).expect("deleted");
        }
        let counters = bench.simulated.counters();
        assert_eq!((counters.commands, counters.violations), (27, 0));
    }
}

/// If a controller stops polling once its queue is empty, the driver rings for the next entry, but
/// not for entries found by polling.
#[test]
fn a_controller_that_dozes_is_woken() {
    let setup = Setup { dozes: true, ..Setup::default() };
    let mut bench = bench(setup, vec![SimulatedMedia::new(512, 1 << 20, fixed())]);
    assert_eq!(bench.controller.use_shadow_doorbells(), Ok(true));
    let mut queue = bench.queue(1);
    let at = queue.layout().end();
    let rung = |queue: &Q| queue.counters().doorbells;
    for lba in 0..300 {
        let before = rung(&queue);
        assert!(bench.wait(&mut queue, &request(RequestKind::Read, place(9), lba, 1, at)).is_ok());
        assert!(rung(&queue) - before <= 2, "one for the entry, sometimes one for a completion");
        bench.simulated.step();
    }
    assert!(rung(&queue) >= 300, "{}", rung(&queue));
}

/// A controller that stops polling without a request for a doorbell write gets one before the
/// command is overdue.
#[test]
fn a_controller_that_misses_its_doorbell_is_woken() {
    let setup = Setup { dozes: true, misses: true, ..Setup::default() };
    let mut bench = bench(setup, vec![SimulatedMedia::new(512, 1000, fixed())]);
    assert_eq!(bench.controller.use_shadow_doorbells(), Ok(true));
    let mut queue = bench.queue(1);
    let at = queue.layout().end();
    let mut ended = 0;
    for lba in 0..9 {
        queue.push(0, &request(RequestKind::Read, place(9), lba, 1, at)).expect("room");
        queue.ring();
        for _ in 0..20 {
            bench.simulated.step_to(bench.host.now_ns() + TIMEOUT_NS / 20);
            queue.poll(|completed| ended += u32::from(completed.status.is_ok()));
        }
    }
    assert_eq!((ended, queue.overdue(), queue.counters().overdue), (9, None, 0));
    assert_eq!(bench.simulated.counters().violations, 0);
}
