//! Fuzzes fio's terse output.

#![no_main]

targets::fuzz!("import-fio-terse");
