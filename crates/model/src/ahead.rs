//! Read-ahead: a drive requests from flash what follows a sequential read, before the host asks.
//!
//! A read that continues a stream finds its data requested at the time of an earlier read of the
//! stream: the first one from which the window reaches its end. Reading the flash stays with
//! `media.rs`, so a stream is never faster than the flash.

use std::collections::VecDeque;

use workload::Op;

/// Streams that a drive follows at a time. Arbitrary; drives follow a few.
const STREAMS: usize = 8;

/// Points of a window at which the time of a request is kept.
const POINTS: u64 = 8;

/// Sequential reads.
#[derive(Debug)]
pub(crate) struct ReadAhead {
    window: u64,
    streams: Vec<Stream>,
    /// The stream that the next unrelated read replaces.
    oldest: usize,
}

#[derive(Clone, Debug, Default)]
struct Stream {
    /// The byte at which the next read of the stream begins; 0: no stream.
    next: u64,
    /// Ends of earlier reads and the times at which they were requested, oldest first.
    requests: VecDeque<(u64, u64)>,
}

impl ReadAhead {
    /// Reads `window` bytes ahead; 0: none.
    pub fn new(window: u64) -> ReadAhead {
        let count = if window == 0 { 0 } else { STREAMS };
        ReadAhead { window, streams: vec![Stream::default(); count], oldest: 0 }
    }

    /// Follows a read that arrives at `at`. Returns the time at which its data were requested, if
    /// it continues a stream.
    #[inline]
    pub fn follow(&mut self, op: &Op, at: u64) -> Option<u64> {
        if self.streams.is_empty() {
            return None;
        }
        let window = self.window;
        let stream = self.streams.iter_mut().find(|s| s.next == op.offset && s.next > 0);
        let Some(stream) = stream else {
            self.begin(op.end(), at);
            return None;
        };
        stream.next = op.end();
        while stream.requests.len() > 1 && stream.requests[0].0 + window < op.end() {
            stream.requests.pop_front();
        }
        let requested = stream.requests.front().map(|request| request.1);
        let is_far = stream.requests.back().is_none_or(|r| r.0 + window / POINTS <= op.end());
        if is_far {
            stream.requests.push_back((op.end(), at));
        }
        requested
    }

    /// Begins a stream at the end of an unrelated read.
    fn begin(&mut self, end: u64, at: u64) {
        let stream = &mut self.streams[self.oldest];
        self.oldest = (self.oldest + 1) % STREAMS;
        stream.next = end;
        stream.requests.clear();
        stream.requests.push_back((end, at));
    }
}

#[cfg(test)]
mod tests {
    use workload::OpKind;

    use super::*;

    fn read(offset: u64, bytes: u32) -> Op {
        Op { kind: OpKind::Read, offset, bytes }
    }

    #[test]
    fn a_stream_finds_its_data_requested_one_window_earlier() {
        let mut ahead = ReadAhead::new(64 << 10);
        let times: Vec<_> =
            (0..40u64).map(|i| ahead.follow(&read(i * 4096, 4096), 100 * i)).collect();
        assert_eq!(times[0], None);
        assert!(times[1..16].iter().all(|time| *time == Some(0)), "{times:?}");
        assert!(times[39].is_some_and(|time| (2200..=2600).contains(&time)), "{times:?}");
    }

    #[test]
    fn random_reads_and_drives_without_read_ahead_follow_nothing() {
        let mut ahead = ReadAhead::new(64 << 10);
        assert!((1..100u64).all(|i| ahead.follow(&read(i * 8192, 4096), i).is_none()));
        let mut none = ReadAhead::new(0);
        assert!((0..9u64).all(|i| none.follow(&read(i * 4096, 4096), i).is_none()));
    }
}
