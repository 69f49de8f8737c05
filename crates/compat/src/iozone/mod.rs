//! iozone's language: parses a command line into a [`methods::Iozone`], and prints a record as
//! iozone's table.
//!
//! Source: iozone's documentation and published outputs. An iozone option that ssdyno does not
//! support is an error that names it and suggests an alternative; one without effect gets a note.

mod latencies;
mod letters;
mod recorded;
mod sheet;
mod size;
mod sweep;
mod table;
mod throughput;
mod words;

pub use latencies::{BEGINNING as LATENCIES, files as latency_files, names as latency_names};
pub(crate) use recorded::letters;
pub use sheet::sheet;
pub(crate) use table::{REPORTS, TITLE};
pub use table::{csv, honest, table};
pub use words::{IozoneRequest, parse};

use methods::{Iozone, IozoneFigure, IozoneLatencies as Latencies};

/// A parsed command line.
#[derive(Clone, Debug)]
pub struct IozoneCommand {
    /// The method to run.
    pub run: Iozone,
    /// `-i`: the tests on the command line, also those that another option leaves out.
    pub asked: Vec<u32>,
    /// `-f`: the file as typed; `None`: a scratch file in the current directory.
    pub file: Option<String>,
    /// The record sizes of the sweep, or those given, bytes: the columns of a spreadsheet.
    pub records: Vec<u64>,
    /// `-O`, `-N`: the unit of the results.
    pub unit: ResultUnit,
    /// `-T`: several processes are called threads.
    pub threads: bool,
    /// `-w`: the file stays.
    pub keep: bool,
    /// `-B`: the file is mapped into memory.
    pub mapped: bool,
    /// `-Q`: where the run puts the operations of the files of offsets and latencies.
    pub latencies: Option<Latencies>,
    /// `-R`: repeat the figures, one block per figure.
    pub excel: bool,
    /// `-b`: file for a spreadsheet.
    pub sheet: Option<String>,
    /// Lines above the table that describe the options, as in iozone.
    pub lines: Vec<String>,
    /// Differences from iozone's interpretation.
    pub notes: Vec<String>,
    /// The command line as typed, for the line that echoes it.
    pub typed: String,
}

impl IozoneCommand {
    /// The columns of the table for the tests on the command line: the blocks of reports, which are
    /// zero where another option leaves the test out.
    fn asked_columns(&self) -> impl Iterator<Item = IozoneFigure> {
        IozoneFigure::ALL.into_iter().filter(|figure| self.asked.contains(&figure.test()))
    }
}

/// The unit of the results in the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ResultUnit {
    /// KiB/s.
    #[default]
    Kib,
    /// Operations per second.
    Operations,
    /// Microseconds per operation.
    Microseconds,
}

impl ResultUnit {
    /// A rate in this unit.
    fn of_rate(self, bytes_per_s: f64, record_bytes: u32) -> f64 {
        let operations_per_s = bytes_per_s / f64::from(record_bytes);
        match self {
            ResultUnit::Kib => bytes_per_s / 1024.0,
            ResultUnit::Operations => operations_per_s,
            ResultUnit::Microseconds if operations_per_s > 0.0 => 1e6 / operations_per_s,
            ResultUnit::Microseconds => 0.0,
        }
    }

    /// Its name, as in iozone.
    fn name(self) -> &'static str {
        match self {
            ResultUnit::Kib => "kB/sec",
            ResultUnit::Operations => "ops/sec",
            ResultUnit::Microseconds => "usec/op",
        }
    }
}

/// An error in a command line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct IozoneError {
    /// One line that names the option.
    pub what: String,
    /// The suggested alternative, if any.
    pub advice: Option<String>,
}

impl IozoneError {
    fn new(what: impl Into<String>) -> IozoneError {
        IozoneError { what: what.into(), advice: None }
    }

    fn advise(self, advice: &str) -> IozoneError {
        IozoneError { advice: Some(advice.into()), ..self }
    }
}
