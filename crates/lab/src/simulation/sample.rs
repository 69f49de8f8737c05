//! The first operations of a workload, which stand for all of it, and what its writes cost the dies.

use record::Series;
use rig::{KindStats, Measurement};

/// The first operations of a workload.
#[derive(Clone)]
pub(super) struct WorkloadSample {
    pub measurement: Measurement,
    pub ops: f64,
    /// Processor time that it took, seconds.
    pub seconds: f64,
    /// Work that the dies completed in it, nanoseconds.
    pub work_ns: f64,
}

impl WorkloadSample {
    /// Share of the time of so many dies that their work takes.
    pub fn busy(&self, dies: f64) -> f64 {
        self.work_ns / (dies * self.measurement.elapsed_ns.max(1) as f64)
    }

    /// Gives the sample the time that its writes take if so many bytes of them cost what writes do lately.
    /// Superblocks are collected in lumps, and a sample has more or less of one.
    pub fn correct_time(&mut self, dies: f64, bytes: f64, cost: WriteCost) {
        let expected_busy = cost.work * bytes / (dies * self.measurement.elapsed_ns.max(1) as f64);
        let factor = 1.0 - cost.busy.min(1.0) + expected_busy;
        self.measurement.elapsed_ns = scaled(self.measurement.elapsed_ns, factor);
        self.measurement.series.t_ns.iter_mut().for_each(|t_ns| *t_ns = scaled(*t_ns, factor));
    }
}

/// What writes cost the dies lately.
#[derive(Clone, Copy)]
pub(super) struct WriteCost {
    /// Work for each byte, nanoseconds.
    pub work: f64,
    /// Share of the time in which dies are busy: a mean, because it differs from sample to sample.
    pub busy: f64,
}

pub(super) fn ops(m: &Measurement) -> f64 {
    m.kinds.iter().flatten().map(|kind| kind.ops as f64).sum()
}

pub(super) fn scaled(count: u64, times: f64) -> u64 {
    (count as f64 * times) as u64
}

/// Adds a sample that stands for so many of its length.
pub(super) fn append(whole: &mut Measurement, sample: &Measurement, times: f64) {
    for (mine, kind) in whole.kinds.iter_mut().zip(&sample.kinds) {
        let Some(kind) = kind else { continue };
        let kind = KindStats {
            ops: scaled(kind.ops, times),
            bytes: scaled(kind.bytes, times),
            ..kind.clone()
        };
        mine.get_or_insert_with(KindStats::default).merge(&kind);
    }
    let begin_ns = whole.elapsed_ns;
    if whole.series.t_ns.is_empty() {
        let Series { name, replicate, start_ns, .. } = &sample.series;
        whole.series = Series::new(name.clone(), *replicate, *start_ns);
    }
    for (row, t_ns) in sample.series.t_ns.iter().enumerate() {
        let columns = sample.series.columns.iter();
        let values: Vec<_> = columns
            .map(|column| (&*column.name, column.unit, column.values.get(row).copied().flatten()))
            .collect();
        whole.series.push(begin_ns + scaled(*t_ns, times), &values);
    }
    whole.elapsed_ns += scaled(sample.elapsed_ns, times);
    whole.effective_depth = sample.effective_depth;
    whole.temperature = sample.temperature;
    whole.direct = sample.direct;
    whole.errors.extend(sample.errors.iter().cloned());
    whole.stop = sample.stop;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_with_more_collection_than_usual_is_given_less_time() {
        let sample = |elapsed_ns: u64| WorkloadSample {
            measurement: Measurement { elapsed_ns, ..Measurement::default() },
            ops: 1000.0,
            seconds: 0.0,
            work_ns: 4.0 * elapsed_ns as f64,
        };
        // Four dies that are always busy with two nanoseconds of work for each byte.
        let cost = WriteCost { work: 2.0, busy: sample(1).busy(4.0) };
        for elapsed_ns in [1_000_000, 2_048_000, 4_000_000] {
            let mut sample = sample(elapsed_ns);
            sample.correct_time(4.0, 4_096_000.0, cost);
            assert_eq!(sample.measurement.elapsed_ns, 2_048_000);
        }
        // What the host takes is left as it is, whatever the dies do beside it.
        let mut idle = sample(1_000_000);
        idle.correct_time(4.0, 4_096_000.0, WriteCost { work: 0.0, busy: 0.0 });
        assert_eq!(idle.measurement.elapsed_ns, 1_000_000);
    }
}
