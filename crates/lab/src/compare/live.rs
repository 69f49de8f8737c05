//! Measures two or more targets in turns until the differences from the first are clear: AB, BA, AB
//! ... or, of more than two, in the balanced order of [`turn`].
//!
//! Every run has its own record in the store. The result is evaluated after certain numbers of
//! pairs (see [`analysis::look`]). The comparison ends when every primary metric has its claim, at
//! the last look, after a first pair without a metric to test, or when the user stops it or a run
//! fails, with the result so far.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use analysis::{ClaimKind, LOOKS, Look, look, pairs_for};
use record::{MetricKey, Plan, Run};

use super::{
    LETTERS, Pair, Pairing, RunComparison, Side, WorkComparison, conditions, doubts,
    quantity_named, sentence,
};
use crate::Options;
use crate::beside::DRIVES_MAX;
use crate::error::{LabError, Result};
use crate::request::Request;
use crate::session::PlannedRun;
use crate::spread;
use crate::watcher::Watcher;
use crate::work::Work;

/// A comparison of targets with the first of them.
pub struct LiveComparison<'a> {
    /// A, B, and further ones.
    pub requests: Vec<Request>,
    /// The method that measures them.
    pub method: &'a str,
    /// Options of the method. Every run has its own I/O: the seed increases from run to run.
    pub options: Options,
    /// The metric to decide; `None` for all primary ones.
    pub metric: Option<&'a str>,
    /// The smallest relative difference to detect; `None` for the resolution of the last look.
    pub detect: Option<f64>,
}

/// The cost of a comparison, known before it begins.
#[derive(Clone, Debug)]
pub struct ComparisonCost {
    /// The plan of one run of each target.
    pub plans: Vec<Plan>,
    /// Minimum and maximum number of rounds: of pairs, if there are two targets.
    pub pairs: [u32; 2],
}

/// Observes a comparison.
pub trait Audience {
    /// A run begins: 0 is A, 1 is B.
    fn begins(&mut self, side: usize, round: u32, planned: &PlannedRun<'_>) -> Box<dyn Watcher>;

    /// The run has ended.
    fn ended(&mut self);
}

/// How a comparison ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Every metric has its claim.
    Decided,
    /// The last look has been taken.
    Exhausted,
    /// The user stopped it, a run failed, or no claim is possible.
    Stopped,
}

/// The result of a comparison.
pub struct Finished {
    /// The conclusion about each target but the first, with the claims of the last look.
    pub comparisons: Vec<RunComparison>,
    /// The runs of each target, as many as there were rounds.
    pub sides: Vec<Side>,
    /// How the comparison ended.
    pub ended: Ended,
    /// Why a run failed or no claim is possible, if so.
    pub failure: Option<LabError>,
}

