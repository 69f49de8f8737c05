//! Answers of whole runs that were once wrong, on the drives that showed it.

use fuzz::Random;
use lab::Options;
use record::{Answer, Run, Stamp, VerdictKind};

use crate::recorded::recorded;

fn answer(method: &str, target: &str, seed: u64) -> Answer {
    ran(method, target, seed).answer.expect("an answer")
}

fn ran(method: &str, target: &str, seed: u64) -> Run {
    let place = tempfile::tempdir().expect("a directory");
    let options = Options { seed, ..Options::default() };
    recorded(method, target, &options, &place.path().join("runs"))
}

/// The link was named, which limits other cells, and lifted changed nothing.
#[test]
fn quick_names_the_largest_loss_and_not_a_link() {
    let said = answer("quick", "sim:wd-sn580-1t?unit=16384&map.rmw_us=500", 7).headline;
    assert!(said.starts_with("Random writes are 4"), "{said}");
    assert!(said.ends_with(" times below this model: a large mapping unit."), "{said}");
}

/// The first lap of a minute was averaged: "after 60 s, from 1.80 to 1.50".
#[test]
fn heat_finds_the_second_at_which_a_drive_throttles() {
    let drive = "sim:samsung-970-pro-1t?cooled=false&temperature=60";
    let said = answer("heat", drive, 1).headline;
    assert!(said.starts_with("Throttles after 14 s, from 2.7"), "{said}");
    assert!(said.contains(" to 1.5"), "{said}");
}

/// Drives without a cache and with two kinds of it.
const HOT: [&str; 4] =
    ["samsung-970-pro-1t", "samsung-970-pro-1t", "wd-sn530-256", "samsung-980-pro-1t"];

/// A hot drive was said to have a full cache. What heat does is told by the same drive in a cold room
/// with a fan. `SSDYNO_HOT_SEED` draws other drives.
#[test]
fn heat_is_no_end_of_a_cache_on_drawn_drives() {
    let seed = std::env::var("SSDYNO_HOT_SEED").ok().and_then(|seed| seed.parse().ok());
    let mut random = Random::new(seed.unwrap_or(42));
    let mut between = |least: usize, most: usize| least + random.below(most - least + 1);
    let (mut throttled, mut wrong) = (0, Vec::new());
    for _ in 0..5 {
        let drive = HOT[between(0, HOT.len() - 1)];
        let drive = format!("sim:{drive}?capacity={}GiB", between(8, 32));
        let hot = format!("{drive}&cooled=false&temperature={}", between(45, 75));
        let cold = format!("{drive}&cooled=true&temperature=20");
        for method in ["heat", "zones"] {
            let [hot_run, cold_run] = [&hot, &cold].map(|drive| ran(method, drive, 1));
            let has_cache_end = |run: &Run| {
                run.verdicts.iter().any(|verdict| verdict.kind == VerdictKind::CacheEnd)
            };
            if has_cache_end(&hot_run) && !has_cache_end(&cold_run) {
                wrong.push(format!("{method} on {hot}: CACHE END"));
            }
            let rate = |run: &Run| run.metric("heat-load.hot").and_then(|metric| metric.value);
            let Some((slow, fast)) = rate(&hot_run).zip(rate(&cold_run)) else { continue };
            let headline = hot_run.answer.expect("an answer").headline;
            let (share, says_so) = (slow / fast, headline.starts_with("Throttles"));
            let is_open = headline.starts_with("Hot from the start, perhaps throttled: ");
            throttled += usize::from(says_so);
            // Between the two, either may be said.
            if (says_so && share > 0.97) || (!says_so && !is_open && share < 0.9) {
                wrong.push(format!("{method} on {hot}: {headline} ({share:.2} of a cold one)"));
            }
        }
    }
    println!("{throttled} of 5 throttle");
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(throttled > 1 || seed.is_some(), "{throttled} throttle");
}

/// A multiple of the mapping unit was called the guilty offset, believable.
#[test]
fn align_accuses_no_offset_of_whole_blocks() {
    for seed in [0, 1] {
        let answer = answer("align", "sim:samsung-970-pro-1t?capacity=8GB&unit=16384", seed);
        let is_accused = ["4 KiB.", "8 KiB.", "16 KiB.", "32 KiB.", "64 KiB."];
        let is_accused = is_accused.iter().any(|offset| answer.headline.ends_with(offset));
        assert!(!is_accused, "{}", answer.headline);
        let is_open = answer.headline.starts_with("Undetermined");
        assert!(!(is_open && answer.stamp == Stamp::Believable), "{answer:?}");
    }
}

/// A cache larger than the last 64th kept places before it, and looked like bad memory or, from
/// 80 MiB, like a real capacity.
#[test]
fn a_counterfeit_drive_with_a_large_cache_is_no_drive_with_bad_memory() {
    for cache in ["64MiB", "80MiB", "250MiB", "258MiB"] {
        let drive = format!("sim:sd-150x?alias=black-hole&real=400MB&alias.cache={cache}");
        let said = answer("fake", &drive, 1).headline;
        assert!(said.starts_with("Counterfeit: about "), "{cache}: {said}");
    }
}

/// The host was suspected, and a virtual drive has none.
#[test]
fn power_sees_that_a_drive_sleeps_within_the_shortest_rest() {
    let drive = "sim:samsung-980-pro-1t?command.sleep_after_ms=1&command.wake_us=500";
    let said = answer("power", drive, 1).headline;
    assert!(said.starts_with("Asleep within 10 ms of rest: waking adds 50"), "{said}");
}
