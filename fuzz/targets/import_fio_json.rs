//! Fuzzes fio's JSON.

#![no_main]

targets::fuzz!("import-fio-json");
