//! Fuzzes stamped blocks.

#![no_main]

targets::fuzz!("wear-stamps");