impl LiveComparison<'_> {
    /// Checks both requests and returns the cost, without touching the targets.
    pub fn cost(&self) -> Result<ComparisonCost> {
        let work = Work::method(self.method, &self.options)?;
        if let Some(metric) = self.metric
            && work.info.declaration(&MetricKey::parse(metric)).is_none()
        {
            let text = format!("{} has no metric '{metric}'", self.method);
            return Err(LabError::usage(text).advise(format!("ssdyno methods {}", self.method)));
        }
        let count = self.requests.len();
        if !(2..=DRIVES_MAX).contains(&count) {
            let text = format!("2 to {DRIVES_MAX} targets can be measured in turns, not {count}");
            return Err(LabError::usage(text));
        }
        let hypervisor = crate::real::environment().hypervisor.is_some();
        let (mut plans, mut spread) = (Vec::new(), 0.0_f64);
        for request in &self.requests {
            let planned = request.plan(&work)?;
            spread = spread.max(spread::assumed(planned.target(), hypervisor));
            plans.push(planned.plan);
        }
        let rounds_max = self.pairs_max(spread)?;
        let pairs = [rounds_max.min(LOOKS[0] as u32), rounds_max];
        Ok(ComparisonCost { plans, pairs })
    }

    /// Maximum number of pairs, if runs vary by `spread`.
    fn pairs_max(&self, spread: f64) -> Result<u32> {
        let last_look = LOOKS[LOOKS.len() - 1] as u32;
        let Some(detect) = self.detect else { return Ok(last_look) };
        pairs_for(detect, spread).ok_or_else(|| {
            // Rounded: 0.07 * 100 is 7.000000000000001.
            let [detect, spread] = [detect, spread].map(|share| (share * 1e8).round() / 1e6);
            LabError::usage(format!(
                "{last_look} pairs cannot detect a difference of {detect}% if runs vary by \
                 {spread}%"
            ))
            .advise("a larger --detect, or none")
        })
    }

    /// Measures in turns until the result is clear or the last look is reached.
    pub fn run(
        &self,
        rounds_max: u32,
        interrupt: &Arc<AtomicBool>,
        audience: &mut dyn Audience,
    ) -> Result<Finished> {
        let count = self.requests.len();
        let mut sides = vec![Side::default(); count];
        for round in 0..rounds_max {
            let mut runs = vec![None; count];
            for side in turn(count, round) {
                match self.measure(side, round, interrupt, audience) {
                    Ok(run) => runs[side] = Some(run),
                    Err(failure) => return self.finish(sides, Ended::Stopped, Some(failure)),
                }
                if interrupt.load(Ordering::Relaxed) {
                    return self.finish(sides, Ended::Stopped, None);
                }
            }
            for (side, run) in sides.iter_mut().zip(runs) {
                side.runs.extend(run);
            }
            let rounds = round as usize + 1;
            let looks = self.look(&sides);
            if looks.iter().any(|looks| looks.looks.is_empty()) {
                return self.finish(sides, Ended::Stopped, Some(self.untestable()));
            }
            if LOOKS.contains(&rounds) && looks.iter().all(Looks::is_decided) {
                return self.finish(sides, Ended::Decided, None);
            }
        }
        self.finish(sides, Ended::Exhausted, None)
    }

    fn measure(
        &self,
        side: usize,
        round: u32,
        interrupt: &Arc<AtomicBool>,
        audience: &mut dyn Audience,
    ) -> Result<Run> {
        let number = u64::from(round) * self.requests.len() as u64 + side as u64;
        let seed = self.options.seed.wrapping_add(number);
        let options = Options { seed, ..self.options.clone() };
        let work = Work::method(self.method, &options)?;
        // Every run on a virtual drive gets a new session, like a run on a real drive.
        let mut request = self.requests[side].clone();
        request.instrument.seed = seed;
        let plan = request.plan(&work)?;
        let watcher = audience.begins(side, round, &plan);
        let recorded = plan.begin(watcher, interrupt)?.run(interrupt);
        audience.ended();
        recorded.ended?;
        recorded.kept?;
        Ok(recorded.run)
    }

    /// The error of a comparison whose first pair has no metric to test.
    fn untestable(&self) -> LabError {
        LabError::usage(match self.metric {
            Some(name) => {
                format!("no claim about '{name}': it was not measured, or read from memory")
            }
            None => "no claim: the runs share no metric, or all were read from memory".into(),
        })
    }

    /// The looks at each target but the first. All their metrics are one family.
    fn look(&self, sides: &[Side]) -> Vec<Looks> {
        let Some((a, candidates)) = sides.split_first() else { return Vec::new() };
        let pairings = candidates.iter().map(|b| {
            let Pairing { pairs, .. } = Pairing::new(a, b, self.metric);
            let primary = (0..pairs.len()).filter(|place| pairs[*place].primary);
            let primary: Vec<usize> = primary.collect();
            let values: Vec<_> = primary.iter().map(|place| pairs[*place].values(a, b)).collect();
            (pairs, primary, values)
        });
        let pairings: Vec<_> = pairings.collect();
        let family = pairings.iter().flat_map(|(_, _, values)| values.iter().cloned());
        let family: Vec<_> = family.collect();
        let mut looks = look(&family).into_iter();
        let pairings = pairings.into_iter().map(|(pairs, primary, _)| Looks {
            pairs,
            looks: primary.into_iter().zip(looks.by_ref()).collect(),
        });
        pairings.collect()
    }

    fn finish(
        &self,
        sides: Vec<Side>,
        ended: Ended,
        failure: Option<LabError>,
    ) -> Result<Finished> {
        // There is no claim before the first look or between looks.
        let is_open = !LOOKS.contains(&sides[0].runs.len());
        let looks = self.look(&sides).into_iter().zip(&sides[1..]);
        let comparisons = looks.map(|(looks, b)| concluded(looks, &sides[0], b, is_open)).collect();
        Ok(Finished { comparisons, sides, ended, failure })
    }
}

