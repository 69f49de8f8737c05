//! Partition tables, on systems other than Linux: none is read or written there, not even that of a
//! virtual drive, because the code is that of real drives.

pub(crate) mod finished {
    use script::Session;

    use crate::error::{LabError, Result};

    /// Maximum bytes that [`finish`] writes to a drive.
    pub(crate) fn written_max(_bytes: u64) -> u64 {
        0
    }

    /// Partitions a drive: refused.
    pub(crate) fn finish(
        _session: &mut Session<'_>,
        _layout: &str,
        _size: (u64, u32),
    ) -> Result<Vec<(&'static str, u64)>> {
        Err(LabError::needs_linux())
    }
}
