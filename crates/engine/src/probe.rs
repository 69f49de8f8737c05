//! The backend for a workload's calls, and whether the kernel offers io_uring.

use rig::{BackendKind, Result, RigError, RingFeatures};
use workload::Calls;

use crate::sys;

/// The backend for a workload's calls: plain calls and stream calls are synchronous.
pub(crate) fn making(kind: BackendKind, calls: Calls) -> BackendKind {
    match (kind, calls) {
        (BackendKind::Null | BackendKind::Nvme, _) | (_, Calls::Best) => kind,
        (_, Calls::Plain | Calls::Bytes { .. }) => BackendKind::Psync,
    }
}

/// Checks that io_uring is available. It can be disabled for everyone or for this user.
pub(crate) fn uring() -> Result<()> {
    sys::ring::make(1, RingFeatures::default()).map(drop).map_err(|why| {
        RigError::usage(format!("io_uring is not available: {why}"), "--backend aio, or psync")
    })
}
