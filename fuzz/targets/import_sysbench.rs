//! Fuzzes sysbench's report.

#![no_main]

targets::fuzz!("import-sysbench");
