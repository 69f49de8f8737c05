//! The description of an iozone run: rows of file and record sizes, and the figures of a row.

use std::collections::BTreeMap;

use record::MetricKey;
use workload::units::binary_tight;
use workload::{Caching, Calls, Content, Mix, Pattern, Region, Workload};

/// A figure of the table, in the order of its columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum IozoneFigure {
    /// Writes a new file, record after record.
    Write,
    /// Rewrites the same file.
    Rewrite,
    /// Reads from start to end.
    Read,
    /// Reads it again.
    Reread,
    /// Reads every record once, in random order.
    RandomRead,
    /// Writes every record once, in the same random order.
    RandomWrite,
    /// Reads from end to start.
    BackwardRead,
    /// Rewrites one record repeatedly.
    RecordRewrite,
    /// Reads with a stride until all records are read.
    StridedRead,
    /// Writes a new file through a stream.
    Fwrite,
    /// Rewrites it through a stream.
    Frewrite,
    /// Reads it through a stream.
    Fread,
    /// Reads it again through a stream.
    Freread,
}

impl IozoneFigure {
    /// All columns.
    pub const ALL: [IozoneFigure; 13] = [
        IozoneFigure::Write,
        IozoneFigure::Rewrite,
        IozoneFigure::Read,
        IozoneFigure::Reread,
        IozoneFigure::RandomRead,
        IozoneFigure::RandomWrite,
        IozoneFigure::BackwardRead,
        IozoneFigure::RecordRewrite,
        IozoneFigure::StridedRead,
        IozoneFigure::Fwrite,
        IozoneFigure::Frewrite,
        IozoneFigure::Fread,
        IozoneFigure::Freread,
    ];

    /// Its name in metrics.
    pub fn name(self) -> &'static str {
        const NAMES: [&str; 13] = [
            "write",
            "rewrite",
            "read",
            "reread",
            "random-read",
            "random-write",
            "backward-read",
            "record-rewrite",
            "strided-read",
            "fwrite",
            "frewrite",
            "fread",
            "freread",
        ];
        NAMES[self as usize]
    }

    /// The test number of `-i`, 0 to 7.
    pub fn test(self) -> u32 {
        [0, 0, 1, 1, 2, 2, 3, 4, 5, 6, 6, 7, 7][self as usize]
    }

    /// Whether it writes.
    pub fn writes(self) -> bool {
        use IozoneFigure::*;
        matches!(self, Write | Rewrite | RandomWrite | RecordRewrite | Fwrite | Frewrite)
    }

    /// Whether it goes through a stream.
    pub fn streams(self) -> bool {
        self >= IozoneFigure::Fwrite
    }

    /// Whether it creates the file.
    pub(crate) fn makes(self) -> bool {
        matches!(self, IozoneFigure::Write | IozoneFigure::Fwrite)
    }

    /// Whether it is a retest.
    fn again(self) -> bool {
        matches!(
            self,
            IozoneFigure::Rewrite
                | IozoneFigure::Reread
                | IozoneFigure::Frewrite
                | IozoneFigure::Freread
        )
    }
}

/// A trustworthy counterpart of one of the tool's figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Honest {
    /// The rewrite with incompressible content, including its flush.
    RewriteRandomContent,
    /// The first read of a file that is not in memory.
    ColdRead,
    /// The first read of such a file in random order.
    ColdRandomRead,
}

impl Honest {
    /// All of them, in order of measurement.
    pub const ALL: [Honest; 3] =
        [Honest::RewriteRandomContent, Honest::ColdRead, Honest::ColdRandomRead];

    /// Its name in metrics.
    pub fn name(self) -> &'static str {
        ["rewrite-random-content", "cold-read", "cold-random-read"][self as usize]
    }

    /// Its counterpart in the tool's table.
    fn figure(self) -> IozoneFigure {
        [IozoneFigure::Rewrite, IozoneFigure::Read, IozoneFigure::RandomRead][self as usize]
    }
}

/// File and record of a row, bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Row {
    /// File size, at least a record. A remainder below a record is not used, as in iozone.
    pub file_bytes: u64,
    /// Record size.
    pub record_bytes: u32,
}

impl Row {
    /// The metric of a figure by its name: `iozone-100MiB-4KiB.rewrite`.
    pub fn metric(&self, figure: &str) -> MetricKey {
        metric(self.file_bytes, u64::from(self.record_bytes), figure)
    }

