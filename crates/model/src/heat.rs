//! Temperature and thermal throttling: one thermal mass, heated by the drive's power and cooled by
//! the ambient air.
//!
//! The temperature approaches its final value exponentially. This is exact for constant power, so
//! an idle period of any length takes one step. Under load, the temperature is updated every 50 ms
//! of virtual time. A throttle step limits the rate of host data, of writes possibly more than of
//! reads, until the drive cools below the step's lower threshold.

use crate::link::Way;
use crate::media::Traffic;
use crate::spec::{HeatSpec, ThrottleSpec};

const UPDATE_NS: u64 = 50_000_000;

#[derive(Clone, Copy, Debug)]
struct Throttle {
    above_c: f64,
    below_c: f64,
    /// Time of written and of read data, by [`Way`].
    ns_per_kib: [f64; 2],
}

/// Temperature of a drive.
#[derive(Debug)]
pub struct Heat {
    ambient_c: f64,
    idle_w: f64,
    joules_per_byte: [f64; 2],
    c_per_w: f64,
    time_constant_ns: f64,
    /// In ascending order of the temperatures at which they start.
    steps: Vec<Throttle>,
    now_c: f64,
    updated: u64,
    seen: Traffic,
    active: Option<usize>,
    free: u64,
}

impl Heat {
    /// Starts at the drive's idle temperature.
    pub fn new(spec: &HeatSpec) -> Heat {
        let bare = *spec.bare_c_per_w;
        let c_per_w = if *spec.cooled { *spec.cooled_c_per_w } else { bare };
        let steps = spec.throttle.iter().map(|s| Throttle {
            above_c: *s.above_c,
            below_c: *s.below_c,
            ns_per_kib: [s.write_limit_mb_s(), *s.limit_mb_s]
                .map(|mb_s| 1024.0 * 1e3 / mb_s.max(1e-3)),
        });
        let mut steps: Vec<Throttle> = steps.collect();
        steps.sort_by(|a, b| a.above_c.total_cmp(&b.above_c));
        Heat {
            ambient_c: *spec.ambient_c,
            idle_w: *spec.idle_w,
            joules_per_byte: [*spec.program_w / 1e9, *spec.read_w / 1e9],
            c_per_w,
            time_constant_ns: *spec.bare_s * 1e9 * (c_per_w / bare.max(1e-9)),
            steps,
            now_c: *spec.ambient_c + *spec.idle_w * c_per_w,
            updated: 0,
            seen: Traffic::default(),
            active: None,
            free: 0,
        }
    }

    /// Temperature at the last update, degrees Celsius.
    pub fn celsius(&self) -> f64 {
        self.now_c
    }

    /// Updates the state if 50 ms have passed since the last update. `traffic` is the total flash
    /// traffic so far.
    #[inline]
    pub fn pass(&mut self, now: u64, traffic: Traffic) {
        if now >= self.updated + UPDATE_NS {
            self.update(now, traffic);
        }
    }

    /// Updates the temperature and the active throttle step.
    pub fn update(&mut self, now: u64, traffic: Traffic) {
        let time = now.saturating_sub(self.updated) as f64;
        if time == 0.0 {
            return;
        }
        let joules = self
            .joules(traffic.programmed - self.seen.programmed, traffic.sensed - self.seen.sensed);
        self.approach(joules, time);
        self.updated = now;
        self.seen = traffic;
        self.choose_step();
    }

    /// Lets `time` nanoseconds with this energy of reads and programs pass.
    fn approach(&mut self, joules: f64, time: f64) {
        let watts = self.idle_w + joules / (time / 1e9);
        let end = self.ambient_c + watts * self.c_per_w;
        self.now_c = end + (self.now_c - end) * libm::exp(-time / self.time_constant_ns);
    }

    /// Skips `ns` in which `added` was programmed and read; `traffic` is the total since. Returns
    /// whether the throttle step stays the same.
    pub fn leap(&mut self, ns: u64, added: Traffic, traffic: Traffic) -> bool {
        self.approach(self.joules(added.programmed, added.sensed), ns as f64);
        self.seen = traffic;
        let before = self.active;
        self.choose_step();
        self.active == before
    }

    fn joules(&self, programmed: u64, sensed: u64) -> f64 {
        programmed as f64 * self.joules_per_byte[0] + sensed as f64 * self.joules_per_byte[1]
    }

    /// Enters or leaves throttle steps by the temperature.
    fn choose_step(&mut self) {
        // All steps up to the active one have been reached, and each ends at its own temperature.
        let stays = self
            .active
            .and_then(|active| (0..=active).rev().find(|i| self.now_c >= self.steps[*i].below_c));
        let step = (0..self.steps.len()).rev().find(|&i| self.now_c >= self.steps[i].above_c);
        self.active = step.max(stays);
    }

    /// Schedules a host transfer that is ready at `at` and returns its start time.
    #[inline]
    pub fn allow(&mut self, way: Way, at: u64, bytes: u64) -> u64 {
        let Some(step) = self.active else { return at };
        let begin = at.max(self.free);
        self.free =
            begin + (bytes as f64 / 1024.0 * self.steps[step].ns_per_kib[way as usize]) as u64;
        begin
    }
}

impl ThrottleSpec {
    fn write_limit_mb_s(&self) -> f64 {
        if *self.write_mb_s > 0.0 { *self.write_mb_s } else { *self.limit_mb_s }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DriveSpec;

    #[test]
    fn each_throttle_step_ends_at_its_own_temperature() {
        let step = |above: u32, below: u32, limit: u32| {
            format!(
                "[[heat.throttle]]\nabove_c = {above}\nbelow_c = {below}\nlimit_mb_s = {limit}\n"
            )
        };
        for steps in
            [[step(75, 65, 400), step(80, 70, 100)], [step(80, 70, 100), step(75, 65, 400)]]
        {
            let spec = DriveSpec::parse("x.toml", &steps.concat()).expect("well formed");
            let mut heat = Heat::new(&spec.heat);
            let mut limit = |celsius: f64| {
                // Without power, the drive takes the temperature of the air.
                (heat.idle_w, heat.ambient_c) = (0.0, celsius);
                heat.update(heat.updated + 1_000_000_000_000_000, Traffic::default());
                heat.active.map(|i| (1024.0 * 1e3 / heat.steps[i].ns_per_kib[0]).round())
            };
            let limits = [74.0, 76.0, 81.0, 71.0, 69.0, 64.0, 69.0].map(&mut limit);
            let expected = [0.0, 400.0, 100.0, 100.0, 400.0, 0.0, 0.0];
            assert_eq!(limits.map(|limit| limit.unwrap_or(0.0)), expected);
        }
    }
}
