//! Borrowed blocks, on systems other than Linux: none, because no real drive is opened there.

/// Blocks borrowed from a real drive.
pub(crate) enum BorrowedBlocks {}

impl BorrowedBlocks {
    /// Copies the target's original content at `offset` into a buffer.
    pub(crate) fn copy_to(&self, _offset: u64, _buffer: &mut [u8]) {
        match *self {}
    }
}
