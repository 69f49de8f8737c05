//! Fuzzes ssdyno's own exports.

#![no_main]

targets::fuzz!("import-ssdyno");
