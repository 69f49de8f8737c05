//! Fuzzes parameters of virtual drives.

#![no_main]

targets::fuzz!("preset-overrides");
