//! Positions of random operations in a file: every block once, uniformly, or by popularity.
//!
//! Distributions behave as in fio. All of them scatter their ranks over the file, by a hash that gives
//! several ranks the same place if the number of places is no power of two: some are then never
//! visited. A centre shifts all places. A normal distribution is the mean of twelve uniform draws
//! over the whole file, shifted by a uniform draw whose width is the option's value.

use libm::{ceil, log, pow};
use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;
use workload::{Permutation, Zipf};

use super::blockmap::BlockMap;
use super::overwrites::Overwrites;
use crate::{Access, Distribution, Rw, Spread};

/// Number of uniform draws averaged for a normal draw, as in fio.
const GAUSS_DRAWS: u64 = 12;

/// A uniform number in [0, 1), from the upper 53 bits of a draw.
pub(super) fn unit(rng: &mut Xoshiro256PlusPlus) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// A uniform number below `n`, which must be at least 1.
pub(super) fn below(rng: &mut Xoshiro256PlusPlus, n: u64) -> u64 {
    ((u128::from(rng.next_u64()) * u128::from(n)) >> 64) as u64
}

/// Numbers of places in a file, or in a zone of it, by fio's rules.
#[derive(Clone, Copy, Debug)]
pub(super) struct Places {
    /// Places at which an operation of each direction may begin.
    pub by_kind: [u64; 3],
    /// Places of the map of visited blocks.
    pub mapped: u64,
    /// Places of a distribution by popularity, which ignores zones.
    pub ranked: u64,
    /// Bytes of the file.
    pub bytes: u64,
}

impl Places {
    /// The places in a file of which `bytes` bytes are used.
    pub(super) fn new(access: &Access, bytes: u64) -> Places {
        let zone = access.zone.map_or(bytes, |zone| zone.range);
        let (blocks, aligns) = (access.blocks.each(), access.block_align.each());
        let by_kind = [0, 1, 2].map(|kind| {
            let align = (*aligns[kind]).max(1);
            // A block that begins at the last place must fit.
            zone.saturating_sub(blocks[kind].min().saturating_sub(align)) / align
        });
        let smallest = blocks[0].min().min(blocks[1].min()).max(1);
        Places {
            by_kind,
            mapped: zone / access.min_bs().max(1),
            ranked: bytes.div_ceil(smallest),
            bytes,
        }
    }
}

/// Draws positions in a file.
#[derive(Clone, Debug)]
pub(super) enum Positions {
    /// Each place once, for operations of one size.
    Once(Once),
    /// Each place once, for operations of several sizes; with the places of each direction.
    Mapped(BlockMap, [u64; 3]),
    /// Uniformly, with repeats.
    Uniform([u64; 3]),
    /// By popularity; rank 0 is the most popular place.
    Ranked { ranks: Ranks, scatter: Scatter },
    /// By zones, per direction: cumulative share of accesses, first place, number of places. With a
    /// register, it gives the places from the start of any zone, as in fio.
    Zoned([Vec<(f64, u64, u64)>; 3], Option<Once>),
    /// Each place once, and some again.
    Overwriting(Box<Overwrites>),
    /// A list, with the number of draws per direction.
    Listed { list: Vec<u32>, stride: bool, counts: [u64; 3], taken: [u64; 3] },
}

/// Popularity by rank.
#[derive(Clone, Debug)]
pub(super) enum Ranks {
    Zipf(Zipf),
    Pareto { count: u64, power: f64 },
    Normal { count: u64, width: u64 },
}

/// Maps a rank to its place in the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scatter {
    count: u64,
    /// Added to every place.
    shift: u64,
}

/// 2^64 parted by the golden ratio: multiples of it, modulo 2^64, lie far apart.
const GOLDEN: u64 = 0x61c8_8646_80b5_83eb;

