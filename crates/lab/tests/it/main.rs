//! Whole runs from a request to a record: plans, verdicts, causes inside a drive, and documents.

mod answers;
mod cluster;
mod coverage;
mod damaged;
mod docs;
mod edited;
mod expected;
mod fit;
mod fuzz;
mod inside;
mod next_time;
mod plans;
mod proving;
mod quiet;
mod recorded;
mod stream;
mod twin;
mod unsteady;
mod usual;
mod verdicts;
