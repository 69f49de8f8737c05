//! Output files named by the user, and measured files: nothing is written through a name that
//! somebody else has moved, and nothing is left half written.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::common::{Going, Loop, MIB, Place, or_skip, root, tool};

#[test]
fn nothing_is_written_through_a_link() {
    let place = Place::new();
    place.io(". --size 1MiB --ops 1");
    let victim = place.path("victim");
    fs::write(&victim, "theirs").expect("a file");
    let link = place.text("link");
    symlink(&victim, &link).expect("a link");
    let html = format!("--html={link}");
    place.ssdyno(&["show", &html]).refuses(4, "symbolic link");
    let said = place.ssdyno(&["io", ".", "--size", "1MiB", "--ops", "1", "--quiet", &html]);
    said.refuses(4, "symbolic link");
    let reports = place.path("data").join("ssdyno/reports");
    symlink(&victim, reports.join("run-2.html")).expect("a link");
    let said = place.ssdyno(&["io", ".", "--size", "1MiB", "--ops", "1", "--quiet"]).good();
    assert!(said.err.contains("symbolic link"), "{said:?}");
    place.ssdyno(&["runs", "--store", &link]).refuses(2, "a symbolic link");
    let job = ["fio", "--name=a", "--size=64k", "--rw=read", "--ioengine=null"];
    let output = format!("--output={link}");
    let said = place.ssdyno(&[&job[..], &[&output]].concat());
    assert!(said.code == 4 && said.err.contains("symbolic link"), "{said:?}");
    assert_eq!(fs::read(&victim).expect("there"), b"theirs");
    // A name that leads to an open descriptor is allowed.
    let said = place.ssdyno(&["show", "1", "--html=/dev/stdout"]).good();
    assert!(said.out.contains("<title>"), "{}", said.err);
}

#[test]
fn an_output_replaces_an_earlier_one_and_no_other_file() {
    let place = Place::new();
    place.io(". --size 1MiB --ops 1");
    for words in ["show 1 --html=page", "show 1 --card page.svg", "image make source image"] {
        let words: Vec<&str> = words.split(' ').collect();
        fs::write(place.work().join("source"), vec![7; 4096]).expect("a source");
        let output = words.last().expect("some").trim_start_matches("--html=");
        let output = place.work().join(output);
        place.ssdyno(&words).good();
        let first = fs::read(&output).expect("an output");
        place.ssdyno(&words).good();
        assert_eq!(fs::read(&output).expect("renewed").len(), first.len(), "{words:?}");
        fs::write(
            &output,
            "theirs, and longer than the head of any output of this program, in full",
        )
        .expect("another's");
        place.ssdyno(&words).refuses(4, "remove it or choose another name");
        assert!(fs::read(&output).expect("kept").starts_with(b"theirs"));
    }
}

#[test]
fn no_output_is_written_to_a_drive() {
    let place = Place::new();
    place.io(". --size 1MiB --ops 1");
    let device = or_skip!(Loop::new(4 * MIB, "", &[]));
    let before = device.hash();
    let page = format!("--html={}", device.path);
    place.ssdyno(&["show", "1", &page]).refuses(4, "it is a drive, not a file");
    fs::write(place.work().join("source"), vec![7; 4096]).expect("a source");
    let said = place.ssdyno(&["image", "make", "source", &device.path]);
    said.refuses(4, "it is a drive, not a file");
    assert_eq!(device.hash(), before);
}

#[test]
fn a_store_is_a_regular_file() {
    let place = Place::new();
    let fifo = place.text("fifo");
    or_skip!(tool("mkfifo", &[&fifo]));
    for words in [&["runs"][..], &["io", ".", "--size", "1MiB", "--ops", "1"]] {
        place.ssdyno(&[words, &["--store", &fifo]].concat()).refuses(2, "a pipe or a device");
    }
    place.ssdyno(&["runs", "--store", "."]).refuses(2, "a directory");
    assert!(place.left_behind().is_empty());
}

#[test]
fn the_file_size_limit_is_an_error_with_a_reason() {
    let place = Place::new();
    let binary = env!("CARGO_BIN_EXE_ssdyno");
    let limited = ["-c", "ulimit -f 256; exec \"$0\" \"$@\"", binary];
    let words = ["io", ".", "--rw", "write", "--size", "4MiB", "--quiet"];
    let said = place.command_of(Path::new("sh"), &[&limited[..], &words].concat()).output();
    let said = said.expect("starts");
    let err = String::from_utf8_lossy(&said.stderr).into_owned();
    assert_eq!(said.status.code(), Some(4), "{err}");
    assert!(err.contains("too large") && err.lines().count() <= 3, "{err}");
    assert!(place.left_behind().is_empty());
}

