//! Address patterns.

use std::sync::Arc;

use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

use crate::feistel::Permutation;
use crate::zipf::Zipf;
use crate::{Op, Region, WorkloadError};

/// A share of the space that receives a share of the accesses.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Zone {
    /// Share of the region, 0 to 1; zones follow one another from its start.
    pub space: f64,
    /// Relative weight of its accesses.
    pub access: f64,
}

/// The order in which a workload visits its region.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Pattern {
    /// Ascending; wraps to the start.
    Sequential,
    /// Descending; wraps to the end.
    Backwards,
    /// Ascending with a fixed distance between operations. Each pass is shifted by one block.
    Strided {
        /// Distance in bytes.
        stride_bytes: u64,
    },
    /// Uniformly random, each block once per pass. Each pass has a different order.
    UniformOnce,
    /// Uniformly random; blocks may repeat immediately.
    Uniform,
    /// Zipf-distributed popularity; popular blocks are scattered over the region.
    Zipf {
        /// Exponent, above 0; 1.1 is typical of a hot set.
        theta: f64,
    },
    /// Zones of different heat, uniformly random within each.
    Zones {
        /// The zones; spaces sum to 1.
        zones: Vec<Zone>,
    },
    /// The operations of a trace, distributed round-robin over the jobs. Ends with the trace.
    Trace {
        /// The operations, in order.
        ops: Arc<[Op]>,
    },
}

impl Pattern {
    /// Two zones: `space` of the region gets `access` of the accesses.
    pub fn hot_cold(space: f64, access: f64) -> Pattern {
        let hot = Zone { space, access };
        let cold = Zone { space: 1.0 - space, access: 1.0 - access };
        Pattern::Zones { zones: vec![hot, cold] }
    }

    /// Whether addresses are drawn at random.
    pub fn is_random(&self) -> bool {
        use Pattern::*;
        matches!(self, UniformOnce | Uniform | Zipf { .. } | Zones { .. })
    }

