//! The layout of a queue's rings and lists in its memory.
//!
//! ```text
//! base ─► submission ring │ completion ring │ PRP lists, one for each tracker │ data: the caller's
//! ```

use crate::command::BLOCKS_MAX;
use crate::error::Error;
use crate::host::PAGE_BYTES;
use crate::prp;
use crate::tracker::TRACKERS_MAX;

/// Requirements of a queue's user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueParameters {
    /// Maximum requests in flight.
    pub slots: usize,
    /// Bytes of the largest request.
    pub request_bytes: usize,
    /// Offset of the queue in its memory, a multiple of 4 KiB.
    pub base: usize,
    /// Time until a command is aborted, and again until the controller is reset; ns.
    pub timeout_ns: u64,
}

/// The layout of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueLayout {
    pub(crate) slots: usize,
    pub(crate) request_bytes: usize,
    /// Maximum bytes of one command: larger requests are split.
    pub(crate) command_bytes: usize,
    /// Commands, and therefore trackers, per request.
    pub(crate) pieces: usize,
    pub(crate) sq_entries: u32,
    pub(crate) cq_entries: u32,
    pub(crate) sq_at: usize,
    pub(crate) cq_at: usize,
    pub(crate) lists_at: usize,
    pub(crate) list_pages: usize,
    /// See [`QueueLayout::end`].
    pub(crate) end: usize,
    pub(crate) timeout_ns: u64,
}

impl QueueLayout {
    /// Lays out a queue for a controller with at most `entries_max` entries per ring and
    /// `transfer_max` bytes per transfer (`None`: no limit).
    pub fn new(
        shape: &QueueParameters,
        entries_max: u32,
        transfer_max: Option<usize>,
    ) -> Result<QueueLayout, Error> {
        let request_bytes = shape.request_bytes.max(1).next_multiple_of(PAGE_BYTES);
        // A command thus never has too many blocks, whatever their size.
        let addressed = BLOCKS_MAX as usize * 512;
        let command_bytes = transfer_max.unwrap_or(usize::MAX).min(addressed).min(request_bytes);
        let pieces = request_bytes.div_ceil(command_bytes);
        let trackers = shape.slots.max(1).saturating_mul(pieces);
        if trackers > TRACKERS_MAX {
            return Err(Error::Trackers { needed: trackers, there: TRACKERS_MAX });
        }
        let largest = 1 << entries_max.clamp(2, 1 << 16).ilog2();
        let ring = |wanted: usize| (wanted.next_power_of_two() as u32).min(largest).max(2);
        // A full ring holds one entry less than its size. The completion ring is larger, so that
        // one doorbell write serves many completions.
        let (sq_entries, cq_entries) = (ring(trackers + 1), ring(4 * trackers));
        let list_pages = prp::list_pages(command_bytes / PAGE_BYTES);
        let sq_at = shape.base;
        let cq_at = sq_at + (64 * sq_entries as usize).next_multiple_of(PAGE_BYTES);
        let lists_at = cq_at + (16 * cq_entries as usize).next_multiple_of(PAGE_BYTES);
        Ok(QueueLayout {
            slots: shape.slots.max(1),
            request_bytes,
            command_bytes,
            pieces,
            sq_entries,
            cq_entries,
            sq_at,
            cq_at,
            lists_at,
            list_pages,
            end: lists_at + trackers * list_pages * PAGE_BYTES,
            timeout_ns: shape.timeout_ns.max(4),
        })
    }

    /// Exclusive end of the rings and lists; the caller's data begin here.
    pub fn end(&self) -> usize {
        self.end
    }

    /// Exclusive end of the rings. Only they must be contiguous on the bus.
    pub fn rings_end(&self) -> usize {
        self.lists_at
    }

    /// Trackers the queue needs.
    pub fn trackers(&self) -> usize {
        self.slots * self.pieces
    }

    /// Offset of a tracker's PRP list.
    #[inline(always)]
    pub(crate) fn list(&self, tracker: usize) -> usize {
        self.lists_at + tracker * self.list_pages * PAGE_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: QueueParameters = QueueParameters {
        slots: 16,
        request_bytes: 1 << 20,
        base: 4096,
        timeout_ns: 1_000_000_000,
    };

    #[test]
    fn a_request_beyond_the_transfer_limit_has_several_trackers() {
        let layout = QueueLayout::new(&SHAPE, 1024, Some(128 << 10)).expect("fits");
        assert_eq!((layout.pieces, layout.trackers()), (8, 128));
        assert_eq!((layout.sq_entries, layout.cq_entries), (256, 512));
        assert_eq!(layout.end, 4096 + 256 * 64 + 512 * 16 + 128 * 4096);
    }

    #[test]
    fn rings_respect_the_limit_of_the_controller() {
        let layout = QueueLayout::new(&SHAPE, 11, None).expect("fits");
        assert_eq!((layout.sq_entries, layout.cq_entries, layout.pieces), (8, 8, 1));
        let too_many = QueueParameters { slots: 5000, ..SHAPE };
        assert!(matches!(QueueLayout::new(&too_many, 8, None), Err(Error::Trackers { .. })));
    }
}
