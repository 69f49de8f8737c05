//! fio's logs of latency histograms over time (`write_hist_log`): a line for each direction and each
//! complete window of `log_hist_msec`, with the number of operations in each bin.
//!
//! A bin is as wide as in fio: 64 bins for every power of two, exact below 128 ns.
//! `log_hist_coarseness=n` adds up 2^n neighbours.

use std::io::{self, Write};

use rig::Logged;

use crate::job::{DIRECTIONS, direction};
use crate::run::JobRun;

/// Bins for each power of two.
const BINS_PER_POWER: u64 = 64;

/// Number of bins: the last one holds everything beyond about 17 s.
const BINS: usize = 1856;

/// The bins of one direction in the current window.
struct Bins {
    counts: Vec<u64>,
    /// Size of the last block, which fio writes with the bins.
    bytes: u32,
}

/// Writes the log of a clone.
pub(super) fn write_log(run: &JobRun<'_>, out: &mut dyn Write) -> io::Result<()> {
    let logs = &run.job.logs;
    let window_ns = logs.histogram_window.as_nanos() as u64;
    let mut bins = DIRECTIONS.map(|_| Bins { counts: vec![0; BINS], bytes: 0 });
    let mut window = 0;
    run.log.each(|logged: &Logged| {
        let (Some(number), Some(now)) = (
            direction(logged.op.kind),
            logged.done_ns.saturating_sub(run.did.begin_ns).checked_div(window_ns),
        ) else {
            return Ok(());
        };
        if now > window {
            write_window(&mut bins, (window + 1) * window_ns, logs.histogram_coarseness, out)?;
            window = now;
        }
        bins[number].counts[bin(logged.service_ns)] += 1;
        bins[number].bytes = logged.op.bytes;
        Ok(())
    })
}

/// Writes the directions with operations in a window, and empties them.
fn write_window(
    bins: &mut [Bins; 3],
    end_ns: u64,
    coarseness: u32,
    out: &mut dyn Write,
) -> io::Result<()> {
    for (direction, Bins { counts, bytes }) in bins.iter_mut().enumerate() {
        if counts.iter().all(|count| *count == 0) {
            continue;
        }
        write!(out, "{}, {direction}, {bytes}", end_ns / 1_000_000)?;
        for neighbours in counts.chunks(1 << coarseness) {
            write!(out, ", {}", neighbours.iter().sum::<u64>())?;
        }
        writeln!(out)?;
        counts.fill(0);
    }
    Ok(())
}

/// The bin of a latency.
fn bin(ns: u64) -> usize {
    let power = u64::from(ns.max(1).ilog2());
    let shift = power.saturating_sub(BINS_PER_POWER.ilog2().into());
    let bin = (ns >> shift) + shift * BINS_PER_POWER;
    (bin as usize).min(BINS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_are_those_of_fio() {
        // From the formula in fio's documentation of its histogram logs.
        let table =
            [(0, 0), (127, 127), (128, 128), (129, 128), (130, 129), (255, 191), (256, 192)];
        for (ns, number) in table {
            assert_eq!(bin(ns), number, "{ns} ns");
        }
        assert_eq!(bin(u64::MAX), BINS - 1);
    }

    #[test]
    fn a_window_is_one_line_for_each_direction_with_operations() {
        let mut bins = DIRECTIONS.map(|_| Bins { counts: vec![0; BINS], bytes: 0 });
        bins[1].counts[bin(130)] = 7;
        bins[1].bytes = 4096;
        let mut text = Vec::new();
        write_window(&mut bins, 2_000_000_000, 6, &mut text).expect("written");
        let text = String::from_utf8(text).expect("text");
        assert!(text.starts_with("2000, 1, 4096, 0, 0, 7, 0"), "{text}");
        assert_eq!(text.trim_end().split(", ").count(), 3 + BINS / 64);
        assert!(bins[1].counts.iter().all(|count| *count == 0));
    }
}
