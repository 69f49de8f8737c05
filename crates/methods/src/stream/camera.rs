//! A model of a camera: frames at a rate, a buffer, and the drive that records them. Pure
//! arithmetic.
//!
//! Its input is the measured service time of each frame: the time from its turn (when it has been
//! captured and the previous frame is complete) to its completion. The model yields the buffer that
//! a rate needs, the frames that a buffer loses, and the highest lossless rate.
//!
//! At the recorded rate this is exact: until the first loss, a limited buffer and an unlimited one
//! give the drive the same frames at the same times. At a lower rate the drive rests more than it did,
//! and a drive that rests is not slower, so what fits is a lower bound. At a higher rate the drive
//! would rest less, and its cache might never drain: nothing is concluded.

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

    /// Simulates a camera with this rate in bytes per second and this buffer, for as many frames as
    /// were recorded. A frame is lost if the buffer is full.
    pub fn film(&self, rate: f64, buffer_bytes: u64) -> Film {
        let mut film = Film { peak_bytes: 0, lost: 0 };
        self.simulate(rate, buffer_bytes, |_, waiting| match waiting {
            Some(frames) => film.peak_bytes = film.peak_bytes.max(frames * self.frame_bytes),
            None => film.lost += 1,
        });
        film
    }

    /// The bytes that wait in an unlimited buffer over time: the maximum of each of at most `most`
    /// equal parts of the recording, with the part's end in nanoseconds from the start.
    pub fn backlog(&self, rate: f64, most: usize) -> Vec<(u64, u64)> {
        let frames = self.service_ns.len().div_ceil(most.max(1)).max(1);
        let (mut parts, mut number, mut peak) = (Vec::new(), 0, 0);
        self.simulate(rate, u64::MAX, |due, waiting| {
            number += 1;
            peak = peak.max(waiting.unwrap_or(0) * self.frame_bytes);
            if number % frames == 0 || number == self.service_ns.len() {
                parts.push((due as u64, peak));
                peak = 0;
            }
        });
        parts
    }

    /// Calls `see` for every frame at the time of its capture, nanoseconds from the start, with the
    /// number of frames in the buffer, itself included; `None` if it is lost.
    fn simulate(&self, rate: f64, buffer_bytes: u64, mut see: impl FnMut(f64, Option<u64>)) {
        let period_ns = self.frame_bytes as f64 / rate * 1e9;
        let room = buffer_bytes / self.frame_bytes;
        let mut waiting: VecDeque<f64> = VecDeque::new();
        let mut free = 0.0f64;
        let mut services = self.service_ns.iter();
        for captured in 1..=self.service_ns.len() {
            let due = captured as f64 * period_ns;
            while waiting.front().is_some_and(|done| *done <= due) {
                waiting.pop_front();
            }
            if waiting.len() as u64 + 1 > room {
                see(due, None);
                continue;
            }
            let service = services.next().copied().unwrap_or(0);
            free = free.max(due) + service as f64;
            waiting.push_back(free);
            see(due, Some(waiting.len() as u64));
        }
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

    /// The highest rate that is certain to lose nothing with a buffer, bytes per second: at most the
    /// recorded one (`None`: as fast as possible), and at most the drive's mean, because a longer
    /// recording at a higher rate fills any buffer. `None` if the buffer is larger than a quarter of
    /// the recording, or smaller than two frames.
    pub fn lossless_rate(&self, buffer_bytes: u64, recorded_rate: Option<f64>) -> Option<f64> {
        let recorded = self.frame_bytes * self.service_ns.len() as u64;
        if recorded < buffer_bytes.saturating_mul(4) || buffer_bytes < 2 * self.frame_bytes {
            return None;
        }
        let highest = self.mean().min(recorded_rate.unwrap_or(f64::INFINITY));
        if self.buffer(highest) <= buffer_bytes {
            return Some(highest);
        }
        let (mut low, mut high) = (0.0, highest);
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
            let rate = camera.lossless_rate(frames * MB, None).expect("long enough");
            assert_eq!(camera.film(rate, frames * MB).lost, 0, "{stall} {frames}");
            let loses = camera.film(rate * 1.001, frames * MB).lost > 0;
            assert!(rate == camera.mean() || loses && rate < camera.mean(), "{stall} {frames}");
        }
        let steady = stalled(1);
        assert_eq!(
            steady.lossless_rate(4 * MB, None),
            Some(steady.mean()),
            "not more than its own rate"
        );
        assert_eq!(stalled(41).lossless_rate(60 * MB, None), None, "a quarter of the recording");
        assert_eq!(stalled(41).lossless_rate(MB, None), None, "a camera needs two frames");
    }

    #[test]
    fn nothing_is_said_about_rates_above_the_recorded_one() {
        // Frames of 1 MB at 100 MB/s, each on the drive after 1 ms.
        let completed_ns: Vec<u64> = (1..=100).map(|number| number * 10 * MB + MB).collect();
        let camera = Camera::new(MB, &completed_ns, |number| (number + 1) * 10 * MB);
        assert_eq!(camera.mean(), 1e9);
        assert_eq!(camera.lossless_rate(4 * MB, Some(100e6)), Some(100e6));
    }

    #[test]
    fn the_backlog_peaks_where_the_buffer_is_largest() {
        let camera = stalled(41);
        let parts = camera.backlog(500e6, 10);
        assert_eq!(parts.len(), 10);
        assert_eq!(parts.last().map(|part| part.0), Some(402 * MB));
        let peak = parts.iter().map(|part| part.1).max();
        assert_eq!(peak, Some(camera.buffer(500e6)));
    }
}
