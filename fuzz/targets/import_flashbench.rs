//! Fuzzes flashbench's report.

#![no_main]

targets::fuzz!("import-flashbench");
