//! Other tools' languages: what their users type, and what they print.
//!
//! [`fio`] takes fio's command line and job files and gives a [`fio::Plan`]: every option resolved
//! and typed, nothing ignored. What a tool knows and ssdyno does not serve is an error that says
//! why. Reading goes through a [`fio::World`], so that tests and fuzzers need no
//! files. [`iozone`] takes iozone's command line, and prints its table.

#![forbid(unsafe_code)]

pub mod fio;
pub mod fuzz;
pub mod import;
pub mod iozone;
