//! The mmap engine: its writes reach the file, and if another program shortens the file during the
//! run, only the job ends, with an error.

use std::fs::{File, OpenOptions};
use std::path::Path;

use rig::Event;

use super::common::{json, number, observed, plan, run};

#[test]
fn what_is_written_is_in_the_file() {
    let directory = tempfile::tempdir().expect("a directory");
    let place = directory.path().display();
    let words = "--name=a --filename=f --size=256k --bs=4k --rw=randwrite --ioengine=mmap";
    let json = run(&format!("--directory={place} {words} --zero_buffers"));
    assert_eq!(number(&json["jobs"][0]["write"]["io_bytes"]), 256 << 10);
    let content = std::fs::read(directory.path().join("f")).expect("the file");
    assert_eq!((content.len(), content.iter().all(|b| *b == 0)), (256 << 10, true));
    run(&format!("--directory={place} {words}"));
    let content = std::fs::read(directory.path().join("f")).expect("the file");
    let blocks = content.chunks(4096).filter(|block| block.iter().any(|b| *b != 0)).count();
    assert_eq!(blocks, 64, "every block was written");
}

/// Runs a job and shortens its file when the first interval is reported.
fn shortened(directory: &Path, rw: &str) -> serde_json::Value {
    let words = [
        format!("--directory={}", directory.display()),
        "--name=a --filename=f --size=1m --bs=4k --ioengine=mmap --time_based --runtime=60".into(),
        format!("--rw={rw}"),
    ];
    let words: Vec<String> = words.join(" ").split(' ').map(String::from).collect();
    let plan = plan(&words);
    let path = directory.join("f");
    let shorten = move |event: &Event| {
        if matches!(event, Event::Interval { .. }) {
            let file: File = OpenOptions::new().write(true).open(&path).expect("the file");
            file.set_len(4096).expect("shorter");
        }
    };
    json(&observed(&plan, &[], shorten).expect("ran"))
}

#[test]
fn a_file_that_is_shortened_ends_the_job_in_an_error() {
    for rw in ["randread", "randwrite", "read", "write"] {
        let directory = tempfile::tempdir().expect("a directory");
        let json = shortened(directory.path(), rw);
        let job = &json["jobs"][0];
        assert_eq!(number(&job["error"]), 5, "{rw}: EIO");
        assert!(number(&job["job_runtime"]) < 60_000, "{rw}");
    }
}
