//! Files of a job: names, number, sizes, creation and removal, durability.

use super::Amount;

/// Maximum number of files in a job; arbitrary, far more than in any of fio's examples.
pub const MAX_FILES: u32 = 1_000_000;

/// The used part of the files, and the number of bytes moved.
///
/// fio's rules for laying out files: `size` is the sum over the job's files. Each gets an equal
/// share (`size / nrfiles`), and the first ones an additional smallest block for each one that
/// fits in the remainder. With `filesize`, a file has that size whatever `size` is. Without
/// either, files must exist or be written by an earlier job, and their whole length from `offset`
/// on is used. Percentages of `size` apply to each file or device. The number of bytes moved is
/// `io_size`, or else `size`, times `loops`; with `time_based`, this is repeated.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SpaceOptions {
    pub size: Option<Amount>,
    /// `io_size=` (`io_limit`).
    pub io_size: Option<Amount>,
    /// The share of the files in a pass, from an `io_size=` in percent. As in fio, it holds even if
    /// an amount follows.
    pub pass_share: Option<Amount>,
    /// `filesize=`, minimum and maximum; a size between them is drawn for each file.
    pub filesize: Option<(u64, u64)>,
    /// `fill_device` (`fill_fs`): write until the device or file system is full.
    pub fill_device: bool,
    /// `file_append`: start at the end of the file.
    pub file_append: bool,
    /// `offset=`: first used byte of each file. A percentage refers to its size and is rounded up
    /// to `offset_align`, or else to the smallest block.
    pub offset: Amount,
    /// `offset_increment=`: added `n` times for clone `n` of the job.
    pub offset_increment: Amount,
    /// `offset_align=`: offsets given as a percentage are rounded up to this; 0 for the smallest
    /// block.
    pub offset_align: u64,
    /// `number_ios=`: end after this many operations, times `loops`.
    pub number_ios: Option<u64>,
}

/// Names, number and creation of the files.
#[derive(Clone, Debug, PartialEq)]
pub struct FileOptions {
    /// `filename=`, split at `:` (`\:` is a colon), with the directory prepended. Empty if names
    /// are derived from the format. As in fio, names from `[global]` and the job are combined.
    pub names: Vec<String>,
    /// `directory=`, split at `:`. Clone `n` of the job uses entry `n` modulo their number.
    pub directories: Vec<String>,
    /// `filename_format=`: `$jobname.$jobnum.$filenum` by default.
    pub filename_format: String,
    /// Number of files per clone: `nrfiles=`, or the number of names, 1 to [`MAX_FILES`].
    pub nrfiles: u32,
    /// `openfiles=`: number of files open at once; all by default.
    pub openfiles: u32,
    /// `file_service_type=`: the file of the next operation.
    pub service: FileService,
    pub fallocate: Fallocate,
    /// `fadvise_hint=`.
    pub fadvise: FadviseHint,
    /// `overwrite=`: a file that is too short or has no data is written before the job, so that no
    /// block is new. Implied for a job that reads.
    pub overwrite: bool,
    /// `create_on_open`: the file is created on opening rather than laid out before.
    pub create_on_open: bool,
    /// `create_only`: only lay out files.
    pub create_only: bool,
    /// `create_fsync`: fsync after laying out; true by default.
    pub create_fsync: bool,
    /// `allow_file_create`: true by default.
    pub allow_file_create: bool,
    /// `pre_read`: read the files before the job.
    pub pre_read: bool,
    /// `invalidate`: drop the files from the page cache before the job; true by default, false
    /// with `pre_read`.
    pub invalidate: bool,
    /// `unlink`: remove the files afterwards.
    pub unlink: bool,
    /// `unlink_each_loop`: remove the files after each of `loops`.
    pub unlink_each_loop: bool,
}

impl Default for FileOptions {
    fn default() -> FileOptions {
        FileOptions {
            names: Vec::new(),
            directories: Vec::new(),
            filename_format: "$jobname.$jobnum.$filenum".into(),
            nrfiles: 1,
            openfiles: 1,
            service: FileService { order: ServiceOrder::RoundRobin, every: 1 },
            fallocate: Fallocate::Native,
            fadvise: FadviseHint::ByWorkload,
            overwrite: false,
            create_on_open: false,
            create_only: false,
            create_fsync: true,
            allow_file_create: true,
            pre_read: false,
            invalidate: true,
            unlink: false,
            unlink_each_loop: false,
        }
    }
}

impl FileOptions {
    /// Paths of the files of clone `clone` of the job named `job`.
    pub(super) fn paths(&self, job: &str, clone: u32) -> Vec<String> {
        if !self.names.is_empty() {
            return self.names.iter().take(self.nrfiles as usize).cloned().collect();
        }
        let directory = match self.directories.len() {
            0 => String::new(),
            many => format!("{}/", self.directories[clone as usize % many]),
        };
        (0..self.nrfiles)
            .map(|file| directory.clone() + &self.made_name(job, clone, file))
            .collect()
    }

