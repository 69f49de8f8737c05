//! Workloads with external operations, such as a specification in another tool's language.

use rig::{Job, Measurement, Stage};
use workload::{Source, Workload};

use super::Session;
use crate::{Digest, MethodError};

impl Session<'_> {
    /// [`Session::measure`] with operations from external sources, one for each job of the
    /// workload.
    pub(crate) fn play(
        &mut self,
        w: &Workload,
        sources: Vec<Box<dyn Source>>,
        replicate: u32,
    ) -> Result<Measurement, MethodError> {
        let limited = self.limited(w)?;
        self.step(&w.name, replicate);
        self.out.issued(&limited);
        self.mark_written(w.mix.changes_data());
        let job = Job { sources, ..Job::of(&limited) };
        let measurement = self.rig().perform(vec![job], Stage::default())?.whole;
        self.spend(&limited, &measurement);
        if !self.plans() {
            self.digests.push(Digest::of(w, &measurement));
        }
        self.report(w, replicate, measurement)
    }
}
