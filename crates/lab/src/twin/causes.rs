//! Causes of a difference: each needs the drive's own report of it, and a twin with this cause that
//! shows the same figures.

use model::{DriveSpec, Figure, FigureOrigin, LinkSpec, bus};
use record::{HistoryKey, Run, TargetKind};
use serde::Serialize;
use workload::units;

use super::Twin;
use super::figures::HeldFigure;
use crate::error::Result;
use crate::model_name::is_model;
use crate::repeat::{Conditions, Repeat, Repeated};

/// Differences from which a report of the drive counts: degrees, percent of its life, and the factor
/// between the ceilings of links.
const WARMER_C: f64 = 5.0;
const MORE_WORN_PERCENT: f64 = 3.0;
const SLOWER_LINK: f64 = 1.05;

/// Capacities that differ by more than this factor are those of different drives.
const CAPACITY_FACTOR: f64 = 1.01;

/// Rounds in which the air around a hot twin is brought to the reported temperature of the drive.
const HEATINGS: u32 = 3;
/// Temperatures this close count as reached, degrees Celsius.
const REACHED_C: f64 = 2.0;

/// A cause explains a figure if it leaves no more than this share of its difference, beyond the band.
const LEFT: f64 = 0.25;
/// It may move a figure that does not differ by no more than this, beyond the band.
const MOVED: f64 = 0.05;

/// What can have happened to a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DriveChange {
    /// Its flash is worn: reads are repeated.
    Wear,
    /// It is hotter, and limits its rate.
    Heat,
    /// A slower link leads to it.
    Link,
    /// It is another one.
    AnotherDrive,
}

impl DriveChange {
    /// The cause in a sentence.
    pub fn words(self) -> &'static str {
        match self {
            DriveChange::Wear => "wear",
            DriveChange::Heat => "heat",
            DriveChange::Link => "the link",
            DriveChange::AnotherDrive => "another drive",
        }
    }
}

/// What the test of a cause gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CauseOutcome {
    /// The twin with this cause shows the figures of the run.
    Explains,
    /// The drive reports the cause, but a twin with it shows other figures.
    DoesNotExplain,
    /// The drive reports that it is not so.
    Excluded,
    /// The drive reports nothing about it.
    NotReported,
}

/// A cause and its evidence.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TestedCause {
    pub change: DriveChange,
    pub outcome: CauseOutcome,
    /// What the drive reports, beside the twin.
    pub evidence: String,
}

impl TestedCause {
    fn new(change: DriveChange, outcome: CauseOutcome, evidence: String) -> TestedCause {
        TestedCause { change, outcome, evidence }
    }
}

/// Another drive by its identity: model, capacity, or a number of its own that no run has which the
/// twin was fitted to.
pub(super) fn identity(twin: &DriveSpec, run: &Run, fitted_to: &[Run]) -> Option<TestedCause> {
    let drive = run.target.drive.as_ref()?;
    if let Some(model) = drive.model.as_deref()
        && !twin.model.is_empty()
        && model != twin.model
        && !is_model(model, &twin.model)
    {
        return another_drive(format!("the drive is a {model}, the twin a {}", twin.model));
    }
    if let Some(bytes) = drive.bytes.filter(|bytes| *bytes > 0)
        && twin.capacity.from != FigureOrigin::Guessed
        && ratio_of(bytes, twin.capacity.0) > CAPACITY_FACTOR
    {
        let sizes = [bytes, twin.capacity.0].map(units::decimal);
        return another_drive(format!("the drive has {}, the twin {}", sizes[0], sizes[1]));
    }
    let key = own_key(run)?;
    let keys: Vec<HistoryKey> = fitted_to.iter().filter_map(own_key).collect();
    let first = keys.first().filter(|_| !keys.contains(&key))?;
    another_drive(format!("the drive calls itself {}, that of the twin {}", key.text, first.text))
}

/// The larger of two sizes over the smaller.
fn ratio_of(one: u64, other: u64) -> f64 {
    one.max(other) as f64 / one.min(other).max(1) as f64
}

