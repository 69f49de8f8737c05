//! A subject: one workload with all its replicates, the unit that rules judge.
//!
//! A rule never judges by a single replicate, which a cache or other work on the machine can
//! distort. Rates are medians over the replicates; shares are taken over their total time.

use record::MetricKey;
use rig::TimeSplit;

use crate::Digest;

/// All replicates of one workload, at least one, in order of execution.
#[derive(Clone, Debug)]
pub struct Subject<'a> {
    runs: Vec<&'a Digest>,
}

impl<'a> Subject<'a> {
    /// The reported workloads, in order of first execution.
    pub fn reported(seen: &'a [Digest]) -> Vec<Subject<'a>> {
        grouped(Digest::reported(seen))
    }

    /// All workloads, including those measured only for a rule.
    pub fn all(seen: &'a [Digest]) -> Vec<Subject<'a>> {
        grouped(seen.iter())
    }

    /// The first replicate. All replicates have the same workload and depth.
    pub fn first(&self) -> &'a Digest {
        self.runs[0]
    }

    /// All replicates.
    pub fn runs(&self) -> impl Iterator<Item = &'a Digest> + '_ {
        self.runs.iter().copied()
    }

    /// The workload's name.
    pub fn name(&self) -> &'a str {
        &self.first().name
    }

    /// The workload in words, for sentences.
    pub fn in_words(&self) -> String {
        if self.first().is_run() {
            "this workload".to_string()
        } else {
            MetricKey::parse(self.name()).in_words()
        }
    }

    /// The keys of its metrics.
    pub fn metrics(&self) -> &'a [String] {
        &self.first().metrics
    }

    /// Median throughput of the faster direction, bytes per second; 0 if nothing was transferred.
    pub fn throughput(&self) -> f64 {
        self.median(Digest::throughput)
    }

    /// Median operations per second, reads and writes together; 0 if none completed.
    pub fn iops(&self) -> f64 {
        self.median(|run| (run.ops[0] + run.ops[1]) as f64 / run.seconds.max(1e-9))
    }

    /// Total operations over total time, as the reported figure is computed.
    pub fn rate(&self) -> f64 {
        self.sum(|run| (run.ops[0] + run.ops[1]) as f64) / self.seconds().max(1e-9)
    }

    /// The share of its time that these seconds of its replicates take.
    pub fn share_of_time(&self, seconds: impl Fn(&Digest) -> f64) -> f64 {
        self.sum(seconds) / self.seconds().max(1e-9)
    }

    /// Where the time of its reads and writes went, if that is known of most of them.
    pub fn split(&self) -> Option<TimeSplit> {
        let mut sum = TimeSplit::default();
        self.runs().flat_map(|run| run.splits.iter().flatten()).for_each(|split| sum.add(split));
        let ops = self.sum(|run| (run.ops[0] + run.ops[1]) as f64);
        (sum.ops > 0 && sum.ops as f64 > 0.5 * ops).then_some(sum)
    }

    /// Sum over all replicates.
    pub fn sum(&self, of: impl Fn(&Digest) -> f64) -> f64 {
        self.runs().map(of).sum()
    }

    /// Total time of all replicates, seconds.
    pub fn seconds(&self) -> f64 {
        self.sum(|run| run.seconds)
    }

    /// Median over the replicates.
    pub fn median(&self, of: impl Fn(&Digest) -> f64) -> f64 {
        let values: Vec<f64> = self.runs().map(of).collect();
        analysis::medians(&values, 1).pop().unwrap_or(0.0)
    }

    /// Mean over the replicates, weighted by their time.
    pub fn mean(&self, of: impl Fn(&Digest) -> f64) -> f64 {
        let seconds = self.seconds();
        if seconds > 0.0 { self.sum(|run| of(run) * run.seconds) / seconds } else { 0.0 }
    }
}

fn grouped<'a>(seen: impl Iterator<Item = &'a Digest>) -> Vec<Subject<'a>> {
    let mut subjects: Vec<Subject<'a>> = Vec::new();
    for digest in seen {
        match subjects.iter_mut().find(|subject| subject.name() == digest.name) {
            Some(known) => known.runs.push(digest),
            None => subjects.push(Subject { runs: vec![digest] }),
        }
    }
    subjects
}

/// Lists up to three workloads in words; of more, two and the number of the others.
pub fn listed<'s, 'a: 's>(subjects: impl IntoIterator<Item = &'s Subject<'a>>) -> String {
    let names: Vec<String> = subjects.into_iter().map(Subject::in_words).collect();
    match &names[..] {
        [] => String::new(),
        [one] => one.to_string(),
        [all @ .., last] if names.len() <= 3 => format!("{} and {last}", all.join(", ")),
        [a, b, rest @ ..] => format!("{a}, {b} and {} others", rest.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::digest;
    use super::*;

    #[test]
    fn replicates_form_one_subject_and_their_median_is_its_rate() {
        let run = |name: &str, bytes| Digest { bytes: [bytes, 0], ..digest(name) };
        let probe = Digest { probe: true, ..run("probe", 9) };
        let seen = [run("a", 100), run("b", 7), run("a", 900), run("a", 200), probe];
        let subjects = Subject::reported(&seen);
        assert_eq!(subjects.iter().map(Subject::name).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!((subjects[0].throughput(), subjects[0].seconds()), (200.0, 3.0));
        assert_eq!(Subject::all(&seen).len(), 3);
        let names = ["a", "b", "c", "d"].map(digest);
        let subjects = Subject::reported(&names);
        let words = (0..=4).map(|n| listed(&subjects[..n])).collect::<Vec<_>>();
        assert_eq!(words, ["", "a", "a and b", "a, b and c", "a, b and 2 others"]);
    }
}