    /// The drive of each named file, or else of each directory; `None` for local files.
    pub(crate) fn drives(&self) -> impl Iterator<Item = Option<String>> {
        let names = self.names.iter().map(|name| {
            let directory = self.directories.iter().find(|directory| {
                name.strip_prefix(directory.as_str()).is_some_and(|rest| rest.starts_with('/'))
            });
            Some(directory.unwrap_or(name).clone()).filter(|name| is_drive(name))
        });
        let directories =
            self.directories.iter().cloned().map(|name| Some(name).filter(|n| is_drive(n)));
        let is_local = self.names.is_empty() && self.directories.is_empty();
        let has_no_names = self.names.is_empty();
        names.chain(directories.filter(move |_| has_no_names)).chain(is_local.then_some(None))
    }

    /// Fills in the format; its words may be in any case.
    fn made_name(&self, job: &str, clone: u32, file: u32) -> String {
        let words = [
            ("$jobname", job.to_string()),
            ("$jobnum", clone.to_string()),
            ("$filenum", file.to_string()),
            ("$clientuid", String::new()),
        ];
        let (mut name, mut rest) = (String::new(), self.filename_format.as_str());
        while let Some(first) = rest.chars().next() {
            match words.iter().find(|(word, _)| {
                rest.get(..word.len()).is_some_and(|head| head.eq_ignore_ascii_case(word))
            }) {
                Some((word, value)) => {
                    name.push_str(value);
                    rest = &rest[word.len()..];
                }
                None => {
                    name.push(first);
                    rest = &rest[first.len_utf8()..];
                }
            }
        }
        name
    }
}

/// Whether a name denotes a drive that is not a local file or device. Such a name is taken whole,
/// including colons; for a file of that name, write `./sim\:x`.
pub(crate) fn is_drive(name: &str) -> bool {
    is_virtual(name) || name.starts_with("pci:")
}

/// Whether a name denotes a virtual drive.
pub(crate) fn is_virtual(name: &str) -> bool {
    name.starts_with("sim:")
}

/// `file_service_type=`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FileService {
    pub order: ServiceOrder,
    /// `roundrobin:8`: the number of operations before moving to the next file; 1 by default.
    pub every: u32,
}

/// Order in which files are used.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ServiceOrder {
    Random,
    /// One after the other.
    RoundRobin,
    /// A file to its end, then the next.
    Sequential,
    /// By popularity, the first file most: `zipf:theta`.
    Zipf(f64),
    /// By popularity, the first file most: `pareto:power`.
    Pareto(f64),
    /// By popularity, those in the middle most: `normal:deviation`, in percent of the files.
    Normal(f64),
}

/// `fallocate=`: allocation of a file before it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fallocate {
    /// No allocation.
    None,
    /// By the file system, if supported.
    Native,
    /// posix_fallocate, which writes zeroes if the file system does not support it.
    Posix,
    /// By the file system, without changing the length.
    Keep,
    /// Length only.
    Truncate,
}

/// `fadvise_hint=`: advice to the kernel about the order of offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FadviseHint {
    /// No advice.
    None,
    /// Random or sequential, according to the job.
    ByWorkload,
    Random,
    Sequential,
    /// Not to be used again.
    NoReuse,
}

/// Durability of writes, and use of the page cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Syncing {
    /// `direct=1` (`buffered=0`): bypasses the page cache.
    pub direct: bool,
    /// `sync=`: flags for opening files.
    pub sync: SyncMode,
    /// `fsync=`: fsync after this many writes; 0: never. fio's results count it as a fourth kind of
    /// operation.
    pub fsync: u32,
    /// `fdatasync=`: the same with fdatasync, or with fsync if both are given.
    pub fdatasync: u32,
    /// `end_fsync`: fsync at the end of the write stage.
    pub end_fsync: bool,
    /// `fsync_on_close`: fsync whenever a file is closed.
    pub fsync_on_close: bool,
}

impl Syncing {
    /// Whether a file is flushed when its last write is done.
    pub fn flushes_at_end(&self) -> bool {
        self.end_fsync || self.fsync_on_close
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SyncMode {
    /// Neither.
    #[default]
    None,
    /// O_SYNC.
    Sync,
    /// O_DSYNC.
    Dsync,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_derived_from_the_format() {
        let mut files = FileOptions { nrfiles: 2, ..FileOptions::default() };
        assert_eq!(files.paths("j", 3), ["j.3.0", "j.3.1"]);
        files.filename_format = "a-$FILENUM-$jobname$x".into();
        files.directories = vec!["/d".into(), "/e".into()];
        assert_eq!(files.paths("é", 1), ["/e/a-0-é$x", "/e/a-1-é$x"]);
    }

    #[test]
    fn clones_share_given_names() {
        let names = vec!["a".to_string(), "b".to_string()];
        let files = FileOptions { nrfiles: 2, names, ..FileOptions::default() };
        assert_eq!(files.paths("j", 3), ["a", "b"]);
    }
}
