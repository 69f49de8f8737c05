//! The block door: write these bytes there, read them back.
//!
//! For methods that bring their own content, such as a recorder, an image or a capacity test.
//! Buffers travel with their requests and come back with the completion, so that a drive may work on
//! several at once and nothing is copied twice.

use crate::Result;

/// A request for the block door.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockRequest {
    /// Chosen by the caller; returned with the completion.
    pub tag: u64,
    /// Direction.
    pub way: BlockWay,
    /// First byte on the target, a multiple of its logical block size.
    pub offset: u64,
    /// The bytes to write, or room for the bytes to read; whole logical blocks.
    pub bytes: Vec<u8>,
}

/// Direction of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockWay {
    /// From the drive.
    Read,
    /// To the drive.
    Write,
}

/// A completed request.
#[derive(Debug)]
pub struct BlockDone {
    /// The request, with the bytes that were read.
    pub request: BlockRequest,
    /// When it was submitted, nanoseconds since the run began.
    pub submitted_ns: u64,
    /// When it completed, nanoseconds since the run began.
    pub done_ns: u64,
    /// Whether all bytes were moved.
    pub result: std::io::Result<()>,
}

/// Blocks of the target, with content.
pub trait Blocks {
    /// Requests that can be in flight at once, at least 1.
    fn depth(&mut self) -> Result<u32>;

    /// Submits a request; waits for an earlier one when `depth` are in flight. Writes are refused
    /// where the safety class does not allow them.
    fn submit(&mut self, request: BlockRequest) -> Result<()>;

    /// Submits a write whose bytes are never read back through this door. A virtual drive takes the
    /// time of the write and forgets the bytes, so that a recording may be as long as the drive.
    fn submit_unkept(&mut self, request: BlockRequest) -> Result<()> {
        self.submit(request)
    }

    /// Adds completed requests to `done`. With `wait`, and while any is in flight, at least one.
    fn poll(&mut self, wait: bool, done: &mut Vec<BlockDone>) -> Result<()>;

    /// Waits for all requests in flight, and makes everything written durable.
    fn flush(&mut self) -> Result<()>;

    /// Reads `buffer.len()` bytes from `offset`, outside the queue.
    fn read(&mut self, offset: u64, buffer: &mut [u8]) -> Result<()>;
}
