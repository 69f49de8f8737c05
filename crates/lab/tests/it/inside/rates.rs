//! Error rates of the methods that detect a drive's internals. Each answer is compared with the
//! preset, over several specimens, sessions and seeds. `cargo xtask bench inside` runs 20 seeds;
//! the test suite runs one.

mod figures;

use model::DriveSpec;
use script::Options;
use workload::OpKind;

use super::{find, preset, run_with};

/// One run's answer compared with the truth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Judged {
    Right,
    Undetermined,
    False,
}

impl Judged {
    /// Right or false, for a run that gave an answer.
    fn answered(right: bool) -> Judged {
        if right { Judged::Right } else { Judged::False }
    }
}

/// The drive for this seed: a different specimen and session, varied like any named drive.
pub(super) fn specimen(name: &str, overrides: &[(&str, &str)], seed: u64) -> DriveSpec {
    let seed = seed.to_string();
    let seeds = [("vary", "1"), ("seed", seed.as_str()), ("vary.session_seed", seed.as_str())];
    preset(name, &[&seeds[..], overrides].concat())
}

fn outcome(method: &str, spec: &DriveSpec, seed: u64) -> script::Outcome {
    let options = Options { seed, ..Options::default() };
    run_with(methods::find(method).expect("a method"), spec, &options)
}

/// `fake`: a card of 1 GiB whose real capacity differs with the seed.
fn fake(kind: &str, cache: &str, seed: u64) -> Judged {
    // From 4 to 1000 MiB, in whole blocks.
    let real = (4 << 20) + seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) % (996 << 20) / 512 * 512;
    let real_text = real.to_string();
    let alias = [("alias", kind), ("real", &real_text), ("alias.cache", cache)];
    let spec = specimen("sd-150x", &[&[("capacity", "1GiB")], &alias[..]].concat(), seed);
    let out = outcome("fake", &spec, seed);
    let truth = if kind == "none" { (1u64 << 30) as f64 } else { real as f64 };
    let capacity = out.metrics.iter().find(|m| m.name == "fake-capacity");
    let range = capacity.and_then(|m| Some((m.low.or(m.value)?, m.high.or(m.value)?)));
    let expected = if kind == "none" { "CAPACITY REAL" } else { "ALIASING" };
    match (out.verdicts[0].kind.name(), range) {
        (verdict, Some((low, high))) if verdict == expected => {
            Judged::answered(low <= truth && truth <= high)
        }
        (verdict, None) if verdict == expected => Judged::Undetermined,
        ("UNDETERMINED", _) => Judged::Undetermined,
        _ => Judged::False,
    }
}

/// Whether a drive's pages show in its reads.
#[derive(Clone, Copy, PartialEq)]
enum Pages {
    Seen,
    /// The bridge starts its transfer with the first page and senses the second meanwhile, so any
    /// page size would be invented.
    Hidden,
}

/// `geometry`: every published figure must match the preset.
fn geometry(name: &str, au: &str, open: &str, pages: Pages, seed: u64) -> Judged {
    let overrides = [("capacity", "512MiB"), ("map.au", au), ("open_aus", open)];
    let spec = specimen(name, &overrides, seed);
    let out = outcome("geometry", &spec, seed);
    let random = if *spec.map.random_in_au { f64::from(*spec.map.open_aus) } else { 0.0 };
    let truths = [
        ("geometry-page", f64::from(*spec.nand.page_bytes)),
        ("geometry-plane", f64::from(*spec.nand.planes * *spec.nand.page_bytes)),
        ("geometry-erase-block", spec.map.au.0 as f64),
        ("geometry-open-linear", f64::from(*spec.map.open_aus)),
        ("geometry-open-random", random),
    ];
    let mut figures = truths.map(|(name, truth)| find(&out, name).map(|found| found == truth));
    if pages == Pages::Hidden {
        figures[..2].iter_mut().for_each(|figure| *figure = Some(figure.is_none()));
    }
    judged_all(figures)
}

