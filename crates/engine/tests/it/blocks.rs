//! The block interface: written bytes can be read back from a file, a block device and a virtual
//! drive, at any depth and in any order, and discards clear them.

use crate::common;
use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use drive::OpenRequest;
use engine::{BackendKind, Machine, RigOptions, Simulator};
use model::DriveSpec;
use record::{Safety, State};
use rig::{BlockDone, BlockRequest, BlockWay, Blocks, Erase, Event, Preparation, Rig, RigError};
use workload::{Content, Mix, Pattern, Region, Stop, Workload};

const MIB: u64 = 1 << 20;
const BYTES: u64 = 8 * MIB;

fn quiet() -> Arc<AtomicBool> {
    Arc::new(AtomicBool::new(false))
}

fn machine(path: &str, word: Option<u64>, backend: BackendKind, flag: Arc<AtomicBool>) -> Machine {
    try_machine(path, word, backend, flag).expect("a machine")
}

/// Like [`machine`]; an error if this machine lacks the backend.
fn try_machine(
    path: &str,
    word: Option<u64>,
    backend: BackendKind,
    flag: Arc<AtomicBool>,
) -> Result<Machine, RigError> {
    let destroy = word.map(|bytes| bytes.to_string());
    let wants = if word.is_some() { Safety::Destroys } else { Safety::Reads };
    let opened =
        drive::open(path, &OpenRequest { destroy, ..OpenRequest::to(wants) }).expect("opens");
    let options = RigOptions { backend: Some(backend), ..RigOptions::default() };
    Machine::new(opened, options, flag, Box::new(|_: &Event| {}))
}

fn file(directory: &Path) -> String {
    let path = directory.join("data");
    File::create(&path).and_then(|file| file.set_len(BYTES)).expect("a file");
    path.display().to_string()
}

fn simulator(overrides: &[(&str, &str)]) -> Simulator {
    let preset = DriveSpec::preset("samsung-970-evo-plus-250").expect("a preset");
    let capacity = [("capacity", "1GiB")];
    let overrides = [&capacity, overrides].concat();
    let spec = preset.with_overrides(&overrides).expect("parameters");
    Simulator::new(spec, "sim:test", quiet(), Box::new(|_: &Event| {}))
}

/// A loop device, removed on drop.
struct Loop(String);

impl Loop {
    fn over(image: &str) -> Option<Loop> {
        let made = Command::new("losetup").args(["-f", "--show", image]).output();
        let made = made.ok().filter(|output| output.status.success());
        if made.is_none() {
            println!("skipped: no loop device is available");
        }
        Some(Loop(String::from_utf8_lossy(&made?.stdout).trim().to_string()))
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["-d", &self.0]).status();
    }
}

fn content(tag: u64, bytes: u64) -> Vec<u8> {
    (0..bytes).map(|i| (i / 512) as u8 ^ (i as u8).wrapping_mul(tag as u8 | 1)).collect()
}

fn request(tag: u64, way: BlockWay, offset: u64, bytes: Vec<u8>) -> BlockRequest {
    BlockRequest { tag, way, offset, bytes }
}

/// Carries out all requests and returns them sorted by tag.
fn all(blocks: &mut dyn Blocks, requests: Vec<BlockRequest>) -> Vec<BlockDone> {
    let (count, mut done) = (requests.len(), Vec::new());
    for request in requests {
        blocks.submit(request).expect("submitted");
        blocks.poll(false, &mut done).expect("polled");
    }
    while done.len() < count {
        blocks.poll(true, &mut done).expect("polled");
    }
    let mut none = Vec::new();
    blocks.poll(true, &mut none).expect("nothing is in flight");
    assert!(none.is_empty());
    done.sort_by_key(|done| done.request.tag);
    assert!((0..).zip(&done).all(|(tag, done)| done.request.tag == tag), "each once");
    assert!(done.iter().all(|done| done.result.is_ok() && done.done_ns >= done.submitted_ns));
    done
}

/// Requests of 4 KiB in scattered order, and one long request with an odd number of blocks.
fn requests(way: BlockWay) -> Vec<BlockRequest> {
    let bytes = |tag, bytes| match way {
        BlockWay::Read => vec![0xee; bytes as usize],
        BlockWay::Write => content(tag, bytes),
        BlockWay::Flush => Vec::new(),
    };
    let small = (0..512).map(|tag| request(tag, way, tag * 37 % 512 * 4096, bytes(tag, 4096)));
    let long = 3 * MIB + 512;
    small.chain([request(512, way, 4 * MIB, bytes(512, long))]).collect()
}

