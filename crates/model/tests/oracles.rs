//! Write amplification of the translation against closed forms.
//!
//! Uniform random writes over a full drive with one frontier for host and moved data, which is the
//! drive the closed forms describe. FIFO and greedy with large superblocks: A = alpha / (alpha +
//! W0(-alpha e^-alpha)) (Desnoyers 2012); greedy with b pages per superblock: the finite-size
//! correction of the same paper; d-choices: the fixed point of Van Houdt's mean-field equations
//! (2013). alpha is physical over logical pages; the superblock that is always free counts in
//! neither.

use model::ftl::Untimed;
mod common;

use common::{lambert_w, large};
use model::ftl::collect::Policy;
use model::ftl::page::{Layout, PageMapped, Rules};
use model::ftl::slc::Slc;
use model::ftl::superblock::{Wear, mix};

/// A drive for the closed forms, filled once in order.
struct Bench {
    drive: PageMapped,
    logical: u32,
    seed: u64,
}

impl Bench {
    fn new(policy: Policy, alpha: f64, pages: u32, blocks: u32) -> Bench {
        let logical = (f64::from((blocks - 1) * pages) / alpha) as u32;
        let layout = Layout {
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
        let mut bench = Bench { drive: PageMapped::new(layout, rules), logical, seed: 0 };
        bench.write(0, logical);
        bench
    }

    fn write(&mut self, lpn: u32, n: u32) {
        self.drive.write(0, lpn, n, &mut Untimed).expect("there is room");
    }

    fn below(&mut self, n: u32) -> u32 {
        self.seed += 1;
        ((u128::from(mix(self.seed)) * u128::from(n)) >> 64) as u32
    }

    /// `times` the drive's pages of `step`s.
    fn run(&mut self, times: f64, mut step: impl FnMut(&mut Bench)) {
        (0..(times * f64::from(self.logical)) as u64).for_each(|_| step(self));
    }

    /// Write amplification of `step`s over `measure` drive writes after `settle` ones.
    fn amplification(
        &mut self,
        settle: f64,
        measure: f64,
        mut step: impl FnMut(&mut Bench),
    ) -> f64 {
        self.run(settle, &mut step);
        let before = self.drive.work();
        self.run(measure, &mut step);
        let after = self.drive.work();
        1.0 + (after.moved - before.moved) as f64 / (after.host - before.host) as f64
    }

    fn uniform(&mut self) -> f64 {
        self.amplification(3.0, 2.0, |bench| {
            let lpn = bench.below(bench.logical);
            bench.write(lpn, 1);
        })
    }
}

fn greedy(alpha: f64, pages: u32) -> f64 {
    let b = f64::from(pages);
    let k = alpha * (1.0 + 1.0 / (2.0 * b));
    let x0 = 0.5 - b / alpha * lambert_w(-k * (-k).exp());
    b / (b - x0 + 1.0)
}

/// d-choices by the fixed point: w[i], the share of superblocks with i live pages, obeys
/// w[i+1] = C/(i+1) (1 - (1 - W[i])^d) with W the running sum; C and w[0] follow from sum w = 1 and
/// sum i w[i] = b / alpha, and A = alpha C.
fn choices(alpha: f64, pages: u32, d: u32) -> f64 {
    let shares = |c: f64, w0: f64| {
        let (mut sum, mut mean) = (w0, 0.0);
        for i in 1..=pages {
            let hit = -(f64::from(d) * (-sum.min(1.0 - 1e-16)).ln_1p()).exp_m1();
            let w = c / f64::from(i) * hit;
            sum += w;
            mean += f64::from(i) * w;
        }
        (sum, mean)
    };
    let mean = |c: f64| {
        let w0 = bisect(-700.0, 0.0, |log| shares(c, f64::exp(log)).0 < 1.0).exp();
        shares(c, w0).1
    };
    alpha * bisect(0.0, 60.0, |c| mean(c) < f64::from(pages) / alpha)
}

/// Where `below` turns from true to false.
fn bisect(mut low: f64, mut high: f64, below: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..80 {
        let middle = (low + high) / 2.0;
        if below(middle) { low = middle } else { high = middle }
    }
    low
}

fn within(name: &str, found: f64, expected: f64, tolerance: f64) {
    let error = found / expected - 1.0;
    println!("{name}: {found:.3}, closed form {expected:.3}, {:+.2}%", error * 100.0);
    assert!(error.abs() <= tolerance, "{name}: {found} is not {expected}");
}

const OPS: [f64; 4] = [0.07, 0.15, 0.28, 0.5];

/// The closed forms themselves, against the figures published with the design.
#[test]
fn closed_forms_give_the_known_table() {
    let near = |a: f64, b: f64| assert!((a - b).abs() < 0.0006, "{a} is not {b}");
    let rows = [
        [7.817, 7.001, 7.386, 7.761, 10.277, 7.323, 15.286],
        [4.016, 3.799, 3.904, 4.002, 5.312, 3.930, 7.667],
        [2.481, 2.402, 2.441, 2.476, 3.245, 2.471, 4.571],
        [1.716, 1.681, 1.698, 1.714, 2.190, 1.721, 3.000],
    ];
    for (op, row) in OPS.into_iter().zip(rows) {
        let a = 1.0 + op;
        let forms = [large(a), greedy(a, 64), greedy(a, 128), greedy(a, 1024)];
        forms.into_iter().zip(row).for_each(|(form, figure)| near(form, figure));
        let forms = [choices(a, 64, 2), choices(a, 64, 10), choices(a, 64, 1)];
        forms.into_iter().zip(&row[4..]).for_each(|(form, figure)| near(form, *figure));
    }
}

#[test]
fn greedy_meets_its_closed_form() {
    for op in OPS {
        for (pages, blocks) in [(64, 4096), (128, 4096), (1024, 1024)] {
            let found = Bench::new(Policy::Greedy, 1.0 + op, pages, blocks).uniform();
            within(&format!("greedy {op} b={pages}"), found, greedy(1.0 + op, pages), 0.01);
        }
    }
    let found = Bench::new(Policy::Greedy, 1.28, 16_384, 160).uniform();
    within("greedy 0.28 b=16384", found, greedy(1.28, 16_384), 0.01);
}

#[test]
fn fifo_meets_its_closed_form() {
    for op in OPS {
        let found = Bench::new(Policy::Fifo, 1.0 + op, 128, 4096).uniform();
        within(&format!("fifo {op}"), found, large(1.0 + op), 0.01);
    }
}

#[test]
fn choices_meet_their_closed_form() {
    for op in OPS {
        for d in [1, 2, 10] {
            let found = Bench::new(Policy::Choices(d), 1.0 + op, 64, 8192).uniform();
            within(&format!("{d}-choices {op}"), found, choices(1.0 + op, 64, d), 0.01);
        }
    }
}

/// A share q of the operations are discards of pages in use: s = (1 - 2q)/(1 - q) of the pages are
/// in use, and alpha becomes alpha/s.
#[test]
#[expect(clippy::approx_constant, reason = "3.142 is no pi")]
fn discards_act_as_reserve() {
    for (q, figure) in [(0.1, 3.142), (0.2, 1.881), (0.3, 1.319)] {
        let mut bench = Bench::new(Policy::Greedy, 1.07, 1024, 512);
        let share = (q * f64::from(u32::MAX)) as u32;
        let found = bench.amplification(4.0, 3.0, |bench| {
            let discard = bench.below(u32::MAX) < share;
            let mut lpn = bench.below(bench.logical);
            while discard && bench.drive.map().get(lpn).is_none() {
                lpn = bench.below(bench.logical);
            }
            if discard { bench.drive.discard(lpn, 1) } else { bench.write(lpn, 1) }
        });
        within(&format!("discards {q}"), found, large(1.07 * (1.0 - q) / (1.0 - 2.0 * q)), 0.025);
        within(&format!("discards {q}, table"), found, figure, 0.025);
    }
}

/// Random writes over a share f of a discarded drive: alpha becomes alpha/f.
#[test]
fn unused_space_acts_as_reserve() {
    for (f, figure) in [(0.5, 1.203), (0.75, 1.881), (0.9, 3.334)] {
        let mut bench = Bench::new(Policy::Greedy, 1.07, 1024, 512);
        let (logical, span) = (bench.logical, (f * f64::from(bench.logical)) as u32);
        bench.drive.discard(span, logical - span);
        let found = bench.amplification(3.0, 2.0, |bench| {
            let lpn = bench.below(span);
            bench.write(lpn, 1);
        });
        within(&format!("span {f}"), found, large(1.07 / f), 0.025);
        within(&format!("span {f}, table"), found, figure, 0.025);
    }
}
