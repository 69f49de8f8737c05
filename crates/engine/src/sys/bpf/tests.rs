//! The programs on this machine's kernel, if it permits them.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::*;

const PROGRAM_NEXT: libc::c_int = 11;
const PROGRAM_OPEN: libc::c_int = 13;
const OBJECT_INFO: libc::c_int = 15;

/// Set in the child that is killed.
const CHILD: &str = "SSDYNO_TEST_CHILD";

/// The name of a loaded program.
fn name_of(program: u32) -> Option<[u8; 16]> {
    let mut open = [program, 0, 0];
    let program = descriptor(PROGRAM_OPEN, &mut open).ok()?;
    // The name is at 64 of struct bpf_prog_info.
    let mut info = [0u8; 128];
    let mut request =
        [program.as_raw_fd() as u64 | (info.len() as u64) << 32, info.as_mut_ptr() as u64];
    bpf(OBJECT_INFO, &mut request).ok()?;
    info[64..80].try_into().ok()
}

/// How many programs of a process the kernel has.
fn programs_of(process: u32) -> usize {
    let (mut count, mut number) = (0, 0);
    loop {
        let mut next = [number, 0, 0];
        if bpf(PROGRAM_NEXT, &mut next).is_err() {
            return count;
        }
        number = next[1];
        count += usize::from(name_of(number) == Some(program_name(process)));
    }
}

/// Held by the test whose requests are counted: the programs follow the whole process.
static ALONE: Mutex<()> = Mutex::new(());

/// A file of 4 MiB whose drive is followed.
struct FollowedFile {
    file: tempfile::NamedTempFile,
    tracer: Tracer,
    _alone: MutexGuard<'static, ()>,
}

/// `None` where no drive can be followed.
fn followed_file() -> Option<FollowedFile> {
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut file = tempfile::NamedTempFile::new_in(env!("CARGO_MANIFEST_DIR")).expect("a file");
    file.write_all(&vec![7; 4 << 20]).expect("room");
    file.as_file().sync_all().expect("written");
    let device = file.as_file().metadata().expect("metadata").dev();
    let disk = (rustix::fs::major(device), rustix::fs::minor(device));
    let tracer = Tracer::attach(disk);
    if tracer.is_none() {
        println!("skipped: CAP_BPF, CAP_PERFMON and the kernel's types are needed");
    }
    Some(FollowedFile { file, tracer: tracer?, _alone: alone })
}

/// A signal that does nothing, but interrupts what the kernel does for a thread.
extern "C" fn ignore(_: libc::c_int) {}

#[test]
fn signals_do_not_keep_the_programs_from_being_loaded() {
    let Some(FollowedFile { tracer, _alone, .. }) = followed_file() else { return };
    drop(tracer);
    // SAFETY: the handler does nothing, and no other test uses this signal.
    unsafe { libc::signal(libc::SIGUSR2, ignore as *const () as libc::sighandler_t) };
    // SAFETY: always succeeds.
    let thread = unsafe { libc::pthread_self() };
    let is_done = AtomicBool::new(false);
    let attached = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                // SAFETY: the thread waits for the end of this scope.
                unsafe { libc::pthread_kill(thread, libc::SIGUSR2) };
                std::thread::yield_now();
            }
        });
        let attached = (0..20).filter(|_| Tracer::attach((0, 0)).is_some()).count();
        is_done.store(true, Ordering::Relaxed);
        attached
    });
    assert_eq!(attached, 20);
}

/// Reads blocks of 4 KiB around the page cache, each at the place of its number; `None` if the file
/// system does not permit it.
fn read_blocks(file: &tempfile::NamedTempFile, count: u64, place: fn(u64) -> u64) -> Option<()> {
    let mut options = File::options();
    let file = options.read(true).custom_flags(libc::O_DIRECT).open(file.path()).ok()?;
    let mut memory = vec![0; 8192];
    let start = memory.as_ptr().align_offset(4096);
    for number in 0..count {
        file.read_exact_at(&mut memory[start..start + 4096], place(number) * 4096).ok()?;
    }
    Some(())
}

/// Reads one block after the other.
fn read_direct(file: &tempfile::NamedTempFile, reads: u64) -> Option<()> {
    read_blocks(file, reads, |number| number % 1024)
}

/// Reads all 4 MiB around the page cache in one call, so many times.
fn read_whole(file: &tempfile::NamedTempFile, reads: u64) -> Option<()> {
    let mut options = File::options();
    let file = options.read(true).custom_flags(libc::O_DIRECT).open(file.path()).ok()?;
    let (bytes, mut memory) = (4 << 20, vec![0; (4 << 20) + 4096]);
    let start = memory.as_ptr().align_offset(4096);
    for _ in 0..reads {
        file.read_exact_at(&mut memory[start..start + bytes], 0).ok()?;
    }
    Some(())
}

