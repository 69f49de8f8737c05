//! What limits the figures of a drive: groups of parameters are lifted one by one.
//!
//! A group that raises a figure by 10% is a cause of it. If no single group does, several resources
//! may be exhausted at the same rate: then a group is a cause if lifting another
//! one, or all others, is of no use without it.
//!
//! A lifted run repeats `quick` with the figures in question only, in short cells: tests and checks,
//! which no figure depends on, other reads, and writes that come later end after one operation. The
//! groups that verdicts name come first, and a figure whose verdicts are right needs no others. Causes
//! that take their time (heat, a cache that ends) are measured in whole runs, unless the drive
//! never came near them; so is what a verdict names before it is called wrong.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use engine::Simulator;
use methods::find;
use model::DriveSpec;
use record::{CellKey, MetricKey, Order, Verdict};
use rig::{Job, Result, Rig};
use rules::changes::AFTER_REST;
use script::{Options, Outcome, Session};
use workload::OpKind::Read;

use super::counterfactual::Judgement;
use super::figures;
use super::lifts::{GROUPS, Group, group, groups_of};
use crate::edited::{Edited, Editor, cell_of};

/// Minimum factor by which lifting a cause raises a figure.
pub const CAUSE_MIN: f64 = 1.1;

/// A verdict is wrong if lifting what it names raises the figure by less than this factor.
pub const WRONG_MAX: f64 = 1.03;

/// A figure that a lift raises by this factor should have a verdict.
pub const HELD_MIN: f64 = 1.3;

/// A drive with fewer random reads per second has too few operations in a short run.
const SLOW_IOPS: f64 = 20_000.0;

/// Virtual time of a short run.
const SHORT: Duration = Duration::from_secs(8);

/// Operations of a cell's replicate in a run of few: more than a slow drive completes in its time.
const OPS_MAX: u64 = 30_000;

/// A drive this far below the temperature at which it throttles, kelvin, was not slowed down.
const COOL_K: f64 = 3.0;

/// Share of more bytes written to flash than by the host that padding explains.
const PADDED: f64 = 0.02;

pub type Figures = BTreeMap<String, f64>;

/// Length of a run of `quick`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Length {
    /// With the defaults.
    Whole,
    /// The same, with at most [`OPS_MAX`] operations a cell and round.
    Few,
    /// One round of short cells, with at most [`OPS_MAX`] operations each.
    Short,
}

impl Length {
    fn options(self, seed: u64) -> Options {
        if self == Length::Short {
            return Options { seed, time: Some(SHORT), replicates: Some(1), ..Options::default() };
        }
        Options { seed, ..Options::default() }
    }
}

/// A run of `quick` on the drive as it is.
pub struct Usual {
    pub out: Outcome,
    /// Highest temperature before a workload, degrees Celsius.
    hottest_c: f64,
    health: record::Health,
}

impl Usual {
    pub fn run(spec: &DriveSpec, seed: u64) -> Usual {
        let mut rig = Edited::new(spec, Hottest(f64::NEG_INFINITY));
        let out = session(&mut rig, Length::Whole.options(seed));
        Usual { out, hottest_c: rig.editor.0, health: rig.drive.health() }
    }

    /// Whether lifting a slow group can change this run.
    fn may_be_slowed_by(&self, group: &Group, spec: &DriveSpec) -> bool {
        let written = self.health.written_bytes.unwrap_or(u64::MAX) as f64;
        let programmed = self.health.flash_written_bytes.unwrap_or(u64::MAX) as f64;
        match group.name {
            "heat" => {
                let steps = spec.heat.throttle.iter().map(|step| *step.above_c);
                self.hottest_c >= steps.fold(f64::INFINITY, f64::min) - COOL_K
            }
            "collection" => programmed > (1.0 + PADDED) * written,
            "SLC cache" => {
                // The dynamic part needs flash that the host leaves unfilled.
                let unfilled = spec.capacity.0 as f64 - written;
                let dynamic =
                    (spec.slc.dynamic.0 as f64).min(unfilled / f64::from(*spec.nand.bits));
                written > 0.9 * (spec.slc.fixed.0 as f64 + dynamic)
            }
            _ => true,
        }
    }
}

/// What lifting the causes of a drive changes.
pub struct Truth<'a> {
    spec: &'a DriveSpec,
    seed: u64,
    verdicts: &'a [Verdict],
    /// Groups that can change the run.
    groups: Vec<&'static Group>,
    /// Length of a run that shows most effects.
    length: Length,
    /// The figures of the drive as it is, in runs of each length.
    base: BTreeMap<Length, Figures>,
    /// The factors by which the groups raise the figures.
    gains: BTreeMap<&'static str, Figures>,
    /// Groups that limit a figure only together.
    together: BTreeMap<String, BTreeSet<&'static str>>,
}

