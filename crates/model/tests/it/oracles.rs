//! Compares the translation's write amplification with the closed forms of `common/oracle.rs`. The
//! example `matrix` covers more superblock sizes and takes minutes.

use crate::common::oracle::{Pages, choices, closed, greedy, large};
use model::ftl::collect::Policy;

fn within(name: &str, found: f64, expected: f64, tolerance: f64) {
    let error = found / expected - 1.0;
    println!("{name}: {found:.3}, closed form {expected:.3}, {:+.2}%", error * 100.0);
    assert!(error.abs() <= tolerance, "{name}: {found} is not {expected}");
}

const OPS: [f64; 4] = [0.07, 0.15, 0.28, 0.5];

/// Checks the closed forms themselves against the figures published with the design.
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

/// Compares a policy's write amplification, over two drive writes after three, with its closed
/// form.
fn meets(policy: Policy, op: f64, pages: u32, blocks: u32) {
    let found = Pages::new(policy, 1.0 + op, pages, blocks).uniform();
    let expected = closed(policy, 1.0 + op, pages).expect("it has one");
    within(&format!("{policy:?} {op} b={pages}"), found, expected, 0.01);
}

#[test]
fn greedy_meets_its_closed_form() {
    for op in OPS {
        for (pages, blocks) in [(64, 4096), (128, 4096), (1024, 1024)] {
            meets(Policy::Greedy, op, pages, blocks);
        }
    }
}

#[test]
fn fifo_meets_its_closed_form() {
    for op in OPS {
        for (pages, blocks) in [(128, 4096), (1024, 1024)] {
            meets(Policy::Fifo, op, pages, blocks);
        }
    }
}

#[test]
fn choices_meet_their_closed_form() {
    for op in OPS {
        for d in [1, 2, 10] {
            meets(Policy::Choices(d), op, 64, 8192);
        }
    }
}

/// Uses superblocks as large as those of real drives.
#[test]
fn large_superblocks_meet_their_closed_form() {
    for policy in [Policy::Greedy, Policy::Fifo] {
        meets(policy, 0.28, 16_384, 160);
    }
}

/// If a fraction q of the operations are discards of mapped pages, s = (1 - 2q)/(1 - q) of the
/// pages are mapped, and alpha becomes alpha/s.
#[test]
#[expect(clippy::approx_constant, reason = "3.142 is no pi")]
fn discards_act_as_over_provisioning() {
    for (q, figure) in [(0.1, 3.142), (0.2, 1.881), (0.3, 1.319)] {
        let mut bench = Pages::new(Policy::Greedy, 1.07, 1024, 512);
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

/// For random writes to a fraction f of a discarded drive, alpha becomes alpha/f.
#[test]
fn unused_space_acts_as_over_provisioning() {
    for (f, figure) in [(0.5, 1.203), (0.75, 1.881), (0.9, 3.334)] {
        let mut bench = Pages::new(Policy::Greedy, 1.07, 1024, 512);
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
