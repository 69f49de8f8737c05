//! Fuzzes H2testw's report.

#![no_main]

targets::fuzz!("import-h2testw");
