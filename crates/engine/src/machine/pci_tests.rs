//! Tests a machine on the NVMe driver with a simulated controller: the path of `pci:` targets
//! without a drive.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use controller::{Faults, Setup};
use record::{Safety, State, TargetKind};
use rig::{
    BackendKind, BlockRequest, BlockWay, Erase, Event, Issue, Job, Preparation, Rig, RigError,
    Stage, TargetInfo,
};
use workload::{Content, Mix, OpKind, Pacing, Pattern, Region, Stop, Workload};

use super::{Machine, RigOptions};
use crate::device::pci::simulated::{SERIAL, Wire};
use crate::device::pci::{Expected, PciDevice};
use crate::device::{AnyDevice, DeviceError};

const BYTES: u64 = 8 << 20;

fn expected() -> Expected {
    let spec = "pci:0000:00:05.0".to_string();
    Expected { spec, serial: SERIAL.into(), nsid: 1, bytes: BYTES, block_bytes: 512 }
}

/// A machine and the connection to its controller. Commands are aborted after `patience` / 8, at
/// most 30 s.
fn machine_with(setup: Setup, patience: Duration) -> (Machine, Wire) {
    machine_of(Wire::new(setup, BYTES / 512), patience)
}

fn machine_of(wire: Wire, patience: Duration) -> (Machine, Wire) {
    let device = PciDevice::start(wire.clone(), expected(), patience).expect("starts");
    let null = TargetInfo::null(BYTES);
    let mut info = TargetInfo { allowed: Safety::Destroys, ..null };
    (info.target.kind, info.target.spec) = (TargetKind::Device, expected().spec);
    let device = AnyDevice::SimulatedPci(Box::new(device));
    let (never, quiet) = (Arc::new(AtomicBool::new(false)), Box::new(|_: &Event| {}));
    (Machine::on(device, info, RigOptions::default(), never, quiet), wire)
}

fn machine() -> (Machine, Wire) {
    machine_with(Setup::default(), Duration::from_secs(300))
}

fn workload(mix: Mix) -> Workload {
    Workload {
        depth: 4,
        stop: Stop { ops: Some(2000), ..Stop::default() },
        ..Workload::new("w", Pattern::Uniform, mix, 4096, Region::first(BYTES))
    }
}

#[test]
fn a_mixed_workload_is_verified_and_its_traffic_counted() {
    // Register doorbells; shadow doorbells that the controller polls; shadow doorbells with
    // register writes only to wake it.
    for (shadow, dozes) in [(false, false), (true, false), (true, true)] {
        mixed_workload(Setup { shadow, dozes, ..Setup::default() });
    }
}

fn mixed_workload(setup: Setup) {
    let (mut machine, wire) = machine_with(setup, Duration::from_secs(300));
    let mixed = Workload {
        verify: true,
        flush_at_end: true,
        depth: 16,
        jobs: 2,
        ..workload(Mix::read_percent(50))
    };
    let measured = machine.measure(&mixed).expect("measured");
    let ops = |kind: OpKind| measured.kind(kind).map_or(0, |kind| kind.ops);
    assert!(measured.verified_sectors > 0 && measured.errors.is_empty(), "{:?}", measured.errors);
    assert_eq!(ops(OpKind::Read) + ops(OpKind::Write), 2000);
    let device = measured.device.expect("it counts its traffic");
    assert_eq!(device.written_bytes, ops(OpKind::Write) * 4096);
    // The kernel counts the reads of a process, but these bypass it.
    assert_eq!(device.fetched_bytes(), ops(OpKind::Read) * 4096);
    assert!(device.depth > 1.0, "several are in flight: {}", device.depth);
    assert_eq!(measured.temperature.map(|t| t.max_c), Some(40.0));
    assert_eq!((measured.backend, measured.direct), (Some(BackendKind::Nvme), true));
    assert!(machine.health().is_some_and(|health| health.temperature_c == Some(40.0)));
    assert_eq!(wire.controller.counters().violations, 0);
}

