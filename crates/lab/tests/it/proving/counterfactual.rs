//! What limits the figures of a drive: every group of parameters is lifted on its own.
//!
//! A group that raises a figure by 10% is a cause of it. If no single group does, several resources
//! may be exhausted at the same rate: then the groups without which lifting everything is of no use
//! are causes, and naming one of them is right.
//!
//! Lifted runs repeat `quick` with the figures in question only: tests and checks, which no figure
//! depends on, and reads that a lift cannot change, end after one operation. On a fast drive they
//! are also shorter, except for causes that take their time (heat, a cache that ends), and before a
//! verdict is called wrong.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use engine::Simulator;
use methods::find;
use model::DriveSpec;
use record::{MetricKey, Verdict, VerdictKind};
use rig::{Blocks, Event, Job, Performance, Preparation, Prepared, Result, Rig, Stage, TargetInfo};
use rules::changes::AFTER_REST;
use script::{Options, Outcome, Session};
use workload::Stop;

use super::drawn::Drawn;
use super::figures;
use super::lifts::{GROUPS, Group, group, groups_of};

/// Minimum factor by which lifting a cause raises a figure.
pub const CAUSE_MIN: f64 = 1.1;

/// A verdict is wrong if lifting what it names raises the figure by less than this factor.
pub const WRONG_MAX: f64 = 1.03;

/// A figure that a lift raises by this factor should have a verdict.
pub const HELD_MIN: f64 = 1.3;

/// A drive with fewer random reads per second is measured in whole runs.
const SLOW_IOPS: f64 = 20_000.0;

/// Virtual time of a short run.
const SHORT: Duration = Duration::from_secs(8);

type Figures = BTreeMap<String, f64>;

/// Length of a run of `quick`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Length {
    /// With the defaults.
    Whole,
    /// One round of short cells.
    Short,
}

impl Length {
    fn options(self, seed: u64) -> Options {
        match self {
            Length::Whole => Options { seed, ..Options::default() },
            Length::Short => {
                Options { seed, time: Some(SHORT), replicates: Some(1), ..Options::default() }
            }
        }
    }
}

/// The judgement of one verdict on one figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Judgement {
    Right,
    /// Lifting what is named has a small effect.
    Neither,
    Wrong,
    /// The drive's description has no parameter for it.
    Unjudged,
}

/// One verdict on one figure.
#[derive(Clone, Debug)]
pub struct Claim {
    pub kind: VerdictKind,
    pub metric: String,
    pub judgement: Judgement,
}

/// A drive with its verdicts and the truth about it.
pub struct Trial {
    pub drawn: Drawn,
    pub claims: Vec<Claim>,
    /// Figures that a group raises by [`HELD_MIN`] or more.
    pub held: Vec<String>,
    /// Those of them without a verdict.
    pub silent: Vec<String>,
    /// For every figure, the factors by which the groups raise it, largest first.
    pub gains: BTreeMap<String, Vec<(&'static str, f64)>>,
    /// Number of figures that no single group raises.
    pub causeless: usize,
}

impl Trial {
    /// Runs `quick` on the drive, computes the truth and judges the verdicts.
    pub fn run(drawn: &Drawn) -> Trial {
        let spec = drawn.spec();
        let out = session(&mut simulator(&spec), Length::Whole.options(drawn.session));
        let mut truth = Truth::compute(&spec, drawn.session, &out);
        for verdict in &out.verdicts {
            truth.confirm(verdict);
        }
        truth.find_together(&out.verdicts);
        let claims = out.verdicts.iter().flat_map(|verdict| {
            let metrics = verdict.explains.iter().map(|explained| explained.metric.clone());
            metrics.filter_map(|metric| {
                let judgement = truth.judge(&verdict.kind, &metric)?;
                Some(Claim { kind: verdict.kind.clone(), metric, judgement })
            })
        });
        let held = truth.metrics().filter(|metric| truth.gain(metric) >= HELD_MIN).cloned();
        let held: Vec<String> = held.collect();
        let is_silent = |metric: &&String| !out.verdicts.iter().any(|v| v.explains(metric));
        Trial {
            drawn: drawn.clone(),
            claims: claims.collect(),
            silent: held.iter().filter(is_silent).cloned().collect(),
            held,
            causeless: truth.metrics().filter(|metric| truth.gain(metric) < CAUSE_MIN).count(),
            gains: truth.metrics().map(|metric| (metric.clone(), truth.gains(metric))).collect(),
        }
    }

