//! Paired comparison of two programs: they run alternately, and each pair gives a ratio, so a
//! drifting machine slows both halves of a pair alike.
//!
//! The interval comes from the sign test: of ten pairs it runs from the second smallest to the second
//! largest ratio, and contains the median ratio in 97.9% of cases, whatever the distribution. That of
//! more pairs contains it at least as often. A goal is met or missed only if the whole interval is on
//! one side of it.

use anyhow::Result;

use super::results::median;
use super::tools::Sample;
use super::word;

/// Pairs per case.
pub const PAIRS: usize = 10;

/// How often the interval of ten pairs or more misses the median at most: 22 of 1,024 cases.
const MISSED: f64 = 22.0 / 1024.0;

/// The values of both programs, by pair.
#[derive(Default)]
pub struct Pairs {
    /// Values of this code.
    pub ours: Vec<f64>,
    /// Values of the program it is compared with.
    pub theirs: Vec<f64>,
}

impl Pairs {
    /// Adds a pair.
    pub fn push(&mut self, ours: f64, theirs: f64) {
        self.ours.push(ours);
        self.theirs.push(theirs);
    }

    /// Median ratio of ours to theirs.
    pub fn ratio(&self) -> f64 {
        median(self.ratios())
    }

    /// The interval of the median ratio; all ratios if there are fewer than ten.
    pub fn interval(&self) -> (f64, f64) {
        let mut ratios = self.ratios();
        ratios.sort_by(f64::total_cmp);
        let skipped = outside(ratios.len());
        (ratios[skipped], ratios[ratios.len() - 1 - skipped])
    }

    /// The ratio with its interval, for a table.
    pub fn cell(&self) -> String {
        let (low, high) = self.interval();
        format!("{:.2} ({low:.2} to {high:.2})", self.ratio())
    }

    /// A goal and whether the ratio reaches it, for a table.
    pub fn at_least(&self, goal: f64) -> String {
        let (low, high) = self.interval();
        format!(">= {goal:.2} {}", decided(low >= goal, high < goal))
    }

    /// A limit and whether the ratio keeps it, for a table.
    pub fn at_most(&self, limit: f64) -> String {
        let (low, high) = self.interval();
        format!("<= {limit:.2} {}", decided(high <= limit, low > limit))
    }

    fn ratios(&self) -> Vec<f64> {
        self.ours.iter().zip(&self.theirs).map(|(ours, theirs)| ours / theirs).collect()
    }
}

/// Ratios on each side of the interval of `pairs`: as many as a fair coin shows heads, or fewer, in at
/// most half of [`MISSED`] cases.
fn outside(pairs: usize) -> usize {
    let mut chance = 0.5_f64.powi(pairs as i32);
    let mut at_most = chance;
    let mut heads = 0;
    loop {
        chance *= (pairs - heads) as f64 / (heads + 1) as f64;
        at_most += chance;
        if at_most > MISSED / 2.0 {
            return heads;
        }
        heads += 1;
    }
}

/// Rates and processor times of ssdyno and fio in one case.
#[derive(Default)]
pub struct FioPairs {
    rates: Pairs,
    times: Pairs,
}

impl FioPairs {
    /// Explanation and head of the table of [`FioPairs::row`].
    pub const HEAD: &str = "Rates and times are medians. A ratio is the median of the pairs' \
        ratios, with its interval (97.9% for ten pairs); a goal within the interval is open.\n\n\
        | case | ours IOPS | fio IOPS | ratio | goal | ours CPU/IO | fio CPU/IO | ratio | goal |\n\
        |---|---|---|---|---|---|---|---|---|\n";

    /// Adds a pair.
    pub fn push(&mut self, ours: &Sample, theirs: &Sample) {
        self.rates.push(ours.iops, theirs.iops);
        self.times.push(ours.cpu_ns, theirs.cpu_ns);
    }

    /// The row of a case with its minimum rate and maximum processor time, relative to fio's.
    pub fn row(&self, case: &str, rate_min: f64, cpu_max: Option<f64>) -> String {
        let [ours, theirs] = [&self.rates.ours, &self.rates.theirs].map(|v| median(v.clone()));
        let [cpu, fio_cpu] = [&self.times.ours, &self.times.theirs].map(|v| median(v.clone()));
        format!(
            "| {case} | {ours:.0} | {theirs:.0} | {} | {} | {cpu:.0} ns | {fio_cpu:.0} ns | {} | {} |\n",
            self.rates.cell(),
            self.rates.at_least(rate_min),
            self.times.cell(),
            cpu_max.map_or("-".to_string(), |max| self.times.at_most(max)),
        )
    }
}

fn decided(met: bool, missed: bool) -> &'static str {
    if met || missed { word(met) } else { "open" }
}

/// Runs both halves of a pair in alternating order: theirs first in the first pair.
pub fn in_turn<T>(
    pair: usize,
    theirs: impl FnOnce() -> Result<T>,
    ours: impl FnOnce() -> Result<T>,
) -> Result<(T, T)> {
    if pair.is_multiple_of(2) {
        let before = theirs()?;
        return Ok((before, ours()?));
    }
    let after = ours()?;
    Ok((theirs()?, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(ratios: &[f64]) -> Pairs {
        Pairs {
            ours: ratios.iter().map(|r| 100.0 * r).collect(),
            theirs: vec![100.0; ratios.len()],
        }
    }

    #[test]
    fn one_bad_pair_does_not_move_the_interval() {
        let mut ratios = [1.0; PAIRS];
        ratios[3] = 0.2;
        assert_eq!(pairs(&ratios).interval(), (1.0, 1.0));
        ratios[4] = 0.4;
        assert_eq!(pairs(&ratios).interval(), (0.4, 1.0));
        assert_eq!(pairs(&[0.5]).interval(), (0.5, 0.5));
    }

    #[test]
    fn the_interval_narrows_with_the_pairs() {
        // Tables of the sign test, two-sided at 2.15%.
        for (pairs, left) in [(1, 0), (9, 0), (10, 1), (11, 1), (20, 4), (60, 20), (100, 38)] {
            assert_eq!(outside(pairs), left, "{pairs} pairs");
        }
    }

    #[test]
    fn a_goal_within_the_interval_is_neither_met_nor_missed() {
        let ten = pairs(&[0.9, 0.95, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.05, 1.1]);
        assert_eq!(ten.at_least(0.95), ">= 0.95 met");
        assert_eq!(ten.at_least(0.98), ">= 0.98 open");
        assert_eq!(ten.at_least(1.06), ">= 1.06 MISSED");
        assert_eq!(ten.at_most(1.05), "<= 1.05 met");
        assert_eq!(ten.at_most(1.0), "<= 1.00 open");
        assert_eq!(ten.at_most(0.94), "<= 0.94 MISSED");
        assert_eq!(ten.cell(), "1.00 (0.95 to 1.05)");
    }

    #[test]
    fn the_order_of_the_pairs_alternates() {
        for (pair, first) in [(0, "theirs"), (1, "ours"), (2, "theirs")] {
            let order = std::cell::RefCell::new(Vec::new());
            let note = |name: &'static str| {
                order.borrow_mut().push(name);
                Ok(name)
            };
            let both = in_turn(pair, || note("theirs"), || note("ours")).expect("both ran");
            assert_eq!(both, ("theirs", "ours"));
            assert_eq!(order.borrow()[0], first);
        }
    }
}