/// Reads 16 blocks in order in one call, which the kernel merges.
fn read_at_once(file: &tempfile::NamedTempFile) -> Option<()> {
    let mut options = File::options();
    let file = options.read(true).custom_flags(libc::O_DIRECT).open(file.path()).ok()?;
    let mut memory = vec![0u8; 17 * 4096];
    let start = memory.as_ptr().align_offset(4096);
    let mut ring = io_uring::IoUring::new(16).ok()?;
    for (number, block) in memory[start..].chunks_exact_mut(4096).take(16).enumerate() {
        let descriptor = io_uring::types::Fd(file.as_raw_fd());
        let read = io_uring::opcode::Read::new(descriptor, block.as_mut_ptr(), 4096);
        // SAFETY: `memory` outlives the ring, whose wait ends when all reads have ended.
        unsafe { ring.submission().push(&read.offset(number as u64 * 4096).build()) }.ok()?;
    }
    ring.submit_and_wait(16).ok()?;
    ring.completion().all(|read| read.result() == 4096).then_some(())
}

/// Attempts to see all completions. The kernel of a sandbox runs no programs while a completion
/// interrupts the sandbox's own supervisor, and such moments last a twentieth of a second.
const ATTEMPTS: u32 = 8;

/// What the programs count of some reads, with the time from before them until after, in an attempt
/// in which they see nearly all completions; `None` where they follow none.
fn followed_reads(tracer: &Tracer, read: impl Fn() -> Option<()>) -> Option<(Traced, Duration)> {
    for _ in 0..ATTEMPTS {
        let (before, began) = (tracer.read(), Instant::now());
        if read().is_none() {
            println!("skipped: no reads around the page cache");
            return None;
        }
        let (elapsed, since) = (began.elapsed(), tracer.read().since(&before));
        if since.data[0].queued == 0 {
            println!("skipped: the file is not on a drive of its own number");
            return None;
        }
        let (issued, count) = (since.data[0].issued, since.completions(0).count);
        assert!(count <= issued, "{since:?}");
        if count as f64 >= 0.98 * issued as f64 {
            return Some((since, elapsed));
        }
    }
    panic!("completions were lost {ATTEMPTS} times");
}

#[test]
fn each_read_is_followed_from_its_call_until_it_is_seen() {
    let Some(FollowedFile { file, tracer, .. }) = &followed_file() else { return };
    let Some((since, elapsed)) = followed_reads(tracer, || read_direct(file, 500)) else { return };
    let (reads, completions) = (since.data[0], since.completions(0));
    // Other tests of this process may read the same drive.
    assert!(reads.queued >= 500 && reads.queued_bytes >= 500 * 4096, "{reads:?}");
    for (class, part) in &since.completed[0] {
        let mean_ns = part.total_ns() / part.count;
        assert!(rig::DividedTime::class(mean_ns).abs_diff(*class) <= 1, "{class}: {part:?}");
    }
    let seen_ns = since.seen_ns / since.seen.max(1);
    let sum_ns = completions.total_ns() / completions.count + seen_ns;
    let each_ns = elapsed.as_nanos() as u64 / 500;
    assert!(sum_ns > 0 && sum_ns <= 2 * each_ns, "{since:?}: {sum_ns} ns of {each_ns}");
}

#[test]
fn one_in_sixteen_is_followed_and_all_are_counted() {
    let Some(FollowedFile { file, tracer, .. }) = &followed_file() else { return };
    tracer.follow_one_in(16);
    let before = tracer.read().data[0];
    if read_direct(file, 2000).is_none() {
        return;
    }
    let reads = tracer.read().data[0].since(before);
    if reads.queued > 0 {
        assert!(reads.queued >= 2000 && reads.issued < reads.queued / 8, "{reads:?}");
    }
}

/// The times of all completed requests lie within this time: a request that was taken for another one
/// has a time from before it.
fn assert_within(traced: &Traced, elapsed: Duration) {
    let longest = rig::DividedTime::class(elapsed.as_nanos() as u64);
    for (class, completions) in traced.completed.iter().flatten() {
        assert!(*class <= longest, "{completions:?} of class {class}, {elapsed:?}");
    }
}

#[test]
fn reads_of_the_same_sectors_at_the_same_time_are_told_apart() {
    let Some(FollowedFile { file, tracer, .. }) = &followed_file() else { return };
    let read = || {
        std::thread::scope(|scope| {
            let threads = [(); 4].map(|()| scope.spawn(|| read_blocks(file, 500, |_| 0)));
            let results = threads.map(|thread| thread.join().expect("no panic"));
            results.into_iter().collect::<Option<Vec<()>>>().map(drop)
        })
    };
    let Some((since, elapsed)) = followed_reads(tracer, read) else { return };
    assert!(since.data[0].queued >= 2000, "{since:?}");
    assert_within(&since, elapsed);
}