    /// The number of claims with this judgement.
    pub fn count(&self, judgement: Judgement) -> usize {
        self.claims.iter().filter(|claim| claim.judgement == judgement).count()
    }
}

/// What lifting the causes of a drive changes.
struct Truth {
    spec: DriveSpec,
    seed: u64,
    /// Groups that change the drive at all.
    groups: Vec<&'static Group>,
    /// Length of a run that shows most effects.
    usual: Length,
    /// The figures of the drive as it is, in a run of either length.
    base: BTreeMap<Length, Figures>,
    /// The factors by which the groups raise the figures.
    gains: BTreeMap<&'static str, Figures>,
    /// Groups whose gains are those of whole runs.
    confirmed: BTreeSet<&'static str>,
    /// Groups that limit a figure only together.
    together: BTreeMap<String, BTreeSet<&'static str>>,
}

impl Truth {
    fn compute(spec: &DriveSpec, seed: u64, out: &Outcome) -> Truth {
        let whole = figures(out);
        let reads = whole.iter().find(|(metric, _)| metric.starts_with("rand-read"));
        // A slow drive has few operations, and needs the time.
        let is_slow = reads.is_none_or(|(_, iops)| *iops < SLOW_IOPS);
        let groups = GROUPS.iter().filter(|group| changed(spec, &[group]).is_some());
        let mut truth = Truth {
            spec: spec.clone(),
            seed,
            groups: groups.collect(),
            usual: if is_slow { Length::Whole } else { Length::Short },
            base: BTreeMap::from([(Length::Whole, whole)]),
            gains: BTreeMap::new(),
            confirmed: BTreeSet::new(),
            together: BTreeMap::new(),
        };
        for group in truth.groups.clone() {
            truth.lift(group, if group.slow { Length::Whole } else { truth.usual });
        }
        truth
    }

    /// Measures the effect of lifting a group.
    fn lift(&mut self, group: &'static Group, length: Length) {
        let Some(changed) = changed(&self.spec, &[group]) else { return };
        let figures = measured(&changed, self.seed, length, group.reads);
        let base = self.base(length);
        let gains = figures.into_iter().filter_map(|(metric, lifted)| {
            let factor = lifted / base.get(&metric)?;
            Some((metric, factor))
        });
        let gains: Figures = gains.collect();
        self.gains.insert(group.name, gains);
        if length == Length::Whole {
            self.confirmed.insert(group.name);
        }
    }

    fn base(&mut self, length: Length) -> &Figures {
        let (spec, seed) = (&self.spec, self.seed);
        self.base.entry(length).or_insert_with(|| measured(spec, seed, length, true))
    }

    /// The figures of a verdict about which it seems to be wrong.
    fn doubted<'v>(&self, verdict: &'v Verdict) -> Vec<&'v String> {
        let is_doubted = |metric: &&String| {
            let judgement = self.judge(&verdict.kind, metric);
            matches!(judgement, Some(Judgement::Neither | Judgement::Wrong))
        };
        verdict.explains.iter().map(|explained| &explained.metric).filter(is_doubted).collect()
    }

    /// Repeats the lifts of what a verdict names in whole runs, if the verdict seems to be wrong.
    fn confirm(&mut self, verdict: &Verdict) {
        if !self.doubted(verdict).is_empty() {
            for name in groups_of(&verdict.kind) {
                if !self.confirmed.contains(name) {
                    self.lift(group(name), Length::Whole);
                }
            }
        }
    }

    /// Finds the groups that limit a figure together, if a verdict seems to be wrong about it and no
    /// single group raises it: those without which lifting all others is of no use.
    fn find_together(&mut self, verdicts: &[Verdict]) {
        let doubted = verdicts.iter().flat_map(|verdict| self.doubted(verdict));
        let doubted = doubted.filter(|metric| self.gain(metric) < CAUSE_MIN).cloned();
        let doubted: Vec<String> = doubted.collect();
        if doubted.is_empty() {
            return;
        }
        let (length, groups) = (self.usual, self.groups.clone());
        let base = self.base(length).clone();
        let rises = |figures: &Figures, metric: &String| {
            figures.get(metric).zip(base.get(metric)).is_some_and(|(a, b)| *a >= CAUSE_MIN * b)
        };
        let Some(lifted) = changed(&self.spec, &groups) else { return };
        let lifted = measured(&lifted, self.seed, length, true);
        let open: Vec<String> =
            doubted.into_iter().filter(|metric| rises(&lifted, metric)).collect();
        for group in groups.iter().filter(|_| !open.is_empty()) {
            let others = groups.iter().copied().filter(|other| other.name != group.name);
            let others: Vec<&Group> = others.collect();
            let Some(without) = changed(&self.spec, &others) else { continue };
            let without = measured(&without, self.seed, length, true);
            for metric in open.iter().filter(|metric| !rises(&without, metric)) {
                self.together.entry(metric.clone()).or_default().insert(group.name);
            }
        }
    }

    fn metrics(&self) -> impl Iterator<Item = &String> {
        self.base[&Length::Whole].keys()
    }

    /// The factors by which the groups raise a figure, largest first.
    fn gains(&self, metric: &str) -> Vec<(&'static str, f64)> {
        let gains = self.gains.iter();
        let gains = gains.filter_map(|(name, gains)| Some((*name, *gains.get(metric)?)));
        let mut gains: Vec<(&'static str, f64)> = gains.collect();
        gains.sort_by(|a, b| b.1.total_cmp(&a.1));
        gains
    }

    fn gain(&self, metric: &str) -> f64 {
        self.gains(metric).first().map_or(1.0, |(_, factor)| *factor)
    }

    /// Judges a verdict of this kind on a figure; `None` if it is not a main figure.
    fn judge(&self, kind: &VerdictKind, metric: &str) -> Option<Judgement> {
        if !self.base[&Length::Whole].contains_key(metric) {
            return None;
        }
        let named = groups_of(kind);
        if named.is_empty() {
            return Some(Judgement::Unjudged);
        }
        let gains = self.gains(metric).into_iter().filter(|(name, _)| named.contains(name));
        let gain = gains.map(|(_, factor)| factor).fold(1.0, f64::max);
        let together = self.together.get(metric);
        let is_together =
            together.is_some_and(|groups| named.iter().any(|name| groups.contains(name)));
        Some(if gain >= CAUSE_MIN || is_together {
            Judgement::Right
        } else if gain < WRONG_MAX {
            Judgement::Wrong
        } else {
            Judgement::Neither
        })
    }
}

