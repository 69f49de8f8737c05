//! Fuzzes descriptions of virtual drives.

#![no_main]

targets::fuzz!("preset");
