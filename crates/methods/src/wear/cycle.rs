//! The test: writes and checks blocks, and measures the write rate.

use std::collections::HashSet;
use std::ops::Range;

use record::{Health, IoErrors, Series, Statistic, TargetKind, Unit};
use rig::{BlockWay, Preparation, RigError};
use workload::Region;
use workload::units::decimal;

use super::age::Ages;
use super::found::{Class, Tally};
use super::layout::{BLOCK, Layout};
use super::resume::Left;
use super::transfer::{Door, PIECE, Refused};
use super::{
    ADDED, AMPLIFICATION, CHECKED, DRIVE_WRITES, FAULTS, LIFE, LIFE_PER_TB, STATIC, WRITE_RATE,
    WRITTEN, fault,
};
use script::{Bulk, MethodError, Result, Session};

/// Approximate maximum number of rows in the series.
const ROWS: u64 = 200;

/// The start and the end of a run are 1/n of the rows each.
const ENDS: usize = 10;

/// The name of the series, and of its step.
pub(super) const CYCLE: &str = "wear-cycle";

/// The step that writes the static data.
pub(super) const FILL: &str = "wear-fill";

/// The operation of the error that reports a failed discard.
pub(super) const DISCARD: &str = "discard";

/// A running test.
pub(super) struct Test {
    pub layout: Layout,
    /// Seed of the stamps.
    pub seed: u64,
    /// Total number of blocks to write.
    pub goal: u64,
    /// Number of the next write.
    pub next: u64,
    /// Smaller numbers of the same pass that are not yet written.
    holes: Vec<u64>,
    /// Whether the marker is written.
    marked: bool,
    /// Blocks written by earlier runs.
    earlier: u64,
    /// Whether earlier runs may have written more: the drive lost the record of it.
    pub earlier_at_least: bool,
    /// Blocks written by this run.
    pub added: u64,
    /// Cycled blocks by their content.
    pub cycled: Tally,
    /// Static blocks: the good ones of the last check, and the faults of all checks.
    pub fixed: Tally,
    /// Good blocks in all checks.
    checked: u64,
    /// Numbers that the drive refused, and later numbers of the same piece or pass.
    missing: HashSet<u64>,
    /// Later numbers of the static data, which were not written.
    unwritten: Range<u64>,
    /// The first operation that the drive refused.
    pub refused: Option<Refused>,
    /// Whether checked blocks are discarded.
    erases: bool,
    before: Option<Health>,
    series: Series,
    row: Row,
    ages: Ages,
}

/// The current row of the series.
#[derive(Default)]
struct Row {
    blocks: u64,
    ns: u64,
}

impl Test {
    pub fn new(session: &mut Session<'_>, layout: Layout, goal: u64) -> Test {
        let target = session.target();
        let erases = target.discard && target.target.kind != TargetKind::Directory;
        let before = session.health();
        let start_ns = session.elapsed_ns();
        Test {
            layout,
            seed: layout.seed(0),
            goal,
            next: 1,
            holes: Vec::new(),
            marked: false,
            earlier: 0,
            earlier_at_least: false,
            added: 0,
            cycled: Tally::default(),
            fixed: Tally::default(),
            checked: 0,
            missing: HashSet::new(),
            unwritten: 0..0,
            refused: None,
            erases,
            before,
            series: Series::new(CYCLE, 0, start_ns),
            row: Row::default(),
            ages: Ages::default(),
        }
    }

    /// Continues where an earlier run ended.
    pub fn resume(&mut self, left: Left) {
        (self.earlier, self.earlier_at_least) = (left.blocks(&self.layout), left.least);
        (self.next, self.marked) = (left.last + 1, left.marked);
        (self.seed, self.holes) = (left.seed, left.holes);
        (self.fixed, self.cycled) = (left.fixed, left.cycled);
    }

    /// Blocks written by this run and earlier runs.
    pub fn total(&self) -> u64 {
        self.earlier + self.added
    }

    /// Whether the run resumes after the static data were written and checked.
    pub fn resumed_in_pass(&self) -> bool {
        self.next > self.layout.fixed + 1
    }

