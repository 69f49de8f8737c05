//! A drive that neither completes nor refuses: a loop device on an image in a frozen file system.
//! The run ends by itself and its record is kept, with every backend.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use crate::common::{Loop, MIB, Mounted, Place, or_skip, root, tool};

const BYTES: u64 = 16 * MIB;

/// A device that accepts writes but never completes them until it is thawed.
struct Mute {
    path: String,
    mounted: Mounted,
    _outer: Loop,
}

impl Mute {
    fn new() -> Result<Mute, String> {
        root()?;
        tool("fsfreeze", &["--version"])?;
        let outer = Loop::new(4 * BYTES, "mkfs.ext4 -q", &[])?;
        let mounted = Mounted::new(&[&outer.path])?;
        let image = mounted.dir.join("image");
        let made = File::create(&image).and_then(|file| {
            file.set_len(BYTES)?;
            file.sync_all()
        });
        made.map_err(|e| e.to_string())?;
        let image = image.to_str().ok_or("UTF-8")?;
        let path = tool("losetup", &["-f", "--show", image])?;
        let mute = Mute { path, mounted, _outer: outer };
        tool("fsfreeze", &["-f", mute.mounted.text()])?;
        Ok(mute)
    }

    fn thaw(&self) -> Result<String, String> {
        tool("fsfreeze", &["-u", self.mounted.text()])
    }
}

impl Drop for Mute {
    fn drop(&mut self) {
        let _ = self.thaw();
        let _ = tool("losetup", &["-d", &self.path]);
        // The kernel may still be releasing the device; unmounting then completes later.
        let _ = tool("umount", &["-l", self.mounted.text()]);
    }
}

#[test]
fn a_drive_that_never_answers_ends_the_run_and_the_record_is_kept() {
    for backend in ["uring", "aio", "psync"] {
        let place = Place::new();
        let usable = ["io", ".", "--size", "1MiB", "--ops", "1", "--quiet", "--backend", backend];
        if place.ssdyno(&usable).code != 0 {
            println!("skipped: backend {backend} is not available");
            continue;
        }
        let mute = or_skip!(Mute::new());
        let destroy = format!("--destroy={BYTES}");
        let words = ["io", &mute.path, "--rw", "write", "--depth", "4", "--time", "60s"];
        let more = [&destroy, "--backend", backend, "--patience", "1s", "--json", "--quiet"];
        let mut command = place.command(&[&words[..], &more[..]].concat());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut run = command.spawn().expect("starts");
        let mut lines = BufReader::new(run.stderr.take().expect("piped")).lines();
        let mut line = || lines.next().expect("a line").expect("UTF-8");
        let silence = format!("ssdyno: no answer from {} for ", mute.path);
        let (first, last) = (line(), line());
        assert!(
            first.starts_with(&silence) && first.contains("the run ends after 1.0 s"),
            "{first}"
        );
        assert!(last.starts_with(&silence) && last.ends_with("(io)"), "{last}");
        assert!(line().starts_with("   try: "));
        // The drive is still frozen, and everything measured so far is stored and printed.
        let stdout = BufReader::new(run.stdout.take().expect("piped")).lines();
        let printed = stdout.map(|line| line.expect("UTF-8")).next().expect("a record");
        let printed: serde_json::Value = serde_json::from_str(&printed).expect("JSON");
        for record in [printed, place.ssdyno(&["show", "--json"]).good().json()] {
            assert_eq!(record["complete"], false);
            let why = record["cut_short"].as_str().expect("a reason");
            assert!(why.starts_with(&silence["ssdyno: ".len()..]), "{why}");
            assert_eq!(record["warnings"][0]["name"], "no-answer", "{record}");
        }
        // A thread blocked in the kernel cannot be killed: with psync and aio, the process ends
        // when the kernel releases it.
        mute.thaw().expect("thawed");
        assert_eq!(run.wait().expect("ends").code(), Some(4), "{backend}");
    }
}

#[test]
fn a_drive_that_answers_in_time_is_not_given_up() {
    let mute = or_skip!(Mute::new());
    let place = Place::new();
    let destroy = format!("--destroy={BYTES}");
    let words = ["io", &mute.path, "--rw", "write", "--ops", "8", &destroy, "--patience", "600s"];
    let mut command = place.command(&[&words[..], &["--json", "--events", "--quiet"]].concat());
    let mut run = command.stdout(Stdio::piped()).spawn().expect("starts");
    let mut lines = BufReader::new(run.stdout.take().expect("piped")).lines();
    // The step is announced before the first write; nothing follows while the drive is frozen.
    let first = lines.next().expect("a line").expect("UTF-8");
    mute.thaw().expect("thawed");
    let last = lines.map(|line| line.expect("UTF-8")).last().unwrap_or(first);
    assert_eq!(run.wait().expect("ends").code(), Some(0));
    let record: serde_json::Value = serde_json::from_str(&last).expect("JSON");
    assert_eq!(record["complete"], true, "{last}");
}

#[test]
fn a_record_that_the_store_rejects_at_the_end_without_an_answer_is_in_a_file() {
    let mute = or_skip!(Mute::new());
    let small = or_skip!(Mounted::new(&["-t", "tmpfs", "-o", "size=2m", "none"]));
    let place = Place::new();
    let (destroy, store) = (format!("--destroy={BYTES}"), small.dir.join("store"));
    let words = ["io", &mute.path, "--rw", "write", "--time", "60s", &destroy, "--patience", "1s"];
    let more = ["--json", "--quiet", "--store", store.to_str().expect("UTF-8")];
    let mut command = place.command(&[&words[..], &more[..]].concat());
    let mut run = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
    let mut lines = BufReader::new(run.stderr.take().expect("piped")).lines();
    let first = lines.next().expect("a line").expect("UTF-8");
    assert!(first.contains("no answer"), "{first}");
    small.fill();
    let lines: Vec<String> = lines.map_while(|line| line.ok()).take(5).collect();
    let file = lines.iter().find_map(|line| line.strip_prefix("   try: the record is in "));
    let record = std::fs::read_to_string(file.unwrap_or_else(|| panic!("{lines:?}")));
    let record: serde_json::Value = serde_json::from_str(&record.expect("a file")).expect("JSON");
    assert!(record["cut_short"].as_str().is_some_and(|why| why.contains("no answer")), "{record}");
    assert!(lines.iter().any(|line| line.ends_with("the record is not in the store")), "{lines:?}");
    mute.thaw().expect("thawed");
    assert_eq!(run.wait().expect("ends").code(), Some(4));
}
