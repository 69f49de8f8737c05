//! What runs on several drives say: what they lose at the same time, and which drive differs.
//!
//! A figure lost by the drives together, more than runs vary, is limited by what they share (HOST
//! CEILING), provided that at least two drives lose and that one of them, alone again, regains most of
//! it. Else the drives themselves have changed. If only the fastest drive loses, a limit that leaves
//! slower ones what they use explains it as well as the drive does. An outlier is judged by the runs
//! alone, so a shared limit blames no drive.

use analysis::{DRIVES_MIN, EQUIVALENT_WITHIN, FALSE_ALARMS, Outliers, outliers};
use record::{HistoryKey, MetricKey, Run, Stamp, TargetKind, Unit, VerdictKind};
use serde::Serialize;

use super::SetRuns;
use crate::compare::{Side, primary_quantities, value_of};
use crate::spread;

/// Losses beyond this many standard deviations are not chance.
const DEVIATIONS: f64 = 3.0;

/// The same for the drive that lost most: one of many drives and figures.
const DEVIATIONS_OF_ONE: f64 = 4.5;

/// Several drives, measured with one method.
#[derive(Clone, Debug, Serialize)]
pub struct DriveSet {
    /// Version of this form.
    pub schema: &'static str,
    /// The conclusion.
    pub sentence: String,
    /// What the host's limit is called, if it is one.
    pub verdict: Option<VerdictKind>,
    pub method: String,
    pub drives: Vec<SetDrive>,
    /// The primary quantities of the method.
    pub quantities: Vec<SetQuantity>,
    /// Whether some of the targets are on one drive, which is then a part of what they share.
    pub on_one_drive: bool,
    /// Runs of which some figures are not those of their drive; these figures do not count.
    pub not_of_the_drive: Vec<String>,
    /// Probability of any outlier among equal drives.
    pub false_alarms: f64,
}

/// A drive of a set.
#[derive(Clone, Debug, Serialize)]
pub struct SetDrive {
    /// The target as the user named it.
    pub target: String,
    pub model: Option<String>,
    pub serial: Option<String>,
    /// Ids of its runs alone, and beside the others.
    pub alone: Vec<String>,
    pub together: Option<String>,
    /// Numbers of these runs in the store.
    #[serde(skip)]
    pub numbers: Vec<i64>,
}

/// A quantity of all drives.
#[derive(Clone, Debug, Serialize)]
pub struct SetQuantity {
    /// The metric.
    pub name: String,
    /// Its name in words.
    pub label: String,
    pub unit: Unit,
    /// The values alone, by drive: the geometric mean of the runs.
    pub alone: Vec<Option<f64>>,
    /// The values beside the others.
    pub together: Vec<Option<f64>>,
    /// Of the drives with both values: the sums, for rates.
    pub sums: Option<[f64; 2]>,
    /// The loss of the sum above which it is no chance, as a fraction.
    pub loss_threshold: f64,
    /// What the loss is due to.
    pub loss: Loss,
    /// The value of the drive measured alone again.
    pub again: Option<f64>,
    /// Drives that differ from the others.
    pub outliers: Vec<SetOutlier>,
    /// The deviation above which a drive would differ, as a fraction.
    pub outlier_threshold: Option<f64>,
}

/// A drive that differs from the others.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SetOutlier {
    /// Index of the drive.
    pub drive: usize,
    /// Its value over the mean of the others.
    pub ratio: f64,
}

/// Why drives are slower together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Loss {
    /// Not measured, or no rate.
    Unknown,
    /// None that is more than chance.
    None,
    /// What the drives share.
    Host,
    /// One drive alone is slower; the others keep their rates.
    OneDrive,
    /// The same of a drive that is still among the fastest: what all share would slow it alone, too.
    Fastest,
    /// The drives are slower than in their first runs, also alone.
    Drives,
}

impl SetQuantity {
    /// The share of the sum that is kept together.
    pub fn share(&self) -> Option<f64> {
        let [alone, together] = self.sums?;
        (alone > 0.0).then_some(together / alone)
    }

    /// The values alone and beside the others, of the drives with both.
    pub(super) fn pairs(&self) -> impl Iterator<Item = [f64; 2]> {
        let pairs = self.alone.iter().zip(&self.together);
        let pairs = pairs.filter_map(|(alone, together)| Some([(*alone)?, (*together)?]));
        pairs.filter(|[alone, _]| *alone > 0.0)
    }

