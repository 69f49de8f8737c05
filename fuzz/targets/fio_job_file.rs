//! Fuzzes fio's job files.

#![no_main]

targets::fuzz!("fio-job-file");
