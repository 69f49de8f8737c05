//! The period of slow writes in a sequential stream.
//!
//! A card that moves on to its next erase block erases it, or copies the rest of an older one, and
//! the write that waits for this takes longer. Two streams of 64 KiB writes run at different
//! addresses of the region, with an idle time between them, to distinguish a period in time, such
//! as the host's own work, from one in addresses. [`analysis::period`] decides which period is
//! significant.

use std::time::Duration;

use analysis::Stream;
use rig::BlockWay;
use workload::{Content, Filler, Region};

use script::whole::Whole;
use script::{Bulk, Result, Session, timed_write};

/// Bytes per write.
const CHUNK: u64 = 64 << 10;

/// Maximum bytes of each stream: five allocation units of 12 MiB.
const BYTES_MAX: u64 = 64 << 20;

/// Minimum distance from the end of the first stream to the beginning of the second.
const APART: u64 = 8 * CHUNK;

/// Maximum duration of each stream, seconds.
const SECONDS_MAX: f64 = 60.0;

/// Idle time between the streams, seconds. Arbitrary, but not a round number, so that periodic work
/// of the host does not hit the same offset again.
const REST: f64 = 1.37;

/// A slow write takes longer than the median by at least this share of it, and by at least this
/// many nanoseconds. A shorter delay is neither an erase nor a copy.
const SHARE_MIN: f64 = 0.05;
const NS_MIN: f64 = 20_000.0;

/// The results of the streams.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Writes {
    /// Median time of a write, nanoseconds.
    pub usual_ns: f64,
    /// Bytes from one slow write to the next.
    pub period: Option<u64>,
    /// Minimum additional time of three in four slow writes, nanoseconds.
    pub extra_ns: Option<f64>,
}

/// Writes both streams; `None` in a plan.
pub(super) fn measure(session: &mut Session<'_>, whole: &Whole) -> Result<Option<Writes>> {
    session.step("geometry-period", 0);
    let half = whole.bytes() / 2 / CHUNK * CHUNK;
    let bytes = half.saturating_sub(APART).min(BYTES_MAX);
    let filler = Filler::new(Content::Random, whole.test_region.seed_of(30));
    let second = second(bytes / CHUNK, half / CHUNK) * CHUNK;
    let region = Region::first(second + bytes);
    let bulk = [Bulk::new(BlockWay::Write, region, 2 * bytes)];
    let streams = session.transfer("geometry-period", &bulk, |session| {
        [0, second].into_iter().map(|begin| stream(session, &filler, begin, bytes)).collect()
    })?;
    Ok(streams.map(|streams: Vec<Stream>| judge(&streams)))
}

/// Writes one stream, and rests.
fn stream(session: &mut Session<'_>, filler: &Filler, begin: u64, bytes: u64) -> Result<Stream> {
    let began_ns = session.elapsed_ns();
    let mut values = Vec::new();
    for offset in (begin..begin + bytes).step_by(CHUNK as usize) {
        values.push(timed_write(session, filler, offset, CHUNK)?);
        let elapsed_ns = session.elapsed_ns().saturating_sub(began_ns);
        if elapsed_ns as f64 > SECONDS_MAX * 1e9 {
            break;
        }
    }
    session.flush()?;
    session.idle(Duration::from_secs_f64(REST))?;
    Ok(Stream { first: (begin / CHUNK) as usize, values })
}

/// The first chunk of the second stream, at most `half`, if the first one has `chunks`.
///
/// A drive that appends to flash blocks wherever the host writes has a period in the number of
/// chunks written, not in addresses. For a lag that divides the number of chunks skipped between
/// the streams, both would look the same, so a number is chosen that no lag divides.
fn second(chunks: u64, half: u64) -> u64 {
    let lags = analysis::PERIOD_MIN as u64..=chunks / analysis::CYCLES_MIN as u64;
    let skipped_max = half - chunks;
    let skipped = (1..=skipped_max)
        .rev()
        .find(|skipped| lags.clone().all(|lag| !skipped.is_multiple_of(lag)));
    chunks + skipped.unwrap_or(skipped_max)
}

fn judge(streams: &[Stream]) -> Writes {
    let times: Vec<f64> = streams.iter().flat_map(|s| s.values.iter().copied()).collect();
    let usual_ns = analysis::quantile(&times, 0.5);
    let period = analysis::period(streams, NS_MIN.max(SHARE_MIN * usual_ns));
    Writes {
        usual_ns,
        period: period.map(|period| period.lag as u64 * CHUNK),
        extra_ns: period.map(|period| period.height),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_streams_are_apart_by_a_multiple_of_no_lag() {
        for (chunks, half) in [(1024, 4096), (1024, 7777), (1024, 1 << 24), (300, 308)] {
            let skipped = second(chunks, half) - chunks;
            assert!((1..=half - chunks).contains(&skipped), "{skipped}");
            for lag in 3..=chunks / 5 {
                assert_ne!(skipped % lag, 0, "{chunks} {half}: {lag}");
            }
        }
    }
}
