//! A method at work: every measurement goes through here, so that none is lost and every doubt
//! about it is kept, and the conclusions always are those of what was measured so far.

use std::time::Duration;

use record::{Finding, FindingKind, Level, State, TargetKind, Unit};
use rig::{Event, Measurement, Preparation, Rig, RigError, StopReason};
use workload::units::binary;
use workload::{Caching, Content, Region, Workload};

use crate::ground::Ground;
use crate::verdict::{self, Checks};
use crate::{Digest, MethodError, Outcome};

/// A scratch file is filled in this many pieces, each timed: a slow card gets a smaller one.
const FILL_PIECES: u64 = 64;

/// What the fill leaves at least, whatever the time: small enough for a card that writes 1 MB/s.
const FILL_LEAST_BYTES: u64 = 32 << 20;

pub(crate) struct Session<'a, 'h> {
    pub rig: &'a mut dyn Rig,
    pub out: &'a mut Outcome<'h>,
    /// What the checks of `authentic` found so far.
    pub checks: Checks,
    /// Whole regions written so far: no two with the same content.
    pub fills: u32,
    /// Courses of short workloads, a row each.
    pub moments: Vec<record::Series>,
    digests: Vec<Digest>,
}

impl<'a, 'h> Session<'a, 'h> {
    /// Holds a session: however the work ends, what it found is published.
    pub fn hold(
        rig: &'a mut dyn Rig,
        out: &'a mut Outcome<'h>,
        work: impl FnOnce(&mut Session<'a, 'h>) -> Result<(), MethodError>,
    ) -> Result<(), MethodError> {
        let mut session = Session::new(rig, out);
        let result = work(&mut session);
        session.finish();
        result
    }

    fn new(rig: &'a mut dyn Rig, out: &'a mut Outcome<'h>) -> Session<'a, 'h> {
        out.state_after = rig.target().state;
        Session {
            rig,
            out,
            checks: Checks::default(),
            fills: 0,
            moments: Vec::new(),
            digests: Vec::new(),
        }
    }

    /// Runs a workload whose figures are reported: its course over time is kept, and every doubt.
    pub fn measure(&mut self, w: &Workload, replicate: u32) -> Result<Measurement, MethodError> {
        let mut measurement = self.execute(w, replicate)?;
        let series = std::mem::take(&mut measurement.series);
        if !series.t_ns.is_empty() {
            self.out.series.push(record::Series { replicate, ..series });
        }
        self.out.keep_doubts(&w.name, &measurement);
        complete(self.rig, measurement)
    }

    /// Runs a workload from which only a rule concludes. It is short, and a rule is wary of scatter
    /// anyway: only what makes it worthless is listed, and nothing where caching is the purpose.
    pub fn probe(&mut self, w: &Workload, replicate: u32) -> Result<Measurement, MethodError> {
        let mut measurement = self.execute(w, replicate)?;
        let listed = |f: &Finding| f.level == Level::Bad && w.caching == Caching::Bypass;
        measurement.findings.retain(listed);
        self.out.keep_doubts(&w.name, &measurement);
        complete(self.rig, measurement)
    }

    /// Runs one replicate of a workload and returns its bytes per second.
    pub fn rate(&mut self, w: &Workload, replicate: u32) -> Result<f64, MethodError> {
        let m = self.probe(&Ground::replicate(w, replicate), replicate)?;
        Ok(m.throughput(None).unwrap_or(0.0))
    }

    /// Publishes the rates of all replicates so far, bytes per second.
    pub fn put_rates(&mut self, name: &str, rates: &[f64]) {
        self.out.put_metric(analysis::metric(name, Unit::BytesPerSecond, rates.to_vec()));
    }

    /// Runs a workload and keeps what the rules need of it, complete or not.
    pub fn execute(&mut self, w: &Workload, replicate: u32) -> Result<Measurement, MethodError> {
        self.rig.note(Event::Step { name: w.name.clone(), replicate });
        self.out.issued(w);
        self.mark_written(w.mix.changes_data() && w.content != Content::Original);
        let measurement = self.rig.measure(w)?;
        // What is read through the cache on purpose says nothing about the rest.
        if w.caching == Caching::Bypass {
            self.digests.push(Digest::of(w, &measurement));
        }
        Ok(measurement)
    }

    /// A scratch file says nothing about the state of the drive around it.
    fn mark_written(&mut self, writes: bool) {
        if writes && self.rig.target().target.kind != TargetKind::Directory {
            self.out.state_after = State::Used;
        }
    }

    /// Brings the target to where reads can be measured; returns the bytes of the region. Where
    /// writes are not allowed that is all of it, as it is.
    pub fn begin(&mut self, ground: &Ground, fill_seconds: f64) -> Result<u64, MethodError> {
        if ground.writes {
            return self.fill(ground, fill_seconds);
        }
        let text = "this target may only be read: writes, flushes and content were not measured";
        self.out.note(Finding::new(FindingKind::ReadsOnly, Level::Note, text));
        Ok(ground.bytes)
    }

    /// Writes the region once, so that no block is read that was never written; on a drive too slow
    /// for `seconds` only a part of it, which becomes the region.
    fn fill(&mut self, ground: &Ground, seconds: f64) -> Result<u64, MethodError> {
        self.rig.note(Event::Step { name: "fill".into(), replicate: 0 });
        let large = u64::from(ground.large);
        let piece = (ground.bytes / FILL_PIECES).max(large) / large * large;
        let (mut filled, mut elapsed_ns) = (0, 0);
        while filled < ground.bytes {
            let late = elapsed_ns as f64 / 1e9 > seconds && filled >= FILL_LEAST_BYTES;
            if late && !ground.size_given {
                self.out.note(cut_short(filled, ground.bytes));
                break;
            }
            let region = Region { start: filled, bytes: piece.min(ground.bytes - filled) };
            let seed = ground.seed.wrapping_sub(1 + filled);
            let fill = Preparation::Fill { region, content: Content::Random, seed };
            self.mark_written(true);
            elapsed_ns += self.rig.prepare(fill)?.elapsed_ns;
            filled = region.end();
            let done = filled as f64 / ground.bytes as f64;
            self.rig.note(Event::Progress { name: "fill".into(), done });
        }
        Ok(filled)
    }

    /// A step is done: draws the conclusions there are and shows them.
    pub fn checkpoint(&mut self) {
        self.out.verdicts = verdict::judge(self.rig.target(), &self.digests, &self.checks);
        self.out.checkpoint();
    }
}

/// What was cut short is no sample. Who ended it, the user or the drive's heat, is what the rig
/// says to the next call.
pub(crate) fn complete(rig: &mut dyn Rig, m: Measurement) -> Result<Measurement, MethodError> {
    match m.stop {
        StopReason::Interrupted => {
            rig.idle(Duration::from_nanos(1))?;
            Err(RigError::Interrupted.into())
        }
        StopReason::Errors => Err(MethodError::Errors { workload: m.name }),
        StopReason::Time | StopReason::Amount | StopReason::TraceEnd => Ok(m),
    }
}

fn cut_short(filled: u64, wanted: u64) -> Finding {
    let (filled, wanted) = (binary(filled), binary(wanted));
    let text = format!("there was time to fill {filled} only, not {wanted}: that is what was used");
    let advice = format!("--size {} works on all of it", wanted.replace(' ', ""));
    Finding::new(FindingKind::RegionCut, Level::Note, text).advise(advice)
}
