//! fio's words: command line and job files in, a [`Plan`] out.
//!
//! A [`Plan`] has a [`Job`] for each job section, with every option resolved and typed, fio's own
//! default where nothing was given. A job with `numjobs=4` is one [`Job`]; who runs it makes the
//! four. Where fio is lenient to the point of surprise (`1.5G` is one byte, `60sec` 60 us) the
//! answer here is an error that says what fio would have done.
//!
//! Meaning follows fio 3.42 (HOWTO and behaviour); the tests hold it against an installed fio.

mod assemble;
mod commandline;
mod docs;
mod draft;
mod error;
mod examples;
mod fuzzed;
mod help;
mod job;
mod jobfile;
mod options;
pub mod output;
mod plan;
mod resolve;
pub mod run;
mod section;
mod switches;
#[cfg(test)]
mod testing;
mod value;
mod world;

pub use commandline::parse;
pub use docs::markdown;
pub use error::FioError;
pub use examples::{EXAMPLES, EXAMPLES_REFUSED};
pub(crate) use fuzzed::{FUZZ_COMMAND_LINE, FUZZ_JOB_FILE};
pub use job::*;
pub use plan::{Eta, Format, Globals, Note, Plan, Request};
pub use world::{Here, World};
