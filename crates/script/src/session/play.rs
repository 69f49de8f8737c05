//! Workloads with external operations, such as specifications in another tool's language.

use rig::{Issue, Job, Measurement, Performance, Stage};
use workload::{Source, Workload};

use super::Session;
use crate::Result;
use rules::Digest;

/// A workload, and the source of each of its jobs.
pub type Part = (Workload, Vec<Box<dyn Source>>);

impl Session<'_> {
    /// [`Session::measure`] with operations from external sources, for workloads that run at the
    /// same time, at least one. Returns one measurement of all of them, reported under the name of
    /// the first.
    pub fn play(&mut self, parts: Vec<Part>, replicate: u32) -> Result<Measurement> {
        Ok(self.perform(parts, replicate, Stage::default())?.whole)
    }

    /// The same, with everything that the stage asks for. An observer of the stage also sees every
    /// operation.
    pub fn perform(
        &mut self,
        parts: Vec<Part>,
        replicate: u32,
        stage: Stage<'_>,
    ) -> Result<Performance> {
        let (workloads, sources): (Vec<Workload>, Vec<_>) = parts.into_iter().unzip();
        let limited = workloads.iter().map(|w| self.limited(w));
        let limited = limited.collect::<Result<Vec<Workload>>>()?;
        let first = &workloads[0];
        self.step(&first.name, replicate);
        limited.iter().for_each(|w| self.out.issued(w));
        self.mark_written(workloads.iter().any(|w| w.mix.changes_data()));
        let issue = Issue { log: stage.intervals.is_some(), ..Issue::default() };
        let jobs = limited.iter().zip(sources).map(|(w, sources)| Job {
            sources,
            issue: issue.clone(),
            ..Job::from_workload(w)
        });
        let mut performance = self.rig().perform(jobs.collect(), stage)?;
        let measurement = std::mem::take(&mut performance.whole);
        // A plan spends the bound of each workload, a run the sum that was measured.
        let spent = if self.plans() { &limited[..] } else { &limited[..1] };
        spent.iter().for_each(|w| self.spend(w, &measurement));
        // Rules know single workloads.
        if let ([only], false) = (&workloads[..], self.plans()) {
            self.digests.push(Digest::from_measurement(only, &measurement));
        }
        performance.whole = self.report(first, replicate, measurement)?;
        Ok(performance)
    }
}
