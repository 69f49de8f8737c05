//! Runs an experiment on its virtual drive: the steps in order, with one record for all of them.

use record::{Health, Metric, Unit};
use rig::{BlockWay, Preparation, TargetInfo};
use script::{Bulk, Options, Outcome, Session};
use workload::{Region, Workload, units};

use super::document::{Experiment, ExperimentStep};
use crate::error::{LabError, Result};
use crate::io::ReadIo;
use crate::partition::finished;
use crate::virtual_drive::PREFIX;
use crate::work::{self, REPLICATE, Work};

impl Experiment {
    /// The target to run on: the drive as fitted, without variation.
    pub fn target(&self) -> String {
        let separator = if self.drive.contains('?') { '&' } else { '?' };
        format!("{PREFIX}{}{separator}vary=0", self.drive)
    }

    /// The options of its method. Fails if the method does not declare an option.
    pub fn options(&self) -> Result<Options> {
        let size = self.options.get("size").map(|text| units::parse_bytes(text)).transpose();
        let size = size.map_err(|e| LabError::usage(format!("experiment {}: {e}", self.id)))?;
        let declared = self.options.iter().filter(|(name, _)| *name != "size");
        let typed = declared.map(|(name, words)| {
            (name.clone(), words.split_whitespace().map(str::to_string).collect())
        });
        let typed: Vec<_> = typed.collect();
        work::options(self.method.as_slice(), &typed, Options { size, ..Options::default() })
    }
}

impl<'a> Work<'a> {
    /// An experiment: its method with `options`, or its steps.
    pub fn experiment(
        experiment: &'a Experiment,
        read_io: ReadIo<'a>,
        options: &'a Options,
    ) -> Result<Work<'a>> {
        match &experiment.method {
            Some(name) => Work::method(name, options),
            None => {
                let steps = Steps { experiment, read_io };
                Ok(Work::new(&REPLICATE, move |session| steps.run(session)))
            }
        }
    }
}

/// The steps of an experiment as one run.
struct Steps<'a> {
    experiment: &'a Experiment,
    read_io: ReadIo<'a>,
}

impl Steps<'_> {
    /// Runs the steps without conclusions, because no rule covers a series of steps.
    fn run(&self, session: &mut Session<'_>) -> Result<()> {
        session.conclude(Vec::new());
        self.experiment.steps.iter().try_for_each(|step| {
            self.step(step, session)?;
            session.checkpoint();
            Ok(())
        })
    }

    fn step(&self, step: &ExperimentStep, session: &mut Session<'_>) -> Result<()> {
        match step {
            ExperimentStep::Idle { idle } => {
                let time = units::parse_duration(idle).map_err(LabError::usage)?;
                session.rest("idle", time.as_secs_f64())?;
            }
            ExperimentStep::Discard { discard, size } => {
                let size = size.as_deref().map(units::parse_bytes).transpose();
                let bytes = size.map_err(LabError::usage)?.unwrap_or(u64::MAX);
                let region = Region::first(bytes.min(session.target().bytes));
                let discarded = session.prepare(discard, Preparation::Discard { region })?;
                let (name, ns) = (format!("{discard}.time"), discarded.elapsed_ns as f64);
                session.put_metric(Metric::single(name, Unit::Nanoseconds, ns));
            }
            ExperimentStep::Partition { name, partition } => {
                session.step(name, 0);
                let size = (session.target().bytes, session.target().logical_block_bytes);
                let region = Region::first(size.0);
                let bytes = finished::written_max(size.0);
                let bulk = [Bulk::new(BlockWay::Write, region, bytes)];
                // An error of the partitioning passes through as a result.
                let volumes = session.transfer(name, &bulk, |session| {
                    Ok(finished::finish(session, partition, size))
                })?;
                let volumes = volumes.transpose()?;
                for (purpose, bytes) in volumes.unwrap_or_default() {
                    let name = format!("{name}.{purpose}");
                    session.put_metric(Metric::single(name, Unit::Bytes, bytes as f64));
                }
            }
            ExperimentStep::Io { name, io } => {
                let workload = self.workload(name, io, session.target())?;
                let before = session.health();
                let (part, ended) = session.apart(|part| methods::by_hand(part, &workload));
                add(name, part, session.outcome_mut());
                ended?;
                let after = session.health();
                for metric in before.zip(after).iter().flat_map(|(a, b)| health(name, a, b)) {
                    session.put_metric(metric);
                }
            }
        }
        Ok(())
    }

    /// The workload of a step.
    fn workload(&self, name: &str, words: &str, info: &TargetInfo) -> Result<Workload> {
        let io = (self.read_io)(words).map_err(|e| {
            LabError::usage(format!("experiment {}, step {name}: {e}", self.experiment.id))
        })?;
        Ok(Workload { name: name.to_string(), ..io.workload(info)? })
    }
}

/// What the drive's own counters say about a step: `NAME.flash-written`, bytes programmed for any
/// reason, and `NAME.temperature` at its end.
fn health(step: &str, before: &Health, after: &Health) -> impl Iterator<Item = Metric> {
    let programmed = before.flash_written_bytes.zip(after.flash_written_bytes);
    let programmed = programmed.map(|(before, after)| after.saturating_sub(before) as f64);
    let metrics = [
        ("flash-written", Unit::Bytes, programmed),
        ("temperature", Unit::Celsius, after.temperature_c),
    ];
    let names = step.to_string();
    metrics.into_iter().filter_map(move |(name, unit, value)| {
        Some(Metric::single(format!("{names}.{name}"), unit, value?))
    })
}

/// Adds the outcome of a step, with the step's name as a prefix of its metrics.
fn add(step: &str, part: Outcome, out: &mut Outcome) {
    let metrics = part.metrics.into_iter();
    out.metrics.extend(metrics.map(|m| Metric { name: m.key().within(step).to_string(), ..m }));
    out.series.extend(part.series);
    out.latencies.extend(part.latencies);
    out.errors.extend(part.errors);
    out.workloads.extend(part.workloads);
    for warning in part.warnings {
        if !out.warnings.contains(&warning) {
            out.warnings.push(warning);
        }
    }
    out.state_after = part.state_after;
}