/// The key by which a real drive names itself; `None` if it has none, or is virtual: two descriptions
/// of one virtual drive differ.
fn own_key(run: &Run) -> Option<HistoryKey> {
    let key = HistoryKey::new(&run.target, run.environment.machine_id.as_deref())?;
    (run.target.kind != TargetKind::Virtual && !key.weak).then_some(key)
}

/// Tests wear, heat and the link.
pub(super) fn test(
    twin: &Twin,
    run: &Run,
    repeat: &Repeat,
    simulated: &Repeated,
    figures: &[HeldFigure],
) -> Result<Vec<TestedCause>> {
    let reported = Conditions::from_run(run);
    // What a drive reported when the twin was fitted to it is in the twin's figures.
    let fitted = twin.fit.as_ref().map(|notes| notes.reported).unwrap_or_default();
    let usual = Conditions {
        wear_percent: fitted.wear_percent.or(simulated.conditions.wear_percent),
        hottest_c: fitted.hottest_c.or(simulated.conditions.hottest_c),
        link_bytes_per_s: simulated.conditions.link_bytes_per_s,
    };
    let tests = Tests { twin: &twin.spec, run, repeat, simulated, figures, reported, usual };
    Ok(vec![tests.wear()?, tests.heat()?, tests.link()?])
}

struct Tests<'a> {
    twin: &'a DriveSpec,
    run: &'a Run,
    repeat: &'a Repeat,
    simulated: &'a Repeated,
    figures: &'a [HeldFigure],
    /// What the drive reports now.
    reported: Conditions,
    /// What it reported when the twin was fitted to it, or what the twin reports.
    usual: Conditions,
}

impl Tests<'_> {
    fn wear(&self) -> Result<TestedCause> {
        let change = DriveChange::Wear;
        let Some((percent, usual)) = self.reported.wear_percent.zip(self.usual.wear_percent) else {
            return Ok(not_reported(change, "the drive reports no wear"));
        };
        let evidence =
            format!("the drive reports {percent:.0}% of its life as used, the twin {usual:.0}%");
        if percent < usual + MORE_WORN_PERCENT {
            return Ok(TestedCause::new(change, CauseOutcome::Excluded, evidence));
        }
        let mut worn = self.twin.clone();
        worn.wear.used.value += (percent - usual) / 100.0;
        let outcome = self.outcome(&self.repeat.on(&worn)?);
        Ok(TestedCause::new(change, outcome, evidence))
    }

    fn heat(&self) -> Result<TestedCause> {
        let change = DriveChange::Heat;
        let Some((hottest, usual)) = self.reported.hottest_c.zip(self.usual.hottest_c) else {
            return Ok(not_reported(change, "the drive reports no temperature"));
        };
        let mut evidence = format!("the drive reports {hottest:.0} C, the twin {usual:.0} C");
        if hottest < usual + WARMER_C {
            return Ok(TestedCause::new(change, CauseOutcome::Excluded, evidence));
        }
        if self.twin.heat.throttle.is_empty() {
            evidence += ", at which nothing is known to limit its rate";
            return Ok(TestedCause::new(change, CauseOutcome::DoesNotExplain, evidence));
        }
        let mut hot = self.twin.clone();
        let mut celsius = self.simulated.conditions.hottest_c.unwrap_or(usual);
        let mut hot_figures = None;
        for _ in 0..HEATINGS {
            if (hottest - celsius).abs() <= REACHED_C {
                break;
            }
            hot.heat.ambient_c.value += hottest - celsius;
            let heated = self.repeat.on(&hot)?;
            celsius = heated.conditions.hottest_c.unwrap_or(hottest);
            hot_figures = Some(heated);
        }
        let outcome =
            hot_figures.map_or(CauseOutcome::DoesNotExplain, |heated| self.outcome(&heated));
        Ok(TestedCause::new(change, outcome, evidence))
    }

    fn link(&self) -> Result<TestedCause> {
        let change = DriveChange::Link;
        let links = self.reported.link_bytes_per_s.zip(self.usual.link_bytes_per_s);
        let Some((ceiling, usual)) = links else {
            return Ok(not_reported(change, "the link is not reported"));
        };
        let [ceiling_text, usual_text] = [ceiling, usual].map(units::throughput);
        let evidence =
            format!("the link of the drive carries {ceiling_text}, that of the twin {usual_text}");
        if ceiling * SLOWER_LINK > usual {
            return Ok(TestedCause::new(change, CauseOutcome::Excluded, evidence));
        }
        let outcome = self.outcome(&self.repeat.on(&self.behind_link(ceiling))?);
        Ok(TestedCause::new(change, outcome, evidence))
    }

    /// The twin behind the link of the run: the bus that its record names, or one of this rate.
    fn behind_link(&self, ceiling: f64) -> DriveSpec {
        let mut linked = self.twin.clone();
        let drive = self.run.target.drive.as_ref();
        let names = drive.and_then(|drive| drive.link.as_ref()?.now.as_deref()).unwrap_or_default();
        let buses: Vec<&str> = names.split(" + ").collect();
        let first = buses[0];
        let is_port = buses.len() == linked.link.len() + 1;
        if bus(first, 0).is_some() && is_port {
            linked.link.insert(0, LinkSpec { bus: given_bus(first), ..LinkSpec::default() });
        } else if bus(first, 0).is_some()
            && linked.link.first().is_some_and(|link| *link.bus != first)
        {
            linked.link[0] = LinkSpec { bus: given_bus(first), ..LinkSpec::default() };
        } else if let Some(link) = linked.link.first_mut() {
            link.ceiling_mb_s.value = ceiling / 1e6;
        } else {
            let mut link = LinkSpec { bus: given_bus("none"), ..LinkSpec::default() };
            link.ceiling_mb_s.value = ceiling / 1e6;
            linked.link.push(link);
        }
        linked
    }

    /// Whether a twin with the cause shows the figures of the run.
    fn outcome(&self, changed: &Repeated) -> CauseOutcome {
        let is_explained = self.figures.iter().all(|figure| {
            let metric = changed.metrics.iter().find(|metric| metric.name == figure.metric);
            let value = metric.and_then(|metric| metric.value).filter(|value| *value > 0.0);
            let Some(value) = value else { return !figure.differs };
            let left = (figure.log_ratio() - libm::log(value / figure.twin)).abs();
            let permitted = if figure.differs { LEFT * figure.log_ratio().abs() } else { MOVED };
            left <= figure.twin_band + permitted
        });
        if is_explained { CauseOutcome::Explains } else { CauseOutcome::DoesNotExplain }
    }
}

