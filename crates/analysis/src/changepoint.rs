//! Change points of a time series: where a rate changes permanently, with a confidence interval.
//!
//! PELT (Killick, Fearnhead and Eckley 2012) splits the logarithm of the rate into segments of
//! constant level, minimising the squared distance from the level plus a penalty per cut. The noise
//! is estimated from differences between neighbouring points, which a step hardly affects. Outliers
//! of one or two points are first clipped to their neighbourhood, and small steps are merged. Each
//! change point has a 95% interval from the likelihood of the points around it.

/// Penalty per cut, in noise variances times ln n. The usual 2 or 3 is too small for the correlated
/// noise of drives.
const PENALTY: f64 = 6.0;

/// Neighbouring levels that differ by less than this fraction are merged.
const MERGE_BELOW: f64 = 0.15;

/// Minimum number of points in a piece.
const LEAST: usize = 3;

/// Number of points in a neighbourhood, including the point itself.
const NEIGHBOURS: usize = 5;

/// A point is clipped to this many standard deviations from the median of its neighbourhood.
const CLIP: f64 = 3.0;

/// Minimum noise as a fraction. Virtual drives have none, so every ripple would count as a step.
const NOISE_MIN: f64 = 0.005;

/// 95% quantile of the likelihood ratio at a change point: (1 - exp(-x/2))^2 = 0.95 (Hinkley 1970,
/// Yao 1987).
const LIKELIHOOD_95: f64 = 7.35;

/// A piece of constant rate: points `start..end`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Piece {
    /// First point.
    pub start: usize,
    /// Exclusive end.
    pub end: usize,
    /// Geometric mean of the rates after clipping, in their unit.
    pub level: f64,
}

/// Boundary between two pieces, as the index of the second piece's first point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// Best estimate.
    pub at: usize,
    /// Lower end of the 95% interval.
    pub low: usize,
    /// Upper end of the 95% interval.
    pub high: usize,
}

/// A time series as pieces of constant rate.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Steps {
    /// The pieces in order; they cover all points.
    pub pieces: Vec<Piece>,
    /// `changes[i]` lies between `pieces[i]` and `pieces[i + 1]`.
    pub changes: Vec<Change>,
}

impl Steps {
    /// Index of the first change from a higher to a lower rate.
    pub fn first_fall(&self) -> Option<usize> {
        self.pieces.windows(2).position(|pair| pair[1].level < pair[0].level)
    }
}

/// Finds the steps of a series of rates. A rate of zero counts as 0.1% of the median.
pub fn steps(rates: &[f64]) -> Steps {
    if rates.is_empty() {
        return Steps::default();
    }
    let floor = (median(rates.to_vec()) / 1000.0).max(f64::MIN_POSITIVE);
    let logs: Vec<f64> = rates.iter().map(|r| libm::log(r.max(floor))).collect();
    let noise = noise(&logs);
    let costs = Costs::new(&clipped(&logs, CLIP * noise));
    let mut bounds = cut(&costs, PENALTY * noise * noise * libm::log(logs.len() as f64));
    join_edges(&costs, &mut bounds);
    merge(&costs, &mut bounds);
    let pieces = bounds.windows(2).map(|b| Piece {
        start: b[0],
        end: b[1],
        level: libm::exp(costs.mean(b[0], b[1])),
    });
    let changes = bounds.windows(3).map(|b| place(&costs, b, noise));
    Steps { pieces: pieces.collect(), changes: changes.collect() }
}

/// Reduces the values to at most `most` medians of equal groups of neighbours.
pub fn medians(values: &[f64], most: usize) -> Vec<f64> {
    let group = values.len().div_ceil(most.max(1)).max(1);
    values.chunks(group).map(|chunk| median(chunk.to_vec())).collect()
}

/// Standard deviation of the noise, from the median difference between neighbours.
fn noise(logs: &[f64]) -> f64 {
    let differences = logs.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
    // 0.6745 is the median of |x| for a standard normal; the root is there because a difference has
    // twice the variance.
    (median(differences) / 0.6745 / 2f64.sqrt()).max(NOISE_MIN)
}

/// Clips every point to within `most` of the median of its neighbourhood.
fn clipped(logs: &[f64], most: f64) -> Vec<f64> {
    let half = NEIGHBOURS / 2;
    let clipped = logs.iter().enumerate().map(|(i, value)| {
        let neighbours = &logs[i.saturating_sub(half)..(i + half + 1).min(logs.len())];
        let middle = median(neighbours.to_vec());
        value.clamp(middle - most, middle + most)
    });
    clipped.collect()
}

