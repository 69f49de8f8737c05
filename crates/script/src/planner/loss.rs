//! The effect of the recorded operations: the region touched, the safety class, and the data lost.

use record::{Safety, TargetKind};
use rig::TargetInfo;
use workload::units::binary;
use workload::{Region, Workload};

/// A region that ends less than this before the end of the drive counts as the whole drive, bytes.
const ROUNDING: u64 = 1 << 20;

/// The regions touched, by operation.
#[derive(Debug, Default)]
pub(super) struct Touched {
    /// Regions read or written: disjoint, ascending.
    all: Vec<Region>,
    /// Regions overwritten or discarded.
    changed: Vec<Region>,
    /// Borrowed blocks; their content is restored.
    borrowed: Vec<Region>,
    /// All or part of the drive is discarded, formatted or erased.
    erased: bool,
    /// Free space trimmed in a file system, bytes.
    trimmed: Option<u64>,
    /// A user's program runs.
    commanded: bool,
}

impl Touched {
    pub fn workload(&mut self, w: &Workload) {
        join(&mut self.all, w.region);
        if w.mix.changes_data() && !super::gives_back(w) {
            join(&mut self.changed, w.region);
        }
    }

    pub fn read(&mut self, region: Region) {
        join(&mut self.all, region);
    }

    pub fn write(&mut self, region: Region) {
        join(&mut self.all, region);
        join(&mut self.changed, region);
    }

    pub fn give_back(&mut self, region: Region) {
        self.write(region);
        self.erased = true;
    }

    pub fn erase(&mut self, region: Region) {
        self.give_back(region);
    }

    pub fn borrow(&mut self, region: Region) {
        join(&mut self.all, region);
        join(&mut self.borrowed, region);
    }

    /// Whether all of a region is borrowed.
    pub fn is_borrowed(&self, region: Region) -> bool {
        contains(&self.borrowed, region)
    }

    pub fn borrowed_bytes(&self) -> u64 {
        bytes(&self.borrowed)
    }

    pub fn trim_free(&mut self, free_bytes: u64) {
        self.trimmed = Some(free_bytes);
    }

    pub fn command(&mut self) {
        self.commanded = true;
    }

    /// Bytes touched.
    pub fn bytes(&self) -> u64 {
        self.trimmed.unwrap_or_else(|| bytes(&self.all))
    }

    /// The most destructive action on the drive.
    pub fn safety(&self, target: &TargetInfo) -> Safety {
        let users = target.is_user_data();
        let changes = !self.changed.is_empty();
        let borrows = !self.borrowed.is_empty();
        // A virtual drive has no user data, but erasing it still counts as destructive.
        let erases = target.target.kind == TargetKind::Virtual && self.erased;
        if users && changes || erases {
            Safety::Destroys
        } else if users && borrows {
            Safety::Borrows
        } else if changes || borrows || self.commanded || self.trimmed.is_some() {
            Safety::Scratch
        } else {
            Safety::Reads
        }
    }

    /// Describes the data that would be lost.
    pub fn destroys(&self, target: &TargetInfo) -> Option<String> {
        if self.safety(target) != Safety::Destroys {
            return None;
        }
        let (spec, lost_bytes) = (&target.target.spec, bytes(&self.changed));
        Some(match &self.changed[..] {
            [Region { start: 0, .. }] if lost_bytes + ROUNDING > target.bytes => {
                format!("everything on {spec}")
            }
            [Region { start: 0, .. }] => format!("the first {} of {spec}", binary(lost_bytes)),
            _ => format!("{} of {spec}", binary(lost_bytes)),
        })
    }
}

/// Bytes of a union of regions.
pub(super) fn bytes(regions: &[Region]) -> u64 {
    regions.iter().map(|r| r.bytes).sum()
}

/// Whether a union of regions, disjoint and ascending, contains a region.
fn contains(regions: &[Region], region: Region) -> bool {
    let index = regions.partition_point(|r| r.end() < region.end());
    regions.get(index).is_some_and(|r| r.start <= region.start)
}

/// Adds a region to a union of regions, disjoint and ascending.
pub(super) fn join(regions: &mut Vec<Region>, new: Region) {
    if new.bytes == 0 || contains(regions, new) {
        return;
    }
    let first = regions.partition_point(|r| r.end() < new.start);
    let last = regions.partition_point(|r| r.start <= new.end());
    let touching = &regions[first..last];
    let start = touching.first().map_or(new.start, |r| r.start.min(new.start));
    let end = touching.last().map_or(new.end(), |r| r.end().max(new.end()));
    regions.splice(first..last, [Region { start, bytes: end - start }]);
}

/// Removes a region from a union of regions, disjoint and ascending.
pub(super) fn remove(regions: &mut Vec<Region>, gone: Region) {
    let remains = regions.iter().flat_map(|region| {
        let low = span(region.start, region.end().min(gone.start.max(region.start)));
        let high = span(region.start.max(gone.end().min(region.end())), region.end());
        [low, high]
    });
    *regions = remains.filter(|region| region.bytes > 0).collect();
}

fn span(start: u64, end: u64) -> Region {
    Region { start, bytes: end.saturating_sub(start) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_that_touch_are_one() {
        let mut all = Vec::new();
        for (start, bytes) in [(10, 10), (40, 10), (0, 5), (45, 15), (20, 20), (12, 3)] {
            join(&mut all, Region { start, bytes });
        }
        assert_eq!(all, [Region { start: 0, bytes: 5 }, Region { start: 10, bytes: 50 }]);
        let holds = |start, bytes| contains(&all, Region { start, bytes });
        assert!(holds(0, 5) && holds(10, 50) && holds(59, 1) && holds(12, 40));
        assert!(!holds(0, 6) && !holds(4, 7) && !holds(9, 2) && !holds(59, 2) && !holds(60, 1));
        join(&mut all, Region { start: 5, bytes: 5 });
        assert_eq!(all, [Region { start: 0, bytes: 60 }]);
        remove(&mut all, Region { start: 70, bytes: 5 });
        remove(&mut all, Region { start: 20, bytes: 10 });
        assert_eq!(all, [Region { start: 0, bytes: 20 }, Region { start: 30, bytes: 30 }]);
        remove(&mut all, Region { start: 15, bytes: 100 });
        assert_eq!(all, [Region { start: 0, bytes: 15 }]);
    }
}
