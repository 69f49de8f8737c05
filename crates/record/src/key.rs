//! Metric keys: the only place where metric names are composed and parsed.
//!
//! A key is `subject[.op][.clock][.statistic]`: `rand-read-4KiB-q32.p99.9`, `sustain-fresh.cache`,
//! `read.service.p99`, `throughput`. The subject is either a cell of the grid, whose name states
//! order, op, block size and depth, or any other name, such as that of a workload, a step or a fio
//! job.
//!
//! Every text is a key, and a parsed key prints its original text, so no record of another version
//! is lost. Unusual spellings (`seq-read-1024k-q1`) are preserved.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use workload::{OpKind, Workload, units};

use crate::Statistic;

/// The order of access in a cell of the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Order {
    /// Ascending addresses.
    Sequential,
    /// Random addresses.
    Random,
    /// Random reads and writes at once.
    Mixed,
}

impl Order {
    /// All of them.
    pub const ALL: [Order; 3] = [Order::Sequential, Order::Random, Order::Mixed];

    /// Its word in keys.
    pub const fn name(self) -> &'static str {
        match self {
            Order::Sequential => "seq",
            Order::Random => "rand",
            Order::Mixed => "mixed",
        }
    }
}

/// A cell of the grid: `{order}[-{op}][-{word}...]-{size}-q{depth}`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CellKey {
    /// Order of access.
    pub order: Order,
    /// Reads or writes; `None`: both.
    pub op: Option<OpKind>,
    /// Other words: `70` (percent of reads), `jobs4`.
    pub words: Vec<String>,
    /// Size of a transfer, bytes.
    pub block_bytes: u64,
    /// Operations in flight.
    pub depth: u32,
}

impl CellKey {
    /// A cell without further words.
    pub fn new(order: Order, op: Option<OpKind>, block_bytes: u64, depth: u32) -> CellKey {
        CellKey { order, op, words: Vec::new(), block_bytes, depth }
    }

    fn parse(text: &str) -> Option<CellKey> {
        let (rest, depth) = text.rsplit_once('-')?;
        let depth = depth.strip_prefix('q')?.parse().ok()?;
        let (rest, size) = rest.rsplit_once('-')?;
        let block_bytes = units::parse_bytes(size).ok()?;
        let mut all_words = rest.split('-');
        let first = all_words.next()?;
        let order = Order::ALL.into_iter().find(|order| order.name() == first)?;
        let (mut op, mut words) = (None, Vec::new());
        for word in all_words {
            match [OpKind::Read, OpKind::Write].into_iter().find(|kind| kind.name() == word) {
                Some(kind) => op = op.or(Some(kind)),
                None => words.push(word.to_string()),
            }
        }
        Some(CellKey { order, op, words, block_bytes, depth })
    }
}

impl fmt::Display for CellKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.order.name())?;
        if let Some(op) = self.op {
            write!(f, "-{}", op.name())?;
        }
        for word in &self.words {
            write!(f, "-{word}")?;
        }
        write!(f, "-{}-q{}", size_word(self.block_bytes), self.depth)
    }
}

/// The subject of a metric.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Subject {
    /// A cell of the grid.
    Cell(CellKey),
    /// Any other name; empty for the only workload of a run.
    Named(String),
}

impl Subject {
    /// Whether it has no name: that of the only workload of a run.
    fn is_empty(&self) -> bool {
        matches!(self, Subject::Named(name) if name.is_empty())
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Subject::Cell(cell) => cell.fmt(f),
            Subject::Named(name) => f.write_str(name),
        }
    }
}

/// Which latency of an operation was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LatencyKind {
    /// Issue to completion.
    Service,
    /// Intended start to completion.
    Response,
}

impl LatencyKind {
    /// Both.
    pub const ALL: [LatencyKind; 2] = [LatencyKind::Service, LatencyKind::Response];

    /// Its word in keys.
    pub const fn name(self) -> &'static str {
        match self {
            LatencyKind::Service => "service",
            LatencyKind::Response => "response",
        }
    }

    fn from_name(name: &str) -> Option<LatencyKind> {
        LatencyKind::ALL.into_iter().find(|clock| clock.name() == name)
    }
}

