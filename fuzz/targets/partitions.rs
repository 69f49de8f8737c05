//! Fuzzes partition tables and contents of a drive (raw image).

#![no_main]

targets::fuzz!("partitions");