impl<'a> Truth<'a> {
    /// Lifts groups until it is settled for every figure whether its verdicts are right, and whether
    /// it is held by a cause.
    pub fn find(spec: &'a DriveSpec, seed: u64, usual: &'a Usual) -> Truth<'a> {
        let whole = figures(&usual.out);
        let reads = whole.iter().find(|(metric, _)| metric.starts_with("rand-read"));
        let is_slow = reads.is_none_or(|(_, iops)| *iops < SLOW_IOPS);
        let groups = GROUPS.iter().filter(|group| {
            changed(spec, &[group]).is_some() && usual.may_be_slowed_by(group, spec)
        });
        let mut truth = Truth {
            spec,
            seed,
            verdicts: &usual.out.verdicts,
            groups: groups.collect(),
            length: if is_slow { Length::Few } else { Length::Short },
            base: BTreeMap::from([(Length::Whole, whole)]),
            gains: BTreeMap::new(),
            together: BTreeMap::new(),
        };
        truth.lift_all();
        truth.confirm();
        truth.find_together();
        truth
    }

    /// Lifts the groups that verdicts name, then the others.
    fn lift_all(&mut self) {
        let names: BTreeSet<&str> =
            self.verdicts.iter().flat_map(|verdict| groups_of(&verdict.kind)).copied().collect();
        let (named, others): (Vec<_>, Vec<_>) =
            self.groups.iter().copied().partition(|group| names.contains(group.name));
        for group in named.into_iter().chain(others) {
            let metrics = self.metrics().filter(|metric| !self.is_settled(metric));
            let metrics: BTreeSet<String> =
                metrics.filter(|metric| group.reads || writes(metric)).cloned().collect();
            self.lift(group, if group.slow { Length::Whole } else { self.length }, &metrics);
        }
    }

    /// Whether all verdicts on a figure are right, and a cause holds it.
    fn is_settled(&self, metric: &str) -> bool {
        let mut judgements = self
            .verdicts
            .iter()
            .filter(|verdict| verdict.explains(metric) && !groups_of(&verdict.kind).is_empty())
            .map(|verdict| self.judge(verdict, metric))
            .peekable();
        judgements.peek().is_some()
            && judgements.all(|judgement| judgement == Some(Judgement::Right))
            && self.gain(metric) >= HELD_MIN
    }

    /// Measures the effect of lifting a group on these figures.
    fn lift(&mut self, group: &'static Group, length: Length, metrics: &BTreeSet<String>) {
        let Some(changed) = changed(self.spec, &[group]) else { return };
        if metrics.is_empty() {
            return;
        }
        let lifted = measured(&changed, self.seed, length, metrics);
        let base = self.base(length);
        let gains = lifted.into_iter().filter_map(|(metric, lifted)| {
            let factor = lifted / base.get(&metric)?;
            Some((metric, factor))
        });
        let gains: Vec<(String, f64)> = gains.collect();
        self.gains.entry(group.name).or_default().extend(gains);
    }

    fn base(&mut self, length: Length) -> &Figures {
        let all: BTreeSet<String> = self.metrics().cloned().collect();
        self.base.entry(length).or_insert_with(|| measured(self.spec, self.seed, length, &all))
    }

    /// The figures about which a verdict seems to be wrong.
    fn doubted(&self, verdict: &Verdict) -> BTreeSet<String> {
        let is_doubted = |metric: &&String| {
            let judgement = self.judge(verdict, metric);
            matches!(judgement, Some(Judgement::Neither | Judgement::Wrong))
        };
        let metrics = verdict.explains.iter().map(|explained| &explained.metric);
        metrics.filter(is_doubted).cloned().collect()
    }

    /// Repeats the lifts of what a verdict names in whole runs, if it seems to be wrong.
    fn confirm(&mut self) {
        for verdict in self.verdicts {
            for name in groups_of(&verdict.kind) {
                let doubted = self.doubted(verdict);
                let group = group(name);
                if !group.slow && self.groups.iter().any(|other| other.name == group.name) {
                    self.lift(group, Length::Whole, &doubted);
                }
            }
        }
    }

    /// Finds out whether what a verdict names limits a figure together with others, if it seems to be
    /// wrong and no single group raises the figure.
    fn find_together(&mut self) {
        for verdict in self.verdicts {
            let mut metrics = self.doubted(verdict);
            metrics.retain(|metric| self.gain(metric) < CAUSE_MIN);
            let named = self.groups.clone().into_iter();
            let named = named.filter(|group| groups_of(&verdict.kind).contains(&group.name));
            for group in named.filter(|_| !metrics.is_empty()) {
                for metric in self.limited_with_others(group, &metrics) {
                    self.together.entry(metric).or_default().insert(group.name);
                }
            }
        }
    }

    /// The figures that a group limits together with others: lifting all others, or one, is of no use
    /// without it, and raises the figure with it.
    fn limited_with_others(
        &mut self,
        group: &'static Group,
        metrics: &BTreeSet<String>,
    ) -> BTreeSet<String> {
        let others = self.groups.iter().copied().filter(|other| other.name != group.name);
        let others: Vec<&'static Group> = others.collect();
        let all = [&others[..], &[group]].concat();
        let lifts = [(all, others.clone())].into_iter();
        let pairs = others.iter().map(|other| (vec![*other, group], vec![*other]));
        let mut limited = BTreeSet::new();
        for (with, without) in lifts.chain(pairs) {
            let open: BTreeSet<String> = metrics.difference(&limited).cloned().collect();
            if open.is_empty() {
                break;
            }
            let [with, without] = [with, without].map(|groups| self.without(&groups, &open));
            let base = self.base(self.length);
            limited.extend(open.into_iter().filter(|metric| {
                let factor = |figures: &Figures| figures.get(metric).copied().unwrap_or(0.0);
                let (held, without) = (factor(base), factor(&without));
                without < CAUSE_MIN * held && factor(&with) >= CAUSE_MIN * held.max(without)
            }));
        }
        limited
    }

    /// These figures of the drive without some groups; none if that is impossible.
    fn without(&self, groups: &[&Group], metrics: &BTreeSet<String>) -> Figures {
        let drive = changed(self.spec, groups);
        drive.map_or_else(Figures::new, |drive| measured(&drive, self.seed, self.length, metrics))
    }

    pub fn metrics(&self) -> impl Iterator<Item = &String> {
        self.base[&Length::Whole].keys()
    }

    /// The factors by which the groups lifted raise a figure, largest first.
    pub fn gains(&self, metric: &str) -> Vec<(&'static str, f64)> {
        let gains = self.gains.iter();
        let gains = gains.filter_map(|(name, gains)| Some((*name, *gains.get(metric)?)));
        let mut gains: Vec<(&'static str, f64)> = gains.collect();
        gains.sort_by(|a, b| b.1.total_cmp(&a.1));
        gains
    }

    /// The largest of them, at least 1.
    pub fn gain(&self, metric: &str) -> f64 {
        self.gains(metric).first().map_or(1.0, |(_, factor)| factor.max(1.0))
    }

    /// Judges a verdict on a figure; `None` if it is not a main figure.
    pub fn judge(&self, verdict: &Verdict, metric: &str) -> Option<Judgement> {
        if !self.base[&Length::Whole].contains_key(metric) {
            return None;
        }
        let named = groups_of(&verdict.kind);
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

fn session(rig: &mut dyn Rig, options: Options) -> Outcome {
    let mut session = Session::new(rig);
    let run = session.run(find("quick").expect("exists"), &options);
    run.unwrap_or_else(|e| panic!("seed {}: {e}", options.seed));
    session.finish()
}

/// These figures of the drive.
fn measured(spec: &DriveSpec, seed: u64, length: Length, metrics: &BTreeSet<String>) -> Figures {
    let ops_max = if length == Length::Whole { u64::MAX } else { OPS_MAX };
    let mut rig = Edited::new(spec, Wanted { metrics, ops_max });
    let mut figures = figures(&session(&mut rig, length.options(seed)));
    figures.retain(|metric, _| metrics.contains(metric));
    figures
}

/// Records the highest temperature before a workload, degrees Celsius.
struct Hottest(f64);

impl Editor for Hottest {
    fn edit(&mut self, drive: &mut Simulator, _: &mut Job) -> Result<()> {
        let now_c = Simulator::health(drive).temperature_c;
        self.0 = now_c.map_or(self.0, |now_c| now_c.max(self.0));
        Ok(())
    }
}

/// Executes the cells that these figures need, and one operation of everything else.
struct Wanted<'a> {
    metrics: &'a BTreeSet<String>,
    ops_max: u64,
}

impl Wanted<'_> {
    fn needs(&self, workload: &str) -> bool {
        if workload == AFTER_REST {
            return self.metrics.contains(AFTER_REST);
        }
        let Some(cell) = cell_of(workload) else { return false };
        let mut wanted = self.metrics.iter().filter_map(|metric| cell_of(metric));
        // A read leaves the drive as it is; a write can matter for those of its phase and later ones.
        let is_random = |cell: &CellKey| cell.order != Order::Sequential;
        wanted.any(|other| {
            if cell.op == Some(Read) && cell.order != Order::Mixed {
                other == cell
            } else {
                writes_in(&other) && is_random(&other) >= is_random(&cell)
            }
        })
    }
}

impl Editor for Wanted<'_> {
    fn edit(&mut self, _: &mut Simulator, job: &mut Job) -> Result<()> {
        let ops_max = if self.needs(job.name()) { self.ops_max } else { 1 };
        let stop = &mut job.workload.stop;
        stop.ops = Some(stop.ops.map_or(ops_max, |ops| ops.min(ops_max)));
        Ok(())
    }
}

/// Whether a figure is of a workload that writes.
fn writes(metric: &str) -> bool {
    MetricKey::parse(metric).as_cell().is_some_and(writes_in)
}

fn writes_in(cell: &CellKey) -> bool {
    cell.op != Some(Read) || cell.order == Order::Mixed
}
