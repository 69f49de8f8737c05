//! Pairs of drawn specimens that are measured: two sessions of one specimen, compared with each other,
//! and as if one were on a drive that is faster by 5%.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use fuzz::Random;
use model::DriveSpec;

use crate::sample::{Count, FASTER, described, differs, session};
use crate::{FALSE_CLAIMS, SIZE, percent, threads};

/// Prints the shares of claims; returns whether the goal is met.
pub fn run(count: usize, seed: u64) -> bool {
    let presets: Vec<&'static str> = DriveSpec::presets().collect();
    let mut random = Random::new(seed);
    let drawn: Vec<(&str, u64)> = (0..count)
        .map(|_| (presets[random.below(presets.len())], 1 + random.below(1 << 20) as u64))
        .collect();
    let (next, counts) = (AtomicUsize::new(0), Mutex::new([Count::default(); 2]));
    let work = || {
        while let Some((preset, specimen)) = drawn.get(next.fetch_add(1, Ordering::Relaxed)) {
            let drive = described(preset);
            let runs = [1, 2].map(|number| session(preset, *specimen, number, SIZE));
            let claims = [1.0, FASTER].map(|factor| differs(&drive, &runs, [&[0], &[1]], factor));
            if claims[0] {
                eprintln!("claimed: {preset}, specimen {specimen}");
            }
            let mut counts = counts.lock().expect("no thread panicked");
            counts.iter_mut().zip(claims).for_each(|(count, is_claimed)| count.add(is_claimed));
        }
    };
    thread::scope(|scope| (0..threads()).for_each(|_| drop(scope.spawn(work))));
    let [same, faster] = counts.into_inner().expect("no thread panicked");
    println!(
        "{count} pairs of runs of drawn specimens, seed {seed}: a difference is claimed in {} (goal: at \
         most {:.0}%), and in {} if one drive is faster by 5%.",
        percent(same),
        100.0 * FALSE_CLAIMS,
        percent(faster)
    );
    same.share() <= FALSE_CLAIMS
}
