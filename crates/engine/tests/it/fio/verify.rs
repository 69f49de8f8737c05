//! Verification: damage is found and located in every mode, intact data cause no error, and ssdyno
//! and an installed fio can check each other's patterns.

use std::os::unix::fs::FileExt;
use std::process::Command;

use fio::{Plan, output};
use tempfile::TempDir;

use super::common::{check, perform};

/// A directory with the file `f`, which jobs use.
struct TestDir(TempDir);

/// The result of a job: its error number, and the kind, count and first places of its faults.
#[derive(Debug, PartialEq)]
struct Came {
    error: i32,
    faults: Vec<(String, u64, Vec<u64>)>,
    /// Operations and bytes of reads and of writes.
    moved: [(u64, u64); 2],
    checked: u64,
}

impl TestDir {
    fn new() -> TestDir {
        TestDir(tempfile::tempdir().expect("a directory"))
    }

    fn path(&self) -> String {
        self.0.path().join("f").display().to_string()
    }

    fn plan(&self, words: &str) -> Plan {
        let file = format!("--filename={}", self.path());
        let words = ["--name=a", &file, "--size=256k"].into_iter().chain(words.split_whitespace());
        let words: Vec<String> = words.map(String::from).collect();
        super::common::plan(&words)
    }

    fn run(&self, words: &str) -> Came {
        let plan = self.plan(words);
        // The file may be overwritten, whoever wrote it.
        let bytes = std::fs::metadata(self.path()).map_or(0, |meta| meta.len());
        let ran = perform(&plan, &[bytes.to_string()]).unwrap_or_else(|e| panic!("{words}: {e}"));
        output::write_dumps(&ran, self.0.path()).expect("dumps");
        let job = &ran.jobs[0];
        let measured = &job.did.measurement;
        let faults = measured.errors.iter().map(|e| {
            assert_eq!(e.op, "verify", "{words}");
            (e.kind.clone(), e.count, e.first_offsets.clone())
        });
        let moved = [0, 1].map(|kind| {
            let stats = job.did.seen.kinds[kind].as_ref();
            stats.map_or((0, 0), |stats| (stats.ops, stats.bytes))
        });
        Came {
            error: job.error(),
            faults: faults.collect(),
            moved,
            checked: measured.verified_sectors * 512,
        }
    }

    fn flip(&self, at: u64) {
        let file = std::fs::OpenOptions::new().read(true).write(true).open(self.path());
        let file = file.expect("the file");
        let mut byte = [0];
        file.read_exact_at(&mut byte, at).expect("read");
        file.write_all_at(&[byte[0] ^ 1], at).expect("written");
    }

    /// The result of fio with the same options: whether it succeeded, and its output.
    fn fio(&self, words: &str) -> Option<(bool, String)> {
        let file = format!("--filename={}", self.path());
        let said = Command::new("fio")
            .args(["--name=a", &file, "--size=256k", "--output-format=json"])
            .args(words.split_whitespace())
            .current_dir(self.0.path())
            .output();
        match said {
            Ok(said) => {
                Some((said.status.success(), String::from_utf8_lossy(&said.stdout).into_owned()))
            }
            Err(_) => {
                println!("not compared with fio: it is not installed");
                None
            }
        }
    }
}

const MODES: [&str; 10] = [
    "--verify=crc32c",
    "--verify=md5 --bsrange=4k-16k",
    "--verify=meta --verify_interval=1k --verify_offset=64",
    "--verify=crc32c --bs=1000",
    "--verify=sha256 --buffer_compress_percentage=60",
    "--verify=pattern --verify_pattern=0xdeadbeef",
    "--verify=pattern --verify_pattern=\"abc\"%o --bs=16k",
    "--verify=pattern --verify_pattern=0x55%o --bsrange=4k-16k --randseed=4",
    "--verify=pattern_hdr --verify_pattern=0xa5%o",
    "--verify=meta --verify_pattern=0xaa555aa5 --verify_interval=512",
];

#[test]
fn a_flipped_byte_is_found_in_every_mode_and_place() {
    for mode in MODES {
        for rw in ["write", "randwrite"] {
            let place = TestDir::new();
            let words = format!("--rw={rw} {mode} --ioengine=libaio --iodepth=8");
            let written = place.run(&words);
            assert_eq!((written.error, &written.faults[..]), (0, &[][..]), "{words}");
            assert_eq!(written.moved[0], written.moved[1], "{words}: all is read back");
            assert_eq!(written.checked, written.moved[1].1 / 512 * 512, "{words}");
            let only = format!("{words} --verify_only");
            let whole = place.run(&only);
            assert_eq!((whole.error, &whole.faults[..]), (0, &[][..]), "{only}");
            assert_eq!(whole.checked, written.checked, "{only}");
            for at in [0, 37, 70_000, 131_072 + 1500, 255_000] {
                place.flip(at);
                let damaged = place.run(&only);
                assert_eq!(damaged.error, 84, "{only}, byte {at}");
                let [(kind, 1, places)] = &damaged.faults[..] else {
                    panic!("{only}, byte {at}: {damaged:?}")
                };
                assert_eq!(kind, "flipped", "{only}, byte {at}");
                let grid = if mode.contains("bs=1000") { 1000 } else { 16384 };
                assert!(
                    (places[0]..places[0] + grid).contains(&at),
                    "{only}, byte {at}: {places:?}"
                );
                place.flip(at);
            }
        }
    }
}

