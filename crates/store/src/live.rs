//! The series of a run that goes on: points are gathered for a second, then written as a piece.
//!
//! Written one by one, 1,000 points a second would be 1,000 transactions in the middle of a
//! measurement, maybe on the very disk that is measured. What a kill can cost is that second.

use std::time::{Duration, Instant};

use record::{Series, Unit};

/// How long points may wait before they are written.
const PATIENCE: Duration = Duration::from_secs(1);

/// One interval of a workload; the fields are those of [`Series`] and [`Series::push`].
#[derive(Clone, Copy, Debug)]
pub struct Point<'a> {
    /// The workload.
    pub workload: &'a str,
    /// Which execution of it within the run, from 0.
    pub replicate: u32,
    /// When the workload began, in nanoseconds since the run began.
    pub start_ns: u64,
    /// End of the interval, in nanoseconds since the workload began.
    pub t_ns: u64,
    /// What was seen: name of the column, unit, value.
    pub values: &'a [(&'a str, Unit, Option<f64>)],
}

/// What of a run's series is not written yet.
#[derive(Debug, Default)]
pub(crate) struct Live {
    /// One entry for each series of the run so far, in the order they began; those without points
    /// have nothing waiting.
    waiting: Vec<Series>,
    since: Option<Instant>,
}

impl Live {
    /// Adds a point; true when it is time to write.
    pub fn push(&mut self, point: &Point<'_>) -> bool {
        let same = |s: &Series| s.name == point.workload && s.replicate == point.replicate;
        // The latest series is almost always the one.
        let index = self.waiting.iter().rposition(same).unwrap_or_else(|| {
            self.waiting.push(Series::new(point.workload, point.replicate, point.start_ns));
            self.waiting.len() - 1
        });
        self.waiting[index].push(point.t_ns, point.values);
        self.since.get_or_insert_with(Instant::now).elapsed() >= PATIENCE
    }

    /// The pieces that wait, each with the position of its series.
    pub fn pieces(&self) -> impl Iterator<Item = (usize, &Series)> {
        self.waiting.iter().enumerate().filter(|(_, series)| !series.t_ns.is_empty())
    }

    /// Everything that waited was written.
    pub fn written(&mut self) {
        for series in &mut self.waiting {
            series.t_ns.clear();
            series.columns.clear();
        }
        self.since = None;
    }

    /// Nothing could be written: keeps the points and waits before it is tried again.
    pub fn postponed(&mut self) {
        self.since = Some(Instant::now());
    }
}
