//! A model of a camera: frames at a rate, a buffer, and the drive that records them. Pure
//! arithmetic.
//!
//! Its input is the measured service time of each frame: the time from its turn (when it has been
//! captured and the previous frame is complete) to its completion. The model yields the buffer that
//! a rate needs, the frames that a buffer loses, and the highest lossless rate, even for rates that
//! were not recorded. It assumes that a frame takes the same time at any rate; a drive that rests
//! between frames tends to be faster.

use std::collections::VecDeque;

/// Maximum rounds of bisection, for a rate accurate to 1 in 10^7.
const ROUNDS: u32 = 50;

/// The service times of a recording.
#[derive(Clone, Debug)]
pub(super) struct Camera {
    frame_bytes: u64,
    service_ns: Vec<u64>,
}

/// The result of a simulated camera with a buffer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Film {
    /// Peak use of the buffer, bytes: whole frames captured and not yet completed.
    pub peak_bytes: u64,
    /// Frames lost because the buffer was full.
    pub lost: u64,
}

impl Camera {
    /// Computes the service times of frames that were due at `due_ns(number)` and completed at
    /// `done_ns`, in nanoseconds from the same moment.
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

    /// Simulates a camera with this rate in bytes per second and this buffer, until as many frames
    /// are written as were recorded. A frame is lost if the buffer is full.
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
                // A buffer without room for a single frame never writes anything.
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

    /// The drive's mean rate while a frame waits, bytes per second.
    fn mean(&self) -> f64 {
        let recorded = self.frame_bytes * self.service_ns.len() as u64;
        let total_ns: u64 = self.service_ns.iter().sum();
        recorded as f64 / (total_ns.max(1) as f64 / 1e9)
    }

    /// The buffer a rate needs, bytes.
    pub fn buffer(&self, rate: f64) -> u64 {
        self.film(rate, u64::MAX).peak_bytes
    }

    /// The highest rate at which a buffer loses nothing, bytes per second; at most the drive's mean,
    /// because a longer recording at a higher rate fills any buffer. `None` if the buffer is larger
    /// than a quarter of the recording, or smaller than two frames.
    pub fn lossless_rate(&self, buffer_bytes: u64) -> Option<f64> {
        let recorded = self.frame_bytes * self.service_ns.len() as u64;
        if recorded < buffer_bytes.saturating_mul(4) || buffer_bytes < 2 * self.frame_bytes {
            return None;
        }
        let mean = self.mean();
        if self.buffer(mean) <= buffer_bytes {
            return Some(mean);
        }
        let (mut low, mut high) = (0.0, mean);
        for _ in 0..ROUNDS {
            let middle = (low + high) / 2.0;
            if self.buffer(middle) <= buffer_bytes {
                low = middle
            } else {
                high = middle
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
        // A frame arrives every 2 ms: 21 during a stall of 41 ms, including the one being written.
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
        // Two frames arrive per millisecond, and half of all frames wait at the end.
        assert!((100 * MB..=102 * MB).contains(&camera.buffer(2e9)), "{}", camera.buffer(2e9));
    }

    #[test]
    fn the_lossless_rate_is_the_highest_that_the_buffer_carries() {
        for (stall, frames) in [(1, 4), (41, 10), (41, 30), (200, 50)] {
            let camera = stalled(stall);
            let rate = camera.lossless_rate(frames * MB).expect("long enough");
            assert_eq!(camera.film(rate, frames * MB).lost, 0, "{stall} {frames}");
            let loses = camera.film(rate * 1.001, frames * MB).lost > 0;
            assert!(rate == camera.mean() || loses && rate < camera.mean(), "{stall} {frames}");
        }
        let steady = stalled(1);
        assert_eq!(steady.lossless_rate(4 * MB), Some(steady.mean()), "not more than its own rate");
        assert_eq!(stalled(41).lossless_rate(60 * MB), None, "a quarter of the recording");
        assert_eq!(stalled(41).lossless_rate(MB), None, "a camera needs two frames");
    }
}
