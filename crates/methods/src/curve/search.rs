//! Search for the load at which a condition fails, between the last load at which it held and the
//! first at which it did not.

/// A drive keeps up with a load if it completes this share of the operations due. Below it, the
/// queue grows as long as the load lasts.
const KEPT_UP: f64 = 0.98;

/// Tolerance for random arrivals, in standard deviations of their number.
const DEVIATIONS: f64 = 2.0;

/// Whether operations were completed as fast as they were due.
pub(super) fn kept_up(offered: f64, operations: f64, seconds: f64) -> bool {
    let due = offered * seconds;
    operations >= KEPT_UP * due - DEVIATIONS * due.sqrt()
}

/// A gap between a load that held and one that did not, in percent of the closed loop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Search {
    /// The highest load below which all held.
    held: Option<f64>,
    /// The lowest load that did not hold.
    failed: Option<f64>,
}

impl Search {
    /// The gap among loads in ascending order. The first load that did not hold ends it; a load
    /// that could not be judged is skipped.
    pub fn between(judged: &[(u32, Option<bool>)]) -> Search {
        let mut search = Search { held: None, failed: None };
        for (percent, held) in judged.iter().filter_map(|(percent, held)| Some((percent, (*held)?)))
        {
            if !held {
                search.failed = Some(f64::from(*percent));
                break;
            }
            search.held = Some(f64::from(*percent));
        }
        search
    }

    /// Both ends, percent; `None` if one end is unknown.
    pub fn gap(&self) -> Option<(f64, f64)> {
        self.held.zip(self.failed)
    }

    /// The load to try next, percent.
    pub fn middle(&self) -> Option<f64> {
        self.gap().map(|(held, failed)| (held + failed) / 2.0)
    }

    /// Replaces one end.
    pub fn narrow(&mut self, percent: f64, held: bool) {
        if held { self.held = Some(percent) } else { self.failed = Some(percent) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_growing_queue_is_distinguished_from_random_arrivals() {
        assert!(kept_up(1000.0, 9_900.0, 10.0));
        assert!(!kept_up(1000.0, 9_500.0, 10.0));
        // Of 25 operations due, 18 are within the scatter and 5 are not.
        assert!(kept_up(25.0, 18.0, 1.0) && !kept_up(25.0, 5.0, 1.0));
    }

    #[test]
    fn the_gap_lies_below_the_first_load_that_failed() {
        let judged = [(10, None), (25, Some(true)), (50, Some(false)), (70, Some(true))];
        let mut search = Search::between(&judged);
        assert_eq!((search.gap(), search.middle()), (Some((25.0, 50.0)), Some(37.5)));
        search.narrow(37.5, true);
        assert_eq!(search.gap(), Some((37.5, 50.0)));
        assert_eq!(Search::between(&[(10, Some(true)), (25, None)]).gap(), None);
        assert_eq!(Search::between(&[(10, Some(false))]).gap(), None);
    }
}
