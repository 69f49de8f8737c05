//! Fuzzes dd's report.

#![no_main]

targets::fuzz!("import-dd");
