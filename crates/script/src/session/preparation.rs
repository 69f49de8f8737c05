//! Preparation of a drive, with progress and a record of its state.

use record::{Finding, FindingKind, Level, State, TargetKind};
use rig::{Measurement, Preparation, RigError, Stage};
use workload::units::decimal;
use workload::{Content, Region, Workload};

use super::Session;
use crate::whole::{FILE_BYTES, Whole};
use crate::{MethodError, Result};
use rules::time_series::{BINS, TimeSeries};

impl Session<'_> {
    /// Publishes the size of a file in place of a drive, and notes what it hides, in words. Does
    /// nothing on a drive.
    pub fn note_file(&mut self, whole: &Whole, hidden: &str) {
        if !whole.in_file {
            return;
        }
        let filesystem = self.target().target.filesystem.as_ref();
        let place = filesystem.map(|system| format!(" on {}", system.kind)).unwrap_or_default();
        let text = format!("measured in a file of {}{place}: {hidden}", decimal(whole.bytes()));
        self.note(Finding::new(FindingKind::MeasuredInFile, Level::Note, text));
        self.put(FILE_BYTES, Some(whole.bytes() as f64));
    }

    /// Discards a region. Returns false, with a note in the record, if the drive does not support
    /// discard; its state is then unchanged.
    pub fn discard(&mut self, whole: &Whole, name: &str, region: Region) -> Result<bool> {
        self.step(name, 0);
        let result = if whole.discard {
            self.apply(Preparation::Discard { region })
        } else {
            Err(RigError::Unsupported("discard".into()).into())
        };
        match result {
            Ok(_) => {
                let is_everything = region == whole.everything;
                self.leave_in(if is_everything { State::Fresh } else { State::Trimmed });
                Ok(true)
            }
            Err(MethodError::Rig(RigError::Unsupported(_))) => {
                let text = if whole.in_file {
                    "the file system cannot free a part of a file: nothing was discarded"
                } else {
                    "the drive does not support discards: results named fresh are those of the \
                     state in which the run found it"
                };
                self.note_once(Finding::new(FindingKind::NoDiscard, Level::Warn, text));
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// Writes a region once, sequentially, with content different from every earlier fill.
    pub fn fill_region(&mut self, whole: &Whole, name: &str, region: Region) -> Result<()> {
        self.step(name, 0);
        self.fills += 1;
        let seed = whole.test_region.seed.wrapping_sub(u64::from(self.fills));
        self.leave_in(State::Used);
        self.apply(Preparation::Fill { region, content: Content::Random, seed })?;
        if region == whole.test_region.region() {
            self.leave_in(State::Filled);
        }
        Ok(())
    }

    /// Notes the state in which the target is left. A scratch file reveals nothing about the state
    /// of the drive around it.
    pub(super) fn leave_in(&mut self, state: State) {
        if self.target().target.kind != TargetKind::Directory {
            self.out.state_after = state;
        }
    }

    /// Runs a long workload and stores its time series, reduced to a drawable size, even if it is
    /// cut short.
    pub fn measure_over_time(&mut self, w: &Workload, replicate: u32) -> Result<TimeSeries> {
        let mut measurement = self.execute(w, Some(replicate), Stage::default())?.whole;
        let series = TimeSeries::from_measurement(&measurement);
        let start_ns = measurement.series.start_ns;
        self.out.series.extend(series.series(&w.name, replicate, start_ns, BINS));
        self.out.keep_doubts(&w.name, &measurement);
        measurement.series = record::Series::default();
        self.completed(measurement)?;
        Ok(series)
    }

    /// Runs one of many short workloads. Only one row of its time series is stored, after all
    /// others: a thousand rounds with all their intervals would make an unusably large record.
    pub fn moment(&mut self, w: &Workload, replicate: u32) -> Result<Measurement> {
        let m = self.probe(w, replicate)?;
        let row = TimeSeries::from_measurement(&m).series(&w.name, replicate, m.series.start_ns, 1);
        self.moments.extend(row);
        Ok(m)
    }

    pub fn note_once(&mut self, finding: Finding) {
        if !self.out.warnings.iter().any(|w| w.kind == finding.kind) {
            self.out.note(finding);
        }
    }
}