#[test]
fn every_byte_of_reads_that_the_block_layer_divides_is_counted() {
    let Some(FollowedFile { file, tracer, .. }) = &followed_file() else { return };
    let (before, began, bytes) = (tracer.read(), Instant::now(), 4 << 20);
    if read_whole(file, 20).is_none() {
        return println!("skipped: no reads around the page cache");
    }
    let since = tracer.read().since(&before);
    let reads = since.data[0];
    if reads.queued == 0 {
        return println!("skipped: the file is not on a drive of its own number");
    }
    // One read is several requests, either from the start or by division.
    assert!(reads.queued_bytes >= 20 * bytes as u64, "{reads:?}");
    assert!(reads.queued + reads.splits >= 40, "{reads:?}");
    assert_within(&since, began.elapsed());
}

#[test]
fn flushes_and_the_writes_before_them_are_counted() {
    let Some(FollowedFile { file, tracer, .. }) = &followed_file() else { return };
    let (before, began) = (tracer.read(), Instant::now());
    for number in 0..20u8 {
        // 16 pages, which the kernel merges, written by the thread that asks for the flush.
        file.as_file().write_all_at(&[number; 64 << 10], 0).expect("written");
        file.as_file().sync_data().expect("flushed");
    }
    let since = tracer.read().since(&before);
    let writes = since.data[1];
    if writes.queued == 0 {
        return println!("skipped: the file is not on a drive of its own number");
    }
    assert!(writes.queued_bytes >= 20 * (64 << 10), "{since:?}");
    assert!(since.flushes <= 20 + since.metadata[1].queued, "{since:?}");
    assert_within(&since, began.elapsed());
}

#[test]
fn a_request_is_not_taken_for_an_earlier_one_that_a_merge_took_along() {
    let Some(FollowedFile { file, tracer, .. }) = &followed_file() else { return };
    tracer.follow_one_in(4);
    for _ in 0..100 {
        let (before, began) = (tracer.read(), Instant::now());
        if read_at_once(file).is_none() {
            return println!("skipped: no io_uring, or no reads around the page cache");
        }
        assert_within(&tracer.read().since(&before), began.elapsed());
    }
}

#[test]
fn what_another_process_writes_back_is_its_own() {
    let Some(FollowedFile { file, tracer, .. }) = &followed_file() else { return };
    let before = tracer.read();
    file.as_file().write_all_at(&[1; 1 << 20], 0).expect("written");
    let status = Command::new("sync").arg(file.path()).status();
    if !status.is_ok_and(|status| status.success()) {
        return println!("skipped: no sync that takes a file");
    }
    let since = tracer.read().since(&before);
    // The kernel's own threads may have been first.
    let writers = ["sync", "kworker"];
    let is_writer = |name: &str| writers.iter().any(|writer| name.starts_with(writer));
    let written = since.others.iter().filter(|process| is_writer(&process.name));
    let bytes: u64 = written.map(|process| process.bytes).sum();
    if since.data[1].queued == 0 && since.others.is_empty() {
        return println!("skipped: the file is not on a drive of its own number");
    }
    assert!(since.data[1].queued_bytes < 1 << 20 && bytes >= 1 << 20, "{since:?}");
}

/// In the child of the next test: attaches the programs and waits to be killed.
#[test]
fn a_child_attaches_and_waits() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let tracer = Tracer::attach((0, 0));
    println!("attached: {}", tracer.is_some());
    std::io::stdin().read_line(&mut String::new()).expect("input");
}

#[test]
fn nothing_stays_attached_after_a_kill() {
    let mut child = Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", "sys::bpf::tests::a_child_attaches_and_waits", "--nocapture"])
        .env(CHILD, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a child");
    let output = BufReader::new(child.stdout.take().expect("its output"));
    let said = output.lines().map_while(Result::ok).find(|line| line.contains("attached: "));
    if said.is_some_and(|line| line.contains("true")) {
        assert_eq!(programs_of(child.id()), 7);
    } else {
        println!("skipped: CAP_BPF, CAP_PERFMON and the kernel's types are needed");
    }
    child.kill().expect("killed");
    child.wait().expect("ended");
    // The kernel frees them after a grace period.
    let deadline = Instant::now() + Duration::from_secs(30);
    while programs_of(child.id()) > 0 {
        assert!(Instant::now() < deadline, "still attached");
        std::thread::yield_now();
    }
}

#[test]
fn arbitrary_types_do_not_panic() {
    assert!(Types::parse(&[]).is_none() && Types::parse(&[0x9f, 0xeb, 1, 0]).is_none());
    let Ok(data) = std::fs::read(TYPES) else { return };
    for length in [24, 100, 5000, data.len() / 2] {
        let types = Types::parse(&data[..length]);
        assert!(types.is_none_or(|types| types.tracepoint("block_bio_queue").is_none()));
    }
}
