//! The engine on real files of this machine, with every backend, every kind of end, and every kind
//! of failure. Counts are exact, and no result depends on the machine's speed.

use crate::common;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use drive::OpenRequest;
use engine::{BackendKind, Machine, RigOptions};
use record::{FindingKind, Safety};
use rig::{Event, Observer, Preparation, Rig, RigError, StopReason};
use workload::{Caching, Content, Mix, OpKind, Pacing, Pattern, Region, Stop, Workload};

const MIB: u64 = 1 << 20;

fn nobody() -> Box<dyn Observer> {
    Box::new(|_: &Event| {})
}

fn quiet() -> Arc<AtomicBool> {
    Arc::new(AtomicBool::new(false))
}

/// A machine on a test file that may be overwritten.
fn on_file(path: &Path, backend: BackendKind) -> Machine {
    try_on_file(path, backend).expect("a machine")
}

/// Like [`on_file`]; an error if this machine lacks the backend.
fn try_on_file(path: &Path, backend: BackendKind) -> Result<Machine, RigError> {
    let bytes = fs::metadata(path).expect("exists").len();
    let request =
        OpenRequest { destroy: Some(bytes.to_string()), ..OpenRequest::to(Safety::Destroys) };
    let opened = drive::open(path.to_str().expect("UTF-8"), &request).expect("opens");
    let options = RigOptions { backend: Some(backend), ..RigOptions::default() };
    Machine::new(opened, options, quiet(), nobody())
}

fn file(directory: &Path, bytes: u64) -> std::path::PathBuf {
    let path = directory.join("data");
    File::create(&path).and_then(|f| f.set_len(bytes)).expect("a file");
    path
}

/// The available backends; missing ones are reported.
fn backends() -> Vec<BackendKind> {
    let directory = tempfile::tempdir().expect("a directory");
    let path = file(directory.path(), MIB);
    let works = |kind: &BackendKind| {
        let mut workload = workload("probe", Mix::READ, Pattern::Sequential, MIB);
        workload.stop.ops = Some(1);
        let measured = try_on_file(&path, *kind).and_then(|mut machine| machine.measure(&workload));
        measured.inspect_err(|error| common::skip(*kind, error)).is_ok()
    };
    let kinds = [BackendKind::Uring, BackendKind::Aio, BackendKind::Psync];
    kinds.into_iter().filter(works).collect()
}

fn workload(name: &str, mix: Mix, pattern: Pattern, bytes: u64) -> Workload {
    Workload::new(name, pattern, mix, 4096, Region::first(bytes))
}

#[test]
fn every_backend_reads_back_its_writes() {
    for backend in backends() {
        for depth in [1, 16] {
            let directory = tempfile::tempdir().expect("a directory");
            let path = file(directory.path(), 4 * MIB);
            let mut machine = on_file(&path, backend);
            let mut write = workload("write", Mix::WRITE, Pattern::UniformOnce, 4 * MIB);
            write.depth = depth;
            write.batch = 4.min(depth);
            write.jobs = 2;
            write.verify = true;
            write.flush_at_end = true;
            write.stop = Stop::coverage(1.0);
            let written = machine.measure(&write).expect("measured");
            let stats = written.kind(OpKind::Write).expect("writes");
            assert_eq!((stats.ops, stats.bytes), (1024, 4 * MIB), "{backend:?}");
            // On a busy machine, the process may stand still: operations in flight have no latency.
            let stood_still = written.findings.iter().any(|f| f.kind == FindingKind::StoodStill);
            assert!(stats.service.count() == 1024 || stood_still, "{}", stats.service.count());
            assert_eq!(written.kind(OpKind::Flush).map(|k| k.ops), Some(2));
            assert_eq!(written.verified_sectors, 8 * 1024, "read back in full");
            assert_eq!(written.errors, []);
            assert_eq!(written.stop, StopReason::Amount);
            let capped = if backend == BackendKind::Psync { 1.0 } else { f64::from(depth) };
            assert!(written.effective_depth <= 2.0 * capped * 1.01, "{}", written.effective_depth);

            let read = Workload { mix: Mix::READ, flush_at_end: false, ..write.clone() };
            let read =
                machine.measure(&Workload { name: "read".into(), ..read }).expect("measured");
            assert_eq!(read.verified_sectors, 8 * 1024);
            assert_eq!(read.errors, []);
        }
    }
}