/// The store at the same limit: a line with the file, the limit and the remedy. The record of a run
/// that had begun goes to a file, or the error says where it is.
#[test]
fn a_store_that_cannot_grow_gives_the_reason() {
    let place = Place::new();
    let store = place.text("store");
    let words = ["io", ".", "--rw", "read", "--size", "1MiB", "--ops", "9", "--quiet"];
    let limited = |blocks: u32| {
        let shell = format!("ulimit -f {blocks}; exec \"$0\" \"$@\"");
        let words =
            [&["-c", &shell, env!("CARGO_BIN_EXE_ssdyno")][..], &words, &["--store", &store]];
        let said = place.command_of(Path::new("sh"), &words.concat()).output().expect("starts");
        let err = String::from_utf8_lossy(&said.stderr).into_owned();
        (said.status.code(), err)
    };
    for blocks in [8, 64, 160] {
        let (code, err) = limited(blocks);
        assert_eq!(code, Some(4), "{blocks}: {err}");
        assert!(!err.contains("disk I/O error"), "{blocks}: {err}");
        let named = err.lines().find(|line| line.contains("the store cannot grow"));
        assert!(named.is_some_and(|line| line.contains(&store)), "{blocks}: {err}");
        assert!(err.contains("try: "), "{blocks}: {err}");
        assert!(err.lines().count() <= 4, "{blocks}: {err}");
    }
}

#[test]
fn a_missing_io_uring_is_named() {
    let place = Place::new();
    let words = ["io", ".", "--size", "1MiB", "--ops", "1", "--backend", "uring", "--quiet"];
    for error in ["EPERM", "ENOSYS"] {
        let said = or_skip!(place.faulty(&format!("io_uring_setup:error={error}:when=1+"), &words));
        said.refuses(2, "io_uring is not available");
        assert!(said.err.contains("try: --backend aio"), "{said:?}");
    }
}

/// A name is moved back and forth between a file and another of the same size.
#[test]
fn a_renamed_file_is_never_replaced_by_another() {
    let place = Place::new();
    let (bytes, name) = (64 << 10, place.file("target", 64 << 10));
    let (other, mine) = (place.path("other"), place.path("mine"));
    fs::write(&other, vec![7; bytes]).expect("a file");
    fs::write(&mine, vec![0; bytes]).expect("a file");
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let draft = place.path("draft");
            while !over.load(Ordering::Relaxed) {
                for to in [&other, &mine] {
                    symlink(to, &draft).and_then(|()| fs::rename(&draft, &name)).expect("moved");
                }
            }
        });
        let destroy = format!("--destroy={bytes}");
        let filename = format!("--filename={name}");
        let io = ["io", &name, "--rw", "write", "--ops", "16", "--json", "--quiet", &destroy];
        let fio = ["fio", "--name=a", &filename, "--rw=write", "--bs=4k", &destroy];
        let mut written = 0;
        for _ in 0..60 {
            for words in [&io[..], &fio] {
                fs::write(&other, vec![7; bytes]).expect("a file");
                fs::write(&mine, vec![0; bytes]).expect("a file");
                let said = place.ssdyno(words);
                let changed = |path: &Path, byte: u8| {
                    fs::read(path).expect("there").iter().any(|b| *b != byte)
                };
                // A run must use only the file that it was planned for, whichever that is.
                let [other, mine] = [(&other, 7), (&mine, 0)].map(|(p, byte)| changed(p, byte));
                assert!(!(other && mine), "{words:?} wrote to both: {said:?}");
                if words[0] == "io" && (other || mine) {
                    let name = if other { "/other" } else { "/mine" };
                    let path = said.json()["target"]["path"].to_string();
                    assert!(path.contains(name), "{path} and wrote {name}");
                }
                written += u32::from(other || mine);
                assert!([0, 3, 4].contains(&said.code), "{said:?}");
            }
        }
        over.store(true, Ordering::Relaxed);
        assert!(written > 0, "no run succeeded");
    });
}

#[test]
fn a_run_on_a_shrinking_target_is_incomplete() {
    let place = Place::new();
    let file = place.file("file", 8 * MIB);
    let words = ["io", &file, "--rw", "randread", "--time", "30s"];
    let mut run = Going::start(&place, &words);
    run.until("\"event\":\"interval\"");
    let open = OpenOptions::new().write(true).open(&file).expect("there");
    open.set_len(MIB).expect("shorter");
    run.until("\"event\":\"interval\"");
    run.signal(2);
    let said = run.end();
    assert_ne!(said.code, 0, "{said:?}");
    let record: serde_json::Value =
        serde_json::from_str(said.out.lines().last().expect("a record")).expect("JSON");
    assert_eq!(record["complete"], false);
}

#[test]
fn a_run_on_a_device_with_a_shrinking_file_is_incomplete() {
    let place = Place::new();
    or_skip!(root());
    let device = or_skip!(Loop::new(16 * MIB, "", &[]));
    let words = ["io", &device.path, "--rw", "randread", "--time", "1s"];
    let mut run = Going::start(&place, &words);
    run.until("\"event\":\"interval\"");
    let open = OpenOptions::new().write(true).open(&device.image).expect("there");
    open.set_len(MIB).expect("shorter");
    let said = run.end();
    let record: serde_json::Value =
        serde_json::from_str(said.out.lines().last().expect("a record")).expect("JSON");
    assert_eq!(record["complete"], false, "{}", said.err);
    assert_ne!(said.code, 0, "{}", said.err);
}