/// The median: the mean of the middle two of an even number, 0 for no values.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let n = values.len();
    match n {
        0 => 0.0,
        _ => (values[(n - 1) / 2] + values[n / 2]) / 2.0,
    }
}

/// Prefix sums, which give the cost of any range in constant time.
struct Costs {
    sums: Vec<f64>,
    squares: Vec<f64>,
}

impl Costs {
    fn new(values: &[f64]) -> Costs {
        // Subtract the mean first: squared logarithms of bytes per second would lose precision.
        let mean = crate::student::mean(values);
        let mut costs = Costs { sums: vec![0.0], squares: vec![0.0] };
        let (mut sum, mut square) = (0.0, 0.0);
        for value in values {
            sum += value;
            square += (value - mean).powi(2);
            costs.sums.push(sum);
            costs.squares.push(square);
        }
        costs
    }

    fn len(&self) -> usize {
        self.sums.len() - 1
    }

    fn mean(&self, start: usize, end: usize) -> f64 {
        (self.sums[end] - self.sums[start]) / (end - start) as f64
    }

    /// Sum of the squared distances of the points `start..end` from their mean.
    fn cost(&self, start: usize, end: usize) -> f64 {
        let overall = self.sums[self.len()] / self.len() as f64;
        let deviation = self.mean(start, end) - overall;
        let squares = self.squares[end] - self.squares[start];
        (squares - (end - start) as f64 * deviation * deviation).max(0.0)
    }
}

/// Finds the optimal cut. Returns the bounds of the pieces, including 0 and the end.
fn cut(costs: &Costs, penalty: f64) -> Vec<usize> {
    let n = costs.len();
    let mut best = vec![f64::INFINITY; n + 1];
    let mut predecessors = vec![0; n + 1];
    best[0] = -penalty;
    let mut starts = vec![0];
    for end in LEAST..=n {
        for &start in starts.iter().filter(|&&s| s + LEAST <= end) {
            let total = best[start] + costs.cost(start, end) + penalty;
            if total < best[end] {
                (best[end], predecessors[end]) = (total, start);
            }
        }
        // PELT's pruning: a start that costs more even without the penalty never wins later.
        starts.retain(|&s| s + LEAST > end || best[s] + costs.cost(s, end) <= best[end]);
        starts.push(end);
    }
    let mut bounds = vec![n];
    while let Some(&last) = bounds.last().filter(|&&last| last > 0) {
        bounds.push(predecessors[last]);
    }
    bounds.reverse();
    bounds
}

/// Joins minimal pieces that lie between the levels of their neighbours to the nearer one. They
/// come from a point during which the rate changes.
fn join_edges(costs: &Costs, bounds: &mut Vec<usize>) {
    let mut i = 1;
    while i + 2 < bounds.len() {
        let levels = [i - 1, i, i + 1].map(|k| costs.mean(bounds[k], bounds[k + 1]));
        let (down, rise) = (levels[1] - levels[0], levels[2] - levels[1]);
        if bounds[i + 1] - bounds[i] == LEAST && down * rise > 0.0 {
            bounds.remove(if down.abs() < rise.abs() { i } else { i + 1 });
        } else {
            i += 1;
        }
    }
}

/// Removes the smallest steps until all reach [`MERGE_BELOW`].
fn merge(costs: &Costs, bounds: &mut Vec<usize>) {
    loop {
        let steps = bounds.windows(3).map(|b| costs.mean(b[0], b[1]) - costs.mean(b[1], b[2]));
        let smallest = steps.map(f64::abs).enumerate().min_by(|a, b| a.1.total_cmp(&b.1));
        match smallest {
            Some((i, size)) if size < libm::log1p(MERGE_BELOW) => bounds.remove(i + 1),
            _ => return,
        };
    }
}

