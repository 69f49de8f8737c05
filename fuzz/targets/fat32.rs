//! Fuzzes damaged FAT32 volumes, read and checked.

#![no_main]

targets::fuzz!("fat32");
