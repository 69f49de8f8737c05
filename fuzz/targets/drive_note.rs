//! Fuzzes notes of detached drives.

#![no_main]

targets::fuzz!("drive-note");
