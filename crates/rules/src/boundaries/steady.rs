//! STEADY: both definitions.

use super::{short, table};
use crate::steady::steady;
use crate::{Ruling, Steadiness};

fn rounds(pts: Option<u32>, plateau: Option<u32>, excursion: Option<f64>) -> Steadiness {
    let (rounds, passes) = (25, 12.25);
    Steadiness { rounds, pts, plateau, excursion, passes, ..Steadiness::new("a") }
}

#[test]
fn steady_by_either_definition_or_by_none() {
    let said = |(pts, plateau, excursion)| short([steady(&rounds(pts, plateau, excursion))]);
    let rows = [
        ((Some(5), Some(9), Some(0.01)), "STEADY"),
        ((None, Some(9), Some(0.01)), "STEADY"),
        ((Some(5), None, Some(0.08)), "PTS-STEADY ONLY"),
        ((None, None, Some(0.0)), "no: NOT STEADY"),
        ((Some(5), Some(9), None), "unknown"),
        ((None, None, None), "unknown"),
    ];
    table(said, rows);
}

pub fn examples() -> Vec<Ruling> {
    let seen = [
        rounds(Some(5), Some(9), Some(0.01)),
        rounds(None, Some(9), Some(0.01)),
        rounds(Some(5), None, Some(-0.08)),
        rounds(None, None, Some(-0.3)),
        rounds(None, None, None),
    ];
    seen.iter().map(steady).collect()
}
