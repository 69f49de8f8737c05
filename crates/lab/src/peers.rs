//! Peers for the main figures of a run: an earlier run of the same drive, publications about its
//! model, and the virtual drive of its model, with the conditions that differ.
//!
//! A figure of another quantity is never shown: an earlier run must have the same protocol, and a
//! published figure must be declared as the same metric.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use record::{Answer, OriginKind, Peer, Run, Stamp, Statistic, Target, TargetKind};
use rig::Event;
use script::{Outcome, ScratchUse, Session};
use workload::units::decimal;

use crate::compare::{differences, is_alike, quantities};
use crate::drives::PREFIX;
use crate::fleet;
use crate::model_name::{gigabytes, is_model};
use crate::published;
use crate::request::{Request, TargetRequest};
use crate::spread;
use crate::target::Stand;
use crate::usual;
use crate::work::Work;

/// Maximum time for simulating the model, as a fraction of the run's own time.
const SHARE: f64 = 0.1;

/// Maximum duration of a model's simulation.
const SIMULATION_MAX: Duration = Duration::from_secs(10);

/// Interval between checks of the user's interrupt.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Conditions that determine a figure. Others (a kernel, a host name) are in `ssdyno compare`.
const DECISIVE: [&str; 9] = [
    "capacity",
    "link",
    "state before",
    "target",
    "file system",
    "page cache",
    "size",
    "machine",
    "backend",
];

/// Those that exist for a virtual drive, which has neither a file system nor a host.
const OF_DRIVE: &[&str] = DECISIVE.split_at(3).0;

/// Methods whose workload the user chooses: its figures are those of a repeat only.
const CHOSEN: [&str; 3] = ["io", "fio", "command"];

/// Options with which figures stay the same quantities.
const SAME_QUANTITY: [&str; 5] = ["size", "time", "replicates", "legacy", "reference"];

/// Capacities that differ by more than this factor are of different drives: names are rounded, and
/// mean powers of ten or of two.
const CAPACITY_FACTOR: f64 = 1.15;

/// Conditions of the host around the drive.
const HOST: [&str; 2] = ["machine", "backend"];

/// The peers of a run with a complete answer. `last` is its [`last`] run, if there is one.
pub(crate) fn collect(run: &Run, last: Option<&Run>, model: Option<&Run>) -> Vec<Peer> {
    let Some(answer) = &run.answer else { return Vec::new() };
    let mut peers = Vec::new();
    if let Some(last) = last {
        let day = last.started.get(..10).unwrap_or(&last.started);
        let source = format!("run {}, {day}", last.number.unwrap_or_default());
        peers.extend(same(answer, run, last, &source, &DECISIVE));
    }
    peers.extend(publications(answer, run));
    if run.target.kind != TargetKind::Virtual {
        peers.extend(fleet::peers(run, answer));
    }
    if let Some(model) = model {
        let source = format!("simulated {}", model.target.spec);
        peers.extend(same(answer, run, model, &source, OF_DRIVE));
    }
    peers
}

/// Of earlier runs on the drive, the latest repeat of the run or, if there is none, the latest that
/// did the same work, unless the user chose the workload.
pub(crate) fn last(mut earlier: Vec<Run>, run: &Run) -> Option<Run> {
    earlier.retain(|other| {
        // Figures of memory are no measure for those of the drive.
        is_alike(run, other) && !matches!(Stamp::of_run(other), Stamp::NotTheDrive(_))
    });
    let repeat = earlier.iter().position(|other| spread::comparable(run, other));
    let latest = (!CHOSEN.contains(&run.method.as_str()) && !earlier.is_empty()).then_some(0);
    repeat.or(latest).map(|index| earlier.swap_remove(index))
}

/// The metrics of an answer's tiles in another run.
fn same(answer: &Answer, run: &Run, other: &Run, whose: &str, conditions: &[&str]) -> Vec<Peer> {
    let differs = differing(run, other, conditions);
    answer
        .tiles
        .iter()
        .filter_map(|tile| {
            let metric = other.metric(&tile.metric).filter(|metric| metric.unit == tile.unit)?;
            Some(Peer {
                metric: tile.metric.clone(),
                whose: whose.to_string(),
                unit: tile.unit,
                value: metric.value?,
                highest: None,
                percentile: None,
                differs: differs.clone(),
            })
        })
        .collect()
}

