//! The quantities of a record in the form for comparison: ranges joined, names of other tools
//! resolved.

use analysis::LogQuantity;
use record::{FindingKind, Level, MetricKey, Run, Statistic, Unit};
use workload::OpKind;

use crate::published;

/// A quantity of one run.
#[derive(Clone, Debug)]
pub(crate) struct Quantity {
    pub name: String,
    pub unit: Unit,
    /// The value, or the middle of a range.
    pub value: Option<f64>,
    /// The range, if printed as one.
    pub range: Option<[f64; 2]>,
    /// Replicates within the run.
    pub rounds: Vec<f64>,
}

impl Quantity {
    pub fn session(&self) -> Option<LogQuantity> {
        match self.range {
            Some([low, high]) => LogQuantity::in_range(low, high),
            None => LogQuantity::new(self.value?, &self.rounds),
        }
    }
}

/// All quantities of a run. A published range is stored as its two ends but counts as one quantity.
pub(crate) fn quantities(run: &Run) -> Vec<Quantity> {
    let ends = published::is_published(run);
    let mut quantities = Vec::new();
    for metric in &run.metrics {
        let key = metric.key();
        let end = key.statistic.filter(|_| ends);
        let range = match end {
            Some(Statistic::Highest) => continue,
            Some(Statistic::Lowest) => {
                let highest = key.clone().with(Statistic::Highest).to_string();
                metric.value.zip(run.metric(&highest).and_then(|m| m.value))
            }
            _ => None,
        };
        quantities.push(Quantity {
            name: match range {
                Some(_) => key.without_statistic().to_string(),
                None => metric.name.clone(),
            },
            unit: metric.unit,
            value: range.map_or(metric.value, |(low, high)| Some((low + high) / 2.0)),
            range: range.map(|(low, high)| [low, high]),
            rounds: metric.samples.clone(),
        });
    }
    quantities
}

/// The names by which a quantity is matched with the other side.
pub(super) struct Names {
    full: Vec<String>,
    /// Without the name of fio's job, for comparisons with published figures.
    without_owner: Option<String>,
}

impl Names {
    pub fn meets(&self, other: &Names, ignores_owner: bool) -> bool {
        self.iter(ignores_owner).any(|name| other.iter(ignores_owner).any(|n| n == name))
    }

    fn iter(&self, ignores_owner: bool) -> impl Iterator<Item = &String> {
        self.full.iter().chain(self.without_owner.as_ref().filter(|_| ignores_owner))
    }
}

/// Metrics of fio begin with the name of the job. A comparison with a published figure ignores it;
/// two jobs measured by ssdyno are matched by their full names.
pub(super) fn names(run: &Run, name: &str) -> Names {
    let is_ours = run.method == "fio" && !published::is_published(run);
    let key = MetricKey::parse(name);
    let without_owner = key.without_owner().filter(|_| is_ours).map(String::from);
    Names { full: published::names(run, name), without_owner }
}

/// Whether the record itself doubts that the data came from the drive.
pub(super) fn is_from_memory(run: &Run, name: &str) -> bool {
    let key = MetricKey::parse(name);
    // iozone's read tests: `read`, `reread`, `random-read`.
    let test = name.rsplit_once('.').is_some_and(|(_, test)| test.ends_with("read"));
    let reads = key.direction() == Some(OpKind::Read) || test;
    let mut doubts = run.warnings.iter().filter(|w| {
        w.level >= Level::Warn
            && matches!(w.kind, FindingKind::ServedFromRam | FindingKind::PageCache)
    });
    reads && doubts.any(|w| w.workload.as_deref().is_none_or(|workload| key.belongs_to(workload)))
}
