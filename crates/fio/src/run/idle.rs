//! How idle the processors were during the jobs (`--idle-prof`), from the kernel's counters. fio runs
//! a thread of lowest priority on each processor instead, which changes what it measures.

use crate::Plan;

/// The kernel's counters, in ticks.
const STAT: &str = "/proc/stat";

/// Ticks of one processor since the machine started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Ticks {
    idle: u64,
    total: u64,
}

/// The counters of all processors, in order of their numbers.
#[derive(Debug)]
pub(super) struct Processors(Vec<Ticks>);

impl Processors {
    /// Reads the counters, if the plan asks how idle the processors are and the system has them.
    pub(super) fn read(plan: &Plan) -> Option<Processors> {
        plan.globals.idle_profile?;
        std::fs::read_to_string(STAT).ok().map(|text| Processors::parse(&text))
    }

    fn parse(text: &str) -> Processors {
        let lines = text.lines().filter_map(|line| line.strip_prefix("cpu"));
        // The first line, without a number, is the sum.
        let lines = lines.filter(|line| line.starts_with(|c: char| c.is_ascii_digit()));
        Processors(lines.map(ticks).collect())
    }

    /// Percentage of the time since then in which each processor was idle.
    pub(super) fn idle_since(&self, before: &Processors) -> Vec<f64> {
        let pairs = self.0.iter().zip(&before.0);
        let percents = pairs.map(|(now, then)| {
            let [idle, total] = [(now.idle, then.idle), (now.total, then.total)]
                .map(|(now, then)| now.saturating_sub(then));
            (idle as f64 * 100.0 / total.max(1) as f64).min(100.0)
        });
        percents.collect()
    }
}

/// The counters in a line: user, nice, system, idle, waiting for I/O, and others.
fn ticks(line: &str) -> Ticks {
    let fields: Vec<u64> =
        line.split_whitespace().skip(1).map(|field| field.parse().unwrap_or(0)).collect();
    let idle = fields.iter().skip(3).take(2).sum();
    // Time of guests, the last two, is in that of users as well.
    Ticks { idle, total: fields.iter().take(8).sum() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_time_includes_the_wait_for_io() {
        let text = |idle, io| {
            format!("cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 10 0 10 {idle} {io} 0 0 0 5 5\nintr 1\n")
        };
        let [before, after] = [text(100, 0), text(140, 35)].map(|text| Processors::parse(&text));
        assert_eq!(after.idle_since(&before), [100.0]);
        let busy = Processors::parse("cpu0 85 0 10 125 0 0 0 0 0 0");
        assert_eq!(busy.idle_since(&before), [25.0]);
        assert_eq!(before.idle_since(&before), [0.0]);
    }
}
