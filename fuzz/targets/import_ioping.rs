//! Fuzzes ioping's report.

#![no_main]

targets::fuzz!("import-ioping");
