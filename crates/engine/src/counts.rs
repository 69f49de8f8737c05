//! Histograms of small numbers: operations in flight, operations submitted per turn.
//!
//! Each operation costs one increment. Classification waits until the end of the job, because
//! classifying every operation cost 5% of its time on the null backend.

/// Numbers from this on are counted together.
const MANY: usize = 65;

/// Counts of the numbers 0 to 64, and of more.
#[derive(Clone, Debug)]
pub(crate) struct Counts([u64; MANY + 1]);

impl Default for Counts {
    fn default() -> Self {
        Counts([0; MANY + 1])
    }
}

impl Counts {
    /// Counts one occurrence of this number.
    #[inline(always)]
    pub fn add(&mut self, number: usize) {
        self.0[number.min(MANY)] += 1;
    }

    /// Counts this many occurrences of a number.
    pub fn add_many(&mut self, number: usize, times: u64) {
        self.0[number.min(MANY)] += times;
    }

    /// Adds what was counted since `before` once more, scaled from `whole` to `share`. Returns the
    /// number of occurrences added.
    pub fn repeat(&mut self, before: &Counts, share: u64, whole: u64) -> u64 {
        let mut sum = 0;
        for (mine, before) in self.0.iter_mut().zip(before.0) {
            let count = u128::from(*mine - before);
            let share_count = (count * u128::from(share) / u128::from(whole.max(1))) as u64;
            *mine += share_count;
            sum += share_count;
        }
        sum
    }

    /// Adds other counts.
    pub fn merge(&mut self, other: &Counts) {
        self.0.iter_mut().zip(other.0).for_each(|(mine, theirs)| *mine += theirs);
    }

    /// The count of all numbers except 0.
    pub fn busy(&self) -> u64 {
        self.0[1..].iter().sum()
    }

    /// Counts by powers of two: 1, 2 to 3, 4 to 7, ..., 64 or more. Zeros are not counted.
    pub fn depths(&self) -> [u64; 7] {
        self.classes(|depth| depth.ilog2() as usize)
    }

    /// Counts by batch size: 0, 1 to 4, 5 to 8, ..., 33 to 64, more than 64. Zeros are not counted,
    /// so the first class is empty.
    pub fn batches(&self) -> [u64; 7] {
        self.classes(|count| (count.div_ceil(4).next_power_of_two().ilog2() + 1) as usize)
    }

    fn classes(&self, class: fn(usize) -> usize) -> [u64; 7] {
        let mut classes = [0; 7];
        for (number, times) in self.0.iter().enumerate().skip(1) {
            classes[class(number).min(6)] += times;
        }
        classes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One of each number.
    fn each(numbers: impl IntoIterator<Item = usize>) -> Counts {
        let mut counts = Counts::default();
        numbers.into_iter().for_each(|number| counts.add(number));
        counts
    }

    #[test]
    fn depths_go_by_powers_of_two() {
        assert_eq!(each(0..=200).depths(), [1, 2, 4, 8, 16, 32, 137]);
    }

    #[test]
    fn batches_go_by_four_and_then_by_powers_of_two() {
        assert_eq!(each(0..=200).batches(), [0, 4, 4, 8, 16, 32, 136]);
        assert_eq!(each([0, 0, 3, 1 << 20]).busy(), 2);
    }
}
