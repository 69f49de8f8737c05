//! `--age`: a small set of the workloads of `quick`, repeated every N drive writes.
//!
//! Reads use static data; writes go to the half that was just checked and is written next. The set
//! is always the same and ends after a fixed amount, so that a plan knows its bytes. An age at
//! which the drive fails is the last and has no rates.

use record::MetricKey;
use rig::{Measurement, StopReason};
use workload::{Mix, OpKind, Pattern, Region, Workload};

use super::layout::{BLOCK, Layout};
use super::transfer::{DEPTH, Refused};
use super::{AGE_RANDOM, AGE_SEQUENTIAL, AGE_WRITTEN};
use script::{Result, Session};

/// Repeats of each workload.
const ROUNDS: u32 = 4;

/// Maximum bytes of a sequential workload, operations of a random one, and its block size.
const IN_ORDER: u64 = 64 << 20;
const RANDOM_OPS: u64 = 1024;
const SMALL: u64 = 4096;

/// The workloads: name, pattern and operation.
pub(super) const KINDS: [(&str, Pattern, OpKind); 4] = [
    ("seq-read", Pattern::Sequential, OpKind::Read),
    ("seq-write", Pattern::Sequential, OpKind::Write),
    ("rand-read", Pattern::Uniform, OpKind::Read),
    ("rand-write", Pattern::Uniform, OpKind::Write),
];

/// The rates at one age.
struct Age {
    /// Drive writes so far, rounded down.
    writes: u64,
    /// Rates of each of [`KINDS`].
    rates: [Vec<f64>; KINDS.len()],
}

/// The rates at all ages so far.
#[derive(Default)]
pub(super) struct Ages {
    all: Vec<Age>,
    /// Bytes written by these measurements.
    pub written: u64,
}

/// The key of the rates of a kind.
pub(super) fn key(kind: &str) -> MetricKey {
    MetricKey::of_words(&[&"wear-age", &kind])
}

impl Ages {
    /// Measures before write number `next`, if this is the first age or `every` more drive writes
    /// are complete. Returns the error at which the drive failed, if any.
    pub fn measure(
        &mut self,
        session: &mut Session<'_>,
        layout: &Layout,
        next: u64,
        every: Option<u64>,
    ) -> Result<Option<Refused>> {
        let due = self.due_after(layout, every).filter(|written| next > *written);
        let Some(pass) = due.and(layout.pass(next)) else { return Ok(None) };
        let writes = (next - 1) / layout.blocks;
        let mut rates: [Vec<f64>; KINDS.len()] = Default::default();
        let age = self.all.len() as u32;
        for round in 0..ROUNDS {
            for (rates, kind) in rates.iter_mut().zip(KINDS) {
                let (in_order, op) = (kind.1 == Pattern::Sequential, kind.2);
                let w = workload(layout, pass, kind, age * ROUNDS + round);
                let m = session.attempt(&w, age * ROUNDS + round)?;
                self.written += m.kind(OpKind::Write).map_or(0, |moved| moved.bytes);
                if m.stop == StopReason::Errors {
                    return Ok(Some(refused(op, &m)));
                }
                let m = session.completed(m)?;
                rates.extend(if in_order { m.throughput(Some(op)) } else { m.iops(Some(op)) });
            }
        }
        self.all.push(Age { writes, rates });
        Ok(None)
    }

    /// The number of writes after which the next age is measured, if any is requested.
    pub fn due_after(&self, layout: &Layout, every: Option<u64>) -> Option<u64> {
        let every = every?;
        match self.all.last() {
            None => Some(0),
            Some(last) => (last.writes / every + 1).checked_mul(every * layout.blocks),
        }
    }

    /// Publishes the rates of every age, and the ratio of the last to the first.
    pub fn publish(&self, session: &mut Session<'_>) {
        let bytes = Some(self.written as f64).filter(|bytes| *bytes > 0.0);
        session.put(AGE_WRITTEN, bytes);
        for (index, (kind, pattern, op)) in KINDS.into_iter().enumerate() {
            let family = if pattern == Pattern::Sequential { AGE_SEQUENTIAL } else { AGE_RANDOM };
            for age in &self.all {
                let (key, rates) = (family.member(&[&op.name(), &age.writes]), &age.rates[index]);
                session.put_metric(analysis::metric(key, family.unit, rates.clone()));
            }
            if let [first, .., last] = &self.all[..] {
                session.put_ratio(key(kind), &first.rates[index], &last.rates[index]);
            }
        }
    }
}

/// The first error of a measurement that the drive ended.
fn refused(op: OpKind, m: &Measurement) -> Refused {
    let first = m.errors.first();
    Refused {
        op: op.name(),
        offset: first.and_then(|error| error.first_offsets.first().copied()),
        error: first.map_or("I/O errors".into(), |error| error.kind.clone()),
    }
}

fn workload(
    layout: &Layout,
    pass: u64,
    (name, pattern, op): (&str, Pattern, OpKind),
    replicate: u32,
) -> Workload {
    let fixed = layout.fixed_region();
    let region = match (op, &pattern) {
        (OpKind::Write, _) => layout.region(pass),
        (_, Pattern::Sequential) => Region::first(fixed.bytes.min(IN_ORDER) / BLOCK * BLOCK),
        _ => fixed,
    };
    let in_order = pattern == Pattern::Sequential;
    let (block, depth) = if in_order { (BLOCK, DEPTH) } else { (SMALL, 1) };
    let mut w = Workload::new(key(name), pattern, Mix::from_kind(op), block as u32, region);
    (w.depth, w.seed) = (depth, u64::from(replicate) + 1);
    let most = if in_order { region.bytes } else { (RANDOM_OPS * SMALL).min(region.bytes / 2) };
    w.stop.bytes = Some(most);
    w.flush_at_end = op == OpKind::Write;
    w
}