    pub(crate) fn check(&self) -> Result<(), WorkloadError> {
        let bad = |what, value, range| Err(WorkloadError::OutOfRange { what, value, range });
        match self {
            Pattern::Zipf { theta } if !(*theta > 0.0 && *theta <= 10.0) => {
                bad("zipf exponent", *theta, "above 0 and at most 10")
            }
            Pattern::Strided { stride_bytes: 0 } => bad("stride", 0.0, "at least 1 byte"),
            Pattern::Zones { zones } => {
                let space: f64 = zones.iter().map(|z| z.space).sum();
                let access: f64 = zones.iter().map(|z| z.access).sum();
                if let Some(zone) = zones.iter().find(|z| z.space <= 0.0) {
                    return bad("a zone's share of the region", zone.space, "above 0");
                }
                if let Some(zone) = zones.iter().find(|z| z.access < 0.0) {
                    return bad("a zone's share of the accesses", zone.access, "at least 0");
                }
                if access <= 0.0 {
                    return bad("sum of the zones' accesses", access, "above 0");
                }
                if (space - 1.0).abs() > 1e-6 {
                    return bad("sum of the zones' space", space, "1");
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// Address generator of one job. An enum rather than a trait object, because the engine's hot loop
/// calls it once per I/O.
#[derive(Debug)]
pub(crate) enum Addresses {
    Ascending { slice: Region, at: u64 },
    Descending { slice: Region, at: u64 },
    Strided { slice: Region, at: u64, stride: u64, lane: u64 },
    Once { start: u64, grid: u64, order: Permutation, at: u64, pass: u64, seed: u64 },
    Uniform { start: u64, grid: u64, places: u64, end: u64 },
    Zipf { start: u64, grid: u64, end: u64, ranks: Zipf, scatter: Permutation },
    Zones { zones: Vec<ZonePlaces>, grid: u64, end: u64 },
}

/// A zone in grid places, with the upper bound of the 64-bit draws that select it.
#[derive(Debug)]
pub(crate) struct ZonePlaces {
    bound: u64,
    start: u64,
    places: u64,
}

impl Addresses {
    /// Addresses for a job within `slice`. `grid` is the smallest block and `whole` the largest. A
    /// permutation visits places of the largest block size, so that no two operations overlap.
    pub(crate) fn new(pattern: &Pattern, slice: Region, grid: u32, whole: u32, seed: u64) -> Self {
        let (grid, whole) = (u64::from(grid), u64::from(whole));
        let places = slice.bytes / grid;
        match pattern {
            Pattern::Sequential | Pattern::Trace { .. } => {
                Addresses::Ascending { slice, at: slice.start }
            }
            Pattern::Backwards => Addresses::Descending { slice, at: slice.end() },
            Pattern::Strided { stride_bytes } => {
                Addresses::Strided { slice, at: slice.start, stride: *stride_bytes, lane: 0 }
            }
            Pattern::UniformOnce => {
                let order = Permutation::new(slice.bytes / whole, seed);
                Addresses::Once { start: slice.start, grid: whole, order, at: 0, pass: 0, seed }
            }
            Pattern::Uniform => {
                Addresses::Uniform { start: slice.start, grid, places, end: slice.end() }
            }
            Pattern::Zipf { theta } => Addresses::Zipf {
                start: slice.start,
                grid,
                end: slice.end(),
                ranks: Zipf::new(places, *theta),
                scatter: Permutation::new(places, seed ^ 0x5a49_5046),
            },
            Pattern::Zones { zones } => {
                Addresses::Zones { zones: zone_places(zones, slice, grid), grid, end: slice.end() }
            }
        }
    }

    /// Passes the next `count` addresses to `take`. The most common random pattern has its own
    /// loop, which takes two thirds as long.
    #[inline(always)]
    pub(crate) fn next_many(
        &mut self,
        bytes: u32,
        rng: &mut Xoshiro256PlusPlus,
        count: usize,
        mut take: impl FnMut(u64),
    ) {
        match self {
            Addresses::Once { start, grid, order, at, .. } if order.len() - *at >= count as u64 => {
                let (first, start, grid, order) = (*at, *start, *grid, order.clone());
                *at += count as u64;
                (first..*at).for_each(|place| take(start + order.get(place) * grid));
            }
            _ => (0..count).for_each(|_| take(self.next(bytes, rng))),
        }
    }

    /// Returns the address of the next operation; all of its `bytes` lie within the slice.
    #[inline]
    pub(crate) fn next(&mut self, bytes: u32, rng: &mut Xoshiro256PlusPlus) -> u64 {
        let bytes = u64::from(bytes);
        match self {
            Addresses::Ascending { slice, at } => {
                if *at + bytes > slice.end() {
                    *at = slice.start;
                }
                let offset = *at;
                *at += bytes;
                offset
            }
            Addresses::Descending { slice, at } => {
                if *at < slice.start + bytes {
                    *at = slice.end();
                }
                *at -= bytes;
                *at
            }
            Addresses::Strided { slice, at, stride, lane } => {
                if *at + bytes > slice.end() {
                    *lane = (*lane + bytes) % *stride;
                    *at = slice.start + *lane;
                    if *at + bytes > slice.end() {
                        *at = slice.start;
                    }
                }
                let offset = *at;
                *at += *stride;
                offset
            }
            Addresses::Once { start, grid, order, at, pass, seed } => {
                if *at == order.len() {
                    (*at, *pass) = (0, *pass + 1);
                    *order = Permutation::new(order.len(), seed.wrapping_add(*pass));
                }
                let place = order.get(*at);
                *at += 1;
                *start + place * *grid
            }
            Addresses::Uniform { start, grid, places, end } => {
                let offset = *start + below(rng.next_u64(), *places) * *grid;
                offset.min(last_fit(*start, *end, bytes, *grid))
            }
            Addresses::Zipf { start, grid, end, ranks, scatter } => {
                let offset = *start + scatter.get(ranks.sample(rng)) * *grid;
                offset.min(last_fit(*start, *end, bytes, *grid))
            }
            Addresses::Zones { zones, grid, end } => {
                let draw = rng.next_u64();
                let zone = zones.iter().find(|z| draw <= z.bound).unwrap_or(&zones[0]);
                let offset = zone.start + below(rng.next_u64(), zone.places) * *grid;
                offset.min(last_fit(zones[0].start, *end, bytes, *grid))
            }
        }
    }
}

/// Maps a 64-bit random number to a number below `n` (multiply-high; the bias is under n / 2^64).
#[inline]
pub(crate) fn below(draw: u64, n: u64) -> u64 {
    ((u128::from(draw) * u128::from(n)) >> 64) as u64
}

/// The address of the last grid place at which `bytes` fit; `u64::MAX` if they fit at every place.
#[inline]
fn last_fit(start: u64, end: u64, bytes: u64, grid: u64) -> u64 {
    if bytes <= grid {
        return u64::MAX;
    }
    start + (end - start - bytes) / grid * grid
}

fn zone_places(zones: &[Zone], slice: Region, grid: u64) -> Vec<ZonePlaces> {
    let places = slice.bytes / grid;
    let weight: f64 = zones.iter().map(|z| z.access).sum();
    let (mut space, mut access) = (0.0, 0.0);
    let mut zone_places = Vec::with_capacity(zones.len());
    for zone in zones {
        let first = (space * places as f64) as u64;
        space += zone.space;
        access += zone.access / weight;
        let end = ((space * places as f64) as u64).clamp(first, places);
        zone_places.push(ZonePlaces {
            bound: (access * u64::MAX as f64) as u64,
            start: slice.start + first.min(places - 1) * grid,
            places: (end - first).max(1).min(places - first.min(places - 1)),
        });
    }
    if let Some(last) = zone_places.last_mut() {
        last.bound = u64::MAX;
    }
    zone_places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_out_of_range_is_reported_with_its_value() {
        let text = |zones: &[[f64; 2]]| {
            let zones = zones.iter().map(|&[space, access]| Zone { space, access }).collect();
            Pattern::Zones { zones }.check().map_err(|error| error.to_string())
        };
        assert_eq!(text(&[[0.2, 0.8], [0.8, 0.2]]), Ok(()));
        let wrong = [
            ([[-0.2, 0.8], [1.2, 0.2]], "a zone's share of the region is -0.2"),
            ([[0.2, -0.8], [0.8, 0.2]], "a zone's share of the accesses is -0.8"),
            ([[0.2, 0.0], [0.8, 0.0]], "sum of the zones' accesses is 0"),
            ([[0.25, 0.5], [0.5, 0.5]], "sum of the zones' space is 0.75"),
        ];
        for (zones, expected) in wrong {
            let said = text(&zones).expect_err("out of range");
            assert!(said.starts_with(expected), "{said}");
        }
    }
}