impl Positions {
    /// The positions of a job's operations.
    pub(super) fn new(access: &Access, places: Places, seed: u64) -> Positions {
        if let Some(model) = &access.sprandom {
            let blocks = (access.blocks.write.min(), places.by_kind[1]);
            let overwrites = Overwrites::new(model, places.bytes, blocks, seed);
            return Positions::Overwriting(overwrites.into());
        }
        if access.lfsr && access.distribution == Distribution::Random {
            return Positions::Once(Once::new(places.mapped, seed));
        }
        if access.norandommap || access.distribution != Distribution::Random {
            return Positions::repeating(access, places, seed);
        }
        let blocks = access.blocks.each();
        let is_one_size = blocks.iter().all(|block| block.min() == access.max_bs());
        if is_one_size {
            let direction = (0..3).find(|kind| uses(access.rw, *kind)).unwrap_or_default();
            return Positions::Once(Once::new(places.by_kind[direction], seed));
        }
        Positions::Mapped(BlockMap::new(places.mapped), places.by_kind)
    }

    /// Positions drawn from the distribution; a place may be drawn repeatedly.
    fn repeating(access: &Access, places: Places, seed: u64) -> Positions {
        let (counts, count) = (places.by_kind, places.ranked.max(1));
        // A share of the places, which may be negative.
        let part = |share: f64| (count as f64 * share) as i64 as u64;
        let scatter = |spread: &Spread| Scatter { count, shift: spread.center.map_or(seed, part) };
        let register = access.lfsr.then(|| Once::new(places.mapped, seed));
        match &access.distribution {
            Distribution::Random => Positions::Uniform(counts),
            Distribution::Sequence(list) => Positions::Listed {
                list: list.clone(),
                stride: access.sequence_stride,
                counts,
                taken: [0; 3],
            },
            Distribution::Zipf(spread) => Positions::Ranked {
                ranks: Ranks::Zipf(Zipf::new(count, spread.value)),
                scatter: scatter(spread),
            },
            Distribution::Pareto(spread) => {
                Positions::Ranked { ranks: pareto(count, spread.value), scatter: scatter(spread) }
            }
            Distribution::Normal(spread) => {
                // Rank `count / 2` is the most popular one.
                let shift = spread.center.map_or(0, |center| part(center - 0.5));
                Positions::Ranked {
                    ranks: normal(count, spread.value),
                    scatter: Scatter { count, shift },
                }
            }
            Distribution::Zoned(zones) => Positions::zoned(register, counts, |kind| {
                let percents =
                    zones.each()[kind].iter().map(|z| [z.access_percent, z.size_percent]);
                percents.map(|zone| zone.map(|percent| f64::from(percent) / 100.0).into()).collect()
            }),
            Distribution::ZonedAbs(zones) => Positions::zoned(register, counts, |kind| {
                let mut rest = 1.0;
                let shares = zones.each()[kind].iter().map(|z| {
                    let share = match z.bytes {
                        0 => rest,
                        some => some as f64 / places.bytes.max(1) as f64,
                    };
                    rest = (rest - share).max(0.0);
                    (f64::from(z.access_percent) / 100.0, share)
                });
                shares.collect()
            }),
        }
    }

    /// Zones from their shares of accesses and space; none where no block fits.
    fn zoned(
        register: Option<Once>,
        counts: [u64; 3],
        shares: impl Fn(usize) -> Vec<(f64, f64)>,
    ) -> Positions {
        let zones = [0, 1, 2].map(|kind| match counts[kind] {
            0 => Vec::new(),
            count => zone_places(&shares(kind), count),
        });
        Positions::Zoned(zones, register)
    }

    /// Starts over.
    pub(super) fn restart(&mut self) {
        match self {
            Positions::Once(once) => once.restart(),
            Positions::Mapped(map, _) => map.clear(),
            Positions::Overwriting(overwrites) => overwrites.restart(),
            Positions::Listed { taken, .. } => *taken = [0; 3],
            Positions::Zoned(_, Some(register)) => register.restart(),
            Positions::Uniform(_) | Positions::Ranked { .. } | Positions::Zoned(_, None) => {}
        }
    }

