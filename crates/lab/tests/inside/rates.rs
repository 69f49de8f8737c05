//! Error rates of the methods that look inside a drive: each answer is compared with the preset, over
//! several specimens, sessions and seeds. `cargo xtask bench inside` runs 20; the suite runs one.

use methods::Options;
use model::DriveSpec;

use super::{find, preset, run_with};

/// The answer of one run against the truth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Judged {
    Right,
    Undetermined,
    False,
}

impl Judged {
    /// Right, or false: there was an answer.
    fn answered(right: bool) -> Judged {
        if right { Judged::Right } else { Judged::False }
    }
}

/// The drive of this seed: another specimen in another session.
fn specimen(name: &str, overrides: &[(&str, &str)], seed: u64) -> DriveSpec {
    let seed = seed.to_string();
    let seeds = [("seed", seed.as_str()), ("vary.session_seed", seed.as_str())];
    preset(name, &[&seeds[..], overrides].concat())
}

fn outcome(method: &str, spec: &DriveSpec, seed: u64) -> methods::Outcome {
    let options = Options { seed, ..Options::default() };
    run_with(methods::find(method).expect("a method"), spec, &options)
}

/// `fake`: a card of 1 GiB whose real capacity differs with the seed.
fn fake(kind: &str, cache: &str, seed: u64) -> Judged {
    // From 96 to 1000 MiB, to the block.
    let real = (96 << 20) + seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) % (904 << 20) / 512 * 512;
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

/// `geometry`: every figure that it publishes must be that of the preset.
fn geometry(name: &str, au: &str, open: &str, seed: u64) -> Judged {
    let overrides = [("capacity", "512MiB"), ("map.au", au), ("open_aus", open)];
    let spec = specimen(name, &overrides, seed);
    let out = outcome("geometry", &spec, seed);
    let random = if *spec.map.random_in_au { f64::from(*spec.map.open_aus) } else { 0.0 };
    let truths = [
        ("geometry-page", 16384.0),
        ("geometry-erase-block", spec.map.au.0 as f64),
        ("geometry-open-linear", f64::from(*spec.map.open_aus)),
        ("geometry-open-random", random),
    ];
    judged_all(truths.map(|(name, truth)| find(&out, name).map(|found| found == truth)))
}

/// False if any figure is; undetermined if any is missing.
fn judged_all(figures: [Option<bool>; 4]) -> Judged {
    match () {
        () if figures.contains(&Some(false)) => Judged::False,
        () if figures.contains(&None) => Judged::Undetermined,
        () => Judged::Right,
    }
}

/// `geometry` on a drive that shows no boundary: there any figure is false.
fn hidden(name: &str, seed: u64) -> Judged {
    let out = outcome("geometry", &specimen(name, &[("capacity", "512MiB")], seed), seed);
    let names = ["geometry-page", "geometry-erase-block", "geometry-open-linear"];
    Judged::answered(names.iter().all(|name| find(&out, name).is_none()))
}

/// `power`: the rest after which the drive sleeps, and the time to wake within 20%.
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

/// `wear` on a card with faults of one kind: all are found, each with its name and nothing else.
fn wear(kind: &str, trim: &str, seed: u64) -> Judged {
    let (due, [flipped, misplaced, stale, torn, lost], verdict) =
        super::wear::injected(kind, trim, seed);
    let named = match kind {
        "flipped" => [flipped, misplaced + stale + torn + lost],
        "stale" => [stale, flipped + misplaced + torn + lost],
        "torn" => [torn, flipped + misplaced + stale + lost],
        // Its own place holds the write before it, or nothing.
        _ => [stale + lost, flipped + torn + if misplaced < due { 1.0 } else { 0.0 }],
    };
    match verdict.as_str() {
        "ENDURED" => Judged::answered(kind == "none" || due == 0.0),
        "CONTENT LOST" => Judged::answered(kind != "none" && named == [due, 0.0]),
        _ => Judged::False,
    }
}

/// `wear` on a card that dies: seen to, with all that was acknowledged.
fn dies(seed: u64) -> Judged {
    let overrides = [("capacity", "32MiB"), ("endurance", "6")];
    let spec = specimen("sd-150x", &overrides, seed);
    let out = super::wear::worn(&spec, seed, "2GB");
    let intact = find(&out, "wear-static") == Some(f64::from(31 << 20));
    Judged::answered(out.verdicts[0].kind.name() == "WEAR" && intact)
}

/// A case: its name, and the judgement of a seed.
type Case = (&'static str, Box<dyn Fn(u64) -> Judged>);

fn cases() -> Vec<Case> {
    let case = |name, judge: Box<dyn Fn(u64) -> Judged>| (name, judge);
    vec![
        case("fake, a good card", Box::new(|seed| fake("none", "0", seed))),
        case("fake, wrap", Box::new(|seed| fake("wrap", "0", seed))),
        case("fake, black hole", Box::new(|seed| fake("black-hole", "0", seed))),
        case(
            "fake, black hole with a cache of 1 MiB",
            Box::new(|seed| fake("black-hole", "1MiB", seed)),
        ),
        case("geometry, sd-class2", Box::new(|seed| geometry("sd-class2", "4MiB", "1", seed))),
        case("geometry, sd-150x", Box::new(|seed| geometry("sd-150x", "4MiB", "5", seed))),
        case(
            "geometry, 1.5 MiB, 2 open",
            Box::new(|seed| geometry("sd-class2", "1572864", "2", seed)),
        ),
        case("geometry, 4 MiB, 6 open", Box::new(|seed| geometry("usb-16k", "4MiB", "6", seed))),
        case(
            "geometry, 12 MiB, 6 open",
            Box::new(|seed| geometry("sd-150x", "12582912", "6", seed)),
        ),
        case("geometry, an NVMe drive", Box::new(|seed| hidden("samsung-970-evo-plus-250", seed))),
        case("geometry, a QLC drive", Box::new(|seed| hidden("crucial-p2-500-qlc", seed))),
        case("power, never asleep", Box::new(|seed| power("100", "0", seed))),
        case("power, 300 us after 500 ms", Box::new(|seed| power("500", "300", seed))),
        case("wear, a good card", Box::new(|seed| wear("none", "true", seed))),
        case("wear, flipped bits", Box::new(|seed| wear("flipped", "true", seed))),
        case("wear, stale blocks", Box::new(|seed| wear("stale", "false", seed))),
        case("wear, torn blocks", Box::new(|seed| wear("torn", "false", seed))),
        case("wear, misplaced blocks", Box::new(|seed| wear("misplaced", "false", seed))),
        case("wear, a card that dies", Box::new(dies)),
        case("power, 80 ms after 20 s", Box::new(|seed| power("20000", "80000", seed))),
    ]
}

#[test]
fn error_rates() {
    let seeds = std::env::var("SSDYNO_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    println!("| case | runs | right | undetermined | false |\n|---|---|---|---|---|");
    let (mut runs, mut wrong) = (0, 0);
    for (name, judge) in cases() {
        let judged: Vec<Judged> = (1..=seeds).map(judge).collect();
        let count = |kind| judged.iter().filter(|j| **j == kind).count();
        let counts = [Judged::Right, Judged::Undetermined, Judged::False].map(count);
        println!("| {name} | {seeds} | {} | {} | {} |", counts[0], counts[1], counts[2]);
        (runs, wrong) = (runs + judged.len(), wrong + counts[2]);
    }
    println!("| all | {runs} | | | {wrong} |");
    assert!(100 * wrong <= runs, "{wrong} false answers in {runs}");
}
