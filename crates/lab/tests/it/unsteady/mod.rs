//! `speed` and `fake` on a borrowed drive whose reads return a wrong bit now and then, as of a bad
//! reader or cable: from the start, or only after the first write. Whatever happens, and wherever
//! a kill ends the run, every byte comes back, no good drive is called damaged or counterfeit, and
//! the answer names the fault. On a drive that reads well, nothing is refused.
//!
//! `SSDYNO_UNSTEADY` sets the number of runs of each method (`cargo xtask bench unsteady`: 2,000);
//! a failure prints its seed.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use engine::{Flips, Machine, MemoryDevice, MemoryDrive, RigOptions};
use journal::{JournalDir, Rereads};
use record::{FindingKind, Safety, TargetKind, VerdictKind};
use rig::{Event, TargetInfo};
use script::{MethodError, Options, Outcome, Session};
use tempfile::TempDir;

/// Size of the drive, bytes: the smallest that both methods accept.
const BYTES: u64 = 4 << 20;

/// Runs of each method in the suite.
const RUNS: u64 = 50;

/// A run of one method, with everything that is seen of it.
struct Run {
    seed: u64,
    memory: MemoryDevice,
    content: Vec<u8>,
    out: Outcome,
    /// Reads with a wrong bit that the method could notice.
    noticeable: u64,
    /// Writes of other content than the original that were lost.
    lost_stamps: u64,
    /// The state that a kill would have left.
    killed: Option<Killed>,
    dir: TempDir,
}

/// The drive's content and the journals at some moment.
struct Killed {
    content: Vec<u8>,
    journals: PathBuf,
}

/// What the observer of a run notes.
#[derive(Default)]
struct Seen {
    events: u64,
    /// Wrong reads and lost writes before the blocks are returned.
    before_return: Option<[u64; 2]>,
    killed: Option<Killed>,
}