/// The key of a metric.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MetricKey {
    /// The subject.
    pub subject: Subject,
    /// The op, for one part of a subject with several ops.
    pub op: Option<OpKind>,
    /// Service or response time, where both are possible.
    pub clock: Option<LatencyKind>,
    /// The figure; `None`: the main one, such as the rate of a workload.
    pub statistic: Option<Statistic>,
    /// The original text, if spelled differently.
    spelling: Option<String>,
}

impl MetricKey {
    /// Parses a key; never fails.
    pub fn parse(text: &str) -> MetricKey {
        let (rest, statistic) = split_last(text, Statistic::from_name);
        let (rest, clock) = split_last(rest, LatencyKind::from_name);
        let (rest, op) = split_last(rest, op_of);
        let subject =
            CellKey::parse(rest).map_or_else(|| Subject::Named(rest.into()), Subject::Cell);
        let is_usual = match &subject {
            Subject::Cell(cell) => prints_as(cell, rest),
            Subject::Named(_) => true,
        };
        let spelling = (!is_usual).then(|| text.to_string());
        MetricKey { subject, op, clock, statistic, spelling }
    }

    /// The figure that a key names.
    pub fn statistic_of(text: &str) -> Option<Statistic> {
        split_last(text, Statistic::from_name).1
    }

    /// The main figure of a subject named by these words: `align-512`, `speed-read-4KiB`.
    pub fn of_words(words: &[&dyn fmt::Display]) -> MetricKey {
        let words: Vec<String> = words.iter().map(ToString::to_string).collect();
        MetricKey::parse(&words.join("-"))
    }

    /// The main figure of a workload.
    pub fn from_workload(workload: &Workload) -> MetricKey {
        MetricKey::parse(&workload.name)
    }

    /// The figure of one direction of a workload. For a mixed cell, that is the reads or writes of
    /// the cell.
    pub fn of_direction(workload: &Workload, kind: OpKind) -> MetricKey {
        let key = MetricKey::from_workload(workload);
        match key.as_cell() {
            Some(cell) => CellKey { op: Some(kind), ..cell.clone() }.into(),
            None => key,
        }
    }

    /// The main figure of a cell.
    pub fn cell(order: Order, op: Option<OpKind>, block_bytes: u64, depth: u32) -> MetricKey {
        CellKey::new(order, op, block_bytes, depth).into()
    }

    /// A figure of the only workload of a run.
    pub fn of_run(statistic: Statistic) -> MetricKey {
        MetricKey::parse("").with(statistic)
    }

    /// The same key with this statistic.
    #[must_use]
    pub fn with(self, statistic: Statistic) -> MetricKey {
        MetricKey { statistic: Some(statistic), ..self.respelled() }
    }

    /// The same key with this clock.
    #[must_use]
    pub fn clocked(self, clock: LatencyKind) -> MetricKey {
        MetricKey { clock: Some(clock), ..self.respelled() }
    }

    /// The same key with this op.
    #[must_use]
    pub fn of_op(self, op: OpKind) -> MetricKey {
        MetricKey { op: Some(op), ..self.respelled() }
    }

    /// The same key without its statistic.
    #[must_use]
    pub fn without_statistic(&self) -> MetricKey {
        let text = self.to_string();
        let rest = self.statistic.and_then(|s| text.strip_suffix(s.name()));
        MetricKey::parse(rest.map_or(text.as_str(), |rest| rest.strip_suffix('.').unwrap_or(rest)))
    }

    /// The name of its subject, as spelled.
    pub fn owner(&self) -> String {
        let text = self.to_string();
        let (rest, _) = split_last(&text, Statistic::from_name);
        let (rest, _) = split_last(rest, LatencyKind::from_name);
        split_last(rest, op_of).0.to_string()
    }

    /// The same key within an owner: `owner.key`.
    #[must_use]
    pub fn within(&self, owner: &str) -> MetricKey {
        let key = self.to_string();
        let dot = if owner.is_empty() || key.is_empty() { "" } else { "." };
        MetricKey::parse(&format!("{owner}{dot}{key}"))
    }