fn not_reported(change: DriveChange, evidence: &str) -> TestedCause {
    TestedCause::new(change, CauseOutcome::NotReported, evidence.to_string())
}

/// Another drive, by this evidence.
fn another_drive(evidence: String) -> Option<TestedCause> {
    Some(TestedCause::new(DriveChange::AnotherDrive, CauseOutcome::Explains, evidence))
}

fn given_bus(name: &str) -> Figure<String> {
    Figure { value: name.to_string(), from: FigureOrigin::Given, source: String::new() }
}

#[cfg(test)]
mod tests {
    use record::{DriveIdentity, Target};

    use super::*;

    fn run(kind: TargetKind, serial: &str) -> Run {
        let drive = DriveIdentity { serial: Some(serial.into()), ..DriveIdentity::default() };
        let target = Target { kind, drive: Some(drive), ..Target::default() };
        Run::new("quick", target)
    }

    #[test]
    fn a_serial_number_that_no_fitted_run_has_is_another_drive() {
        let twin = DriveSpec::preset("crucial-mx500-1t").expect("a preset");
        let is_other = |kind, serial: &str, fitted: &[&str]| {
            let fitted: Vec<Run> = fitted.iter().map(|serial| run(kind, serial)).collect();
            identity(&twin, &run(kind, serial), &fitted).is_some()
        };
        let device = |serial, fitted| is_other(TargetKind::Device, serial, fitted);
        let (own, others) = ("S1A2B3C4D5", ["S9Z8Y7X6W5", "S1A2B3C4D5"]);
        assert!(device(own, &others[..1]));
        assert!(!device(own, &others) && !device(own, &[]));
        assert!(!device("0000000000", &others[..1]), "a number that many drives have");
        assert!(!is_other(TargetKind::Virtual, own, &others[..1]));
    }
}
