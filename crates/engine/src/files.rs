//! The files of a job as one space of addresses.
//!
//! The upper bits of an address say which file, the lower ones where in it: `shift` is as large as
//! the largest file needs. One file has all bits to itself, so that the usual case pays a shift and
//! a mask and no table.

use std::fs::File;
use std::io;

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

/// Files that one job works on.
#[derive(Clone, Copy, Debug)]
pub struct Files<'f> {
    list: &'f [File],
    shift: u32,
    whole: bool,
}

impl<'f> Files<'f> {
    /// One file, or device.
    pub fn one(file: &'f File) -> Files<'f> {
        Files { list: std::slice::from_ref(file), shift: u64::BITS - 1, whole: false }
    }

    /// Several files, at least one; an address has `shift` bits (1 to 63) for the place in a file.
    pub fn several(list: &'f [File], shift: u32) -> Files<'f> {
        assert!(!list.is_empty() && (1..u64::BITS).contains(&shift));
        Files { list, shift, whole: false }
    }

    /// The same files, flushed with all that is known of them (`fsync`) and not only what is needed
    /// to read them again (`fdatasync`).
    pub fn flushed_whole(self) -> Files<'f> {
        Files { whole: true, ..self }
    }

    /// Every file.
    pub fn list(&self) -> &'f [File] {
        self.list
    }

    /// Whether a flush is an `fsync`.
    pub(crate) fn whole_flush(&self) -> bool {
        self.whole
    }

    /// The number of the file at an address, and the place in it.
    #[inline]
    pub(crate) fn split(&self, address: u64) -> (usize, u64) {
        ((address >> self.shift) as usize, address & ((1 << self.shift) - 1))
    }

    /// The file at an address, and the place in it.
    #[inline]
    pub(crate) fn at(&self, address: u64) -> (&'f File, u64) {
        let (number, offset) = self.split(address);
        (&self.list[number], offset)
    }

    /// Bits of an address for the place in a file.
    pub(crate) fn place_bits(&self) -> u32 {
        self.shift
    }

    /// The first address of every file.
    pub(crate) fn starts(&self) -> impl Iterator<Item = u64> + use<> {
        let shift = self.shift;
        (0..self.list.len() as u64).map(move |number| number << shift)
    }

    /// Takes everything out of those that are files, devices being left alone.
    pub(crate) fn empty(&self) -> io::Result<()> {
        self.list.iter().try_for_each(|file| match file.metadata()?.is_file() {
            true => file.set_len(0),
            false => Ok(()),
        })
    }

    /// Reads are to leave no time of access behind: those would be writes of the file system's in
    /// the middle of a measurement, and cost each read something. Who does not own a file may not
    /// ask for this; then it stays as it is.
    pub(crate) fn keep_times(&self) {
        for file in self.list {
            if let Ok(flags) = fcntl_getfl(file) {
                let _ = fcntl_setfl(file, flags | OFlags::NOATIME);
            }
        }
    }

    /// Makes the file at an address durable.
    pub(crate) fn flush(&self, address: u64) -> io::Result<()> {
        let file = self.at(address).0;
        if self.whole { file.sync_all() } else { file.sync_data() }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::FileTimes;
    use std::os::unix::fs::FileExt;
    use std::time::{Duration, SystemTime};

    use super::*;

    #[test]
    fn reading_leaves_no_trace() {
        let file = tempfile::tempfile().expect("a file");
        file.write_all_at(b"content", 0).expect("written");
        let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        file.set_times(FileTimes::new().set_accessed(long_ago)).expect("set");
        Files::one(&file).keep_times();
        file.read_at(&mut [0; 7], 0).expect("read");
        assert_eq!(file.metadata().expect("there").accessed().expect("a time"), long_ago);
    }

    #[test]
    fn an_address_is_a_file_and_a_place() {
        let file = || tempfile::tempfile().expect("a file");
        let files = [file(), file(), file()];
        let several = Files::several(&files, 20);
        assert_eq!(several.split(5), (0, 5));
        assert_eq!(several.split((2 << 20) + 4096), (2, 4096));
        assert_eq!(several.starts().collect::<Vec<_>>(), [0, 1 << 20, 2 << 20]);
        assert_eq!(Files::one(&files[0]).split(1 << 62), (0, 1 << 62));
    }
}
