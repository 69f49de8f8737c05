//! The outside world as seen by job files: files, environment, size of the machine.

use std::io;
use std::path::Path;

use crate::system;

/// Maximum size of a job or pattern file, bytes; arbitrary (fio's largest example has 5 KB).
const LARGEST_FILE: u64 = 1 << 20;

/// Maximum size of an I/O log, bytes; arbitrary. Its operations take as much memory.
const LARGEST_LOG: u64 = 1 << 30;

/// The outside world of a parser. It is a trait so that tests and fuzzers can provide their own:
/// they implement files and environment, and share a small machine of fixed size.
pub trait World {
    /// The content of a job file or a pattern file; `-` is stdin.
    fn read(&self, path: &str) -> io::Result<Vec<u8>>;
    /// The content of an I/O log, which may be much larger; `-` is stdin.
    fn read_log(&self, path: &str) -> io::Result<Vec<u8>> {
        self.read(path)
    }
    /// An environment variable, for `${NAME}`.
    fn env(&self, name: &str) -> Option<String>;
    /// Whether a path exists and is neither a regular file nor a directory, such as a device: a job
    /// of that name uses it as its file.
    fn is_special(&self, path: &str) -> bool {
        path.starts_with("/dev/")
    }
    /// Number of processors available to this process, for `$ncpus`.
    fn cpus(&self) -> u64 {
        4
    }
    /// Memory in MiB, for `$mb_memory`.
    fn memory_mib(&self) -> u64 {
        2048
    }
    /// Page size in bytes, for `$pagesize`.
    fn page_bytes(&self) -> u64 {
        4096
    }
}

/// This machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct Here;

impl World for Here {
    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        read_whole(path, LARGEST_FILE)
    }

    fn read_log(&self, path: &str) -> io::Result<Vec<u8>> {
        read_whole(path, LARGEST_LOG)
    }

    fn env(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }

    fn is_special(&self, path: &str) -> bool {
        Path::new(path).metadata().is_ok_and(|about| !about.is_file() && !about.is_dir())
    }

    fn cpus(&self) -> u64 {
        std::thread::available_parallelism().map_or(1, |n| n.get() as u64)
    }

    fn memory_mib(&self) -> u64 {
        system::memory_mib()
    }

    fn page_bytes(&self) -> u64 {
        system::page_bytes()
    }
}

fn read_whole(path: &str, bytes_max: u64) -> io::Result<Vec<u8>> {
    let bytes = match path {
        "-" => read_some(io::stdin().lock(), bytes_max)?,
        _ => read_some(std::fs::File::open(path)?, bytes_max)?,
    };
    if bytes.len() as u64 > bytes_max {
        return Err(io::Error::other(format!("larger than {} MiB", bytes_max >> 20)));
    }
    Ok(bytes)
}

/// Reads one byte more than allowed, so that a larger file is detected.
fn read_some(from: impl io::Read, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    io::Read::read_to_end(&mut from.take(bytes_max + 1), &mut bytes)?;
    Ok(bytes)
}
