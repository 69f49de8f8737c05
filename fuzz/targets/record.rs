//! Fuzzes records, shown in every form.

#![no_main]

targets::fuzz!("record");
