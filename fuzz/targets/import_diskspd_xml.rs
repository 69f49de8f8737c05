//! Fuzzes diskspd's XML.

#![no_main]

targets::fuzz!("import-diskspd-xml");
