//! Faults, drawn for each I/O command by a seeded generator.

/// Probabilities of faults, in parts per million of I/O commands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Fails with an error that can be retried; nothing is transferred.
    pub error: u32,
    /// A write fails after writing some of its blocks.
    pub torn: u32,
    /// Never completes; an abort ends it.
    pub lost: u32,
    /// Never completes, and ignores an abort.
    pub stubborn: u32,
    /// Completes after [`Faults::late_ns`].
    pub late: u32,
    /// The delay of a late command, nanoseconds.
    pub late_ns: u64,
    /// Completes a second time, a few microseconds later.
    pub twice: u32,
    /// An extra completion follows whose identifier matches no command in flight.
    pub spurious: u32,
    /// The controller reports a fatal error.
    pub fatal: u32,
    /// A power cut: the write cache is lost, writes in flight may be torn, and the registers read
    /// as all ones for a while.
    pub power: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Done,
    Error,
    Torn,
    Lost,
    Stubborn,
    Late,
    Twice,
    Spurious,
    Fatal,
    Power,
}

impl Faults {
    /// Enables all faults at low rates; `late_ns` should exceed the driver's timeout.
    pub fn all(late_ns: u64) -> Faults {
        Faults {
            error: 2000,
            torn: 1000,
            lost: 300,
            stubborn: 30,
            late: 300,
            late_ns,
            twice: 2000,
            spurious: 1000,
            fatal: 30,
            power: 30,
        }
    }

    pub(crate) fn draw(&self, random: &mut Random) -> Fate {
        let table = [
            (self.error, Fate::Error),
            (self.torn, Fate::Torn),
            (self.lost, Fate::Lost),
            (self.stubborn, Fate::Stubborn),
            (self.late, Fate::Late),
            (self.twice, Fate::Twice),
            (self.spurious, Fate::Spurious),
            (self.fatal, Fate::Fatal),
            (self.power, Fate::Power),
        ];
        let mut left = random.below(1_000_000) as u32;
        for (share, fate) in table {
            match left.checked_sub(share) {
                Some(rest) => left = rest,
                None => return fate,
            }
        }
        Fate::Done
    }
}

/// SplitMix64, which is sufficient for faults.
#[derive(Clone, Debug)]
pub(crate) struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// Returns a number below `bound`, which must be at least 1.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    pub fn coin(&mut self) -> bool {
        self.next() & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fates_occur_at_the_given_rates() {
        let faults = Faults { error: 100_000, power: 50_000, ..Faults::default() };
        let mut random = Random(7);
        let fates: Vec<Fate> = (0..100_000).map(|_| faults.draw(&mut random)).collect();
        let count = |fate| fates.iter().filter(|f| **f == fate).count();
        assert!((9_500..10_500).contains(&count(Fate::Error)));
        assert!((4_700..5_300).contains(&count(Fate::Power)));
        assert_eq!(count(Fate::Done) + count(Fate::Error) + count(Fate::Power), 100_000);
    }
}
