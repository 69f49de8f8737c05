//! fio's language: parses command lines and job files into a [`Plan`], runs it, and prints results.
//!
//! A [`Plan`] has a [`Job`] for each job section, with every option resolved and typed, and fio's
//! defaults. A job with `numjobs=4` is one [`Job`]; the runner clones it. Where fio is lenient to
//! the point of surprise (`1.5G` is one byte, `60sec` 60 us), parsing fails with an error that
//! explains fio's interpretation.
//!
//! Files are read through a [`World`], so that tests and fuzzers need none. The semantics follow
//! fio 3.42 (HOWTO and behaviour); the tests compare them with an installed fio.

#![forbid(unsafe_code)]
#![allow(missing_docs)]

mod assemble;
mod commandline;
mod docs;
mod draft;
mod error;
mod examples;
mod help;
mod iolog;
mod job;
mod jobfile;
mod options;
pub mod output;
mod plan;
mod resolve;
pub mod run;
mod section;
mod switches;
#[cfg_attr(not(target_os = "linux"), path = "elsewhere/system.rs")]
mod system;
#[cfg(test)]
mod testing;
mod value;
mod world;

pub use commandline::parse;
pub use docs::markdown;
pub use error::FioError;
pub use examples::{EXAMPLES, EXAMPLES_REFUSED};
pub use iolog::{HEADER_3, IoLog, LoggedOp, Replay};
pub use job::*;
pub use plan::{CommandLine, Debug, Eta, Globals, IdleProfile, Note, OutputFormat, Plan};
pub use world::{Here, World};