#[test]
fn a_pattern_of_one_tool_is_good_for_the_other() {
    for (mode, at) in [
        ("--verify=pattern --verify_pattern=0xdeadbeef", 40_001),
        ("--verify=pattern --verify_pattern=\"abc\"%o", 0),
        ("--verify=pattern --verify_pattern=%o --bs=16k", 255_999),
        ("--verify=pattern --verify_pattern=-100xab\"1\"%o\"2\" --bs=1000", 9),
    ] {
        for rw in ["write", "randwrite"] {
            let (write, read) = (format!("--rw={rw} {mode}"), format!("--rw=read {mode}"));
            let (ours, fios) = (TestDir::new(), TestDir::new());
            assert_eq!(ours.run(&write).error, 0, "{write}");
            let Some((good, _)) = fios.fio(&write) else { return };
            assert!(good, "fio: {write}");
            let content = |place: &TestDir| std::fs::read(place.path()).expect("the file");
            assert!(content(&ours) == content(&fios), "{write}");
            assert!(ours.fio(&read).is_some_and(|said| said.0), "fio on ours: {read}");
            assert_eq!(fios.run(&read).error, 0, "ours on fio's: {read}");
            ours.flip(at);
            fios.flip(at);
            assert!(ours.fio(&read).is_some_and(|said| !said.0), "fio on ours: {read}");
            let found = fios.run(&read);
            assert_eq!(found.error, 84, "ours on fio's: {read}");
            assert_eq!(found.faults, [("flipped".to_string(), 1, vec![at])], "{read}");
        }
    }
}

/// Operations and bytes of reads and writes in fio's output.
fn counted(json: &str) -> [(u64, u64); 2] {
    let json = json.find('{').map_or("", |at| &json[at..]);
    let json: serde_json::Value = serde_json::from_str(json).expect("fio's JSON");
    ["read", "write"].map(|side| {
        let side = &json["jobs"][0][side];
        (side["total_ios"].as_u64().unwrap_or(0), side["io_bytes"].as_u64().unwrap_or(0))
    })
}

#[test]
fn rounds_and_backlogs_read_back_as_often_as_fio() {
    for words in [
        "--rw=write --verify=crc32c --loops=3",
        "--rw=randwrite --verify=pattern --verify_pattern=0x11 --loops=2",
        "--rw=write --verify=crc32c --verify_backlog=8",
        "--rw=randwrite --verify=md5 --verify_backlog=10 --verify_backlog_batch=4",
        "--rw=write --verify=crc32c --verify_backlog=1",
        "--rw=write --verify=crc32c --verify_backlog=1000",
        "--rw=write --verify=crc32c --verify_backlog=7 --loops=2",
        "--rw=write --verify=crc32c --loops=2 --do_verify=0",
        "--rw=write --verify=null",
        "--rw=write --verify=crc32c --ioengine=null",
        "--rw=write --verify=crc32c --experimental_verify=1",
    ] {
        let (ours, fios) = (TestDir::new(), TestDir::new());
        let did = ours.run(words);
        assert_eq!((did.error, &did.faults[..]), (0, &[][..]), "{words}");
        let Some((good, json)) = fios.fio(words) else { continue };
        assert!(good, "fio: {words}");
        assert_eq!(did.moved, counted(&json), "ours, then fio's: {words}");
        let checks = !["null", "do_verify=0"].iter().any(|word| words.contains(word));
        assert_eq!(did.checked, if checks { did.moved[0].1 } else { 0 }, "{words}");
    }
}

#[test]
fn deep_queues_and_mixes_verify_all_that_was_written() {
    for words in [
        "--rw=randwrite --verify=crc32c --verify_backlog=16 --ioengine=io_uring --iodepth=16",
        "--rw=randwrite --norandommap --verify=crc32c --verify_backlog=5 --ioengine=libaio \
         --iodepth=8 --loops=4",
        "--rw=randrw --verify=crc32c --verify_backlog=4 --ioengine=libaio --iodepth=4",
        "--rw=randrw --verify=pattern --verify_pattern=0x77%o --loops=3",
        "--rw=write --bsrange=4k-12k --verify=pattern --verify_pattern=%o --loops=2",
    ] {
        let did = TestDir::new().run(words);
        assert_eq!((did.error, &did.faults[..]), (0, &[][..]), "{words}");
        assert!(did.checked >= did.moved[1].1.min(128 << 10), "{words}: {did:?}");
    }
}

