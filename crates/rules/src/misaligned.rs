//! MISALIGNED: do writes at a small offset cost more?

use record::{Unit, VerdictKind};
use workload::units::{binary, throughput};

use analysis::ClaimKind;

use super::rule::{Role, Rule};
use super::{Ruling, percent};

/// Ratios within this factor count as equally bad.
pub const ALIKE: f64 = 1.1;

/// If writes of whole blocks lose this share of the worst loss, that loss is scatter.
const SCATTER: f64 = 0.5;

/// Bytes per write. At a multiple of them, writes cover the same blocks as aligned ones: such a
/// distance costs nothing, and shows how much equal writes differ.
const BLOCK: u64 = 4096;

/// Rates at one distance from the boundary, bytes per second, one per replicate.
#[derive(Clone, Debug)]
pub struct Shift {
    /// The distance.
    pub bytes: u64,
    pub rates: Vec<f64>,
}

pub static RULE: Rule = Rule {
    role: Role::Claim,
    overridden_by: &[],
    judge: |facts| {
        facts.checks.get::<Vec<Shift>>().map(|shifts| misaligned(shifts)).into_iter().collect()
    },
};

/// Compares the distances; the first is 0.
pub fn misaligned(shifts: &[Shift]) -> Ruling {
    let (aligned, shifted_rates): (Vec<&Shift>, Vec<&Shift>) =
        shifts.iter().partition(|shift| shift.bytes.is_multiple_of(BLOCK));
    let Some((aligned, controls)) = aligned.split_first().filter(|_| !shifted_rates.is_empty())
    else {
        return Ruling::unknown("The cost of misalignment is unknown: it was not measured.");
    };
    let n = shifts.iter().map(|s| s.rates.len()).min().unwrap_or(0);
    let against = |s: &Shift| {
        analysis::compare_among(shifted_rates.len(), &aligned.rates[..n], &s.rates[..n])
    };
    let compared: Vec<_> =
        shifted_rates.iter().filter_map(|s| Some((s.bytes, against(s)?))).collect();
    let control = controls.iter().filter_map(|s| against(s)).map(|c| c.ratio).reduce(f64::min);
    let least = compared.iter().map(|c| c.1.ratio).fold(f64::INFINITY, f64::min);
    // Of equally bad offsets, the one nearest to the boundary, as it occurs in practice.
    let Some((bytes, worst)) = compared.iter().find(|c| c.1.ratio <= ALIKE * least) else {
        return Ruling::unknown("The cost of misalignment is unknown: nothing was written.");
    };
    let farthest = binary(shifted_rates.last().map_or(0, |shift| shift.bytes));
    let rate = analysis::estimate(&aligned.rates).value.unwrap_or(0.0);
    let shifted = rate * worst.ratio;
    let (distance, share) = (binary(*bytes), percent(worst.ratio));
    let ruling = match worst.outcome {
        // Writes that cover whole blocks are no slower than the drive's scatter.
        ClaimKind::Slower
            if control.is_some_and(|ratio| 1.0 - ratio > SCATTER * (1.0 - worst.ratio)) =>
        {
            Ruling::unknown(format!(
                "The cost of misalignment is unknown: {share} at {distance}, but whole blocks at \
                 other addresses vary as much."
            ))
        }
        ClaimKind::Slower => Ruling::yes(
            VerdictKind::Misaligned,
            format!(
                "Off by {distance}, 4 KiB writes fall from {} to {} ({share}): partitions and \
                 files must be aligned.",
                throughput(rate),
                throughput(shifted)
            ),
        ),
        ClaimKind::Equivalent => Ruling::no(
            VerdictKind::AlignmentIsFree,
            format!("Off by up to {farthest}, 4 KiB writes keep at least {share} of their rate."),
        ),
        ClaimKind::Faster | ClaimKind::Inconclusive => Ruling::unknown(format!(
            "The cost of misalignment is unknown: {share} at {distance}, within the scatter."
        )),
    };
    ruling
        .with("aligned", rate, Unit::BytesPerSecond)
        .with(format!("off by {distance}"), shifted, Unit::BytesPerSecond)
        .with("ratio", worst.ratio, Unit::Number)
}

#[cfg(test)]
mod tests {
    use super::super::Answer;
    use super::*;

    fn shifts(noise: f64, ratios: &[f64]) -> Vec<Shift> {
        let rates =
            |r: &f64| [1.0, 1.0 + noise, 1.0 - noise, 1.0].map(|n| 129.2e6 * r * n).to_vec();
        let of = |(i, r): (usize, &f64)| Shift { bytes: 512 * i as u64, rates: rates(r) };
        ratios.iter().enumerate().map(of).collect()
    }

    #[test]
    fn the_experiment_is_misaligned_and_a_free_drive_is_not() {
        let ruling = misaligned(&shifts(0.01, &[1.0, 0.124, 0.123]));
        assert_eq!(ruling.answer, Answer::Yes);
        let text = &ruling.verdict.text;
        assert!(
            text.starts_with("Off by 512 B, 4 KiB writes fall from 129 MB/s to 16.0 MB/s (12%)"),
            "{text}"
        );
        assert_eq!(misaligned(&shifts(0.0, &[1.0, 0.99, 1.0])).answer, Answer::No);
    }

    #[test]
    fn one_replicate_or_one_distance_is_inconclusive() {
        let mut once = shifts(0.0, &[1.0, 0.5]);
        once.iter_mut().for_each(|s| s.rates.truncate(1));
        assert_eq!(misaligned(&once).answer, Answer::Unknown);
        assert_eq!(misaligned(&shifts(0.0, &[1.0])).answer, Answer::Unknown);
        // The ninth distance is a whole block: it is as slow as the others.
        let drifting = shifts(0.0, &[1.0, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6]);
        assert_eq!(misaligned(&drifting).answer, Answer::Unknown);
        assert_eq!(misaligned(&[]).answer, Answer::Unknown);
    }
}