    /// Its cell, if its subject is one.
    pub fn as_cell(&self) -> Option<&CellKey> {
        match &self.subject {
            Subject::Cell(cell) => Some(cell),
            Subject::Named(_) => None,
        }
    }

    /// Whether it is the main figure of a subject or a whole run, such as `rand-read-4KiB-q1` and
    /// `throughput`, but not `read.iops` or `job.iops`.
    pub fn is_main(&self) -> bool {
        let further = [self.op.is_some(), self.clock.is_some(), self.statistic.is_some()];
        let further = further.into_iter().filter(|given| *given).count();
        match &self.subject {
            subject if subject.is_empty() => further == 1,
            Subject::Named(name) => further == 0 && !name.contains('.'),
            Subject::Cell(_) => further == 0,
        }
    }

    /// Its first two words: `seq-read` for `seq-read-1MiB-q8`.
    pub fn kind(&self) -> String {
        self.to_string().splitn(3, '-').take(2).collect::<Vec<_>>().join("-")
    }

    /// Reads or writes, from any part of the key.
    pub fn direction(&self) -> Option<OpKind> {
        self.op.or(self.as_cell().and_then(|cell| cell.op))
    }

    /// Whether it is a figure of this subject, main or not.
    pub fn belongs_to(&self, subject: &str) -> bool {
        let text = self.to_string();
        text.strip_prefix(subject).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }

    /// Whether it is this key, or this key within an owner.
    pub fn ends_with(&self, key: &str) -> bool {
        let text = self.to_string();
        text.strip_suffix(key).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    }

    /// The same key without the name of its subject, if it states its op: `read.iops` for
    /// `job.read.iops`.
    pub fn without_owner(&self) -> Option<MetricKey> {
        let subject = Subject::Named(String::new());
        let owned = self.op.is_some() && self.subject != subject;
        owned.then(|| MetricKey { subject, spelling: None, ..self.clone() })
    }

    /// Writes it in the usual spelling.
    fn spell(&self, out: &mut impl fmt::Write) -> fmt::Result {
        write!(out, "{}", self.subject)?;
        let words = [
            self.op.map(OpKind::name),
            self.clock.map(LatencyKind::name),
            self.statistic.map(Statistic::name),
        ];
        let mut dot = if self.subject.is_empty() { "" } else { "." };
        for word in words.into_iter().flatten() {
            write!(out, "{dot}{word}")?;
            dot = ".";
        }
        Ok(())
    }

    /// Prepares a change: an unusual spelling becomes the name of a subject.
    fn respelled(self) -> MetricKey {
        match self.spelling {
            None => self,
            Some(text) => MetricKey { subject: Subject::Named(text), ..bare() },
        }
    }
}

impl fmt::Display for MetricKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.spelling, f.width()) {
            (Some(spelling), _) => f.pad(spelling),
            (None, None) => self.spell(f),
            (None, Some(_)) => {
                let mut text = String::new();
                self.spell(&mut text)?;
                f.pad(&text)
            }
        }
    }
}

impl FromStr for MetricKey {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<MetricKey, Infallible> {
        Ok(MetricKey::parse(text))
    }
}

impl From<CellKey> for MetricKey {
    fn from(cell: CellKey) -> MetricKey {
        MetricKey { subject: Subject::Cell(cell), ..bare() }
    }
}

impl From<&MetricKey> for MetricKey {
    fn from(key: &MetricKey) -> MetricKey {
        key.clone()
    }
}

impl From<MetricKey> for String {
    fn from(key: MetricKey) -> String {
        key.to_string()
    }
}

impl From<&MetricKey> for String {
    fn from(key: &MetricKey) -> String {
        key.to_string()
    }
}

fn bare() -> MetricKey {
    let subject = Subject::Named(String::new());
    MetricKey { subject, op: None, clock: None, statistic: None, spelling: None }
}

/// Whether a value is printed as this text.
fn prints_as(value: &impl fmt::Display, text: &str) -> bool {
    struct Rest<'t>(&'t str);
    impl fmt::Write for Rest<'_> {
        fn write_str(&mut self, part: &str) -> fmt::Result {
            self.0 = self.0.strip_prefix(part).ok_or(fmt::Error)?;
            Ok(())
        }
    }
    let mut rest = Rest(text);
    fmt::Write::write_fmt(&mut rest, format_args!("{value}")).is_ok() && rest.0.is_empty()
}