/// The most likely boundary between two pieces, with the range of those nearly as likely.
fn place(costs: &Costs, b: &[usize], noise: f64) -> Change {
    let cost = |at| costs.cost(b[0], at) + costs.cost(at, b[2]);
    let places = b[0] + 1..b[2];
    let best = places.clone().min_by(|x, y| cost(*x).total_cmp(&cost(*y))).unwrap_or(b[1]);
    let mut likely = places.filter(|x| cost(*x) - cost(best) <= LIKELIHOOD_95 * noise * noise);
    let low = likely.next().unwrap_or(best);
    Change { at: best, low, high: likely.next_back().unwrap_or(low) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::Dice;

    /// A series of (points, rate) pieces, with noise.
    fn series(seed: u64, cv: f64, parts: &[(usize, f64)]) -> Vec<f64> {
        let mut dice = Dice::new(seed);
        parts.iter().flat_map(|&(n, rate)| dice.log_normal(rate, cv, n)).collect()
    }

    #[test]
    fn the_steps_of_a_drive_with_a_cache_are_found() {
        // Proportions of a 2 TB 980 Pro: cache, drained while writing, cache again, drained again.
        let parts = [(34, 5.0), (158, 1.47), (66, 5.0), (142, 1.4)];
        for cv in [0.0, 0.02, 0.1] {
            let steps = steps(&series(1, cv, &parts));
            assert_eq!(steps.pieces.len(), 4, "{cv}: {steps:?}");
            let mut end = 0;
            for (piece, (n, rate)) in steps.pieces.iter().zip(parts) {
                end += n;
                assert!(piece.end.abs_diff(end) <= 1, "{steps:?}");
                assert!((piece.level / rate - 1.0).abs() < 0.04, "{steps:?}");
            }
            assert_eq!(steps.first_fall(), Some(0));
        }
    }

    #[test]
    fn noise_and_outliers_are_not_steps() {
        for seed in 0..50 {
            let mut rates = series(seed, 0.15, &[(400, 2.5)]);
            (rates[100], rates[101], rates[300]) = (0.0, 0.1, 9.0);
            assert_eq!(steps(&rates).pieces.len(), 1, "seed {seed}");
        }
        assert_eq!(steps(&[2.5; 400]).pieces.len(), 1);
        assert_eq!(steps(&series(3, 0.01, &[(200, 1.0), (200, 1.1)])).pieces.len(), 1);
    }

    #[test]
    fn the_interval_holds_the_place_in_95_of_100_cases() {
        // Steps small enough, relative to the noise, to leave the change point uncertain.
        let mut widths = 0u32;
        let hit = (0..400).filter(|&seed| {
            let steps = steps(&series(seed, 0.25, &[(100, 1.0), (100, 0.7)]));
            let Some(i) = steps.first_fall() else { return false };
            let c = steps.changes[i];
            widths += (c.high - c.low) as u32;
            c.low <= 100 && 100 <= c.high && c.low <= c.at && c.at <= c.high
        });
        let coverage = hit.count() as f64 / 400.0;
        assert!((0.92..0.99).contains(&coverage), "{coverage}");
        let width = f64::from(widths) / 400.0;
        assert!((6.0..11.0).contains(&width), "{width}: too wide to be useful, or too narrow");
    }

    #[test]
    fn a_clear_step_has_a_narrow_interval() {
        let steps = steps(&series(9, 0.02, &[(57, 5.0), (343, 1.5)]));
        assert_eq!(steps.changes, [Change { at: 57, low: 57, high: 57 }]);
    }

    #[test]
    fn a_point_in_which_the_rate_changes_is_no_level() {
        let parts = [(61, 5.0), (1, 2.3), (92, 1.5), (1, 3.0), (245, 5.0)];
        let steps = steps(&series(1, 0.0, &parts));
        let found: Vec<_> = steps.changes.iter().map(|c| c.at).collect();
        assert!(found.len() == 2 && found[0].abs_diff(61) <= 1, "{steps:?}");
        assert!(found[1].abs_diff(154) <= 1, "{steps:?}");
    }

    #[test]
    fn a_level_of_three_points_between_two_others_joins_the_nearer_one() {
        for (between, end) in [(4.0, 63), (1.9, 60)] {
            let steps = steps(&series(1, 0.0, &[(60, 5.0), (3, between), (60, 1.5)]));
            let ends: Vec<_> = steps.pieces.iter().map(|piece| piece.end).collect();
            assert_eq!(ends, [end, 123], "{between}: {steps:?}");
        }
    }

    #[test]
    fn short_series_have_an_answer() {
        assert!(steps(&[]).pieces.is_empty());
        for n in 1..8 {
            let steps = steps(&vec![3.0; n]);
            let all = Piece { start: 0, end: n, level: steps.pieces[0].level };
            assert_eq!((steps.pieces.len(), steps.pieces[0]), (1, all));
            assert!((all.level - 3.0).abs() < 1e-9);
        }
    }

    #[test]
    fn medians_keep_the_order_and_drop_outliers() {
        let values = [1.0, 1.0, 90.0, 2.0, 2.0, 0.0, 3.0];
        assert_eq!(medians(&values, 3), [1.0, 2.0, 3.0]);
        assert_eq!(medians(&values, 100), values);
        assert!(medians(&[], 3).is_empty());
    }
}
