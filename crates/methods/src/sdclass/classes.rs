//! The classes of the SD specification and the figures that each requires.
//!
//! Sources: SD Association, Physical Layer Simplified Specification 4.10 (sections 4.13.1 to
//! 4.13.3) and the overview pages on Speed Class and Application Performance Class (A1:
//! specification 5.1, A2: 6.0). Rates are decimal.

/// Recording units: small for Classes 2, 4 and 6, large for Class 10, UHS and Video. The
/// specification allows smaller ones for Classes 2 and 4; 64 KiB is the unit of Class 6.
pub(super) const SMALL_UNIT: u64 = 64 << 10;
pub(super) const LARGE_UNIT: u64 = 512 << 10;

/// Maximum time for which a large recording unit may keep the card busy, nanoseconds.
const BUSY_MAX_NS: u64 = 250_000_000;

/// Sequential rate that A1 and A2 require, bytes per second.
const APPLICATION_RATE: f64 = 10e6;

/// The measured figures.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Measured {
    /// Slowest window in small and in large units, bytes per second.
    pub write: [f64; 2],
    /// Slowest unit, small and large, nanoseconds.
    pub busy_ns: [u64; 2],
    /// Random reads of large units, bytes per second.
    pub read: f64,
    /// Random reads and writes per second, at queue depths 1 and 32.
    pub random: [[f64; 2]; 2],
}

