//! Errors in the description of a workload.

use crate::IN_FLIGHT_MAX;

/// An invalid description.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum WorkloadError {
    /// No kind has a weight.
    #[error("the mix is empty: every weight is 0")]
    EmptyMix,
    /// A number is 0 but must be at least 1.
    #[error("{0} must be at least 1")]
    Zero(&'static str),
    /// A job's slice is smaller than one block.
    #[error(
        "a job's slice of the region is {bytes} bytes, smaller than one block of {block} bytes"
    )]
    RegionTooSmall {
        /// Bytes in the slice.
        bytes: u64,
        /// Largest block size.
        block: u32,
    },
    /// Synchronous calls allow only one operation in flight.
    #[error("synchronous calls have one operation in flight, not {depth}")]
    Synchronous {
        /// The requested queue depth.
        depth: u32,
    },
    /// More operations in flight than [`IN_FLIGHT_MAX`].
    #[error("{operations} operations in flight over all jobs, at most {IN_FLIGHT_MAX}")]
    TooDeep {
        /// Depth times jobs.
        operations: u64,
    },
    #[error("{what} is {value}, must be {range}")]
    OutOfRange {
        what: &'static str,
        value: f64,
        /// The range in words.
        range: &'static str,
    },
}
