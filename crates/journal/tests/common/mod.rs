//! The drive of the tests of journals.

use drive::DriveKey;

/// A drive of so many bytes.
pub fn key(bytes: u64) -> DriveKey {
    DriveKey {
        path: "/dev/sdx".into(),
        model: None,
        serial: Some("S1".into()),
        disk_bytes: bytes,
        start: None,
        bytes,
        backing_file: None,
    }
}