/// The conclusion about B from the looks at it.
fn concluded(looks: Looks, a: &Side, b: &Side, is_open: bool) -> RunComparison {
    let Looks { mut pairs, looks } = looks;
    for (place, look) in looks {
        pairs[place].see(look, is_open);
    }
    let work = WorkComparison::new(&a.runs, &b.runs);
    RunComparison {
        work_differs: work.unlike,
        work_unknown: work.unknown,
        sentence: if a.runs.is_empty() {
            "No pair of runs was completed.".into()
        } else {
            sentence::compose(&pairs, &[], None, LETTERS)
        },
        pairs,
        conditions_differ: conditions::differences(&a.runs, &b.runs),
        doubts: doubts(a, b),
        odd: Vec::new(),
        like_for_like: None,
    }
}

/// The order of a round, from 0: in every two rounds, each target is as often before another one as
/// after it. Rounds begin with different targets: of `n`, each of `2 n` rounds is in another order,
/// and in these each target follows each other one twice (the squares of Williams, Australian Journal
/// of Scientific Research A 2, 1949). Of two targets, the order is AB, BA, AB ...
fn turn(targets: usize, round: u32) -> Vec<usize> {
    let n = targets;
    let shift = round as usize / 2 % n.max(1);
    // 0, 1, n - 1, 2, n - 2 ...: all neighbours differ by another number.
    let zigzag = (0..n).map(|k| if k % 2 == 1 { k.div_ceil(2) } else { (n - k / 2) % n });
    let mut order: Vec<usize> = zigzag.map(|target| (target + shift) % n).collect();
    if n == 2 {
        order = vec![0, 1];
    }
    if !round.is_multiple_of(2) {
        order.reverse();
    }
    order
}

/// The pairs of both sides, with the look at each primary metric.
struct Looks {
    pairs: Vec<Pair>,
    looks: Vec<(usize, Option<Look>)>,
}

impl Looks {
    fn is_decided(&self) -> bool {
        let mut outcomes = self.looks.iter().map(|(_, look)| look.map(|look| look.outcome));
        !self.looks.is_empty()
            && outcomes.all(|outcome| outcome.is_some_and(|o| o != ClaimKind::Inconclusive))
    }
}

