//! Fuzzes bonnie++'s report.

#![no_main]

targets::fuzz!("import-bonnie");
