//! Every command with faults in its system calls: whatever fails, it ends by itself with a code of its
//! own and a word on why, nothing of the user's changes and nothing is left behind.

use serde_json::Value;

use crate::common::{Going, Place, metric, or_skip, warnings};

/// Calls that fail with an error: from the first on, or once later. Early failures hit the loader,
/// which is not ours, so calls that it makes fail later.
const FAULTS: [&str; 20] = [
    "clone,clone3:error=EAGAIN:when=1+",
    "clone,clone3:error=EAGAIN:when=2+",
    "io_uring_setup:error=EPERM:when=1+",
    "io_uring_setup:error=ENOSYS:when=1+",
    "io_uring_setup:error=ENOMEM:when=1+",
    "io_uring_enter:error=EIO:when=3+",
    "mkdir,mkdirat:error=EACCES:when=1+",
    "fsync,fdatasync:error=EIO:when=1+",
    "fallocate:error=ENOSPC:when=1+",
    "ftruncate:error=EIO:when=1+",
    "pwrite64:error=ENOSPC:when=4+",
    "pwrite64:error=EIO:when=1+",
    "pwrite64:error=EIO:when=9",
    "pread64:error=EIO:when=20+",
    "rename,renameat,renameat2:error=EXDEV:when=1+",
    "unlink,unlinkat:error=EROFS:when=1+",
    "openat:error=EMFILE:when=30+",
    "openat:error=ENOSPC:when=40",
    "mmap:error=ENOMEM:when=60+",
    "timerfd_create,eventfd2,pipe2:error=EMFILE:when=1+",
];

/// Commands on a directory, a virtual drive, and the store.
const COMMANDS: [&str; 5] = [
    "run . -m speed --size 1MiB --time 1s --quiet",
    "io . --rw randrw --size 2MiB --time 200ms --jobs 3 --backend psync --quiet",
    "io . --rw randread --size 2MiB --time 200ms --depth 4 --backend uring --quiet",
    "io sim:sd-150x --rw randread --ops 200 --quiet",
    "runs",
];

#[test]
fn a_failing_system_call_ends_in_one_line() {
    let place = Place::new();
    for words in COMMANDS {
        let words: Vec<&str> = words.split(' ').collect();
        for fault in FAULTS {
            let ended = or_skip!(place.faulty(fault, &words));
            let at = format!("{words:?} with {fault}: {ended:?}");
            assert!((0..=4).contains(&ended.code), "{at}");
            assert!(!ended.err.contains("panicked"), "{at}");
            if ended.code != 0 {
                let lines: Vec<&str> = ended.err.lines().collect();
                assert!(lines.iter().any(|line| line.starts_with("ssdyno: ")), "{at}");
                assert!(lines.len() <= 4, "{at}");
            }
            let left: Vec<_> = place.left_behind();
            // A file that could not be removed is named.
            let named = |name: &String| ended.err.contains(name.as_str());
            assert!(left.iter().all(named), "{at}: left behind: {left:?}");
            place.clear();
        }
    }
}

/// A stop of the process is no time of the drive: it is named, and no latency contains it.
#[test]
fn a_stopped_process_is_not_blamed_on_the_drive() {
    let place = Place::new();
    let words = ["io", ".", "--rw", "randread", "--size", "4MiB", "--backend", "psync"];
    let mut run = Going::start(&place, &[&words[..], &["--time", "4s"]].concat());
    run.until("\"event\":\"interval\"");
    run.signal(19);
    // The length of the stop is the subject of the test.
    std::thread::sleep(std::time::Duration::from_millis(1500));
    run.signal(18);
    let said = run.end().good();
    let record: Value =
        serde_json::from_str(said.out.lines().last().expect("a record")).expect("JSON");
    let found = warnings(&record);
    assert!(found.contains(&"stood-still"), "{found:?}");
    let longest = metric(&record, "service.max").expect("measured");
    assert!(longest < 1.2e9, "{longest} ns is the stop");
}
