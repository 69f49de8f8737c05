//! Fuzzes iozone's tables.

#![no_main]

targets::fuzz!("import-iozone");
