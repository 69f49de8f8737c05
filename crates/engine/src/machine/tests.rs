//! Tests a machine on a device without a file descriptor, through the interface that methods use.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use record::{Safety, State, TargetKind};
use rig::{
    BlockRequest, BlockWay, Erase, Event, Observer, Pass, Preparation, Returning, Rig, RigError,
    StopReason, TargetInfo,
};
use workload::{Content, Mix, OpKind, Pattern, Region, Stop, Workload};

use super::{Machine, RigOptions};
use crate::device::{AnyDevice, MemoryDevice};

const BYTES: u64 = 1 << 20;

fn machine(allowed: Safety, journal: Option<journal::JournalDir>) -> Machine {
    observed(allowed, journal, Box::new(|_: &Event| {}))
}

fn observed(
    allowed: Safety,
    journal: Option<journal::JournalDir>,
    observer: Box<dyn Observer>,
) -> Machine {
    let null = TargetInfo::null(BYTES);
    let mut info = TargetInfo { allowed, ..null };
    (info.target.kind, info.target.spec) = (TargetKind::Device, "mem:0".into());
    let (quiet, options) =
        (Arc::new(AtomicBool::new(false)), RigOptions { journal, ..RigOptions::default() });
    let device = AnyDevice::Memory(MemoryDevice::new(BYTES as usize));
    Machine::on(device, info, options, quiet, observer)
}

fn memory(machine: &Machine) -> &MemoryDevice {
    match &*machine.device {
        AnyDevice::Memory(memory) => memory,
        _ => panic!("the device of these tests"),
    }
}

fn workload(mix: Mix) -> Workload {
    Workload {
        depth: 4,
        batch: 4,
        stop: Stop { ops: Some(1000), ..Stop::default() },
        ..Workload::new("w", Pattern::Uniform, mix, 4096, Region::first(BYTES))
    }
}

#[test]
fn a_measurement_is_that_of_any_drive_and_its_counters_are_watched() {
    let mut machine = machine(Safety::Destroys, None);
    let mixed = Workload { verify: true, flush_at_end: true, ..workload(Mix::read_percent(50)) };
    let measured = machine.measure(&mixed).expect("measured");
    let moved = |kind: OpKind| measured.kind(kind).map_or((0, 0), |k| (k.ops, k.bytes));
    assert_eq!(moved(OpKind::Read).0 + moved(OpKind::Write).0, 1000);
    assert_eq!(moved(OpKind::Flush).0, 1);
    assert!(measured.verified_sectors > 0 && measured.errors.is_empty());
    assert_eq!(measured.stop, StopReason::Amount);
    assert_eq!(memory(&machine).drive().depth_max, 4);
    let device = measured.device.expect("it counts its traffic");
    assert_eq!(
        (device.read_bytes, device.written_bytes),
        (moved(OpKind::Read).1, moved(OpKind::Write).1)
    );
    assert_eq!(measured.temperature.map(|t| t.max_c), Some(40.0));
    assert_eq!(machine.target().target.direct, Some(true));
}

#[test]
fn a_fill_writes_all_of_it_and_a_discard_clears_it() {
    let mut machine = machine(Safety::Destroys, None);
    let region = Region::first(BYTES);
    let fill = Preparation::Fill { region, content: Content::Random, seed: 1 };
    assert_eq!(machine.prepare(fill).expect("filled").bytes, BYTES);
    assert_eq!(machine.target().state, State::Filled);
    let nonzero =
        |machine: &Machine| memory(machine).drive().bytes.iter().filter(|b| **b != 0).count();
    assert!(nonzero(&machine) > BYTES as usize / 2);
    let half = Region { start: BYTES / 2, bytes: BYTES / 2 };
    machine.prepare(Preparation::Discard { region: half }).expect("discarded");
    assert!(memory(&machine).drive().bytes[half.start as usize..].iter().all(|b| *b == 0));
    assert!(nonzero(&machine) > BYTES as usize / 4, "the first half is still there");
    let released = machine.prepare(Preparation::Release { region }).expect("released");
    let released = released.released.expect("looked at");
    assert_eq!((released.looked_bytes, released.zero_bytes), (BYTES, BYTES / 2));
    let flushes = memory(&machine).drive().flushes;
    machine.prepare(Preparation::Flush).expect("flushed");
    assert_eq!(memory(&machine).drive().flushes, flushes + 1);
}

