//! Answers of whole runs that were once wrong, on the drives that showed it.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use fuzz::Random;
use lab::{Options, Request, Work};
use record::{Answer, Stamp};

use crate::quiet::Quiet;

/// Each takes a fraction of a second.
const DRAWN_FAKES: u64 = 24;

fn answer(method: &str, target: &str, seed: u64) -> Answer {
    let place = tempfile::tempdir().expect("a directory");
    let mut request = Request { store: Some(place.path().join("runs")), ..Request::on(target) };
    request.instrument.seed = seed;
    let options = Options { seed, ..Options::default() };
    let work = Work::method(method, &options).expect("a method");
    let interrupt = Arc::new(AtomicBool::new(false));
    let planned = request.plan(&work).expect("a plan");
    let recorded = planned.begin(Box::new(Quiet), &interrupt).expect("begun").run(&interrupt);
    recorded.ended.and(recorded.kept).expect("it ends well");
    recorded.run.answer.expect("an answer")
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

/// Written to a counterfeit drive before it is read: the end, and what lies between.
const FAKE_END: u64 = 256 << 20;

/// The oracle is the description: a capacity is real, repeats or ends, with a cache. Only a cache of
/// more than all that was written beyond the real end hides it, and then its size is said.
#[test]
fn drawn_counterfeit_and_honest_drives_are_told_apart() {
    let seed = 41;
    let mut random = Random::new(seed);
    for draw in 0..DRAWN_FAKES {
        let capacity = 1 << (20 + 9 + random.below(3));
        // More than the first bytes, which are written last and may be in the cache.
        let real = (capacity >> (1 + random.below(3))) - ((random.below(32) as u64) << 20);
        let end = FAKE_END.min(capacity / 4);
        // From nothing to twice what is written.
        let cache = (end / 16) * random.below(32) as u64;
        let kind = ["none", "wrap", "black-hole", "black-hole"][random.below(4)];
        let drive =
            format!("sim:sd-150x?capacity={capacity}&alias={kind}&real={real}&alias.cache={cache}");
        let case = format!("seed {seed}, draw {draw}: {drive}");
        let answer = answer("fake", &drive, draw);
        let said = &answer.headline;
        let real_tile = answer.tiles.iter().find(|tile| tile.label == "Real capacity");
        if kind == "none" {
            assert!(said.contains(" is real."), "{case}: {said}");
        } else if kind == "black-hole" && cache > end {
            let is_caught = said.starts_with("Counterfeit: ");
            let is_open = said.contains("Only a cache of ");
            assert!(is_caught || is_open, "{case}: {said}");
        } else {
            assert!(said.starts_with("Counterfeit: "), "{case}: {said}");
            let tile = real_tile.expect("a capacity");
            let low = tile.low.or(tile.value).expect("known");
            let high = tile.high.or(tile.value).expect("known");
            assert!(low <= real as f64 && real as f64 <= high, "{case}: {low} to {high}");
        }
    }
}

/// The host was suspected, and a virtual drive has none.
#[test]
fn power_sees_that_a_drive_sleeps_within_the_shortest_rest() {
    let drive = "sim:samsung-980-pro-1t?command.sleep_after_ms=1&command.wake_us=500";
    let said = answer("power", drive, 1).headline;
    assert!(said.starts_with("Asleep within 10 ms of rest: waking adds 50"), "{said}");
}
