//! TRIM: does a discard have an effect, by signals independent of the drive's claim?
//!
//! One signal is enough, because drives differ: some return old content until they need the block,
//! a RAM disc reads all blocks equally fast, and a drive with much spare flash writes no faster
//! when empty. Without any signal, a discard has no noticeable effect.

use analysis::{Comparison, compare};
use record::{Unit, VerdictKind};
use rig::Released;
use workload::units::{binary, decimal};

use super::rule::{Role, Rule};
use super::{Ruling, percent};

/// Minimum share of the checked blocks that changed.
const CHANGED_FROM: f64 = 0.9;

/// Reads of discarded blocks, and writes after a discard, count as faster if the lower end of the
/// ratio's interval is above this; see [`faster`] for wide intervals.
const FASTER_FROM: f64 = 1.1;

/// Name of the signal that scatters most.
const WRITES: &str = "writes, restored / used";

/// Observations about discards.
#[derive(Clone, Debug, Default)]
pub struct Trim {
    /// The drive does not support discard.
    pub refused: bool,
    /// The discards went through a file system.
    pub by_file_system: bool,
    /// Content of the blocks after the discard.
    pub released: Option<Released>,
    /// Why the content could not be checked.
    pub unseen: Option<String>,
    /// Reads of discarded blocks relative to reads of kept ones: before and after the discard.
    pub reads: [Vec<f64>; 2],
    /// Random write rates of the used drive and after discarding everything, bytes per second.
    pub writes: [Vec<f64>; 2],
}

pub static RULE: Rule = Rule {
    role: Role::Claim,
    overridden_by: &[],
    judge: |facts| facts.checks.get().map(trim).into_iter().collect(),
};

pub fn trim(seen: &Trim) -> Ruling {
    if seen.refused {
        return Ruling::no(
            VerdictKind::NoTrim,
            "The drive, or a layer above it, does not support discards.",
        );
    }
    let content = seen.released.map(content);
    let reads = ratio(&seen.reads).map(|c| reads(&c));
    let writes = ratio(&seen.writes).map(|c| writes(&c));
    let signals: Vec<Signal> = [content, reads, writes].into_iter().flatten().collect();
    let mut words: Vec<String> = signals.iter().map(|s| s.words.clone()).collect();
    words.extend(seen.unseen.as_ref().map(|why| format!("the blocks could not be read: {why}")));
    words.extend(said(seen));
    let words = words.join("; ");
    let ruling = if signals.iter().any(|s| s.seen == Some(true)) {
        Ruling::yes(VerdictKind::TrimWorks, format!("Discards reach the drive: {words}."))
    } else if unseen(&signals) {
        Ruling::no(VerdictKind::NoTrim, format!("Discards have no visible effect: {words}."))
    } else {
        let open = if words.is_empty() { "it was not measured".into() } else { words };
        Ruling::unknown(format!("Whether discards reach the drive is unknown: {open}."))
    };
    signals.iter().fold(ruling, |ruling, s| ruling.with(s.name, s.value, Unit::Number))
}

/// Whether no signal shows an effect. If the blocks keep their content and are read as before,
/// write rates that scatter too much to decide are ignored.
fn unseen(signals: &[Signal]) -> bool {
    let unchanged = signals.iter().filter(|s| s.seen == Some(false));
    let both_unchanged = unchanged.clone().filter(|s| s.name != WRITES).count() == 2;
    !signals.is_empty() && (both_unchanged || unchanged.count() == signals.len())
}

/// Result of one signal: `None` if undecided.
struct Signal {
    seen: Option<bool>,
    words: String,
    name: &'static str,
    value: f64,
}

fn content(released: Released) -> Signal {
    let [kept_share, zeros] = [released.kept_bytes, released.zero_bytes]
        .map(|bytes| bytes as f64 / released.looked_bytes as f64);
    let changed = 1.0 - kept_share;
    let size = binary(released.looked_bytes);
    let words = match zeros {
        zeros if zeros >= CHANGED_FROM => format!("{} of {size} read as zeros", percent(zeros)),
        _ if changed > 0.0 => format!("{} of {size} changed their content", percent(changed)),
        _ => format!("{size} kept their content"),
    };
    let is_seen = match changed {
        c if c >= CHANGED_FROM => Some(true),
        // A drive may return the old content until it needs the block.
        0.0 => Some(false),
        _ => None,
    };
    Signal { seen: is_seen, words, name: "blocks changed", value: changed }
}

fn reads(c: &Comparison) -> Signal {
    let words = match faster(c) {
        Some(true) => format!("they are read {:.2} times as fast as blocks in flash", c.ratio),
        _ => format!("they are read at {} of the rate of other blocks", percent(c.ratio)),
    };
    Signal {
        seen: faster(c),
        words,
        name: "reads, discarded / mapped, after / before",
        value: c.ratio,
    }
}