#[test]
fn an_erase_is_looked_at_and_what_the_device_lacks_is_unsupported() {
    let mut machine = machine(Safety::Destroys, None);
    let region = Region::first(BYTES);
    for how in [Erase::SecureDiscard, Erase::Zero, Erase::Sanitize] {
        let erase = machine.prepare(Preparation::Erase { region, how });
        assert!(matches!(erase, Err(RigError::Unsupported(_))), "{how:?}: {erase:?}");
    }
    let untouched = memory(&machine).drive().bytes.iter().all(|byte| *byte == 0);
    assert!(untouched, "no canary is written for an erase that cannot follow");
    let erase = Preparation::Erase { region, how: Erase::Discard };
    let erased = machine.prepare(erase).expect("erased").released.expect("looked at");
    assert_eq!((erased.looked_bytes, erased.zero_bytes), (BYTES, BYTES), "every canary is gone");
    assert_eq!(machine.target().state, State::Fresh);
    let format = Preparation::Format { block_bytes: 4096 };
    assert!(matches!(machine.prepare(format), Err(RigError::Unsupported(_))));
    let program = machine.command(&["true".into()]);
    assert!(matches!(program, Err(RigError::Unsupported(_))), "{program:?}");
    assert!(machine.measure(&workload(Mix::READ)).is_ok(), "the run goes on");
}

#[test]
fn borrowed_blocks_are_in_the_journal_and_go_back() {
    let directory = tempfile::tempdir().expect("a directory");
    let place = journal::JournalDir::at(directory.path());
    let journals = || std::fs::read_dir(directory.path()).expect("listed").count();
    let mut machine = machine(Safety::Borrows, Some(place));
    let content: Vec<u8> = (0..BYTES).map(|i| (i / 4096) as u8 ^ i as u8).collect();
    memory(&machine).drive().bytes.copy_from_slice(&content);
    let region = Region { start: 65_536, bytes: 262_144 };
    let rewrite =
        Workload { content: Content::Original, region, ..workload(Mix::read_percent(50)) };
    let refused = machine.measure(&rewrite);
    assert!(matches!(refused, Err(RigError::Refused(_))), "nothing is borrowed yet");
    assert_eq!(machine.prepare(Preparation::Borrow { region }).expect("kept").bytes, 262_144);
    assert_eq!(journals(), 1);
    let foreign = Workload { content: Content::Random, ..rewrite.clone() };
    assert!(matches!(machine.measure(&foreign), Err(RigError::Refused(_))));
    let outside = Workload { region: Region::first(131_072), ..rewrite.clone() };
    assert!(matches!(machine.measure(&outside), Err(RigError::Refused(_))));
    machine.measure(&rewrite).expect("measured");
    assert_eq!(memory(&machine).drive().bytes, content, "its own content");
    memory(&machine).drive().bytes[70_000] ^= 1;
    let restored = machine.prepare(Preparation::Restore).expect("compared");
    assert_eq!(restored.bytes, 65_536, "the block that differs");
    assert_eq!(memory(&machine).drive().bytes, content);
    assert_eq!(journals(), 0);
}

#[test]
fn the_return_of_borrowed_blocks_is_shown_with_its_bytes() {
    let directory = tempfile::tempdir().expect("a directory");
    let (sender, events) = std::sync::mpsc::channel();
    let observer = Box::new(move |event: &Event| sender.send(event.clone()).expect("listens"));
    let place = journal::JournalDir::at(directory.path());
    let mut machine = observed(Safety::Borrows, Some(place), observer);
    for start in [0, BYTES / 2] {
        let region = Region { start, bytes: 262_144 };
        machine.prepare(Preparation::Borrow { region }).expect("kept");
    }
    let restore = |machine: &mut Machine| {
        machine.prepare(Preparation::Restore).expect("compared");
        events.try_iter().filter(|event| !matches!(event, Event::Finding(_))).collect::<Vec<_>>()
    };
    let passes = |events: &[Event]| {
        let of = |event: &Event| match event {
            Event::Returning(progress) => Some(*progress),
            _ => None,
        };
        events.iter().filter_map(of).collect::<Vec<Returning>>()
    };
    memory(&machine).drive().bytes[70_000] ^= 1;
    let events = restore(&mut machine);
    let shown = passes(&events);
    let (compared, restored): (Vec<Returning>, Vec<_>) =
        shown.iter().partition(|progress| progress.pass == Pass::Compare);
    assert_eq!((compared[0].done_bytes(), compared[0].total_bytes), (65_536, 524_288));
    assert!(compared.last().is_some_and(Returning::is_done), "both regions: {compared:?}");
    assert_eq!((restored[0].done_bytes(), restored[0].total_bytes), (32_768, 65_536), "written");
    assert!(restored.last().is_some_and(Returning::is_done), "read back: {restored:?}");
    let end = matches!(
        events.last(),
        Some(Event::Returned { compared_bytes: 524_288, restored_bytes: 65_536 })
    );
    assert!(end, "{events:?}");
    assert!(restore(&mut machine).is_empty(), "nothing is borrowed any more");
}

