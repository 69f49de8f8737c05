//! fio's runner on real files: its results beside those of an installed fio, and by counts.

mod common;
mod content;
mod control;
mod files;
mod mmap;
mod runs;
mod terse;
mod verify;
