//! Opens the files of a job.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use rig::{Advice as Order, BackendKind, Job, OpenFlags, Result, RigError, SyncWrites};
use rustix::fs::{Advice, OFlags, fadvise};
use workload::Caching;

use super::layout::BLOCK;
use super::{FileSet, failed};
use crate::device::{AnyDevice, FdDevice};

impl FileSet {
    /// Opens the files of a job with its flags. A job without files gets the null device.
    pub(crate) fn open(&self, job: &Job) -> Result<AnyDevice> {
        if job.files.is_empty() {
            return Ok(AnyDevice::null());
        }
        let files = job.files.iter().map(|f| self.open_one(job, &f.path, f.region.end()));
        let files = files.collect::<Result<_>>()?;
        let device = FdDevice::of_files(files, is_direct(job), rig::place_bits(&job.files));
        Ok(AnyDevice::files(device))
    }

    fn open_one(&self, job: &Job, path: &Path, end: u64) -> Result<File> {
        let file = self.open_path(job, path).map_err(|e| open_failed(job, path, e))?;
        let OpenFlags { pre_read, write, .. } = job.issue.open;
        if pre_read {
            read_through(&file).map_err(|e| failed("read", path, e))?;
        }
        advise(job, &file).map_err(|e| failed("open", path, e))?;
        if job.issue.backend == Some(BackendKind::Mmap) && write {
            // Writing to a mapping does not extend the file.
            extend(&file, end).map_err(|e| failed("extend", path, e))?;
        }
        Ok(file)
    }

    fn open_path(&self, job: &Job, path: &Path) -> io::Result<File> {
        let OpenFlags { read, write, .. } = job.issue.open;
        let mut options = OpenOptions::new();
        options.read(read).write(write).custom_flags(flags(job));
        match self.opened.get(path) {
            // Opened through the checked descriptor, because the name may now refer to something
            // else.
            Some(opened) => options.open(format!("/proc/self/fd/{}", opened.file().as_raw_fd())),
            None => self.same.open(path, &options, write),
        }
    }
}

fn is_direct(job: &Job) -> bool {
    job.workload.caching == Caching::Bypass
}

fn flags(job: &Job) -> i32 {
    let sync = match job.issue.open.sync {
        SyncWrites::None => OFlags::empty(),
        SyncWrites::All => OFlags::SYNC,
        SyncWrites::Data => OFlags::DSYNC,
    };
    let direct = if is_direct(job) { OFlags::DIRECT } else { OFlags::empty() };
    (sync | direct).bits() as i32
}

fn open_failed(job: &Job, path: &Path, error: io::Error) -> RigError {
    let refuses = error.raw_os_error() == Some(rustix::io::Errno::INVAL.raw_os_error());
    if refuses && is_direct(job) {
        let text =
            format!("{}: the file system of {} refuses direct=1", job.name(), path.display());
        return RigError::usage(text, "direct=0, which measures the page cache");
    }
    failed("open", path, error)
}

/// Makes a regular file at least this long.
fn extend(file: &File, end: u64) -> io::Result<()> {
    let metadata = file.metadata()?;
    if metadata.is_file() && metadata.len() < end { file.set_len(end) } else { Ok(()) }
}

/// Reads a file once to fill the page cache. The given descriptor may bypass the cache, or may not
/// read.
fn read_through(file: &File) -> io::Result<()> {
    let file = File::open(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
    let mut buffer = vec![0; BLOCK as usize];
    let mut offset = 0;
    loop {
        match file.read_at(&mut buffer, offset)? {
            0 => return Ok(()),
            bytes => offset += bytes as u64,
        }
    }
}

/// Makes the kernel drop cached pages if requested, and announces the access order.
fn advise(job: &Job, file: &File) -> io::Result<()> {
    if job.issue.open.invalidate && !is_direct(job) {
        fadvise(file, 0, None, Advice::DontNeed)?;
    }
    let advice = match job.issue.open.advice {
        None => return Ok(()),
        Some(Order::Random) => Advice::Random,
        Some(Order::Sequential) => Advice::Sequential,
        Some(Order::NoReuse) => Advice::NoReuse,
    };
    if file.metadata()?.is_file() { Ok(fadvise(file, 0, None, advice)?) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_opened_for_direct_writes_is_read_through_the_cache() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        file.as_file().set_len(BLOCK + 100).expect("extended");
        for flags in [0, OFlags::DIRECT.bits() as i32] {
            let opened = OpenOptions::new().write(true).custom_flags(flags).open(file.path());
            match opened {
                Ok(opened) => read_through(&opened).expect("read"),
                Err(e) => println!("skipped: no O_DIRECT here: {e}"),
            }
        }
    }
}
