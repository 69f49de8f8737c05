//! Sets of drives whose figures are given, and runs at the same time.

use std::path::Path;

use record::{DriveIdentity, Metric, TargetKind, Unit, VerdictKind};
use rig::TargetInfo;

use super::*;
use crate::ErrorKind;
use crate::unwatched::{Nobody, requests};

/// The rates of a run of `quick`: reads and writes in order, and reads at random.
const FIGURES: [(&str, Unit, f64); 3] = [
    ("seq-read-1MiB-q8", Unit::BytesPerSecond, 3e9),
    ("seq-write-1MiB-q8", Unit::BytesPerSecond, 2e9),
    ("rand-read-4KiB-q32", Unit::Iops, 500e3),
];

/// A run on an SSD of this machine, with factors for its figures.
pub(super) fn run(drive: usize, factors: [f64; 3]) -> Run {
    let mut run = Run::new("quick", TargetInfo::null(1 << 30).target);
    run.id = format!("run-{drive}-{factors:?}");
    run.target.spec = format!("/dev/nvme{drive}n1");
    run.target.kind = TargetKind::Device;
    run.target.drive = Some(DriveIdentity {
        bus: "nvme".into(),
        model: Some("X1".into()),
        serial: Some(format!("S{drive}000")),
        ..DriveIdentity::default()
    });
    let metrics = FIGURES.iter().zip(factors).map(|((name, unit, value), factor)| {
        Metric::single(record::MetricKey::parse(name), *unit, value * factor)
    });
    run.metrics = metrics.collect();
    run
}

pub(super) fn set_of(
    n: usize,
    alone: impl Fn(usize) -> [f64; 3],
    together: impl Fn(usize) -> [f64; 3],
) -> SetRuns {
    SetRuns {
        alone: (0..n).map(|drive| vec![run(drive, alone(drive))]).collect(),
        together: (0..n).map(|drive| Some(run(drive, together(drive)))).collect(),
        ..SetRuns::default()
    }
}

fn losses(set: &DriveSet) -> Vec<Loss> {
    set.quantities.iter().map(|quantity| quantity.loss).collect()
}

/// A little unlike each other, by less than 1%.
fn scatter(drive: usize) -> f64 {
    1.0 + 0.002 * ((drive * 7 % 5) as f64 - 2.0)
}

#[test]
fn a_shared_bus_is_the_hosts_and_blames_no_drive() {
    let runs = set_of(
        4,
        |d| [scatter(d); 3],
        |d| [if d == 1 { 0.24 } else { 0.25 } * scatter(d), 0.4, scatter(d)],
    );
    assert_eq!(most_slowed(&runs), Some(1));
    let set = conclude(&runs);
    assert_eq!(losses(&set), [Loss::Host, Loss::Host, Loss::None]);
    assert_eq!(set.verdict, Some(VerdictKind::HostCeiling));
    assert!(set.quantities.iter().all(|quantity| quantity.outliers.is_empty()));
    assert!(
        set.sentence.starts_with("HOST CEILING: together, the 4 drives reach"),
        "{}",
        set.sentence
    );
    assert!(set.sentence.contains("No drive stands out"), "{}", set.sentence);
}

#[test]
fn a_drive_that_stays_slow_alone_is_not_the_hosts() {
    let mut runs = set_of(4, |_| [1.0; 3], |_| [1.0, 0.3, 1.0]);
    runs.again = Some((0, run(0, [1.0, 0.35, 1.0])));
    let changed = conclude(&runs);
    assert_eq!(losses(&changed), [Loss::None, Loss::Drives, Loss::None]);
    assert_eq!(changed.verdict, None);
    runs.again = Some((0, run(0, [1.0, 0.9, 1.0])));
    assert_eq!(losses(&conclude(&runs)), [Loss::None, Loss::Host, Loss::None]);
}

#[test]
fn one_drive_that_loses_is_named() {
    let runs = set_of(6, |_| [1.0; 3], |d| [if d == 3 { 0.4 } else { 1.0 }, 1.0, 1.0]);
    let set = conclude(&runs);
    assert_eq!(losses(&set), [Loss::OneDrive, Loss::None, Loss::None]);
    assert!(set.sentence.contains("only /dev/nvme3n1 loses"), "{}", set.sentence);
    // Four times as fast as the others alone, and still the fastest.
    let [alone, together] =
        [4.0, 2.0].map(|factor| move |d| [if d == 3 { factor } else { 1.0 }; 3]);
    let set = conclude(&set_of(6, alone, together));
    assert_eq!(losses(&set), [Loss::Fastest; 3]);
    assert!(set.sentence.contains("it or what they share is the limit"), "{}", set.sentence);
}

