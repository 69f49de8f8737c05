//! Measures two targets in turns until the difference is clear: AB, BA, AB ...
//!
//! Every run has its own record in the store. The result is evaluated after certain numbers of
//! pairs (see [`analysis::look`]). The comparison ends when every primary metric has its claim, at
//! the last look, or when the user stops it or a run fails, with the result so far.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use analysis::{LOOKS, Look, look, pairs_for};
use record::{Plan, Run};

use super::quantity::quantities;
use super::{Comparison, Found, Pair, Side, conditions, doubts, sentence};
use crate::Options;
use crate::error::{LabError, Result};
use crate::request::Request;
use crate::session::Planned;
use crate::spread;
use crate::watcher::Watcher;
use crate::work::Work;

/// A comparison of two targets.
pub struct Live<'a> {
    /// A and B.
    pub requests: [Request; 2],
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
pub struct Cost {
    /// The plans of one run of A and of B.
    pub plans: [Plan; 2],
    /// Minimum and maximum number of pairs.
    pub pairs: [u32; 2],
}

/// Observes a comparison.
pub trait Audience {
    /// A run begins: 0 is A, 1 is B.
    fn begins(&mut self, side: usize, pair: u32, planned: &Planned<'_>) -> Box<dyn Watcher>;

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
    /// The user stopped it, or a run failed.
    Stopped,
}

/// The result of a comparison.
pub struct Finished {
    /// The conclusion, with the claims of the last look.
    pub comparison: Comparison,
    /// The runs of A and of B, in pairs.
    pub sides: [Side; 2],
    /// How the comparison ended.
    pub ended: Ended,
    /// Why a run failed, if one did.
    pub failure: Option<LabError>,
}

impl Live<'_> {
    /// Checks both requests and returns the cost, without touching the targets.
    pub fn cost(&self) -> Result<Cost> {
        let work = Work::method(self.method, &self.options)?;
        let [a, b] = &self.requests;
        let (a, b) = (a.plan(&work)?, b.plan(&work)?);
        let hypervisor = drive::host::environment().hypervisor.is_some();
        let assumed = [&a, &b].map(|planned| spread::assumed(planned.target(), hypervisor));
        let assumed = assumed[0].max(assumed[1]);
        let most = self.most(assumed)?;
        Ok(Cost { plans: [a.plan, b.plan], pairs: [most.min(LOOKS[0] as u32), most] })
    }

    /// Maximum number of pairs.
    fn most(&self, assumed: f64) -> Result<u32> {
        let last = LOOKS[LOOKS.len() - 1] as u32;
        let Some(detect) = self.detect else { return Ok(last) };
        pairs_for(detect, assumed).ok_or_else(|| {
            let (detect, assumed) = (detect * 100.0, assumed * 100.0);
            LabError::usage(format!(
                "{last} pairs cannot detect a difference of {detect}% if runs vary by {assumed}%"
            ))
            .advise("a larger --detect, or none")
        })
    }

    /// Measures in turns until the result is clear or the last look is reached.
    pub fn run(
        &self,
        most: u32,
        interrupt: &Arc<AtomicBool>,
        audience: &mut dyn Audience,
    ) -> Result<Finished> {
        let mut sides = [Side::default(), Side::default()];
        for pair in 0..most {
            let order = if pair.is_multiple_of(2) { [0, 1] } else { [1, 0] };
            let mut both = [None, None];
            for side in order {
                match self.one(side, pair, interrupt, audience) {
                    Ok(run) => both[side] = Some(run),
                    Err(failure) => return self.finish(sides, Ended::Stopped, Some(failure)),
                }
                if interrupt.load(Ordering::Relaxed) {
                    return self.finish(sides, Ended::Stopped, None);
                }
            }
            for (side, run) in sides.iter_mut().zip(both) {
                side.runs.extend(run);
            }
            let pairs = pair as usize + 1;
            if LOOKS.contains(&pairs) && self.tested(&sides).is_decided() {
                return self.finish(sides, Ended::Decided, None);
            }
        }
        self.finish(sides, Ended::Exhausted, None)
    }

    fn one(
        &self,
        side: usize,
        pair: u32,
        interrupt: &Arc<AtomicBool>,
        audience: &mut dyn Audience,
    ) -> Result<Run> {
        let seed = self.options.seed.wrapping_add(u64::from(pair) * 2 + side as u64);
        let options = Options { seed, ..self.options.clone() };
        let work = Work::method(self.method, &options)?;
        // Every run on a virtual drive gets a new session, like a run on a real drive.
        let mut request = self.requests[side].clone();
        request.instrument.seed = seed;
        let planned = request.plan(&work)?;
        let watcher = audience.begins(side, pair, &planned);
        let recorded = planned.begin(watcher)?.run(interrupt);
        audience.ended();
        recorded.ended?;
        recorded.kept?;
        Ok(recorded.run)
    }

    fn tested(&self, sides: &[Side; 2]) -> Tested {
        let [a, b] = sides;
        let Found { pairs, .. } = Found::of(a, b, self.metric);
        let primary: Vec<usize> = (0..pairs.len()).filter(|place| pairs[*place].primary).collect();
        let values = |place: &usize| {
            let pair = &pairs[*place];
            let b_name = pair.name_b.clone().unwrap_or_else(|| pair.name.clone());
            let value = |run: &Run, name: &str| {
                quantities(run).into_iter().find(|q| q.name == name).and_then(|q| q.value)
            };
            let runs = a.runs.iter().zip(&b.runs);
            runs.filter_map(|(a, b)| value(a, &pair.name).zip(value(b, &b_name))).collect()
        };
        let family: Vec<Vec<(f64, f64)>> = primary.iter().map(values).collect();
        let looks = look(&family);
        Tested { pairs, looks: primary.into_iter().zip(looks).collect() }
    }

    fn finish(
        &self,
        sides: [Side; 2],
        ended: Ended,
        failure: Option<LabError>,
    ) -> Result<Finished> {
        let Tested { mut pairs, looks } = self.tested(&sides);
        // There is no claim before the first look or between looks.
        let open = !LOOKS.contains(&sides[0].runs.len());
        for (place, look) in looks {
            pairs[place].see(look, open);
        }
        let [a, b] = &sides;
        let comparison = Comparison {
            sentence: sentence::of(&pairs, &[], None, 'B'),
            pairs,
            conditions_differ: conditions::differences(&a.runs, &b.runs),
            doubts: doubts(a, b),
            odd: Vec::new(),
            like_for_like: None,
        };
        Ok(Finished { comparison, sides, ended, failure })
    }
}

/// The pairs of both sides, with the look at each primary metric.
struct Tested {
    pairs: Vec<Pair>,
    looks: Vec<(usize, Option<Look>)>,
}

impl Tested {
    fn is_decided(&self) -> bool {
        let decided = |look: &Option<Look>| {
            look.is_some_and(|look| look.outcome != analysis::Outcome::Inconclusive)
        };
        !self.looks.is_empty() && self.looks.iter().all(|(_, look)| decided(look))
    }
}
