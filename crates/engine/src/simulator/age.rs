//! The state in which a virtual drive begins. Fresh by default; `?state=used` in its name ages it
//! before the run, because a virtual drive forgets what earlier runs wrote.
//!
//! The work is that of `ssdyno prepare`, but nothing of it is recorded, and the ageing is one pass
//! rather than rounds until the rate is steady. The drive rests afterwards.

use std::mem;
use std::time::Duration;

use record::State;
use rig::{Event, Result, Rig};
use workload::{Content, Mix, Pattern, Region, Stop, Workload};

use super::Simulator;
use crate::prepare::Prepare;

/// Writes of the ageing, at most; larger drives are aged in larger blocks, so that 1 TB takes
/// seconds. Arbitrary.
const WRITES_MAX: u64 = 4 << 20;

/// Smallest block of the ageing, bytes.
const BLOCK_MIN: u64 = 4096;

/// Operations in flight.
const DEPTH: u32 = 32;

/// Rest after the ageing, in which caches are emptied and the drive cools.
const REST: Duration = Duration::from_secs(3600);

impl Simulator {
    /// Brings a new drive into a state, without a trace in the record except in its health.
    pub fn age(&mut self, to: State) -> Result<()> {
        if matches!(to, State::Fresh | State::Unknown | State::Other(_)) {
            return Ok(());
        }
        let observer = mem::replace(&mut self.observer, Box::new(|_: &Event| {}));
        let aged = self.aged(to);
        self.observer = observer;
        self.replicates.clear();
        aged
    }

    fn aged(&mut self, to: State) -> Result<()> {
        let region = Region::first(self.info.bytes);
        self.fill(region, Content::Random, 1)?;
        if matches!(to, State::Used | State::Trimmed) {
            let block = (region.bytes / WRITES_MAX).next_power_of_two().max(BLOCK_MIN);
            let stop = Stop { bytes: Some(region.bytes / block * block), ..Stop::default() };
            let random = Workload::new("age", Pattern::Uniform, Mix::WRITE, block as u32, region);
            self.run_admitted(&Workload { depth: DEPTH, batch: DEPTH, stop, ..random })?;
        }
        if to == State::Trimmed {
            self.discard(region)?;
        }
        self.info.state = to;
        self.idle(REST)
    }
}
