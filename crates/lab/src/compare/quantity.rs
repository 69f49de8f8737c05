//! The quantities of a record in the form for comparison: ranges joined, names of other tools
//! resolved.

use analysis::Session;
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
    pub fn session(&self) -> Option<Session> {
        match self.range {
            Some([low, high]) => Session::in_range(low, high),
            None => Session::new(self.value?, &self.rounds),
        }
    }
}

/// All quantities of a run. A published range is stored as its two ends but counts as one quantity.
pub(crate) fn quantities(run: &Run) -> Vec<Quantity> {
    let ends = published::is_published(run);
    let mut found = Vec::new();
    for metric in &run.metrics {
        let key = metric.key();
        let end = key.statistic.filter(|_| ends);
        let range = match end {
            Some(Statistic::Highest) => continue,
            Some(Statistic::Lowest) => {
                let other = key.clone().with(Statistic::Highest).to_string();
                metric.value.zip(run.metric(&other).and_then(|m| m.value))
            }
            _ => None,
        };
        let bare = || key.without_statistic().to_string();
        found.push(Quantity {
            name: if range.is_some() { bare() } else { metric.name.clone() },
            unit: metric.unit,
            value: range.map_or(metric.value, |(low, high)| Some((low + high) / 2.0)),
            range: range.map(|(low, high)| [low, high]),
            rounds: metric.samples.clone(),
        });
    }
    found
}

/// The names by which a quantity is matched with the other side.
pub(super) struct Names {
    own: Vec<String>,
    /// Without the name of fio's job, for comparisons with published figures.
    bare: Option<String>,
}

impl Names {
    pub fn meets(&self, other: &Names, apart: bool) -> bool {
        let all = |names: &Names| {
            let bare = names.bare.clone().filter(|_| apart);
            names.own.iter().cloned().chain(bare).collect::<Vec<_>>()
        };
        let theirs = all(other);
        all(self).iter().any(|name| theirs.contains(name))
    }
}

/// Metrics of fio begin with the name of the job. A comparison with a published figure ignores it;
/// two jobs measured by ssdyno are matched by their full names.
pub(super) fn names(run: &Run, name: &str) -> Names {
    let own = run.method == "fio" && !published::is_published(run);
    let bare = || MetricKey::parse(name).without_owner().map(String::from);
    Names { own: published::names(run, name), bare: own.then(bare).flatten() }
}

/// Whether the record itself doubts that the data came from the drive.
pub(super) fn is_from_memory(run: &Run, name: &str) -> bool {
    let key = MetricKey::parse(name);
    // iozone's read tests: `read`, `reread`, `random-read`.
    let test = name.rsplit_once('.').is_some_and(|(_, test)| test.ends_with("read"));
    let reads = key.direction() == Some(OpKind::Read) || test;
    let doubted =
        |kind: &FindingKind| matches!(kind, FindingKind::ServedFromRam | FindingKind::PageCache);
    let about = |workload: &Option<String>| {
        workload.as_deref().is_none_or(|workload| key.belongs_to(workload))
    };
    let found = run.warnings.iter();
    let mut found = found.filter(|w| w.level >= Level::Warn && doubted(&w.kind));
    reads && found.any(|w| about(&w.workload))
}
