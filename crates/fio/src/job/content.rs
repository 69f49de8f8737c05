//! Content of writes, and its verification.

use workload::Motif;

/// Content of buffers.
#[derive(Clone, Debug, PartialEq)]
pub struct ContentOptions {
    /// `zero_buffers`: zeroes; also `buffer_compress_percentage=100`.
    pub zero: bool,
    /// `refill_buffers`: new random content for every write. Also true if fio implies it (`verify`,
    /// compression, deduplication, a pattern in a job that also reads).
    pub refill: bool,
    /// `buffer_pattern=`: repeated over the buffer.
    pub pattern: Option<Vec<u8>>,
    /// `buffer_compress_percentage=`: percent of each chunk that compresses away, 0 to 99.
    pub compress_percent: u32,
    /// `buffer_compress_chunk=`: bytes of a chunk; 512 by default.
    pub compress_chunk: u32,
    /// `dedupe_percentage=`: percent of blocks that are copies of an earlier one, 0 to 100.
    pub dedupe_percent: u32,
    /// `dedupe_mode=working_set`: blocks are copied from a set rather than from the previous block.
    pub dedupe_set: bool,
    /// `dedupe_working_set_percentage=`: size of that set, percent of `size`, 0 to 100; 5 by
    /// default.
    pub dedupe_set_percent: u32,
    /// `dedupe_global`: the jobs with this option share the set.
    pub dedupe_global: bool,
}

impl Default for ContentOptions {
    fn default() -> ContentOptions {
        ContentOptions {
            zero: false,
            refill: false,
            pattern: None,
            compress_percent: 0,
            compress_chunk: 512,
            dedupe_percent: 0,
            dedupe_set: false,
            dedupe_set_percent: 5,
            dedupe_global: false,
        }
    }
}

/// Verification of written data.
#[derive(Clone, Debug, PartialEq)]
pub struct DataVerify {
    /// `verify=`; [`VerifyKind::None`] by default.
    pub kind: VerifyKind,
    /// `do_verify`: read back after writing; true by default.
    pub do_verify: bool,
    /// `verify_only`: check the data of an earlier run of the same job, and write nothing.
    pub only: bool,
    /// `verify_interval=`: bytes between headers, a divisor of the write size; the write size by
    /// default.
    pub interval: u64,
    /// `verify_offset=`: offset of the header in each interval.
    pub offset: u64,
    /// Whether one of these two was given, or the content around headers repeats.
    pub placed: bool,
    /// `verify_pattern=`.
    pub pattern: Option<Motif>,
    /// `verify_pattern_interval=`: bytes after which it starts again; 0: with each write.
    pub pattern_interval: u64,
    /// `verify_fatal`: end at the first difference.
    pub fatal: bool,
    /// `verify_dump`: keep the received and the expected bytes.
    pub dump: bool,
    /// `verify_policy=fsynced`: check only the writes before the last flush.
    pub flushed_only: bool,
    /// `verify_state_save`, if given: whether the number of writes is kept in a file.
    pub state_save: Option<bool>,
    /// `verify_state_load`: check only what such a file says was written.
    pub state_load: bool,
    /// `verify_backlog=`: check after every so many written blocks, rather than at the end.
    pub backlog: Option<u64>,
    /// `verify_backlog_batch=`: number of blocks in each check; all by default.
    pub backlog_batch: Option<u64>,
}

impl Default for DataVerify {
    fn default() -> DataVerify {
        DataVerify {
            kind: VerifyKind::None,
            do_verify: true,
            only: false,
            interval: 4096,
            offset: 0,
            placed: false,
            pattern: None,
            pattern_interval: 0,
            fatal: false,
            dump: false,
            flushed_only: false,
            state_save: None,
            state_load: false,
            backlog: None,
            backlog_batch: None,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VerifyKind {
    /// No verification.
    #[default]
    None,
    /// A checksum, or fio's `meta`; all of them stand for ssdyno's stamps.
    Stamps,
    /// `verify_pattern`, without a header.
    Pattern,
    /// `verify_pattern` after a header.
    PatternHeader,
    /// Read back, but not compared.
    Null,
}
