//! Perturbed drives: for every method a drive, and the same drive with the one property changed
//! that the method looks for. The verdict and the answer must follow, and nothing else of them may
//! change unnoticed.

mod reviewed;

use std::collections::BTreeMap;
use std::time::Duration;

use record::Safety;
use script::test_drive::{Fake, FlashTraits, Traits, perform};
use script::{Options, Outcome};

use crate::{ALL, find};
use reviewed::difference;

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// A method, two drives that differ in one property, and what the method says of each.
struct Flip {
    method: &'static str,
    /// Seconds of `--time`; 0 for the default.
    seconds: u64,
    options: Vec<(&'static str, &'static str)>,
    drives: [Fake; 2],
    /// A verdict or a finding of one drive only.
    concludes: [&'static str; 2],
    /// Words of the answer's sentence that is about one drive only.
    says: [&'static str; 2],
}

impl Flip {
    fn new(method: &'static str, seconds: u64, drives: [Fake; 2]) -> Flip {
        let (concludes, says) = ([""; 2], [""; 2]);
        Flip { method, seconds, options: Vec::new(), drives, concludes, says }
    }

    fn with(mut self, option: &'static str, value: &'static str) -> Flip {
        self.options.push((option, value));
        self
    }

    fn concludes(self, concludes: [&'static str; 2]) -> Flip {
        Flip { concludes, ..self }
    }

    fn says(self, says: [&'static str; 2]) -> Flip {
        Flip { says, ..self }
    }

    /// Runs the method on both drives.
    fn run(&mut self) -> [Said; 2] {
        let method = find(self.method).expect("a method");
        let time = (self.seconds > 0).then(|| Duration::from_secs(self.seconds));
        let mut options = Options { time, ..Options::default() };
        for (name, value) in &self.options {
            let option = method.options.iter().find(|option| option.name() == *name);
            options.parse(*option.expect("declared"), &[value.to_string()]).expect("in range");
        }
        self.drives.each_mut().map(|drive| {
            let mut out = Outcome::default();
            let result = perform(method, drive, &options, &mut out);
            let verdicts = out.verdicts.iter().map(|verdict| verdict.kind.name().to_string());
            let warnings = out.warnings.iter().map(|warning| warning.kind.name().to_string());
            let kinds = verdicts.chain(warnings).collect();
            let text = reviewed::text(&out);
            let sentence = out.answer.map(|answer| answer.headline);
            let sentence = sentence.unwrap_or_else(|| format!("no answer: {result:?}"));
            Said { sentence, kinds, text }
        })
    }
}

/// Eight channels at 10 MB/s with commands of 1 ms: few operations in much virtual time.
fn slow(flash: FlashTraits) -> Traits {
    Traits { rate: 10e6, command_ns: 1_000_000, noise: 0.01, flash, ..Traits::default() }
}

/// A drive that was given away, and the same with another property.
fn drives(bytes: u64, flash: FlashTraits, change: impl Fn(&mut FlashTraits)) -> [Fake; 2] {
    let mut other = flash.clone();
    change(&mut other);
    [flash, other].map(|flash| Fake::confirmed(slow(flash), bytes))
}

/// A scratch file on a plain drive, and on one with another property.
fn files(change: impl Fn(&mut Traits)) -> [Fake; 2] {
    let mut other = Traits::default();
    change(&mut other);
    [Traits::default(), other].map(Fake::new)
}

fn faster(mut fake: Fake) -> Fake {
    fake.traits.rate = 100e6;
    fake
}

fn file() -> Fake {
    Fake::new(Traits::default())
}

fn slow_file() -> Fake {
    Fake::new(slow(FlashTraits::default()))
}

fn plain() -> Fake {
    Fake::confirmed(Traits::default(), 256 * MIB)
}

fn small() -> Fake {
    Fake::confirmed(Traits::default(), 16 * MIB)
}

fn unhurried() -> Fake {
    Fake::confirmed(slow(FlashTraits::default()), 128 * MIB)
}

/// A frame of 1 MiB takes 8 ms on each of the channels.
fn recorder() -> Fake {
    let traits = Traits { rate: MIB as f64 / 7e-3, command_ns: 1_000_000, ..Traits::default() };
    Fake::confirmed(Traits { flush_ns: 1_000_000, ..traits }, 256 * MIB)
}

/// The same drive twice, the second with a change.
fn twice(drive: impl Fn() -> Fake, change: impl Fn(&mut Fake)) -> [Fake; 2] {
    let mut other = drive();
    change(&mut other);
    [drive(), other]
}

fn linked(ceiling: f64) -> Fake {
    let mut fake = Fake::new(Traits::default());
    let ceiling_bytes_per_s = Some(ceiling);
    let link = record::Link { ceiling_bytes_per_s, ..record::Link::default() };
    fake.info.target.drive.get_or_insert_default().link = Some(link);
    fake
}

/// A stick with transfers of 16 KiB, 32 MB/s beside this time of a command.
fn stick(command_ns: u64) -> Fake {
    let traits = Traits { command_ns, rate: 32e6, noise: 0.0, ..Traits::default() };
    let mut fake = Fake::confirmed(traits, 100 * MIB);
    fake.info.allowed = Safety::Borrows;
    fake.info.target.drive.get_or_insert_default().transfer_max_bytes = Some(16 << 10);
    fake
}

/// A drive that is only read.
fn read_only(bytes: u64) -> Fake {
    let mut fake = Fake::confirmed(Traits { noise: 0.0, ..Traits::default() }, bytes);
    (fake.info.allowed, fake.filled) = (Safety::Reads, bytes);
    fake
}

/// Erase blocks of 4 MiB, of which so many stay open.
fn of_open_blocks(count: usize) -> Fake {
    let (boundary, open) = (Some((4 * MIB, 50_000)), Some((4 * MIB, count, 20_000_000)));
    let traits = Traits { noise: 0.0, boundary, open, ..Traits::default() };
    let mut fake = Fake::confirmed(traits, 256 * MIB);
    fake.info.logical_block_bytes = 4096;
    fake
}

fn with_ram_disc(rate: f64) -> Fake {
    let mut fake = Fake::new(Traits { noise: 0.0, rate, ..Traits::default() });
    let fast = Traits { rate: 5e9, command_ns: 8_000, noise: 0.0, ..Traits::default() };
    fake.reference = Some(Box::new(Fake::new(fast)));
    fake
}

fn noisy(bytes: u64) -> [Fake; 2] {
    let noisy = |noise| Fake::confirmed(Traits { noise, ..slow(FlashTraits::default()) }, bytes);
    [noisy(0.01), noisy(0.5)]
}

/// Methods about the truth of the figures of a file or a drive.
fn of_figures() -> Vec<Flip> {
    vec![
        Flip::new("quick", 12, [linked(40e9), linked(3.9e9)])
            .concludes(["", "LINK"])
            .says(["IOPS.", "The link limits"]),
        Flip::new("quick", 12, files(|t| t.lies = true))
            .concludes(["DRIVE", "RAM"])
            .says(["Reads ", "These are not the drive's numbers"]),
        Flip::new("authentic", 12, files(|t| t.zeros_gain = 2.0))
            .concludes(["INCOMPRESSIBLE", "COMPRESSIBLE"])
            .says(["No tricks found.", "Writes are compressed: zeros are "]),
        Flip::new("authentic", 12, files(|t| t.flush_ns = 2_000))
            .concludes(["FLUSH PLAUSIBLE", "FLUSH"])
            .says(["No tricks found.", "too fast to be real."]),
        Flip::new("authentic", 12, files(|t| t.cache_bytes = 8 * MIB))
            .concludes(["NO DEVICE CACHE", "DEVICE CACHE"])
            .says(["No tricks found.", "The drive serves small working sets from its own cache."]),
        Flip::new("fake", 0, twice(plain, |fake| fake.door.keeps = Some(10)))
            .concludes(["CAPACITY REAL", "CONTENT LOST"])
            .says(["The capacity of 268 MB is real.", "The drive loses content"]),
        Flip::new("iozone", 0, twice(plain, |fake| fake.stays_cached = Some(16 * MIB)))
            .concludes(["", "cache-not-dropped"]),
        Flip::new("command", 0, twice(file, |fake| fake.exits = vec![7]))
            .with("command", "true")
            .concludes(["COMMAND", "FAILED"])
            .says(["Takes ", "The command failed after "]),
        Flip::new("mark", 17, [with_ram_disc(500e6), with_ram_disc(100e6)])
            .says(["Loads files at 498 MB/s", "Loads files at 99.9 MB/s"]),
        Flip::new("iometer", 20, twice(slow_file, |fake| fake.traits.command_ns = 3_000_000)),
    ]
}

/// Methods about the behaviour of a whole drive.
fn of_drives() -> Vec<Flip> {
    let worn = FlashTraits { full_cost: 4.0, ragged_cost: 1.5, ..FlashTraits::default() };
    let hot =
        FlashTraits { rise_k: 60.0, inertia_s: 100.0, throttle_c: 200.0, ..FlashTraits::default() };
    vec![
        Flip::new(
            "sustain",
            0,
            drives(GIB, FlashTraits::default(), |flash| {
                (flash.cache_bytes, flash.cache_gain, flash.folding) = (200 * MIB, 4.0, 2.0)
            }),
        )
        .concludes(["NO CACHE END", "CACHE END"])
        .says(["", "206 MB at 303 MB/s, then 39.9 MB/s"]),
        Flip::new(
            "states",
            500,
            drives(GIB, FlashTraits::default(), |flash| flash.full_cost = 4.0),
        )
        .concludes(["FULL IS FAST", "UNTRIMMED"])
        .says(["full or fresh", "When full, random writes fall"]),
        Flip::new("states", 500, drives(GIB, worn.clone(), |flash| flash.ignores_discard = true))
            .concludes(["DISCARD RESTORES", ""])
            .says(["a discard restores all of it", ""]),
        Flip::new("trim", 60, drives(GIB, worn, |flash| flash.ignores_discard = true))
            .concludes(["TRIM WORKS", "NO TRIM"])
            .says(["TRIM works", "TRIM is accepted and does nothing"]),
        Flip::new(
            "zones",
            0,
            twice(
                || {
                    let mut fake = Fake::confirmed(
                        slow(FlashTraits { ragged_cost: 2.0, ..FlashTraits::default() }),
                        GIB,
                    );
                    fake.wear(0..GIB, 0..0);
                    fake.info.allowed = Safety::Reads;
                    fake
                },
                |fake| fake.wear(0..GIB, 0..GIB / 3),
            ),
        )
        .says(["Equally fast in all parts", "The first third is 2.0 times slower"]),
        Flip::new(
            "align",
            20,
            drives(GIB, FlashTraits::default(), |flash| flash.crossing_cost = 8.0),
        )
        .concludes(["ALIGNMENT IS FREE", "MISALIGNED"])
        .says(["Alignment makes no visible difference", "Misaligned 4 KiB writes are 8."]),
        Flip::new("heat", 2000, drives(16 * GIB, hot, |flash| flash.throttle_c = 75.0))
            .concludes(["COOL", "HEAT"])
            .says(["No throttling: ", "Throttles after "]),
        Flip::new(
            "curve",
            20,
            twice(
                || Fake::confirmed(Traits { noise: 0.0, ..slow(FlashTraits::default()) }, 64 * MIB),
                |fake| fake.traits.channels = 4,
            ),
        )
        .says(["Keeps up with 5.7k IOPS", "Keeps up with 2.8k IOPS"]),
        Flip::new("speed", 600, [stick(40_000), stick(2_000_000)])
            .concludes(["DATA-BOUND", "PER-COMMAND"])
            .says(["a command costs 40.0 us", "a command costs 2.00 ms"]),
        Flip::new(
            "sdclass",
            0,
            twice(plain, |fake| fake.door.stalls = vec![(200 * MIB, 300_000_000)]),
        )
        .says(["C10, U3, V90, A2", "The card meets C6, A2 on this host."]),
        Flip::new(
            "geometry",
            0,
            twice(|| read_only(256 * MIB), |fake| fake.traits.boundary = Some((4 * MIB, 50_000))),
        )
        .concludes(["UNDETERMINED", "GEOMETRY"])
        .says(["Undetermined", "4 MiB erase blocks."]),
        Flip::new("geometry", 0, [of_open_blocks(3), of_open_blocks(6)])
            .says(["4 MiB erase blocks, 3 open at once.", "4 MiB erase blocks, 6 open at once."]),
        Flip::new(
            "power",
            0,
            twice(
                || read_only(256 * MIB),
                |fake| fake.traits.sleep = Some((Duration::from_secs(2), 5_000_000)),
            ),
        )
        .concludes(["NO POWER STATE", "POWER STATE"])
        .says(["No sign of sleep after rests of up to", "Asleep after 3.0 s of rest"]),
        Flip::new("wear", 0, twice(small, |fake| fake.door.keeps = Some(300)))
            .with("amount", "40MiB")
            .concludes(["ENDURED", "CONTENT LOST"])
            .says(["without an error", "blocks differ"]),
        Flip::new("wear", 0, twice(small, |fake| fake.door.dead_from = Some(15 * MIB)))
            .with("amount", "40MiB")
            .concludes(["ENDURED", "WEAR"])
            .says(["without an error", "The drive died after"]),
        Flip::new(
            "lbaf",
            20,
            drives(GIB, FlashTraits::default(), |flash| flash.small_block_cost = 1.5)
                .map(Fake::that_formats),
        )
        .says(["as fast as 512-byte blocks", "random writes 1.49 times as fast"]),
        Flip::new(
            "stream",
            0,
            twice(recorder, |fake| fake.door.stalls = vec![(40 * MIB, 300_000_000)]),
        )
        .with("rate", "500MB/s")
        .says(["Yes: 500 MB/s", "No: 500 MB/s loses "]),
        Flip::new("cluster", 20, twice(plain, |fake| fake.traits.command_ns = 1))
            .with("fs", "exfat")
            .says(["units write at or near", "Even the smallest units, 2 KiB,"]),
    ]
}

/// The tests of SNIA's specification.
fn of_snia() -> Vec<Flip> {
    vec![
        Flip::new("snia-iops", 3000, noisy(128 * MIB)).concludes(["STEADY", "NOT STEADY"]),
        Flip::new("snia-throughput", 200, noisy(128 * MIB)).concludes(["STEADY", "NOT STEADY"]),
        Flip::new("snia-latency", 100, noisy(128 * MIB))
            .concludes(["PTS-STEADY ONLY", "NOT STEADY"]),
        Flip::new(
            "snia-wsat",
            600,
            drives(128 * MIB, FlashTraits::default(), |flash| {
                (flash.cache_bytes, flash.cache_gain) = (16 * MIB, 3.0)
            }),
        )
        .says(["random-write IOPS from the first round", "Falls from "]),
        Flip::new(
            "snia-hir",
            300,
            drives(
                128 * MIB,
                FlashTraits { cache_bytes: 16 * MIB, cache_gain: 3.0, ..FlashTraits::default() },
                |flash| flash.cache_back_per_s = 1e6,
            ),
        )
        .says(["Idle periods change nothing", "Idle periods of "]),
        Flip::new(
            "snia-xsr",
            80,
            drives(512 * MIB, FlashTraits::default(), |flash| flash.ragged_cost = 1.5).map(faster),
        )
        .says(["Sequential writes recover at once", " after random ones"]),
        Flip::new("snia-dirth", 100, twice(unhurried, |fake| fake.traits.channels = 1))
            .says(["IOPS at most, with ", "IOPS at most, with "]),
    ]
}

/// Methods whose flip is elsewhere.
const ELSEWHERE: [(&str, &str); 1] =
    [("restore", "restore/tests.rs: the_same_image_is_held_back_by_its_source_or_by_a_slow_drive")];

/// The method that times a program of this machine, the others a virtual drive.
const TIMED_BY_A_CLOCK: &str = "command";

/// What a method says of a drive: its sentence, verdicts and findings, and all of it.
struct Said {
    sentence: String,
    kinds: Vec<String>,
    text: String,
}

/// The wrong sides of a flip.
fn faults(flip: &Flip, sides: &[Said; 2]) -> Vec<String> {
    let Flip { method, concludes, says, .. } = flip;
    let mut faults = Vec::new();
    for (side, said) in sides.iter().enumerate() {
        let other = 1 - side;
        let has = |kind: &str| said.kinds.iter().any(|known| known == kind);
        let concluded = concludes[side].is_empty() || has(concludes[side]);
        let instead = !concludes[other].is_empty() && has(concludes[other]);
        if !concluded || instead || !said.sentence.contains(says[side]) {
            faults.push(format!("{method}, {side}: {} {:?}", said.sentence, said.kinds));
        }
    }
    if sides[0].sentence == sides[1].sentence && *concludes == [""; 2] {
        faults.push(format!("{method}: {} of both", sides[0].sentence));
    }
    faults
}

fn check(flips: Vec<Flip>) {
    let (mut faults_found, mut texts) = (Vec::new(), BTreeMap::<&str, Vec<String>>::new());
    for mut flip in flips {
        let sides = flip.run();
        faults_found.extend(faults(&flip, &sides));
        texts.entry(flip.method).or_default().extend(sides.map(|said| said.text));
    }
    texts.remove(TIMED_BY_A_CLOCK);
    faults_found.extend(texts.iter().filter_map(|(name, texts)| difference(name, texts)));
    assert!(faults_found.is_empty(), "{}", faults_found.join("\n"));
}

#[test]
fn answers_about_figures_follow_the_drive() {
    check(of_figures());
}

#[test]
fn answers_about_whole_drives_follow_the_drive() {
    check(of_drives());
}

#[test]
fn answers_of_the_specification_follow_the_drive() {
    check(of_snia());
}

#[test]
fn every_method_has_a_drive_that_changes_its_answer() {
    let flips = [of_figures(), of_drives(), of_snia()];
    let methods: Vec<&str> = flips.iter().flatten().map(|flip| flip.method).collect();
    for method in ALL {
        let elsewhere = ELSEWHERE.iter().any(|(name, _)| *name == method.name);
        assert!(methods.contains(&method.name) != elsewhere, "{}", method.name);
    }
}