/// A family of classes: its name, the letter on the card, and the numbers with their rates in MB/s.
type Family = (&'static str, &'static str, &'static [(u32, f64)]);

const SPEED: Family = ("speed", "C", &[(2, 2.0), (4, 4.0), (6, 6.0), (10, 10.0)]);
const UHS: Family = ("uhs", "U", &[(1, 10.0), (3, 30.0)]);
const VIDEO: Family = ("video", "V", &[(6, 6.0), (10, 10.0), (30, 30.0), (60, 60.0), (90, 90.0)]);

/// The application classes: number, index of the depth in [`Measured::random`], reads and writes
/// per second.
const APPLICATION: [(u32, usize, f64, f64); 2] = [(1, 0, 1500.0, 500.0), (2, 1, 4000.0, 2000.0)];

impl Measured {
    /// Whether a rate is met in the units of its class.
    fn meets(&self, mb_s: f64, large: bool) -> bool {
        let write = self.write[usize::from(large)];
        let quick = !large || self.busy_ns[1] <= BUSY_MAX_NS;
        write >= mb_s * 1e6 && self.read >= mb_s * 1e6 && quick
    }

    /// The number of the highest class met in each family; 0 for none.
    pub fn classes(&self) -> [(&'static str, u32); 4] {
        let [speed, uhs, video] = [SPEED, UHS, VIDEO].map(|(name, _, classes)| {
            let classes_met = classes.iter().filter(|(number, mb_s)| {
                // Class 10 and all families except Speed Class use large units.
                self.meets(*mb_s, name != SPEED.0 || *number == 10)
            });
            (name, classes_met.map(|(number, _)| *number).max().unwrap_or(0))
        });
        let application = APPLICATION.into_iter().filter(|(_, depth, reads, writes)| {
            let [read, write] = self.random[*depth];
            read >= *reads && write >= *writes && self.write[1] >= APPLICATION_RATE
        });
        let application = application.map(|(number, ..)| number).max().unwrap_or(0);
        [speed, uhs, video, ("application", application)]
    }

    /// The classes met, as printed on cards, and the lowest of each family that is not met.
    pub fn words(&self) -> (Vec<String>, Vec<String>) {
        let (mut met, mut missed) = (Vec::new(), Vec::new());
        let letters = [SPEED.1, UHS.1, VIDEO.1, "A"];
        let numbers: [Vec<u32>; 4] = [
            SPEED.2.iter().map(|c| c.0).collect(),
            UHS.2.iter().map(|c| c.0).collect(),
            VIDEO.2.iter().map(|c| c.0).collect(),
            APPLICATION.iter().map(|c| c.0).collect(),
        ];
        for (((_, best), letter), numbers) in self.classes().into_iter().zip(letters).zip(numbers) {
            met.extend((best > 0).then(|| format!("{letter}{best}")));
            let next = numbers.into_iter().find(|number| *number > best);
            missed.extend(next.map(|number| format!("{letter}{number}")));
        }
        (met, missed)
    }
}

/// The rates of the Speed, UHS and Video classes, bytes per second, each with the classes that demand
/// it: `C10 U1 V10`.
pub(super) fn demanded_rates() -> Vec<(String, f64)> {
    let mut demands: Vec<(String, f64)> = Vec::new();
    let families = [SPEED, UHS, VIDEO];
    let classes = families.iter().flat_map(|(_, letter, classes)| {
        classes.iter().map(move |(number, rate)| (format!("{letter}{number}"), rate * 1e6))
    });
    for (class, rate) in classes {
        match demands.iter_mut().find(|(_, demanded)| *demanded == rate) {
            Some((names, _)) => *names += &format!(" {class}"),
            None => demands.push((class, rate)),
        }
    }
    demands.sort_by(|a, b| a.1.total_cmp(&b.1));
    demands
}

/// The operations per second that A1 and A2 demand of random reads and writes.
pub(super) fn demanded_operations() -> impl Iterator<Item = (String, f64)> {
    APPLICATION.into_iter().flat_map(|(number, _, reads, writes)| {
        [(format!("A{number} reads"), reads), (format!("A{number} writes"), writes)]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(mb_s: f64) -> Measured {
        Measured {
            write: [mb_s * 1e6; 2],
            busy_ns: [10_000_000; 2],
            read: 95e6,
            random: [[1600.0, 510.0], [1700.0, 520.0]],
        }
    }

    #[test]
    fn every_boundary_is_graded_right_from_below_and_from_above() {
        let numbers = |mb_s: f64| card(mb_s).classes().map(|(_, number)| number);
        for (boundary, below, above) in [
            (2.0, [0, 0, 0, 0], [2, 0, 0, 0]),
            (4.0, [2, 0, 0, 0], [4, 0, 0, 0]),
            (6.0, [4, 0, 0, 0], [6, 0, 6, 0]),
            (10.0, [6, 0, 6, 0], [10, 1, 10, 1]),
            (30.0, [10, 1, 10, 1], [10, 3, 30, 1]),
            (60.0, [10, 3, 30, 1], [10, 3, 60, 1]),
            (90.0, [10, 3, 60, 1], [10, 3, 90, 1]),
        ] {
            assert_eq!(numbers(boundary * 0.95), below, "{boundary}");
            assert_eq!(numbers(boundary * 1.05), above, "{boundary}");
        }
    }

    #[test]
    fn long_busy_times_slow_reads_and_too_few_operations_fail_a_class() {
        let busy = Measured { busy_ns: [10_000_000, 260_000_000], ..card(40.0) };
        assert_eq!(busy.classes().map(|c| c.1), [6, 0, 0, 1]);
        let reads = Measured { read: 20e6, ..card(40.0) };
        assert_eq!(reads.classes().map(|c| c.1), [10, 1, 10, 1]);
        let writes = Measured { random: [[1600.0, 480.0], [4100.0, 1900.0]], ..card(40.0) };
        assert_eq!(writes.classes()[3].1, 0);
        let queued = Measured { random: [[1600.0, 480.0], [4100.0, 2100.0]], ..card(40.0) };
        assert_eq!(queued.classes()[3].1, 2);
        let (met, missed) = card(12.0).words();
        assert_eq!((met.join(" "), missed.join(" ")), ("C10 U1 V10 A1".into(), "U3 V30 A2".into()));
    }

    #[test]
    fn classes_that_demand_the_same_share_a_line() {
        let demands = demanded_rates();
        assert_eq!(demands[2], ("C6 V6".into(), 6e6));
        assert_eq!(demands[3], ("C10 U1 V10".into(), 10e6));
        assert_eq!(demands.last(), Some(&("V90".into(), 90e6)));
        assert_eq!(demanded_operations().count(), 4);
    }
}