fn mixed(seed: u64, salt: u64) -> u64 {
    let x = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(salt);
    let x = (x ^ x >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    x ^ x >> 32
}

/// Runs a method on a new drive, which must end well.
fn run(method: &str, seed: u64, flips: Option<Flips>) -> Run {
    let (run, result) = run_on(method, seed, |drive| drive.flips = flips);
    result.unwrap_or_else(|e| panic!("{method}, seed {seed}: {e}"));
    run
}

/// Runs a method on a new drive with these faults.
fn run_on(
    method: &str,
    seed: u64,
    faults: impl FnOnce(&mut MemoryDrive),
) -> (Run, Result<(), MethodError>) {
    let dir = TempDir::new().expect("a directory");
    let memory = MemoryDevice::new(BYTES as usize);
    let content: Vec<u8> = (0..BYTES).map(|i| mixed(seed, i / 8) as u8 ^ i as u8).collect();
    memory.drive().bytes.copy_from_slice(&content);
    faults(&mut memory.drive());
    let mut info = TargetInfo { allowed: Safety::Borrows, ..TargetInfo::null(BYTES) };
    (info.target.kind, info.target.spec) = (TargetKind::Device, "mem:0".into());
    let journals = dir.path().join("journals");
    let journal = Some(JournalDir::at(&journals));
    let seen = Arc::new(Mutex::new(Seen::default()));
    let observer = observer(Arc::clone(&seen), memory.clone(), journals, mixed(seed, 1) % 40);
    let options = RigOptions { journal, ..RigOptions::default() };
    let quiet = Arc::new(AtomicBool::new(false));
    let mut machine = Machine::in_memory(memory.clone(), info, options, quiet, observer);
    let mut session = Session::new(&mut machine);
    let time = Some(Duration::from_secs(2));
    let options = Options { time, replicates: Some(1), seed, ..Options::default() };
    let result = session.run(methods::find(method).expect("known"), &options);
    let out = session.finish();
    let Seen { before_return, killed, .. } = std::mem::take(&mut *seen.lock().expect("no panic"));
    let drive = memory.drive();
    // `fake` checks all that it reads, but then expects other content than the original. `speed`
    // checks what it borrows.
    let noticeable = match method {
        "fake" => before_return.map_or(drive.flipped, |[flipped, _]| flipped),
        _ => drive.flipped_borrowing,
    };
    let lost_stamps = before_return.map_or(0, |[_, lost]| lost);
    drop(drive);
    (Run { seed, memory, content, out, noticeable, lost_stamps, killed, dir }, result)
}

/// Notes the state at the event with this number.
fn observer(
    seen: Arc<Mutex<Seen>>,
    memory: MemoryDevice,
    journals: PathBuf,
    kill_at: u64,
) -> Box<dyn rig::Observer> {
    Box::new(move |event: &Event| {
        let mut seen = seen.lock().expect("no panic");
        // The step in which `fake` restores.
        let is_return = matches!(event, Event::Step { name, .. } if name == "restore");
        if is_return && seen.before_return.is_none() {
            let drive = memory.drive();
            seen.before_return = Some([drive.flipped, drive.lost]);
        }
        if seen.events == kill_at {
            let content = memory.drive().bytes.clone();
            let copy = journals.with_file_name("killed");
            copy_files(&journals, &copy);
            seen.killed = Some(Killed { content, journals: copy });
        }
        seen.events += 1;
    })
}

fn copy_files(from: &Path, to: &Path) {
    fs::create_dir(to).expect("made");
    for entry in fs::read_dir(from).into_iter().flatten() {
        let path = entry.expect("an entry").path();
        fs::copy(&path, to.join(path.file_name().expect("a name"))).expect("copied");
    }
}

/// Does what `recover --replay` does, on the same unsteady drive; every byte must come back.
fn recovered(run: &Run, killed: &Killed) {
    let Run { memory, content, seed, .. } = run;
    memory.drive().bytes.copy_from_slice(&killed.content);
    let place = JournalDir::at(&killed.journals);
    for left in place.unfinished().expect("listed") {
        let kept = place.open(&left.path).expect("whole");
        let compared =
            kept.borrowed.compare(memory, Rereads::UntilCertain, &mut |_| ()).expect("compared");
        // No block is called different or the same unless it is.
        let region = kept.borrowed.region();
        let blocks = |bytes: &[u8]| -> Vec<Vec<u8>> {
            let range = region.start as usize..region.end() as usize;
            bytes[range].chunks(journal::BLOCK).map(<[u8]>::to_vec).collect()
        };
        let pairs = blocks(&killed.content).into_iter().zip(blocks(content));
        let differing = pairs.enumerate().filter(|(_, (now, before))| now != before);
        let differing: Vec<usize> = differing.map(|(index, _)| index).collect();
        assert_eq!(compared.to_restore(), differing, "seed {seed}");
        kept.borrowed.put_back(memory, &compared.to_restore(), &mut |_| ()).expect("restored");
        place.close(kept).expect("closed");
    }
    assert!(memory.drive().bytes == *content, "seed {seed}: recovery changed bytes");
}

fn has(out: &Outcome, kind: &VerdictKind) -> bool {
    out.verdicts.iter().any(|verdict| verdict.kind == *kind)
}

/// Checks a run on an unsteady drive; returns whether its answer names the fault.
fn check_unsteady(run: &Run) -> bool {
    let Run { seed, out, .. } = run;
    assert!(run.memory.drive().bytes == run.content, "seed {seed}: bytes are changed for good");
    assert_eq!(fs::read_dir(run.dir.path().join("journals")).map_or(0, Iterator::count), 0);
    let changed = out.warnings.iter().any(|f| f.kind == FindingKind::ContentChanged);
    assert!(!changed, "seed {seed}: nothing was damaged");
    for kind in [VerdictKind::ContentLost, VerdictKind::Aliasing] {
        assert!(!has(out, &kind), "seed {seed}: {:?}", out.verdicts);
    }
    let named = has(out, &VerdictKind::ReadsDiffer);
    assert!(named || run.noticeable == 0, "seed {seed}: {} wrong reads", run.noticeable);
    assert!(!named || run.memory.drive().flipped > 0, "seed {seed}: no read was wrong");
    if named {
        let answer = out.answer.as_ref().expect("an answer");
        let words = "This drive, reader or cable reads different bytes each time: ";
        assert!(answer.headline.starts_with(words), "seed {seed}: {}", answer.headline);
        assert!(out.warnings.iter().any(|f| f.kind == FindingKind::ReadsDiffer));
        assert!(!out.errors.is_empty() && out.errors.iter().all(|e| e.op == "verify"));
    }
    if let Some(killed) = &run.killed {
        recovered(run, killed);
    }
    named
}

fn check_steady(method: &str, run: &Run) {
    let Run { seed, out, .. } = run;
    assert!(run.memory.drive().bytes == run.content, "seed {seed}: bytes are changed for good");
    assert!(out.errors.is_empty(), "seed {seed}: {:?}", out.errors);
    let kind = if method == "fake" { VerdictKind::CapacityReal } else { VerdictKind::Speed };
    assert!(has(out, &kind) && out.answer.is_some(), "seed {seed}: {:?}", out.verdicts);
    if let Some(killed) = &run.killed {
        recovered(run, killed);
    }
}

#[test]
fn an_unsteady_drive_gets_every_byte_back_and_is_named() {
    let asked = std::env::var("SSDYNO_UNSTEADY").ok().and_then(|n| n.parse().ok());
    let runs: u64 = asked.unwrap_or(RUNS);
    let mut named = [0; 2];
    for (method, named) in ["speed", "fake"].into_iter().zip(&mut named) {
        for seed in 0..runs {
            // From .1 to 5%.
            let share = 0.001 * libm::pow(50.0, (seed / 2) as f64 / (runs / 2).max(1) as f64);
            let flips = Flips { share, after_write: seed % 2 == 1, seed: mixed(seed, 2) };
            *named += u64::from(check_unsteady(&run(method, seed, Some(flips))));
            check_steady(method, &run(method, seed, None));
        }
    }
    let [speed, fake] = named;
    println!(
        "{runs} runs of each method on unsteady drives: 0 bytes changed, named {speed} times by \
         speed and {fake} by fake; {runs} each on steady drives: 0 refusals"
    );
}

/// Runs of `fake` on drives that lose writes.
const LOSING: u64 = 20;

/// A lost write of borrowed content leaves the content as it was: only a stamp that is lost shows.
/// A block that does not come back, because that write is lost too, stays in its journal.
#[test]
fn a_drive_that_loses_writes_is_named_and_what_it_does_not_take_back_stays_in_the_journal() {
    let (mut named, mut kept) = (0, 0);
    for seed in 0..LOSING {
        let share = 0.5 * (seed + 1) as f64 / LOSING as f64;
        let losses = Flips { share, after_write: false, seed: mixed(seed, 3) };
        let (run, result) = run_on("fake", seed, |drive| drive.losses = Some(losses));
        let Run { out, memory, content, dir, .. } = &run;
        let is_named = [VerdictKind::ContentLost, VerdictKind::Aliasing];
        let is_named = is_named.iter().any(|kind| has(out, kind));
        assert_eq!(is_named, run.lost_stamps > 0, "seed {seed}: {:?}", out.verdicts);
        named += u64::from(is_named);
        let Err(error) = result else {
            assert!(memory.drive().bytes == *content, "seed {seed}: bytes are changed for good");
            continue;
        };
        kept += 1;
        let said = format!("seed {seed}: {error}");
        assert!(
            said.contains("read back differently") && said.contains("ssdyno recover"),
            "{said}"
        );
        // The drive is mended: the journal has every byte.
        memory.drive().losses = None;
        let killed =
            Killed { content: memory.drive().bytes.clone(), journals: dir.path().join("journals") };
        recovered(&run, &killed);
    }
    assert!(named > LOSING / 4 && kept > 0, "named {named} times, {kept} journals kept");
}