#[test]
fn the_first_fault_ends_a_job_where_that_is_asked_for() {
    let place = TestDir::new();
    place.run("--rw=write --verify=crc32c");
    [4096u64, 40_960, 81_920].iter().for_each(|at| place.flip(*at));
    let all = place.run("--rw=write --verify=crc32c --verify_only");
    assert_eq!((all.error, all.faults[0].1, all.moved[0].0), (84, 3, 64));
    let first = place.run("--rw=write --verify=crc32c --verify_only --verify_fatal=1");
    assert_eq!((first.error, first.moved[0].0), (84, 2));
    assert_eq!(first.faults, [("flipped".to_string(), 1, vec![4096])]);
}

#[test]
fn a_wrong_block_is_kept_beside_what_it_should_be() {
    for mode in ["--verify=crc32c", "--verify=pattern --verify_pattern=\"abc\"%o"] {
        let place = TestDir::new();
        place.run(&format!("--rw=write {mode}"));
        let content = std::fs::read(place.path()).expect("the file");
        place.flip(8192 + 600);
        place.run(&format!("--rw=write {mode} --verify_only --verify_dump=1"));
        let kept = |what: &str| {
            std::fs::read(place.0.path().join(format!("f.8192.{what}"))).expect("a dump")
        };
        assert_eq!(kept("expected"), content[8192..12288], "{mode}");
        let received = kept("received");
        let differs: Vec<usize> = (0..4096).filter(|i| received[*i] != content[8192 + i]).collect();
        assert_eq!(differs, [600], "{mode}");
    }
}

#[test]
fn files_are_removed_after_each_loop() {
    let place = TestDir::new();
    let did = place.run("--rw=write --io_size=64k --loops=2 --unlink_each_loop=1");
    assert_eq!((did.error, did.moved[1].1), (0, 128 << 10));
    assert!(!std::path::Path::new(&place.path()).exists(), "after the last loop, too");
    let plan = place.plan("--rw=randrw --loops=2 --unlink_each_loop=1");
    assert!(check(&plan, &[]).is_err(), "what it reads would be gone");
    // With verify, the removed data of the first loop cause no error.
    assert_eq!(
        TestDir::new().run("--rw=write --verify=crc32c --loops=2 --unlink_each_loop=1").error,
        0
    );
}

#[test]
fn a_mix_is_checked_where_it_wrote_and_nowhere_else() {
    for words in [
        "--rw=randrw --verify=crc32c",
        "--rw=rw --verify=crc32c",
        "--rw=randrw --verify=crc32c --ioengine=libaio --iodepth=8 --bsrange=4k-16k",
        "--rw=write --verify=crc32c --io_size=512k",
        "--rw=randwrite --verify=md5 --io_size=384k",
    ] {
        let place = TestDir::new();
        let written = place.run(words);
        assert_eq!((written.error, &written.faults[..]), (0, &[][..]), "{words}");
        let only = place.run(&format!("{words} --verify_only=1"));
        assert_eq!((only.error, &only.faults[..]), (0, &[][..]), "{words}");
        assert!(only.checked > 0 && only.checked <= 256 << 10, "{words}: {only:?}");
        assert_eq!(only.moved[0].1, only.checked, "{words}: all that it reads is checked");
    }
}

#[test]
fn a_block_never_written_is_not_called_changed() {
    let place = TestDir::new();
    std::fs::write(place.path(), vec![0; 256 << 10]).expect("a file");
    let half = place.run("--rw=write --verify=crc32c --io_size=128k");
    assert_eq!(half.error, 0);
    let all = place.run("--rw=write --verify=crc32c --verify_only=1");
    let [(kind, 32, places)] = &all.faults[..] else { panic!("{all:?}") };
    assert_eq!((all.error, kind.as_str(), places[0]), (84, "unwritten", 128 << 10));
}

#[test]
fn the_null_engine_has_files_of_the_size_asked_for() {
    for (words, bytes) in [
        ("--name=a --ioengine=null --rw=read --filesize=1M", 1 << 20),
        ("--name=a --ioengine=null --rw=write --size=1M --nrfiles=4", 1 << 20),
        ("--name=a --ioengine=null --rw=read --filesize=1M --nrfiles=3", 3 << 20),
        ("--name=a --ioengine=null --rw=read --size=2M --offset=512k", 2 << 20),
    ] {
        let words: Vec<String> = words.split(' ').map(String::from).collect();
        let plan = super::common::plan(&words);
        let ran = perform(&plan, &[]).expect("it runs");
        let moved: u64 = ran.jobs[0].did.seen.kinds.iter().flatten().map(|kind| kind.bytes).sum();
        assert_eq!(moved, bytes, "{words:?}");
    }
}