    /// Returns to the first order.
    pub(super) fn repeat(&mut self) {
        if let Positions::Once(register) | Positions::Zoned(_, Some(register)) = self {
            register.reorder(register.first_seed);
        }
    }

    /// The next place for direction `kind` (read, write, trim); `None` once all have been visited.
    #[inline]
    pub(super) fn next(&mut self, kind: usize, rng: &mut Xoshiro256PlusPlus) -> Option<u64> {
        Some(match self {
            Positions::Once(once) => return once.next(),
            Positions::Overwriting(overwrites) => return overwrites.next(unit(rng)),
            Positions::Mapped(_, counts) | Positions::Uniform(counts) if counts[kind] == 0 => {
                return None;
            }
            Positions::Mapped(map, counts) => {
                let place = below(rng, counts[kind]);
                if map.is_taken(place) { map.next_free(place)? } else { place }
            }
            Positions::Uniform(counts) => below(rng, counts[kind]),
            Positions::Ranked { ranks, scatter } => scatter.place(ranks.draw(rng)),
            Positions::Zoned(zones, register) => {
                let draw = unit(rng);
                let zones = &zones[kind];
                let (_, start, count) = zones.iter().find(|z| draw < z.0).or(zones.last())?;
                match register {
                    Some(register) => start + register.next()?,
                    None => start + below(rng, *count),
                }
            }
            Positions::Listed { list, stride, counts, taken } => {
                let (turn, length) = (taken[kind], list.len() as u64);
                let round = if *stride { turn / length * length } else { 0 };
                let place = round + u64::from(list[(turn % length) as usize]);
                taken[kind] += 1;
                return Some(place).filter(|place| *place < counts[kind]);
            }
        })
    }
}

/// More than the error of a product of a share and a count, and less than a place.
const ROUNDING: f64 = 1e-6;

/// Converts zones from shares of accesses and space to the form of [`Positions::Zoned`].
fn zone_places(shares: &[(f64, f64)], count: u64) -> Vec<(f64, u64, u64)> {
    let (mut access, mut space) = (0.0, 0.0);
    let zones = shares.iter().map(|&(accesses, part)| {
        let first = ((space * count as f64 + ROUNDING) as u64).min(count - 1);
        space += part;
        access += accesses;
        // As in fio, each zone is rounded down on its own.
        (access, first, ((part * count as f64 + ROUNDING) as u64).max(1))
    });
    zones.collect()
}

/// A Pareto distribution over `count` ranks, with fio's value above 0 and below 1.
pub(super) fn pareto(count: u64, value: f64) -> Ranks {
    Ranks::Pareto { count, power: log(value) / log(1.0 - value) }
}

/// A normal distribution over `count` ranks, with a deviation in percent of them.
pub(super) fn normal(count: u64, deviation: f64) -> Ranks {
    let width = (ceil(count as f64 * deviation / 100.0) as u64).min(count / 2);
    Ranks::Normal { count, width }
}

impl Ranks {
    pub(super) fn draw(&self, rng: &mut Xoshiro256PlusPlus) -> u64 {
        match self {
            Ranks::Zipf(zipf) => zipf.sample(rng),
            Ranks::Pareto { count, power } => ((count - 1) as f64 * pow(unit(rng), *power)) as u64,
            Ranks::Normal { count, width } => {
                let sum: u64 = (0..GAUSS_DRAWS).map(|_| below(rng, count + 1)).sum();
                let mean = sum.div_ceil(GAUSS_DRAWS).min(count - 1);
                let mut shift = below(rng, (*width).max(1)) as i64 - (width / 2) as i64;
                while mean.checked_add_signed(shift).is_none_or(|rank| rank >= *count) {
                    shift /= 2;
                }
                mean.saturating_add_signed(shift)
            }
        }
    }
}

impl Scatter {
    fn place(self, rank: u64) -> u64 {
        rank.wrapping_mul(GOLDEN).wrapping_add(self.shift) % self.count
    }
}

