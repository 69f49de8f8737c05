//! What a fitted drive is known by, beside its description: the runs, how far it is from their figures,
//! and what the drive reported then.
//!
//! They are comments at the head of the file, because a description does not depend on them.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use methods::names::{SUSTAIN_FRESH, SUSTAIN_FULL, ZONES_ASCENDING, ZONES_READ};
use model::DriveSpec;
use model::fit::{AFTER_CACHE, IN_CACHE, Prediction, WHOLE_AGAIN, WHOLE_FRESH};
use record::{Metric, MetricKey, Run, Statistic};

use crate::repeat::{self, Conditions, Repeat};
use crate::virtual_drive;

/// The first line of a file of a fit, by which an earlier one is recognised.
pub const HEAD: &str = "# Fitted by ssdyno drives fit\n";

/// Beginnings of lines: the identifier of a run; a metric, and the fitted drive's value over the
/// measured one; a condition that the drive reported.
const RUN: &str = "# run ";
const TIMES: &str = "# times ";
const WEAR: &str = "# wear_percent ";
const HOTTEST: &str = "# hottest_c ";
/// Bytes that the repeated run worked on.
const REGION: &str = "# region_bytes ";

/// The method whose whole work is repeated on the fitted drive. That of the others can take hours.
const REPEATED: &str = "quick";

/// A figure that a drive was fitted to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Residual {
    /// Its key.
    pub metric: String,
    /// The fitted drive's value over the measured one.
    pub times: f64,
}

impl Residual {
    /// How far the fitted drive is from the figure: a logarithm, not negative.
    pub fn distance(&self) -> f64 {
        libm::log(self.times).abs()
    }
}

/// What a fitted drive is known by.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct FitNotes {
    /// Identifiers of the runs.
    pub runs: Vec<String>,
    pub residuals: Vec<Residual>,
    /// Bytes that the repeated run worked on; `None` if none was.
    pub region_bytes: Option<u64>,
    /// What the drive reported in the last of the runs.
    pub reported: Conditions,
}

impl FitNotes {
    /// The notes of a drive with this description that was fitted to these runs.
    pub(super) fn of_fit(spec: &DriveSpec, runs: &[Run], predictions: &[Prediction]) -> FitNotes {
        let predicted = predictions.iter().map(|prediction| Residual {
            metric: metric_name(&prediction.name),
            times: prediction.predicted / prediction.measured,
        });
        let replayed = runs.iter().flat_map(|run| repeated(spec, run));
        let mut residuals: Vec<Residual> = Vec::new();
        // A repeat has the same figures as a later check, so it outweighs the prediction.
        for residual in replayed.chain(predicted).filter(|residual| residual.times.is_normal()) {
            if !residuals.iter().any(|earlier| earlier.metric == residual.metric) {
                residuals.push(residual);
            }
        }
        FitNotes {
            runs: runs.iter().map(|run| run.id.clone()).collect(),
            residuals,
            region_bytes: runs.iter().rfind(|run| run.method == REPEATED).and_then(region_bytes),
            reported: runs.last().map(Conditions::from_run).unwrap_or_default(),
        }
    }

    /// The notes in a file; `None` for one that was not written by a fit to runs.
    pub fn parse(text: &str) -> Option<FitNotes> {
        let lines = text.strip_prefix(HEAD)?.lines().take_while(|line| line.starts_with('#'));
        let mut notes = FitNotes::default();
        for line in lines {
            if let Some(id) = line.strip_prefix(RUN) {
                notes.runs.push(id.to_string());
            } else if let Some(residual) = line.strip_prefix(TIMES) {
                notes.residuals.extend(parse_residual(residual));
            } else if let Some(bytes) = line.strip_prefix(REGION) {
                notes.region_bytes = bytes.parse().ok();
            } else if let Some(percent) = line.strip_prefix(WEAR) {
                notes.reported.wear_percent = percent.parse().ok();
            } else if let Some(celsius) = line.strip_prefix(HOTTEST) {
                notes.reported.hottest_c = celsius.parse().ok();
            }
        }
        (!notes.runs.is_empty()).then_some(notes)
    }