/// Published figures of the drive's model for the tiles of an answer.
fn publications(answer: &Answer, run: &Run) -> Vec<Peer> {
    let model = run.target.drive.as_ref().and_then(|drive| drive.model.as_deref());
    let is_other_work = is_paced(run) || has_own_options(run);
    let Some(model) = model.filter(|_| !is_other_work) else { return Vec::new() };
    let mut peers: Vec<Peer> = Vec::new();
    // The figures are embedded in the program, and a test parses all of them.
    let published = published::all().unwrap_or_default();
    let samples = published.iter().filter(|other| {
        let other = other.target.drive.as_ref().and_then(|drive| drive.model.as_deref());
        other.is_some_and(|other| is_model(model, other))
    });
    let samples: Vec<&Run> = samples.collect();
    for other in &samples {
        let source = sample_of(other, &samples);
        let mut differs = differing(run, other, &DECISIVE);
        differs.extend(capacity_differs(run, other));
        for tile in &answer.tiles {
            let is_known = peers.iter().any(|p| p.metric == tile.metric && p.whose == source);
            let quantity = quantities(other).into_iter().find(|quantity| {
                quantity.unit == tile.unit
                    && published::names(other, &quantity.name).contains(&tile.metric)
            });
            let Some(quantity) = quantity.filter(|_| !is_known) else {
                continue;
            };
            let [lowest, highest] = quantity.range.map_or([quantity.value, None], |r| r.map(Some));
            peers.extend(lowest.map(|value| Peer {
                metric: tile.metric.clone(),
                whose: source.clone(),
                unit: tile.unit,
                value,
                highest,
                percentile: None,
                differs: differs.clone(),
            }));
        }
    }
    peers
}

/// Whether its rate is that of a camera (`stream --rate`) and not the drive's.
fn is_paced(run: &Run) -> bool {
    run.method == "stream"
        && run.metrics.iter().any(|metric| metric.key().statistic == Some(Statistic::Buffer))
}

/// Whether it was given options of its method, with which its figures are other quantities than
/// those of a publication.
fn has_own_options(run: &Run) -> bool {
    let mut options = run.options.iter().flatten();
    options.any(|(name, _)| !SAME_QUANTITY.contains(&name.as_str()))
}

/// A capacity that differs from that in the name of a published model, which gives no bytes.
fn capacity_differs(run: &Run, other: &Run) -> Option<String> {
    let (drive, printed) = (run.target.drive.as_ref()?, other.target.drive.as_ref()?);
    let gigabytes = gigabytes(printed.model.as_deref()?).filter(|_| printed.bytes.is_none())?;
    let (bytes, published) = (drive.bytes?, gigabytes.saturating_mul(1_000_000_000));
    let ratio = bytes as f64 / published.max(1) as f64;
    let differs = !(1.0 / CAPACITY_FACTOR..CAPACITY_FACTOR).contains(&ratio);
    differs.then(|| format!("capacity: {} here, {} there", decimal(bytes), decimal(published)))
}

/// The source of a published record, with the firmware if the source has several samples of the
/// model.
fn sample_of(run: &Run, samples: &[&Run]) -> String {
    let source = |run: &Run| {
        let origin = run.origin.as_ref().filter(|o| o.kind == OriginKind::Published);
        origin.map(|origin| origin.source.clone()).unwrap_or_default()
    };
    let firmware = |run: &Run| run.target.drive.as_ref().and_then(|d| d.firmware.clone());
    let another = |other: &&&Run| source(other) == source(run) && firmware(other) != firmware(run);
    match (firmware(run), samples.iter().any(|other| another(&other))) {
        (Some(firmware), true) => format!("{}, firmware {firmware}", source(run)),
        _ => source(run),
    }
}

/// The listed conditions that are known for both runs and differ.
fn differing(run: &Run, other: &Run, conditions: &[&str]) -> Vec<String> {
    let conditions_differ = differences(std::slice::from_ref(run), std::slice::from_ref(other));
    // The figures of a virtual drive do not depend on the machine that simulates it.
    let simulated = [run, other].iter().any(|run| run.target.kind == TargetKind::Virtual);
    let decisive = conditions_differ
        .into_iter()
        .filter(|d| conditions.contains(&&*d.what) && !(simulated && HOST.contains(&&*d.what)));
    decisive.filter_map(|d| Some(format!("{}: {} here, {} there", d.what, d.a?, d.b?))).collect()
}

/// Runs the same work on the virtual drive of the target's model, within a fraction of the run's
/// own time. `None` for a virtual drive, an unknown model, or a simulation that takes longer.
pub(crate) fn simulate(
    request: &Request,
    work: &Work<'_>,
    target: &Target,
    took: Duration,
    user: &Arc<AtomicBool>,
) -> Option<Run> {
    if !matches!(target.kind, TargetKind::Device | TargetKind::File | TargetKind::Directory) {
        return None;
    }
    let preset = usual::preset_of(target.drive.as_ref()?.model.as_deref()?)?;
    let spec = format!("{PREFIX}{preset}");
    let target = TargetRequest { spec, size: request.target.size, ..TargetRequest::default() };
    let request = Request { target, ..request.clone() };
    let limit = SIMULATION_MAX.min(took.mul_f64(SHARE));
    within(limit, user, |interrupt| simulated(&request, work, interrupt))
}

fn simulated(request: &Request, work: &Work<'_>, interrupt: &Arc<AtomicBool>) -> Option<Run> {
    let mut stand =
        Stand::open(request, interrupt, Box::new(|_: &Event| {}), None, ScratchUse::USUAL).ok()?;
    let info = stand.rig().target().clone();
    let mut session = Session::new(stand.rig());
    work.run(&mut session).ok()?;
    let Outcome { metrics, .. } = session.finish();
    Some(Run { metrics, state_before: info.state, ..Run::new(work.info.name, info.target) })
}

