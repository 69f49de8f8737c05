//! Finds the best available backend by trying each.

use std::fs::File;

use record::{Finding, FindingKind, Level};
use rig::{BackendKind, Result, RigError};
use workload::Calls;

use crate::backend::{Aio, Files};
use crate::clock::Clock;
use crate::sys;
use crate::sys::arena::Arena;

/// The backend for a workload's calls: plain calls and stream calls are synchronous.
pub(crate) fn making(kind: BackendKind, calls: Calls) -> BackendKind {
    match (kind, calls) {
        (BackendKind::Null | BackendKind::Nvme, _) | (_, Calls::Best) => kind,
        (_, Calls::Plain | Calls::Bytes { .. }) => BackendKind::Psync,
    }
}

/// Checks that io_uring is available. It can be disabled for everyone or for this user.
pub(crate) fn uring() -> Result<()> {
    let refused = |why| {
        RigError::usage(format!("io_uring is not available: {why}"), "--backend aio, or psync")
    };
    sys::ring::make(1).map(drop).map_err(refused)
}

/// The best backend that works for `file`, with a finding if it is not io_uring.
pub(crate) fn best(file: &File, clock: Clock) -> (BackendKind, Option<Finding>) {
    let Err(why) = sys::ring::make(1) else {
        return (BackendKind::Uring, None);
    };
    let arena = Arena::new(1, 4096);
    let context = arena
        .and_then(|arena| Aio::new(clock, Files::new(&[file], 63, false), arena, None).map(drop));
    let kind = if context.is_ok() { BackendKind::Aio } else { BackendKind::Psync };
    let text = format!("io_uring is not available ({why}): {} is used", kind.name());
    (kind, Some(Finding::new(FindingKind::BackendFallback, Level::Note, text)))
}