/// The drive without these groups; `None` if it is the same, or impossible.
fn changed(spec: &DriveSpec, groups: &[&Group]) -> Option<DriveSpec> {
    let mut lifted = spec.clone();
    groups.iter().for_each(|group| (group.lift)(&mut lifted));
    (lifted != *spec).then(|| lifted.with_overrides(&[]).ok()).flatten()
}

fn simulator(spec: &DriveSpec) -> Simulator {
    let never = Arc::new(AtomicBool::new(false));
    Simulator::new(spec.clone(), "sim:proving", never, Box::new(|_: &Event| {}))
}

fn session(rig: &mut dyn Rig, options: Options) -> Outcome {
    let mut session = Session::new(rig);
    let run = session.run(find("quick").expect("exists"), &options);
    run.unwrap_or_else(|e| panic!("seed {}: {e}", options.seed));
    session.finish()
}

/// The main figures, of writes only if `reads` is false.
fn measured(spec: &DriveSpec, seed: u64, length: Length, reads: bool) -> Figures {
    let mut cells = CellsOnly { drive: simulator(spec), reads };
    let mut figures = figures(&session(&mut cells, length.options(seed)));
    figures.retain(|metric, _| cells.is_wanted(metric));
    figures
}

/// A virtual drive that executes only the cells, and one operation of everything else.
struct CellsOnly {
    drive: Simulator,
    reads: bool,
}

/// Ending of the name of a cell's warm-up.
const WARM_UP: &str = "-warm-up";

impl CellsOnly {
    fn is_wanted(&self, name: &str) -> bool {
        if name == AFTER_REST {
            return self.reads;
        }
        let key = MetricKey::parse(name.strip_suffix(WARM_UP).unwrap_or(name));
        key.as_cell().is_some_and(|cell| {
            let reads =
                cell.op == Some(workload::OpKind::Read) && cell.order != record::Order::Mixed;
            cell.words.is_empty() && (self.reads || !reads)
        })
    }
}

impl Rig for CellsOnly {
    fn target(&self) -> &TargetInfo {
        self.drive.target()
    }

    fn perform(&mut self, mut jobs: Vec<Job>, stage: Stage<'_>) -> Result<Performance> {
        if let [job] = jobs.as_mut_slice()
            && !self.is_wanted(job.name())
        {
            job.workload.stop = Stop { ops: Some(1), ..job.workload.stop };
        }
        self.drive.perform(jobs, stage)
    }

    fn prepare(&mut self, preparation: Preparation) -> Result<Prepared> {
        self.drive.prepare(preparation)
    }

    fn idle(&mut self, time: Duration) -> Result<()> {
        self.drive.idle(time)
    }

    fn blocks(&mut self) -> Result<&mut dyn Blocks> {
        self.drive.blocks()
    }

    fn note(&mut self, event: Event) {
        self.drive.note(event);
    }

    fn elapsed_ns(&mut self) -> u64 {
        self.drive.elapsed_ns()
    }
}