/// Splits off the last word if it means something. A word may have a dot of its own: `p99.9`.
fn split_last<T>(text: &str, meaning: impl Fn(&str) -> Option<T>) -> (&str, Option<T>) {
    if let Some(meant) = meaning(text) {
        return ("", Some(meant));
    }
    let mut dots = text.rmatch_indices('.').map(|(dot, _)| dot).take(2).filter(|dot| *dot > 0);
    let split = dots.find_map(|dot| Some((&text[..dot], Some(meaning(&text[dot + 1..])?))));
    split.unwrap_or((text, None))
}

fn op_of(word: &str) -> Option<OpKind> {
    OpKind::ALL.into_iter().find(|op| op.name() == word)
}

/// An exact size as spelled in keys: `4KiB`, `1MiB`, `1000B`.
pub fn size_word(bytes: u64) -> String {
    let units = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let whole = units.into_iter().find(|(unit, _)| bytes >= *unit && bytes.is_multiple_of(*unit));
    whole.map_or_else(|| format!("{bytes}B"), |(unit, name)| format!("{}{name}", bytes / unit))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key(text: &str) -> MetricKey {
        MetricKey::parse(text)
    }

    #[test]
    fn cells_of_the_grid_are_parsed() {
        let found = key("rand-write-4KiB-q32.p99.9");
        let cell = CellKey::new(Order::Random, Some(OpKind::Write), 4096, 32);
        assert_eq!(found, MetricKey::from(cell).with(Statistic::P999));
        assert_eq!(found.direction(), Some(OpKind::Write));
        let found = key("mixed-70-4KiB-q32.read.p50");
        assert_eq!(found.as_cell().map(|cell| cell.words.clone()), Some(vec!["70".to_string()]));
        assert_eq!((found.op, found.statistic), (Some(OpKind::Read), Some(Statistic::P50)));
        assert_eq!(key("mixed-4KiB-q32").direction(), None);
    }

    #[test]
    fn other_keys_have_named_subjects() {
        let parts = |text: &str| {
            let key = key(text);
            (key.subject.to_string(), key.op, key.clock, key.statistic, key.as_cell().is_some())
        };
        let cases = [
            ("", ("", None, None, None)),
            ("throughput", ("", None, None, Some(Statistic::Throughput))),
            (
                "read.service.p99",
                ("", Some(OpKind::Read), Some(LatencyKind::Service), Some(Statistic::P99)),
            ),
            ("sustain-fresh.cache", ("sustain-fresh", None, None, Some(Statistic::Cache))),
            (
                "snia-dirth-t1-q1.response",
                ("snia-dirth-t1-q1", None, Some(LatencyKind::Response), None),
            ),
            ("my.job.write.iops", ("my.job", Some(OpKind::Write), None, Some(Statistic::Iops))),
            ("seq-read", ("seq-read", None, None, None)),
            ("rand-read-4KiB-q", ("rand-read-4KiB-q", None, None, None)),
            ("seq-read-1MiB-q8.x", ("seq-read-1MiB-q8.x", None, None, None)),
            ("-q1", ("-q1", None, None, None)),
            ("p99.9", ("", None, None, Some(Statistic::P999))),
        ];
        for (text, (subject, op, clock, statistic)) in cases {
            assert_eq!(parts(text), (subject.into(), op, clock, statistic, false), "{text}");
        }
    }

    #[test]
    fn unusual_spellings_are_kept_and_understood() {
        let found = key("seq-read-1024k-q1.p50");
        assert_eq!(found.as_cell().map(|cell| cell.block_bytes), Some(1 << 20));
        assert_eq!(found.to_string(), "seq-read-1024k-q1.p50");
        assert_ne!(found, key("seq-read-1MiB-q1.p50"));
        assert_eq!(found.with(Statistic::Max).to_string(), "seq-read-1024k-q1.p50.max");
    }

    #[test]
    fn a_main_figure_has_neither_an_owner_nor_a_part() {
        for text in ["seq-read-1MiB-q8", "check-read-direct", "throughput", "heat-load", "p99.9"] {
            assert!(key(text).is_main(), "{text}");
        }
        for text in ["", "seq-read-1MiB-q8.p50", "read.iops", "job.iops", "a.b", "x.read"] {
            assert!(!key(text).is_main(), "{text}");
        }
        let kinds = ["seq-read-1MiB-q8", "mixed-write-4KiB-q32", "heat-load.hot", "iops"]
            .map(|text| key(text).kind());
        assert_eq!(kinds, ["seq-read", "mixed-write", "heat-load.hot", "iops"]);
    }

    #[test]
    fn words_make_a_subject() {
        let key = MetricKey::of_words(&[&"align", &512]).with(Statistic::Ratio);
        assert_eq!(key.to_string(), "align-512.ratio");
        let cell = CellKey::new(Order::Random, Some(OpKind::Read), 4096, 1);
        assert_eq!(MetricKey::of_words(&[&"lbaf", &cell, &"in", &512]).as_cell(), None);
        assert_eq!(MetricKey::of_words(&[&cell]).as_cell(), Some(&cell));
    }

    #[test]
    fn parts_are_added_in_order() {
        let run = MetricKey::of_run(Statistic::Iops);
        assert_eq!(run.to_string(), "iops");
        assert_eq!(run.within("first").to_string(), "first.iops");
        let times = key("").of_op(OpKind::Flush).clocked(LatencyKind::Service).with(Statistic::Max);
        assert_eq!(times.to_string(), "flush.service.max");
        assert_eq!(key("a.max").of_op(OpKind::Read).to_string(), "a.read.max");
        assert_eq!(times.without_statistic().to_string(), "flush.service");
        assert_eq!(key("iops").without_statistic().to_string(), "");
    }

    #[test]
    fn figures_of_a_subject_belong_to_it() {
        assert!(key("q1").belongs_to("q1") && key("q1.p99.9").belongs_to("q1"));
        assert!(!key("q16").belongs_to("q1") && !key("q16.max").belongs_to("q1"));
        assert!(key("step.a.p50").ends_with("a.p50") && key("a.p50").ends_with("a.p50"));
        assert!(!key("ba.p50").ends_with("a.p50"));
        let bare = |text: &str| key(text).without_owner().map(|key| key.to_string());
        assert_eq!(bare("job.read.service.p99").as_deref(), Some("read.service.p99"));
        assert_eq!((bare("read.iops"), bare("job.iops")), (None, None));
    }

    fn cell() -> impl Strategy<Value = CellKey> {
        let op = prop::option::of(prop::sample::select(vec![OpKind::Read, OpKind::Write]));
        let order = prop::sample::select(Order::ALL.to_vec());
        let words = prop::collection::vec("[a-z]{1,3}[0-9]{1,2}", 0..3);
        (order, op, words, 1u64..1 << 40, any::<u32>()).prop_map(
            |(order, op, words, block_bytes, depth)| CellKey {
                order,
                op,
                words,
                block_bytes,
                depth,
            },
        )
    }

    fn subject() -> impl Strategy<Value = Subject> {
        let name = "[a-z]{2,6}(-[0-9a-z]{3,5}){1,3}";
        prop_oneof![cell().prop_map(Subject::Cell), name.prop_map(Subject::Named)]
    }

    proptest! {
        #[test]
        fn keys_round_trip_through_text(
            subject in subject(),
            op in prop::option::of(prop::sample::select(OpKind::ALL.to_vec())),
            clock in prop::option::of(prop::sample::select(LatencyKind::ALL.to_vec())),
            statistic in prop::option::of(prop::sample::select(Statistic::ALL)),
        ) {
            let key = MetricKey { subject, op, clock, statistic, spelling: None };
            prop_assert_eq!(&MetricKey::parse(&key.to_string()), &key);
        }

        #[test]
        fn any_text_is_a_key_that_prints_it_unchanged(
            text in r"(seq|rand|mixed|a|\.|-|q)?[-.a-zA-Z0-9é]{0,12}(\.|-|p99|read|-4KiB-q1|max)?",
        ) {
            prop_assert_eq!(MetricKey::parse(&text).to_string(), text);
        }
    }
}
