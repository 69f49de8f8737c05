//! `drives check` judged by its generator: drives drawn by seed are changed in one way, and the check
//! must name that way or none. Undisturbed drives must be the same as before. The twin is the drive's own
//! description, or was fitted to a run of it.
//!
//! `SSDYNO_TWIN_SEED` draws others, `SSDYNO_TWIN_CASES` and `SSDYNO_TWIN_FITTED` more, with their own
//! descriptions and with fitted ones.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use fuzz::Random;
use lab::Options;
use lab::fit::Measurements;
use lab::twin::{self, DriveChange, Twin, TwinCheck, TwinVerdict};
use record::{Health, Run};

use crate::recorded::recorded;

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

/// A drive drawn by seed: its preset or class, and its name.
struct Drawn {
    place: usize,
    name: String,
}

/// A drive, before and after.
struct Case {
    disturbance: Disturbance,
    /// The drive before.
    drive: String,
    /// The drive now.
    target: String,
    options: Options,
    /// Whether the drive reports neither wear, nor temperature, nor its link.
    is_silent: bool,
}

impl Drawn {
    fn draw(random: &mut Random) -> Drawn {
        let place = random.below(DRIVES.len());
        let flash = flash(random);
        Drawn { place, name: on(DRIVES[place], &flash) }
    }

    /// The drive after a disturbance.
    fn disturbed(&self, disturbance: Disturbance, random: &mut Random) -> String {
        let name = &self.name;
        match disturbance {
            Disturbance::None => name.clone(),
            Disturbance::Wear => {
                format!("{name}&wear={:.2}", 0.5 + random.below(60) as f64 / 100.0)
            }
            Disturbance::Heat => {
                format!("{name}&temperature={}&cooled=false", 40 + random.below(45))
            }
            Disturbance::Link => {
                let is_sata = DRIVES[self.place].starts_with("crucial");
                let links = if is_sata { ["sata-2", "sata-1"] } else { ["pcie-2x1", "pcie-3x1"] };
                format!("{name}&link={}", links[random.below(2)])
            }
            Disturbance::Exchanged => {
                let place = (self.place + 1 + random.below(3)) % DRIVES.len();
                on(DRIVES[place], &flash(random))
            }
            Disturbance::Disguised => {
                let keys =
                    ["nand.read_us=140", "nand.dies=2", "command.read_us=20", "nand.bus_mb_s=90"];
                let first = random.below(keys.len());
                format!("{name}&{}&{}", keys[first], keys[(first + 1) % keys.len()])
            }
        }
    }
}

/// A small drive of a preset or class with this flash.
fn on(preset: &str, flash: &str) -> String {
    let separator = if preset.starts_with("class=") { '&' } else { '?' };
    format!("sim:{preset}{separator}capacity=2GiB&slc=256MiB&{flash}")
}

fn flash(random: &mut Random) -> String {
    let mut factor = || 0.8 + random.below(50) as f64 / 100.0;
    let [read, program, latency] = [60.0 * factor(), 700.0 * factor(), 9.0 * factor()];
    let seed = 1 + random.below(1000);
    format!(
        "nand.read_us={read:.0}&nand.program_us={program:.0}&command.latency_us={latency:.1}&seed={seed}"
    )
}

/// Options of a short `quick`.
fn short(random: &mut Random) -> Options {
    Options {
        time: Some(Duration::from_secs(5)),
        size: Some(128 << 20),
        replicates: Some(2),
        seed: 1 + random.below(1 << 20) as u64,
        ..Options::default()
    }
}

/// The command of a run of `quick` with [`short`] options.
fn command(target: &str, options: &Options, store: &str) -> String {
    let (seconds, bytes) = (options.time.unwrap_or_default().as_secs(), options.size.unwrap_or(0));
    let (replicates, seed) = (options.replicates.unwrap_or(0), options.seed);
    format!(
        "ssdyno run '{target}' -m quick --time {seconds}s --size {bytes} --replicates {replicates} \
         --seed {seed} --store {store}"
    )
}

