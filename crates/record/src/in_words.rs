//! Metric keys in words, for sentences, labels and tables: `random 4 KiB reads at depth 32, p99`.
//!
//! This is the only place where keys become words, and words are never parsed: look a metric up by
//! its key.

use workload::{OpKind, units};

use crate::key::{CellKey, LatencyKind, MetricKey, Order, Subject};
use crate::run::Run;
use crate::statistic::Statistic;

/// Origin of a record's workload names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Naming {
    /// ssdyno, by the rules of keys: a name can be put into words.
    Ours,
    /// The user, as for fio jobs: names are kept unchanged.
    Users,
}

impl Naming {
    /// The naming in records of a method. Importers name workloads by the rules of keys.
    pub fn new(method: &str, imported: bool) -> Naming {
        if method == "fio" && !imported { Naming::Users } else { Naming::Ours }
    }

    /// A metric, for the middle of a sentence.
    pub fn metric(self, key: &MetricKey) -> String {
        match self {
            Naming::Ours => key.in_words(),
            Naming::Users => key.figure(of_op(key.owner(), key.op)),
        }
    }

    /// A metric, for the beginning of a sentence. A user's name is not capitalised.
    pub fn metric_first(self, key: &MetricKey) -> String {
        let words = self.metric(key);
        if self == Naming::Users && !key.owner().is_empty() { words } else { capitalised(&words) }
    }

    /// A step of a method's plan, for its progress line, which does not repeat the method's name.
    pub fn step(self, name: &str, method: &str) -> String {
        let key = MetricKey::parse(name);
        match (self, &key.subject) {
            (Naming::Users, _) => name.to_string(),
            (Naming::Ours, Subject::Named(named)) => {
                key.figure(named_in_words(named, key.op, method))
            }
            (Naming::Ours, Subject::Cell(_)) => key.in_words(),
        }
    }

    /// A workload, or its operations of one kind.
    pub fn workload(self, name: &str, op: Option<OpKind>) -> String {
        let key = MetricKey::parse(name);
        match (self, op.filter(|op| key.direction() != Some(*op))) {
            (Naming::Users, _) => of_op(name.to_string(), op),
            (Naming::Ours, Some(op)) => key.of_op(op).in_words(),
            (Naming::Ours, None) => key.in_words(),
        }
    }
}

impl Run {
    /// Who named its workloads.
    pub fn naming(&self) -> Naming {
        Naming::new(&self.method, self.origin.is_some())
    }
}

