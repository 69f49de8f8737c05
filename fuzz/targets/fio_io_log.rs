//! Fuzzes I/O logs of fio.

#![no_main]

targets::fuzz!("fio-io-log");