#[test]
fn workloads_and_commands_leave_borrowed_blocks_their_own_content() {
    let directory = tempfile::tempdir().expect("a directory");
    let place = journal::JournalDir::at(directory.path());
    let mut machine = machine(Safety::Borrows, Some(place));
    let region = Region::first(262_144);
    machine.prepare(Preparation::Borrow { region }).expect("kept");
    let refused = |what: &str, error: Option<RigError>| match error {
        Some(RigError::Refused(text)) => {
            let own = "borrowed blocks may only be overwritten with their own content";
            assert!(text.ends_with(own), "{what}: {text}");
        }
        other => panic!("{what}: {other:?}"),
    };
    let random = Workload { region, ..workload(Mix::WRITE) };
    refused("random", machine.measure(&random).err());
    let zeros = Workload { content: Content::Zeros, ..random.clone() };
    refused("zeros", machine.measure(&zeros).err());
    let trims = Workload { content: Content::Original, mix: Mix::DISCARD, ..random.clone() };
    refused("discards among own content", machine.measure(&trims).err());
    let fill = Preparation::Fill { region, content: Content::Random, seed: 1 };
    refused("fill", machine.prepare(fill).err());
    refused("discard", machine.prepare(Preparation::Discard { region }).err());
    refused("release", machine.prepare(Preparation::Release { region }).err());
    let write =
        |offset| BlockRequest { tag: 0, way: BlockWay::Write, offset, bytes: vec![1; 8192] };
    for offset in [region.bytes, region.bytes - 4096] {
        let outside = machine.blocks().expect("a block interface").submit(write(offset));
        assert!(matches!(outside, Err(RigError::Refused(_))), "{offset}: {outside:?}");
    }
    let erase = machine.prepare(Preparation::Erase { region, how: Erase::Discard });
    assert!(matches!(erase, Err(RigError::Refused(_))), "{erase:?}");
    let format = machine.prepare(Preparation::Format { block_bytes: 4096 });
    assert!(matches!(format, Err(RigError::Refused(_))), "{format:?}");
    assert!(memory(&machine).drive().bytes.iter().all(|byte| *byte == 0), "nothing was written");
    let own = Workload { content: Content::Original, ..random };
    assert!(machine.measure(&own).is_ok());
}

#[test]
fn content_of_a_method_that_went_through_the_block_door_goes_back() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut machine = machine(Safety::Borrows, Some(journal::JournalDir::at(directory.path())));
    let content: Vec<u8> = (0..BYTES).map(|i| (i / 4096) as u8 ^ i as u8).collect();
    memory(&machine).drive().bytes.copy_from_slice(&content);
    machine.prepare(Preparation::Borrow { region: Region::first(262_144) }).expect("kept");
    let stamp = BlockRequest { tag: 0, way: BlockWay::Write, offset: 4096, bytes: vec![1; 512] };
    let door = machine.blocks().expect("a block interface");
    door.submit(stamp).expect("its content is in the journal");
    door.poll(true, &mut Vec::new()).expect("written");
    assert_ne!(memory(&machine).drive().bytes, content);
    machine.prepare(Preparation::Restore).expect("restored");
    assert_eq!(memory(&machine).drive().bytes, content);
}

#[test]
fn a_drive_near_its_warning_temperature_ends_the_run() {
    // The drive is at 40 degrees Celsius, and the margin is 5.
    for (warn_c, ends) in [(45.0, true), (45.1, false)] {
        let mut machine = machine(Safety::Destroys, None);
        let mut drive = record::DriveIdentity::default();
        drive.health.temperature_warn_c = Some(warn_c);
        machine.info.target.drive = Some(drive);
        machine.measure(&workload(Mix::READ)).expect("keeps what was measured");
        let next = machine.measure(&workload(Mix::READ));
        assert_eq!(matches!(next, Err(RigError::Refused(_))), ends, "{warn_c}: {next:?}");
    }
}

#[test]
fn a_drive_is_given_five_minutes_by_default() {
    assert_eq!(RigOptions::default().patience, std::time::Duration::from_secs(5 * 60));
}