/// `geometry`: the period of slow writes is the erase block, and a FAT zone is found if it differs
/// from the rest of the card.
fn in_writes(name: &str, au: &str, zone: &str, seed: u64) -> Judged {
    let overrides = [("capacity", "512MiB"), ("map.au", au), ("map.fat", zone)];
    let spec = specimen(name, &overrides, seed);
    let [period, found] = super::in_writes(&outcome("geometry", &spec, seed));
    let (au, zone) = (spec.map.au.0 as f64, spec.map.fat.0 as f64);
    let seen = zone > 0.0 && !*spec.map.random_in_au;
    let zone = match found {
        Some(found) => Some(seen && found == zone),
        None => (!seen).then_some(true),
    };
    judged_all([period.map(|period| period == au), zone])
}

/// False if any figure is false; otherwise undetermined if any is missing.
fn judged_all<const N: usize>(figures: [Option<bool>; N]) -> Judged {
    match () {
        () if figures.contains(&Some(false)) => Judged::False,
        () if figures.contains(&None) => Judged::Undetermined,
        () => Judged::Right,
    }
}

/// `geometry` on a drive that shows no boundary: any figure is false.
fn hidden(name: &str, seed: u64) -> Judged {
    let spec = specimen(name, &[("capacity", "512MiB")], seed);
    let out = outcome("geometry", &spec, seed);
    let names = ["page", "plane", "erase-block", "open-linear", "write-period", "fat-zone"];
    let silent = |name: &&str| find(&out, &format!("geometry-{name}")).is_none();
    Judged::answered(names.iter().all(silent))
}

/// `power`: the idle time after which the drive sleeps, and the wake time within 20%.
fn power(sleep_ms: &str, wake_us: &str, seed: u64) -> Judged {
    let sleepy =
        [("capacity", "1GiB"), ("command.sleep_after_ms", sleep_ms), ("command.wake_us", wake_us)];
    let spec = specimen("samsung-970-evo-plus-250", &sleepy, seed);
    let out = outcome("power", &spec, seed);
    let number = |text: &str| text.parse::<f64>().expect("a number");
    let (after, wake) = (1e6 * number(sleep_ms), 1e3 * number(wake_us));
    let sleep = out.metrics.iter().find(|m| m.name == "power-sleep");
    match (out.verdicts[0].kind.name(), sleep.and_then(|m| m.low.zip(m.high))) {
        ("NO POWER STATE", _) => Judged::answered(wake == 0.0),
        ("POWER STATE", Some((low, high))) => {
            let found = find(&out, "power-wake").unwrap_or(0.0);
            Judged::answered(low <= after && after <= high && (found / wake - 1.0).abs() < 0.2)
        }
        _ => Judged::Undetermined,
    }
}

/// `wear` on a card with faults of one kind: it finds all of them, identifies them and reports
/// nothing else.
fn wear(kind: &str, trim: &str, seed: u64) -> Judged {
    let (due, [flipped, misplaced, stale, torn, lost], verdict) =
        super::wear::injected(kind, trim, seed);
    let named = match kind {
        "flipped" => [flipped, misplaced + stale + torn + lost],
        "stale" => [stale, flipped + misplaced + torn + lost],
        "torn" => [torn, flipped + misplaced + stale + lost],
        // The intended place keeps its previous content, if any.
        _ => [stale + lost, flipped + torn + if misplaced < due { 1.0 } else { 0.0 }],
    };
    match verdict.as_str() {
        "ENDURED" => Judged::answered(kind == "none" || due == 0.0),
        "CONTENT LOST" => Judged::answered(kind != "none" && named == [due, 0.0]),
        _ => Judged::False,
    }
}

/// `wear` on a dying card: it sees the death, and all acknowledged data are intact.
fn dies(seed: u64) -> Judged {
    let overrides = [("capacity", "32MiB"), ("endurance", "6")];
    let spec = specimen("sd-150x", &overrides, seed);
    let out = super::wear::worn(&spec, seed, "2GB");
    let intact = find(&out, "wear-static") == Some(f64::from(31 << 20));
    Judged::answered(out.verdicts[0].kind.name() == "WEAR" && intact)
}

