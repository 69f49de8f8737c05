//! Fuzzes CrystalDiskMark's and KDiskMark's reports.

#![no_main]

targets::fuzz!("import-diskmark");
