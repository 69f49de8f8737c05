//! The traffic of all queue pairs of a drive, which the kernel does not count.
//!
//! Queue pairs add their counts of completed commands to it.

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

/// Counts of one queue pair since it last added them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Turn {
    pub read: u64,
    pub written: u64,
    pub discarded: u64,
    /// Time with commands in flight, nanoseconds.
    pub busy_ns: u64,
    /// That time multiplied by the number of commands, nanoseconds.
    pub weighted_ns: u64,
}

impl Traffic {
    /// Adds the counts of one queue pair.
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

    /// The counts, with the given temperature. The busy times of several queue pairs are added up.
    pub(crate) fn sample(&self, temperature_c: Option<f64>) -> Sample {
        Sample {
            read_bytes: self.read.load(Relaxed),
            written_bytes: self.written.load(Relaxed),
            discarded_bytes: self.discarded.load(Relaxed),
            busy_ms: self.busy_ns.load(Relaxed) / 1_000_000,
            weighted_ms: self.weighted_ns.load(Relaxed) / 1_000_000,
            in_flight: 0,
            requests: Default::default(),
            layer: None,
            temperature_c,
        }
    }
}
