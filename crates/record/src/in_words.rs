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
            Subject::Named(name) => named_in_words(name, self.op),
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

/// `writes (states used)` for `states-write-used`: a method's name, an op and more words.
fn named_in_words(name: &str, op: Option<OpKind>) -> String {
    let words: Vec<&str> =
        name.split(['-', '_', '.', ' ']).filter(|word| !word.is_empty()).collect();
    // A single word is a name that somebody gave.
    if let ([only], None) = (&words[..], op) {
        return only.to_string();
    }
    let own = words.iter().position(|word| matches!(*word, "read" | "write"));
    let (Some(at), None) = (own.filter(|at| *at > 0), op) else {
        let words =
            words.iter().map(|text| if words.len() == 1 { text.to_string() } else { word(text) });
        return words.chain(op.map(|op| ops(op).into())).collect::<Vec<_>>().join(" ");
    };
    let op = if words[at] == "read" { OpKind::Read } else { OpKind::Write };
    let others: Vec<&str> = [&words[..at], &words[at + 1..]].concat();
    let of = |kind: Part| others.iter().filter(move |text| Part::of(text) == kind).copied();
    let rest = of(Part::Other).collect::<Vec<_>>().join(" ");
    let rest = (!rest.is_empty()).then(|| format!("({rest})"));
    let before = of(Part::Order).chain(of(Part::Size)).map(word);
    let all = before.chain([ops(op).to_string()]).chain(of(Part::Depth).map(word)).chain(rest);
    all.collect::<Vec<_>>().join(" ")
}

/// The part of a phrase that a word of a name is.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    Order,
    Size,
    Depth,
    Other,
}

impl Part {
    fn of(word: &str) -> Part {
        let depth = word.strip_prefix('q').is_some_and(|n| n.parse::<u32>().is_ok());
        match word {
            "seq" | "rand" => Part::Order,
            _ if depth => Part::Depth,
            _ if word.ends_with("iB") && units::parse_bytes(word).is_ok() => Part::Size,
            _ => Part::Other,
        }
    }
}

/// One word of a name.
fn word(word: &str) -> String {
    match (word, Part::of(word)) {
        ("seq", _) => "sequential".into(),
        ("rand", _) => "random".into(),
        ("snia", _) => "SNIA".into(),
        (_, Part::Depth) => format!("at depth {}", &word[1..]),
        (_, Part::Size) => units::parse_bytes(word).map_or_else(|_| word.into(), units::binary),
        _ => word.into(),
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
            ("sdclass-rand-read-q4", "random reads at depth 4 (sdclass)"),
            ("test-write-4KiB-seq-q2", "sequential 4 KiB writes at depth 2 (test)"),
            ("states-write-used", "writes (states used)"),
            ("speed-read", "reads (speed)"),
            ("write-heavy", "write heavy"),
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
