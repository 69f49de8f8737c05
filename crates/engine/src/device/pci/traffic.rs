//! The traffic of all queue pairs of a drive: no kernel counts it here.
//!
//! A queue pair adds to it once a turn. Everything is that of completed commands.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use drive::Sample;

/// Counts since the drive was opened.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    read: AtomicU64,
    written: AtomicU64,
    discarded: AtomicU64,
    busy_ns: AtomicU64,
    weighted_ns: AtomicU64,
}

/// Counts of one queue pair since its last turn.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Turn {
    pub read: u64,
    pub written: u64,
    pub discarded: u64,
    /// Time with commands in flight, and that time multiplied by their number; nanoseconds.
    pub busy_ns: u64,
    pub weighted_ns: u64,
}

impl Traffic {
    /// Adds a turn.
    #[inline]
    pub(crate) fn add(&self, turn: Turn) {
        let add = |to: &AtomicU64, count: u64| {
            if count > 0 {
                to.fetch_add(count, Relaxed);
            }
        };
        add(&self.read, turn.read);
        add(&self.written, turn.written);
        add(&self.discarded, turn.discarded);
        add(&self.busy_ns, turn.busy_ns);
        add(&self.weighted_ns, turn.weighted_ns);
    }

    /// The counts, with this temperature. Of several queue pairs, busy times are added up.
    pub(crate) fn sample(&self, temperature_c: Option<f64>) -> Sample {
        let of = |count: &AtomicU64| count.load(Relaxed);
        Sample {
            read_bytes: of(&self.read),
            written_bytes: of(&self.written),
            discarded_bytes: of(&self.discarded),
            busy_ms: of(&self.busy_ns) / 1_000_000,
            weighted_ms: of(&self.weighted_ns) / 1_000_000,
            in_flight: 0,
            temperature_c,
        }
    }
}
