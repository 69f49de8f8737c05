//! Fuzzes pasted reports of any tool.

#![no_main]

targets::fuzz!("import-paste");
