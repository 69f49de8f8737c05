//! Closed forms for write amplification, and the drive they describe: uniform random writes to a
//! full drive with one write frontier shared by host and moved data.
//!
//! FIFO and greedy with large superblocks: A = alpha / (alpha + W0(-alpha e^-alpha)) (Desnoyers
//! 2012). Greedy with b pages per superblock: the finite-size correction of the same paper.
//! d-choices: the fixed point of Van Houdt's mean-field equations (2013). alpha is the ratio of
//! physical to logical pages, not counting the one superblock that is always free.

use model::ftl::Untimed;
use model::ftl::collect::Policy;
use model::ftl::page::{PageMapped, Rules};
use model::ftl::slc::Slc;
use model::ftl::superblock::{FlashLayout, Wear, mix};

/// A drive that meets the assumptions of the closed forms, filled once sequentially.
pub struct Pages {
    pub drive: PageMapped,
    pub logical: u32,
    seed: u64,
}

impl Pages {
    pub fn new(policy: Policy, alpha: f64, pages: u32, blocks: u32) -> Pages {
        let logical = (f64::from((blocks - 1) * pages) / alpha) as u32;
        let layout = FlashLayout {
            logical_pages: logical,
            superblocks: blocks,
            spares: 0,
            superblock_pages: pages,
            unit_pages: [pages.min(32), pages.min(8)],
        };
        let rules = Rules {
            policy,
            shared_frontier: true,
            slc: Slc::none(),
            wear: Wear { endurance: u32::MAX / 2, seed: 0 },
            level_lead: 0,
            idle_free: 0,
            idle_fold: false,
            seed: 1,
        };
        let mut bench = Pages { drive: PageMapped::new(layout, rules), logical, seed: 0 };
        bench.write(0, logical);
        bench
    }

    pub fn write(&mut self, lpn: u32, n: u32) {
        self.drive.write(0, lpn, n, &mut Untimed).expect("there is room");
    }

    pub fn below(&mut self, n: u32) -> u32 {
        self.seed += 1;
        ((u128::from(mix(self.seed)) * u128::from(n)) >> 64) as u32
    }

    /// Calls `step` `times * logical` times.
    pub fn run(&mut self, times: f64, mut step: impl FnMut(&mut Pages)) {
        (0..(times * f64::from(self.logical)) as u64).for_each(|_| step(self));
    }

    /// Returns the write amplification of `step` over `measure` drive writes, after `settle` drive
    /// writes to reach steady state.
    pub fn amplification(
        &mut self,
        settle: f64,
        measure: f64,
        mut step: impl FnMut(&mut Pages),
    ) -> f64 {
        self.run(settle, &mut step);
        let before = self.drive.work();
        self.run(measure, &mut step);
        let after = self.drive.work();
        1.0 + (after.moved - before.moved) as f64 / (after.host - before.host) as f64
    }

    pub fn uniform(&mut self) -> f64 {
        self.uniform_over(2.0)
    }

    /// Like [`Pages::uniform`], but over `drive_writes`: with few large superblocks, random choices
    /// among them give noisy results.
    pub fn uniform_over(&mut self, drive_writes: f64) -> f64 {
        self.amplification(3.0, drive_writes, |bench| {
            let lpn = bench.below(bench.logical);
            bench.write(lpn, 1);
        })
    }
}

/// Write amplification of greedy with `pages` pages per superblock.
pub fn greedy(alpha: f64, pages: u32) -> f64 {
    let b = f64::from(pages);
    let k = alpha * (1.0 + 1.0 / (2.0 * b));
    let x0 = 0.5 - b / alpha * lambert_w(-k * libm::exp(-k));
    b / (b - x0 + 1.0)
}

/// Write amplification of d-choices, from the fixed point: w[i], the fraction of superblocks with i
/// live pages, obeys w[i+1] = C/(i+1) (1 - (1 - W[i])^d), where W is the running sum. C and w[0]
/// follow from sum w = 1 and sum i w[i] = b / alpha. A = alpha C.
pub fn choices(alpha: f64, pages: u32, d: u32) -> f64 {
    let shares = |c: f64, w0: f64| {
        let (mut sum, mut mean) = (w0, 0.0);
        for i in 1..=pages {
            let hit = -libm::expm1(f64::from(d) * libm::log1p(-sum.min(1.0 - 1e-16)));
            let w = c / f64::from(i) * hit;
            sum += w;
            mean += f64::from(i) * w;
        }
        (sum, mean)
    };
    let mean = |c: f64| {
        let w0 = libm::exp(bisect(-700.0, 0.0, |log| shares(c, libm::exp(log)).0 < 1.0));
        shares(c, w0).1
    };
    alpha * bisect(0.0, 60.0, |c| mean(c) < f64::from(pages) / alpha)
}

/// The point at which `below` changes from true to false.
fn bisect(mut low: f64, mut high: f64, below: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..80 {
        let middle = (low + high) / 2.0;
        if below(middle) { low = middle } else { high = middle }
    }
    low
}

/// The principal branch of Lambert's W for x in (-1/e, 0), by Newton's method.
pub fn lambert_w(x: f64) -> f64 {
    let mut w: f64 = -0.5;
    for _ in 0..200 {
        let e = libm::exp(w);
        w = (w - (w * e - x) / (e * (w + 1.0))).max(-0.999_999);
    }
    w
}

/// Write amplification of FIFO, and of greedy with large superblocks (Desnoyers 2012).
pub fn large(alpha: f64) -> f64 {
    alpha / (alpha + lambert_w(-alpha * libm::exp(-alpha)))
}

/// Write amplification of a policy by its closed form, if it has one.
pub fn closed(policy: Policy, alpha: f64, pages: u32) -> Option<f64> {
    match policy {
        Policy::Greedy => Some(greedy(alpha, pages)),
        Policy::Fifo => Some(large(alpha)),
        Policy::Choices(d) => Some(choices(alpha, pages, d)),
        Policy::CostBenefit => None,
    }
}