    /// Size of the files of so many processes, one for each.
    pub(super) fn bytes_of_all(&self, processes: u32) -> u64 {
        self.file_bytes * u64::from(processes)
    }

    /// The metric of a figure for a number of processes: `iozone-100MiB-4KiB-t4.rewrite`.
    pub fn throughput_metric(&self, processes: u32, figure: IozoneFigure) -> MetricKey {
        throughput_metric(self.file_bytes, u64::from(self.record_bytes), processes, figure.name())
    }

    fn records(&self) -> u64 {
        self.file_bytes / u64::from(self.record_bytes)
    }

    /// Bytes in whole records.
    pub(crate) fn used_bytes(&self) -> u64 {
        self.records() * u64::from(self.record_bytes)
    }
}

/// The metric of a figure for a file and record size, from any source.
pub fn metric(file_bytes: u64, record_bytes: u64, figure: &str) -> MetricKey {
    let sizes = [file_bytes, record_bytes].map(binary_tight);
    let row = MetricKey::of_words(&[&"iozone", &sizes[0], &sizes[1]]);
    MetricKey::parse(figure).within(&row.to_string())
}

/// The metric of a figure for a number of processes, from any source: the sum of their rates. Its
/// lowest and highest are those of a process, its throughput that of all until the last has ended.
pub fn throughput_metric(
    file_bytes: u64,
    record_bytes: u64,
    processes: u32,
    figure: &str,
) -> MetricKey {
    let sizes = [file_bytes, record_bytes].map(binary_tight);
    let row = MetricKey::of_words(&[&"iozone", &sizes[0], &sizes[1], &format!("t{processes}")]);
    MetricKey::parse(figure).within(&row.to_string())
}

/// The figures for several processes, in the order of the tool.
const THROUGHPUT: [IozoneFigure; 10] = [
    IozoneFigure::Write,
    IozoneFigure::Rewrite,
    IozoneFigure::Read,
    IozoneFigure::Reread,
    IozoneFigure::BackwardRead,
    IozoneFigure::StridedRead,
    IozoneFigure::RandomRead,
    IozoneFigure::RandomWrite,
    IozoneFigure::Fwrite,
    IozoneFigure::Fread,
];

/// A run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Iozone {
    /// The rows, in order. Every file holds at least one record.
    pub rows: Vec<Row>,
    /// Requested tests, by number, 0 to 7.
    pub tests: Vec<u32>,
    /// `-e`: the time of writes includes the final flush.
    pub flush: bool,
    /// `-o`: every write is durable when it returns, except through a stream.
    pub sync: bool,
    /// `-I`: bypass the page cache, except through a stream.
    pub direct: bool,
    /// `-+n`: no retests.
    pub once: bool,
    /// `-j`: distance of strided reads, records.
    pub stride: u64,
    /// `-H`, `-k`: operations in flight, at least 1; 1: plain calls. Streams have none.
    pub depth: u32,
    /// `-U`: the page cache is dropped before every figure.
    pub drops: bool,
    /// `-t`, or `-l` to `-u`: numbers of processes, each with its own part of the target. Empty: the
    /// table, with one process.
    pub processes: Vec<u32>,
    /// Adds the trustworthy figures.
    pub honest: bool,
}

impl Default for Iozone {
    /// The run of document 002: `-e -o -a -s 100M -r 4k -i 0 -i 1 -i 2`.
    fn default() -> Iozone {
        Iozone {
            rows: vec![Row { file_bytes: 100 << 20, record_bytes: 4096 }],
            tests: vec![0, 1, 2],
            flush: true,
            sync: true,
            direct: false,
            once: false,
            stride: 17,
            depth: 1,
            drops: false,
            processes: Vec::new(),
            honest: true,
        }
    }
}

impl Iozone {
    /// The figures of each row, in order of measurement.
    pub fn figures(&self) -> Vec<IozoneFigure> {
        IozoneFigure::ALL.into_iter().filter(|figure| self.includes(*figure)).collect()
    }

    fn includes(&self, figure: IozoneFigure) -> bool {
        self.tests.contains(&figure.test()) && !(self.once && figure.again())
    }