#[test]
fn fill_discard_zero_borrowed_reads_and_the_block_door_work() {
    let (mut machine, wire) = machine();
    let region = Region::first(BYTES);
    let fill = Preparation::Fill { region, content: Content::Random, seed: 1 };
    assert_eq!(machine.prepare(fill).expect("filled").bytes, BYTES);
    assert_eq!(machine.target().state, State::Filled);
    let half = Region { start: BYTES / 2, bytes: BYTES / 2 };
    machine.prepare(Preparation::Discard { region: half }).expect("discarded");
    let released = machine.prepare(Preparation::Release { region }).expect("released").released;
    assert!(released.is_some_and(|r| r.zero_bytes >= BYTES / 2));
    let zero = Preparation::Erase { region, how: Erase::Zero };
    let erased = machine.prepare(zero).expect("erased").released.expect("looked at");
    assert_eq!(erased.looked_bytes, erased.zero_bytes);
    for how in [Erase::SecureDiscard, Erase::Sanitize] {
        let refused = machine.prepare(Preparation::Erase { region, how });
        assert!(matches!(refused, Err(RigError::Unsupported(_))), "{how:?}");
    }
    let door = machine.blocks().expect("a block interface");
    let bytes: Vec<u8> = (0..600_000 / 512 * 512).map(|i| (i / 7) as u8).collect();
    let request = |way, bytes| BlockRequest { tag: 0, way, offset: 512, bytes };
    let mut done = Vec::new();
    for (way, sent) in [(BlockWay::Write, bytes.clone()), (BlockWay::Read, vec![0; bytes.len()])] {
        done.clear();
        door.submit(request(way, sent)).expect("submitted");
        while done.is_empty() {
            door.poll(true, &mut done).expect("polled");
        }
    }
    assert_eq!(done[0].result.as_ref().ok(), Some(&()));
    assert!(done[0].request.bytes == bytes, "read back");
    assert_eq!(wire.controller.counters().violations, 0);
}

/// Whether the first half of the drive consists of zeros.
fn is_zero(machine: &Machine) -> bool {
    let mut bytes = vec![1; BYTES as usize / 2];
    machine.device.read(0, &mut bytes).expect("read");
    bytes.iter().all(|byte| *byte == 0)
}

#[test]
fn a_format_changes_the_block_size_and_the_drive_stays_usable() {
    let (mut machine, wire) = machine();
    let verified = Workload { verify: true, ..workload(Mix::WRITE) };
    for block_bytes in [4096, 512, 512, 4096] {
        machine.measure(&verified).expect("measured before");
        machine.prepare(Preparation::Format { block_bytes }).expect("formatted");
        let target = machine.target();
        assert_eq!((target.logical_block_bytes, target.bytes), (block_bytes, BYTES));
        assert_eq!(target.state, State::Fresh);
        assert!(is_zero(&machine), "{block_bytes}");
        let after = machine.measure(&verified).expect("measured after");
        assert!(after.errors.is_empty() && after.verified_sectors > 0, "{:?}", after.errors);
    }
    let (region, how) = (Region::first(BYTES), Erase::Format { block_bytes: 512 });
    let erased = machine.prepare(Preparation::Erase { region, how }).expect("erased").released;
    assert!(erased.is_some_and(|r| r.looked_bytes > 0 && r.kept_bytes == 0));
    assert_eq!(wire.controller.counters().violations, 0);
}

#[test]
fn a_format_that_is_impossible_or_not_confined_is_refused_and_the_drive_stays_usable() {
    let setup = Setup { formats_all: true, ..Setup::default() };
    for (count, block_bytes, refusal) in
        [(1, 1024, "no format with blocks of 1024"), (2, 4096, "all 2 namespaces")]
    {
        let wire = Wire::with(setup, BYTES / 512, count);
        let (mut machine, _wire) = machine_of(wire, Duration::from_secs(300));
        let region = Region::first(BYTES);
        let fill = Preparation::Fill { region, content: Content::Random, seed: 1 };
        machine.prepare(fill).expect("filled");
        let erase = Preparation::Erase { region, how: Erase::Format { block_bytes } };
        for impossible in [Preparation::Format { block_bytes }, erase] {
            match machine.prepare(impossible) {
                Err(RigError::Unsupported(text)) => assert!(text.contains(refusal), "{text}"),
                other => panic!("{other:?}"),
            }
        }
        assert!(!is_zero(&machine), "its content is intact");
    }
}

#[test]
fn errors_of_the_drive_are_counted_and_the_run_goes_on() {
    let faults = Faults { error: 50_000, twice: 20_000, spurious: 20_000, ..Faults::default() };
    let (mut machine, wire) =
        machine_with(Setup { faults, ..Setup::default() }, Duration::from_secs(300));
    let measured = machine.measure(&workload(Mix::READ)).expect("measured");
    let failed: u64 = measured.errors.iter().map(|error| error.count).sum();
    assert!((40..200).contains(&failed), "{:?}", measured.errors);
    assert_eq!(wire.controller.counters().violations, 0);
}

