//! Fuzz targets of this crate: journals and registry entries, altered by other programs.

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use fuzz::{FuzzTarget, outcome};
use journal::{EarlierJournal, JournalDir};
use tempfile::TempDir;
use xxhash_rust::xxh3::xxh3_64;

/// Every parser of this crate.
pub const TARGETS: &[FuzzTarget] = &[JOURNAL, ENTRY];

/// Headers of journals, with a valid checksum and a few original bytes.
const JOURNAL: FuzzTarget = FuzzTarget { name: "journal", run: journal, corpus: HEADERS };

/// Entries of the registry.
const ENTRY: FuzzTarget = FuzzTarget { name: "journal-entry", run: entry, corpus: ENTRIES };

static DIRECTORY: LazyLock<TempDir> = LazyLock::new(|| TempDir::new().expect("a directory"));

/// A directory of this target that contains only this file.
fn only(target: &str, name: &str, content: &[u8]) -> PathBuf {
    let directory = DIRECTORY.path().join(target);
    fs::create_dir_all(&directory).expect("a directory");
    fs::write(directory.join(name), content).expect("written");
    directory
}

fn left(directory: PathBuf) -> u64 {
    match JournalDir::at(&directory).unfinished() {
        Ok(left) => {
            outcome(&left.iter().map(|left| format!("{:?}", left.state)).collect::<String>())
        }
        Err(error) => outcome(&error.to_string()),
    }
}

fn journal(input: &[u8]) -> u64 {
    let length = (input.len() as u64).to_le_bytes();
    let checksum = xxh3_64(input).to_le_bytes();
    // An input that starts with the magic is the whole file.
    let content = if input.starts_with(b"SSDYNOJ1") {
        input.to_vec()
    } else {
        [b"SSDYNOJ1", &length[..], &checksum, input, &[7; 100]].concat()
    };
    let directory = only("journal", "x.journal", &content);
    let opened = match EarlierJournal::open(&directory.join("x.journal")) {
        Ok(kept) => kept.borrowed.damaged().len() as u64,
        Err(error) => outcome(&error.to_string()),
    };
    opened ^ left(directory)
}

fn entry(input: &[u8]) -> u64 {
    left(only("entry", "x.journal.elsewhere", input))
}

const HEADERS: &[&str] = &[
    "{\"drive\":{\"path\":\"/dev/sdx\",\"model\":\"ACME\",\"serial\":\"S1\",\"disk_bytes\":1000000,\
     \"start\":null,\"bytes\":1000000,\"backing_file\":null},\"region\":{\"start\":0,\"bytes\":100},\
     \"made_s\":1700000000,\"block_bytes\":65536,\"checksums\":[123]}",
    "{\"drive\":{\"path\":\"/dev/sdx1\",\"model\":null,\"serial\":null,\"disk_bytes\":9000000,\
     \"start\":1048576,\"bytes\":1000000,\"backing_file\":\"/x\"},\"region\":{\"start\":512,\
     \"bytes\":70000},\"made_s\":1700000000,\"block_bytes\":65536,\"checksums\":[1,2]}",
    "SSDYNOJ1\u{10}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}12345678{}",
];

const ENTRIES: &[&str] =
    &["{\"path\":\"/mnt/x.journal\",\"drive\":{\"path\":\"/dev/sdx\",\"model\":null,\
     \"serial\":\"S1\",\"disk_bytes\":100,\"start\":null,\"bytes\":100,\"backing_file\":null},\
     \"made_s\":1700000000}"];
