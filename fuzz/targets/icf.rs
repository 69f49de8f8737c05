//! Fuzzes IOMeter configurations.

#![no_main]

targets::fuzz!("icf");
