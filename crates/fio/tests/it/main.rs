//! Tests of the job language, and its comparison with the installed fio's.

mod docs;
mod examples;
mod fuzz;
mod language;
mod oracle;
mod properties;
