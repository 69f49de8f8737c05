//! Series of a run in progress: points are collected for a second, then written as one piece.
//!
//! Written individually, 1,000 points per second would be 1,000 transactions in the middle of a
//! measurement, possibly on the drive under test. A kill loses at most that second.

use std::time::{Duration, Instant};

use record::{Series, Unit};

/// Maximum age of points before they are written.
const PATIENCE: Duration = Duration::from_secs(1);

/// One interval of a workload; the fields are those of [`Series`] and [`Series::push`].
#[derive(Clone, Copy, Debug)]
pub struct Point<'a> {
    pub workload: &'a str,
    /// Number of the repetition within the run, from 0.
    pub replicate: u32,
    /// Start of the workload, in nanoseconds since the run began.
    pub start_ns: u64,
    /// End of the interval, in nanoseconds since the workload began.
    pub t_ns: u64,
    /// Observed values: column name, unit, value.
    pub values: &'a [(&'a str, Unit, Option<f64>)],
}

/// The unwritten part of a run's series.
#[derive(Debug, Default)]
pub(crate) struct Live {
    /// One entry per series of the run so far, in order of their start. Entries without points have
    /// nothing to write.
    waiting: Vec<Series>,
    since: Option<Instant>,
}

impl Live {
    /// Adds a point; returns whether a write is due.
    pub fn push(&mut self, point: &Point<'_>) -> bool {
        // Usually the latest series.
        let index = self
            .waiting
            .iter()
            .rposition(|s| s.name == point.workload && s.replicate == point.replicate)
            .unwrap_or_else(|| {
                self.waiting.push(Series::new(point.workload, point.replicate, point.start_ns));
                self.waiting.len() - 1
            });
        self.waiting[index].push(point.t_ns, point.values);
        self.since.get_or_insert_with(Instant::now).elapsed() >= PATIENCE
    }

    /// The waiting pieces, each with the position of its series.
    pub fn pieces(&self) -> impl Iterator<Item = (usize, &Series)> {
        self.waiting.iter().enumerate().filter(|(_, series)| !series.t_ns.is_empty())
    }

    /// Clears the pieces after they were written.
    pub fn written(&mut self) {
        for series in &mut self.waiting {
            series.t_ns.clear();
            series.columns.clear();
        }
        self.since = None;
    }

    /// Keeps the points after a failed write and delays the next attempt.
    pub fn postponed(&mut self) {
        self.since = Some(Instant::now());
    }
}