/// A boundary between classes: the figure that the class requires, the parameters of a drive with a
/// given figure, and the classes below and above.
struct Boundary {
    name: &'static str,
    family: &'static str,
    bound: f64,
    drive: fn(f64, u64) -> Vec<(&'static str, String)>,
    numbers: [f64; 2],
}

/// `sdclass`: cards 5% below and 5% above a boundary, each with its class.
fn sdclass(boundary: &Boundary, seed: u64) -> Judged {
    let right = [(0.95, 0), (1.05, 1)].map(|(share, side)| {
        let drive = (boundary.drive)(boundary.bound * share, seed);
        let out = outcome("sdclass", &card(&drive, seed), seed);
        let number = find(&out, &format!("sdclass-{}", boundary.family))?;
        Some(number == boundary.numbers[side])
    });
    judged_all(right)
}

/// A card of 1 GiB, faster than any class requires, with these overrides.
fn card(overrides: &[(&str, String)], seed: u64) -> DriveSpec {
    let overrides = overrides.iter().map(|(key, value)| (*key, value.as_str()));
    let overrides: Vec<_> = [("capacity", "1GiB")].into_iter().chain(overrides).collect();
    specimen("samsung-970-evo-plus-250", &overrides, seed)
}

/// The drive's single core takes so long per command that a queue of 32 just reaches this rate.
fn queued(key: &'static str, other: &'static str, iops: f64) -> Vec<(&'static str, String)> {
    let each = (1e6 / iops).to_string();
    vec![("command.cores", "1".into()), (key, each), (other, "20".into())]
}

/// A command takes so long in total that depth 1 just reaches this rate.
fn alone(kind: OpKind, iops: f64, seed: u64) -> Vec<(&'static str, String)> {
    let key = if kind == OpKind::Read { "command.read_us" } else { "command.write_us" };
    let with = |us: f64| vec![("command.cores", "1".into()), (key, us.to_string())];
    let rest = 1e6 / super::completed(&card(&with(0.0), seed), kind, 1, 2000);
    with(1e6 / iops - rest)
}

/// Every boundary in the specification.
fn boundaries() -> Vec<Boundary> {
    let rate = |name, family, bound, numbers| {
        let drive = |mb_s: f64, _| vec![("buffer.intake_mb_s", mb_s.to_string())];
        Boundary { name, family, bound, drive, numbers }
    };
    let application = |name, bound, drive, number| {
        let numbers = [number - 1.0, number];
        Boundary { name, family: "application", bound, drive, numbers }
    };
    vec![
        rate("C2", "speed", 2.0, [0.0, 2.0]),
        rate("C4", "speed", 4.0, [2.0, 4.0]),
        rate("C6", "speed", 6.0, [4.0, 6.0]),
        rate("C10", "speed", 10.0, [6.0, 10.0]),
        rate("U1", "uhs", 10.0, [0.0, 1.0]),
        rate("U3", "uhs", 30.0, [1.0, 3.0]),
        rate("V6", "video", 6.0, [0.0, 6.0]),
        rate("V10", "video", 10.0, [6.0, 10.0]),
        rate("V30", "video", 30.0, [10.0, 30.0]),
        rate("V60", "video", 60.0, [30.0, 60.0]),
        rate("V90", "video", 90.0, [60.0, 90.0]),
        application("A1 by reads", 1500.0, |iops, seed| alone(OpKind::Read, iops, seed), 1.0),
        application("A1 by writes", 500.0, |iops, seed| alone(OpKind::Write, iops, seed), 1.0),
        application(
            "A2 by reads",
            4000.0,
            |iops, _| queued("command.read_us", "command.write_us", iops),
            2.0,
        ),
        application(
            "A2 by writes",
            2000.0,
            |iops, _| queued("command.write_us", "command.read_us", iops),
            2.0,
        ),
    ]
}

/// `curve`: the knee is within 5% of the rate that the drive reaches with a full queue.
fn curve(name: &str, seed: u64) -> Judged {
    let spec = specimen(name, &[("capacity", "1GiB")], seed);
    let time = Some(std::time::Duration::from_secs(60));
    let options = Options { seed, time, ..Options::default() };
    let out = run_with(methods::find("curve").expect("a method"), &spec, &options);
    match find(&out, "curve-knee") {
        Some(knee) => Judged::answered((knee / super::capacity(&spec) - 1.0).abs() <= 0.05),
        None => Judged::Undetermined,
    }
}

/// A case: its name, and how to judge a seed.
struct Case {
    name: String,
    judge: Box<dyn Fn(u64) -> Judged>,
}

fn case(name: impl Into<String>, judge: impl Fn(u64) -> Judged + 'static) -> Case {
    Case { name: name.into(), judge: Box::new(judge) }
}

fn cases() -> Vec<Case> {
    use Pages::{Hidden, Seen};
    let mut cases = vec![
        case("fake, a good card", |seed| fake("none", "0", seed)),
        case("fake, wrap", |seed| fake("wrap", "0", seed)),
        case("fake, black hole", |seed| fake("black-hole", "0", seed)),
        case("fake, black hole with a cache of 1 MiB", |seed| fake("black-hole", "1MiB", seed)),
    ];
    for (what, name, au, open, pages) in [
        ("sd-class2", "sd-class2", "4MiB", "1", Seen),
        ("sd-150x", "sd-150x", "4MiB", "5", Seen),
        ("1.5 MiB, 2 open", "sd-class2", "1572864", "2", Seen),
        ("4 MiB, 6 open", "sd-class2", "4MiB", "6", Seen),
        ("12 MiB, 6 open", "sd-150x", "12582912", "6", Seen),
        ("USB, 4 MiB, 6 open, no page", "usb-16k", "4MiB", "6", Hidden),
    ] {
        let judge = move |seed| geometry(name, au, open, pages, seed);
        cases.push(case(format!("geometry, {what}"), judge));
    }
    for (what, name, au, zone) in [
        ("4 MiB, no FAT zone", "sd-class2", "4MiB", "0"),
        ("4 MiB, FAT zone of 8 MiB", "sd-class2", "4MiB", "8MiB"),
        ("1.5 MiB, FAT zone of 9 MiB", "sd-class2", "1572864", "9MiB"),
        ("12 MiB, all of it like a FAT zone", "sd-150x", "12582912", "24MiB"),
        ("USB, FAT zone of 4 MiB", "usb-16k", "4MiB", "4MiB"),
    ] {
        let judge = move |seed| in_writes(name, au, zone, seed);
        cases.push(case(format!("period and zone, {what}"), judge));
    }
    cases.extend([
        case("geometry, an NVMe drive", |seed| hidden("samsung-970-evo-plus-250", seed)),
        case("geometry, a QLC drive", |seed| hidden("crucial-p2-500-qlc", seed)),
        case("power, never asleep", |seed| power("100", "0", seed)),
        case("power, 300 us after 500 ms", |seed| power("500", "300", seed)),
        case("power, 80 ms after 20 s", |seed| power("20000", "80000", seed)),
        case("wear, a good card", |seed| wear("none", "true", seed)),
        case("wear, flipped bits", |seed| wear("flipped", "true", seed)),
        case("wear, stale blocks", |seed| wear("stale", "false", seed)),
        case("wear, torn blocks", |seed| wear("torn", "false", seed)),
        case("wear, misplaced blocks", |seed| wear("misplaced", "false", seed)),
        case("wear, a card that dies", dies),
    ]);
    for boundary in boundaries() {
        let name = format!("sdclass, {} -5% and +5%", boundary.name);
        cases.push(case(name, move |seed| sdclass(&boundary, seed)));
    }
    for name in ["samsung-970-evo-plus-250", "crucial-bx100-120", "sd-150x", "usb-16k"] {
        cases.push(case(format!("curve, {name}"), move |seed| curve(name, seed)));
    }
    cases.extend(figures::cases());
    cases
}

#[test]
fn error_rates() {
    let seeds = std::env::var("SSDYNO_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    println!("| case | runs | right | undetermined | false |\n|---|---|---|---|---|");
    // SSDYNO_CASES selects the cases whose names contain it.
    let part = std::env::var("SSDYNO_CASES").unwrap_or_default();
    let (mut runs, mut wrong) = (0, 0);
    for Case { name, judge } in cases().into_iter().filter(|case| case.name.contains(&part)) {
        let judged: Vec<Judged> = (1..=seeds).map(judge).collect();
        let count = |kind| judged.iter().filter(|j| **j == kind).count();
        let counts = [Judged::Right, Judged::Undetermined, Judged::False].map(count);
        println!("| {name} | {seeds} | {} | {} | {} |", counts[0], counts[1], counts[2]);
        (runs, wrong) = (runs + judged.len(), wrong + counts[2]);
    }
    println!("| all | {runs} | | | {wrong} |");
    assert!(100 * wrong <= runs, "{wrong} false answers in {runs}");
}
