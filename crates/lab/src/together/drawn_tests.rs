//! Drawn sets of drives, whose drawer knows what they share: a limit is found, and none is seen that
//! is not there.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::tests::{run, set_of};
use super::*;

/// Sets of each kind; `SSDYNO_SETS_DRAW` and `SSDYNO_SETS_SEED` draw others.
const SETS: u64 = 100;

/// Standard deviation between runs of an SSD, as a fraction: the one that is assumed for it.
const SPREAD: f64 = 0.03;

/// Figures of a run.
const FIGURES: usize = 3;

/// What drives do beside each other.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Nothing,
    /// A limit of the sum, as a fraction; every drive keeps the same share.
    InProportion(f64),
    /// A limit of the sum; what a drive does not use is left to the others.
    InTurn(f64),
    /// One drive keeps this fraction of its rate.
    OneDrive(f64),
}

/// Draws numbers.
struct Dice(Xoshiro256PlusPlus);

impl Dice {
    /// Uniform in (0, 1].
    fn unit(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + self.unit() * (high - low)
    }

    /// How a run differs from others: log-normal, by Box and Muller's method.
    fn scatter(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(self.unit()));
        libm::exp(SPREAD * radius * libm::cos(std::f64::consts::TAU * self.unit()))
    }
}

/// The rate up to which every drive is served if a limit of the sum is shared in turn.
fn level(rates: &[f64], limit: f64) -> f64 {
    let mut sorted = rates.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (mut rest, mut count) = (limit, sorted.len());
    for rate in sorted {
        if rate * count as f64 >= rest {
            break;
        }
        (rest, count) = (rest - rate, count - 1);
    }
    rest / count.max(1) as f64
}

/// The rates of drives beside each other.
fn beside(rates: &[f64], kind: Kind) -> Vec<f64> {
    let sum: f64 = rates.iter().sum();
    let each = |rate: f64, drive: usize| match kind {
        Kind::Nothing => rate,
        Kind::InProportion(share) => rate * share,
        Kind::InTurn(share) => rate.min(level(rates, share * sum)),
        Kind::OneDrive(share) => rate * if drive == 0 { share } else { 1.0 },
    };
    rates.iter().enumerate().map(|(drive, rate)| each(*rate, drive)).collect()
}

/// A set of 2 to 32 drives, the fastest of which is up to `unlike` times as fast as the slowest, and
/// its conclusion.
fn drawn(dice: &mut Dice, kind: Kind, unlike: f64) -> DriveSet {
    let count = dice.between(2.0, 33.0) as usize;
    let rates: Vec<f64> = (0..count).map(|_| dice.between(1.0, unlike)).collect();
    let together = beside(&rates, kind);
    let mut figures = |rate: f64| [(); FIGURES].map(|()| rate * dice.scatter());
    let runs_of = |rates: &[f64], figures: &mut dyn FnMut(f64) -> [f64; FIGURES]| {
        rates.iter().map(|rate| figures(*rate)).collect::<Vec<_>>()
    };
    let alone = runs_of(&rates, &mut figures);
    let beside = runs_of(&together, &mut figures);
    let mut runs = set_of(count, |drive| alone[drive], |drive| beside[drive]);
    if let Some(drive) = most_slowed(&runs) {
        runs.again = Some((drive, run(drive, figures(rates[drive]))));
    }
    conclude(&runs)
}

/// The share of drawn sets with this property.
fn share(
    salt: u64,
    kind: impl Fn(&mut Dice) -> Kind,
    unlike: f64,
    property: impl Fn(&DriveSet) -> bool,
) -> f64 {
    let number = |name: &str, usual: u64| {
        std::env::var(name).ok().and_then(|word| word.parse().ok()).unwrap_or(usual)
    };
    let sets = number("SSDYNO_SETS_DRAW", SETS);
    let seed = number("SSDYNO_SETS_SEED", 46) << 8 | salt;
    let mut dice = Dice(Xoshiro256PlusPlus::seed_from_u64(seed));
    let count = (0..sets).filter(|_| {
        let kind = kind(&mut dice);
        property(&drawn(&mut dice, kind, unlike))
    });
    count.count() as f64 / sets as f64
}

fn is_limited(set: &DriveSet) -> bool {
    set.verdict.is_some()
}

fn has(set: &DriveSet, loss: Loss) -> bool {
    set.quantities.iter().any(|quantity| quantity.loss == loss)
}

#[test]
fn drives_that_share_nothing_lose_nothing() {
    for (salt, unlike) in [(0, 1.05), (1, 8.0)] {
        let is_wrong = |set: &DriveSet| {
            [Loss::Host, Loss::OneDrive, Loss::Fastest, Loss::Drives]
                .iter()
                .any(|loss| has(set, *loss))
        };
        let wrong = share(salt, |_| Kind::Nothing, unlike, is_wrong);
        println!("nothing, factor {unlike}: {wrong}");
        assert!(wrong <= 0.05, "factor {unlike}: {wrong}");
    }
}

#[test]
fn a_limit_of_the_sum_is_found_and_no_drive_blamed() {
    for (salt, unlike) in [(2, 1.05), (3, 8.0)] {
        for (salt, kind) in
            [(salt, Kind::InProportion as fn(f64) -> Kind), (salt + 2, Kind::InTurn)]
        {
            let draw = |dice: &mut Dice| kind(dice.between(0.3, 0.8));
            let missed =
                share(salt, draw, unlike, |set| !is_limited(set) && !has(set, Loss::Fastest));
            let blamed =
                share(salt, draw, unlike, |set| has(set, Loss::OneDrive) || has(set, Loss::Drives));
            println!("{:?}, factor {unlike}: missed {missed}, blamed {blamed}", kind(0.0));
            assert!(missed <= 0.05, "{:?}, factor {unlike}: {missed}", kind(0.0));
            assert!(blamed <= 0.05, "{:?}, factor {unlike}: {blamed}", kind(0.0));
        }
    }
}

#[test]
fn one_slower_drive_is_no_limit_of_the_host() {
    for (salt, unlike) in [(6, 1.05), (7, 8.0)] {
        let draw = |dice: &mut Dice| Kind::OneDrive(dice.between(0.3, 0.7));
        let wrong = share(salt, draw, unlike, is_limited);
        let missed =
            share(salt, draw, unlike, |set| !has(set, Loss::OneDrive) && !has(set, Loss::Fastest));
        println!("one drive, factor {unlike}: limited {wrong}, missed {missed}");
        assert!(wrong <= 0.05 && missed <= 0.05, "factor {unlike}: {wrong}, {missed}");
    }
}