#[test]
fn the_faults_of_a_block_are_distinguished() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = file(directory.path(), MIB);
    let mut machine = on_file(&path, BackendKind::Psync);
    let mut write = workload("write", Mix::WRITE, Pattern::Sequential, MIB);
    write.verify = true;
    write.stop = Stop::coverage(1.0);
    machine.measure(&write).expect("measured");

    let raw = OpenOptions::new().read(true).write(true).open(&path).expect("opens");
    let block = |index: u64| {
        let mut block = vec![0; 4096];
        raw.read_exact_at(&mut block, index * 4096).expect("reads");
        block
    };
    let put = |bytes: &[u8], offset: u64| raw.write_all_at(bytes, offset).expect("writes");
    put(&[block(3)[700] ^ 1], 3 * 4096 + 700);
    put(&block(9), 5 * 4096);
    put(&[0; 4096], 7 * 4096);
    raw.sync_all().expect("syncs");

    let mut read = workload("read", Mix::READ, Pattern::Sequential, MIB);
    read.verify = true;
    read.stop = Stop::coverage(1.0);
    let mut errors = machine.measure(&read).expect("measured").errors;
    errors.sort_by_key(|e| e.first_offsets.clone());
    let found: Vec<_> = errors
        .iter()
        .map(|e| (e.op.as_str(), e.kind.as_str(), e.count, e.first_offsets.as_slice()))
        .collect();
    let at = |block: u64| [block * 4096];
    let (flipped, misplaced, unwritten) = (at(3), at(5), at(7));
    let expected = [
        ("verify", "flipped", 1, &flipped[..]),
        ("verify", "misplaced", 1, &misplaced[..]),
        ("verify", "unwritten", 1, &unwritten[..]),
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_target_that_shrinks_is_refused_with_both_sizes() {
    for (backend, bytes) in backends().into_iter().flat_map(|b| [(b, MIB), (b, 0)]) {
        let directory = tempfile::tempdir().expect("a directory");
        let path = file(directory.path(), 2 * MIB);
        let mut machine = on_file(&path, backend);
        OpenOptions::new().write(true).open(&path).and_then(|f| f.set_len(bytes)).expect("shrinks");
        let read = workload("read", Mix::READ, Pattern::Sequential, 2 * MIB);
        let error = machine.measure(&read).expect_err("its reads would not be those of the plan");
        let text = error.to_string();
        assert!(text.contains(&format!("it had 2097152 bytes, now {bytes}")), "{text}");
    }
}

#[test]
fn a_schedule_is_never_ahead_and_response_is_counted_from_it() {
    let null = rig::TargetInfo::null(MIB);
    let mut machine = Machine::null(null, RigOptions::default(), quiet(), nobody());
    for pacing in [Pacing::Fixed { rate: 20_000.0 }, Pacing::Poisson { rate: 20_000.0 }] {
        let mut w = workload("paced", Mix::READ, Pattern::Uniform, MIB);
        w.pacing = pacing;
        w.stop.ops = Some(1000);
        let m = machine.measure(&w).expect("measured");
        let reads = m.kind(OpKind::Read).expect("reads");
        assert_eq!(reads.ops, 1000);
        let response = reads.response.as_ref().expect("an open loop has response times");
        assert_eq!(response.count(), 1000);
        assert!(response.sum() >= reads.service.sum(), "response holds service");
        // 999 gaps of 50 us; the sum of that many Poisson gaps differs by less than 20%.
        let least = if matches!(pacing, Pacing::Fixed { .. }) { 49_900_000 } else { 40_000_000 };
        assert!(m.elapsed_ns >= least, "{} ns", m.elapsed_ns);
    }
    let mut closed = workload("closed", Mix::READ, Pattern::Uniform, MIB);
    closed.stop.ops = Some(1000);
    let m = machine.measure(&closed).expect("measured");
    assert!(m.kind(OpKind::Read).is_some_and(|k| k.response.is_none()));
}

#[test]
fn the_user_ends_a_run_and_keeps_the_results() {
    let interrupt = quiet();
    let (flag, seen) = (Arc::clone(&interrupt), Arc::new(AtomicBool::new(false)));
    let reported = Arc::clone(&seen);
    let observer = Box::new(move |event: &Event| {
        if let Event::Interval { interval, .. } = event {
            reported.store(interval.ops[0] > 0, Ordering::Relaxed);
            flag.store(true, Ordering::Relaxed);
        }
    });
    let mut machine =
        Machine::null(rig::TargetInfo::null(MIB), RigOptions::default(), interrupt, observer);
    let endless = workload("endless", Mix::READ, Pattern::Uniform, MIB);
    let m = machine.measure(&endless).expect("what was measured");
    assert_eq!(m.stop, StopReason::Interrupted);
    assert!(seen.load(Ordering::Relaxed) && !m.series.t_ns.is_empty());
    let series: f64 = m.series.column("read.ops").map_or(0.0, |c| c.values.iter().flatten().sum());
    assert!(series > 0.0);
    assert!(matches!(machine.measure(&endless), Err(RigError::Interrupted)));
}

#[test]
fn reads_only_means_reads_only() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = file(directory.path(), MIB);
    let request = OpenRequest::to(Safety::Scratch);
    let opened = drive::open(path.to_str().expect("UTF-8"), &request).expect("opens");
    let mut machine =
        Machine::new(opened, RigOptions::default(), quiet(), nobody()).expect("a machine");
    let write = workload("write", Mix::WRITE, Pattern::Sequential, MIB);
    assert!(matches!(machine.measure(&write), Err(RigError::Refused(_))));
    let region = Region::first(MIB);
    let fill = Preparation::Fill { region, content: Content::Random, seed: 1 };
    assert!(matches!(machine.prepare(fill), Err(RigError::Refused(_))));
    assert!(matches!(machine.prepare(Preparation::Discard { region }), Err(RigError::Refused(_))));
    assert_eq!(fs::read(&path).expect("reads"), vec![0; MIB as usize]);
}

