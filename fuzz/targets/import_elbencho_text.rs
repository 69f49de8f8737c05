//! Fuzzes what elbencho prints on the screen.

#![no_main]

targets::fuzz!("import-elbencho-text");
