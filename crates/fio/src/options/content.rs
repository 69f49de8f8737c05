//! Options of content and verification.

use super::{OptionEntry, supported};
use crate::VerifyKind;
use crate::value::{pattern, put};

pub(super) const OPTIONS: &[OptionEntry] = &[
    supported("zero_buffers", &[], |d, v| put(&mut d.job.content.zero, v.set()?)).bare(),
    supported("refill_buffers", &[], |d, v| put(&mut d.refill, Some(v.set()?))).bare(),
    supported("scramble_buffers", &[], |_, v| v.flag().map(drop))
        .says("random content always differs between sectors"),
    supported("buffer_pattern", &[], |d, v| {
        let motif = pattern(v)?;
        if !motif.offsets_at.is_empty() {
            return Err("%o is only for verify_pattern".into());
        }
        d.job.content.pattern = Some(motif.bytes);
        put(&mut d.job.content.zero, false)
    }),
    supported("buffer_compress_percentage", &[], |d, v| {
        put(&mut d.job.content.compress_percent, v.count32(0, 100)?)
    }),
    supported("buffer_compress_chunk", &[], |d, v| {
        put(&mut d.job.content.compress_chunk, v.count32(1, 1 << 30)?)
    }),
    supported("dedupe_percentage", &[], |d, v| {
        // As in fio, even a share of 0 fills the buffer for each write.
        d.refill = Some(true);
        put(&mut d.job.content.dedupe_percent, v.count32(0, 100)?)
    }),
    supported("dedupe_mode", &[], |d, v| {
        let words = [("repeat", false), ("working_set", true)];
        put(&mut d.job.content.dedupe_set, v.word(&words)?)
    }),
    supported("dedupe_working_set_percentage", &[], |d, v| {
        put(&mut d.job.content.dedupe_set_percent, v.count32(0, 100)?)
    }),
    supported("dedupe_global", &[], |d, v| put(&mut d.job.content.dedupe_global, v.flag()?)),
    supported("verify", &[], |d, v| put(&mut d.verify, Some(v.word(KINDS)?)))
        .says("ssdyno's header replaces fio's; neither tool can check the other's files"),
    supported("do_verify", &[], |d, v| put(&mut d.job.verify.do_verify, v.flag()?)),
    supported("verify_only", &[], |d, v| put(&mut d.job.verify.only, v.set()?))
        .bare()
        .says("operations that are left out are not counted as done"),
    supported("verify_interval", &[], |d, v| put(&mut d.verify_interval, v.count(0, 1 << 30)?))
        .says("as in fio; without it, random content has a header in each 512 bytes"),
    supported("verify_offset", &[], |d, v| put(&mut d.job.verify.offset, v.count(0, 1 << 30)?)),
    supported("verify_pattern", &[], |d, v| {
        d.job.verify.pattern = Some(pattern(v)?);
        d.verify = d.verify.or(Some(VerifyKind::Pattern));
        Ok(())
    })
    .says("with verify=pattern each tool can check the other's files; otherwise the pattern surrounds ssdyno's headers"),
    supported("verify_pattern_interval", &[], |d, v| {
        put(&mut d.job.verify.pattern_interval, v.count(0, 1 << 30)?)
    }),
    supported("verify_fatal", &[], |d, v| put(&mut d.job.verify.fatal, v.flag()?)),
    supported("verify_dump", &[], |d, v| put(&mut d.job.verify.dump, v.flag()?))
        .says("only the first 16 blocks of a clone"),
    supported("verify_policy", &[], |d, v| {
        put(&mut d.job.verify.flushed_only, v.word(&[("completed", false), ("fsynced", true)])?)
    }),
    supported("verify_state_save", &[], |d, v| {
        put(&mut d.job.verify.state_save, Some(v.flag()?))
    })
    .says("by default with `--as-is` only"),
    supported("verify_state_load", &[], |d, v| put(&mut d.job.verify.state_load, v.flag()?))
        .says("of jobs that only read or check; fio 3.42 reads the same files"),
    supported("verify_async", &[], |_, v| v.count32(0, 1024).map(drop))
        .says("the job's thread checks"),
    supported("verify_backlog", &[], |d, v| {
        put(&mut d.job.verify.backlog, Some(v.bytes()?).filter(|blocks| *blocks > 0))
    })
    .says("the queue is emptied before written blocks are read back"),
    supported("verify_backlog_batch", &[], |d, v| {
        put(&mut d.job.verify.backlog_batch, Some(v.bytes()?).filter(|blocks| *blocks > 0))
    }),
];

const KINDS: &[(&str, VerifyKind)] = &[
    ("0", VerifyKind::None),
    ("md5", VerifyKind::Stamps),
    ("crc64", VerifyKind::Stamps),
    ("crc32", VerifyKind::Stamps),
    ("crc32c", VerifyKind::Stamps),
    ("crc32c-intel", VerifyKind::Stamps),
    ("crc16", VerifyKind::Stamps),
    ("crc7", VerifyKind::Stamps),
    ("sha1", VerifyKind::Stamps),
    ("sha256", VerifyKind::Stamps),
    ("sha512", VerifyKind::Stamps),
    ("sha3-224", VerifyKind::Stamps),
    ("sha3-256", VerifyKind::Stamps),
    ("sha3-384", VerifyKind::Stamps),
    ("sha3-512", VerifyKind::Stamps),
    ("xxhash", VerifyKind::Stamps),
    ("meta", VerifyKind::Stamps),
    ("pattern", VerifyKind::Pattern),
    ("pattern_hdr", VerifyKind::PatternHeader),
    ("null", VerifyKind::Null),
];
