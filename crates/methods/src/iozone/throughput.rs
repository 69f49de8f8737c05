//! iozone's throughput mode: several processes at once, each on its own part of the target.
//!
//! The tool stops all processes when the first has ended; here each transfers its whole file, as
//! with the tool's `-x`, so that every rate is measured over a whole file.

use record::{MetricKey, Statistic, Unit};
use rig::{IntervalObserver, Performance, Preparation, Stage};
use workload::{OpStream, Source};

use super::latencies::Watch;
use super::spec::{IozoneFigure, Row};
use super::{Run, drop_caches, fill, rate};
use script::{Result, Session};

/// Measures every number of processes on every row.
pub(super) fn run(session: &mut Session<'_>, run: &Run) -> Result<()> {
    for processes in &run.spec.processes {
        for row in &run.spec.rows {
            if run.fills() {
                fill(session, row.bytes_of_all(*processes), run.seed)?;
            }
            let figures = run.spec.throughput_figures().into_iter();
            for figure in figures.filter(|f| run.test_region.writes || !f.writes()) {
                measure(session, run, *row, *processes, figure)?;
                session.checkpoint();
            }
        }
    }
    Ok(())
}

fn measure(
    session: &mut Session<'_>,
    run: &Run,
    row: Row,
    processes: u32,
    figure: IozoneFigure,
) -> Result<()> {
    if figure == IozoneFigure::Write && run.test_region.writes {
        session.apply(Preparation::Empty)?;
    }
    let shares = run.spec.shares(row, processes, figure, run.seed);
    if run.spec.drops {
        drop_caches(session, &shares[0], row.bytes_of_all(processes))?;
    }
    let parts = shares.into_iter().map(|w| {
        let source: Box<dyn Source> = Box::new(OpStream::new(&w, 0));
        (w, vec![source])
    });
    let parts = parts.collect();
    let mut watch = run.latencies.as_ref().map(|_| Watch::new(processes));
    let intervals = watch.as_mut().map(|watch| watch as &mut dyn IntervalObserver);
    let stage = Stage { by_job: true, intervals, ..Stage::default() };
    let performance = session.perform(parts, 0, stage)?;
    if let (Some(latencies), Some(watch)) = (&run.latencies, watch) {
        latencies.keep(watch.trials(row, figure, &performance));
    }
    put(session, &row.throughput_metric(processes, figure), &performance);
    Ok(())
}

fn put(session: &mut Session<'_>, key: &MetricKey, performance: &Performance) {
    let rates: Vec<f64> = performance.jobs.iter().map(|job| rate(&job.measurement)).collect();
    session.put_value(key.clone(), Unit::BytesPerSecond, Some(rates.iter().sum()));
    let figures = [
        (Statistic::Throughput, rate(&performance.whole)),
        (Statistic::Lowest, rates.iter().copied().fold(f64::INFINITY, f64::min)),
        (Statistic::Highest, rates.iter().copied().fold(0.0, f64::max)),
    ];
    for (statistic, rate) in figures {
        session.put_value(key.clone().with(statistic), Unit::BytesPerSecond, Some(rate));
    }
}
