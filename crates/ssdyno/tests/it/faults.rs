//! Every command with faults in its system calls: whatever fails, it ends by itself with its own
//! exit code and an error message, changes nothing of the user's and leaves nothing behind.

use serde_json::Value;

use crate::common::{Going, Place, metric, warnings};

/// Calls that fail with an error, either once or from the given call on. Early failures hit the
/// loader, which is not ours, so calls used by it fail later.
const FAULTS: [&str; 41] = [
    "clone,clone3:error=EAGAIN:when=1+",
    "clone,clone3:error=EAGAIN:when=2+",
    "clone,clone3:error=ENOMEM:when=1+",
    "io_uring_setup:error=EPERM:when=1+",
    "io_uring_setup:error=ENOSYS:when=1+",
    "io_uring_setup:error=ENOMEM:when=1+",
    "io_uring_setup:error=EMFILE:when=1+",
    "io_uring_register:error=ENOMEM:when=1+",
    "io_uring_enter:error=EIO:when=3+",
    "io_uring_enter:error=EINTR:when=2",
    "io_uring_enter:error=EBUSY:when=4+",
    "mkdir,mkdirat:error=EACCES:when=1+",
    "mkdir,mkdirat:error=ENOSPC:when=1+",
    "fsync,fdatasync:error=EIO:when=1+",
    "fsync,fdatasync:error=ENOSPC:when=2+",
    "fsync,fdatasync:error=EDQUOT:when=1",
    "fallocate:error=ENOSPC:when=1+",
    "fallocate:error=EOPNOTSUPP:when=1+",
    "ftruncate:error=EIO:when=1+",
    "pwrite64:error=ENOSPC:when=4+",
    "pwrite64:error=EIO:when=1+",
    "pwrite64:error=EIO:when=9",
    "pwrite64:error=EDQUOT:when=12+",
    "pwrite64:error=EINTR:when=6",
    "pread64:error=EIO:when=20+",
    "pread64:error=EIO:when=8",
    "rename,renameat,renameat2:error=EXDEV:when=1+",
    "rename,renameat,renameat2:error=ENOSPC:when=1+",
    "unlink,unlinkat:error=EROFS:when=1+",
    "openat:error=EMFILE:when=30+",
    "openat:error=EIO:when=35+",
    "openat:error=ENOSPC:when=40",
    "openat:error=EACCES:when=45+",
    "mmap:error=ENOMEM:when=60+",
    "mmap:error=EAGAIN:when=70+",
    "timerfd_create,eventfd2,pipe2:error=EMFILE:when=1+",
    "statx,newfstatat,fstat:error=EIO:when=20+",
    "statfs,fstatfs:error=EIO:when=1+",
    "getdents64:error=EIO:when=1+",
    "fcntl:error=ENOLCK:when=5+",
    "ioctl:error=EIO:when=1+",
];

/// Commands on a directory, a file that they overwrite, a virtual drive, and the store. The
/// directory's parent also contains an image's source and an export.
const COMMANDS: [&str; 19] = [
    "run . -m speed --size 4MiB --time 1s --quiet",
    "io . --rw randrw --size 2MiB --time 200ms --jobs 3 --backend psync --quiet",
    "io . --rw randread --size 2MiB --time 200ms --depth 4 --backend uring --quiet",
    "io sim:sd-150x --rw randread --ops 200 --quiet",
    "run sim:sd-150x -m speed --size 4MiB --quiet",
    "io ../drive.img --rw randwrite --size 1MiB --ops 100 --destroy=67108864 --quiet",
    "fio --name=a --rw=randrw --size=1M --directory=. --unlink=1 --ioengine=psync --minimal",
    "iozone -s 1m -r 64k -i 0 -i 1 -f ./file",
    "image make ../source.img image",
    "partition ../drive.img --layout fat32 --format --destroy=67108864",
    "compare 1 2",
    "runs",
    "show 1",
    "show 1 --html=page.html",
    "show 1 --card card.svg",
    "export 1",
    "import ../runs.jsonl",
    "list .",
    "recover --journal ../tmp",
];

#[test]
fn a_failing_system_call_ends_in_one_line() {
    let faults: usize = std::thread::scope(|scope| {
        let commands = COMMANDS.map(|words| scope.spawn(|| withstands(words)));
        commands.map(|command| command.join().expect("withstands")).iter().sum()
    });
    let commands = COMMANDS.len();
    println!("{faults} faults injected into {commands} commands: each ended by itself");
}