/// Writes at full depth, flushes, and reads everything back through the queue and outside it.
fn comes_back(rig: &mut dyn Rig) {
    let blocks = rig.blocks().expect("a block interface");
    assert!(blocks.depth().expect("opens") >= 1);
    all(blocks, requests(BlockWay::Write));
    // A flush in the queue passes writes in flight.
    let write = |tag: u64| request(tag, BlockWay::Write, 37 * 4096, content(1, 4096));
    all(blocks, vec![write(0), request(1, BlockWay::Flush, 0, Vec::new()), write(2)]);
    blocks.flush().expect("flushed");
    for done in all(blocks, requests(BlockWay::Read)) {
        let BlockRequest { tag, bytes, .. } = done.request;
        assert!(bytes == content(tag, bytes.len() as u64), "request {tag}");
    }
    let mut back = vec![0; 4096];
    blocks.read(37 * 4096, &mut back).expect("read");
    assert_eq!(back, content(1, 4096));
    for (offset, bytes) in [(1, 512), (0, 100), (u64::MAX - 511, 512)] {
        let odd = request(0, BlockWay::Read, offset, vec![0; bytes]);
        assert!(matches!(blocks.submit(odd), Err(RigError::Unsupported(_))), "{offset}, {bytes}");
    }
}

#[test]
fn from_a_file_by_every_backend() {
    for backend in [BackendKind::Uring, BackendKind::Aio, BackendKind::Psync] {
        let directory = tempfile::tempdir().expect("a directory");
        let path = file(directory.path());
        let opened = try_machine(&path, Some(BYTES), backend, quiet()).and_then(|mut machine| {
            let depth = machine.blocks().expect("a block interface").depth()?;
            Ok((machine, depth))
        });
        let (mut machine, depth) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                common::skip(backend, &error);
                continue;
            }
        };
        assert_eq!(depth == 1, backend == BackendKind::Psync, "{depth}");
        comes_back(&mut machine);
        drop(machine);
        let held = fs::read(&path).expect("read");
        assert_eq!(held[37 * 4096..38 * 4096], content(1, 4096), "it is in the file");
    }
}

#[test]
fn from_a_loop_device_and_a_discard_clears_them() {
    let directory = tempfile::tempdir().expect("a directory");
    let image = file(directory.path());
    let Some(device) = Loop::over(&image) else { return };
    let mut machine = match try_machine(&device.0, Some(BYTES), BackendKind::Uring, quiet()) {
        Ok(machine) => machine,
        Err(error) => return common::skip(BackendKind::Uring, &error),
    };
    comes_back(&mut machine);
    assert_eq!(machine.target().state, State::Used);
    let region = Region::first(MIB);
    machine.prepare(Preparation::Discard { region }).expect("discarded");
    let (mut cleared, mut kept) = (vec![1; 4096], vec![1; 4096]);
    let blocks = machine.blocks().expect("a block interface");
    blocks.read(0, &mut cleared).expect("read");
    blocks.read(300 * 4096, &mut kept).expect("read");
    assert!(cleared.iter().all(|byte| *byte == 0));
    assert!(kept.iter().any(|byte| *byte != 0));
}

#[test]
fn from_a_scratch_file_that_was_never_written() {
    let directory = tempfile::tempdir().expect("a directory");
    let request = OpenRequest { size: Some(BYTES), ..OpenRequest::to(Safety::Scratch) };
    let place = directory.path().display().to_string();
    let opened = match drive::open(&place, &request) {
        Err(full @ drive::DriveError::NoRoom { .. }) => return println!("skipped: {full}"),
        opened => opened.expect("opens"),
    };
    let mut machine =
        Machine::new(opened, RigOptions::default(), quiet(), Box::new(|_: &Event| {}))
            .expect("one");
    let blocks = machine.blocks().expect("a block interface");
    let read = self::request(0, BlockWay::Read, BYTES - 4096, vec![1; 4096]);
    assert!(all(blocks, vec![read])[0].request.bytes.iter().all(|byte| *byte == 0));
    comes_back(&mut machine);
}

#[test]
fn a_target_for_reads_only_is_not_written() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = file(directory.path());
    let mut machine = machine(&path, None, BackendKind::Psync, quiet());
    let blocks = machine.blocks().expect("a block interface");
    let write = request(0, BlockWay::Write, 0, vec![1; 4096]);
    assert!(matches!(blocks.submit(write), Err(RigError::Refused(_))));
    all(blocks, vec![request(0, BlockWay::Read, 0, vec![1; 4096])]);
    assert!(fs::read(&path).expect("read").iter().all(|byte| *byte == 0));
}