/// Calls `act`, and interrupts it at the time limit or when the user interrupts the run.
fn within<T>(
    limit: Duration,
    user: &Arc<AtomicBool>,
    act: impl FnOnce(&Arc<AtomicBool>) -> Option<T>,
) -> Option<T> {
    let interrupt = Arc::new(AtomicBool::new(false));
    let (finished, waiting) = mpsc::channel::<()>();
    let (late, user) = (Arc::clone(&interrupt), Arc::clone(user));
    let watch = thread::Builder::new().spawn(move || {
        let end = Instant::now() + limit;
        let time_left = || end.saturating_duration_since(Instant::now());
        while waiting.recv_timeout(time_left().min(LOOK_EVERY)) == Err(RecvTimeoutError::Timeout) {
            if time_left().is_zero() || user.load(Ordering::Relaxed) {
                late.store(true, Ordering::Relaxed);
                return;
            }
        }
    });
    // Without a watching thread there is no limit, so skip the simulation.
    let watch = watch.ok()?;
    let result = act(&interrupt);
    let _ = finished.send(());
    let _ = watch.join();
    result
}

#[cfg(test)]
mod tests {
    use record::{Better, DriveIdentity, Metric, Tile, Unit};
    use rig::TargetInfo;
    use script::Options;

    use super::*;

    /// Document 004 has two samples with the same name; a range belongs to the sample that has it.
    #[test]
    fn samples_of_one_model_are_distinguished_by_firmware() {
        let model = Some("MicroSD SanDisk 4G class 2".to_string());
        let mut run = Run::new("speed", TargetInfo::null(1 << 30).target);
        run.target.drive = Some(DriveIdentity { model, ..DriveIdentity::default() });
        let names = ["speed-read", "speed-write"].map(record::MetricKey::parse);
        let metrics = names.map(|name| Metric::single(name, Unit::BytesPerSecond, 1e6));
        let tiles = metrics
            .iter()
            .map(|metric| Tile::from_metric("tile", metric, Better::Higher))
            .collect();
        let answer = Answer { tiles, ..Answer::new("", "", Stamp::Believable) };
        let found = publications(&answer, &run);
        let of = |firmware: &str| {
            let mine = found.iter().filter(|peer| peer.whose.ends_with(firmware));
            mine.map(|p| (&*p.metric, p.value / 1e6, p.highest)).collect::<Vec<_>>()
        };
        let range = ("speed-write", 6.0, Some(7e6));
        assert_eq!(of("firmware 8.0"), [("speed-read", 20.0, None), range]);
        let late = [("speed-read", 7.2, None), ("speed-write", 3.8, None)];
        assert_eq!(of("firmware 1.0"), late);
        assert_eq!(found.len(), 4);
        // A paced rate is not compared.
        (run.method, run.metrics) = ("stream".into(), Vec::new());
        assert_eq!(publications(&answer, &run).len(), 4);
        let needed = record::MetricKey::parse("stream-exfat.buffer");
        run.metrics = vec![Metric::single(needed, Unit::Bytes, 1e6)];
        assert_eq!(publications(&answer, &run), []);
    }

    #[test]
    fn a_real_drive_is_compared_with_the_virtual_drive_of_its_model() {
        let options = Options { size: Some(16 << 20), seed: 3, ..Options::default() };
        let work = Work::method("speed", &options).expect("a method");
        let user = Arc::new(AtomicBool::new(false));
        let drive =
            |model: &str| DriveIdentity { model: Some(model.into()), ..DriveIdentity::default() };
        let place = TargetInfo::null(1 << 30).target;
        let on = |kind, model| Target { kind, drive: Some(drive(model)), ..place.clone() };
        let simulate =
            |place: &Target, took| simulate(&Request::on("/dev/sdx"), &work, place, took, &user);
        let card = on(TargetKind::Device, "SD Transcend 4G 150x");
        let hour = Duration::from_secs(3600);
        let model = simulate(&card, hour).expect("a simulation");
        assert_eq!(model.target.spec, "sim:sd-150x");
        assert!(
            model.metrics.iter().any(|metric| metric.name == "speed-read"),
            "{:?}",
            model.metrics
        );
        // A run of no time leaves none for the simulation.
        assert!(simulate(&card, Duration::ZERO).is_none());
        let unknown = on(TargetKind::Device, "QEMU NVMe Ctrl");
        let simulated = on(TargetKind::Virtual, "SD Transcend 4G 150x");
        for place in [unknown, simulated] {
            assert!(simulate(&place, hour).is_none());
        }
    }

    #[test]
    fn a_simulation_that_takes_too_long_is_interrupted() {
        let until_late = |late: &Arc<AtomicBool>| {
            while !late.load(Ordering::Relaxed) {
                thread::yield_now();
            }
            None::<u32>
        };
        let hour = Duration::from_secs(3600);
        let [silent, asked] = [false, true].map(|user| Arc::new(AtomicBool::new(user)));
        assert_eq!(within(Duration::ZERO, &silent, until_late), None);
        assert_eq!(within(hour, &asked, until_late), None);
        assert_eq!(within(hour, &silent, |_| Some(7)), Some(7));
    }
}