fn writes(c: &Comparison) -> Signal {
    let words = match faster(c) {
        Some(true) => format!("random writes become {:.2} times as fast", c.ratio),
        _ => format!("random writes run at {} of their earlier rate", percent(c.ratio)),
    };
    Signal { seen: faster(c), words, name: WRITES, value: c.ratio }
}

/// Whether discards make the operation faster. Two pairs give a wide interval; if it does not
/// decide, the ratio does: yes above twice [`FASTER_FROM`], which is beyond all noise, and no below
/// [`FASTER_FROM`].
fn faster(c: &Comparison) -> Option<bool> {
    let low = c.low.unwrap_or(0.0);
    let high = c.high.unwrap_or(f64::INFINITY);
    if low > FASTER_FROM || c.ratio > 2.0 * FASTER_FROM {
        Some(true)
    } else if high < FASTER_FROM || c.ratio < FASTER_FROM {
        Some(false)
    } else {
        None
    }
}

fn ratio(rates: &[Vec<f64>; 2]) -> Option<Comparison> {
    let n = rates[0].len().min(rates[1].len());
    compare(&rates[0][..n], &rates[1][..n])
}

/// The file system's report.
fn said(seen: &Trim) -> Option<String> {
    let released = seen.released.filter(|_| seen.by_file_system)?;
    Some(match released.trimmed_bytes {
        Some(0) => "fstrim reports 0 bytes: trimmed before, or no free space".into(),
        Some(bytes) => format!("fstrim reports {}", decimal(bytes)),
        None => "the file system or the device below cannot trim".into(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::Answer;
    use super::*;

    fn released(zero: u64, kept: u64) -> Option<Released> {
        Some(Released {
            looked_bytes: 100,
            zero_bytes: zero,
            kept_bytes: kept,
            trimmed_bytes: None,
        })
    }

    fn rates(ratio: f64) -> [Vec<f64>; 2] {
        [vec![100.0, 101.0, 99.0], vec![101.0 * ratio, 100.0 * ratio, 100.0 * ratio]]
    }

    #[test]
    fn any_signal_is_enough() {
        let seen = |released, reads, writes| Trim {
            released,
            reads: rates(reads),
            writes: rates(writes),
            ..Trim::default()
        };
        let answer = |t: Trim| trim(&t).answer;
        assert_eq!(answer(seen(released(100, 0), 1.0, 1.0)), Answer::Yes);
        assert_eq!(answer(seen(released(0, 0), 1.0, 1.0)), Answer::Yes);
        assert_eq!(answer(seen(released(0, 100), 3.0, 1.0)), Answer::Yes);
        assert_eq!(answer(seen(released(0, 100), 1.0, 4.7)), Answer::Yes);
        assert_eq!(answer(seen(released(0, 100), 1.0, 1.0)), Answer::No);
        assert_eq!(answer(seen(released(20, 80), 1.0, 1.0)), Answer::Unknown);
        assert_eq!(answer(Trim::default()), Answer::Unknown);
        assert_eq!(answer(Trim { refused: true, ..Trim::default() }), Answer::No);
    }

    #[test]
    fn two_noisy_pairs_do_not_hide_a_fivefold_gain() {
        let writes = [vec![2.4, 2.6], vec![11.0, 12.8]];
        assert_eq!(trim(&Trim { writes, ..Trim::default() }).answer, Answer::Yes);
    }

    #[test]
    fn content_kept_and_read_as_before_decides_where_writes_scatter() {
        let writes = [vec![46.0, 147.0], vec![84.0, 170.0]];
        let kept =
            Trim { released: released(0, 100), reads: rates(1.0), writes, ..Trim::default() };
        assert_eq!(trim(&kept).verdict.kind, VerdictKind::NoTrim);
        // The content alone does not decide: a drive can return it until it needs the block.
        let blind = Trim { reads: [vec![], vec![]], ..kept };
        assert_eq!(trim(&blind).answer, Answer::Unknown);
    }

    #[test]
    fn a_file_system_that_discards_nothing_is_quoted() {
        let released = released(0, 100).map(|r| Released { trimmed_bytes: Some(0), ..r });
        let seen = Trim { by_file_system: true, released, ..Trim::default() };
        assert!(trim(&seen).verdict.text.contains("fstrim reports 0 bytes"));
        let why = Some("no root".into());
        let ruling = trim(&Trim { by_file_system: true, unseen: why, ..Trim::default() });
        assert_eq!(ruling.answer, Answer::Unknown);
        assert!(ruling.verdict.text.contains("the blocks could not be read: no root"));
    }
}
