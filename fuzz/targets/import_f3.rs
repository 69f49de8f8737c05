//! Fuzzes F3's reports.

#![no_main]

targets::fuzz!("import-f3");