    /// The drive that keeps the smallest share.
    pub(super) fn slowest(&self) -> Option<usize> {
        let shares = self.alone.iter().zip(&self.together).enumerate();
        let shares = shares.filter_map(|(drive, (a, t))| Some((drive, (*t)? / (*a)?)));
        shares.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(drive, _)| drive)
    }
}

/// The loss of the sum of `n` drives that is no chance, if runs vary by `spread`: so many deviations.
fn threshold(deviations: f64, spread: f64, n: usize) -> f64 {
    let chance = -libm::expm1(-deviations * spread * (2.0 / n.max(1) as f64).sqrt());
    chance.max(EQUIVALENT_WITHIN)
}

/// Values alone and together, of some drives.
struct Losses(Vec<[f64; 2]>);

impl Losses {
    fn sums(&self) -> [f64; 2] {
        [0, 1].map(|side| self.0.iter().map(|values| values[side]).sum())
    }

    /// Whether the sum is smaller together, by more than chance explains.
    fn is_certain(&self, deviations: f64, spread: f64) -> bool {
        let [alone, together] = self.sums();
        together < alone * (1.0 - threshold(deviations, spread, self.0.len()))
    }

    /// Whether none of the other drives is faster together, by more than chance explains.
    fn is_as_fast_as(&self, others: &Losses, spread: f64) -> bool {
        let fastest = |losses: &Losses| losses.0.iter().map(|values| values[1]).fold(0.0, f64::max);
        fastest(self) >= fastest(others) * (1.0 - threshold(DEVIATIONS, spread, 1))
    }

    /// Takes out the drive that keeps the smallest share.
    fn take_slowest(&mut self) -> Losses {
        let share = |values: &[f64; 2]| values[1] / values[0];
        self.0.sort_by(|a, b| share(b).total_cmp(&share(a)));
        Losses(self.0.pop().into_iter().collect())
    }
}

/// The drive to measure alone again: the slowest at the figure of which most is lost.
pub fn most_slowed(runs: &SetRuns) -> Option<usize> {
    let quantities = quantities(runs);
    let suspects = quantities.iter().filter(|quantity| quantity.loss == Loss::Host);
    let share = |quantity: &SetQuantity| quantity.share().unwrap_or(1.0);
    suspects.min_by(|a, b| share(a).total_cmp(&share(b)))?.slowest()
}

impl DriveSet {
    /// Concludes from the runs of drives, but for the sentence.
    pub(super) fn new(runs: &SetRuns) -> DriveSet {
        let quantities = quantities(runs);
        let is_limited = quantities.iter().any(|quantity| quantity.loss == Loss::Host);
        let drives: Vec<SetDrive> = (0..runs.alone.len()).map(|i| SetDrive::new(runs, i)).collect();
        let first = runs.alone.iter().flatten().next();
        DriveSet {
            schema: "ssdyno.together/1",
            sentence: String::new(),
            verdict: is_limited.then_some(VerdictKind::HostCeiling),
            method: first.map(|run| run.method.clone()).unwrap_or_default(),
            drives,
            quantities,
            on_one_drive: on_one_drive(runs),
            not_of_the_drive: all_runs(runs)
                .filter(is_of_another)
                .map(|run| run.id.clone())
                .collect(),
            false_alarms: FALSE_ALARMS,
        }
    }

    /// Whether there are enough drives to tell the odd one.
    pub fn can_tell_outliers(&self) -> bool {
        self.drives.len() >= DRIVES_MIN
    }
}

/// All runs: alone, beside the others, and alone again.
fn all_runs(runs: &SetRuns) -> impl Iterator<Item = &Run> {
    let together = runs.together.iter().flatten();
    runs.alone.iter().flatten().chain(together).chain(runs.again.iter().map(|(_, run)| run))
}

/// Whether something else than the drive was measured, at least in part.
fn is_of_another(run: &&Run) -> bool {
    let stamp = run.answer.as_ref().map(|answer| &answer.stamp);
    matches!(stamp, Some(Stamp::NotTheDrive(_)))
}

/// Whether two targets have the same drive. Virtual drives are as many as they are.
fn on_one_drive(runs: &SetRuns) -> bool {
    let firsts = runs.alone.iter().filter_map(|runs| runs.first());
    let real = firsts.filter(|run| run.target.kind != TargetKind::Virtual);
    let mut keys: Vec<HistoryKey> = real
        .filter_map(|run| HistoryKey::new(&run.target, run.environment.machine_id.as_deref()))
        .collect();
    let count = keys.len();
    keys.sort();
    keys.dedup();
    keys.len() < count
}

