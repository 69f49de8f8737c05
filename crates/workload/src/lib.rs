//! Workloads: operations, address patterns, mixes, block sizes, content and pacing.
//!
//! A [`Workload`] is a description; an [`OpStream`] turns it into operations and a [`Pace`] into
//! intended start times. Both are pure and deterministic: the same description and seed give the
//! same operations on every machine, so a run can be repeated exactly, and a virtual drive can be
//! compared with a real one. Nothing here does I/O or reads a clock. Floating-point functions come
//! from `libm`, because C libraries differ in the last bit.

#![forbid(unsafe_code)]

mod blend;
mod content;
mod error;
mod feistel;
mod motif;
mod op;
mod pace;
mod pattern;
mod source;
mod spec;
pub mod stamp;
mod stream;
mod think;
pub mod units;
mod zipf;

pub use blend::{Blend, Shared};
pub use content::{Content, Filler};
pub use error::WorkloadError;
pub use feistel::Permutation;
pub use motif::Motif;
pub use op::{IN_FLIGHT_MAX, Op, OpKind, Region};
pub use pace::{Closed, Open, Pace, Pacing};
pub use pattern::{Pattern, Zone};
pub use source::{After, BATCH_MAX, Source};
pub use spec::{BlockSizes, Caching, Calls, Mix, Stop, Workload};
pub use stream::OpStream;
pub use think::{Think, Thinking};
pub use zipf::Zipf;
