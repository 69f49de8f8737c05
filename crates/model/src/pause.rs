//! Pauses: after so much written data, a small controller saves its map or moves data to a new block, and
//! serves no command meanwhile. They are the slowest writes of cards.

use crate::firmware::Cores;
use crate::media::ns;
use crate::pause_spec::PauseSpec;
use crate::vary::Vary;

#[derive(Debug)]
struct PauseState {
    interval: u64,
    ns: u64,
    /// Written bytes at which the next one is due.
    due: u64,
}

/// The pauses of a drive.
#[derive(Debug)]
pub(crate) struct Pauses {
    kinds: Vec<PauseState>,
    written: u64,
    /// Written bytes at which the next one of any kind is due.
    due: u64,
}

impl Pauses {
    pub fn new(specs: &[PauseSpec]) -> Pauses {
        let kinds = specs.iter().map(|spec| {
            let interval = spec.every.0.max(1);
            PauseState { interval, ns: ns(*spec.ms * 1e3), due: interval }
        });
        let mut pauses = Pauses { kinds: kinds.collect(), written: 0, due: 0 };
        pauses.due = pauses.next();
        pauses
    }

    fn next(&self) -> u64 {
        self.kinds.iter().map(|kind| kind.due).min().unwrap_or(u64::MAX)
    }

    /// Counts written bytes, and stops the cores if a pause is due. Returns the end of the write, which
    /// would be `end` without pauses.
    #[inline]
    pub fn pass(&mut self, bytes: u64, end: u64, vary: &mut Vary, cores: &mut Cores) -> u64 {
        if !self.count(bytes) {
            return end;
        }
        let end = end + self.take(vary);
        cores.stop(end);
        end
    }

    /// Counts written bytes. Returns whether a pause is due.
    #[inline]
    fn count(&mut self, bytes: u64) -> bool {
        self.written += bytes;
        self.written >= self.due
    }

    /// Time of the pauses that are due, nanoseconds; with variation, they differ in length.
    #[cold]
    fn take(&mut self, vary: &mut Vary) -> u64 {
        let mut time = 0;
        for kind in &mut self.kinds {
            while kind.due <= self.written {
                kind.due += kind.interval;
                time += vary.pause(kind.ns);
            }
        }
        self.due = self.next();
        time
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DriveSpec;

    #[test]
    fn each_kind_of_pause_has_its_own_interval() {
        let text = "[[pause]]\nevery = 8192\nms = 1\n[[pause]]\nevery = 12288\nms = 10\n";
        let spec = DriveSpec::parse("x.toml", text).expect("well formed");
        let (mut pauses, mut vary) = (Pauses::new(&spec.pause), Vary::new(&spec, 1));
        let mut after = |bytes| if pauses.count(bytes) { pauses.take(&mut vary) } else { 0 };
        let times = [4096; 6].map(&mut after).map(|ns| ns / 1_000_000);
        assert_eq!(times, [0, 1, 10, 1, 0, 11]);
        assert_eq!(after(24576) / 1_000_000, 23, "a write that passes several");
        assert!(!Pauses::new(&[]).count(u64::MAX - 1));
    }
}