#[test]
fn unwritten_blocks_are_reported() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = file(directory.path(), 4 * MIB);
    let mut machine = on_file(&path, BackendKind::Psync);
    let mut read = workload("read", Mix::READ, Pattern::UniformOnce, 4 * MIB);
    read.stop = Stop::coverage(1.0);
    let found = |m: &rig::Measurement| {
        m.findings.iter().any(|f| f.kind == record::FindingKind::UnwrittenBlocksRead)
    };
    assert!(found(&machine.measure(&read).expect("measured")));
    let region = Region::first(4 * MIB);
    machine
        .prepare(Preparation::Fill { region, content: Content::Random, seed: 1 })
        .expect("fills");
    assert!(!found(&machine.measure(&read).expect("measured")));
}

#[test]
fn amounts_that_do_not_divide_among_jobs_are_exact() {
    let mut machine =
        Machine::null(rig::TargetInfo::null(4 * MIB), RigOptions::default(), quiet(), nobody());
    let mut read = workload("read", Mix::READ, Pattern::UniformOnce, 4 * MIB);
    read.jobs = 3;
    let bounds = [
        (Stop { ops: Some(1000), ..Stop::default() }, 1000),
        (Stop { ops: Some(2), ..Stop::default() }, 2),
        (Stop::coverage(1.0), 1024),
    ];
    for (stop, ops) in bounds {
        read.stop = stop;
        let measured = machine.measure(&read).expect("measured");
        assert_eq!(measured.kind(OpKind::Read).map(|k| k.ops), Some(ops), "{stop:?}");
    }
}

#[test]
fn time_runs_from_the_first_operation_to_the_last() {
    let mut machine =
        Machine::null(rig::TargetInfo::null(4 * MIB), RigOptions::default(), quiet(), nobody());
    let mut write = workload("write", Mix::WRITE, Pattern::Sequential, 4 * MIB);
    write.stop.ops = Some(20);
    for jobs in [1, 2, 1, 2, 1, 2] {
        write.jobs = jobs;
        let measured = machine.measure(&write).expect("measured");
        let service = &measured.kind(OpKind::Write).expect("writes").service;
        // One operation can take less than a clock tick. The sum over all twenty is 0 only if they
        // were issued before the start.
        assert!(service.sum() > 0, "issued before the start");
        assert!(measured.elapsed_ns >= service.max().expect("writes"));
        assert!(measured.effective_depth <= f64::from(jobs));
    }
}

#[test]
fn cached_reads_are_reported_and_direct_ones_are_not() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = file(directory.path(), 16 * MIB);
    if drive::locate(&path).map_or(true, |l| l.drive.is_none_or(|d| d.ram)) {
        println!("skipped: no drive is known under {}", path.display());
        return;
    }
    let mut machine = on_file(&path, BackendKind::Psync);
    let region = Region::first(16 * MIB);
    let fill = Preparation::Fill { region, content: Content::Random, seed: 1 };
    machine.prepare(fill).expect("fills");
    let mut read = workload("read", Mix::READ, Pattern::Sequential, 16 * MIB);
    read.stop = Stop::coverage(1.0);
    let cached = |m: &rig::Measurement| {
        m.findings.iter().any(|f| f.kind == record::FindingKind::ServedFromRam)
    };
    let direct = machine.measure(&read).expect("measured");
    if !direct.direct {
        println!("skipped: the file system refuses O_DIRECT");
        return;
    }
    assert!(!cached(&direct), "{:?}", direct.findings);
    read.caching = Caching::Buffered;
    machine.measure(&read).expect("warms the cache");
    let warm = machine.measure(&read).expect("measured");
    assert!(cached(&warm), "{:?} {:?}", warm.device, warm.findings);
}
