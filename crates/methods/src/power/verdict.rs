//! The verdict of `power`: whether reads after a rest wait for the drive to wake.

use super::{Sleep, key};
use analysis::quantile;
use record::{Evidence, Unit, Verdict, VerdictKind};
use workload::units::{latency, span};

/// POWER STATE, NO POWER STATE or UNDETERMINED.
pub(super) fn verdict(awake_ns: f64, after: &[(f64, Vec<f64>)], sleep: Sleep) -> Verdict {
    let longest = after.last().map_or(0.0, |(seconds, _)| *seconds);
    let first = after.last().map_or(0.0, |(_, samples)| quantile(samples, 0.5));
    let (kind, text) = match sleep {
        Sleep::After(low, high) => {
            let onset = if low > 0.0 {
                format!("after {} to {}", words(low), words(high))
            } else {
                format!("within {}", words(high))
            };
            let text = format!(
                "The drive falls asleep {onset} of rest: the first read then takes {}, others {}.",
                latency(first),
                latency(awake_ns)
            );
            (VerdictKind::PowerState, text)
        }
        Sleep::Never => {
            let text = format!(
                "No sign of sleep after rests of up to {}: the first read takes as long as any.",
                words(longest)
            );
            (VerdictKind::NoPowerState, text)
        }
        Sleep::Unclear => {
            let text = "Some first reads took longer, but not consistently after longer rests: a \
                        disturbance, or a state that this test cannot detect.";
            (VerdictKind::Undetermined, text.to_string())
        }
        Sleep::Always => {
            let shortest = after.first().map_or(0.0, |(seconds, _)| *seconds);
            let text = format!(
                "The first read takes longer even after {} of rest: {} after the longest rest, {} \
                 without one. An idle host processor or virtual machine takes as long to wake, so \
                 the drive's share is unknown.",
                words(shortest),
                latency(first),
                latency(awake_ns)
            );
            (VerdictKind::Undetermined, text)
        }
    };
    let measured = after.iter().filter(|(_, samples)| !samples.is_empty());
    let rested = measured.map(|(seconds, samples)| {
        let name = format!("after {}", words(*seconds));
        Evidence::new(name, quantile(samples, 0.5), Unit::Nanoseconds)
    });
    let verdict = Verdict::new(kind, text)
        .with_evidence([Evidence::new("awake", awake_ns, Unit::Nanoseconds)])
        .with_evidence(rested);
    match (sleep, after.last()) {
        (Sleep::After(..) | Sleep::Never, Some((seconds, _))) => verdict.explaining(key(*seconds)),
        (Sleep::After(..) | Sleep::Never, None) => verdict,
        (Sleep::Always, _) => {
            verdict.next_test("the same with the host's idle states off (cpupower idle-set -D 0)")
        }
        (Sleep::Unclear, _) => {
            verdict.next_test("more replicates: --replicates 6, with nothing else running")
        }
    }
}

/// `30 ms`, `3.0 s`.
pub(super) fn words(seconds: f64) -> String {
    if seconds < 1.0 { format!("{:.0} ms", seconds * 1e3) } else { span(seconds) }
}
