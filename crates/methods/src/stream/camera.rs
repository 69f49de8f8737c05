//! The camera of a recording: frames at a rate, a buffer, and the drive behind it. Pure arithmetic.
//!
//! Its input is the service time of each frame, as measured: the time from its turn (the frame
//! before it is done, and it is captured) to its completion. From these follows the buffer that a
//! rate needs, the frames that a buffer loses, and the highest rate without a loss, also for rates
//! at which nothing was recorded. That assumes a frame takes as long at another rate; a drive that
//! rests between frames is rather faster.

use std::collections::VecDeque;

/// Rounds of bisection: a rate to 1 in 10^7.
const ROUNDS: u32 = 50;

/// The service times of a recording.
#[derive(Clone, Debug)]
pub(super) struct Camera {
    frame_bytes: u64,
    service_ns: Vec<u64>,
}

/// What a camera with a buffer would have seen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Film {
    /// Largest content of the buffer, bytes: whole frames captured and not yet completed.
    pub peak_bytes: u64,
    /// Frames that found the buffer full.
    pub lost: u64,
}

impl Camera {
    /// The service times of frames that were due at `due_ns(number)` and completed at `done_ns`, in
    /// nanoseconds from the same moment.
    pub fn new(frame_bytes: u64, done_ns: &[u64], due_ns: impl Fn(u64) -> u64) -> Camera {
        let mut before = 0;
        let service = done_ns.iter().zip(0..).map(|(done, number)| {
            let turn = due_ns(number).max(before);
            before = before.max(*done);
            done.saturating_sub(turn)
        });
        Camera { frame_bytes, service_ns: service.collect() }
    }

    /// Longest time without a completed frame while one waited, nanoseconds.
    pub fn longest_stall_ns(&self) -> u64 {
        self.service_ns.iter().copied().max().unwrap_or(0)
    }

    /// Films at a rate in bytes per second with a buffer of so many bytes, until as many frames as
    /// were recorded are written. A frame that finds the buffer full is lost.
    pub fn film(&self, rate: f64, buffer_bytes: u64) -> Film {
        let period_ns = self.frame_bytes as f64 / rate * 1e9;
        let room = buffer_bytes / self.frame_bytes;
        let mut waiting: VecDeque<f64> = VecDeque::new();
        let (mut free, mut peak, mut lost, mut captured) = (0.0f64, 0, 0, 0u64);
        let mut services = self.service_ns.iter().copied();
        let mut next = services.next();
        while let Some(service) = next {
            captured += 1;
            let due = captured as f64 * period_ns;
            while waiting.front().is_some_and(|done| *done <= due) {
                waiting.pop_front();
            }
            if waiting.len() as u64 + 1 > room {
                lost += 1;
                // Without room for a single frame nothing is ever written.
                if room == 0 && lost >= self.service_ns.len() as u64 {
                    break;
                }
                continue;
            }
            free = free.max(due) + service as f64;
            next = services.next();
            waiting.push_back(free);
            peak = peak.max(waiting.len() as u64);
        }
        Film { peak_bytes: peak * self.frame_bytes, lost }
    }

    /// The buffer a rate needs, bytes.
    pub fn buffer(&self, rate: f64) -> u64 {
        self.film(rate, u64::MAX).peak_bytes
    }

    /// The highest rate at which a buffer loses nothing, bytes per second. `None` where the recording
    /// was too short to tell: the buffer alone would have held a quarter of it.
    pub fn lossless_rate(&self, buffer_bytes: u64) -> Option<f64> {
        let recorded = self.frame_bytes * self.service_ns.len() as u64;
        if recorded < buffer_bytes.saturating_mul(4) || buffer_bytes < 2 * self.frame_bytes {
            return None;
        }
        let total_ns: u64 = self.service_ns.iter().sum();
        let mean = recorded as f64 / (total_ns.max(1) as f64 / 1e9);
        // With a buffer of at most a quarter of the recording no rate is lossless that is over 4/3
        // of the mean.
        let (mut low, mut high) = (0.0, 2.0 * mean);
        for _ in 0..ROUNDS {
            let middle = (low + high) / 2.0;
            match self.buffer(middle) <= buffer_bytes {
                true => low = middle,
                false => high = middle,
            }
            if high - low < 1e-7 * high {
                break;
            }
        }
        (low > 0.0).then_some(low)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: u64 = 1_000_000;

    /// Frames of 1 MB: 100 of 1 ms, one of `stall` ms, 100 of 1 ms.
    fn stalled(stall: u64) -> Camera {
        let mut service_ns = vec![MB; 201];
        service_ns[100] = stall * MB;
        Camera { frame_bytes: MB, service_ns }
    }

    #[test]
    fn service_begins_with_the_turn_of_a_frame() {
        let done = [30, 40, 200, 210];
        let flat_out = Camera::new(MB, &done, |_| 0);
        assert_eq!(flat_out.service_ns, [30, 10, 160, 10]);
        let paced = Camera::new(MB, &done, |number| (number + 1) * 20);
        assert_eq!(paced.service_ns, [10, 0, 140, 10]);
        assert_eq!((flat_out.longest_stall_ns(), paced.longest_stall_ns()), (160, 140));
    }

    #[test]
    fn a_stall_needs_a_buffer_for_the_frames_that_arrive_meanwhile() {
        // A frame every 2 ms; a stall of 41 ms lets 21 in, of which the first is being written.
        let camera = stalled(41);
        assert_eq!(camera.film(500e6, u64::MAX), Film { peak_bytes: 21 * MB, lost: 0 });
        assert_eq!(camera.film(500e6, 21 * MB).lost, 0);
        for frames in 1..21 {
            let film = camera.film(500e6, frames * MB);
            assert_eq!(film, Film { peak_bytes: frames * MB, lost: 21 - frames }, "{frames}");
        }
        assert_eq!(camera.film(500e6, MB / 2).lost, 201, "no room at all");
    }

    #[test]
    fn a_rate_over_the_drives_own_fills_any_buffer() {
        let camera = stalled(1);
        assert_eq!(camera.buffer(1e9), MB, "exactly as fast");
        // Two frames a millisecond: half of them wait in the end.
        assert!((100 * MB..=102 * MB).contains(&camera.buffer(2e9)), "{}", camera.buffer(2e9));
    }

    #[test]
    fn the_lossless_rate_is_the_highest_that_the_buffer_carries() {
        for (stall, frames) in [(1, 4), (41, 10), (41, 30), (200, 50)] {
            let camera = stalled(stall);
            let rate = camera.lossless_rate(frames * MB).expect("long enough");
            assert_eq!(camera.film(rate, frames * MB).lost, 0, "{stall} {frames}");
            assert!(camera.film(rate * 1.001, frames * MB).lost > 0, "{stall} {frames}");
        }
        assert_eq!(stalled(41).lossless_rate(60 * MB), None, "a quarter of the recording");
        assert_eq!(stalled(41).lossless_rate(MB), None, "a camera needs two frames");
    }
}
