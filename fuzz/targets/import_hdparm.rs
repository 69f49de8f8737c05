//! Fuzzes hdparm's report.

#![no_main]

targets::fuzz!("import-hdparm");
