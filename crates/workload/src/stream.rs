//! The operation stream of one job.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::pattern::{Addresses, below};
use crate::{BlockSizes, Mix, Op, OpKind, Pattern, Workload};

/// Draws the operations of one job. They depend only on the workload and the job's number, not on
/// time or completions.
#[derive(Debug)]
pub struct OpStream {
    addresses: Addresses,
    kinds: Kinds,
    sizes: Sizes,
    trace: Option<Trace>,
    flush: Option<FlushEvery>,
    rng: Xoshiro256PlusPlus,
}

#[derive(Debug)]
enum Kinds {
    Only(OpKind),
    Mixed(Deck),
}

/// A deck with cards of each kind in proportion to its weight, dealt in random order and then
/// reshuffled. Independent draws reach the shares only in the long run: after 40 operations, all
/// that a slow memory card completes in one measurement, the shares may be off by a tenth.
#[derive(Debug)]
struct Deck {
    whole: [u64; 4],
    left: [u64; 4],
    /// Total number of cards left.
    count: u64,
}

impl Deck {
    /// The smallest deck with the shares of the mix. At least one weight must not be 0.
    fn smallest(mix: &Mix) -> Deck {
        let weights = OpKind::ALL.map(|kind| u64::from(mix.weight(kind)));
        let decks = mix.total() / mix.cycle();
        Deck { whole: weights.map(|weight| weight / decks), left: [0; 4], count: 0 }
    }

    #[inline]
    fn deal(&mut self, draw: u64) -> OpKind {
        if self.count == 0 {
            self.left = self.whole;
            self.count = self.whole.iter().sum();
        }
        let mut card = below(draw, self.count);
        let kind = self.left.iter().position(|cards| {
            let is_found = card < *cards;
            card -= if is_found { 0 } else { *cards };
            is_found
        });
        let kind = kind.unwrap_or(0);
        self.left[kind] -= 1;
        self.count -= 1;
        OpKind::ALL[kind]
    }
}

#[derive(Debug)]
enum Sizes {
    Fixed(u32),
    /// Sum of the weights; cumulative weight and size of each part.
    Split {
        total: u64,
        bounds: Vec<(u64, u32)>,
    },
}

#[derive(Debug)]
struct Trace {
    ops: std::sync::Arc<[Op]>,
    at: usize,
    step: usize,
}

#[derive(Debug)]
struct FlushEvery {
    writes: u32,
    left: u32,
}

impl OpStream {
    /// The stream of job `job`, numbered from 0. The workload must have passed [`Workload::check`].
    pub fn new(workload: &Workload, job: u32) -> OpStream {
        let seed = workload.seed.wrapping_add(u64::from(job).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let (grid, whole) = (workload.blocks.min(), workload.blocks.max());
        let slice = workload.slice(job);
        let trace = match &workload.pattern {
            Pattern::Trace { ops } => {
                Some(Trace { ops: ops.clone(), at: job as usize, step: workload.jobs as usize })
            }
            _ => None,
        };
        OpStream {
            addresses: Addresses::new(&workload.pattern, slice, grid, whole, seed),
            kinds: kinds(workload),
            sizes: sizes(&workload.blocks),
            trace,
            flush: workload.flush_every.map(|writes| FlushEvery { writes, left: writes }),
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
        }
    }

    /// The next operation; `None` at the end of a trace. Other patterns never end.
    // Forced inline: an operation returned through memory is stored in parts and loaded whole, and
    // the store-forwarding stall takes longer than drawing the operation.
    #[inline(always)]
    pub fn next_op(&mut self) -> Option<Op> {
        if let Some(trace) = &mut self.trace {
            let op = trace.ops.get(trace.at).copied();
            trace.at += trace.step;
            return op;
        }
        if let Some(flush) = &mut self.flush
            && flush.left == 0
        {
            flush.left = flush.writes;
            return Some(Op::FLUSH);
        }
        let kind = match &mut self.kinds {
            Kinds::Only(kind) => *kind,
            Kinds::Mixed(deck) => deck.deal(self.rng.next_u64()),
        };
        if kind == OpKind::Flush {
            return Some(Op::FLUSH);
        }
        if let Some(flush) = &mut self.flush
            && kind == OpKind::Write
        {
            flush.left -= 1;
        }
        let bytes = match &self.sizes {
            Sizes::Fixed(bytes) => *bytes,
            Sizes::Split { total, bounds } => {
                let draw = below(self.rng.next_u64(), *total);
                bounds.iter().find(|b| draw < b.0).map_or(0, |b| b.1)
            }
        };
        let offset = self.addresses.next(bytes, &mut self.rng);
        Some(Op { kind, offset, bytes })
    }

    /// If all operations have the same kind and size, as in most workloads, appends the next
    /// `count` and returns true; otherwise, and for traces and flushes, draws nothing and returns
    /// false. It is faster than [`OpStream::next_op`], which chooses a kind and a size for each
    /// operation.
    pub(crate) fn draw_alike(&mut self, count: usize, out: &mut Vec<Op>) -> bool {
        match (&self.kinds, &self.sizes, &self.trace, &self.flush) {
            (&Kinds::Only(kind), &Sizes::Fixed(bytes), None, None) if kind != OpKind::Flush => {
                out.reserve(count);
                self.addresses.next_many(bytes, &mut self.rng, count, |offset| {
                    out.push(Op { kind, offset, bytes })
                });
                true
            }
            _ => false,
        }
    }
}

fn kinds(workload: &Workload) -> Kinds {
    match workload.mix.only() {
        Some(kind) => Kinds::Only(kind),
        None => Kinds::Mixed(Deck::smallest(&workload.mix)),
    }
}

fn sizes(blocks: &BlockSizes) -> Sizes {
    match blocks {
        BlockSizes::Fixed(bytes) => Sizes::Fixed(*bytes),
        BlockSizes::Split(parts) => {
            let mut total = 0;
            let bounds = parts.iter().map(|&(bytes, weight)| {
                total += u64::from(weight);
                (total, bytes)
            });
            let bounds = bounds.collect();
            Sizes::Split { total, bounds }
        }
    }
}
