//! The drive used by the journal tests.

use drive::DriveKey;

/// The key of a drive with this size.
pub fn key(bytes: u64) -> DriveKey {
    DriveKey {
        path: "/dev/sdx".into(),
        model: None,
        serial: Some("S1".into()),
        disk_bytes: bytes,
        start: None,
        bytes,
        backing_file: None,
        nsid: None,
    }
}
