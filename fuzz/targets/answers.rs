//! Fuzzes responses of drives to every command (raw page).

#![no_main]

targets::fuzz!("answers");
