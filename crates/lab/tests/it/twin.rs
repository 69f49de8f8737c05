//! `drives check` judged by its generator: drives drawn by seed are changed in one way, and the check
//! must name that way or none. Undisturbed drives must be the same as before.
//!
//! `SSDYNO_TWIN_SEED` and `SSDYNO_TWIN_CASES` draw others and more.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use fuzz::Random;
use lab::twin::{self, DriveChange, Twin, TwinVerdict};
use lab::{Options, Request, Work};
use record::{Health, Run};

use crate::quiet::Quiet;

/// Drives with throttle steps, whose links can be slower, so that each change can show.
const DRIVES: [&str; 5] = [
    "samsung-970-pro-1t",
    "samsung-970-evo-plus-500",
    "crucial-mx500-250",
    "crucial-bx500-240",
    "class=pcie3-8ch",
];

/// What is done to a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Disturbance {
    None,
    Wear,
    Heat,
    Link,
    /// The drive of another preset, under its own name.
    Exchanged,
    /// Other flash and another controller under the same name and capacity.
    Disguised,
}

const DISTURBANCES: [Disturbance; 6] = [
    Disturbance::None,
    Disturbance::Wear,
    Disturbance::Heat,
    Disturbance::Link,
    Disturbance::Exchanged,
    Disturbance::Disguised,
];

impl Disturbance {
    /// The cause that a check may name; `None`: none.
    fn cause(self) -> Option<DriveChange> {
        match self {
            Disturbance::Wear => Some(DriveChange::Wear),
            Disturbance::Heat => Some(DriveChange::Heat),
            Disturbance::Link => Some(DriveChange::Link),
            Disturbance::Exchanged | Disturbance::Disguised => Some(DriveChange::AnotherDrive),
            Disturbance::None => None,
        }
    }
}

/// A drive, before and after.
struct Case {
    disturbance: Disturbance,
    twin: String,
    target: String,
    /// Whether the drive reports neither wear, nor temperature, nor its link.
    is_silent: bool,
}

fn draw(random: &mut Random, number: usize) -> Case {
    let disturbance = DISTURBANCES[number % DISTURBANCES.len()];
    let place = random.below(DRIVES.len());
    let factor = |random: &mut Random| 0.8 + random.below(50) as f64 / 100.0;
    let flash = format!(
        "nand.read_us={:.0}&nand.program_us={:.0}&command.latency_us={:.1}&seed={}",
        60.0 * factor(random),
        700.0 * factor(random),
        9.0 * factor(random),
        1 + random.below(1000)
    );
    let on = |preset: &str| {
        let separator = if preset.starts_with("class=") { '&' } else { '?' };
        format!("sim:{preset}{separator}capacity=2GiB&slc=256MiB&{flash}")
    };
    let twin = on(DRIVES[place]);
    let target = match disturbance {
        Disturbance::None => twin.clone(),
        Disturbance::Wear => format!("{twin}&wear={:.2}", 0.5 + random.below(60) as f64 / 100.0),
        Disturbance::Heat => {
            format!("{twin}&temperature={}&cooled=false", 40 + random.below(45))
        }
        Disturbance::Link => {
            let is_sata = DRIVES[place].starts_with("crucial");
            let links = if is_sata { ["sata-2", "sata-1"] } else { ["pcie-2x1", "pcie-3x1"] };
            format!("{twin}&link={}", links[random.below(2)])
        }
        Disturbance::Exchanged => on(DRIVES[(place + 1 + random.below(3)) % DRIVES.len()]),
        Disturbance::Disguised => {
            let keys =
                ["nand.read_us=140", "nand.dies=2", "command.read_us=20", "nand.bus_mb_s=90"];
            let first = random.below(keys.len());
            format!("{twin}&{}&{}", keys[first], keys[(first + 1) % keys.len()])
        }
    };
    Case { disturbance, twin, target, is_silent: random.below(5) == 0 }
}

fn run(target: &str, seed: u64, store: &Path) -> Run {
    let mut request = Request { store: Some(store.to_path_buf()), ..Request::on(target) };
    request.instrument.seed = seed;
    let options = Options {
        time: Some(Duration::from_secs(5)),
        size: Some(128 << 20),
        replicates: Some(2),
        seed,
        ..Options::default()
    };
    let work = Work::method("quick", &options).expect("a method");
    let interrupt = Arc::new(AtomicBool::new(false));
    let planned = request.plan(&work).expect("a plan");
    let begun = planned.begin(Box::new(Quiet), &interrupt).expect("it begins");
    let recorded = begun.run(&interrupt);
    recorded.ended.and(recorded.kept).expect("it ends well");
    recorded.run
}

fn silenced(mut run: Run) -> Run {
    run.health_after = None;
    if let Some(drive) = &mut run.target.drive {
        drive.health = Health::default();
        drive.link = None;
    }
    run.series.clear();
    run
}

fn number(variable: &str, usual: u64) -> u64 {
    std::env::var(variable).map_or(usual, |text| text.parse().expect("a number"))
}

#[test]
fn a_change_is_named_rightly_or_not_at_all() {
    let seed = number("SSDYNO_TWIN_SEED", 1);
    let cases = number("SSDYNO_TWIN_CASES", 12) as usize;
    let mut random = Random::new(seed);
    let place = tempfile::tempdir().expect("a directory");
    let interrupt = Arc::new(AtomicBool::new(false));
    let mut counts: BTreeMap<(Disturbance, &str), usize> = BTreeMap::new();
    for number in 0..cases {
        let case = draw(&mut random, number);
        let store = place.path().join(format!("{number}.sqlite"));
        let mut run = run(&case.target, 1 + random.below(1 << 20) as u64, &store);
        if case.is_silent {
            run = silenced(run);
        }
        let twin = Twin::read(&case.twin).expect("a drive");
        let check = twin::check(&twin, &run, &[], &interrupt).expect("checked");
        let judgement = match (check.verdict, case.disturbance.cause()) {
            (TwinVerdict::Same, None) => "same",
            (TwinVerdict::Same, Some(_)) => "unnoticed",
            (TwinVerdict::Changed(change), Some(cause)) if change == cause => "named",
            (TwinVerdict::Undetermined, Some(_)) => "undetermined",
            (TwinVerdict::Undetermined, None) => "alarmed",
            _ => "WRONG",
        };
        println!(
            "{:?}{}: {judgement}: {}",
            case.disturbance,
            if case.is_silent { ", silent" } else { "" },
            check.sentence
        );
        let drives = format!("seed {seed}, case {number}: {} against {}", case.target, case.twin);
        assert_ne!(judgement, "WRONG", "{drives}\n{check:#?}");
        *counts.entry((case.disturbance, judgement)).or_default() += 1;
    }
    println!("twin: {counts:?}");
    // A figure of the same drive may lie beyond its band by chance; then nothing is named.
    let count = |word| counts.get(&(Disturbance::None, word)).copied().unwrap_or_default();
    assert!(20 * count("alarmed") <= (count("same") + count("alarmed")).max(20), "{counts:?}");
    let named: usize =
        counts.iter().filter(|((_, word), _)| *word == "named").map(|(_, count)| count).sum();
    assert!(4 * named >= cases, "only {named} of {cases} were named: {counts:?}");
}
