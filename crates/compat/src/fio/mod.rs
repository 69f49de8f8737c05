//! fio's words: command line and job files in, a [`Plan`] out.
//!
//! A [`Plan`] has a [`Job`] for each job section, with every option resolved and typed, fio's own
//! default where nothing was given. A job with `numjobs=4` is one [`Job`]; who runs it makes the
//! four. Where fio is lenient to the point of surprise (`1.5G` is one byte, `60sec` 60 us) the
//! answer here is an error that says what fio would have done.
//!
//! Meaning follows fio 3.42 (HOWTO and behaviour); the tests hold it against an installed fio.

mod error;
mod job;
mod plan;
mod world;

pub use error::FioError;
pub use job::*;
pub use plan::{Eta, Format, Globals, Note, Plan, Request};
pub use world::{Here, World};
