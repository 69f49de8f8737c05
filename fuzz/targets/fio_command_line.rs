//! Fuzzes fio's command line.

#![no_main]

targets::fuzz!("fio-command-line");