    /// The options that change the figures of a row, by letter as on iozone's command line. Names of
    /// figures contain the sizes.
    pub fn flags(&self) -> BTreeMap<String, String> {
        let switches = [
            ("e", self.flush),
            ("o", self.sync),
            ("I", self.direct),
            ("+n", self.once),
            ("U", self.drops),
        ];
        let switches = switches.into_iter().filter(|(_, is_on)| *is_on);
        let switches = switches.map(|(letter, _)| (letter.to_string(), String::new()));
        let processes = self.processes.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
        let strided = self.tests.contains(&IozoneFigure::StridedRead.test());
        let values = [
            ("j", strided.then(|| self.stride.to_string())),
            ("H", (self.depth > 1).then(|| self.depth.to_string())),
            ("t", (!processes.is_empty()).then_some(processes)),
        ];
        let values = values.into_iter().filter_map(|(letter, v)| Some((letter.to_string(), v?)));
        switches.chain(values).collect()
    }

    /// The columns of the table that the tests fill, with those of retests left out by `-+n`.
    pub fn columns(&self) -> Vec<IozoneFigure> {
        IozoneFigure::ALL.into_iter().filter(|f| self.tests.contains(&f.test())).collect()
    }

    /// Bytes of the largest file, or of the largest files of all processes together.
    pub fn file_bytes_max(&self) -> u64 {
        let processes = self.processes.iter().max().map_or(1, |n| u64::from(*n));
        let largest = self.rows.iter().map(|row| row.file_bytes).max().unwrap_or(0);
        largest.saturating_mul(processes)
    }

    /// The workload of a figure, as in iozone.
    pub(crate) fn workload(&self, row: Row, figure: IozoneFigure, seed: u64) -> Workload {
        let (record, used) = (u64::from(row.record_bytes), row.used_bytes());
        let (pattern, region) = match figure {
            IozoneFigure::RandomRead | IozoneFigure::RandomWrite => (Pattern::UniformOnce, used),
            IozoneFigure::BackwardRead => (Pattern::Backwards, used),
            IozoneFigure::StridedRead => {
                (Pattern::Strided { stride_bytes: self.stride * record }, used)
            }
            IozoneFigure::RecordRewrite => (Pattern::Sequential, record),
            _ => (Pattern::Sequential, used),
        };
        let mix = if figure.writes() { Mix::WRITE } else { Mix::READ };
        let mut w = Workload::new(
            row.metric(figure.name()).to_string(),
            pattern,
            mix,
            row.record_bytes,
            Region::first(region),
        );
        w.caching =
            if self.direct && !figure.streams() { Caching::Bypass } else { Caching::Buffered };
        (w.calls, w.content, w.seed) = (Calls::Plain, Content::Repeated, seed);
        if self.depth > 1 && !figure.streams() {
            (w.calls, w.depth) = (Calls::Best, self.depth);
        }
        let coverage = Some(used as f64 / region as f64);
        w.stop.coverage = coverage;
        if figure.writes() {
            // Not by operations, because flushes count among them.
            w.stop.bytes = Some(used);
            w.flush_at_end = self.flush;
            w.sync_writes = self.sync && !figure.streams();
        } else {
            w.stop.ops = Some(row.records());
        }
        w
    }

    /// The figures of each number of processes, in order of measurement.
    pub fn throughput_figures(&self) -> Vec<IozoneFigure> {
        THROUGHPUT.into_iter().filter(|figure| self.includes(*figure)).collect()
    }

    /// The workloads of the processes: that of the figure, each on its own part of the target.
    pub(crate) fn shares(
        &self,
        row: Row,
        processes: u32,
        figure: IozoneFigure,
        seed: u64,
    ) -> Vec<Workload> {
        let shares = (0..processes).map(|process| {
            let mut w = self.workload(row, figure, seed);
            w.name = row.throughput_metric(processes, figure).to_string();
            w.region.start += u64::from(process) * row.used_bytes();
            w
        });
        shares.collect()
    }

    /// The trustworthy counterparts of the tool's figures.
    pub(crate) fn honest(&self, row: Row, seed: u64) -> Vec<(Honest, Workload)> {
        let honest = Honest::ALL
            .into_iter()
            .filter(|h| self.honest && self.tests.contains(&h.figure().test()));
        let workloads = honest.map(|honest| {
            let mut w = self.workload(row, honest.figure(), seed);
            w.name = row.metric(honest.name()).to_string();
            w.content = Content::Random;
            w.flush_at_end |= honest.figure().writes();
            (honest, w)
        });
        workloads.collect()
    }
}