    /// The lines of the file.
    pub(super) fn text(&self) -> String {
        let mut text: String = self.runs.iter().map(|id| format!("{RUN}{id}\n")).collect();
        for Residual { metric, times } in &self.residuals {
            let _ = writeln!(text, "{TIMES}{metric} {times:.4}");
        }
        let _ = self.region_bytes.map(|bytes| writeln!(text, "{REGION}{bytes}"));
        let reported = [(WEAR, self.reported.wear_percent), (HOTTEST, self.reported.hottest_c)];
        for (name, value) in reported {
            let _ = value.map(|value| writeln!(text, "{name}{value}"));
        }
        text
    }
}

fn parse_residual(text: &str) -> Option<Residual> {
    let (metric, times) = text.rsplit_once(' ')?;
    let times = times.parse().ok().filter(|times: &f64| times.is_normal() && *times > 0.0)?;
    Some(Residual { metric: metric.to_string(), times })
}

/// The figures of the work of a run on the fitted drive beside those of the run; none of a method that
/// takes long, or of a run that cannot be repeated.
fn repeated(spec: &DriveSpec, run: &Run) -> Vec<Residual> {
    if run.method != REPEATED {
        return Vec::new();
    }
    let spec = virtual_drive::varied(spec.clone());
    let simulated = Repeat::new(run, &Arc::new(AtomicBool::new(false)))
        .and_then(|repeat| repeat.on(&spec))
        .map_or_else(|_| Vec::new(), |repeated| repeated.metrics);
    let pairs = repeat::telling(run).filter_map(|metric| {
        let fitted = simulated.iter().find(|fitted| fitted.name == metric.name)?;
        let times = value(fitted)? / value(metric)?;
        Some(Residual { metric: metric.name.clone(), times })
    });
    pairs.collect()
}

/// Bytes that a run worked on, as planned.
pub(crate) fn region_bytes(run: &Run) -> Option<u64> {
    run.plan.as_ref().map(|plan| plan.region_bytes)
}

fn value(metric: &Metric) -> Option<f64> {
    metric.value.filter(|value| *value > 0.0)
}

/// The metric that a prediction of the fit is about.
fn metric_name(prediction: &str) -> String {
    let of_pass = |pass: &str, statistic| MetricKey::parse(pass).with(statistic).to_string();
    match prediction {
        WHOLE_FRESH => of_pass(SUSTAIN_FRESH, Statistic::Average),
        IN_CACHE => of_pass(SUSTAIN_FRESH, Statistic::Inside),
        AFTER_CACHE => of_pass(SUSTAIN_FRESH, Statistic::After),
        WHOLE_AGAIN => of_pass(SUSTAIN_FULL, Statistic::Average),
        ZONES_ASCENDING => ZONES_READ.to_string(),
        workload => workload.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fuzz::Random;

    fn drawn(random: &mut Random) -> FitNotes {
        let some = |random: &mut Random| (random.below(2) == 0).then(|| random.below(100) as f64);
        let residual = |random: &mut Random| Residual {
            metric: ["rand-read-4KiB-q1.p99", "whole drive", "a b"][random.below(3)].into(),
            times: (1 + random.below(30_000)) as f64 / 1e4,
        };
        FitNotes {
            runs: (0..=random.below(3)).map(|n| format!("01ABC{n}")).collect(),
            residuals: (0..random.below(4)).map(|_| residual(random)).collect(),
            region_bytes: some(random).map(|bytes| bytes as u64),
            reported: Conditions {
                wear_percent: some(random),
                hottest_c: some(random),
                link_bytes_per_s: None,
            },
        }
    }

    #[test]
    fn drawn_notes_are_read_as_they_were_written() {
        let mut random = Random::new(3);
        for _ in 0..200 {
            let notes = drawn(&mut random);
            let file = format!("{HEAD}{}name = \"x\"\n# run no-note\n", notes.text());
            assert_eq!(FitNotes::parse(&file).as_ref(), Some(&notes), "{file}");
        }
    }

    #[test]
    fn other_files_and_broken_lines_have_no_notes() {
        assert_eq!(FitNotes::parse("# run 01ABC\n"), None);
        assert_eq!(FitNotes::parse(HEAD), None);
        let broken =
            format!("{HEAD}# run 1\n# times x\n# times x -1\n# times x NaN\n# wear_percent y\n");
        let notes = FitNotes { runs: vec!["1".into()], ..FitNotes::default() };
        assert_eq!(FitNotes::parse(&broken), Some(notes));
    }
}
