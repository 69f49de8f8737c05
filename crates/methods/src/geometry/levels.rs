//! Derives the significant boundaries from the cost of crossing boundaries: steps in the level of
//! ascending classes.

/// Share of the samples trimmed at each end, to exclude reads that something other than the
/// boundary delayed.
const TRIM: f64 = 0.1;

/// A class is on a higher level if it differs by at least this many standard errors. A drive has at
/// most 23 classes (20 at 4 KiB blocks), so 5 gives a false step in fewer than one drive in ten
/// thousand.
const ERRORS: f64 = 5.0;

/// Minimum height of a step: this share of a read, and this many nanoseconds. A smaller step is not
/// a structure of a flash chip, which takes tens of microseconds to sense a page.
const SHARE_MIN: f64 = 0.02;
const NS_MIN: f64 = 3_000.0;

/// All classes above a step lie at least this share of its height above the level below it.
const CONFIRMED: f64 = 0.5;

/// The cost of crossing the boundaries of a class.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Level {
    /// The boundaries are odd multiples of this many bytes.
    pub bytes: u64,
    /// Trimmed mean of the additional time, nanoseconds.
    pub mean_ns: f64,
    /// Its standard error.
    pub error_ns: f64,
}

impl Level {
    /// The level of these differences; `None` if fewer than eight remain after trimming.
    pub fn find(bytes: u64, differences: &[f64]) -> Option<Level> {
        let mut sorted = differences.to_vec();
        sorted.sort_by(f64::total_cmp);
        let cut = (sorted.len() as f64 * TRIM) as usize;
        let middle = sorted.get(cut..sorted.len() - cut).filter(|kept| kept.len() >= 8)?;
        let n = middle.len() as f64;
        let mean_ns = middle.iter().sum::<f64>() / n;
        // Winsorized, as in Tukey and McLaughlin's trimmed t.
        let ends =
            [middle[0], middle[middle.len() - 1]].map(|end| cut as f64 * (end - mean_ns).powi(2));
        let inner: f64 = middle.iter().map(|x| (x - mean_ns).powi(2)).sum();
        let variance = (inner + ends[0] + ends[1]) / (sorted.len() - 1).max(1) as f64;
        let error_ns = (variance / sorted.len() as f64).sqrt() / (1.0 - 2.0 * TRIM);
        Some(Level { bytes, mean_ns, error_ns })
    }
}

/// The classes at which the cost of crossing rises to a higher level, ascending, with the
/// additional cost. `read_ns` is the time of a read that crosses no boundary.
pub(super) fn steps(levels: &[Level], read_ns: f64) -> Vec<(u64, f64)> {
    let least = NS_MIN.max(SHARE_MIN * read_ns);
    let mut steps = Vec::new();
    let mut start = 0;
    // No class above the largest one could confirm its level.
    for at in 1..levels.len().saturating_sub(1) {
        let (lower, level) = (mean(&levels[start..at]), levels[at]);
        let height = level.mean_ns - lower.mean_ns;
        let error = (level.error_ns.powi(2) + lower.error_ns.powi(2)).sqrt();
        let lasts = levels[at..].iter().all(|l| l.mean_ns - lower.mean_ns >= CONFIRMED * height);
        if height >= least && height >= ERRORS * error && lasts {
            steps.push((level.bytes, height));
            start = at;
        }
    }
    steps
}

fn mean(levels: &[Level]) -> Level {
    let n = levels.len() as f64;
    let error = levels.iter().map(|l| l.error_ns.powi(2)).sum::<f64>().sqrt() / n;
    let mean_ns = levels.iter().map(|l| l.mean_ns).sum::<f64>() / n;
    Level { bytes: levels[0].bytes, mean_ns, error_ns: error }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The results on flashbench's own page, microseconds, from 2 KiB to 128 MiB.
    const FLASHBENCH: [f64; 17] = [
        4.65, 5.85, 53.3, 148.0, 157.0, 159.0, 165.0, 171.0, 165.0, 169.0, 171.0, 317.0, 299.0,
        302.0, 294.0, 300.0, 324.0,
    ];

    fn levels(us: &[f64], error_us: f64) -> Vec<Level> {
        let level = |(i, us): (usize, &f64)| Level {
            bytes: 2048 << i,
            mean_ns: us * 1e3,
            error_ns: error_us * 1e3,
        };
        us.iter().enumerate().map(level).collect()
    }

    #[test]
    fn the_card_on_flashbenchs_page_has_pages_of_8_kib_two_planes_and_erase_blocks_of_4_mib() {
        let found: Vec<u64> =
            steps(&levels(&FLASHBENCH, 2.0), 750e3).into_iter().map(|s| s.0).collect();
        assert_eq!(found, [8 << 10, 16 << 10, 4 << 20]);
        // With errors as large as the steps, nothing is significant.
        assert_eq!(steps(&levels(&FLASHBENCH, 60.0), 750e3), []);
    }

    #[test]
    fn a_flat_series_and_a_single_bump_have_no_step() {
        assert_eq!(steps(&levels(&[5.0; 12], 0.1), 700e3), []);
        let mut bump = [5.0; 12];
        bump[6] = 90.0;
        assert_eq!(steps(&levels(&bump, 0.1), 700e3), []);
    }

    #[test]
    fn outliers_do_not_move_a_level() {
        let mut differences: Vec<f64> = (0..64).map(|i| 1000.0 + f64::from(i % 7)).collect();
        let plain = Level::find(4096, &differences).expect("enough");
        differences[3] = 1e9;
        differences[9] = -1e9;
        let disturbed = Level::find(4096, &differences).expect("enough");
        assert!((plain.mean_ns - disturbed.mean_ns).abs() < 1.0);
        assert_eq!(Level::find(4096, &differences[..6]), None);
    }
}