#[test]
fn another_drive_in_its_place_is_not_written_to() {
    let mut machine = machine(Safety::Destroys, None);
    let write = workload(Mix::WRITE);
    machine.measure(&write).expect("measured");
    let before = memory(&machine).drive().ops;
    memory(&machine).drive().serial = "MEM-2".into();
    let region = Region::first(BYTES);
    assert!(matches!(machine.measure(&write), Err(RigError::Refused(_))));
    let discard = Preparation::Discard { region };
    assert!(matches!(machine.prepare(discard), Err(RigError::Refused(_))));
    let blocks = machine.blocks().expect("a block interface");
    let request = BlockRequest { tag: 0, way: BlockWay::Write, offset: 0, bytes: vec![1; 512] };
    assert!(matches!(blocks.submit(request), Err(RigError::Refused(_))));
    assert_eq!(memory(&machine).drive().ops, before);
    assert!(machine.measure(&workload(Mix::READ)).is_ok(), "reading harms nobody");
}

/// Writes a block and waits for it, as a recording does with each frame.
fn frame(machine: &mut Machine, number: u64) -> Result<(), RigError> {
    let offset = number * 512 % BYTES;
    let request = BlockRequest { tag: number, way: BlockWay::Write, offset, bytes: vec![1; 512] };
    machine.blocks()?.submit(request)?;
    let mut done = Vec::new();
    machine.blocks()?.poll(true, &mut done)
}

#[test]
fn a_step_of_many_frames_is_checked_when_it_begins_and_every_second() {
    let mut machine = machine(Safety::Destroys, None);
    let step = |name: &str| Event::Step { name: name.into(), replicate: 0, skipped: false };
    machine.note(step("first"));
    let began = Instant::now();
    (0..1000).for_each(|number| frame(&mut machine, number).expect("written"));
    let (checks, seconds) = (memory(&machine).drive().checks, began.elapsed().as_secs());
    assert!((1..=1 + seconds).contains(&checks), "{checks} checks in {seconds} s");
    assert_eq!(memory(&machine).drive().ops, 1000);
    // Another drive takes its place between two steps, and each kind of step is checked.
    memory(&machine).drive().serial = "MEM-2".into();
    let refused = |result| assert!(matches!(result, Err(RigError::Refused(_))), "{result:?}");
    machine.note(step("second"));
    refused(frame(&mut machine, 0));
    refused(frame(&mut machine, 1));
    let returns = |machine: &mut Machine| {
        memory(machine).drive().serial = "MEM-1".into();
        frame(machine, 2).expect("it is back");
        memory(machine).drive().serial = "MEM-2".into();
    };
    returns(&mut machine);
    machine.measure(&workload(Mix::READ)).expect("reading harms nobody");
    refused(frame(&mut machine, 3));
    returns(&mut machine);
    machine.prepare(Preparation::Flush).expect("flushed");
    refused(frame(&mut machine, 4));
}

#[test]
fn a_drive_that_is_swapped_in_mid_step_is_noticed_within_about_a_second() {
    let mut machine = machine(Safety::Destroys, None);
    frame(&mut machine, 0).expect("written");
    memory(&machine).drive().serial = "MEM-2".into();
    std::thread::sleep(Duration::from_millis(1050));
    assert!(matches!(frame(&mut machine, 1), Err(RigError::Refused(_))));
}

#[test]
fn a_drive_that_was_unplugged_is_said_to_be_gone_once() {
    let mut machine = machine(Safety::Destroys, None);
    memory(&machine).drive().serial.clear();
    let error = machine.measure(&workload(Mix::WRITE)).expect_err("it is gone");
    assert_eq!(error.fault(), Some(rig::ErrorClass::Io));
    assert_eq!(error.to_string(), "mem:0 is gone: it was unplugged, or the kernel dropped it");
}

#[test]
fn failing_operations_are_the_requests_results_at_the_block_door() {
    let mut machine = machine(Safety::Destroys, None);
    memory(&machine).drive().fails_after = Some(4);
    let blocks = machine.blocks().expect("a block interface");
    for tag in 0..8 {
        let request =
            BlockRequest { tag, way: BlockWay::Write, offset: tag * 4096, bytes: vec![1; 4096] };
        blocks.submit(request).expect("submitted");
    }
    let mut done = Vec::new();
    while done.len() < 8 {
        blocks.poll(true, &mut done).expect("polled");
    }
    let failed = done.iter().filter(|done| done.result.is_err()).count();
    assert_eq!(failed, 4);
    assert!(done.iter().all(|done| {
        done.result.as_ref().err().is_none_or(|e| e.raw_os_error() == Some(libc::EIO))
    }));
}
