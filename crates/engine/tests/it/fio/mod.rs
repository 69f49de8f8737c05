//! Tests fio's runner on real files, by exact counts and against an installed fio.

mod common;
mod content;
mod control;
mod files;
mod mmap;
mod runs;
mod terse;
mod verify;