impl SetDrive {
    fn new(runs: &SetRuns, drive: usize) -> SetDrive {
        let alone = &runs.alone[drive];
        let together = runs.together.get(drive).and_then(Option::as_ref);
        let repeat = runs.again.as_ref().filter(|(index, _)| *index == drive);
        let first = alone.first().or(together);
        let identity = first.and_then(|run| run.target.drive.as_ref());
        let own_runs = alone.iter().chain(together).chain(repeat.map(|(_, run)| run));
        SetDrive {
            target: first.map(|run| run.target.spec.clone()).unwrap_or_default(),
            model: identity.and_then(|identity| identity.model.clone()),
            serial: identity.and_then(|identity| identity.serial.clone()),
            alone: alone.iter().map(|run| run.id.clone()).collect(),
            together: together.map(|run| run.id.clone()),
            numbers: own_runs.filter_map(|run| run.number).collect(),
        }
    }
}

/// The primary quantities of the runs, judged.
fn quantities(runs: &SetRuns) -> Vec<SetQuantity> {
    let side = |runs: &[Run]| Side { runs: runs.to_vec(), repeats: Vec::new() };
    let [a, b, ..] = runs.alone.as_slice() else { return Vec::new() };
    let primary = primary_quantities(&side(a), &side(b));
    let mut quantities: Vec<SetQuantity> = primary
        .into_iter()
        .map(|(name, label, unit)| SetQuantity::new(runs, name, label, unit))
        .collect();
    let family: Vec<Vec<Option<f64>>> = quantities.iter().map(|q| q.alone.clone()).collect();
    let Outliers { outliers, thresholds } = outliers(&family);
    for (quantity, threshold) in quantities.iter_mut().zip(thresholds) {
        quantity.outlier_threshold = threshold;
    }
    for outlier in outliers {
        quantities[outlier.quantity]
            .outliers
            .push(SetOutlier { drive: outlier.drive, ratio: outlier.ratio });
    }
    quantities
}

impl SetQuantity {
    fn new(runs: &SetRuns, name: String, label: String, unit: Unit) -> SetQuantity {
        let alone: Vec<Option<f64>> = runs.alone.iter().map(|runs| value_of(runs, &name)).collect();
        let together: Vec<Option<f64>> = (0..alone.len())
            .map(|drive| value_of(runs.together.get(drive)?.as_slice(), &name))
            .collect();
        let repeat = runs.again.as_ref();
        let repeat = repeat.and_then(|(_, run)| value_of(std::slice::from_ref(run), &name));
        let mut quantity = SetQuantity {
            name,
            label,
            unit,
            alone,
            together,
            sums: None,
            loss_threshold: EQUIVALENT_WITHIN,
            loss: Loss::Unknown,
            again: repeat,
            outliers: Vec::new(),
            outlier_threshold: None,
        };
        quantity.judge(runs);
        quantity
    }

    /// Sets the sums, and what the loss is due to.
    fn judge(&mut self, runs: &SetRuns) {
        if !matches!(self.unit, Unit::BytesPerSecond | Unit::Iops) {
            return;
        }
        let mut losses = Losses(self.pairs().collect());
        if losses.0.len() < 2 {
            return;
        }
        let key = MetricKey::parse(&self.name);
        let all_runs = runs.alone.iter().flatten();
        let spread = all_runs.map(|run| spread::prior_of_metric(run, &key)).fold(0.0, f64::max);
        self.sums = Some(losses.sums());
        self.loss_threshold = threshold(DEVIATIONS, spread, losses.0.len());
        let is_lost = losses.is_certain(DEVIATIONS, spread);
        let slowest = losses.take_slowest();
        let is_shared = is_lost && losses.is_certain(DEVIATIONS, spread);
        self.loss = if is_shared && self.stays_slow(runs) {
            Loss::Drives
        } else if is_shared {
            Loss::Host
        } else if slowest.is_certain(DEVIATIONS_OF_ONE, spread) {
            if slowest.is_as_fast_as(&losses, spread) { Loss::Fastest } else { Loss::OneDrive }
        } else {
            Loss::None
        };
    }

    /// Whether the drive measured alone again is nearer to its rate beside the others than to its
    /// first.
    fn stays_slow(&self, runs: &SetRuns) -> bool {
        let Some((drive, repeat)) = runs.again.as_ref().map(|(drive, _)| *drive).zip(self.again)
        else {
            return false;
        };
        let values = self.alone[drive].zip(self.together[drive]);
        values.is_some_and(|(alone, together)| repeat * repeat < alone * together)
    }
}
