//! Fuzzes damaged exFAT volumes, read and checked.

#![no_main]

targets::fuzz!("exfat");
