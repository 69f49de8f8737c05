//! The calling thread, on systems other than Linux.

use rig::ThreadUsage;

/// Usage of the calling thread since it began: not known.
pub(crate) fn usage() -> ThreadUsage {
    ThreadUsage::default()
}
