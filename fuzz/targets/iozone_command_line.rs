//! Fuzzes iozone's command line.

#![no_main]

targets::fuzz!("iozone-command-line");
