//! A metric's key in words, for sentences, labels and tables: `random 4 KiB reads at depth 32, p99`.
//!
//! The only place where a key becomes words. There is no way back: whoever looks a metric up uses
//! the key.

use workload::{OpKind, units};

use crate::key::{CellKey, Clock, MetricKey, Order, Subject};
use crate::statistic::Statistic;

impl MetricKey {
    /// The key in words: the subject, the op, then the statistic. It contains no comma unless it has
    /// a statistic or a clock, so that the names of workloads can stand in a list.
    pub fn in_words(&self) -> String {
        let subject = match &self.subject {
            Subject::Cell(cell) => cell_in_words(cell, self.direction()),
            Subject::Named(name) => {
                let words = name.split(['-', '_', '.', ' ']).filter(|word| !word.is_empty());
                // A single word is a name that somebody gave.
                let alone = words.clone().count() == 1;
                let words = words.map(|text| if alone { text.into() } else { word(text) });
                let words = words.chain(self.op.map(|op| ops(op).into()));
                words.collect::<Vec<_>>().join(" ")
            }
        };
        let clock = self.clock.map(|clock| match clock {
            Clock::Service => "service time",
            Clock::Response => "response time",
        });
        let statistic = self.statistic.map(statistic);
        let figure: Vec<String> = clock.map(String::from).into_iter().chain(statistic).collect();
        let parts = [subject, figure.join(" ")];
        let parts: Vec<&str> = parts.iter().map(String::as_str).filter(|p| !p.is_empty()).collect();
        parts.join(", ")
    }
}

/// The text with a capital first letter, for the beginning of a sentence.
pub fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// `random 4 KiB reads at depth 32`; a mix by its shares: `mixed 70/30 4 KiB I/O at depth 32`.
fn cell_in_words(cell: &CellKey, op: Option<OpKind>) -> String {
    let order = match cell.order {
        Order::Sequential => "sequential",
        Order::Random => "random",
        Order::Mixed => "mixed",
    };
    let share = |word: &String| word.parse::<u32>().ok().filter(|reads| *reads <= 100);
    let jobs = |word: &String| word.strip_prefix("jobs").and_then(|n| n.parse::<u32>().ok());
    let (mut shares, mut state, mut threads) = (String::new(), Vec::new(), String::new());
    for word in &cell.words {
        match (share(word), jobs(word)) {
            (Some(reads), _) if cell.order == Order::Mixed => {
                shares = format!(" {reads}/{}", 100 - reads);
            }
            (_, Some(n)) => threads = format!(" from {n} jobs"),
            _ => state.push(word.as_str()),
        }
    }
    let state = if state.is_empty() { String::new() } else { format!(" ({})", state.join(" ")) };
    let (size, op) = (units::binary(cell.block_bytes), op.map_or("I/O", ops));
    format!("{order}{shares} {size} {op}{state} at depth {}{threads}", cell.depth)
}

/// One word of a name.
fn word(word: &str) -> String {
    let depth = || word.strip_prefix('q').filter(|n| n.parse::<u32>().is_ok());
    let size = || word.strip_suffix("iB").and_then(|_| units::parse_bytes(word).ok());
    match word {
        "seq" => "sequential".into(),
        "rand" => "random".into(),
        "snia" => "SNIA".into(),
        _ => match (depth(), size()) {
            (Some(depth), _) => format!("at depth {depth}"),
            (_, Some(bytes)) => units::binary(bytes),
            _ => word.into(),
        },
    }
}

const fn ops(op: OpKind) -> &'static str {
    match op {
        OpKind::Read => "reads",
        OpKind::Write => "writes",
        OpKind::Flush => "flushes",
        OpKind::Discard => "discards",
    }
}

fn statistic(statistic: Statistic) -> String {
    match statistic {
        Statistic::P50 => "median".into(),
        Statistic::Max => "longest".into(),
        Statistic::Iops => "IOPS".into(),
        Statistic::CpuPerIo => "processor time per I/O".into(),
        Statistic::LateOps => "late operations".into(),
        Statistic::Ram => "on the RAM disc".into(),
        _ => statistic.name().replace(['-', '_'], " "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_said_in_words() {
        let cases = [
            ("rand-read-4KiB-q32", "random 4 KiB reads at depth 32"),
            ("rand-read-4KiB-q32.p99", "random 4 KiB reads at depth 32, p99"),
            ("seq-write-jobs4-1MiB-q8", "sequential 1 MiB writes at depth 8 from 4 jobs"),
            ("rand-read-just-written-4KiB-q1", "random 4 KiB reads (just written) at depth 1"),
            ("mixed-70-4KiB-q32", "mixed 70/30 4 KiB I/O at depth 32"),
            ("mixed-70-4KiB-q32.read.p50", "mixed 70/30 4 KiB reads at depth 32, median"),
            ("seq-read-1024k-q1", "sequential 1 MiB reads at depth 1"),
            ("sustain-fresh.cache", "sustain fresh, cache"),
            ("sustain-fresh.worst-1%", "sustain fresh, worst 1%"),
            ("cluster-knee.write", "cluster knee writes"),
            ("snia-throughput-128KiB", "SNIA throughput 128 KiB"),
            ("sdclass-rand-read-q4", "sdclass random read at depth 4"),
            ("read.service.p99", "reads, service time p99"),
            ("my.job.write.iops", "my job writes, IOPS"),
            ("throughput", "throughput"),
            ("effective_depth", "effective depth"),
            ("cpu_ns_per_io", "processor time per I/O"),
            ("seq", "seq"),
            ("", ""),
        ];
        for (key, words) in cases {
            assert_eq!(MetricKey::parse(key).in_words(), words, "{key}");
        }
    }

    #[test]
    fn no_statistic_keeps_a_separator_of_keys() {
        for statistic in Statistic::ALL {
            let words = MetricKey::of_run(*statistic).in_words();
            assert!(!words.is_empty() && !words.contains(['-', '_']), "{words}");
        }
    }

    #[test]
    fn a_sentence_begins_with_a_capital() {
        assert_eq!(["", "random", "SNIA"].map(capitalised), ["", "Random", "SNIA"]);
    }
}
