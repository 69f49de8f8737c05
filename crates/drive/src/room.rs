//! Room for new files: what they must leave free on a file system (rule 5 of safety).
//!
//! The smaller of 10% and 8 GiB stays free, and never less than 64 MiB. Below that, file systems
//! slow down and other programs start to fail; more would refuse a small file on a large disk that
//! is as full as most disks are. Scratch files, fio's files, fills and images all ask here. The
//! only exception is in `open/scratch.rs`: `fake` with a given size.

use std::path::Path;

use crate::error::DriveError;
use crate::machine::Machine;

const MIB: u64 = 1 << 20;
const KEPT_BYTES_MIN: u64 = 64 * MIB;
const KEPT_BYTES_MAX: u64 = 8 << 30;

/// Bytes that new files leave free on a file system of this size: a tenth of it, rounded up, but
/// 64 MiB to 8 GiB.
pub fn kept_free(total_bytes: u64) -> u64 {
    total_bytes.div_ceil(10).clamp(KEPT_BYTES_MIN, KEPT_BYTES_MAX)
}

/// Bytes for new files in a directory, in whole MiB: the free space of its file system minus the
/// part that stays free.
pub fn room(directory: &Path) -> Result<u64, DriveError> {
    let filesystem = Machine::here().locate(directory)?.filesystem;
    Ok(room_of(filesystem.bytes.unwrap_or(0), filesystem.free_bytes.unwrap_or(0)))
}

fn room_of(total_bytes: u64, free_bytes: u64) -> u64 {
    whole_mib(free_bytes.saturating_sub(kept_free(total_bytes)))
}

/// A number of bytes, rounded down to whole MiB.
pub(crate) fn whole_mib(bytes: u64) -> u64 {
    bytes - bytes % MIB
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In bytes, so that the constants of this file do not matter.
    #[test]
    fn a_tenth_stays_free_but_64_mib_to_8_gib() {
        assert_eq!(kept_free(271_000_000_000), 8_589_934_592);
        assert_eq!(kept_free(85_899_345_921), 8_589_934_592, "a tenth, rounded up, is more");
        assert_eq!(kept_free(85_899_345_911), 8_589_934_592, "a tenth, rounded up");
        assert_eq!(kept_free(85_899_345_910), 8_589_934_591);
        assert_eq!(kept_free(9_000_000_001), 900_000_001);
        assert_eq!(kept_free(671_088_640), 67_108_864);
        assert_eq!(kept_free(671_088_641), 67_108_865);
        assert_eq!(kept_free(32 * MIB), 67_108_864);
        assert_eq!(kept_free(0), 67_108_864);
        assert_eq!(kept_free(u64::MAX), 8_589_934_592);
    }

    #[test]
    fn room_is_in_whole_mib_and_never_negative() {
        let free = |free| room_of(10_000_000_000, free);
        assert_eq!(free(1_000_000_000 + 1_048_576), 1_048_576);
        assert_eq!(free(1_000_000_000 + 1_048_575), 0);
        assert_eq!(free(999_999_999), 0);
        assert_eq!(room_of(271_000_000_000, 24_000_000_000), 15_409_872_896);
    }
}
