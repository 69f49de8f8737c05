//! Waiting for a drive to cool. Its reads are not reported.

use workload::{Mix, Pattern, Region, Stop, Workload};

use super::Session;
use crate::Result;

/// Seconds between two temperature readings.
const PAUSE_S: f64 = 15.0;

impl Session<'_> {
    /// Rests until the drive has cooled to `celsius`, or for `most_s` seconds, and returns the last
    /// temperature. After each pause, the read of one block samples the sensor. Without a sensor,
    /// it returns `None` after one pause.
    pub fn cool(&mut self, celsius: f64, most_s: f64) -> Result<Option<f64>> {
        if self.plans() {
            self.rest("cool", most_s)?;
            return Ok(None);
        }
        self.step("cool", 0);
        let mut left = most_s;
        loop {
            let pause = PAUSE_S.min(left);
            self.idle(std::time::Duration::from_secs_f64(pause))?;
            left -= pause;
            let temperature = self.temperature()?;
            if left <= 0.0 || temperature.is_none_or(|temperature| temperature <= celsius) {
                return Ok(temperature);
            }
        }
    }

    fn temperature(&mut self) -> Result<Option<f64>> {
        let block = self.target().logical_block_bytes.max(4096);
        let region = Region::first(u64::from(block));
        let mut look = Workload::new("look", Pattern::Sequential, Mix::READ, block, region);
        look.stop = Stop { ops: Some(1), ..look.stop };
        let m = self.rig().measure(&look)?;
        Ok(m.temperature.map(|t| t.end_c))
    }
}
