//! Fuzzes elbencho's CSV.

#![no_main]

targets::fuzz!("import-elbencho");