/// `my-job reads`.
fn of_op(name: String, op: Option<OpKind>) -> String {
    let words = [Some(name.as_str()).filter(|name| !name.is_empty()), op.map(ops)];
    words.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

impl MetricKey {
    /// The key in words: subject, op, then statistic. Contains a comma only before a statistic or a
    /// clock, so that workload names can appear in a list.
    pub fn in_words(&self) -> String {
        self.figure(match &self.subject {
            Subject::Cell(cell) => cell_in_words(cell, self.direction()),
            Subject::Named(name) => named_in_words(name, self.op, ""),
        })
    }

    /// Appends the figure to its subject: `random 4 KiB reads, service time p99`.
    fn figure(&self, subject: String) -> String {
        let clock = self.clock.map(|clock| match clock {
            LatencyKind::Service => "service time",
            LatencyKind::Response => "response time",
        });
        let statistic = self.statistic.map(statistic);
        let figure: Vec<String> = clock.map(String::from).into_iter().chain(statistic).collect();
        let parts = [subject, figure.join(" ")];
        let parts: Vec<&str> = parts.iter().map(String::as_str).filter(|p| !p.is_empty()).collect();
        parts.join(", ")
    }
}

/// The text with its first letter capitalised, for the beginning of a sentence.
pub fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// `random 4 KiB reads at depth 32`; a mix with its shares: `mixed 70/30 4 KiB I/O at depth 32`.
fn cell_in_words(cell: &CellKey, op: Option<OpKind>) -> String {
    let order = match cell.order {
        Order::Sequential => "sequential",
        Order::Random => "random",
        Order::Mixed => "mixed",
    };
    let (mut shares, mut state, mut threads) = (String::new(), Vec::new(), String::new());
    for word in &cell.words {
        let share = word.parse::<u32>().ok().filter(|reads| *reads <= 100);
        let jobs = word.strip_prefix("jobs").and_then(|n| n.parse::<u32>().ok());
        match (share, jobs) {
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

/// `writes (states used)` for `states-write-used`: a method's name, an op and further words. An op
/// stands without the name of its own `method`: `writes (used)`.
fn named_in_words(name: &str, op: Option<OpKind>, method: &str) -> String {
    let words: Vec<&str> =
        name.split(['-', '_', '.', ' ']).filter(|word| !word.is_empty()).collect();
    // A single word is a user's name.
    if let ([only], None) = (&words[..], op) {
        return only.to_string();
    }
    // A load of `curve`, in percent of the first knee.
    if let (["curve", share], None) = (&words[..], op)
        && share.parse::<u32>().is_ok()
    {
        return format!("{share}% load");
    }
    let position = words.iter().position(|word| matches!(*word, "read" | "write"));
    let (Some(index), None) = (position.filter(|at| *at > 0), op) else {
        let words =
            words.iter().map(|text| if words.len() == 1 { text.to_string() } else { word(text) });
        return words.chain(op.map(|op| ops(op).into())).collect::<Vec<_>>().join(" ");
    };
    let op = if words[index] == "read" { OpKind::Read } else { OpKind::Write };
    let other_words: Vec<&str> = [&words[..index], &words[index + 1..]].concat();
    let role =
        |kind: Part| other_words.iter().filter(move |text| Part::parse(text) == kind).copied();
    let rest = role(Part::Other).filter(|text| *text != method);
    let rest = rest.collect::<Vec<_>>().join(" ");
    let rest = (!rest.is_empty()).then(|| format!("({rest})"));
    let before = role(Part::Order).chain(role(Part::Size)).map(word);
    let phrase = before.chain([ops(op).to_string()]).chain(role(Part::Depth).map(word)).chain(rest);
    phrase.collect::<Vec<_>>().join(" ")
}

/// The role of a name's word in a phrase.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    Order,
    Size,
    Depth,
    Other,
}

impl Part {
    fn parse(word: &str) -> Part {
        let depth = word.strip_prefix('q').is_some_and(|n| n.parse::<u32>().is_ok());
        match word {
            "seq" | "rand" => Part::Order,
            _ if depth => Part::Depth,
            _ if word.ends_with("iB") && units::parse_bytes(word).is_ok() => Part::Size,
            _ => Part::Other,
        }
    }
}

/// A word of a name, as it appears in a phrase.
fn word(word: &str) -> String {
    match (word, Part::parse(word)) {
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
        Statistic::Min => "shortest".into(),
        Statistic::Max => "longest".into(),
        Statistic::Iops => "IOPS".into(),
        Statistic::CpuPerIo => "processor time per I/O".into(),
        Statistic::LateOps => "late operations".into(),
        Statistic::Ram => "on the RAM disc".into(),
        Statistic::TimeTotal => "time that is split".into(),
        Statistic::TimeHeld => "time before the block layer".into(),
        Statistic::TimeQueue => "time in the block layer".into(),
        Statistic::TimeDrive => "time in the drive".into(),
        Statistic::TimeLink => "time on the link".into(),
        Statistic::TimeLayer => "time in the layers above the drive".into(),
        Statistic::TimeCompletion => "time from completion until seen".into(),
        Statistic::TimeWaiting => "time waiting for a processor".into(),
        Statistic::TimeHost => "processor time of this host".into(),
        Statistic::TimeUnexplained => "time not explained".into(),
        Statistic::SlowTotal => "time of the slowest".into(),
        Statistic::SlowHeld => "time of the slowest before the block layer".into(),
        Statistic::SlowQueue => "time of the slowest in the block layer".into(),
        Statistic::SlowDrive => "time of the slowest in the drive".into(),
        Statistic::SlowLink => "time of the slowest on the link".into(),
        Statistic::SlowHost => "processor time of this host for the slowest".into(),
        Statistic::SlowUnexplained => "time of the slowest not explained".into(),
        _ => statistic.name().replace(['-', '_'], " "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_become_words() {
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
            ("curve-110.p99", "110% load, p99"),
            ("curve-knee", "curve knee"),
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
    fn a_step_does_not_repeat_its_method() {
        let cases = [
            ("states-write-used", "states", "writes (used)"),
            ("fake-write", "fake", "writes"),
            ("sdclass-rand-read-q4", "sdclass", "random reads at depth 4"),
            ("iozone-100MiB-4KiB.cold-read", "iozone", "100 MiB 4 KiB reads (cold)"),
            ("rand-read-4KiB-q32", "quick", "random 4 KiB reads at depth 32"),
            ("snia-throughput-128KiB", "snia-throughput", "SNIA throughput 128 KiB"),
            ("fill", "quick", "fill"),
        ];
        for (name, method, words) in cases {
            assert_eq!(Naming::new(method, false).step(name, method), words, "{name}");
        }
        assert_eq!(Naming::new("fio", false).step("my-read-job", "fio"), "my-read-job");
    }

    #[test]
    fn names_given_by_users_are_kept() {
        let cases = [
            ("my-read-job.read.service.p99", "my-read-job reads, service time p99"),
            ("rand-read-4k-q32.write.iops", "rand-read-4k-q32 writes, IOPS"),
            ("a.read.read.throughput", "a.read reads, throughput"),
            ("write_log.effective_depth", "write_log, effective depth"),
        ];
        let users = Naming::new("fio", false);
        for (key, words) in cases {
            let key = MetricKey::parse(key);
            assert_eq!([users.metric(&key), users.metric_first(&key)], [words; 2]);
        }
        assert_eq!(users.workload("my-read-job", None), "my-read-job");
        assert_eq!(users.workload("a.read", Some(OpKind::Write)), "a.read writes");
        let cell = MetricKey::parse("rand-read-4KiB-q32");
        for ours in [Naming::new("fio", true), Naming::new("quick", false)] {
            assert_eq!(ours.metric_first(&cell), "Random 4 KiB reads at depth 32");
            assert_eq!(ours.workload("states-write-used", None), "writes (states used)");
        }
    }

    #[test]
    fn no_statistic_keeps_the_separators_of_keys() {
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
