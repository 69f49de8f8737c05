//! Fuzzes fio's report.

#![no_main]

targets::fuzz!("import-fio");
