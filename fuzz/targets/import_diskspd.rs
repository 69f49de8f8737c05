//! Fuzzes diskspd's report.

#![no_main]

targets::fuzz!("import-diskspd");
