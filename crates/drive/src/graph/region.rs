//! Places on drives: a container and a range of its bytes.
//!
//! A partition is a range of its disk. A container that the kernel does not name for this user is
//! unknown: it may be any of the same size.

use crate::machine::DevNumber;

/// Tolerance when sizes are compared, bytes: loop devices have whole sectors, swap whole pages.
const SIZE_TOLERANCE: u64 = 4096;

/// A file by the kernel's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FileNumber {
    pub device: u64,
    pub inode: u64,
}

impl FileNumber {
    pub fn from_metadata(meta: &std::fs::Metadata) -> FileNumber {
        use std::os::unix::fs::MetadataExt;
        FileNumber { device: meta.dev(), inode: meta.ino() }
    }
}

/// What holds bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Container {
    /// A whole block device.
    Device(DevNumber),
    File(FileNumber),
    /// A file that could not be determined.
    UnknownFile,
    /// A file or device that could not be determined.
    Unknown,
}

impl Container {
    pub fn is_unknown(self) -> bool {
        matches!(self, Container::UnknownFile | Container::Unknown)
    }

    /// Whether both are or may be the same, going by their kind.
    fn may_be(self, other: Container) -> bool {
        match (self, other) {
            (Container::UnknownFile, other) | (other, Container::UnknownFile) => {
                !matches!(other, Container::Device(_))
            }
            (Container::Unknown, _) | (_, Container::Unknown) => true,
            _ => self == other,
        }
    }
}

/// A range of a container's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Region {
    pub container: Container,
    /// First byte.
    pub start: u64,
    /// Byte after the last.
    pub end: u64,
    /// Size of the container, bytes, if known.
    pub container_bytes: Option<u64>,
}

impl Region {
    /// All of a container with this size.
    pub fn whole(container: Container, bytes: u64) -> Region {
        Region { container, start: 0, end: bytes, container_bytes: Some(bytes) }
    }

    /// What the kernel does not tell: it may be any byte of any device.
    pub fn unknown() -> Region {
        Region { container: Container::Unknown, start: 0, end: u64::MAX, container_bytes: None }
    }

    /// Whether this is an unknown device with the size of a part of a device: a partition is a range
    /// of its disk here.
    fn may_be_part(&self, part: &Region) -> bool {
        let part_bytes = part.end.saturating_sub(part.start);
        self.container == Container::Unknown
            && matches!(part.container, Container::Device(_))
            && self.container_bytes.is_some_and(|bytes| bytes.abs_diff(part_bytes) < SIZE_TOLERANCE)
    }

    /// Whether both have bytes in common, or may have.
    pub fn overlaps(&self, other: &Region) -> bool {
        if self.may_be_part(other) || other.may_be_part(self) {
            return true;
        }
        let is_unknown = [self, other].iter().any(|region| region.container.is_unknown());
        let may_be_same = match (self.container_bytes, other.container_bytes) {
            (Some(a), Some(b)) => a.abs_diff(b) < SIZE_TOLERANCE,
            _ => true,
        };
        self.container.may_be(other.container)
            && (may_be_same || !is_unknown)
            && self.start < other.end
            && other.start < self.end
    }
}

/// How the bytes of a piece lie in the layer below.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Order {
    /// Byte follows byte.
    Linear,
    /// Any byte may be anywhere.
    Spread,
    /// In blocks of a thin pool that no other number of the pool writes.
    Thin(u64),
}

/// A range of a device and the layer below it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Piece {
    /// First byte and byte after the last, in the device.
    pub start: u64,
    pub end: u64,
    /// Where they are.
    pub lower: Region,
    pub order: Order,
}

impl Piece {
    /// Where a part of the device is in the layer below; `None` if it is not in this piece.
    pub fn below(&self, part: &Region) -> Option<Region> {
        let (start, end) = (self.start.max(part.start), self.end.min(part.end));
        if start >= end {
            return None;
        }
        if self.order != Order::Linear {
            return Some(self.lower);
        }
        let [start, end] = [start, end].map(|at| self.lower.start.saturating_add(at - self.start));
        Some(Region { start, end, ..self.lower })
    }

    /// First byte, and byte after the last, of the device that may be in a part of the layer below;
    /// `None` if none is.
    pub fn above(&self, part: &Region) -> Option<(u64, u64)> {
        if !self.lower.overlaps(part) {
            return None;
        }
        if self.order != Order::Linear || self.lower.container.is_unknown() {
            return Some((self.start, self.end));
        }
        let [start, end] = [part.start, part.end]
            .map(|at| self.start.saturating_add(at.saturating_sub(self.lower.start)));
        Some((start, end.min(self.end)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region(start: u64, end: u64) -> Region {
        let container = Container::File(FileNumber { device: 1, inode: 2 });
        Region { start, end, ..Region::whole(container, 1 << 20) }
    }

    #[test]
    fn ranges_that_only_touch_share_no_byte() {
        assert!(region(0, 512).overlaps(&region(511, 1024)));
        assert!(!region(0, 512).overlaps(&region(512, 1024)));
        let other = Container::File(FileNumber { device: 1, inode: 3 });
        assert!(!region(0, 512).overlaps(&Region { container: other, ..region(0, 512) }));
    }

    #[test]
    fn an_unknown_container_may_be_any_of_its_size() {
        let unknown = |bytes| Region::whole(Container::Unknown, bytes);
        assert!(region(0, 512).overlaps(&unknown(1 << 20)));
        assert!(!region(0, 512).overlaps(&unknown(1 << 21)));
        let sizeless = Region { container_bytes: None, ..unknown(1 << 21) };
        assert!(region(0, 512).overlaps(&sizeless));
        let device = Container::Device(crate::machine::DevNumber { major: 7, minor: 0 });
        let device = Region::whole(device, 1 << 20);
        assert!(device.overlaps(&unknown(1 << 20)));
        assert!(!device.overlaps(&Region::whole(Container::UnknownFile, 1 << 20)));
    }

    #[test]
    fn a_linear_piece_keeps_the_order_of_bytes() {
        let piece = Piece { start: 100, end: 200, lower: region(1000, 1100), order: Order::Linear };
        let below = |start, end| piece.below(&region(start, end)).map(|r| (r.start, r.end));
        assert_eq!(below(150, 400), Some((1050, 1100)));
        assert_eq!(below(0, 101), Some((1000, 1001)));
        assert_eq!([below(0, 100), below(200, 300)], [None, None]);
        let above = |start, end| piece.above(&region(start, end));
        assert_eq!(above(0, 1050), Some((100, 150)));
        assert_eq!(above(1050, 4000), Some((150, 200)));
        assert_eq!([above(0, 1000), above(1100, 1200)], [None, None]);
        let mixed = Piece { order: Order::Spread, ..piece };
        assert_eq!(mixed.below(&region(150, 151)), Some(region(1000, 1100)));
        assert_eq!(mixed.above(&region(1000, 1001)), Some((100, 200)));
    }
}