/// A run of the drive as it is now.
fn run(case: &Case, store: &Path) -> Run {
    let run = recorded("quick", &case.target, &case.options, store);
    if case.is_silent { silenced(run) } else { run }
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

/// Words for what a check said, the worst last.
const JUDGEMENTS: [&str; 6] = ["named", "same", "unnoticed", "undetermined", "alarmed", "WRONG"];

fn judgement(verdict: TwinVerdict, disturbance: Disturbance) -> &'static str {
    match (verdict, disturbance.cause()) {
        (TwinVerdict::Same, None) => "same",
        (TwinVerdict::Same, Some(_)) => "unnoticed",
        (TwinVerdict::Changed(change), Some(cause)) if change == cause => "named",
        (TwinVerdict::Undetermined, Some(_)) => "undetermined",
        (TwinVerdict::Undetermined, None) => "alarmed",
        _ => "WRONG",
    }
}

/// What the checks of all cases said.
#[derive(Default)]
struct Tally {
    counts: BTreeMap<(Disturbance, &'static str), usize>,
    /// The worst check: its judgement, how far its widest figure was beyond the band, and its commands.
    worst: Option<(usize, f64, String)>,
}

impl Tally {
    /// Counts a check. Fails the test if it named a cause wrongly.
    fn count(&mut self, case: &Case, check: &TwinCheck, commands: &str) {
        let judgement = judgement(check.verdict, case.disturbance);
        let silent = if case.is_silent { ", silent" } else { "" };
        println!("{:?}{silent}: {judgement}: {}", case.disturbance, check.sentence);
        if judgement == "alarmed" {
            println!("   {commands}");
        }
        assert_ne!(judgement, "WRONG", "{commands}\n{check:#?}");
        let beyond = check.figures.iter().map(|figure| {
            libm::log(figure.measured / figure.expected).abs() / libm::log(figure.band_factor)
        });
        let beyond = beyond.fold(0.0, f64::max);
        let rank = JUDGEMENTS.iter().position(|word| *word == judgement).unwrap_or(0);
        if self.worst.as_ref().is_none_or(|(r, b, _)| (*r, *b) < (rank, beyond)) {
            self.worst = Some((rank, beyond, format!("{:?}: {commands}", case.disturbance)));
        }
        *self.counts.entry((case.disturbance, judgement)).or_default() += 1;
    }

    /// How many checks of drives with this disturbance said so.
    fn of(&self, is_counted: impl Fn(Disturbance, &str) -> bool) -> usize {
        let counted = self.counts.iter().filter(|((cause, word), _)| is_counted(*cause, word));
        counted.map(|(_, count)| count).sum()
    }

