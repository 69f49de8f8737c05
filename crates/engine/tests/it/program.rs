//! Program-like use of the drive: stream calls, durable writes, growing files, and commands. Counts
//! are exact, and no result depends on the machine's speed.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use drive::OpenRequest;
use engine::{Machine, RigOptions, Simulator};
use model::DriveSpec;
use record::Safety;
use rig::{BackendKind, Event, Exit, Preparation, Rig, RigError, StopReason};
use workload::{Caching, Calls, Content, Mix, OpKind, Pattern, Region, Stop, Workload};

const MIB: u64 = 1 << 20;

fn on_directory(path: &Path) -> Machine {
    let request = OpenRequest { size: Some(16 * MIB), ..OpenRequest::to(Safety::Scratch) };
    let opened = drive::open(path.to_str().expect("UTF-8"), &request).expect("opens");
    let quiet = Arc::new(AtomicBool::new(false));
    Machine::new(opened, RigOptions::default(), quiet, Box::new(|_: &Event| {})).expect("a machine")
}

fn once(name: &str, mix: Mix) -> Workload {
    let region = Region::first(MIB);
    let stop = Stop::coverage(1.0);
    let caching = Caching::Buffered;
    Workload { stop, caching, ..Workload::new(name, Pattern::Sequential, mix, 4096, region) }
}

fn words(text: &str) -> Vec<String> {
    text.split(' ').map(String::from).collect()
}

#[test]
fn a_program_reads_back_the_bytes_it_wrote() {
    let place = tempfile::tempdir().expect("a directory");
    let mut machine = on_directory(place.path());
    let calls = Calls::Bytes { host_ns: 0 };
    for mix in [Mix::WRITE, Mix::READ] {
        let w = Workload { calls, verify: true, ..once("bytes", mix) };
        let m = machine.measure(&w).expect("measured");
        let kind = mix.only().and_then(|kind| m.kind(kind)).expect("it moved data");
        assert_eq!((kind.ops, kind.bytes, m.stop), (256, MIB, StopReason::Amount));
        assert_eq!((m.verified_sectors, m.backend), (2048, Some(BackendKind::Psync)));
        assert_eq!(m.errors, []);
    }
    let deep = Workload { calls, depth: 2, ..once("deep", Mix::READ) };
    assert!(matches!(machine.measure(&deep), Err(RigError::Workload(_))));
}

#[test]
fn a_virtual_host_takes_its_time_for_every_byte() {
    let spec = DriveSpec::preset("samsung-970-evo-plus-250").expect("a preset");
    let quiet = Arc::new(AtomicBool::new(false));
    let mut drive = Simulator::new(spec, "sim:test", quiet, Box::new(|_: &Event| {}));
    let region = Region::first(MIB);
    drive.prepare(Preparation::Fill { region, content: Content::Random, seed: 1 }).expect("fills");
    for mix in [Mix::WRITE, Mix::READ] {
        let mut elapsed = |calls| {
            let w = Workload { calls, ..once("bytes", mix) };
            drive.measure(&w).expect("measured").elapsed_ns
        };
        let (plain, bytes) = (elapsed(Calls::Plain), elapsed(Calls::Bytes { host_ns: 200 }));
        let host = 200 * MIB;
        assert!(bytes > host && bytes < host + 2 * plain, "{plain} {bytes}");
    }
    assert!(matches!(drive.command(&words("true")), Err(RigError::Unsupported(_))));
    assert!(drive.reference().is_none());
}

#[test]
fn an_emptied_scratch_file_grows_and_durable_writes_are_written() {
    let place = tempfile::tempdir().expect("a directory");
    let mut machine = on_directory(place.path());
    machine.measure(&once("first", Mix::WRITE)).expect("measured");
    machine.prepare(Preparation::Empty).expect("emptied");
    let nothing = machine.measure(&once("read", Mix::READ)).expect("measured");
    assert_eq!(nothing.kind(OpKind::Read).map(|k| k.ops), None, "there is nothing to read");
    assert_eq!(nothing.errors[0].kind, "short transfer");
    machine.prepare(Preparation::Empty).expect("emptied");
    let durable = Workload { sync_writes: true, ..once("durable", Mix::WRITE) };
    let durable = machine.measure(&durable).expect("measured");
    assert_eq!(durable.kind(OpKind::Write).map(|k| k.ops), Some(256));
    let dropped = machine.prepare(Preparation::DropCaches).expect("dropped");
    assert!(dropped.cached_bytes.is_none_or(|bytes| bytes <= MIB), "{dropped:?}");
    let read = machine.measure(&once("read", Mix::READ)).expect("measured");
    assert_eq!(read.kind(OpKind::Read).map(|k| k.bytes), Some(MIB), "it grew to its end");
}

#[test]
fn a_command_runs_in_the_directory_and_its_exit_is_reported() {
    let place = tempfile::tempdir().expect("a directory");
    let mut machine = on_directory(place.path());
    let run = machine.command(&words("touch here")).expect("it runs");
    assert!(place.path().join("here").is_file());
    assert_eq!(run.exit, Exit::Code(0));
    assert!(run.elapsed_ns > 0 && run.memory_bytes_max > 0, "{run:?}");
    let script = place.path().join("killed");
    fs::write(&script, "kill -9 $$").expect("written");
    let exit = |line: &str, machine: &mut Machine| machine.command(&words(line)).map(|r| r.exit);
    assert_eq!(exit("false", &mut machine).expect("it runs"), Exit::Code(1));
    assert_eq!(exit("sh killed", &mut machine).expect("it runs"), Exit::Signal(9));
    let none = exit("no-such-program-anywhere", &mut machine).expect_err("there is none");
    assert!(none.to_string().contains("no-such-program-anywhere"), "{none}");
}