#[test]
fn the_user_ends_a_run_at_the_door_too() {
    let directory = tempfile::tempdir().expect("a directory");
    let (path, flag) = (file(directory.path()), quiet());
    let mut machine = machine(&path, None, BackendKind::Psync, Arc::clone(&flag));
    let blocks = machine.blocks().expect("a block interface");
    let read = || request(0, BlockWay::Read, 0, vec![0; 4096]);
    all(blocks, vec![read()]);
    flag.store(true, Ordering::Relaxed);
    assert!(matches!(blocks.submit(read()), Err(RigError::Interrupted)));
    assert!(machine.blocks().is_err());
}

#[test]
fn from_a_virtual_drive() {
    let mut drive = simulator(&[]);
    let before = drive.elapsed_ns();
    comes_back(&mut drive);
    assert!(drive.elapsed_ns() > before);
    let mut back = vec![1; 4096];
    let blocks = drive.blocks().expect("a block interface");
    blocks.read(512 * MIB, &mut back).expect("read");
    assert!(back.iter().all(|byte| *byte == 0), "never written");
}

/// Writes two blocks, applies a change, and returns both. The change affects only the first.
fn after(drive: &mut Simulator, change: impl Fn(&mut Simulator)) -> [Vec<u8>; 2] {
    let blocks = drive.blocks().expect("a block interface");
    let write = |tag: u64| request(tag, BlockWay::Write, tag * MIB, content(tag, 4096));
    all(blocks, vec![write(0), write(1)]);
    change(drive);
    let blocks = drive.blocks().expect("a block interface");
    [0, 1].map(|number| {
        let mut bytes = vec![0xee; 4096];
        blocks.read(number * MIB, &mut bytes).expect("read");
        bytes
    })
}

#[test]
fn changes_of_a_virtual_drive_clear_the_blocks_they_concern() {
    let region = Region::first(MIB);
    let prepare = |preparation: Preparation| {
        move |drive: &mut Simulator| {
            drive.prepare(preparation.clone()).expect("prepared");
        }
    };
    let discard = || prepare(Preparation::Discard { region });
    let zeros = vec![0; 4096];
    assert_eq!(after(&mut simulator(&[]), |_| {}), [content(0, 4096), content(1, 4096)]);
    assert_eq!(after(&mut simulator(&[]), discard()), [zeros.clone(), content(1, 4096)]);
    // A drive that guarantees nothing after a discard returns neither the old content nor zeros.
    let [vague, kept] = after(&mut simulator(&[("discard.zeros", "false")]), discard());
    assert!(vague != zeros && vague != content(0, 4096) && kept == content(1, 4096));
    // A drive that ignores discards keeps the content.
    let deaf = after(&mut simulator(&[("discard.honoured", "false")]), discard());
    assert_eq!(deaf, [content(0, 4096), content(1, 4096)]);
    let erase = Preparation::Erase { region, how: Erase::Zero };
    assert_eq!(after(&mut simulator(&[]), prepare(erase)), [zeros.clone(), content(1, 4096)]);
    let fill = Preparation::Fill { region, content: Content::Random, seed: 1 };
    let [filled, kept] = after(&mut simulator(&[]), prepare(fill));
    assert!(filled != zeros && filled != content(0, 4096) && kept == content(1, 4096));
    let [written, kept] = after(&mut simulator(&[]), |drive| {
        let write = Workload::new("w", Pattern::Sequential, Mix::WRITE, 4096, region);
        drive.measure(&Workload { stop: Stop::coverage(1.0), ..write }).expect("measured");
    });
    assert!(written != zeros && written != content(0, 4096) && kept == content(1, 4096));
}

#[test]
fn a_format_of_a_virtual_drive_clears_all_blocks() {
    let preset = DriveSpec::preset("sabrent-sb2130-1t").expect("a preset");
    let spec = preset.with_overrides(&[("capacity", "1GiB")]).expect("parameters");
    let mut drive = Simulator::new(spec, "sim:test", quiet(), Box::new(|_: &Event| {}));
    let format = Preparation::Format { block_bytes: 4096 };
    let blocks = after(&mut drive, |drive| {
        drive.prepare(format.clone()).expect("formatted");
    });
    assert_eq!(blocks, [vec![0; 4096], vec![0; 4096]]);
    comes_back_in_large_blocks(&mut drive);
}

fn comes_back_in_large_blocks(drive: &mut Simulator) {
    let blocks = drive.blocks().expect("a block interface");
    let small = request(0, BlockWay::Write, 0, vec![1; 512]);
    assert!(matches!(blocks.submit(small), Err(RigError::Unsupported(_))));
    all(blocks, vec![request(0, BlockWay::Write, 8192, content(3, 8192))]);
    let mut back = vec![0; 4096];
    blocks.read(12_288, &mut back).expect("read");
    assert_eq!(back, content(3, 8192)[4096..]);
}