impl Pair {
    /// Its values in runs that were measured one after the other.
    fn values(&self, a: &Side, b: &Side) -> Vec<(f64, f64)> {
        assert_eq!(a.runs.len(), b.runs.len(), "a run without its other half");
        let name_b = self.name_b.as_ref().unwrap_or(&self.name);
        let runs = a.runs.iter().zip(&b.runs);
        let pairs =
            runs.filter_map(|(a, b)| quantity_named(a, &self.name).zip(quantity_named(b, name_b)));
        pairs.filter_map(|(a, b)| a.value.zip(b.value)).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::ErrorKind;
    use crate::unwatched::{Nobody, requests};

    impl Audience for Nobody {
        fn begins(&mut self, _: usize, _: u32, _: &PlannedRun<'_>) -> Box<dyn Watcher> {
            Box::new(Nobody)
        }

        fn ended(&mut self) {}
    }

    /// A comparison of two virtual cards.
    fn cards<'a>(metric: Option<&'a str>, store: &Path) -> LiveComparison<'a> {
        LiveComparison {
            requests: requests(&["sim:sd-class2", "sim:sd-150x"], store),
            method: "speed",
            options: Options::default(),
            metric,
            detect: None,
        }
    }

    #[test]
    fn a_metric_that_the_method_does_not_have_is_refused_before_the_first_run() {
        let place = tempfile::tempdir().expect("a directory");
        let store = place.path().join("runs");
        let error = cards(Some("sped-read"), &store).cost().expect_err("no such metric");
        assert_eq!(error.kind(), ErrorKind::Usage);
        assert_eq!(error.to_string(), "speed has no metric 'sped-read'");
        assert!(cards(Some("speed-read"), &store).cost().is_ok());
        assert!(!store.exists());
    }

    #[test]
    fn a_comparison_without_a_metric_to_test_ends_after_its_first_pair() {
        let place = tempfile::tempdir().expect("a directory");
        let live = cards(Some("speed-read-1B"), &place.path().join("runs"));
        let finished = live.run(24, &Arc::default(), &mut Nobody).expect("it ends");
        let counts: Vec<usize> = finished.sides.iter().map(|side| side.runs.len()).collect();
        assert_eq!(counts, [1, 1]);
        let failure = finished.failure.expect("nothing to test");
        assert_eq!((finished.ended, failure.kind()), (Ended::Stopped, ErrorKind::Usage));
    }

    #[test]
    fn a_comparison_that_ends_in_its_first_pair_says_so() {
        let place = tempfile::tempdir().expect("a directory");
        let live = cards(None, &place.path().join("runs"));
        let interrupt = Arc::new(AtomicBool::new(true));
        let finished = live.run(24, &interrupt, &mut Nobody).expect("it ends");
        assert_eq!(finished.ended, Ended::Stopped);
        assert_eq!(finished.comparisons[0].sentence, "No pair of runs was completed.");
    }

    #[test]
    fn rounds_are_balanced() {
        assert_eq!([0, 1, 2, 3].map(|round| turn(2, round)), [[0, 1], [1, 0], [0, 1], [1, 0]]);
        for n in 2..=32_usize {
            let (mut before, mut next) = (vec![vec![0_i32; n]; n], vec![vec![0; n]; n]);
            for round in 0..2 * n as u32 {
                let order = turn(n, round);
                let mut sorted = order.clone();
                sorted.sort_unstable();
                assert!(sorted.into_iter().eq(0..n), "{n} targets, round {round}: {order:?}");
                for (place, first) in order.iter().enumerate() {
                    for second in &order[place + 1..] {
                        before[*first][*second] += 1;
                        before[*second][*first] -= 1;
                    }
                    if let Some(second) = order.get(place + 1) {
                        next[*first][*second] += 1;
                    }
                }
                let is_even = !round.is_multiple_of(2);
                let is_balanced = before.iter().flatten().all(|count| *count == 0);
                assert!(!is_even || is_balanced, "{n} targets, round {round}");
            }
            let follows = (0..n).flat_map(|a| (0..n).filter(move |b| *b != a).map(move |b| (a, b)));
            assert!(n == 2 || follows.into_iter().all(|(a, b)| next[a][b] == 2), "{n}: {next:?}");
        }
    }

    #[test]
    fn percentages_in_messages_are_rounded() {
        let live = LiveComparison { detect: Some(0.07), ..cards(None, Path::new("none")) };
        let error = live.pairs_max(0.15).expect_err("too small").to_string();
        assert!(error.ends_with("a difference of 7% if runs vary by 15%"), "{error}");
    }
}