/// Runs a command with every fault, in its own place; returns their number.
fn withstands(words: &str) -> usize {
    let place = Place::new();
    let words: Vec<&str> = words.split(' ').collect();
    for _ in 0..2 {
        place.ssdyno(&["io", "null:", "--ops", "1", "--quiet"]).good();
    }
    place.file("source.img", 1 << 20);
    place.file("drive.img", 64 << 20);
    let export = place.ssdyno(&["export", "1"]).good().out;
    std::fs::write(place.path("runs.jsonl"), export).expect("written");
    // Without a fault the command succeeds, so failures are due to the call.
    place.ssdyno(&words).good();
    // The file that the user asked for.
    let made = place.left_behind();
    for fault in FAULTS {
        let ended = match place.faulty(fault, &words) {
            Ok(ended) => ended,
            Err(why) => {
                println!("skipped: {why}");
                return 0;
            }
        };
        let at = format!("{words:?} with {fault}: {ended:?}");
        assert!((0..=4).contains(&ended.code), "{at}");
        assert!(!ended.err.contains("panicked"), "{at}");
        if ended.code != 0 {
            // Failures of the drive are counted in the report.
            let reports = [&ended.out, &ended.err];
            let counted = ended.code == 4
                && reports.iter().any(|report| report.contains("operations failed"));
            assert!(counted || ended.err.lines().any(|line| line.starts_with("ssdyno: ")), "{at}");
            // An announcement of up to three lines, the error and the advice. The tools' commands,
            // which also print remarks on stderr, get one error and one for the store.
            let remarks = matches!(words[0], "fio" | "iozone");
            // A run first warns that its store fails, and then fails or succeeds.
            let error =
                |line: &&str| line.starts_with("ssdyno: ") && !line.contains("the run continues");
            let errors = ended.err.lines().filter(error).count();
            assert!(counted || remarks || ended.err.lines().count() <= 5, "{at}");
            assert!(errors <= 2, "{at}");
        }
        let left = place.left_behind().into_iter().filter(|name| !made.contains(name));
        let left: Vec<_> = left.collect();
        // A file that could not be removed is named.
        let named = |name: &String| ended.err.contains(name.as_str());
        assert!(left.iter().all(named), "{at}: left behind: {left:?}");
        place.clear();
    }
    FAULTS.len()
}

/// Stopping the process is not a delay of the drive: it is reported, no latency includes it, and it
/// shifts the due times of an open loop.
#[test]
fn a_stopped_process_is_not_blamed_on_the_drive() {
    let place = Place::new();
    let words = ["io", ".", "--rw", "randread", "--size", "4MiB", "--time", "4s", "--backend"];
    let paces: [&[&str]; 3] =
        [&["psync"], &["psync", "--rate", "500"], &["uring", "--depth", "8", "--rate", "500"]];
    let mut runs = paces.map(|pace| Going::start(&place, &[&words[..], pace].concat()));
    runs.iter_mut().for_each(|run| drop(run.until("\"event\":\"interval\"")));
    runs.iter().for_each(|run| run.signal(19));
    // The length of the stop is the subject of the test.
    std::thread::sleep(std::time::Duration::from_millis(1500));
    runs.iter().for_each(|run| run.signal(18));
    for (run, pace) in runs.into_iter().zip(paces) {
        let said = run.end().good();
        let record: Value =
            serde_json::from_str(said.out.lines().last().expect("a record")).expect("JSON");
        let found = warnings(&record);
        assert!(found.contains(&"stood-still"), "{pace:?}: {found:?}");
        let series = record["series"].as_array().expect("series");
        let rates = series.iter().flat_map(|series| {
            let columns = series["columns"].as_array().expect("columns");
            let reads = columns.iter().filter(|column| column["name"] == "read");
            reads.flat_map(|column| column["values"].as_array().expect("values"))
        });
        let unknown = rates.clone().filter(|rate| rate.is_null()).count();
        assert!(unknown >= 14, "{pace:?}: {unknown} intervals of 100 ms in a stop of 1.5 s");
        let zeros = rates.filter(|rate| rate.as_f64() == Some(0.0)).count();
        // A busy machine may not run the process for one interval beside the stop.
        assert!(zeros < 2, "{pace:?}: {zeros} rates of 0 in the stop");
        let longest = metric(&record, "service.max").expect("measured");
        assert!(longest < 1.2e9, "{pace:?}: {longest} ns includes the stop");
        if pace.len() > 1 {
            let iops = metric(&record, "iops").expect("measured");
            assert!((400.0..600.0).contains(&iops), "{pace:?}: {iops} a second of 500");
            assert!(!found.contains(&"overloaded"), "{pace:?}: {found:?}");
            // Otherwise a third of all operations would be a backlog of up to 1.5 s.
            let response = metric(&record, "response.p99").expect("measured");
            assert!(response < 0.5e9, "{pace:?}: {response} ns from the due time");
        }
    }
}