    fn judge(&self, named_min: usize) {
        let counts = &self.counts;
        println!("twin: {counts:?}");
        if let Some((rank, beyond, commands)) = &self.worst {
            println!("worst: {}, {beyond:.1} bands, {commands}", JUDGEMENTS[*rank]);
        }
        // A figure of the same drive may lie beyond its band by chance; then nothing is named.
        let undisturbed = self.of(|cause, _| cause == Disturbance::None);
        let alarmed = self.of(|_, word| word == "alarmed");
        assert!(20 * alarmed <= undisturbed.max(20), "{counts:?}");
        let named = self.of(|_, word| word == "named");
        assert!(named >= named_min, "only {named} were named: {counts:?}");
    }
}

#[test]
fn a_change_is_named_rightly_or_not_at_all() {
    let seed = number("SSDYNO_TWIN_SEED", 1);
    let cases = number("SSDYNO_TWIN_CASES", 12) as usize;
    let mut random = Random::new(seed);
    let place = tempfile::tempdir().expect("a directory");
    let interrupt = Arc::new(AtomicBool::new(false));
    let mut tally = Tally::default();
    for number in 0..cases {
        let drawn = Drawn::draw(&mut random);
        let disturbance = DISTURBANCES[number % DISTURBANCES.len()];
        let case = Case {
            disturbance,
            target: drawn.disturbed(disturbance, &mut random),
            drive: drawn.name,
            is_silent: random.below(5) == 0,
            options: short(&mut random),
        };
        let run = run(&case, &place.path().join(format!("{number}.sqlite")));
        let twin = Twin::read(&case.drive).expect("a drive");
        let check = twin::check(&twin, &run, &[], &interrupt).expect("checked");
        let commands = format!(
            "{} && ssdyno drives check '{}' 1 --store now",
            command(&case.target, &case.options, "now"),
            case.drive
        );
        tally.count(&case, &check, &commands);
    }
    tally.judge(cases.div_ceil(4));
}

/// The bases that a user fits from: none, the preset or class of the drive, and another one's.
fn base(drawn: &Drawn, random: &mut Random) -> Option<&'static str> {
    match random.below(3) {
        0 => None,
        1 => Some(DRIVES[drawn.place]),
        _ => Some(DRIVES[(drawn.place + 1) % DRIVES.len()]),
    }
}

/// A twin that was fitted to one run of the drive is as good as its fit: a cause that the drive reports
/// is found, although some figures of the twin are further off than others.
#[test]
fn a_fitted_twin_names_changes_rightly_or_not_at_all() {
    let seed = number("SSDYNO_TWIN_SEED", 1);
    let cases = number("SSDYNO_TWIN_FITTED", 6) as usize;
    let mut random = Random::new(seed);
    let place = tempfile::tempdir().expect("a directory");
    let interrupt = Arc::new(AtomicBool::new(false));
    let mut tally = Tally::default();
    for number in 0..cases.div_ceil(DISTURBANCES.len()) {
        let mut drawn = Drawn::draw(&mut random);
        // The twin of a drive that was worn already is not worn twice.
        if random.below(3) == 0 {
            drawn.name += "&wear=0.2";
        }
        let base = base(&drawn, &mut random);
        let options = short(&mut random);
        let store = place.path().join(format!("{number}.sqlite"));
        let before = recorded("quick", &drawn.name, &options, &store);
        let measurements = Measurements::from_runs("twin", std::slice::from_ref(&before));
        let fitted = measurements.expect("measurements").fit(base).expect("fitted");
        let file = place.path().join(format!("{number}.toml"));
        fs::write(&file, &fitted.toml).expect("written");
        let twin = Twin::read(&file.display().to_string()).expect("a drive");
        let fit = format!(
            "{} && ssdyno drives fit 1 --store then -o twin.toml{}",
            command(&drawn.name, &options, "then"),
            base.map_or(String::new(), |base| format!(" --base '{base}'"))
        );
        for disturbance in DISTURBANCES.into_iter().take(cases - number * DISTURBANCES.len()) {
            let case = Case {
                disturbance,
                target: drawn.disturbed(disturbance, &mut random),
                drive: drawn.name.clone(),
                is_silent: random.below(5) == 0,
                options: Options { size: Some(64 << 20 << random.below(3)), ..short(&mut random) },
            };
            // The store in which the user checks has the fitted run or not.
            let has_earlier = random.below(3) == 0;
            let (kept_in, word, earlier) = if has_earlier {
                (store.clone(), "then", std::slice::from_ref(&before))
            } else {
                (place.path().join(format!("{number}-{disturbance:?}.sqlite")), "now", &[][..])
            };
            let run = run(&case, &kept_in);
            let check = twin::check(&twin, &run, earlier, &interrupt).expect("checked");
            let commands = format!(
                "{fit} && {} && ssdyno drives check twin.toml last --store {word}",
                command(&case.target, &case.options, word)
            );
            tally.count(&case, &check, &commands);
        }
    }
    tally.judge(cases.div_ceil(4));
}
