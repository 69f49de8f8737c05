//! Transfers through the block interface: stamped writes, and classified reads.

use std::collections::HashSet;

use rig::{BlockDone, BlockRequest, BlockWay, RigError};
use workload::stamp::{self, Layout as Stamps};

use super::found::{Class, Tally};
use super::layout::{BLOCK, Layout, stamp};
use script::{MethodError, Result, Session};

/// Requests in flight.
pub(super) const DEPTH: u32 = 8;

/// Number of blocks between two progress reports and flushes; the queue drains there.
pub(super) const PIECE: usize = 512;

/// The operation that failed, and its error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refused {
    /// `write`, `flush`, or `read` in a measurement of age.
    pub op: &'static str,
    /// Its place; a flush has none.
    pub offset: Option<u64>,
    pub error: String,
}

impl Refused {
    /// A flush that failed on the drive. Any other error is returned.
    pub fn flush(error: MethodError) -> Result<Refused> {
        match error {
            MethodError::Rig(RigError::Io { source, .. }) => {
                Ok(Refused { op: "flush", offset: None, error: rig::error_name(&source) })
            }
            error => Err(error),
        }
    }
}

/// The result of writing blocks.
#[derive(Clone, Debug, Default)]
pub(super) struct Written {
    /// Blocks that the drive acknowledged.
    pub blocks: u64,
    /// The first failure.
    pub refused: Option<Refused>,
    /// After a failure, the numbers that were not acknowledged or not written.
    pub missing: Vec<u64>,
}

/// Access to the blocks of a test, in one of its steps.
pub(super) struct Door<'t> {
    pub layout: &'t Layout,
    pub seed: u64,
    pub step: &'static str,
}

impl Door<'_> {
    /// Writes these blocks, up to the first write or flush that fails.
    pub fn write(
        &self,
        session: &mut Session<'_>,
        numbers: impl Iterator<Item = u64>,
    ) -> Result<Written> {
        let mut batch = Written::default();
        let mut numbers = numbers.peekable();
        while numbers.peek().is_some() {
            let piece: Vec<u64> = numbers.by_ref().take(PIECE).collect();
            let fill = |number, bytes: &mut [u8]| {
                stamp::write(bytes, stamp(self.layout, number, self.seed), Stamps::default());
            };
            let mut completed = HashSet::new();
            self.carry(session, BlockWay::Write, &piece, fill, |one| {
                match &one.result {
                    Ok(()) => drop(completed.insert(one.request.tag)),
                    Err(error) => {
                        let offset = Some(one.request.offset);
                        let refused =
                            Refused { op: "write", offset, error: rig::error_name(error) };
                        batch.refused.get_or_insert(refused);
                    }
                }
                one.result.is_ok()
            })?;
            batch.blocks += completed.len() as u64;
            if batch.refused.is_none() {
                self.report(session, &piece);
                // After this flush, a power cut costs at most one piece of the fill.
                batch.refused = session.flush().err().map(Refused::flush).transpose()?;
            }
            if batch.refused.is_some() {
                let left = piece.into_iter().filter(|number| !completed.contains(number));
                batch.missing = left.chain(numbers).collect();
                return Ok(batch);
            }
        }
        Ok(batch)
    }

    /// Reads these blocks and adds their classes to a tally.
    pub fn check(
        &self,
        session: &mut Session<'_>,
        mut numbers: impl Iterator<Item = u64>,
        tally: &mut Tally,
    ) -> Result<()> {
        loop {
            let piece: Vec<u64> = numbers.by_ref().take(PIECE).collect();
            if piece.is_empty() {
                return Ok(());
            }
            self.carry(
                session,
                BlockWay::Read,
                &piece,
                |_, _| {},
                |one| {
                    let request = &one.request;
                    let class = match one.result {
                        Ok(()) => Class::from_bytes(
                            &request.bytes,
                            stamp(self.layout, request.tag, self.seed),
                        ),
                        Err(_) => Class::Unreadable,
                    };
                    tally.add(class, request.offset);
                    true
                },
            )?;
            self.report(session, &piece);
        }
    }

    /// Reports the progress of the static data.
    fn report(&self, session: &mut Session<'_>, piece: &[u64]) {
        if let Some(last) = piece.last().filter(|last| **last <= self.layout.fixed) {
            let progress = *last as f64 / self.layout.fixed as f64;
            session.progress(self.step, progress);
        }
    }

    /// Transfers blocks, several in flight, until `take` returns false. The blocks then in flight
    /// are passed to `take` as well.
    fn carry(
        &self,
        session: &mut Session<'_>,
        way: BlockWay,
        numbers: &[u64],
        fill: impl Fn(u64, &mut [u8]),
        mut take: impl FnMut(&BlockDone) -> bool,
    ) -> Result<()> {
        let depth = DEPTH.min(session.queue_depth()?) as usize;
        let (mut flight, mut spare, mut completed) = (0, Vec::new(), Vec::new());
        let (mut left, mut goes_on) = (numbers.iter(), true);
        loop {
            if goes_on
                && flight < depth
                && let Some(number) = left.next()
            {
                let mut bytes = spare.pop().unwrap_or_else(|| vec![0; BLOCK as usize]);
                fill(*number, &mut bytes);
                let offset = self.layout.offset(*number);
                session.submit(BlockRequest { tag: *number, way, offset, bytes })?;
                flight += 1;
                continue;
            }
            if flight == 0 {
                return Ok(());
            }
            session.poll(true, &mut completed)?;
            flight -= completed.len();
            for one in completed.drain(..) {
                goes_on &= take(&one);
                spare.push(one.request.bytes);
            }
        }
    }
}
