//! The block interface: writes given bytes at an address and reads them back.
//!
//! It serves methods that bring their own content, such as a recorder, an image or a capacity test.
//! Each request owns its buffer and returns it on completion, so several can be in flight and
//! nothing is copied twice.

use workload::Filler;

use crate::Result;

/// A request to the block interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockRequest {
    /// Chosen by the caller; returned with the completion.
    pub tag: u64,
    /// Direction.
    pub way: BlockWay,
    /// First byte on the target, a multiple of its logical block size.
    pub offset: u64,
    /// The bytes to write, or a buffer for the bytes to read; whole logical blocks. Empty for a
    /// flush.
    pub bytes: Vec<u8>,
}

/// Direction of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockWay {
    /// From the drive.
    Read,
    /// To the drive.
    Write,
    /// No bytes: makes all writes durable that completed before it was submitted.
    Flush,
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
    /// `Ok` if all bytes were transferred.
    pub result: std::io::Result<()>,
}

/// The target's blocks, with their content.
pub trait Blocks {
    /// The maximum number of requests in flight, at least 1.
    fn depth(&mut self) -> Result<u32>;

    /// Submits a request; if `depth` requests are in flight, waits for one of them. Writes are
    /// refused if the safety class does not allow them.
    fn submit(&mut self, request: BlockRequest) -> Result<()>;

    /// Submits a write that is never read back through this interface. A virtual drive simulates
    /// its time and drops the bytes, so that a recording can be as long as the drive.
    fn submit_unkept(&mut self, request: BlockRequest) -> Result<()> {
        self.submit(request)
    }

    /// Submits a write that is never read back, and makes it unique first. A virtual drive, which
    /// drops the bytes, leaves that out.
    fn submit_unique(&mut self, mut request: BlockRequest, filler: &mut Filler) -> Result<()> {
        filler.touch(&mut request.bytes, request.offset);
        self.submit_unkept(request)
    }

    /// Appends completed requests to `done`. With `wait`, it waits for at least one if any is in
    /// flight.
    fn poll(&mut self, wait: bool, done: &mut Vec<BlockDone>) -> Result<()>;

    /// Waits for all requests in flight, and makes everything written durable.
    fn flush(&mut self) -> Result<()>;

    /// Reads `buffer.len()` bytes from `offset`, outside the queue.
    fn read(&mut self, offset: u64, buffer: &mut [u8]) -> Result<()>;
}
