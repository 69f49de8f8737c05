//! The return of borrowed blocks, in words: `restoring 1.20 GB of 3.40 GB, 12 s left`.

use std::time::Instant;

use lab::{Pass, Returning};
use workload::units;

/// A pass has no reliable rate before this time, seconds (arbitrary); a shorter one needs none.
const RATE_AFTER_S: f64 = 2.0;

/// Measures the rate of each pass.
#[derive(Default)]
pub struct PassRate(Option<(Pass, Instant)>);

impl PassRate {
    /// The progress in words, with the time left once the pass has a rate.
    pub fn words(&mut self, progress: &Returning) -> String {
        let start = match self.0 {
            Some((pass, began)) if pass == progress.pass => began,
            _ => Instant::now(),
        };
        self.0 = Some((progress.pass, start));
        words(progress, start.elapsed().as_secs_f64())
    }
}

fn words(progress: &Returning, elapsed_s: f64) -> String {
    let [bytes_done, total] = [progress.done_bytes(), progress.total_bytes].map(units::decimal);
    let text = format!("{} {bytes_done} of {total}", progress.pass.name());
    let share = progress.share();
    if elapsed_s < RATE_AFTER_S || share <= 0.0 {
        return text;
    }
    let left_s = elapsed_s * (1.0 - share) / share;
    format!("{text}, {} left", units::span(left_s.ceil()))
}

/// The result in a line: the bytes compared and those that had to be restored.
pub fn result(compared_bytes: u64, restored_bytes: u64) -> String {
    let [compared, restored] = [compared_bytes, restored_bytes].map(units::decimal);
    match restored_bytes {
        0 => format!("borrowed  {compared} compared: all unchanged"),
        _ => format!("borrowed  {compared} compared: {restored} restored and verified"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_shows_its_bytes_and_after_two_seconds_the_time_left() {
        let start = Returning::new(Pass::Restore, 3_400_000_000);
        assert_eq!(words(&start, 5.0), "restoring 0 B of 3.40 GB", "no rate yet");
        // Every byte is written and read back.
        let third = start.after(2_400_000_000);
        assert_eq!(words(&third, 1.9), "restoring 1.20 GB of 3.40 GB");
        assert_eq!(words(&third, 6.0), "restoring 1.20 GB of 3.40 GB, 11 s left");
        let compared = Returning::new(Pass::Compare, 1 << 30).after(1 << 20);
        assert_eq!(words(&compared, 2.0), "comparing 1.05 MB of 1.07 GB, 34:06 left");
        let done = start.after(6_800_000_000);
        assert!(done.is_done());
        assert_eq!(words(&done, 17.0), "restoring 3.40 GB of 3.40 GB, 0.0 s left");
    }

    #[test]
    fn the_time_of_a_pass_begins_with_it() {
        let mut pace = PassRate::default();
        pace.words(&Returning::new(Pass::Compare, 10));
        let compare = pace.0;
        pace.words(&Returning::new(Pass::Compare, 10).after(5));
        assert_eq!(pace.0, compare);
        pace.words(&Returning::new(Pass::Restore, 10));
        assert_eq!(pace.0.map(|(pass, _)| pass), Some(Pass::Restore));
    }

    #[test]
    fn the_result_names_the_restored_bytes() {
        assert_eq!(result(25_165_824, 0), "borrowed  25.2 MB compared: all unchanged");
        let restored = result(25_165_824, 131_072);
        assert_eq!(restored, "borrowed  25.2 MB compared: 131 kB restored and verified");
    }
}
