//! Which backend this machine can have, found by trying.

use std::fs::File;
use std::str::FromStr;

use record::{Finding, FindingKind, Level};
use workload::Calls;

use crate::backend::Aio;
use crate::clock::Clock;
use crate::files::Files;
use crate::sys;
use crate::sys::arena::Arena;

/// A way to issue I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackendKind {
    /// io_uring.
    Uring,
    /// Linux AIO.
    Aio,
    /// Synchronous `pread` and `pwrite`.
    Psync,
    /// Files mapped into memory.
    Mmap,
    /// Nothing: measures the instrument.
    Null,
}

impl BackendKind {
    /// Every kind that is asked for by its word, best first.
    pub const ALL: [BackendKind; 4] =
        [BackendKind::Uring, BackendKind::Aio, BackendKind::Psync, BackendKind::Null];

    /// The word used on the command line and in records.
    pub fn name(self) -> &'static str {
        match self {
            BackendKind::Uring => "uring",
            BackendKind::Aio => "aio",
            BackendKind::Psync => "psync",
            BackendKind::Mmap => "mmap",
            BackendKind::Null => "null",
        }
    }

    /// The one that makes a workload's calls: plain calls and those of streams are synchronous.
    pub(crate) fn making(self, calls: Calls) -> BackendKind {
        match (self, calls) {
            (BackendKind::Null, _) | (_, Calls::Best) => self,
            (_, Calls::Plain | Calls::Bytes { .. }) => BackendKind::Psync,
        }
    }
}

impl FromStr for BackendKind {
    type Err = String;

    fn from_str(text: &str) -> Result<BackendKind, String> {
        let found = BackendKind::ALL.into_iter().find(|k| k.name() == text);
        found.ok_or_else(|| format!("backend '{text}' is none of uring, aio, psync, null"))
    }
}

/// The best backend that works for `file`, and a finding when it is not io_uring.
pub(crate) fn best(file: &File, clock: Clock) -> (BackendKind, Option<Finding>) {
    let Err(why) = sys::ring::make(1) else {
        return (BackendKind::Uring, None);
    };
    let arena = Arena::new(1, 4096);
    let context = arena.and_then(|arena| Aio::new(clock, Files::one(file), arena, None).map(drop));
    let kind = if context.is_ok() { BackendKind::Aio } else { BackendKind::Psync };
    let text = format!("io_uring is not to be had here ({why}): {} is used", kind.name());
    (kind, Some(Finding::new(FindingKind::BackendFallback, Level::Note, text)))
}