/// Lost commands are aborted. Commands that ignore the abort, and fatal errors, require a
/// controller reset, which ends the commands of both queues.
#[test]
fn silent_commands_end_by_abort_or_reset_and_the_run_goes_on() {
    let faults = Faults { lost: 2_000, stubborn: 500, fatal: 500, ..Faults::default() };
    let setup = Setup { faults, seed: 3, ..Setup::default() };
    let (mut machine, wire) = machine_with(setup, Duration::from_millis(8));
    let issue = Issue { failures_max: u32::MAX, ..Issue::default() };
    let both = Workload { jobs: 2, ..workload(Mix::read_percent(50)) };
    let stage = Stage { by_job: true, ..Stage::default() };
    let done = machine.perform(vec![Job { issue, ..Job::from_workload(&both) }], stage);
    let done = done.expect("the run goes on");
    let issued: u64 = done.jobs.iter().map(|job| job.issued).sum();
    assert_eq!(issued, 2000);
    let counters = wire.controller.counters();
    assert!(counters.resets > 0, "{counters:?}");
    wire.controller.set_faults(Faults::default());
    let verified = Workload { verify: true, ..workload(Mix::WRITE) };
    let after = machine.measure(&verified).expect("measured");
    assert!(after.errors.is_empty(), "{:?}", after.errors);
}

#[test]
fn a_drive_that_is_gone_ends_the_run_with_one_error() {
    let (mut machine, wire) = machine_with(Setup::default(), Duration::from_millis(8));
    machine.measure(&workload(Mix::READ)).expect("it works");
    wire.controller.remove();
    match machine.measure(&workload(Mix::READ)) {
        Err(RigError::Io { context, source }) => {
            let line = format!("{context}: {source}");
            assert!(line.contains("pci:0000:00:05.0") && line.contains("gone"), "{line}");
        }
        other => panic!("{other:?}"),
    }
    drop(machine);
    assert!(wire.cut.load(Ordering::Relaxed), "it is kept from memory");
}

/// Covers every way a worker waits: for a completion, until a time, and not at all.
#[test]
fn a_controller_in_our_time_serves_closed_open_and_verified_loops() {
    let null = TargetInfo::null(BYTES);
    let info = TargetInfo { allowed: Safety::Destroys, ..null };
    let (never, quiet) = (Arc::new(AtomicBool::new(false)), Box::new(|_: &Event| {}));
    let mut machine =
        Machine::null_nvme(info, RigOptions::default(), never, quiet).expect("comes up");
    let closed = Workload { verify: true, jobs: 2, ..workload(Mix::read_percent(50)) };
    let open =
        Workload { pacing: Pacing::Poisson { rate: 20_000.0 }, depth: 16, ..workload(Mix::READ) };
    let batched = Workload { depth: 16, ..workload(Mix::WRITE) };
    for (name, w) in [("closed", closed), ("open", open), ("batched", batched)] {
        let measured = machine.measure(&w).unwrap_or_else(|e| panic!("{name}: {e}"));
        let ops: u64 = measured.kinds.iter().flatten().map(|kind| kind.ops).sum();
        assert!(ops == 2000 && measured.errors.is_empty(), "{name}: {:?}", measured.errors);
    }
    let region = Region::first(BYTES);
    let fill = Preparation::Fill { region, content: Content::Random, seed: 1 };
    assert_eq!(machine.prepare(fill).expect("filled").bytes, BYTES);
    machine.prepare(Preparation::Discard { region }).expect("discarded");
}

#[test]
fn a_controller_is_stopped_and_kept_from_memory_at_the_end() {
    let (mut machine, wire) = machine();
    machine.measure(&workload(Mix::WRITE)).expect("measured");
    assert!(!wire.cut.load(Ordering::Relaxed));
    drop(machine);
    assert!(wire.cut.load(Ordering::Relaxed));
}

#[test]
fn another_drive_at_the_same_address_is_refused() {
    let start = |expected: Expected| {
        let wire = Wire::new(Setup::default(), BYTES / 512);
        let started = PciDevice::start(wire.clone(), expected, Duration::from_secs(300));
        assert!(started.is_ok() || wire.cut.load(Ordering::Relaxed), "it is let go");
        started.err()
    };
    assert!(start(expected()).is_none());
    let others = [
        Expected { serial: "OTHER".into(), ..expected() },
        Expected { bytes: BYTES + 512, ..expected() },
        Expected { block_bytes: 4096, ..expected() },
    ];
    for other in others {
        match start(other) {
            Some(DeviceError::Drive(error)) => {
                let text = error.to_string();
                assert!(text.starts_with("pci:0000:00:05.0 changed since it was opened"), "{text}");
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn more_jobs_than_queue_pairs_are_one_line() {
    let (mut machine, _wire) =
        machine_with(Setup { queues: 3, ..Setup::default() }, Duration::from_secs(300));
    let jobs = |jobs| Workload { jobs, ..workload(Mix::READ) };
    machine.measure(&jobs(2)).expect("one pair is the side queue's");
    let error = machine.measure(&jobs(3)).expect_err("too many");
    assert!(error.to_string().contains("the drive has only 3 queue pairs"), "{error}");
    machine.measure(&jobs(2)).expect("the pairs are free again");
}