    fn door(&self, step: &'static str) -> Door<'_> {
        Door { layout: &self.layout, seed: self.seed, step }
    }

    /// Whether there was no fault so far.
    fn is_sound(&self) -> bool {
        self.refused.is_none() && self.cycled.bad() + self.fixed.bad() == 0
    }

    /// Writes the missing static data, except the marker. The blocks that were in flight when the
    /// earlier run was killed are durable before any other write, so that only the last blocks on a
    /// drive can be missing.
    pub fn fill(&mut self, session: &mut Session<'_>) -> Result<()> {
        let bulk = [Bulk::once(BlockWay::Write, self.layout.fixed_region())];
        session.transfer(FILL, &bulk, |session| self.fill_rest(session))?;
        self.next = self.next.max(self.layout.fixed + 1);
        Ok(())
    }

    fn fill_rest(&mut self, session: &mut Session<'_>) -> Result<()> {
        let fixed = self.layout.fixed;
        let (holes, later): (Vec<u64>, Vec<u64>) =
            std::mem::take(&mut self.holes).into_iter().partition(|number| *number <= fixed);
        self.holes = later;
        self.write(session, FILL, holes.into_iter())?;
        let mut rest = self.next..self.layout.marker();
        // In pieces: on a drive that fails, few numbers are missing one by one.
        while self.refused.is_none() && !rest.is_empty() {
            let end = rest.end.min(rest.start + PIECE as u64);
            self.write(session, FILL, rest.start..end)?;
            rest.start = end;
        }
        self.unwritten = rest;
        session.flush().or_else(|error| self.refuse_flush(session, FILL, error))?;
        // A file is synced first.
        let dropped = session.apply(Preparation::DropCaches).map(drop);
        dropped.or_else(|error| self.refuse_flush(session, FILL, error))
    }

    /// Writes blocks and returns their number. A failed write or flush ends the test.
    fn write(
        &mut self,
        session: &mut Session<'_>,
        step: &'static str,
        numbers: impl Iterator<Item = u64>,
    ) -> Result<u64> {
        let batch = self.door(step).write(session, numbers)?;
        self.added += batch.blocks;
        self.missing.extend(batch.missing);
        if let Some(refused) = batch.refused {
            self.refuse(session, step, refused);
        }
        Ok(batch.blocks)
    }

    /// Records an operation that the drive refused. The first ends the test.
    fn refuse(&mut self, session: &mut Session<'_>, step: &str, refused: Refused) {
        session.add_errors(&IoErrors {
            first_offsets: refused.offset.into_iter().collect(),
            ..IoErrors::new(refused.op, refused.error.as_str(), step, 1)
        });
        self.refused.get_or_insert(refused);
    }

    /// Records a failed flush as a failure of the drive, which does not abort the run.
    fn refuse_flush(
        &mut self,
        session: &mut Session<'_>,
        step: &str,
        error: MethodError,
    ) -> Result<()> {
        let refused = Refused::flush(error)?;
        self.refuse(session, step, refused);
        Ok(())
    }

    /// Whether a number was written, as far as the drive acknowledged it.
    fn is_written(&self, number: u64) -> bool {
        !self.missing.contains(&number) && !self.unwritten.contains(&number)
    }

    /// Checks all static data that were written.
    pub fn check_fixed(&mut self, session: &mut Session<'_>) -> Result<()> {
        let bulk = [Bulk::once(BlockWay::Read, self.layout.fixed_region())];
        session.transfer("wear-check", &bulk, |session| self.check_written(session))?;
        Ok(())
    }

    fn check_written(&mut self, session: &mut Session<'_>) -> Result<()> {
        let end = self.layout.marker() + u64::from(self.marked);
        let numbers = (1..end).filter(|number| self.is_written(*number));
        let mut tally = self.fixed.faults();
        self.door("wear-check").check(session, numbers, &mut tally)?;
        self.checked += tally.good();
        self.fixed = tally;
        Ok(())
    }

    /// Writes the halves in turn until the goal is reached or a fault is found.
    pub fn cycle(&mut self, session: &mut Session<'_>, age: Option<u64>) -> Result<()> {
        self.series.start_ns = session.elapsed_ns();
        // A pass that was complete when this run began may be unchecked.
        let mut open = self.layout.pass(self.next - 1);
        self.mend(session)?;
        self.mark(session)?;
        self.age(session, age)?;
        if session.plans() {
            // A plan has one discard for those of all passes.
            self.erase(session, self.layout.cycled_region())?;
        }
        while self.next <= self.goal && self.is_sound() {
            let (last, bulk) = self.passes_in_bulk(age);
            let written =
                session.transfer(CYCLE, &bulk, |session| self.passes(session, last, &mut open))?;
            if written.is_none() {
                self.next = last + 1;
            }
            if (last - self.layout.fixed).is_multiple_of(self.layout.half) {
                self.age(session, age)?;
            }
        }
        if let Some(pass) = open {
            let numbers = self.layout.numbers(pass);
            self.check(session, numbers.start..numbers.end.min(self.next))?;
        }
        self.push_row(session);
        Ok(())
    }

    /// The last write before the next measurement of age, which follows the pass in which it is
    /// due, and the transfers until then. They are planned in bulk: a large drive has too many
    /// passes to plan one by one.
    fn passes_in_bulk(&self, age: Option<u64>) -> (u64, [Bulk; 3]) {
        let Layout { fixed, half, .. } = self.layout;
        let due = self.ages.due_after(&self.layout, age).unwrap_or(self.goal);
        let passes = due.max(self.next).saturating_sub(fixed).div_ceil(half);
        let last = (fixed + passes * half).min(self.goal);
        let blocks = last + 1 - self.next;
        let marker = Region { start: self.layout.offset(self.layout.marker()), bytes: BLOCK };
        let bulk = [
            self.bulk(BlockWay::Write, blocks),
            self.bulk(BlockWay::Read, blocks),
            Bulk::once(BlockWay::Write, marker),
        ];
        (last, bulk)
    }

    /// Transfers of cycled blocks.
    fn bulk(&self, way: BlockWay, blocks: u64) -> Bulk {
        Bulk::new(way, self.layout.cycled_region(), blocks * BLOCK)
    }

    /// Writes the passes up to a number, and checks each after the next is written. `open` is the
    /// last pass, which is not yet checked.
    fn passes(
        &mut self,
        session: &mut Session<'_>,
        last: u64,
        open: &mut Option<u64>,
    ) -> Result<()> {
        while self.next <= last && self.is_sound() {
            let Some(pass) = self.layout.pass(self.next) else { break };
            self.pass(session, pass, last)?;
            self.mark(session)?;
            *open = Some(pass);
            if pass > 0 {
                self.check(session, self.layout.numbers(pass - 1))?;
            }
            self.checkpoint(session);
        }
        Ok(())
    }

    /// Measures the speed at this age if it is due. A drive that fails in it ends the test.
    fn age(&mut self, session: &mut Session<'_>, every: Option<u64>) -> Result<()> {
        if self.is_sound() {
            self.refused = self.ages.measure(session, &self.layout, self.next, every)?;
        }
        Ok(())
    }

    /// Bytes written by measurements of age.
    pub fn age_bytes(&self) -> u64 {
        self.ages.written
    }

    /// Writes the blocks that were in flight when the earlier run was killed. They are durable
    /// before any other write, so that only the last pass on a drive can have holes.
    fn mend(&mut self, session: &mut Session<'_>) -> Result<()> {
        let holes = std::mem::take(&mut self.holes);
        if holes.is_empty() {
            return Ok(());
        }
        self.write(session, CYCLE, holes.into_iter())?;
        session.flush().or_else(|error| self.refuse_flush(session, CYCLE, error))
    }

    /// Writes the marker when the first pass is durable. It is durable itself before anything is
    /// erased, so that from then on the drive holds the marker and a pass.
    fn mark(&mut self, session: &mut Session<'_>) -> Result<()> {
        let marker = self.layout.marker();
        let durable = self.next >= self.layout.numbers(0).end;
        if durable && !self.marked && self.is_sound() {
            self.marked = self.write(session, CYCLE, marker..marker + 1)? == 1;
        }
        Ok(())
    }

    /// Writes the rest of a pass.
    fn pass(&mut self, session: &mut Session<'_>, pass: u64, last: u64) -> Result<()> {
        let numbers = self.layout.numbers(pass);
        if self.next == numbers.start {
            self.erase(session, self.layout.region(pass))?;
        }
        let end = numbers.end.min(last + 1);
        let begun_ns = session.elapsed_ns();
        let batch = self.write(session, CYCLE, self.next..end)?;
        session.flush().or_else(|error| self.refuse_flush(session, CYCLE, error))?;
        self.row.ns += session.elapsed_ns().saturating_sub(begun_ns);
        self.row.blocks += batch;
        self.next = end;
        Ok(())
    }

    /// Discards a region before it is written; its earlier content was checked.
    fn erase(&mut self, session: &mut Session<'_>, region: Region) -> Result<()> {
        if !self.erases {
            return Ok(());
        }
        match session.apply(Preparation::Discard { region }) {
            Ok(_) => Ok(()),
            // Without discard, overwriting erases the blocks.
            Err(MethodError::Rig(RigError::Unsupported(_))) => {
                self.erases = false;
                Ok(())
            }
            // Some bridges fail the discards that they announce; a worn drive also fails writes.
            Err(MethodError::Rig(RigError::Io { source, .. })) => {
                self.erases = false;
                session.add_errors(&IoErrors {
                    first_offsets: vec![region.start],
                    ..IoErrors::new(DISCARD, rig::error_name(&source), CYCLE, 1)
                });
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Checks cycled blocks that were written.
    fn check(&mut self, session: &mut Session<'_>, numbers: Range<u64>) -> Result<()> {
        let mut tally = std::mem::take(&mut self.cycled);
        let before = tally.good();
        let numbers = numbers.filter(|number| self.is_written(*number));
        let result = self.door(CYCLE).check(session, numbers, &mut tally);
        self.checked += tally.good() - before;
        self.cycled = tally;
        result
    }

    /// Ends a pass: publishes the results so far, at most a few hundred times per run.
    fn checkpoint(&mut self, session: &mut Session<'_>) {
        let share = (self.goal - self.layout.fixed).div_ceil(ROWS);
        if self.row.blocks >= share || !self.is_sound() {
            self.push_row(session);
            self.publish(session);
            let progress = self.total() as f64 / self.goal as f64;
            session.progress(CYCLE, progress);
            session.checkpoint();
        }
    }

    fn push_row(&mut self, session: &mut Session<'_>) {
        let row = std::mem::take(&mut self.row);
        if row.blocks == 0 || row.ns == 0 || session.plans() {
            return;
        }
        let t_ns = session.elapsed_ns().saturating_sub(self.series.start_ns);
        let rate = (row.blocks * BLOCK) as f64 * 1e9 / row.ns as f64;
        let mut values = vec![
            ("written", Unit::Bytes, Some((self.total() * BLOCK) as f64)),
            ("write", Unit::BytesPerSecond, Some(rate)),
            ("bad", Unit::Number, Some(self.cycled.bad() as f64)),
        ];
        if let Some(health) = session.health() {
            let counters = [
                ("life", Unit::Number, health.wear_percent),
                ("spare", Unit::Number, health.spare_percent),
                ("media-errors", Unit::Number, health.media_errors.map(|n| n as f64)),
                ("reallocated", Unit::Number, health.reallocated.map(|n| n as f64)),
                ("temperature", Unit::Celsius, health.temperature_c),
            ];
            values.extend(counters.into_iter().filter(|(_, _, value)| value.is_some()));
        }
        self.series.push(t_ns, &values);
    }

    /// Publishes everything known so far.
    pub fn publish(&mut self, session: &mut Session<'_>) {
        if session.plans() {
            return;
        }
        session.replace_series(self.series.clone());
        let bytes = |blocks: u64| Some((blocks * BLOCK) as f64);
        session.put(WRITTEN, bytes(self.total()));
        session.put(ADDED, bytes(self.added));
        session.put(DRIVE_WRITES, Some(self.total() as f64 / self.layout.blocks as f64));
        session.put(CHECKED, bytes(self.checked));
        session.put(STATIC, bytes(self.fixed.good()));
        for class in Class::BAD {
            let count = self.cycled.count(class) + self.fixed.count(class);
            session.put_value(fault(class), FAULTS.unit, Some(count as f64));
        }
        self.publish_rates(session);
        self.publish_health(session);
        self.ages.publish(session);
    }

    fn publish_rates(&self, session: &mut Session<'_>) {
        let column = self.series.column("write").map(|column| &column.values[..]);
        let rates: Vec<f64> = column.unwrap_or_default().iter().copied().flatten().collect();
        // Rows have equal amounts, so their mean rate is the harmonic mean.
        session.put(WRITE_RATE, harmonic_mean(&rates));
        let part = rates.len().div_ceil(ENDS);
        let ends =
            [(Statistic::Start, &rates[..part]), (Statistic::End, &rates[rates.len() - part..])];
        for (statistic, part) in ends {
            session.put_value(WRITE_RATE.with(statistic), WRITE_RATE.unit, harmonic_mean(part));
        }
    }

    fn publish_health(&self, session: &mut Session<'_>) {
        let Some(now) = session.health() else { return };
        session.put(LIFE, now.wear_percent);
        let Some(before) = &self.before else { return };
        let used = now.wear_percent.zip(before.wear_percent).map(|(now, before)| now - before);
        let tb = (self.added * BLOCK) as f64 / 1e12;
        let per_tb = used.filter(|used| *used > 0.0 && tb > 0.0).map(|used| used / tb);
        session.put(LIFE_PER_TB, per_tb);
        let growth = |of: fn(&Health) -> Option<u64>| {
            of(&now).zip(of(before)).map(|(now, before)| now.saturating_sub(before) as f64)
        };
        let flash = growth(|health| health.flash_written_bytes);
        let host = growth(|health| health.written_bytes).filter(|host| *host > 0.0);
        session.put(AMPLIFICATION, flash.zip(host).map(|(flash, host)| flash / host));
    }

    /// Reports the blocks that differ, and the loss of content.
    pub fn report(&self, session: &mut Session<'_>) {
        let bad = self.cycled.bad() + self.fixed.bad();
        if bad == 0 {
            return;
        }
        for class in Class::BAD {
            let tallies = [&self.cycled, &self.fixed];
            let count: u64 = tallies.iter().map(|tally| tally.count(class)).sum();
            if count == 0 {
                continue;
            }
            let first_offsets = tallies.iter().flat_map(|tally| tally.places(class)).collect();
            let op = if class == Class::Unreadable { "read" } else { "verify" };
            session.add_errors(&IoErrors {
                first_offsets,
                ..IoErrors::new(op, class.name(), CYCLE, count)
            });
        }
        let text = format!("{} of the data written did not come back", decimal(bad * BLOCK));
        session.note_once(
            record::Finding::new(record::FindingKind::ContentLost, record::Level::Bad, text)
                .advise("copy your data from this drive, and do not trust it"),
        );
    }
}

fn harmonic_mean(rates: &[f64]) -> Option<f64> {
    let seconds: f64 = rates.iter().map(|rate| 1.0 / rate).sum();
    (!rates.is_empty()).then(|| rates.len() as f64 / seconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use script::Options;
    use script::test_drive::{Fake, Traits};

    #[test]
    fn a_drive_that_refuses_the_fill_has_few_missing_numbers() {
        let mut fake = Fake::confirmed(Traits::default(), 256 << 20);
        fake.door.dead_from = Some(600 * BLOCK);
        let layout = Layout::new(&fake.info, &Options::default()).expect("room");
        let mut session = Session::new(&mut fake);
        let mut test = Test::new(&mut session, layout, 2 * layout.blocks);
        test.fill(&mut session).expect("a finding, no failure");
        assert!(test.refused.is_some() && test.missing.len() <= PIECE, "{}", test.missing.len());
        let written = (1..layout.marker()).filter(|number| test.is_written(*number)).count();
        assert_eq!((test.added, written), (600, 600));
    }
}