#[test]
fn an_outlier_is_named_with_its_figure() {
    let slow = |d: usize| {
        if d == 7 { [0.9 * scatter(d), scatter(d), scatter(d)] } else { [scatter(d); 3] }
    };
    let set = conclude(&set_of(12, slow, slow));
    let outliers: Vec<usize> =
        set.quantities.iter().flat_map(|q| q.outliers.iter().map(|o| o.drive)).collect();
    assert_eq!(outliers, [7]);
    assert!(set.sentence.contains("are 9.6% slower than those of the others."), "{}", set.sentence);
    let few = conclude(&set_of(3, slow, slow));
    assert!(
        few.sentence.ends_with("nothing tells which of them is the odd one."),
        "{}",
        few.sentence
    );
}

#[test]
fn runs_that_did_not_measure_the_drive_are_counted() {
    let mut runs = set_of(2, |_| [1.0; 3], |_| [1.0; 3]);
    assert!(!view(&conclude(&runs)).caveat.contains("do not count"));
    let stamp = record::Stamp::NotTheDrive(record::FindingKind::PageCache);
    let answer = record::Answer::new("How fast?", "Fast.", stamp);
    for run in &mut runs.alone[1] {
        run.answer = Some(answer.clone());
    }
    let set = conclude(&runs);
    assert_eq!(set.not_of_the_drive, set.drives[1].alone);
    assert!(view(&set).caveat.starts_with("in one run, some figures are not the drive's"));
}

#[test]
fn equal_drives_lose_nothing() {
    let set = conclude(&set_of(2, |d| [scatter(d); 3], |d| [0.97 * scatter(d); 3]));
    assert_eq!(losses(&set), [Loss::None; 3]);
    assert!(
        set.sentence.starts_with("Together, the 2 drives lose no more than runs vary by, "),
        "{}",
        set.sentence
    );
}

impl Audience for Nobody {
    fn begins(&mut self, _: usize, _: SetPhase, _: &PlannedRun<'_>) -> Box<dyn Watcher> {
        Box::new(Nobody)
    }

    fn ended(&mut self) {}
}

fn together<'a>(targets: &[&str], store: &Path) -> Together<'a> {
    Together { requests: requests(targets, store), method: "speed", options: Options::default() }
}

#[test]
fn virtual_drives_are_measured_alone_and_no_target_twice() {
    let place = tempfile::tempdir().expect("a directory");
    let store = place.path().join("runs");
    let twice = together(&["sim:sd-class2", "sim:sd-150x", "sim:sd-class2"], &store);
    let error = twice.plans().expect_err("twice");
    assert_eq!(
        (error.kind(), error.to_string()),
        (ErrorKind::Usage, "sim:sd-class2 is given twice".into())
    );
    assert!(together(&["sim:sd-class2"], &store).plans().is_err());
    let set = together(&["sim:sd-class2", "sim:sd-150x"], &store);
    assert_eq!(set.plans().expect("plans").len(), 2);
    let runs = set.run(&Arc::default(), &mut Nobody);
    assert_eq!((runs.alone.len(), runs.together.len(), runs.again.is_none()), (2, 0, true));
    assert!(runs.failure.is_none(), "{:?}", runs.failure);
    assert!(runs.alone.iter().flatten().all(|run| crate::beside::drives(run).is_none()));
}

/// Two directories of this machine, at the same time.
#[cfg(target_os = "linux")]
#[test]
fn runs_at_the_same_time_are_records_of_their_own() {
    let place = tempfile::tempdir().expect("a directory");
    let directories = ["a", "b"].map(|name| place.path().join(name));
    for directory in &directories {
        std::fs::create_dir(directory).expect("a directory");
    }
    let targets = directories.each_ref().map(|directory| directory.to_str().expect("text"));
    let mut set = together(&targets, &place.path().join("runs"));
    for request in &mut set.requests {
        request.target.size = Some(4 << 20);
    }
    set.options.size = Some(4 << 20);
    set.options.time = Some(std::time::Duration::from_secs(1));
    let results = set.at_once(&Arc::default(), &mut Nobody);
    let runs: Vec<Run> = results.into_iter().map(|run| run.expect("measured")).collect();
    assert_eq!(runs.len(), 2);
    for run in &runs {
        assert_eq!((crate::beside::drives(run), run.complete), (Some("2"), true));
    }
    assert_ne!(runs[0].number, runs[1].number);
    assert!(crate::public(&runs[0]).is_err());
}