/// Whether a job of this kind has operations in this direction.
pub(super) fn uses(rw: Rw, kind: usize) -> bool {
    [rw.reads(), rw.writes(), rw.trims()][kind]
}

/// Every place once, in random order.
#[derive(Clone, Debug)]
pub(super) struct Once {
    order: Permutation,
    count: u64,
    at: u64,
    first_seed: u64,
    seed: u64,
}

impl Once {
    pub(super) fn new(count: u64, seed: u64) -> Once {
        let order = Permutation::new(count.max(1), seed);
        Once { order, count, at: 0, first_seed: seed, seed }
    }

    #[inline]
    fn next(&mut self) -> Option<u64> {
        (self.at < self.count).then(|| {
            self.at += 1;
            self.order.get(self.at - 1)
        })
    }

    /// Starts over, in another order.
    pub(super) fn restart(&mut self) {
        self.reorder(self.seed.wrapping_add(0x9e37_79b9_7f4a_7c15));
    }

    /// Starts over, in the order of a seed.
    fn reorder(&mut self, seed: u64) {
        (self.seed, self.at) = (seed, 0);
        self.order = Permutation::new(self.order.len(), seed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PerKind;
    use rand_core::SeedableRng;

    /// The positions in a file of `count` blocks of 4 KiB.
    fn positions(distribution: Distribution, stride: bool, count: u64) -> Positions {
        let access = Access { distribution, sequence_stride: stride, ..Access::default() };
        Positions::new(&access, Places::new(&access, count * 4096), 1)
    }

    #[test]
    fn zones_get_their_share_of_accesses() {
        let zone =
            |access_percent, size_percent| crate::ZonePercent { access_percent, size_percent };
        let zones = PerKind::all(vec![zone(60, 10), zone(30, 20), zone(10, 70)]);
        let mut places = positions(Distribution::Zoned(zones), false, 1000);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
        let mut counts = [0; 3];
        for _ in 0..20_000 {
            let place = places.next(0, &mut rng).expect("never ends");
            counts[match place {
                ..100 => 0,
                100..300 => 1,
                _ => 2,
            }] += 1;
        }
        for (count, share) in counts.into_iter().zip([0.6, 0.3, 0.1]) {
            assert!((f64::from(count) / 20_000.0 - share).abs() < 0.02, "{counts:?}");
        }
    }

    #[test]
    fn ranks_share_places_unless_their_number_is_a_power_of_two() {
        let places = |count| {
            let scatter = Scatter { count, shift: 0 };
            let places = (0..count).map(|rank| scatter.place(rank));
            places.collect::<std::collections::BTreeSet<_>>()
        };
        assert_eq!(places(64).len(), 64);
        // Those of fio over 100 blocks.
        let hundred = [0, 8, 15, 23, 31, 39, 46, 54, 62, 69, 77, 85, 92];
        assert_eq!(places(100), hundred.into());
    }

    #[test]
    fn zones_without_room_for_a_block_have_no_place() {
        let zone = crate::ZonePercent { access_percent: 100, size_percent: 100 };
        let distribution = Distribution::Zoned(PerKind::all(vec![zone]));
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        assert_eq!(positions(distribution.clone(), false, 0).next(0, &mut rng), None);
        assert_eq!(positions(distribution, false, 1).next(0, &mut rng), Some(0));
    }

    #[test]
    fn a_sequence_is_repeated_or_advances() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let list = Distribution::Sequence(vec![2, 0, 1]);
        let mut taken = |stride, count| -> Vec<u64> {
            let mut places = positions(list.clone(), stride, count);
            (0..7).map_while(|_| places.next(0, &mut rng)).collect()
        };
        // Values from fio's example.
        assert_eq!(taken(false, 12), [2, 0, 1, 2, 0, 1, 2]);
        assert_eq!(taken(true, 12), [2, 0, 1, 5, 3, 4, 8]);
        assert_eq!(taken(true, 5), [2, 0, 1], "block 5 is beyond the end");
    }
}
